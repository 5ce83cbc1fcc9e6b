// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/device/runtime.h"

#include <cstdio>

namespace tutti::mpi::device {

bool Runtime::copy_rows(void* to, const void* from, size_t pitch, size_t width, size_t rows) {
    for (size_t row = 0; row < rows; ++row) {
        if (!copy(static_cast<char*>(to) + row * pitch,
                  static_cast<const char*>(from) + row * pitch, width)) {
            return false;
        }
    }
    return true;
}

void Runtime::pin(Block& block) {
    if (block.is_pinned || !block.may_pin) return;
    block.is_pinned = pin_memory(block.memory, block.bytes);
    block.may_pin = block.is_pinned;
}

// Unpinned where the owner's memory can be reached: it is the caller's, so its context is alive.
// The one that a block was pinned in may not be.
void Runtime::drop_excess(const Owner& owner) {
    if (!blocks.has_excess()) return;
    bool goes_on = begin(owner);
    while (goes_on && blocks.has_excess()) {
        const Block block = blocks.take_excess();
        goes_on = !block.is_pinned || unpin_memory(block.memory);
        if (goes_on) Blocks::unmap(block);
    }
    end();
}

bool Runtime::failed(const char* function, int64_t code, const char* text) {
    if (has_problem()) return false;
    if (text != nullptr) {
        snprintf(problem_, sizeof problem_, "%s: %s fails: %s (%lld)", name(), function, text,
                 static_cast<long long>(code));
    } else {
        snprintf(problem_, sizeof problem_, "%s: %s fails with status %lld", name(), function,
                 static_cast<long long>(code));
    }
    return false;
}

}  // namespace tutti::mpi::device
