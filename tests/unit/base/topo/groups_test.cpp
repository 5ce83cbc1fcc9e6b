// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/prng.h"
#include "unit/base/topo/support.h"

namespace tutti::topo {
namespace {

using test::bound;
using test::group_sizes;
using test::machine;
using test::range;
using test::set_of;
using test::unbound;
using Level = std::vector<uint32_t>;

TEST(GroupRanks, BoundRanksFollowTheirProcessors) {
    const NodeTopology topology = machine({2, 4}, 8);
    const Groups groups = group_ranks(topology, bound(64, topology));
    ASSERT_EQ(groups.level.size(), 2u);
    for (uint32_t rank = 0; rank < 64; ++rank) {
        EXPECT_EQ(groups.level[0][rank], rank / 32);
        EXPECT_EQ(groups.level[1][rank], rank / 8);
    }
}

TEST(GroupRanks, RoundRobinOverSockets) {
    const NodeTopology topology = machine({2}, 8);
    const Groups groups = group_ranks(topology, bound(16, topology, 8));
    for (uint32_t rank = 0; rank < 16; ++rank) EXPECT_EQ(groups.level[0][rank], rank % 2);
}

TEST(GroupRanks, UnboundRanksAreSpreadInBlocks) {
    const NodeTopology topology = machine({2, 4}, 8);
    const Groups groups = group_ranks(topology, unbound(64, topology));
    for (uint32_t rank = 0; rank < 64; ++rank) {
        EXPECT_EQ(groups.level[0][rank], rank / 32);
        EXPECT_EQ(groups.level[1][rank], rank / 8);
    }
}

TEST(GroupRanks, UnevenBlocksDifferByOne) {
    const NodeTopology topology = machine({2, 2}, 4);
    const Groups groups = group_ranks(topology, unbound(7, topology));
    EXPECT_EQ(groups.level[0], (Level{0, 0, 0, 0, 1, 1, 1}));
    EXPECT_EQ(groups.level[1], (Level{0, 0, 1, 1, 2, 2, 3}));
}

TEST(GroupRanks, ObjectsGetRanksByTheirProcessors) {
    // A machine of one large and one small object: 12 and 4 processors.
    NodeTopology topology = machine({1}, 16);
    for (uint32_t cpu = 12; cpu < 16; ++cpu) topology.place[cpu] = {1};
    const Groups groups = group_ranks(topology, unbound(8, topology));
    EXPECT_EQ(group_sizes(groups.level[0]), (Level{6, 2}));
}

TEST(GroupRanks, UnboundRanksFillUpBesideBoundOnes) {
    const NodeTopology topology = machine({2}, 4);
    std::vector<CpuSet> cpus = unbound(8, topology);
    for (const uint32_t rank : {0u, 1u, 2u}) cpus[rank] = set_of({rank});
    const Groups groups = group_ranks(topology, cpus);
    EXPECT_EQ(groups.level[0], (Level{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(GroupRanks, RanksBoundToASocketAreSpreadInside) {
    const NodeTopology topology = machine({2, 2}, 2);
    const std::vector<CpuSet> cpus = {range(0, 4), range(4, 4), range(0, 4), range(4, 4),
                                      range(0, 4), range(4, 4), range(0, 4), range(4, 4)};
    const Groups groups = group_ranks(topology, cpus);
    EXPECT_EQ(groups.level[0], (Level{0, 1, 0, 1, 0, 1, 0, 1}));
    EXPECT_EQ(groups.level[1], (Level{0, 1, 0, 1, 2, 3, 2, 3}));
}

TEST(GroupRanks, WhoHasLessChoiceChoosesFirst) {
    // Ranks 0 and 1 may run anywhere, 2 and 3 on objects 0 and 1, 4 on object 0 only.
    const NodeTopology topology = machine({4}, 2);
    const std::vector<CpuSet> cpus = {range(0, 8), range(0, 8), range(0, 4), range(0, 4),
                                      range(0, 2)};
    const Groups groups = group_ranks(topology, cpus);
    const Level& level = groups.level[0];
    EXPECT_EQ(level[2], level[4]);  // The first of the two, in a block: object 0 ...
    EXPECT_NE(level[3], level[4]);  // ... and the other one on object 1,
    EXPECT_EQ(group_sizes(level), (Level{1, 1, 2, 1}));  // so that 2 and 3 are left for 0 and 1.
}

TEST(GroupRanks, UnknownProcessorsMeanAnywhere) {
    const NodeTopology topology = machine({2}, 2);
    const std::vector<CpuSet> cpus = {set_of({900}), CpuSet{}, set_of({900}), CpuSet{}};
    EXPECT_EQ(group_ranks(topology, cpus).level[0], (Level{0, 0, 1, 1}));
}

TEST(GroupRanks, MoreRanksThanProcessors) {
    const NodeTopology topology = machine({2}, 1);
    const Groups groups = group_ranks(topology, bound(9, topology));
    EXPECT_EQ(group_sizes(groups.level[0]), (Level{5, 4}));
    EXPECT_EQ(group_sizes(group_ranks(topology, unbound(9, topology)).level[0]), (Level{5, 4}));
}

TEST(GroupRanks, NothingToTellApart) {
    const NodeTopology topology = machine({}, 2);
    EXPECT_TRUE(group_ranks(topology, unbound(2, topology)).level.empty());
    EXPECT_TRUE(group_ranks(NodeTopology{}, std::vector<CpuSet>(3)).level.empty());
}

TEST(GroupRanks, NoRanks) {
    const Groups groups = group_ranks(machine({2, 2}, 2), {});
    ASSERT_EQ(groups.level.size(), 2u);
    EXPECT_TRUE(groups.level[0].empty());
}

// Random machines with holes, random sets; what must hold for all of them.
void expect_valid(const NodeTopology& topology, const std::vector<CpuSet>& cpus,
                  const Groups& groups) {
    ASSERT_EQ(groups.level.size(), topology.level_names.size());
    for (size_t level = 0; level < groups.level.size(); ++level) {
        const Level& group = groups.level[level];
        ASSERT_EQ(group.size(), cpus.size());
        // Numbered densely in the order of their first ranks.
        uint32_t next = 0;
        for (const uint32_t number : group) {
            ASSERT_LE(number, next);
            next = std::max(next, number + 1);
        }
        // Ranks of a group share an object that each of them may use; two groups have two objects.
        std::map<uint32_t, uint32_t> outer;
        for (size_t rank = 0; level > 0 && rank < group.size(); ++rank) {
            const uint32_t above = groups.level[level - 1][rank];
            ASSERT_EQ(outer.try_emplace(group[rank], above).first->second, above);
        }
    }
    for (size_t rank = 0; rank < cpus.size(); ++rank) {
        if (cpus[rank].count() != 1 || !topology.cpus.has(*cpus[rank].first())) continue;
        for (size_t other = 0; other < rank; ++other) {
            if (cpus[other].count() != 1 || !topology.cpus.has(*cpus[other].first())) continue;
            for (size_t level = 0; level < groups.level.size(); ++level) {
                const bool same_object = topology.place[*cpus[rank].first()][level] ==
                                         topology.place[*cpus[other].first()][level];
                ASSERT_EQ(groups.level[level][rank] == groups.level[level][other], same_object);
            }
        }
    }
}

NodeTopology random_machine(Prng& random) {
    std::vector<uint32_t> parts;
    const uint64_t levels = random.below(4);
    for (uint64_t i = 0; i < levels; ++i) {
        parts.push_back(1 + static_cast<uint32_t>(random.below(4)));
    }
    NodeTopology topology = machine(parts, 1 + static_cast<uint32_t>(random.below(4)));
    CpuSet kept;
    for (uint32_t cpu = 0; cpu < topology.place.size(); ++cpu) {
        if (cpu == 0 || random.below(8) != 0) {
            kept.add(cpu);
        } else {
            topology.place[cpu].clear();
        }
    }
    topology.cpus = kept;
    topology.cpu_count = kept.count();
    return topology;
}

TEST(GroupRanks, PropertiesOnRandomMachines) {
    for (uint64_t seed = 0; seed < 2000; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Prng random(seed);
        const NodeTopology topology = random_machine(random);
        const uint64_t ranks = 1 + random.below(40);
        std::vector<CpuSet> cpus(ranks);
        const uint64_t density = 1 + random.below(6);
        for (CpuSet& set : cpus) {
            set.add(static_cast<uint32_t>(random.below(topology.place.size() + 2)));
            for (uint32_t cpu = 0; cpu < topology.place.size(); ++cpu) {
                if (random.below(density) == 1) set.add(cpu);
            }
        }
        const Groups groups = group_ranks(topology, cpus);
        expect_valid(topology, cpus, groups);
        EXPECT_EQ(group_ranks(topology, cpus).level, groups.level);
        if (HasFailure()) return;
    }
}

TEST(GroupRanks, UnboundRanksAreContiguousAndBalanced) {
    for (uint64_t seed = 0; seed < 500; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Prng random(seed);
        const uint32_t objects = 1 + static_cast<uint32_t>(random.below(9));
        const NodeTopology topology =
            machine({objects}, 1 + static_cast<uint32_t>(random.below(8)));
        const auto ranks = static_cast<uint32_t>(1 + random.below(100));
        const Level level = group_ranks(topology, unbound(ranks, topology)).level[0];
        EXPECT_TRUE(std::is_sorted(level.begin(), level.end()));
        const Level sizes = group_sizes(level);
        EXPECT_EQ(sizes.size(), std::min(objects, ranks));
        const auto [low, high] = std::minmax_element(sizes.begin(), sizes.end());
        EXPECT_LE(*high - *low, 1u);
        if (HasFailure()) return;
    }
}

TEST(GroupRanks, DistanceCountsTheLevelsThatAreApart) {
    // Two sockets of two caches of two processors each.
    const NodeTopology topology = machine({2, 2}, 2);
    std::vector<CpuSet> cpus;
    for (uint32_t cpu = 0; cpu < 8; ++cpu) cpus.push_back(set_of({cpu}));
    const Groups groups = group_ranks(topology, cpus);
    const std::vector<uint32_t> wanted = {0, 0, 1, 1, 2, 2, 2, 2};
    for (uint32_t rank = 0; rank < 8; ++rank) EXPECT_EQ(distance(groups, 0, rank), wanted[rank]);
    EXPECT_EQ(distance(Groups{}, 3, 5), 0u);
}

}  // namespace
}  // namespace tutti::topo
