// SPDX-License-Identifier: BSD-3-Clause
// A little memory, reserved for when there is none.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>

#include "base/result.h"

namespace tutti::engine {

class Fund {
  public:
    Fund() { fill(); }
    // Runs a step that returns a Result and may be run twice: the second time with the fund's
    // memory.
    template <class Step>
    auto with(Step step) -> decltype(step()) {
        try {
            return step();
        } catch (const std::bad_alloc&) {
            spend();
        }
        try {
            auto result = step();
            fill();
            return result;
        } catch (const std::bad_alloc&) {
            fill();
            return Error{ErrorCode::kMemory, "out of memory"};
        }
    }

  private:
    // Choosing an algorithm and making its plan takes a few KiB.
    static constexpr size_t kBytes = size_t{64} << 10;

    void spend() {
        const std::lock_guard lock(mutex_);
        memory_.reset();
    }
    void fill() {
        const std::lock_guard lock(mutex_);
        if (!memory_) memory_.reset(new (std::nothrow) std::byte[kBytes]);
    }

    std::mutex mutex_;
    std::unique_ptr<std::byte[]> memory_;
};

}  // namespace tutti::engine
