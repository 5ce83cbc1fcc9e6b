// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/block_pieces.h"

namespace tutti::algo {
namespace {

// Of the blocks of a side, the longest of another participant.
uint64_t longest_other(const uint64_t* bytes, const Shape& shape, Rank own) {
    uint64_t longest = 0;
    if (!bytes) return longest;
    for (Rank rank = 0; rank < shape.ranks; ++rank) {
        if (rank != own) longest = std::max(longest, bytes[rank]);
    }
    return longest;
}

// A participant is one rank where lengths are the call's.
Rank rank_of(const Shape& shape, Rank participant) {
    return shape.nodes ? shape.nodes->members(participant).front() : participant;
}

}  // namespace

BlockPieces::BlockPieces(const Shape& shape, Rank participant, uint64_t message_bytes)
    : shape_(shape), own_(participant), message_bytes_(sched::kBlockBytesMax) {
    if (message_bytes != 0) message_bytes_ = std::min(message_bytes, message_bytes_);
    const uint64_t members = shape.nodes ? shape.nodes->members_max() : 1;
    const bool has_pairs = is_between_all(shape.collective);
    count_ = messages_of(has_pairs ? shape.pair_bytes_max(own_) : members * shape.bytes);
    copy_own_ = make_copy();
}

void BlockPieces::set_blocks(const sched::CallBlocks& blocks) {
    blocks_ = blocks;
    const Rank own = rank_of(shape_, own_);
    const bool has_others = blocks.input_bytes || blocks.output_bytes;
    count_ = messages_of(has_others ? std::max(longest_other(blocks.input_bytes, shape_, own),
                                               longest_other(blocks.output_bytes, shape_, own))
                                    : blocks.own_bytes);
    copy_own_ = make_copy();
}

Stretch BlockPieces::given(const uint64_t* bytes, const uint64_t* offsets, Rank q) const {
    if (!bytes) return {0, blocks_->own_bytes};
    const Rank rank = rank_of(shape_, q);
    return {offsets[rank], bytes[rank]};
}

Stretch BlockPieces::block_of(const CollectiveBuffer& side, Rank q) const {
    if (side.holds != Holds::kAll) return {0, shape_.block_bytes(own_)};
    if (!is_between_all(shape_.collective)) return {shape_.block_offset(q), shape_.block_bytes(q)};
    return {shape_.pair_offset(own_, q), shape_.pair_bytes(own_, q)};
}

sched::Block BlockPieces::input_of(Rank q) const {
    const Stretch block = blocks_ ? given(blocks_->input_bytes, blocks_->input_offsets, q)
                                  : block_of(facts(shape_.collective).input, q);
    return sched::input(block.offset, block.bytes);
}

sched::Block BlockPieces::output_of(Rank q) const {
    const Stretch block = blocks_ ? given(blocks_->output_bytes, blocks_->output_offsets, q)
                                  : block_of(facts(shape_.collective).output, q);
    return sched::output(block.offset, block.bytes);
}

sched::Block BlockPieces::piece(sched::Block block, uint64_t i) const {
    const uint64_t begin = std::min(i * message_bytes_, block.bytes);
    block.offset += begin;
    block.bytes = std::min(message_bytes_, block.bytes - begin);
    return block;
}

sched::Operation BlockPieces::make_copy() const {
    sched::Block to = output_of(own_);
    sched::Block from = input_of(own_);
    to.bytes = from.bytes = std::min(to.bytes, from.bytes);
    return sched::copy(to, from);
}

}  // namespace tutti::algo
