// SPDX-License-Identifier: BSD-3-Clause
#include "lab/machine/speeds.h"

#include <gtest/gtest.h>

#include <string>

#include "base/topo/node_topology.h"
#include "lab/machine/sibling_memory.h"

namespace tutti::machine {
namespace {

TEST(Speeds, EveryPairHasFiguresOrAReason) {
    const topo::CpuSet before = topo::affinity();
    const auto facts = speed_facts(Settings{});
    ASSERT_FALSE(facts.empty());
    for (const Fact& fact : facts) {
        const bool is_known =
            fact.text.starts_with("barrier ") || fact.text.starts_with("64 KiB both ways: ") ||
            fact.text.starts_with("-> copies by ") || fact.text.starts_with("not measured: ") ||
            fact.text.starts_with("off: ");
        EXPECT_TRUE(is_known) << fact.label << ": " << fact.text;
    }
    EXPECT_EQ(topo::affinity(), before);
}

TEST(Speeds, SettingsHold) {
    Settings settings;
    settings.single_copy = SingleCopyChoice::kOff;
    settings.chunk_bytes = 4096;
    const auto facts = speed_facts(settings);
    if (facts.front().label == "none") GTEST_SKIP() << facts.front().text;
    for (const Fact& fact : facts) {
        const bool has_single = fact.text.find(", single copy ") != std::string::npos;
        EXPECT_FALSE(has_single) << fact.text;
        if (!fact.text.starts_with("->")) continue;
        EXPECT_NE(fact.text.find(" in pieces of up to 4 KiB"), std::string::npos) << fact.text;
        EXPECT_TRUE(fact.text.ends_with("; no single copy")) << fact.text;
    }
    EXPECT_EQ(facts.back().label, "single copy");
    EXPECT_EQ(facts.back().text, "off: TUTTI_SINGLE_COPY=off");
}

TEST(SiblingMemory, SayWhyTheyCannotRead) {
    Settings settings;
    const std::string why = sibling_memory_obstacle(settings);
    const bool is_told = why.starts_with("a process cannot read its sibling's memory: ");
    EXPECT_TRUE(why.empty() || is_told) << why;
    settings.single_copy = SingleCopyChoice::kOff;
    EXPECT_EQ(sibling_memory_obstacle(settings), "TUTTI_SINGLE_COPY=off");
}

}  // namespace
}  // namespace tutti::machine
