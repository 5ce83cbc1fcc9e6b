// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/ring_slots.h"

namespace tutti::algo {
namespace {

// The part of all blocks that is little.
constexpr uint64_t kLittle = 16;

uint64_t hops_of(const Shape& shape) { return std::max<uint64_t>(1, shape.ranks - 1); }

bool are_alike(const Shape& shape) {
    if (shape.lengths.are_there()) return false;
    return !shape.nodes || shape.nodes->members_min() == shape.nodes->members_max();
}

}  // namespace

RingSlots::RingSlots(const Shape& shape, Rank first, uint64_t slot_bytes)
    : shape_(shape), first_(first), slot_bytes_(slot_bytes) {
    const uint64_t p = shape.ranks;
    if (are_alike(shape)) {
        total_ = p * of(0);
        return;
    }
    ends_.reserve(p);
    for (uint64_t j = 0; j < p; ++j) {
        total_ += of(static_cast<Rank>((first_ + p - j) % p));
        ends_.push_back(total_);
    }
}

RingSlots::Slot RingSlots::at(uint64_t i) const {
    const uint64_t p = shape_.ranks;
    uint64_t back = 0;  // blocks before this one's in the order
    uint64_t number = 0;
    if (ends_.empty()) {
        back = i / of(0);
        number = i % of(0);
    } else {
        back = static_cast<uint64_t>(std::ranges::upper_bound(ends_, i) - ends_.begin());
        number = i - (back == 0 ? 0 : ends_[back - 1]);
    }
    const auto block = static_cast<Rank>((first_ + p - back) % p);
    const uint64_t bytes = shape_.block_bytes(block);
    const uint64_t offset = number * slot_bytes_;
    return {block, {offset, std::min(slot_bytes_, bytes - offset)}};
}

uint64_t longest_block(const Shape& shape) {
    if (!shape.nodes) return shape.bytes;
    if (!shape.lengths.are_there()) return shape.nodes->members_max() * shape.bytes;
    uint64_t longest = 0;
    for (Rank i = 0; i < shape.ranks; ++i) longest = std::max(longest, shape.block_bytes(i));
    return longest;
}

bool are_about_alike(const Shape& shape) {
    const uint64_t all = shape.all_blocks_bytes();
    return longest_block(shape) <= (all + all / kLittle) / hops_of(shape);
}

uint64_t ring_slot_bytes(const Shape& shape, const Tuning& tuning, uint64_t slot_bytes_max) {
    constexpr uint64_t kSlotBytesMin = uint64_t{4} << 10;
    const uint64_t element = shape.element_bytes;
    const uint64_t all = shape.all_blocks_bytes();
    uint64_t wanted = tuning.segment_bytes;
    if (wanted == 0) {
        wanted = are_about_alike(shape) ? slot_bytes_max
                                        : std::max(kSlotBytesMin, all / (kLittle * hops_of(shape)));
    }
    return std::max(std::min(wanted, slot_bytes_max) / element, uint64_t{1}) * element;
}

uint64_t ring_slot_steps(const Shape& shape, uint64_t slot_bytes) {
    if (shape.ranks == 1) return 0;
    return RingSlots(shape, 0, slot_bytes).total() - 1;
}

}  // namespace tutti::algo
