// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "base/topo/node_topology.h"

namespace tutti::topo {
namespace {

#if defined(TUTTI_TEST_NO_HWLOC)

TEST(ReadOff, SaysSo) {
    const auto topology = read_node_topology("");
    ASSERT_FALSE(topology);
    EXPECT_EQ(topology.error().code, ErrorCode::kOff);
}

#else

using Names = std::vector<std::string>;

NodeTopology read(const std::string& synthetic) {
    auto topology = read_node_topology(synthetic);
    EXPECT_TRUE(topology) << synthetic << ": " << topology.error().message;
    return topology ? topology.value() : NodeTopology{};
}

size_t objects(const NodeTopology& topology, size_t level) {
    std::set<uint32_t> seen;
    for (const auto& place : topology.place) seen.insert(place.at(level));
    return seen.size();
}

// Every inner object inside one outer; numbers dense from 0.
void expect_nested(const NodeTopology& topology) {
    for (size_t level = 0; level < topology.level_names.size(); ++level) {
        std::vector<uint32_t> outer(topology.cpu_count, UINT32_MAX);
        uint32_t highest = 0;
        for (const auto& place : topology.place) {
            if (place.empty()) continue;
            highest = std::max(highest, place[level]);
            if (level == 0) continue;
            uint32_t& inside = outer.at(place[level]);
            if (inside == UINT32_MAX) inside = place[level - 1];
            EXPECT_EQ(inside, place[level - 1]);
        }
        EXPECT_EQ(objects(topology, level), highest + 1);
    }
}

TEST(Read, TwoSocketsFourCaches) {
    const NodeTopology topology = read("pack:2 l3:4 core:8 pu:1");
    EXPECT_EQ(topology.cpu_count, 64u);
    EXPECT_EQ(topology.cpus.count(), 64u);
    EXPECT_EQ(topology.place.size(), 64u);
    EXPECT_EQ(topology.level_names, (Names{"Package", "L3"}));
    EXPECT_EQ(objects(topology, 0), 2u);
    EXPECT_EQ(objects(topology, 1), 8u);
    for (uint32_t cpu = 0; cpu < 64; ++cpu) {
        EXPECT_EQ(topology.place[cpu], (std::vector<uint32_t>{cpu / 32, cpu / 8}));
    }
}

TEST(Read, ProcessorsOfACoreMayBeLeftAway) {
    const NodeTopology topology = read("pack:2 l3:4 core:8");
    EXPECT_EQ(topology.cpu_count, 64u);
    EXPECT_EQ(topology.level_names, (Names{"Package", "L3"}));
}

TEST(Read, NumaDomainsBetweenSocketAndCache) {
    const NodeTopology topology = read("pack:2 numa:4 l3:2 core:8 pu:1");
    EXPECT_EQ(topology.cpu_count, 128u);
    EXPECT_EQ(topology.level_names, (Names{"Package", "NUMANode", "L3"}));
    EXPECT_EQ(objects(topology, 1), 8u);
    EXPECT_EQ(objects(topology, 2), 16u);
    expect_nested(topology);
}

TEST(Read, NumaDomainsInsideACache) {
    const NodeTopology topology = read("pack:2 l3:1 numa:2 core:4 pu:1");
    EXPECT_EQ(topology.level_names, (Names{"Package", "NUMANode"}));
    expect_nested(topology);
}

TEST(Read, SiblingsOfACoreAreALevel) {
    const NodeTopology topology = read("pack:1 l3:2 l2:4 core:1 pu:2");
    EXPECT_EQ(topology.level_names, (Names{"L3", "Core"}));
    EXPECT_EQ(objects(topology, 1), 8u);
    expect_nested(topology);
}

TEST(Read, SecondCacheSharedByCores) {
    const NodeTopology topology = read("pack:1 l3:1 l2:4 core:4 pu:1");
    EXPECT_EQ(topology.level_names, (Names{"L2"}));
    EXPECT_EQ(objects(topology, 0), 4u);
}

TEST(Read, DiesInASocket) {
    const NodeTopology topology = read("pack:2 die:2 l3:2 core:4 pu:2");
    EXPECT_EQ(topology.level_names, (Names{"Package", "Die", "L3", "Core"}));
    EXPECT_EQ(topology.cpu_count, 64u);
    expect_nested(topology);
}

TEST(Read, NothingToTellApart) {
    for (const char* synthetic : {"pack:1 core:1 pu:1", "pack:1 core:2 pu:1", "pack:1 l3:1 core:4",
                                  "pack:2 core:1 pu:1", "pack:1 core:1 pu:2"}) {
        const NodeTopology topology = read(synthetic);
        EXPECT_TRUE(topology.level_names.empty()) << synthetic;
        EXPECT_GE(topology.cpu_count, 1u);
        for (const auto& place : topology.place) EXPECT_TRUE(place.empty()) << synthetic;
    }
}

TEST(Read, ThisMachine) {
    const NodeTopology topology = read("");
    EXPECT_GE(topology.cpu_count, static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN)));
    EXPECT_EQ(topology.cpus.count(), topology.cpu_count);
    const CpuSet own = affinity();
    for (uint32_t cpu = 0; cpu < CpuSet::kCpusMax; ++cpu) {
        if (!own.has(cpu)) continue;
        ASSERT_TRUE(topology.cpus.has(cpu)) << cpu;
        EXPECT_EQ(topology.place.at(cpu).size(), topology.level_names.size());
    }
    expect_nested(topology);
}

TEST(Read, MalformedDescriptionIsNamed) {
    for (const char* synthetic :
         {"nonsense", "pack:", "pack:2 pack", ":", "l3:2 core:-1", " ", "pu:0"}) {
        const auto topology = read_node_topology(synthetic);
        ASSERT_FALSE(topology) << synthetic;
        EXPECT_EQ(topology.error().code, ErrorCode::kArgument);
        EXPECT_NE(topology.error().message.find(synthetic), std::string::npos);
        EXPECT_EQ(topology.error().message.find('\n'), std::string::npos);
    }
}

TEST(Read, TooLargeDescriptionIsRefused) {
    EXPECT_EQ(read("pack:8 core:128 pu:1").cpu_count, 1024u);
    for (const char* synthetic : {"pack:8 core:129 pu:1", "pack:1025", "core:4000000000 pu:1",
                                  "pack:99999999999999999999 pu:1", "pack:32 l3:32 core:32"}) {
        const auto topology = read_node_topology(synthetic);
        ASSERT_FALSE(topology) << synthetic;
        EXPECT_NE(topology.error().message.find("more than 1024"), std::string::npos);
    }
}

#endif

}  // namespace
}  // namespace tutti::topo
