// SPDX-License-Identifier: BSD-3-Clause
// The one round of barriers and allreduces that follow arrivals. Inside algo/ only.
//
// Source: saturation of a tree (N. Santoro, Design and Analysis of Distributed Algorithms, 2006,
// section 2.6.1); that the last arriver becomes the root is the idea of Mamidala, Liu, Panda 2004
// (run/adapt/saturation.h).
//
// The tree has no root: messages flow towards the late participants, and the one that has
// everything releases all others along it. Two messages an edge; after the last arrival, as many
// hops as the farthest participant is away, and where all come at once twice the tree's depth.
//
// Example, p = 8, fan-in 2:  0-1, 0-5, 1-2, 1-4, 2-3, 5-6, 5-7; if 7 is late, all else flows
// 3->2, 2->1, 4->1, 1->0, 0->5, 6->5, 5->7, and 7 releases 5, which releases 0 and 6 ...
//
// Where participants are ranks of several nodes, each node is a stretch of the tree with one edge
// to the node above it (plan/algo/meeting_place.h).
//
// Tuning::fan_in: children of a participant at most, otherwise kMeetingFanIn
// or kMeetingMulticastFanIn; of a node's top so many on its node and so many nodes.
#pragma once

#include "plan/algo/algorithms.h"
#include "plan/algo/meeting_place.h"

namespace tutti::algo {

// Two levels reach 21, three 85.
inline constexpr uint32_t kMeetingFanIn = 4;
// By multicast one level reaches 16, two 241, three 3,616. Of 4, 7 and 15, simulated from 16 to
// 1,024 hosts (docs/protocol/arrival.md), the shortest delay with late ranks and without.
inline constexpr uint32_t kMeetingMulticastFanIn = 15;
// Each participant sends and folds whole vectors. A multicast says besides whose parts crossed.
inline constexpr uint64_t kMeetingBytesMax = 16 * 1024;
inline constexpr uint64_t kMeetingMulticastBytesMax =
    sched::kMulticastBytesMax - sched::meet_multicast_bytes(0);
// Those of one node tell each other vectors of so many bytes through the node's memory.
inline constexpr uint64_t kMeetingNearBytesMax =
    (sched::kLetterBytesMax - sched::meet_message_bytes(0)) / 2;

enum class Releases : uint8_t { kAlongTree, kByMulticast };

template <Releases releases>
uint32_t meeting_fan_in(const Tuning& tuning) {
    constexpr uint32_t kOtherwise =
        releases == Releases::kByMulticast ? kMeetingMulticastFanIn : kMeetingFanIn;
    return std::min(tuning.fan_in == 0 ? kOtherwise : tuning.fan_in, kMeetingFanInMax);
}

template <Releases releases>
class MeetingProgram final : public Program {
  public:
    MeetingProgram(const Shape& shape, Rank rank, const Tuning& tuning)
        : place_(shape, meeting_fan_in<releases>(tuning), rank),
          bytes_(is_reduction(shape.collective) ? shape.bytes : 0),
          is_empty_(is_reduction(shape.collective) && shape.bytes == 0) {}

    static constexpr bool kMulticasts = releases == Releases::kByMulticast;
    static constexpr std::string_view kName = kMulticasts ? "adaptive_multicast" : "adaptive";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (is_empty_) return {1, 1, 0, 0};
        const uint64_t buffers = place_.neighbours() * buffer_bytes();
        return {1, 1, 1, buffers + align_up(sched::meet_message_bytes(bytes_)),
                kMulticasts ? 1u : 0u};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (round > 0 || is_empty_) return;
        for (uint32_t i = 0; i < place_.neighbours(); ++i) {
            const bool is_parent = place_.has_parent() && i == 0;
            const auto in = is_parent ? sched::Incoming::kLeft : sched::Incoming::kRight;
            const sched::Block buffer =
                sched::scratch(i * buffer_bytes(), 2 * sched::meet_message_bytes(bytes_));
            const std::optional<uint32_t> near = place_.near(i);
            out.add(
                near && bytes_ <= kMeetingNearBytesMax
                    ? sched::meet_near(place_.neighbour(i), *near, in, buffer, sched::kAfterNone)
                    : sched::meet_with(place_.neighbour(i), in, buffer, sched::kAfterNone));
        }
        const sched::Block to = bytes_ > 0 ? sched::output(0, bytes_) : sched::Block{};
        const sched::Block from = bytes_ > 0 ? sched::input(0, bytes_) : sched::Block{};
        const sched::Block buffer =
            sched::scratch(place_.neighbours() * buffer_bytes(), sched::meet_message_bytes(bytes_));
        out.add(kMulticasts
                    ? sched::meet_multicast(place_.rank(), 0, to, from, buffer, sched::kAfterNone)
                    : sched::meet(to, from, buffer, sched::kAfterNone));
    }

  private:
    // Of a neighbour.
    [[nodiscard]] uint64_t buffer_bytes() const {
        return align_up(2 * sched::meet_message_bytes(bytes_));
    }

    MeetingPlace place_;
    uint64_t bytes_;
    bool is_empty_;
};

template <Releases releases>
uint64_t meeting_scratch_bytes(const Shape& shape, const Tuning& tuning) {
    if (is_reduction(shape.collective) && shape.bytes == 0) return 0;
    const uint64_t bytes =
        sched::meet_message_bytes(is_reduction(shape.collective) ? shape.bytes : 0);
    return most_neighbours(shape, meeting_fan_in<releases>(tuning)) * align_up(2 * bytes) +
           align_up(bytes);
}

// Up to the top and down again, or to all at once.
template <Releases releases>
uint64_t meeting_steps(const Shape& shape, const Tuning& tuning) {
    const uint64_t depth = meeting_depth(shape, meeting_fan_in<releases>(tuning));
    return releases == Releases::kAlongTree ? 2 * depth : depth + 1;
}

// What both have in their records.
template <Releases releases>
Algorithm meeting_record(tutti_collective collective) {
    return {.name = MeetingProgram<releases>::kName,
            .collective = collective,
            .summary = {},
            .make = make<MeetingProgram<releases>>,
            .scratch_bytes = meeting_scratch_bytes<releases>,
            .steps = meeting_steps<releases>,
            .has_fan_in = true,
            .fan_in_max = kMeetingFanInMax,
            .has_multicast = releases == Releases::kByMulticast,
            .follows_arrival = true,
            // Of two whose parts cross, both.
            .computes_often = collective == TUTTI_ALLREDUCE,
            .is_flat = releases == Releases::kByMulticast,
            .by_node_bytes_max =
                releases == Releases::kByMulticast ? UINT64_MAX : kMeetingNearBytesMax};
}

}  // namespace tutti::algo
