// SPDX-License-Identifier: BSD-3-Clause
// Broadcast of long vectors: scatter down a binomial tree, then allgather on a ring.
//
// Source: Barnett, Shuler, van de Geijn, Gupta, Payne, Watts 1994, "Interprocessor collective
// communication library (InterCom)", doi:10.1109/SHPCC.1994.296665; Thakur, Rabenseifner, Gropp
// 2005, "Optimization of collective communication operations in MPICH",
// doi:10.1177/1094342005051521, section 4.2. Letters: p ranks, r own rank, s step of the ring.
// Differs from the papers: pieces keep their place by rank whatever the root (plan/algo/halving.h),
// and the ring leaves out pieces that the receiver holds from the scatter.
//
// The vector is cut into p pieces. The tree hands every rank the pieces of the interval of ranks
// that it leads. Then in step s, r sends piece r - s to r + 1 and receives piece r - s - 1 from
// r - 1, modulo p, unless the receiver led that piece's interval. Each rank but the root receives
// n bytes; the root and its link receive nothing.
//
// Example, p = 4, root 0:  scatter: 0->2 pieces 2 3;  0->1 piece 1, 2->3 piece 3
//   ring: step 0: 0->1 piece 0, 1->2 piece 1, 2->3 piece 2;  step 1: 0->1 3, 1->2 0, 2->3 1;
//         step 2: 0->1 2, 2->3 0 (rank 2 holds piece 3 from the scatter)
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  every rank receives every piece once, the root none
//   I2  before step s rank r holds its interval and pieces r - 1 ... r - s
//   I3  empty pieces (fewer elements than ranks) are not sent
#include "plan/algo/algorithms.h"
#include "plan/algo/halving.h"
#include "plan/sched/operation_kinds.h"

namespace tutti::algo {
namespace {

class BcastScatterAllgather final : public Program {
  public:
    BcastScatterAllgather(const Shape& shape, Rank rank)
        : shape_(shape),
          tree_(shape, rank),
          next_(HalvingTree(shape, (rank + 1) % shape.ranks).own()),
          p_(shape.ranks),
          r_(rank) {}

    static constexpr std::string_view kName = "scatter_allgather";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0 || p_ == 1) return {1, 1, 0, 0};
        return {1, 1, scatter_rounds() + p_ - 1, 0};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (round >= scatter_rounds()) {
            ring(round - scatter_rounds(), out);
        } else if (round == 0 && !tree_.is_root()) {
            add(out, sched::recv(tree_.parent(), 0, pieces(tree_.own())));
        } else {
            const auto j = static_cast<uint32_t>(round - (tree_.is_root() ? 0 : 1));
            const uint64_t after = j == 0 ? sched::kAfterAll : sched::kAfterNone;
            add(out, sched::send(tree_.child(j).leader, 0, pieces(tree_.child(j)), after));
        }
    }

  private:
    [[nodiscard]] uint64_t scatter_rounds() const {
        return tree_.children() + (tree_.is_root() ? 0 : 1);
    }
    [[nodiscard]] sched::Block pieces(const Interval& interval) const {
        const Stretch last = piece(shape_, interval.end - 1);
        const uint64_t begin = piece(shape_, interval.begin).offset;
        return sched::output(begin, last.offset + last.bytes - begin);
    }
    [[nodiscard]] static bool holds(const Interval& interval, Rank i) {
        return i >= interval.begin && i < interval.end;
    }
    static void add(sched::Round& out, const sched::Operation& op) {
        if (sched::moved_bytes(op) > 0) out.add(op);
    }
    void ring(uint64_t s, sched::Round& out) const {
        const auto going = static_cast<Rank>((r_ + p_ - s) % p_);
        const auto coming = static_cast<Rank>((r_ + p_ - s - 1) % p_);
        // The scatter's messages between the same two ranks are number 0.
        const auto message = static_cast<uint32_t>(s + 1);
        if (!holds(tree_.own(), coming)) {
            add(out, sched::recv((r_ + p_ - 1) % p_, message, pieces({coming, coming + 1, coming}),
                                 sched::kAfterNone));
        }
        if (!holds(next_, going)) {
            // What goes on is the receive of the round before, or else was there since the scatter,
            // whose receive may be the round before step 0.
            const bool is_new = !holds(tree_.own(), going);
            const uint64_t after = s == 0   ? sched::kAfterAll
                                   : is_new ? sched::after_op(0)
                                            : sched::kAfterNone;
            add(out, sched::send((r_ + 1) % p_, message, pieces({going, going + 1, going}), after));
        }
    }

    Shape shape_;
    HalvingTree tree_;
    Interval next_;  // what rank r + 1 holds from the scatter
    Rank p_;
    Rank r_;
};

}  // namespace

Algorithm bcast_scatter_allgather() {
    return {.name = BcastScatterAllgather::kName,
            .collective = TUTTI_BCAST,
            .summary = "pieces down a binomial tree, then around a ring",
            .make = make<BcastScatterAllgather>,
            .steps = [](const Shape& shape, const Tuning& tuning) {
                return doubling_steps(shape, tuning) + passing_steps(shape, tuning);
            }};
}

}  // namespace tutti::algo
