// SPDX-License-Identifier: BSD-3-Clause
// Where the blocks of a call stand: in its arguments, which the network is shown while it lasts,
// and in scratch memory, which each slot has a stretch of and which stays from call to call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "base/assert.h"
#include "base/result.h"
#include "run/exec/combine.h"
#include "run/exec/executor.h"

namespace tutti::exec {

class CallBuffers {
  public:
    explicit CallBuffers(transport::Transport& network) : network_(network) {}
    CallBuffers(const CallBuffers&) = delete;
    CallBuffers& operator=(const CallBuffers&) = delete;
    ~CallBuffers() {
        conceal_arguments();
        conceal_scratch();
    }

    // Scratch memory for so many lanes of so many bytes, between calls. May throw std::bad_alloc;
    // then it may be tried again.
    Result<Done> reserve(uint64_t lanes, uint64_t slot_bytes, uint64_t bytes_max);
    // The next call.
    void start(const Arguments& arguments, uint64_t lanes, uint64_t slot_bytes);
    // The network writes there no more; the scratch memory is shown again by reserve().
    void conceal_arguments();
    void conceal_scratch();

    // nullptr for a block of no bytes.
    [[nodiscard]] std::byte* at(uint8_t slot, const sched::Block& block) const;
    [[nodiscard]] const node::Reducer& reducer() const { return arguments_.reducer; }
    // to = left op right; see combine().
    void fold(std::byte* to, const std::byte* left, const std::byte* right, size_t bytes) const {
        combine(arguments_.reducer, user_space_.get(), to, left, right, bytes);
    }

  private:
    static constexpr uint64_t kScratchAlign = 64;
    struct Free {
        void operator()(std::byte* memory) const {
            ::operator delete[](memory, std::align_val_t{kScratchAlign});
        }
    };
    static constexpr uint64_t aligned(uint64_t bytes) {
        return (bytes + kScratchAlign - 1) / kScratchAlign * kScratchAlign;
    }
    void expose_arguments();

    transport::Transport& network_;
    std::unique_ptr<std::byte[], Free> scratch_;
    uint64_t scratch_bytes_ = 0;
    bool is_scratch_exposed_ = false;
    std::unique_ptr<std::byte[]> user_space_;
    // Of the call.
    Arguments arguments_;
    uint64_t slot_bytes_ = 0;
    std::span<std::byte> exposed_input_;
    std::span<std::byte> exposed_output_;
};

inline std::byte* CallBuffers::at(uint8_t slot, const sched::Block& block) const {
    if (block.bytes == 0) return nullptr;
    switch (block.buffer) {
        case sched::Buffer::kInput:
            // Nobody writes input (check/prove); operations name all blocks alike.
            return const_cast<std::byte*>(arguments_.input) + block.offset;
        case sched::Buffer::kOutput:
            return arguments_.output + block.offset;
        case sched::Buffer::kScratch:
            TUTTI_ASSERT(block.offset + block.bytes <= slot_bytes_, "within the scratch");
            return scratch_.get() + slot * aligned(slot_bytes_) + block.offset;
        case sched::Buffer::kNone:
            break;
    }
    return nullptr;
}

}  // namespace tutti::exec
