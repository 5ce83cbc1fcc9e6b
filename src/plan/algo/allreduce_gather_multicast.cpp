// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of short vectors: fold up a tree of settable fan-in, then one multicast of the result.
//
// Source: Kini 2003, section 5.2.2 (RGM). Letters: N ranks, l the fan-in, n bytes, C a rank's
// children, c one of them.
// Differs from the source: vectors longer than a multicast are cut into lanes.
//
// The tree is that of plan/algo/gather_tree.h: folding a rank's own vector and its children's in
// ascending order keeps the order of ranks, so any operator will do. ceil(log_{l+1} N) levels up
// and one step down; every rank but 0 sends n bytes, and 0 multicasts n bytes.
// All ranks get the bits that rank 0 computed. Where partial results must not come from other
// machines either (section 5.1: heterogeneous clusters), l = N - 1 makes rank 0 fold alone.
//
// Example, N = 8, l = 3 (figure 5.3):  up 1,2,3->0, 5,6,7->4;  4->0;  0 -> all
//
// Rounds, level by level: one receives the vectors of up to kLandings children, which lets them
// come in any order, and one after the other folds them. Levels are not mixed: a child of a higher
// one has waited for as many messages as the rank itself on the lower ones.
//
// Tuning::fan_in is l (otherwise 7, which the source found best, section 4.4.2).
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  what is folded at any time covers an interval of ranks that begins with the own one
//   I2  the result comes only when the partial result has left: both stand in output
#include "plan/algo/algorithms.h"
#include "plan/algo/gather_tree.h"

namespace tutti::algo {
namespace {

// More than twice the usual fan-in.
constexpr uint64_t kLandings = 16;

uint64_t landing_bytes(const GatherTree& tree, uint64_t n) {
    return std::min(tree.level_end(0), kLandings) * align_up(n);
}

class AllreduceGatherMulticast final : public Program {
  public:
    AllreduceGatherMulticast(const Shape& shape, Rank rank, const Tuning& tuning)
        : tree_(shape.ranks, rank, tuning), n_(shape.bytes) {
        for (uint64_t c = 0; c < tree_.children(); c = batch_end(c)) ++folding_rounds_;
        folding_rounds_ += tree_.children();
    }

    static constexpr std::string_view kName = "gather_multicast";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0, 0};
        const uint64_t ends = tree_.is_root() && tree_.children() > 0 ? 1 : 2;
        return {1, 1, folding_rounds_ + ends, landing_bytes(tree_, n_), 1};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        const sched::Block result = sched::output(0, n_);
        if (round < folding_rounds_) {
            uint64_t first = 0;
            for (; round > batch_end(first) - first; first = batch_end(first)) {
                round -= batch_end(first) - first + 1;
            }
            if (round == 0) receive(first, out);
            if (round > 0) fold(first + round - 1, round - 1, out);
        } else if (!tree_.is_root()) {
            out.add(round == folding_rounds_ ? sched::send(tree_.parent(), 0, partial())
                                             : sched::recv_multicast(0, 0, result));
        } else if (round == 0) {
            out.add(sched::copy(result, sched::input(0, n_)));  // alone
        } else {
            out.add(sched::multicast(0, result));
        }
    }

  private:
    // The children that are received in one round begin with this one.
    [[nodiscard]] uint64_t batch_end(uint64_t first) const {
        return std::min(first + kLandings, tree_.level_end(first));
    }
    [[nodiscard]] sched::Block landing(uint64_t i) const {
        return sched::scratch(i * align_up(n_), n_);
    }
    // What is sent up in the end.
    [[nodiscard]] sched::Block partial() const {
        return tree_.children() > 0 ? sched::output(0, n_) : sched::input(0, n_);
    }
    // The areas are free when the folds of the round before are done.
    void receive(uint64_t first, sched::Round& out) const {
        for (uint64_t c = first; c < batch_end(first); ++c) {
            out.add(sched::recv(tree_.child(c), 0, landing(c - first),
                                first == 0 ? sched::kAfterNone : sched::kAfterAll));
        }
    }
    void fold(uint64_t c, uint64_t i, sched::Round& out) const {
        const sched::Block own = c == 0 ? sched::input(0, n_) : sched::output(0, n_);
        out.add(sched::reduce(sched::output(0, n_), own, landing(i), sched::after_op(0)));
    }

    GatherTree tree_;
    uint64_t n_;
    uint64_t folding_rounds_ = 0;
};

}  // namespace

Algorithm allreduce_gather_multicast() {
    return {.name = AllreduceGatherMulticast::kName,
            .collective = TUTTI_ALLREDUCE,
            .summary = "up a tree of settable fan-in, then one multicast",
            .obstacle = unless_one_multicast,
            .make = make<AllreduceGatherMulticast>,
            .scratch_bytes = [](const Shape& shape, const Tuning& tuning) -> uint64_t {
                return landing_bytes(GatherTree(shape.ranks, 0, tuning), shape.bytes);
            },
            .steps = [](const Shape& shape,
                        const Tuning& tuning) { return tree_levels(shape.ranks, tuning) + 1; },
            .segment_bytes = sched::kMulticastBytesMax,
            .has_fan_in = true,
            .segment_bytes_max = sched::kMulticastBytesMax,
            .has_multicast = true};
}

}  // namespace tutti::algo
