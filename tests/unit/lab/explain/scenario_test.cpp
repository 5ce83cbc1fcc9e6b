// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/scenario.h"

#include <gtest/gtest.h>

namespace tutti::explain {
namespace {

Scenario of(tutti_collective collective, uint32_t ranks, uint32_t hosts) {
    Scenario scenario;
    scenario.collective = collective;
    scenario.ranks = ranks;
    scenario.hosts = hosts;
    return scenario;
}

TEST(Scenario, SaysWhatItIs) {
    Scenario scenario = of(TUTTI_ALLREDUCE, 16, 4);
    EXPECT_EQ(scenario.text(1 << 20), "allreduce of 1 MiB, 16 ranks on 4 hosts");
    EXPECT_EQ(scenario.shape(12).element_bytes, 4u);
    scenario = of(TUTTI_GATHER, 3, 1);
    scenario.root = 2;
    EXPECT_EQ(scenario.text(8), "gather of 8 B a rank, 3 ranks on 1 host, root 2");
}

TEST(Scenario, RunsWhatIsForcedOrSaysWhoForcedIt) {
    Scenario scenario = of(TUTTI_BCAST, 8, 8);
    ASSERT_TRUE(scenario.force("chain:segment=64K", "--algorithm"));
    const auto choice = scenario.choose(scenario.shape(1 << 20), scenario.placement());
    ASSERT_TRUE(choice) << choice.error().message;
    EXPECT_EQ(choice.value().algorithm->name, "chain");
    EXPECT_EQ(choice.value().reason, "forced by --algorithm");
    EXPECT_EQ(tuning_text(*choice.value().algorithm, choice.value().tuning, 1 << 20),
              "segments of 64 KiB");
    const auto wrong = scenario.force("chian", "--algorithm");
    ASSERT_FALSE(wrong);
    EXPECT_TRUE(wrong.error().message.starts_with("--algorithm: ")) << wrong.error().message;
    EXPECT_EQ(of(TUTTI_BCAST, 8, 1).force("chain", "it").error().message,
              "it: on one host no message is sent; see --hosts");
}

}  // namespace
}  // namespace tutti::explain
