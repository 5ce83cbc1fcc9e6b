// SPDX-License-Identifier: BSD-3-Clause
// A barrier whose messages up its tree are counted: additions to a counter at each parent, where
// there are any (run/transport/transport.h). Inside algo/ only.
//
// Source: Kini 2003, section 3.1 (the counter, there in one shared memory). Differs: a counter for
// each parent, where participants are too many for one, and it is never set back.
//
// A participant that has arrived adds 1 to its parent's counter; the parent gets nothing else of
// it. It looks at the counter until all below it have arrived. Then it adds 1 to its own parent's.
//
// Tuning::fan_in: children a level. Otherwise all participants have one counter, where RDMA
// connects all with all, and else the tree's default, whose edges it connects
// (run/networks/rdma/rdma_peers.h).
//
// Invariants (checked in check/ and the property test): those of the barrier within, and
//   I1  nothing depends on some of a rank's counted receives that does not on the others
#pragma once

#include <memory>
#include <utility>

#include "plan/algo/algorithms.h"
#include "plan/sched/operation_kinds.h"

namespace tutti::algo {

// The barriers within.
Algorithm barrier_tree();
Algorithm barrier_gather_multicast();

// kPeersOfAllMax of run/networks/rdma/rdma_peers.h.
inline constexpr uint32_t kOneCounterMax = 24;

// With the fan-in that holds.
inline Tuning counted_tuning(const Shape& shape, Tuning tuning) {
    const Rank others =
        shape.nodes ? shape.nodes->ranks() - shape.nodes->members_min() : shape.ranks - 1;
    if (tuning.fan_in == 0 && others <= kOneCounterMax) tuning.fan_in = kOneCounterMax;
    return tuning;
}

// Of a tree's barrier, whose ranks have lower parents and higher children.
class Counted final : public Program {
  public:
    Counted(std::unique_ptr<Program> barrier, Rank rank, std::string_view name)
        : barrier_(std::move(barrier)), rank_(rank), name_(name) {}

    [[nodiscard]] std::string_view name() const override { return name_; }
    [[nodiscard]] sched::Extent extent() const override { return barrier_->extent(); }
    void read(uint64_t lane, uint64_t round, sched::Round& out) const override {
        barrier_->read(lane, round, out);
        for (sched::Operation& one : out) {
            if (!sched::is_message(one.kind)) continue;
            one.is_counted = sched::is_send(one) == (one.peer < rank_);
        }
    }

  private:
    std::unique_ptr<Program> barrier_;
    Rank rank_;
    std::string_view name_;
};

// The record: all are told along the tree, or by one multicast.
template <bool multicasts>
Algorithm counted_record() {
    static constexpr std::string_view kName = multicasts ? "counter_multicast" : "counter";
    static constexpr auto kBarrier = multicasts ? barrier_gather_multicast : barrier_tree;
    Algorithm record = kBarrier();
    record.name = kName;
    record.make = [](const Shape& shape, Rank rank,
                     const Tuning& tuning) -> std::unique_ptr<Program> {
        auto barrier = kBarrier().make(shape, rank, counted_tuning(shape, tuning));
        return std::make_unique<Counted>(std::move(barrier), rank, kName);
    };
    record.steps = [](const Shape& shape, const Tuning& tuning) {
        return kBarrier().steps(shape, counted_tuning(shape, tuning));
    };
    record.is_only_named = true;
    return record;
}

}  // namespace tutti::algo
