// SPDX-License-Identifier: BSD-3-Clause
// From a handle's bits to a small number: open addressing, filled once, then only read.
#pragma once

#include <cstdint>

namespace tutti::mpi {

template <uint32_t kSlots>
class SmallMap {
    static_assert((kSlots & (kSlots - 1)) == 0, "a power of two");

  public:
    static constexpr int kAbsent = -1;

    // The first entry of a handle stays: some hosts use one handle under two names.
    void add(uintptr_t handle, int value) {
        uint32_t slot = home(handle);
        while (slots_[slot].value != 0 && slots_[slot].handle != handle) {
            slot = (slot + 1) & (kSlots - 1);
        }
        if (slots_[slot].value == 0) slots_[slot] = {handle, value + 1};
    }

    [[nodiscard]] int find(uintptr_t handle) const {
        uint32_t slot = home(handle);
        while (slots_[slot].value != 0) {
            if (slots_[slot].handle == handle) return slots_[slot].value - 1;
            slot = (slot + 1) & (kSlots - 1);
        }
        return kAbsent;
    }

  private:
    struct Slot {
        uintptr_t handle;
        int value;  // 0: free
    };
    // Fibonacci hashing: the high bits of the product depend on all bits of the handle.
    static uint32_t home(uintptr_t handle) {
        return static_cast<uint32_t>((uint64_t{handle} * 0x9e3779b97f4a7c15u) >> 40) & (kSlots - 1);
    }

    Slot slots_[kSlots] = {};
};

}  // namespace tutti::mpi
