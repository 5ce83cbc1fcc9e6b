// SPDX-License-Identifier: BSD-3-Clause
// Broadcast by multicast: the root sends each segment once, the network hands it to everybody.
//
// Source: Mamidala, Chai, Jin, Panda 2006, "Efficient SMP-aware MPI-level broadcast over
// InfiniBand's hardware multicast", doi:10.1109/IPDPS.2006.1639562 (abstract: multicast between
// nodes, shared memory inside). Letters: p ranks, n bytes, S lanes.
// Differs from the paper: one process a node receives for all of them whatever its rank does, and
// hands on through shared memory; that is the route's business (docs/protocol/multicast.md), not
// the schedule's. So every rank is a participant here, wherever it is.
//
// One lane is one multicast of a segment; the lanes make the pipeline, in which the node's shared
// memory fills with one segment while the next is on its way. Every link carries each byte once:
// S segments and one latency, whatever p and the root.
//
// Example, p = 4, root 2, one lane:  2 -> all
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a lane has one multicast, so that lanes, segments and multicasts are numbered alike
#include "plan/algo/algorithms.h"

namespace tutti::algo {
namespace {

// A multicast of 16 KiB takes 5 ms at 25 Mbit/s, 13 us at 10 Gbit/s: 16 of them cover any round
// trip of a cluster, and leave room for the next call's within kMulticastsInFlightMax.
constexpr uint32_t kMulticastLanes = sched::kLanesInFlightMax;

class BcastMulticast final : public Program {
  public:
    BcastMulticast(const Shape& shape, Rank rank)
        : root_(shape.root), rank_(rank), n_(shape.bytes) {}

    static constexpr std::string_view kName = "multicast";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0, 0};
        return {1, 1, 1, 0, 1};
    }
    void read(uint64_t, uint64_t, sched::Round& out) const override {
        out.clear();
        const sched::Block segment = sched::output(0, n_);
        out.add(rank_ == root_ ? sched::multicast(0, segment)
                               : sched::recv_multicast(root_, 0, segment));
    }

  private:
    Rank root_;
    Rank rank_;
    uint64_t n_;
};

}  // namespace

Algorithm bcast_multicast() {
    return {.name = BcastMulticast::kName,
            .collective = TUTTI_BCAST,
            .summary = "segments by multicast: every link carries each byte once",
            .obstacle = unless_one_multicast,
            .make = make<BcastMulticast>,
            .steps = one_step,
            .segment_bytes = sched::kMulticastBytesMax,
            .lanes_in_flight = kMulticastLanes,
            .segment_bytes_max = sched::kMulticastBytesMax,
            .has_multicast = true,
            .is_flat = true};
}

}  // namespace tutti::algo
