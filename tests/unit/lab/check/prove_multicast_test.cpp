// SPDX-License-Identifier: BSD-3-Clause
// Right schedules with multicasts are proved, and every kind of fault of theirs is found and named.
#include <gtest/gtest.h>

#include <string>

#include "faults.h"
#include "lab/check/prove.h"

namespace tutti::check {

using sched::Extent;
using sched::kLanesInFlightMax;
using sched::kMulticastsInFlightMax;

namespace {

const Shape kBcast = shape_of(TUTTI_BCAST, 3, 8);
constexpr Extent kOne{1, 1, 1, 0, 1};
const Lines kRightBcast = {"multicast output[0+8] order 0\n",
                           "recv_multicast from 0 output[0+8] order 0\n",
                           "recv_multicast from 0 output[0+8] order 0\n"};

TEST(CheckMulticast, ProvesSmallSchedules) {
    EXPECT_EQ(faults_of(kBcast, kOne, kRightBcast), Lines{});
    // Gather by messages, release by multicast.
    EXPECT_EQ(faults_of(shape_of(TUTTI_BARRIER, 3, 0), {1, 1, 2, 0, 1},
                        {"recv 0 from 1 -\nrecv 0 from 2 -\nround 1\nmulticast - order 0\n",
                         "send 0 to 0 -\nrecv_multicast from 0 - order 0\n",
                         "send 0 to 0 -\nrecv_multicast from 0 - order 0\n"}),
              Lines{});
    // One after the other, each posted before anything has come.
    EXPECT_EQ(faults_of(shape_of(TUTTI_ALLGATHER, 2, 8), {1, 1, 1, 0, 2},
                        {"copy output[0+8] = input[0+8]\nmulticast input[0+8] order 0\n"
                         "recv_multicast from 1 output[8+8] order 1\n",
                         "copy output[8+8] = input[0+8]\nmulticast input[0+8] order 1\n"
                         "recv_multicast from 0 output[0+8] order 0\n"}),
              Lines{});
    // The members of a node fold, and all ranks get the result at once.
    const topo::Placement two_nodes = topo::Placement::blocks(4, 2);
    const std::string member =
        "node_reduce root 0 - = input[0+8] order 0\nround 1\n"
        "recv_multicast from 0 output[0+8] order 0\n";
    EXPECT_EQ(faults_of(shape_of(TUTTI_ALLREDUCE, 4, 8), two_nodes, {1, 1, 4, 16, 1},
                        {"node_reduce root 0 scratch[0+8] = input[0+8] order 0\nround 1\n"
                         "recv 0 from 2 scratch[8+8]\nround 2\n"
                         "reduce output[0+8] = scratch[0+8] op scratch[8+8]\nround 3\n"
                         "multicast output[0+8] order 0\n",
                         member,
                         "node_reduce root 0 scratch[0+8] = input[0+8] order 0\nround 1\n"
                         "send 0 to 0 scratch[0+8]\nrecv_multicast from 0 output[0+8] order 0\n",
                         member}),
              Lines{});
}

TEST(CheckMulticast, DroppedEnds) {
    Lines dropped = kRightBcast;
    dropped[2] = "copy - = -\n";
    EXPECT_EQ(faults_of(kBcast, kOne, dropped), Lines{"rank 2: 0 multicasts; its extent has 1"});
    // Of two the first.
    EXPECT_EQ(
        faults_of(kBcast, {1, 1, 1, 0, 2},
                  {"multicast output[0+4] order 0\nmulticast output[4+4] order 1\n",
                   "recv_multicast from 0 output[0+4] order 0\n"
                   "recv_multicast from 0 output[4+4] order 1\n",
                   "recv_multicast from 0 output[4+4] order 1\n"}),
        (Lines{"rank 2: no multicast has order 0", "rank 2: 1 multicasts; its extent has 2"}));
    dropped = kRightBcast;
    dropped[0] = "recv_multicast from 1 output[0+8] order 0\n";
    expect_fault(faults_of(kBcast, kOne, dropped),
                 "rank 0, lane 0, round 0: recv_multicast from 1 output[0+8] order 0: nobody sends "
                 "it");
}

TEST(CheckMulticast, ExtentsDiffer) {
    Programs programs = written(kBcast, kOne, kRightBcast);
    programs[1] = std::move(written(shape_of(TUTTI_BCAST, 1, 8), {1, 1, 1, 0, 0}, {""})[0]);
    EXPECT_EQ(prove(kBcast, alone(3), programs).lines,
              Lines{"rank 1: 0 multicasts; rank 0 has 1 multicasts"});
}

TEST(CheckMulticast, TwiceReceived) {
    Lines twice = kRightBcast;
    twice[1] += "round 1\n" + twice[1];
    expect_fault(faults_of(kBcast, {1, 1, 2, 0, 1}, twice), "rank 1: 2 multicasts have order 0");
    // Under another order it is one that nobody sends, and the others do not have.
    twice[1] = kRightBcast[1] + "recv_multicast from 0 - order 1\n";
    expect_fault(faults_of(kBcast, kOne, twice), "rank 1: 2 multicasts; its extent has 1");
}

TEST(CheckMulticast, WrongBytes) {
    Lines wrong = kRightBcast;
    wrong[2] = "recv_multicast from 0 output[0+4] order 0\n";
    expect_fault(faults_of(kBcast, kOne, wrong),
                 "rank 2, lane 0, round 0: recv_multicast from 0 output[0+4] order 0: rank 0 sends "
                 "8 bytes in round 0");
    const std::string all = "output[0+16385]";
    expect_fault(faults_of(shape_of(TUTTI_BCAST, 2, 16385), kOne,
                           {"multicast " + all + " order 0\n",
                            "recv_multicast from 0 " + all + " order 0\n"}),
                 "a multicast is longer than 16384 bytes");
    wrong[2] = "recv_multicast from 0 output[4+8] order 0\n";
    expect_fault(faults_of(kBcast, kOne, wrong), "a block reaches beyond its buffer of 8 bytes");
}

TEST(CheckMulticast, WrongSender) {
    Lines wrong = kRightBcast;
    wrong[2] = "recv_multicast from 1 output[0+8] order 0\n";
    expect_fault(faults_of(kBcast, kOne, wrong),
                 "rank 2, lane 0, round 0: recv_multicast from 1 output[0+8] order 0: rank 0 sends "
                 "it");
    wrong[2] = "recv_multicast from 3 output[0+8] order 0\n";
    expect_fault(faults_of(kBcast, kOne, wrong), "there is no such rank");
    wrong[2] = "recv_multicast from 2 output[0+8] order 0\n";
    expect_fault(faults_of(kBcast, kOne, wrong), "a rank sends nothing to itself");
}

TEST(CheckMulticast, TwoSendersOfAnOrder) {
    Lines two = kRightBcast;
    two[1] = two[0];
    expect_fault(faults_of(kBcast, kOne, two),
                 "rank 1, lane 0, round 0: multicast output[0+8] order 0: rank 0 sends one of this "
                 "order too");
}

// The orders of two receives are exchanged: the wrong half comes into each place.
TEST(CheckMulticast, WrongOrder) {
    Lines exchanged = {"multicast output[0+4] order 0\nmulticast output[4+4] order 1\n",
                       "recv_multicast from 0 output[4+4] order 0\n"
                       "recv_multicast from 0 output[0+4] order 1\n"};
    const Shape shape = shape_of(TUTTI_BCAST, 2, 8);
    expect_fault(faults_of(shape, {1, 1, 1, 0, 2}, exchanged),
                 "rank 1: bytes 0 to 3 of its output hold byte 4 of the vector and what follows, "
                 "not byte 0");
    exchanged[0] = "multicast output[4+4] order 0\nmulticast output[0+4] order 1\n";
    EXPECT_EQ(faults_of(shape, {1, 1, 1, 0, 2}, exchanged), Lines{});
}

TEST(CheckMulticast, OwnOrderTurnedAround) {
    const std::string around =
        "recv_multicast from 0 output[4+4] order 1\nround 1\n"
        "recv_multicast from 0 output[0+4] order 0\n";
    EXPECT_EQ(faults_of(shape_of(TUTTI_BCAST, 2, 8), {1, 1, 2, 0, 2},
                        {"multicast output[0+4] order 0\nmulticast output[4+4] order 1\n", around}),
              Lines{"deadlock: rank 1, lane 0, round 0: recv_multicast from 0 output[4+4] order 1, "
                    "waits for multicast 0 of its own rank, which comes after it"});
}

// Each rank sends first and receives when that is done: the second sender's own multicast has to
// wait for its receive of the first.
TEST(CheckMulticast, CycleThroughTheOrder) {
    const Shape shape = shape_of(TUTTI_ALLGATHER, 2, 8);
    const Extent extent{1, 1, 2, 0, 2};
    const std::string first =
        "copy output[0+8] = input[0+8]\nmulticast input[0+8] order 0\nround 1\n"
        "recv_multicast from 1 output[8+8] order 1\n";
    const std::string second =
        "copy output[8+8] = input[0+8]\nmulticast input[0+8] order 1\nround 1\n"
        "recv_multicast from 0 output[0+8] order 0";
    expect_fault(faults_of(shape, extent, {first, second + "\n"}),
                 "waits for multicast 0 of its own rank, which comes after it");
    EXPECT_EQ(faults_of(shape, extent, {first, second + " after none\n"}), Lines{});
}

// Rank 2 takes part only when rank 1 tells it that the multicast has come: with memory in between
// that would work, but no route must have any.
TEST(CheckMulticast, CycleThroughALateRank) {
    const Lines late = {kRightBcast[0], kRightBcast[1] + "round 1\nsend 0 to 2 -\n",
                        "recv 0 from 1 -\nround 1\n" + kRightBcast[2]};
    EXPECT_EQ(
        faults_of(kBcast, {1, 1, 2, 0, 1}, late),
        Lines{"deadlock: rank 2, lane 0, round 0: recv 0 from 1 -, waits for rank 1; rank 1, lane "
              "0, round 0: recv_multicast from 0 output[0+8] order 0, waits for rank 2"});
}

// All are ready at once, more than may be under way; each is a byte.
std::string many(const std::string& operation, uint32_t lanes, uint32_t in_a_lane) {
    std::string text;
    for (uint32_t i = 0; i < lanes * in_a_lane; ++i) {
        const std::string number = std::to_string(i);
        if (i != 0 && i % in_a_lane == 0) {
            text += "lane " + std::to_string(i / in_a_lane) + "\nround 0\n";
        }
        text.append(operation).append(" output[").append(number).append("+1] order ");
        text.append(number).append("\n");
    }
    return text;
}

TEST(CheckMulticast, ThoseBeyondTheWindowComeToo) {
    const uint32_t lanes = kLanesInFlightMax;
    const uint32_t multicasts = 5 * lanes;
    static_assert(5 * kLanesInFlightMax > 2 * kMulticastsInFlightMax);
    const Shape shape = shape_of(TUTTI_BCAST, 2, multicasts);
    const Extent extent{lanes, lanes, 1, 0, multicasts};
    Lines all = {many("multicast", lanes, 5), many("recv_multicast from 0", lanes, 5)};
    EXPECT_EQ(faults_of(shape, extent, all), Lines{});
    const std::string late = "output[70+1]";
    all[1].replace(all[1].find(late), late.size(), "output[71+1]");
    expect_fault(faults_of(shape, extent, all),
                 "rank 1, lane 14, round 0: recv_multicast from 0 output[71+1] order 71: nothing "
                 "orders it and operation 0 of lane 14, round 0");
}

TEST(CheckMulticast, BarrierLetsItsSenderGoEarly) {
    // Who multicasts hears nothing of the others, though it waits for them here.
    const Shape shape = shape_of(TUTTI_BARRIER, 2, 0);
    EXPECT_EQ(
        faults_of(shape, kOne, {"multicast - order 0\n", "recv_multicast from 0 - order 0\n"}),
        Lines{"rank 0 leaves the barrier when it knows only of ranks 0"});
    EXPECT_EQ(faults_of(shape, {1, 1, 1, 0, 2},
                        {"multicast - order 0\nrecv_multicast from 1 - order 1\n",
                         "recv_multicast from 0 - order 0\nmulticast - order 1\n"}),
              Lines{});
    // Rank 1 has begun its own, with what it knew, before that of rank 0 came.
    expect_fault(faults_of(shape_of(TUTTI_BARRIER, 3, 0), {1, 1, 1, 0, 2},
                           {"multicast - order 0\nrecv_multicast from 1 - order 1\n",
                            "recv_multicast from 0 - order 0\nmulticast - order 1\n",
                            "recv_multicast from 0 - order 0\nrecv_multicast from 1 - order 1\n"}),
                 "rank 0 leaves the barrier when it knows only of ranks 0-1");
}

// Rank 0 begins number 1 behind number 0, and that behind the message of rank 1: so who hears from
// it behind number 1, in whatever lane, hears of rank 1.
TEST(CheckMulticast, BeginningInOrderTellsOfWhatWasBefore) {
    const std::string lane = "lane 1\nround 0\nrecv_multicast from 2 - order 1\n";
    Lines all = {"recv 0 from 1 -\nround 1\nrecv_multicast from 2 - order 0\n" + lane +
                     "round 1\nsend 0 to 1 -\nsend 0 to 2 -\n",
                 "send 0 to 0 -\nrecv_multicast from 2 - order 0\n" + lane + "recv 0 from 0 -\n",
                 "multicast - order 0\nlane 1\nround 0\nmulticast - order 1\nrecv 0 from 0 -\n"};
    const Shape shape = shape_of(TUTTI_BARRIER, 3, 0);
    const Extent extent{2, 2, 2, 0, 2};
    EXPECT_EQ(faults_of(shape, extent, all), Lines{});
    const std::string behind = "order 0\n";
    all[0].replace(all[0].find(behind), behind.size(), "order 0 after none\n");
    EXPECT_EQ(faults_of(shape, extent, all),
              Lines{"rank 2 leaves the barrier when it knows only of ranks 0, 2"});
}

TEST(CheckMulticast, BlockTouchedEarly) {
    const Shape shape = shape_of(TUTTI_BCAST, 2, 8);
    const Extent extent{1, 1, 2, 8, 1};
    Lines early = {"copy scratch[0+8] = output[0+8]\nmulticast scratch[0+8] order 0\n",
                   "recv_multicast from 0 output[0+8] order 0\n"};
    expect_fault(faults_of(shape, extent, early), "multicast scratch[0+8] order 0: nothing orders");
    early[0] = "copy scratch[0+8] = output[0+8]\nround 1\nmulticast scratch[0+8] order 0\n";
    EXPECT_EQ(faults_of(shape, extent, early), Lines{});
    // It may still be on its way out of its block.
    early[0] =
        "multicast output[0+8] order 0\nround 1\ncopy output[0+4] = output[4+4] after none\n";
    expect_fault(faults_of(shape, extent, early), "nothing orders it and operation 0 of lane 0");
    early[0] = "multicast scratch[0+8] order 0\n";
    expect_fault(faults_of(shape, extent, early),
                 "it reads bytes 0 to 7 of a block before they are written");
}

// Lanes of one slot are ordered; the order of multicasts alone orders no lanes.
TEST(CheckMulticast, OrdersNoLanes) {
    const Lines twice = {
        "multicast output[0+8] order 0\nlane 1\nround 0\n"
        "multicast output[0+8] order 1\n",
        "recv_multicast from 0 output[0+8] order 0\nlane 1\nround 0\n"
        "recv_multicast from 0 output[0+8] order 1\n"};
    const Shape shape = shape_of(TUTTI_BCAST, 2, 8);
    EXPECT_EQ(faults_of(shape, {2, 1, 1, 0, 2}, twice), Lines{});
    expect_fault(faults_of(shape, {2, 2, 1, 0, 2}, twice),
                 "rank 1, lane 1, round 0: recv_multicast from 0 output[0+8] order 1: nothing "
                 "orders it");
}

}  // namespace
}  // namespace tutti::check
