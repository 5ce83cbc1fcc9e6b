// SPDX-License-Identifier: BSD-3-Clause
// Right schedules are proved, and every kind of fault is found and named.
#include "sched/check.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedules.h"

namespace tutti::sched {
namespace {

using Lines = std::vector<std::string>;

// Two ranks exchange and fold, rank order kept: the smallest allreduce.
const Lines kAllreduce = {
    "send 0 to 1 input[0+8]\nrecv_reduce 0 from 1 output[0+8] = input[0+8] op *scratch[0+8]\n",
    "send 0 to 0 input[0+8]\nrecv_reduce 0 from 0 output[0+8] = *scratch[0+8] op input[0+8]\n"};

Shape ordered(Shape shape) {
    shape.is_commutative = false;
    return shape;
}

void expect_fault(const Lines& lines, const std::string& what) {
    ASSERT_FALSE(lines.empty()) << "nothing found; wanted: " << what;
    EXPECT_NE(lines[0].find(what), std::string::npos) << "found: " << lines[0];
}

TEST(Check, ProvesSmallSchedules) {
    // In place the folded vector overwrites what may still have to be sent: two rounds.
    EXPECT_EQ(faults_of(ordered(shape_of(TUTTI_ALLREDUCE, 2, 8)), {1, 1, 2, 8},
                        {"send 0 to 1 input[0+8]\nrecv 0 from 1 scratch[0+8]\nround 1\n"
                         "reduce output[0+8] = input[0+8] op scratch[0+8]\n",
                         "send 0 to 0 input[0+8]\nrecv 0 from 0 scratch[0+8]\nround 1\n"
                         "reduce output[0+8] = scratch[0+8] op input[0+8]\n"}),
              Lines{});
    EXPECT_EQ(faults_of(shape_of(TUTTI_BCAST, 3, 8, 1), {1, 1, 1, 0},
                        {"recv 0 from 1 output[0+8]\n",
                         "send 0 to 0 output[0+8]\nsend 0 to 2 output[0+8]\n",
                         "recv 0 from 1 output[0+8]\n"}),
              Lines{});
    EXPECT_EQ(faults_of(shape_of(TUTTI_GATHER, 2, 8, 1), {1, 1, 1, 0},
                        {"send 0 to 1 input[0+8]\n",
                         "recv 0 from 0 output[0+8]\ncopy output[8+8] = input[0+8]\n"}),
              Lines{});
    EXPECT_EQ(faults_of(shape_of(TUTTI_SCATTER, 2, 8), {1, 1, 1, 0},
                        {"send 0 to 1 input[8+8]\ncopy output[0+8] = input[0+8]\n",
                         "recv 0 from 0 output[0+8]\n"}),
              Lines{});
    EXPECT_EQ(faults_of(shape_of(TUTTI_ALLGATHER, 2, 8), {1, 1, 1, 0},
                        {"send 0 to 1 input[0+8]\nrecv 0 from 1 output[8+8]\n"
                         "copy output[0+8] = input[0+8]\n",
                         "send 0 to 0 input[0+8]\nrecv 0 from 0 output[0+8]\n"
                         "copy output[8+8] = input[0+8]\n"}),
              Lines{});
    EXPECT_EQ(faults_of(shape_of(TUTTI_BARRIER, 2, 0), {1, 1, 1, 0},
                        {"send 0 to 1 -\nrecv 0 from 1 -\n", "send 0 to 0 -\nrecv 0 from 0 -\n"}),
              Lines{});
}

TEST(Check, InPlaceIsProvedToo) {
    expect_fault(faults_of(shape_of(TUTTI_ALLREDUCE, 2, 8), {1, 1, 1, 8}, kAllreduce),
                 "in place: rank 0, lane 0, round 0: send 0 to 1 input[0+8]: nothing orders it and "
                 "operation 1 of lane 0, round 0");
}

}  // namespace
}  // namespace tutti::sched
