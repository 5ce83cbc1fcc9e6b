// SPDX-License-Identifier: BSD-3-Clause
// Several ranks multicast in turn, each a block of its own cut into pieces: the second halves of
// allgather and allreduce by multicast.
//
// Letters: s senders, the ranks 0 ... s - 1; m pieces a block; D multicasts under way at a time.
//
// Piece i of rank r is multicast number r m + i (of blocks that differ in length: i behind the
// pieces of all ranks before; an empty block has none), and a rank begins with its first piece when
// all numbers more than D before it have come: with D = 2, when the last but one piece of the rank
// before it has come. So the links are handed over without a gap, and hardly more than one
// sender's packets meet at a switch: two that send at the rate of their own links would overrun
// those of all others. Its further pieces follow at once; the route paces them.
//
// Round j holds the numbers j D ... j D + D - 1; what an operation of number k has to wait for is
// then the operations of the round before up to its own place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/algo/algorithms.h"

namespace tutti::algo {

class Turns {
  public:
    // longest: of the blocks, in bytes. piece_bytes_max holds an element at least. lengths: of the
    // senders' blocks, where they differ.
    Turns(uint64_t senders, uint64_t longest, uint32_t element_bytes, uint64_t piece_bytes_max,
          uint32_t under_way, const sched::BlockLengths& lengths = {})
        : senders_(senders), element_bytes_(element_bytes) {
        const uint64_t each = std::max<uint64_t>(piece_bytes_max / element_bytes, 1);
        const auto pieces = [&](uint64_t bytes) {
            const uint64_t elements = (bytes + element_bytes - 1) / element_bytes;
            return (elements + each - 1) / each;
        };
        pieces_ = std::max<uint64_t>(pieces(longest), 1);
        if (lengths.are_there()) {
            ends_.reserve(senders);
            for (uint64_t i = 0; i < senders; ++i) {
                ends_.push_back(pieces(lengths.bytes[i]) + (i == 0 ? 0 : ends_.back()));
            }
        }
        // Two pieces of full length, or as many shorter ones as are as long.
        const uint64_t piece_bytes = std::max<uint64_t>(longest / pieces_, 1);
        const uint64_t wanted =
            under_way != 0 ? under_way
                           : std::max<uint64_t>(2 * sched::kMulticastBytesMax / piece_bytes, 2);
        under_way_ = std::min<uint64_t>(wanted, sched::kMulticastsInFlightMax);
    }

    [[nodiscard]] uint64_t multicasts() const {
        return ends_.empty() ? senders_ * pieces_ : ends_.back();
    }
    [[nodiscard]] uint64_t rounds() const { return (multicasts() + under_way_ - 1) / under_way_; }

    // Adds round j of this rank's part. block(sender) is where the block is sent from, or received
    // to. after_first: what the operations of round 0 wait for.
    template <class BlockOf>
    void add(uint64_t j, Rank rank, uint64_t after_first, BlockOf block, sched::Round& out) const {
        const uint64_t first = j * under_way_;
        for (uint64_t i = 0; i < under_way_ && first + i < multicasts(); ++i) {
            const auto [sender, piece, pieces] = turn(first + i);
            const sched::Block what = cut(block(sender), piece, pieces);
            if (sender != rank) {
                const uint64_t after = j == 0 ? after_first : sched::kAfterNone;
                out.add(sched::recv_multicast(sender, first + i, what, after));
                continue;
            }
            const uint64_t earlier =
                piece == 0 ? sched::after_op(static_cast<uint32_t>(i) + 1) - 1 : sched::kAfterNone;
            out.add(sched::multicast(first + i, what, j == 0 ? after_first : earlier));
        }
    }

  private:
    // Whose a multicast is, and which of its so many pieces.
    struct Turn {
        Rank sender;
        uint64_t piece;
        uint64_t pieces;
    };
    [[nodiscard]] Turn turn(uint64_t number) const {
        if (ends_.empty()) {
            return {static_cast<Rank>(number / pieces_), number % pieces_, pieces_};
        }
        const auto end = std::ranges::upper_bound(ends_, number);
        const uint64_t begin = end == ends_.begin() ? 0 : *(end - 1);
        return {static_cast<Rank>(end - ends_.begin()), number - begin, *end - begin};
    }

    // Pieces differ by at most one element; of a shorter block some may be empty.
    [[nodiscard]] sched::Block cut(const sched::Block& block, uint64_t i, uint64_t pieces) const {
        const uint64_t elements = block.bytes / element_bytes_;
        const uint64_t each = elements / pieces;
        const uint64_t longer = elements % pieces;
        const uint64_t from = i * each + std::min(i, longer);
        const uint64_t to = from + each + (i < longer ? 1 : 0);
        return {block.buffer, block.offset + from * element_bytes_, (to - from) * element_bytes_};
    }

    uint64_t senders_;
    uint64_t element_bytes_;
    uint64_t pieces_;
    uint64_t under_way_;
    std::vector<uint64_t> ends_;  // of each sender's numbers, where blocks differ in length
};

}  // namespace tutti::algo
