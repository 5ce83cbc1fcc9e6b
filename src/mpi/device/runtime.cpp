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
