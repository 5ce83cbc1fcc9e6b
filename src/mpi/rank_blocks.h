// SPDX-License-Identifier: BSD-3-Clause
// One side of a vector form on this rank: a block for each rank, or one block. The program's
// counts, displacements and datatypes become the lengths and offsets in bytes that Tutti is told.
//
// If every block lies in one piece, Tutti moves it where it is. Else the blocks are packed, one
// behind the other (close_up()).
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/buffers.h"
#include "mpi/call_memory.h"
#include "mpi/comm_state.h"
#include "mpi/host_calls.h"

namespace tutti::mpi {

class RankBlocks {
  public:
    explicit RankBlocks(CommState& state) : arrays_(state.scratch), room_(state.scratch) {}
    ~RankBlocks() {
        if (made_ > 0) destroy_buffers();
    }
    RankBlocks(const RankBlocks&) = delete;
    RankBlocks& operator=(const RankBlocks&) = delete;

    // False where the host shall judge (TypedBuffer::set()), or where this lacks memory. `side`
    // outlives this.
    bool set_one(const VectorSide& side);
    bool set_each(const VectorSide& side, uint32_t ranks);
    // As many bytes in each block as another side has, for a packed copy of them.
    bool set_copy(const RankBlocks& other);
    // Blocks one behind the other, of elements of so many bytes; counts have been looked at.
    bool set_lengths(const Numbers& counts, uint32_t ranks, size_t element_bytes);
    [[nodiscard]] bool lacks_memory() const { return lacks_memory_; }

    [[nodiscard]] uint32_t blocks() const { return blocks_; }
    [[nodiscard]] uint64_t bytes(uint32_t block) const { return bytes_[block]; }
    [[nodiscard]] uint64_t all_bytes() const { return all_bytes_; }
    // The arrays that Tutti is told.
    [[nodiscard]] const uint64_t* lengths() const { return bytes_; }
    [[nodiscard]] const uint64_t* offsets() const { return offsets_; }
    // What offsets count from, until blocks are closed up. Not null.
    [[nodiscard]] std::byte* base() const { return base_; }
    // Each block lies in one piece.
    [[nodiscard]] bool is_direct() const { return is_direct_; }
    // Of all blocks; null where each has its own, or there is none.
    [[nodiscard]] const TypeInfo* info() const { return whole_.info; }
    // Of an element; 1 where elements of blocks differ in size.
    [[nodiscard]] size_t element_bytes() const;
    [[nodiscard]] const VectorSide& given() const { return *side_; }

    // Its block lies, byte for byte, where a block of another side does.
    [[nodiscard]] bool has_same_block(uint32_t block, const RankBlocks& other,
                                      uint32_t others_block) const;
    // All of its blocks do.
    [[nodiscard]] bool is_same(const RankBlocks& other) const;

    // Makes a buffer of each block. False where there is no memory for that.
    bool make_buffers();
    [[nodiscard]] TypedBuffer& buffer(uint32_t block) const { return buffers_[block]; }
    // From now on one block lies behind the other.
    void close_up();
    // Of the block Tutti moves nothing.
    void leave_out(uint32_t block);
    // Copy blocks to packed memory, each to its offset there, and from it. They need the buffers,
    // and return the host's status.
    [[nodiscard]] int pack(std::byte* to, const uint64_t* offsets) const;
    [[nodiscard]] int pack_block(uint32_t block, std::byte* to) const;
    [[nodiscard]] int unpack(const std::byte* from) const;

  private:
    // Ranks whose arrays fit in here: taking memory of the communicator costs as much as filling
    // them.
    static constexpr uint32_t kFew = 16;

    bool make_arrays(uint32_t blocks);
    bool add(uint32_t block, Count count, size_t size);
    bool set_alike();
    bool set_typed();
    TypedBuffer* make_room();
    void destroy_buffers();
    void set_base(intptr_t address, int64_t lowest);
    [[nodiscard]] std::byte* place(uint32_t block) const { return base_ + offsets_[block]; }
    [[nodiscard]] abi::Datatype type_of(uint32_t block) const {
        return side_->types != nullptr ? buffers_[block].given : whole_.given;
    }

    const VectorSide* side_ = nullptr;
    TypedBuffer whole_;  // the only block, or the address and datatype of all
    uint32_t blocks_ = 0;
    uint64_t few_[2 * kFew];
    uint64_t* bytes_ = nullptr;
    uint64_t* offsets_ = nullptr;
    uint64_t all_bytes_ = 0;
    std::byte* base_ = nullptr;
    bool is_direct_ = false;
    bool lacks_memory_ = false;
    CallScratch arrays_;
    CallScratch room_;
    TypedBuffer* buffers_ = nullptr;
    uint32_t made_ = 0;  // of them, that have to be destroyed
};

}  // namespace tutti::mpi
