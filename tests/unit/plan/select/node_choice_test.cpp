// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/node_choice.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/settings.h"
#include "plan/select/rules.h"
#include "run/node/node_team.h"

namespace tutti::select {
namespace {

constexpr uint32_t kRanks = 4;

class NodeChoiceTest : public testing::Test {
  protected:
    NodeChoiceTest() {
        team_.size = kRanks;
        call_.collective = TUTTI_ALLREDUCE;
        call_.bytes = 8;
        shape_.collective = TUTTI_ALLREDUCE;
        shape_.ranks = kRanks;
        shape_.bytes = 8;
        shape_.element_bytes = 8;
    }
    [[nodiscard]] Grounds grounds() const { return {settings_, rules_, nullptr}; }
    [[nodiscard]] NodeCall on_node() const { return {team_, call_}; }

    Settings settings_;
    Rules rules_ = Rules::built_in();
    node::Team team_;
    node::Call call_;
    sched::Shape shape_;
};

TEST_F(NodeChoiceTest, IsNotMadeWhereNothingIsSaid) {
    EXPECT_EQ(NodeChoice::create(grounds(), kRanks), nullptr);
}

TEST_F(NodeChoiceTest, ASettingNamesAnAlgorithmOfItsCollective) {
    rules_.force(TUTTI_ALLREDUCE, parse_forced(TUTTI_ALLREDUCE, "node:split").value());
    const auto choice = NodeChoice::create(grounds(), kRanks);
    ASSERT_NE(choice, nullptr);
    EXPECT_TRUE(choice->is_about(TUTTI_ALLREDUCE, 8));
    EXPECT_FALSE(choice->is_about(TUTTI_REDUCE, 8));
}

TEST_F(NodeChoiceTest, WhatWasForcedGoesBeforeTheSetting) {
    rules_.force(TUTTI_ALLREDUCE, parse_forced(TUTTI_ALLREDUCE, "node:split").value());
    const auto choice = NodeChoice::create(grounds(), kRanks);
    ASSERT_NE(choice, nullptr);
    const auto name = [&] { return choice->says(shape_, on_node()).value().algorithm->name; };
    EXPECT_STREQ(name(), "split");
    ASSERT_TRUE(choice->force(shape_, on_node(), "node:small"));
    EXPECT_STREQ(name(), "small");
    // What cannot run is refused, and changes nothing.
    const auto refused = choice->force(shape_, on_node(), "host");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "TUTTI_ALLREDUCE=host: cannot run this call: there is no MPI below Tutti");
    EXPECT_STREQ(name(), "small");
    sched::Shape other = shape_;  // that nobody has asked for yet
    other.bytes += 8;
    EXPECT_STREQ(choice->says(other, on_node()).value().algorithm->name, "small");
    ASSERT_TRUE(choice->force(shape_, on_node(), ""));
    EXPECT_STREQ(name(), "split");
}

TEST_F(NodeChoiceTest, WhatWasForcedIsTakenBack) {
    const auto choice = NodeChoice::create_silent(grounds(), kRanks);
    ASSERT_TRUE(choice->force(shape_, on_node(), "node:small"));
    EXPECT_TRUE(choice->is_about(TUTTI_ALLREDUCE, 8));
    const auto said = choice->says(shape_, on_node());
    ASSERT_TRUE(said);
    EXPECT_FALSE(said.value().is_host);
    ASSERT_NE(said.value().algorithm, nullptr);
    EXPECT_EQ(said.value().algorithm->name, std::string("small"));

    ASSERT_TRUE(choice->force(shape_, on_node(), ""));
    EXPECT_FALSE(choice->is_about(TUTTI_ALLREDUCE, 8));
}

// The embedder's lengths are gone after the call (found by the address sanitizer).
TEST_F(NodeChoiceTest, AnswersDoNotKeepTheLengthsOfACall) {
    shape_.collective = call_.collective = TUTTI_ALLGATHERV;
    shape_.element_bytes = 1;
    const auto choice = NodeChoice::create_silent(grounds(), kRanks);
    ASSERT_TRUE(choice->force(shape_, on_node(), "node"));
    for (uint64_t turn = 0; turn < 3; ++turn) {
        const std::vector<uint64_t> lengths = {8, turn, 0, 1};
        shape_.lengths = {lengths.data(), kRanks, nullptr};
        const auto said = choice->says(shape_, on_node());
        ASSERT_TRUE(said) << said.error().message;
        EXPECT_FALSE(said.value().is_host);
    }
}

// A slot holds all blocks of a reduce_scatter, so their sum counts, as in the node level's own
// choice.
TEST_F(NodeChoiceTest, ShortBlocksBesideALongOneMayGoInASlot) {
    shape_.collective = call_.collective = TUTTI_REDUCE_SCATTER;
    shape_.bytes = call_.bytes = 800;
    team_.slice.geometry.inline_max = node::kInlineBytesMax;
    const auto choice = NodeChoice::create_silent(grounds(), kRanks);
    const auto says = [&](uint64_t other) {
        const std::vector<uint64_t> lengths = {800, other, 0, 8};
        const std::vector<uint64_t> offsets = {0, 800, 800 + other, 800 + other};
        const tutti_blocks blocks{lengths.data(), offsets.data(), nullptr, nullptr};
        call_.blocks = &blocks;
        shape_.lengths = {lengths.data(), kRanks, nullptr};
        if (!choice->is_forced(TUTTI_REDUCE_SCATTER)) {
            EXPECT_TRUE(choice->force(shape_, on_node(), "node:small"));
        }
        return static_cast<bool>(choice->says(shape_, on_node()));
    };
    EXPECT_TRUE(says(8));
    EXPECT_FALSE(says(400)) << "the longest is as long, and the sum is not";
    EXPECT_TRUE(says(8));
}

TEST_F(NodeChoiceTest, WhatIsRefusedChangesNothing) {
    const auto choice = NodeChoice::create_silent(grounds(), kRanks);
    for (const char* name : {"ring", "node:nothing", "nothing"}) {
        EXPECT_FALSE(choice->force(shape_, on_node(), name)) << name;
        EXPECT_FALSE(choice->is_about(TUTTI_ALLREDUCE, 8)) << name;
    }
}

}  // namespace
}  // namespace tutti::select
