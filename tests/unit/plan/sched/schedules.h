// SPDX-License-Identifier: BSD-3-Clause
// Schedules written as text in tests: a header made from the shape, and a body a rank.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "plan/sched/program_text.h"

namespace tutti::sched {

using Programs = std::vector<std::unique_ptr<Program>>;
using Lines = std::vector<std::string>;

inline Shape shape_of(tutti_collective collective, Rank ranks, uint64_t bytes, Rank root = 0) {
    Shape shape;
    shape.collective = collective;
    shape.ranks = ranks;
    shape.root = root;
    shape.bytes = bytes;
    return shape;
}

inline const Lines kTwoWhoMeet = {
    "meet_with child 1 scratch[0+32]\nmeet - = - by scratch[32+16]\n",
    "meet_with parent 0 scratch[0+32]\nmeet - = - by scratch[32+16]\n"};

inline topo::Placement alone(Rank ranks) { return topo::Placement::blocks(ranks, ranks); }

// Bodies begin with the operations of lane 0, round 0.
inline Programs written(const Shape& shape, const Extent& extent, const Lines& bodies) {
    EXPECT_EQ(shape.ranks, bodies.size());
    Programs programs;
    for (Rank r = 0; r < bodies.size(); ++r) {
        const std::string header =
            "schedule 1\ncollective barrier\nranks " + std::to_string(shape.ranks) +
            "\nroot 0\nbytes 0\nelement 1\nrank " + std::to_string(r) + "\nname test\nlanes " +
            std::to_string(extent.lanes) + "\nin_flight " + std::to_string(extent.lanes_in_flight) +
            "\nrounds " + std::to_string(extent.rounds) + "\nscratch " +
            std::to_string(extent.scratch_bytes) + "\nmulticasts " +
            std::to_string(extent.multicasts) + "\n";
        auto program = parse(header + "lane 0\nround 0\n" + bodies[r], "rank" + std::to_string(r));
        EXPECT_TRUE(program) << program.error().message;
        if (!program) return {};
        programs.push_back(std::move(program.value()));
    }
    return programs;
}

}  // namespace tutti::sched
