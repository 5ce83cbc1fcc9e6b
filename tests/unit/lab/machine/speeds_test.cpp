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
    const FactRow row = speed_facts(Settings{});
    ASSERT_FALSE(row.facts.empty());
    for (const Fact& fact : row.facts) {
        const std::string text = row.text_of(fact);
        const bool is_known = text.starts_with("barrier ") ||
                              text.starts_with("64 KiB both ways: ") ||
                              text.starts_with("-> copies by ") ||
                              text.starts_with("not measured: ") || text.starts_with("off: ");
        EXPECT_TRUE(is_known) << fact.name << ": " << text;
    }
    EXPECT_EQ(topo::affinity(), before);
}

TEST(Speeds, SettingsHold) {
    Settings settings;
    settings.node.single_copy = SingleCopyChoice::kOff;
    settings.node.chunk_bytes = 4096;
    const FactRow row = speed_facts(settings);
    if (const Fact* none = row.find("none")) GTEST_SKIP() << row.text_of(*none);
    for (const Fact& fact : row.facts) {
        const std::string text = row.text_of(fact);
        const bool has_single = text.find(", single copy ") != std::string::npos;
        EXPECT_FALSE(has_single) << text;
        if (!text.starts_with("->")) continue;
        EXPECT_NE(text.find(" in pieces of up to 4 KiB"), std::string::npos) << text;
        EXPECT_TRUE(text.ends_with("; no single copy")) << text;
    }
    EXPECT_EQ(row.facts.back().name, "single copy");
    EXPECT_EQ(row.text_of(row.facts.back()), "off: TUTTI_SINGLE_COPY=off");
}

TEST(SiblingMemory, SayWhyTheyCannotRead) {
    Settings settings;
    const std::string why = sibling_memory_obstacle(settings);
    const bool is_told = why.starts_with("a process cannot read its sibling's memory: ");
    EXPECT_TRUE(why.empty() || is_told) << why;
    settings.node.single_copy = SingleCopyChoice::kOff;
    EXPECT_EQ(sibling_memory_obstacle(settings), "TUTTI_SINGLE_COPY=off");
}

}  // namespace
}  // namespace tutti::machine
