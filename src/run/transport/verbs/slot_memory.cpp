// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/slot_memory.h"

#include <cstring>

namespace tutti::transport::verbs {

void SlotMemory::prepare(uint32_t link) const {
    SlotHeader none;
    none.number = kFirstPiece - 1;
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
        std::memcpy(header(link, slot, false), &none, sizeof none);
    }
}

// By the number of the piece itself, which is over.
void SlotMemory::hide_data(uint32_t link, const SlotRange& range) const {
    uint64_t number = 0;
    std::memcpy(&number, header(link, range.slot, false) + offsetof(SlotHeader, number),
                sizeof number);
    for (uint32_t i = 1; i < range.count; ++i) {
        std::byte* end = header(link, range.slot - i, false);
        std::memcpy(end + offsetof(SlotHeader, number), &number, sizeof number);
    }
}

}  // namespace tutti::transport::verbs
