// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter by recursive halving, of blocks alike or not, for any p.
//
// Source: the recursive halving of Thakur, Rabenseifner, Gropp 2005, "Optimization of collective
// communication operations in MPICH", doi:10.1177/1094342005051521, section 4.3. Letters: p ranks,
// r own rank.
//
// Differs from the paper: any p, without ranks that hand over all of their vectors first. The
// interval [0, p) is halved again and again, the first half longer by one where it must be. The
// i-th rank of the first half and the i-th of the second send each other the blocks of the other's
// half, and fold what comes. Where the first half has one rank more, that one only sends, to the
// second half's first rank, which so receives two and folds them one after the other. This is
// allgather by recursive doubling the other way round. For p = 2^k each rank has log2 p messages
// each way, and p - 1 blocks.
//
// A rank folds with ranks that are not its neighbours, so the operator must commute. (The paper's
// distance doubling keeps the order, and leaves blocks on other ranks than theirs.)
//
// Example, p = 5 (halves 0-2, 3-4; 0-1, 2; 0, 1; 3, 4):
//   0<->3, 1<->4, 2->3;   0<->2, 1->2, 3<->4;   0<->1
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  before an interval is halved, its ranks' partial results of its blocks hold each
//       contribution once, all together
//   I2  what a round sends and what it folds do not overlap; both wait for the fold of the round
//       before
//   I3  the result alone is written to output, behind all messages: in place it stands over block 0
//       of the input
#pragma once

#include <array>

#include "plan/algo/algorithms.h"
#include "plan/algo/half_pairs.h"

namespace tutti::algo {

class ReduceScatterHalving final : public Program {
  public:
    ReduceScatterHalving(const Shape& shape, Rank rank) : shape_(shape), r_(rank) {
        const HalfPairs pairs(shape.ranks, rank);
        for (uint32_t depth = 0; depth < pairs.count(); ++depth) add_level(pairs[depth]);
    }

    static constexpr std::string_view kName = "halving";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0};
        return {1, 1, count_ + uint64_t{1}, scratch_bytes()};
    }
    void read(uint64_t, uint64_t k, sched::Round& out) const override {
        out.clear();
        if (k == count_) {
            const uint64_t bytes = shape_.block_bytes(r_);
            if (bytes == 0) return;
            const sched::Block result =
                partial({shape_.block_offset(r_), bytes}, count_ > 0 && is_folded(count_ - 1));
            out.add(sched::copy(sched::output(0, bytes), result));
            return;
        }
        const Step& step = step_[k];
        const bool is_own = k == 0 || !is_folded(static_cast<uint32_t>(k) - 1);
        const uint64_t after =
            k > 0 && folds(step_[k - 1]) ? sched::after_op(0) : sched::kAfterNone;
        if (step.folds_second) {
            const sched::Block sum = partial(step.kept, true);
            const uint64_t both = sched::after_op(0) | sched::after_op(1);
            if (sum.bytes > 0) out.add(sched::reduce(sum, sum, second_landing(step), both));
            return;
        }
        if (folds(step)) {
            const sched::Block to = partial(step.kept, true);
            const sched::Block before = partial(step.kept, !is_own);
            const sched::Block landing = sched::scratch(0, step.kept.bytes);
            out.add(step.peer < r_
                        ? sched::recv_reduce_left(step.peer, 0, to, landing, before, after)
                        : sched::recv_reduce_right(step.peer, 0, to, before, landing, after));
            if (step.second != kNobody) {
                out.add(sched::recv(step.second, 0, second_landing(step), after));
            }
        }
        if (step.given.bytes > 0) {
            out.add(sched::send(step.peer, 0, partial(step.given, !is_own), after));
        }
    }

    // Of the first fold, which is the longest: what comes, what becomes of it, and what comes
    // second.
    [[nodiscard]] uint64_t scratch_bytes() const {
        return 2 * align_up(held_.bytes) + align_up(second_bytes_);
    }

  private:
    static constexpr Rank kNobody = UINT32_MAX;
    // One round: an exchange with the other half; or behind one the fold of what the rank without a
    // partner has sent.
    struct Step {
        bool receives = false;  // that one has no partner: it only sends
        bool folds_second = false;
        Rank peer = 0;
        Rank second = kNobody;
        Stretch kept = {};
        Stretch given = {};
    };

    [[nodiscard]] Stretch blocks(Rank begin, Rank end) const {
        const uint64_t offset = shape_.block_offset(begin);
        return {offset, shape_.block_offset(end) - offset};
    }
    static bool folds(const Step& step) {
        return (step.receives || step.folds_second) && step.kept.bytes > 0;
    }
    [[nodiscard]] sched::Block second_landing(const Step& step) const {
        return sched::scratch(2 * align_up(held_.bytes), step.kept.bytes);
    }
    // Before the round behind step k, partial results stand in scratch.
    [[nodiscard]] bool is_folded(uint32_t k) const { return first_fold_ <= k; }
    [[nodiscard]] sched::Block partial(const Stretch& stretch, bool is_in_scratch) const {
        if (!is_in_scratch) return sched::input(stretch.offset, stretch.bytes);
        return sched::scratch(align_up(held_.bytes) + (stretch.offset - held_.offset),
                              stretch.bytes);
    }

    void add(const Step& step) {
        if (folds(step) && first_fold_ == kNever) {
            first_fold_ = count_;
            held_ = step.kept;
        }
        step_[count_++] = step;
    }
    void add_level(const HalfPair& pair) {
        const Stretch first = blocks(pair.begin, pair.middle);
        const Stretch second = blocks(pair.middle, pair.end);
        Step step = {.receives = !pair.is_alone, .peer = pair.peer};
        step.kept = pair.is_left ? first : second;
        step.given = pair.is_left ? second : first;
        if (pair.meets_second) step.second = pair.middle - 1;
        add(step);
        if (!pair.meets_second) return;
        add({.folds_second = true, .kept = step.kept});
        second_bytes_ = step.kept.bytes;
    }

    static constexpr uint32_t kNever = UINT32_MAX;
    Shape shape_;
    Rank r_;
    uint32_t count_ = 0;
    uint32_t first_fold_ = kNever;
    Stretch held_;  // that the first fold keeps
    uint64_t second_bytes_ = 0;
    // A rank folds twice at one level at most: it is then the first of its interval for good.
    std::array<Step, 33> step_;
};

inline Algorithm reduce_scatter_halving_of(tutti_collective collective) {
    return {.name = ReduceScatterHalving::kName,
            .collective = collective,
            .summary = "halves of all blocks between pairs, folded as they come",
            .obstacle = [](const Shape& shape) -> std::string_view {
                if (const auto why = unless_commutative(shape); !why.empty()) return why;
                const uint64_t first = shape.block_offset((shape.ranks + 1) / 2);
                const uint64_t second = shape.all_blocks_bytes() - first;
                const bool is_too_long = std::max(first, second) > sched::kBlockBytesMax;
                return is_too_long && shape.ranks > 1 ? kTooLong : std::string_view();
            },
            .make = make<ReduceScatterHalving>,
            .scratch_bytes = [](const Shape& shape, const Tuning&) -> uint64_t {
                uint64_t most = 0;
                for (Rank r = 0; r < shape.ranks; ++r) {
                    most = std::max(most, ReduceScatterHalving(shape, r).scratch_bytes());
                }
                return most;
            },
            .reaches_far = true};
}

}  // namespace tutti::algo
