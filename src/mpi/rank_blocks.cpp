// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/rank_blocks.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace tutti::mpi {

void RankBlocks::destroy_buffers() {
    for (uint32_t i = 0; i < made_; ++i) buffers_[i].~TypedBuffer();
}

bool RankBlocks::make_arrays(uint32_t blocks) {
    blocks_ = blocks;
    bytes_ = few_;
    if (blocks > kFew) {
        bytes_ = reinterpret_cast<uint64_t*>(arrays_.get(2 * sizeof(uint64_t) * blocks));
    }
    lacks_memory_ = bytes_ == nullptr;
    if (lacks_memory_) return false;
    offsets_ = bytes_ + blocks;
    return true;
}

bool RankBlocks::set_one(const VectorSide& side) {
    side_ = &side;
    if (!whole_.set(side.buffer, side.count, side.type) || !whole_.has_memory()) return false;
    make_arrays(1);
    bytes_[0] = all_bytes_ = whole_.bytes;
    offsets_[0] = 0;
    is_direct_ = whole_.contiguous(1);
    buffers_ = &whole_;
    base_ = whole_.data();
    if (base_ == nullptr) base_ = reinterpret_cast<std::byte*>(few_);  // of no bytes
    return true;
}

bool RankBlocks::set_each(const VectorSide& side, uint32_t ranks) {
    side_ = &side;
    if (side.counts == nullptr || is_in_place(side.buffer) || !make_arrays(ranks)) return false;
    return side.types != nullptr ? set_typed() : set_alike();
}

bool RankBlocks::set_copy(const RankBlocks& other) {
    if (!make_arrays(other.blocks_)) return false;
    std::copy_n(other.bytes_, blocks_, bytes_);
    all_bytes_ = other.all_bytes_;
    close_up();
    return true;
}

bool RankBlocks::set_lengths(const Numbers& counts, uint32_t ranks, size_t element_bytes) {
    if (!make_arrays(ranks)) return false;
    for (uint32_t i = 0; i < ranks; ++i) {
        if (!add(i, counts[i], element_bytes)) return false;
    }
    close_up();
    return true;
}

bool RankBlocks::add(uint32_t block, Count count, size_t size) {
    return count >= 0 &&
           !__builtin_mul_overflow(static_cast<uint64_t>(count), size, &bytes_[block]) &&
           !__builtin_add_overflow(all_bytes_, bytes_[block], &all_bytes_);
}

namespace {

// Whether bytes stand at no address, which hosts of some families reject. Displacements may be
// absolute addresses, so that MPI_BOTTOM alone says nothing.
bool is_null(intptr_t address, uint64_t offset) {
    const bool is_nowhere = static_cast<uint64_t>(address) + offset == 0;
    return is_nowhere && front.host.brand->rejects_null_buffers;
}

}  // namespace

// Of one datatype. A block of no bytes may have any displacement.
bool RankBlocks::set_alike() {
    const VectorSide& side = *side_;
    if (!whole_.set(side.buffer, 0, side.type)) return false;
    const TypeInfo& info = *whole_.info;
    Count longest = 0;
    int64_t lowest = INT64_MAX;
    for (uint32_t i = 0; i < blocks_; ++i) {
        const Count count = side.counts[i];
        if (!add(i, count, info.size)) return false;
        offsets_[i] = 0;
        if (bytes_[i] == 0) continue;
        if (side.offsets == nullptr) return false;
        // Without signs: a displacement of no memory at all is not looked at.
        offsets_[i] = static_cast<uint64_t>(side.offsets[i]) * static_cast<uint64_t>(info.extent) +
                      static_cast<uint64_t>(info.true_lb);
        if (is_null(whole_.address, offsets_[i])) return false;
        longest = std::max(longest, count);
        lowest = std::min(lowest, static_cast<int64_t>(offsets_[i]));
    }
    whole_.bytes = all_bytes_;
    is_direct_ = info.contiguous(static_cast<uint64_t>(longest));
    set_base(whole_.address, lowest);
    return true;
}

// A datatype each, and displacements in bytes. That of a block of no elements is not looked at:
// programs give MPI_DATATYPE_NULL there, and not every host minds.
bool RankBlocks::set_typed() {
    const VectorSide& side = *side_;
    buffers_ = make_room();
    if (buffers_ == nullptr) return false;
    const auto address = reinterpret_cast<intptr_t>(side.buffer);
    int64_t lowest = INT64_MAX;
    is_direct_ = true;
    for (uint32_t i = 0; i < blocks_; ++i) {
        TypedBuffer& one = *new (&buffers_[i]) TypedBuffer;
        ++made_;
        bytes_[i] = offsets_[i] = 0;
        const Count count = side.counts[i];
        if (count == 0) continue;
        if (!one.set(side.buffer, count, {handle_at(side.types, i)}) ||
            !add(i, count, one.info->size)) {
            return false;
        }
        if (bytes_[i] == 0) continue;
        if (side.offsets == nullptr) return false;
        one.address += side.offsets[i];
        offsets_[i] =
            static_cast<uint64_t>(side.offsets[i]) + static_cast<uint64_t>(one.info->true_lb);
        if (is_null(address, offsets_[i])) return false;
        is_direct_ = is_direct_ && one.contiguous(1);
        lowest = std::min(lowest, static_cast<int64_t>(offsets_[i]));
    }
    set_base(address, lowest);
    return true;
}

// Offsets count from the program's address, or else from the lowest block: MPI_BOTTOM is no base,
// and no offset is below one.
void RankBlocks::set_base(intptr_t address, int64_t lowest) {
    if (all_bytes_ == 0) {
        base_ = reinterpret_cast<std::byte*>(few_);
        return;
    }
    base_ = reinterpret_cast<std::byte*>(address);
    if (address != 0 && lowest >= 0) return;
    base_ = reinterpret_cast<std::byte*>(address + lowest);
    for (uint32_t i = 0; i < blocks_; ++i) {
        if (bytes_[i] > 0) offsets_[i] -= static_cast<uint64_t>(lowest);
    }
}

size_t RankBlocks::element_bytes() const {
    if (whole_.info != nullptr) return std::max<size_t>(whole_.info->size, 1);
    size_t size = 0;
    for (uint32_t i = 0; i < blocks_; ++i) {
        if (bytes_[i] == 0) continue;
        const size_t other = buffers_[i].info->size;
        if (size != 0 && size != other) return 1;
        size = other;
    }
    return std::max<size_t>(size, 1);
}

bool RankBlocks::has_same_block(uint32_t block, const RankBlocks& other,
                                uint32_t others_block) const {
    if (bytes_[block] == 0 || bytes_[block] != other.bytes_[others_block]) return false;
    if (place(block) != other.place(others_block)) return false;
    return (is_direct_ && other.is_direct_) || type_of(block) == other.type_of(others_block);
}

bool RankBlocks::is_same(const RankBlocks& other) const {
    if (all_bytes_ == 0 || base_ != other.base_) return false;
    for (uint32_t i = 0; i < blocks_; ++i) {
        const bool is_empty = bytes_[i] == 0 && other.bytes_[i] == 0;
        if (!is_empty && !has_same_block(i, other, i)) return false;
    }
    return true;
}

TypedBuffer* RankBlocks::make_room() {
    auto* const room = reinterpret_cast<TypedBuffer*>(room_.get(sizeof(TypedBuffer) * blocks_));
    lacks_memory_ = room == nullptr;
    return room;
}

// Those of one datatype share what is known of it.
bool RankBlocks::make_buffers() {
    if (buffers_ != nullptr || side_ == nullptr) return true;
    buffers_ = make_room();
    if (buffers_ == nullptr) return false;
    for (; made_ < blocks_; ++made_) {
        TypedBuffer& one = *new (&buffers_[made_]) TypedBuffer;
        if (bytes_[made_] == 0) continue;
        one.address = whole_.address + side_->offsets[made_] * whole_.info->extent;
        one.count = static_cast<uint64_t>(side_->counts[made_]);
        one.given = whole_.given;
        one.type = whole_.type;
        one.info = whole_.info;
        one.bytes = bytes_[made_];
    }
    return true;
}

void RankBlocks::close_up() {
    uint64_t end = 0;
    for (uint32_t i = 0; i < blocks_; ++i) {
        offsets_[i] = end;
        end += bytes_[i];
    }
}

void RankBlocks::leave_out(uint32_t block) {
    all_bytes_ -= bytes_[block];
    bytes_[block] = 0;
}

int RankBlocks::pack(std::byte* to, const uint64_t* offsets) const {
    int status = abi::kSuccess;
    for (uint32_t i = 0; i < blocks_ && status == abi::kSuccess; ++i) {
        status = pack_block(i, to + offsets[i]);
    }
    return status;
}

int RankBlocks::pack_block(uint32_t block, std::byte* to) const {
    if (bytes_[block] == 0) return abi::kSuccess;
    const TypedBuffer& one = buffers_[block];
    if (!one.contiguous(1)) return mpi::pack(one.block(0), to, one.count, one.type, *one.info);
    memcpy(to, one.data(), one.bytes);
    return abi::kSuccess;
}

int RankBlocks::unpack(const std::byte* from) const {
    int status = abi::kSuccess;
    for (uint32_t i = 0; i < blocks_ && status == abi::kSuccess; ++i) {
        if (bytes_[i] == 0) continue;
        const TypedBuffer& one = buffers_[i];
        const std::byte* const block = from + offsets_[i];
        if (one.contiguous(1)) {
            memcpy(one.data(), block, one.bytes);
        } else {
            status = mpi::unpack(block, one.block(0), one.count, one.type, *one.info);
        }
    }
    return status;
}

}  // namespace tutti::mpi
