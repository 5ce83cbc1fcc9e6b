// SPDX-License-Identifier: BSD-3-Clause
// Memory that a call takes for packed data, and that the next ones take over.
#pragma once

#include <cstddef>
#include <mutex>

namespace tutti::mpi {

// Memory for packed data; grows, and shrinks again after a large call.
class Scratch {
  public:
    Scratch() = default;
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    // Null where there is no memory. The contents are not kept.
    std::byte* get(size_t bytes);
    void trim();

    [[nodiscard]] size_t bytes() const { return bytes_; }

  private:
    static constexpr size_t kKeptBytes = size_t{8} << 20;
    std::byte* memory_ = nullptr;
    size_t bytes_ = 0;
};

// Memory that the calls of a communicator keep from one to the next. Several calls may be under
// way, in any threads: each has its own.
class ScratchPool {
  public:
    ScratchPool() = default;
    ~ScratchPool();
    ScratchPool(const ScratchPool&) = delete;
    ScratchPool& operator=(const ScratchPool&) = delete;

  private:
    friend class CallScratch;
    struct Kept {
        Scratch scratch;
        Kept* next = nullptr;
    };
    // One that fits, or another; nullptr where there is no memory for one.
    Kept* take(size_t bytes);
    void give_back(Kept* one);

    std::mutex mutex_;
    Kept* free_ = nullptr;
};

// One call's, for one purpose; goes back to the pool with the call.
class CallScratch {
  public:
    // pool outlives this.
    explicit CallScratch(ScratchPool& pool) : pool_(pool) {}
    ~CallScratch() {
        if (taken_ != nullptr) pool_.give_back(taken_);
    }
    CallScratch(const CallScratch&) = delete;
    CallScratch& operator=(const CallScratch&) = delete;
    // As Scratch::get().
    std::byte* get(size_t bytes);

  private:
    ScratchPool& pool_;
    ScratchPool::Kept* taken_ = nullptr;
};

}  // namespace tutti::mpi
