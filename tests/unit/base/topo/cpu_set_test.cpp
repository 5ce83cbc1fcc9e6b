// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

#include "base/topo/node_topology.h"

namespace tutti::topo {
namespace {

TEST(CpuSet, AddHasCountFirst) {
    CpuSet set;
    EXPECT_EQ(set.count(), 0u);
    EXPECT_EQ(set.first(), std::nullopt);
    for (const uint32_t cpu : {1023u, 64u, 63u}) set.add(cpu);
    set.add(64);
    EXPECT_EQ(set.count(), 3u);
    EXPECT_EQ(set.first(), 63u);
    EXPECT_TRUE(set.has(63));
    EXPECT_TRUE(set.has(64));
    EXPECT_TRUE(set.has(1023));
    EXPECT_FALSE(set.has(0));
    EXPECT_FALSE(set.has(1024));
    EXPECT_FALSE(set.has(UINT32_MAX));
}

TEST(CpuSet, Union) {
    CpuSet a;
    CpuSet b;
    a.add(1);
    b.add(1);
    b.add(900);
    EXPECT_FALSE(a == b);
    a |= b;
    EXPECT_EQ(a, b);
    EXPECT_EQ(a.count(), 2u);
}

TEST(CpuSetDeathTest, RefusesNumbersBeyondIt) {
    CpuSet set;
    EXPECT_DEATH(set.add(CpuSet::kCpusMax), "beyond CpuSet");
}

TEST(Affinity, FollowsTheThreadsMask) {
    const CpuSet before = affinity();
    ASSERT_GE(before.count(), 1u);
    const uint32_t chosen = *before.first();
    CpuSet seen;
    std::thread narrow([&] {
        cpu_set_t mask;
        CPU_ZERO(&mask);
        CPU_SET(chosen, &mask);
        ASSERT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
        seen = affinity();
    });
    narrow.join();
    EXPECT_EQ(seen.count(), 1u);
    EXPECT_TRUE(seen.has(chosen));
    EXPECT_EQ(affinity(), before);
}

}  // namespace
}  // namespace tutti::topo
