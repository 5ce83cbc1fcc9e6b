// SPDX-License-Identifier: BSD-3-Clause
// The processor's memory that device memory is copied to and from: blocks of a runtime, which are
// pinned once and used again by all communicators, since a driver moves pageable memory in pieces
// through some of its own (H100, 8 MiB: 0.79 ms instead of 0.16), and pinning costs as much as many
// a copy (0.08 ms for few bytes, 0.7 for 8 MiB).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::mpi::device {

struct Block {
    std::byte* memory = nullptr;
    size_t bytes = 0;
    bool is_pinned = false;
    bool may_pin = true;  // until the runtime has refused
    uint64_t used = 0;    // the last time, by the count of blocks taken
};

// Callers lock.
class Blocks {
  public:
    // Of free ones no more than `most_bytes` stay. Else it is this process's part of a sixteenth
    // of the machine's memory, if each processor has a process.
    explicit Blocks(size_t most_bytes) : most_bytes_(most_bytes) {}
    Blocks();
    Blocks(const Blocks&) = delete;
    Blocks& operator=(const Blocks&) = delete;
    // Never: they are as long as the process, and the runtime may be gone before.
    ~Blocks() = default;

    // The smallest free one of at least so many bytes (> 0), or a new one. Without memory: there is
    // none. What stands in it is undefined.
    Block take(size_t bytes);
    // Allocates nothing.
    void give_back(const Block& block);
    // Whether there is more than is kept, and the longest unused: the caller unpins it, then unmaps
    // it. What cannot be unpinned must not be unmapped: the runtime would take whatever comes to
    // stand there for what it has pinned.
    [[nodiscard]] bool has_excess() const;
    Block take_excess() { return remove(0); }
    static void unmap(const Block& block);

    // Of the free ones.
    [[nodiscard]] size_t bytes() const { return free_bytes_; }

    // So much stays, used or not; beyond it only what calls have use for.
    static constexpr size_t kKeptBytes = size_t{128} << 20;
    static constexpr uint64_t kIdleTakes = 64;

  private:
    Block remove(size_t i);

    size_t most_bytes_;
    std::vector<Block> free_;  // the longest unused first
    size_t free_bytes_ = 0;
    size_t out_ = 0;  // with calls
    uint64_t takes_ = 0;
};

}  // namespace tutti::mpi::device
