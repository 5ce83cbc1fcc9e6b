// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm along any tree of switches: proved, and counted on the links between them. Trees,
// who is where, roots and subsets of hosts are drawn by seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "lab/check/count.h"
#include "lab/check/prove.h"
#include "plan/algo/plan.h"
#include "property/shapes.h"
#include "unit/base/topo/switch_trees.h"

namespace tutti::algo {
namespace {

using topo::Placement;

// A job on some hosts of a cluster.
struct Job {
    topo::SwitchTree tree;  // of its nodes, by their numbers
    Placement placement = Placement::blocks(1, 1);
};

// Of `ranks` ranks, dealt to hosts in blocks, in turn or at random; hosts chosen at random from a
// larger cluster.
Job draw_job(Prng& prng, uint32_t switches, uint32_t hosts, uint32_t ranks) {
    const topo::SwitchTree cluster = topo::test::random_switches(prng, switches, 2 * hosts);
    std::vector<uint32_t> chosen(2 * hosts);
    std::iota(chosen.begin(), chosen.end(), 0u);
    for (size_t i = chosen.size(); i-- > 1;) std::swap(chosen[i], chosen[prng.below(i + 1)]);
    chosen.resize(hosts);
    const uint64_t way = prng.below(3);
    std::vector<uint64_t> host_of_rank;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        const uint64_t host = way == 0   ? uint64_t{rank} * hosts / ranks
                              : way == 1 ? rank % hosts
                                         : prng.below(hosts);
        host_of_rank.push_back(host);
    }
    Job job;
    job.placement = Placement(host_of_rank);
    std::vector<uint32_t> host_of_node;
    for (uint32_t node = 0; node < job.placement.nodes(); ++node) {
        host_of_node.push_back(chosen[host_of_rank[job.placement.members(node)[0]]]);
    }
    job.tree = topo::restrict_tree(cluster, host_of_node);
    job.placement.set_switches(job.tree);
    return job;
}

Shape draw_shape(Prng& prng, const Algorithm& algorithm, uint32_t ranks) {
    const Rank root =
        has_root(algorithm.collective) ? static_cast<Rank>(prng.below(ranks)) : Rank{0};
    const auto all = shapes(algorithm.collective, ranks, root);
    return all[prng.below(all.size())];
}

// Every tenth job is a large one: up to 200 switches, and up to 2,000 hosts for algorithms of few
// messages, else 100. With TESTS_BRIEF 200 at most.
struct Size {
    uint32_t switches = 0;
    uint32_t hosts = 0;
    uint32_t ranks = 0;
};

// Not all ranks with all others, nor a block from each to each.
bool has_few_messages(const Algorithm& algorithm) {
    if (is_between_all(algorithm.collective)) return false;
    constexpr Rank kRanks = 256;
    constexpr uint64_t kFew = 16;
    const Shape shape = {.collective = algorithm.collective,
                         .ranks = kRanks,
                         .bytes = 8,
                         .element_bytes = 8,
                         .has_multicast = true};
    if (!algorithm.obstacle(shape).empty()) return false;
    uint64_t sum = 0;
    for (const auto& program : make_all(algorithm, shape)) {
        const check::Count one = check::count(*program);
        sum += one.messages_sent + kRanks * one.multicasts_sent;
    }
    return sum <= kFew * kRanks;
}

Size draw_size(Prng& prng, int turn, uint32_t hosts_max) {
    if (turn % 10 != 9) {
        const auto hosts = static_cast<uint32_t>(2 + prng.below(14));
        const auto ranks = static_cast<uint32_t>(hosts + prng.below(2) * prng.below(20));
        return {static_cast<uint32_t>(1 + prng.below(9)), hosts, ranks};
    }
    // A few of thousands, since the proof of some takes the square of that.
    const auto hosts = static_cast<uint32_t>(2 + prng.below(hosts_max) / (1 + prng.below(40)));
    return {static_cast<uint32_t>(1 + prng.below(200)), hosts,
            static_cast<uint32_t>(hosts + prng.below(2) * prng.below(20))};
}

class AlongSwitches : public testing::TestWithParam<const Algorithm*> {};

TEST_P(AlongSwitches, IsProvedOnAnyTree) {
    const Algorithm& algorithm = *GetParam();
    Prng prng(4);
    const int turns = std::getenv("TESTS_BRIEF") ? 40 : std::getenv("TESTS_LONG") ? 2000 : 200;
    const uint32_t hosts_max = !has_few_messages(algorithm) ? 100
                               : std::getenv("TESTS_BRIEF") ? 200
                                                            : 2000;
    int followed = 0;
    for (int turn = 0; turn < turns; ++turn) {
        const auto [switches, hosts, ranks] = draw_size(prng, turn, hosts_max);
        const Job job = draw_job(prng, switches, hosts, ranks);
        const Shape shape = draw_shape(prng, algorithm, ranks);
        Tuning tuning;
        if (is_vector(algorithm.collective) && prng.below(3) == 0) {
            tuning.segment_bytes = shape.element_bytes * (1 + prng.below(7));
            tuning.leaders = static_cast<uint32_t>(prng.below(3));
        }
        tuning.flat = tuning.leaders == 0 && prng.below(4) == 0;
        if (algorithm.has_levels) tuning.fan_in = turn % 3 == 0 ? 0 : turn % 3 * 4;
        if (!plan_obstacle(algorithm, shape, job.placement, tuning).empty()) continue;
        followed += job.placement.switches() != nullptr ? 1 : 0;
        const Programs programs = make_plans(algorithm, shape, job.placement, tuning);
        check::Demands demands;
        demands.left_fold =
            algorithm.folds_from_left && (tuning.flat || job.placement.nodes() == ranks);
        std::optional<check::PairBlocks> blocks;
        if (has_private_lengths(shape.collective)) blocks.emplace(draw_blocks(shape, prng));
        const check::Faults faults =
            check::prove(shape, job.placement, programs, demands, blocks ? &*blocks : nullptr);
        ASSERT_TRUE(faults.lines.empty())
            << "turn " << turn << ", " << shape.ranks << " ranks on " << job.placement.nodes()
            << " nodes, root " << shape.root << ", " << shape.bytes << " bytes"
            << (shape.is_commutative ? "" : ", in order") << ": " << faults.lines.front();
        const uint64_t scratch = plan_scratch_bytes(algorithm, shape, job.placement, tuning);
        for (const auto& program : programs) {
            const sched::Extent extent = program->extent();
            EXPECT_LE(extent.lanes_in_flight * extent.scratch_bytes, scratch);
        }
    }
    // Some need an operator that commutes, which half of all reductions have.
    EXPECT_GT(followed, turns / 8);
}

// Blocks so long that an allgather hands on each as it comes, on nodes of several ranks.
TEST_P(AlongSwitches, IsProvedForStreamedBlocks) {
    const Algorithm& algorithm = *GetParam();
    if (algorithm.collective != TUTTI_ALLGATHER) return;
    Prng prng(6);
    for (int turn = 0; turn < 20; ++turn) {
        const auto hosts = static_cast<uint32_t>(2 + prng.below(8));
        const Job job = draw_job(prng, static_cast<uint32_t>(2 + prng.below(5)), hosts,
                                 hosts * static_cast<uint32_t>(1 + prng.below(3)));
        const Shape shape = {.collective = TUTTI_ALLGATHER,
                             .ranks = job.placement.ranks(),
                             .bytes = 32 << 10,
                             .has_multicast = true};
        if (!plan_obstacle(algorithm, shape, job.placement, {}).empty()) continue;
        const Programs programs = make_plans(algorithm, shape, job.placement, {});
        const check::Faults faults = check::prove(shape, job.placement, programs);
        ASSERT_TRUE(faults.lines.empty()) << "turn " << turn << ": " << faults.lines.front();
    }
}

INSTANTIATE_TEST_SUITE_P(All, AlongSwitches, testing::ValuesIn(pointers()), test_name);

// What passes the link above each switch, up and down: messages and bytes of the whole call. And
// the most messages of one step, over these links and those of hosts, and these of all steps.
struct Passed {
    std::vector<uint64_t> messages;
    std::vector<uint64_t> bytes;
    uint64_t in_a_step = 0;
    uint64_t one_after_the_other = 0;
};

Passed passed(const Job& job, const Programs& programs) {
    Passed result;
    result.messages.resize(2 * job.tree.nodes.size());
    result.bytes.resize(2 * job.tree.nodes.size());
    for (const auto& step : check::steps(job.placement, programs)) {
        std::vector<uint64_t> all(2 * job.tree.nodes.size());
        std::vector<uint64_t> of_hosts(2 * job.placement.nodes());
        for (const check::Passage& passage : step) {
            const uint32_t from = job.placement.node_of(passage.sender);
            const uint32_t to = job.placement.node_of(passage.receiver);
            if (from == to) continue;
            ++of_hosts[2 * from];
            ++of_hosts[2 * to + 1];
            std::vector<uint64_t> one(all.size());
            topo::test::add_message(job.tree, from, to, one);
            for (size_t i = 0; i < all.size(); ++i) {
                all[i] += one[i];
                result.messages[i] += one[i];
                result.bytes[i] += one[i] * passage.bytes;
            }
        }
        all.insert(all.end(), of_hosts.begin(), of_hosts.end());
        const uint64_t most = *std::max_element(all.begin(), all.end());
        result.in_a_step = std::max(result.in_a_step, most);
        result.one_after_the_other += most;
    }
    return result;
}

// Patarasuk, Yuan 2007, lemmas 4 and 5: rings, and chains, however ranks were dealt to hosts; of
// hosts and, every second time, of ranks by themselves, where there are several switches.
TEST(SwitchLoad, RingsAndChainsAreFreeOfContention) {
    Prng prng(5);
    const auto names = std::to_array<std::pair<tutti_collective, std::string_view>>(
        {{TUTTI_ALLREDUCE, "ring"},
         {TUTTI_ALLGATHER, "ring"},
         {TUTTI_BCAST, "chain"},
         {TUTTI_REDUCE, "rotated_chain"}});
    for (int turn = 0; turn < 100; ++turn) {
        const auto hosts = static_cast<uint32_t>(2 + prng.below(20));
        const Job job = draw_job(prng, static_cast<uint32_t>(1 + prng.below(12)), hosts,
                                 hosts * static_cast<uint32_t>(1 + prng.below(3)));
        for (const auto& [collective, name] : names) {
            Shape shape = {.collective = collective, .ranks = job.placement.ranks()};
            shape.bytes = 840;
            shape.element_bytes = 8;
            if (has_root(collective)) shape.root = static_cast<Rank>(prng.below(shape.ranks));
            // A chain's segments follow each other by the same way.
            Tuning tuning;
            tuning.segment_bytes = has_root(collective) ? shape.bytes : 0;
            tuning.flat = turn % 2 == 1 && job.placement.switches() != nullptr;
            const Programs programs =
                make_plans(*find(collective, name), shape, job.placement, tuning);
            const Passed load = passed(job, programs);
            EXPECT_LE(load.in_a_step, 1u) << "turn " << turn << ' ' << name;
            // And the bytes over each of them are what lemma 1 has for one process, or less.
            const uint64_t nodes = tuning.flat ? shape.ranks : job.placement.nodes();
            const uint64_t most = *std::max_element(load.bytes.begin(), load.bytes.end());
            if (collective == TUTTI_ALLREDUCE) {
                EXPECT_LE(most, 2 * (nodes - 1) * (840 / nodes / 8 * 8 + 8));
            } else if (has_root(collective)) {
                EXPECT_LE(most, shape.bytes);
            }
        }
    }
}

// However ranks were dealt to hosts: m of p participants send m (p - m) messages up the link above
// them, and the rounds take no more together than the busiest link needs for its own.
TEST(SwitchLoad, PairwiseRoundsTakeWhatTheBusiestLinkCarries) {
    Prng prng(7);
    for (int turn = 0; turn < 100; ++turn) {
        const auto hosts = static_cast<uint32_t>(2 + prng.below(20));
        const Job job = draw_job(prng, static_cast<uint32_t>(1 + prng.below(12)), hosts,
                                 hosts * static_cast<uint32_t>(1 + prng.below(3)));
        if (job.placement.switches() == nullptr) continue;
        const Algorithm& pairwise = *find(TUTTI_ALLTOALL, "pairwise");
        const Shape shape = {
            .collective = TUTTI_ALLTOALL, .ranks = job.placement.ranks(), .bytes = 8};
        Tuning tuning;
        tuning.flat = turn % 2 == 0;
        const InnerLane lane = inner_lane(pairwise, shape, job.placement, tuning);
        const uint64_t p = lane.shape.ranks;
        const Programs programs = make_plans(pairwise, shape, job.placement, tuning);
        const Passed load = passed(job, programs);
        uint64_t most = *std::max_element(load.messages.begin(), load.messages.end());
        for (uint32_t node = 0; node < job.placement.nodes(); ++node) {
            const auto members = static_cast<uint64_t>(std::ranges::count(lane.node_of, node));
            most = std::max(most, members * (p - members));
        }
        EXPECT_EQ(load.one_after_the_other, most) << "turn " << turn;
    }
}

// Blocks too long to be packed: the ring of ranks goes host after host, though these were dealt out
// in turn. What was asked to stay in the order of ranks does.
TEST(SwitchLoad, LongBlocksGoHostAfterHost) {
    Job job;
    job.tree = topo::test::two_levels({0, 1, 0, 1});
    job.placement = Placement::round_robin(12, 4);
    job.placement.set_switches(job.tree);
    const Shape shape = {
        .collective = TUTTI_ALLGATHER, .ranks = 12, .bytes = kPackedBytesMax / 12 + 1};
    const Algorithm& ring = *find(TUTTI_ALLGATHER, "ring");
    EXPECT_EQ(passed(job, make_plans(ring, shape, job.placement, {})).in_a_step, 1u);
    Tuning tuning;
    tuning.order = Order::kRanks;
    EXPECT_EQ(passed(job, make_plans(ring, shape, job.placement, tuning)).in_a_step, 6u);
}

// slack: of what the order of ranks loads, one part in so many.
void expect_none_the_worse(const std::vector<uint32_t>& leaf_of_host, uint64_t slack) {
    const auto hosts = static_cast<uint32_t>(leaf_of_host.size());
    Job job;
    job.tree = topo::test::two_levels(leaf_of_host);
    job.placement = Placement::blocks(hosts, hosts);
    job.placement.set_switches(job.tree);
    for (const Algorithm& algorithm : algorithms()) {
        Shape shape = {.collective = algorithm.collective, .ranks = hosts};
        if (algorithm.collective != TUTTI_BARRIER) shape.bytes = uint64_t{64} * hosts;
        if (is_reduction(algorithm.collective)) shape.element_bytes = 8;
        if (!plan_obstacle(algorithm, shape, job.placement, {}).empty()) continue;
        const auto busiest = [&](Order order) {
            Tuning tuning;
            tuning.order = order;
            const Passed load = passed(job, make_plans(algorithm, shape, job.placement, tuning));
            return *std::max_element(load.bytes.begin(), load.bytes.end());
        };
        const uint64_t by_ranks = busiest(Order::kRanks);
        EXPECT_LE(busiest(Order::kSwitches), by_ranks + by_ranks / slack)
            << collective_name(algorithm.collective) << ' ' << algorithm.name << ' ' << hosts;
    }
}

// Nobody loads the busiest link between switches more than in the order of ranks, dealt to four
// leaves in turn or one leaf after the other.
TEST(SwitchLoad, NoAlgorithmIsTheWorseForIt) {
    for (const uint32_t hosts : {8u, 16u, 27u, 32u}) {
        for (const bool in_turn : {false, true}) {
            std::vector<uint32_t> leaves;
            for (uint32_t i = 0; i < hosts; ++i) {
                leaves.push_back(in_turn ? i % 4 : i * 4 / hosts);
            }
            expect_none_the_worse(leaves, UINT64_MAX);
        }
    }
}

TEST(SwitchLoad, NorOnUnevenLeaves) {
    Prng prng(17);
    for (int turn = 0; turn < 60; ++turn) {
        std::vector<uint32_t> leaf_of_host;
        for (uint32_t leaf = 0; leaf < 2 + turn % 3u; ++leaf) {
            leaf_of_host.insert(leaf_of_host.end(), 1 + prng.below(9), leaf);
        }
        // Pieces of unequal length fall elsewhere.
        expect_none_the_worse(leaf_of_host, 16);
    }
}

// 16 hosts on leaves of eight: an allgather brings each leaf the other's eight blocks, and no more.
TEST(SwitchLoad, DoublingCarriesEachBlockAcrossOnce) {
    Job job;
    job.tree = topo::test::two_levels({0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1});
    job.placement = Placement::blocks(16, 16);
    job.placement.set_switches(job.tree);
    const Shape shape = {.collective = TUTTI_ALLGATHER, .ranks = 16, .bytes = 10};
    for (const char* name : {"recursive_doubling", "bruck"}) {
        const Algorithm& algorithm = *find(TUTTI_ALLGATHER, name);
        const Passed along = passed(job, make_plans(algorithm, shape, job.placement, {}));
        EXPECT_EQ(*std::max_element(along.bytes.begin(), along.bytes.end()), 80u) << name;
    }
}

// Of a gather: the messages between switches, and the most of them that a block goes by, one after
// the other.
struct Crossings {
    uint64_t all = 0;
    uint64_t longest = 0;
};

Crossings crossings_of_gather(const Job& job, Rank root, Order order) {
    Shape shape = {.collective = TUTTI_GATHER, .ranks = job.placement.ranks(), .bytes = 8};
    shape.root = root;
    Tuning tuning;
    tuning.order = order;
    const Algorithm& binomial = *find(TUTTI_GATHER, "binomial");
    const Programs programs = make_plans(binomial, shape, job.placement, tuning);
    const auto leaf_of = [&](Rank rank) {
        return job.tree.place_of_host[job.placement.node_of(rank)].node;
    };
    Crossings found;
    std::vector<uint64_t> longest(shape.ranks);  // of the blocks that a rank has
    for (const auto& step : check::steps(job.placement, programs)) {
        const std::vector<uint64_t> before = longest;
        for (const check::Passage& passage : step) {
            const bool crosses = leaf_of(passage.sender) != leaf_of(passage.receiver);
            found.all += crosses ? 1 : 0;
            uint64_t& here = longest[passage.receiver];
            here = std::max(here, before[passage.sender] + (crosses ? 1 : 0));
        }
    }
    found.longest = *std::max_element(longest.begin(), longest.end());
    return found;
}

// A rank a host, `each` hosts a rack, who is where being drawn as --placement random:SEED draws it.
Job in_racks(uint32_t racks, uint32_t each, uint64_t seed) {
    const uint32_t hosts = racks * each;
    std::vector<uint32_t> leaf_of_host;
    for (const uint64_t host : topo::hosts_at_random(hosts, hosts, seed)) {
        leaf_of_host.push_back(static_cast<uint32_t>(host) / each);
    }
    Job job;
    job.placement = Placement::blocks(hosts, hosts);
    job.tree = topo::test::two_levels(leaf_of_host);
    job.placement.set_switches(job.tree);
    return job;
}

// Kandalla, Subramoni, Panda 2010, section 4.2: along R switches a block crosses between them log R
// times at most, and R - 1 messages do. Not knowing them, in each of log P steps at most.
TEST(SwitchLoad, GatherCrossesLogOfTheSwitches) {
    for (uint32_t racks = 2; racks <= 64; racks = racks < 8 ? racks + 1 : racks * 2) {
        for (const uint32_t each : {1u, 5u, 8u}) {
            SCOPED_TRACE(std::to_string(racks) + " racks of " + std::to_string(each));
            const Job job = in_racks(racks, each, racks + each);
            const Rank root = racks * each / 3;
            const auto log_racks = static_cast<uint64_t>(std::bit_width(racks - 1));
            const Crossings along = crossings_of_gather(job, root, Order::kSwitches);
            EXPECT_EQ(along.all, racks - 1);
            // The root's half may be the one with more racks: then one fewer.
            EXPECT_LE(along.longest, log_racks);
            EXPECT_GE(along.longest, std::has_single_bit(racks) ? log_racks : log_racks - 1);
            const Crossings unaware = crossings_of_gather(job, root, Order::kRanks);
            EXPECT_GE(unaware.all, along.all);
            EXPECT_LE(unaware.longest, static_cast<uint64_t>(std::bit_width(racks * each - 1)));
        }
    }
}

// Of eight placements at random, together: what docs/algorithms/gather_binomial.md has as means.
TEST(SwitchLoad, GatherThatKnowsNoSwitchesCrossesInMostSteps) {
    const auto expected = std::to_array<std::pair<uint32_t, uint64_t>>(
        {{2, 18}, {4, 35}, {8, 43}, {16, 53}, {32, 61}});
    for (const auto& [racks, crossings] : expected) {
        uint64_t sum = 0;
        for (uint64_t seed = 1; seed <= 8; ++seed) {
            sum += crossings_of_gather(in_racks(racks, 8, seed), 0, Order::kRanks).longest;
        }
        EXPECT_EQ(sum, crossings) << racks << " racks";
    }
}

// Kandalla, Subramoni, Panda 2010, section 4.2: only leaders of switches talk to other switches, so
// one message comes to each switch, or goes from it.
TEST(SwitchLoad, TreesComeToEachSwitchOnce) {
    Prng prng(2);
    for (int turn = 0; turn < 100; ++turn) {
        const auto hosts = static_cast<uint32_t>(2 + prng.below(20));
        const Job job = draw_job(prng, static_cast<uint32_t>(1 + prng.below(12)), hosts,
                                 hosts * static_cast<uint32_t>(1 + prng.below(3)));
        for (const tutti_collective collective :
             {TUTTI_BCAST, TUTTI_REDUCE, TUTTI_GATHER, TUTTI_SCATTER}) {
            Shape shape = {.collective = collective, .ranks = job.placement.ranks()};
            shape.bytes = 8;
            shape.root = static_cast<Rank>(prng.below(shape.ranks));
            const Passed load =
                passed(job, make_plans(*find(collective, "binomial"), shape, job.placement, {}));
            const bool is_up = collective == TUTTI_REDUCE || collective == TUTTI_GATHER;
            const uint32_t root = job.tree.place_of_host[job.placement.node_of(shape.root)].node;
            for (uint32_t at = 1; at < job.tree.nodes.size(); ++at) {
                const bool has_root = topo::test::is_below(job.tree, root, at);
                // Out of it, or into it. The other way its leader may pass on what others need.
                const uint64_t once = load.messages[2 * at + (is_up ? 0 : 1)];
                EXPECT_EQ(once, has_root ? 0u : 1u) << "turn " << turn;
            }
        }
    }
}

// The same tree up and down: R - 1 messages between R switches each way.
TEST(SwitchLoad, ABarrierCrossesToEachSwitchOnce) {
    for (uint32_t racks = 2; racks <= 64; racks = racks < 8 ? racks + 1 : racks * 2) {
        for (const uint32_t each : {1u, 5u, 8u}) {
            const Job job = in_racks(racks, each, racks + each);
            const Shape shape = {.collective = TUTTI_BARRIER, .ranks = job.placement.ranks()};
            const Programs programs =
                make_plans(*find(TUTTI_BARRIER, "binomial"), shape, job.placement, {});
            uint64_t crossings = 0;
            for (const auto& step : check::steps(job.placement, programs)) {
                for (const check::Passage& passage : step) {
                    const auto leaf_of = [&](Rank rank) {
                        return job.tree.place_of_host[job.placement.node_of(rank)].node;
                    };
                    crossings += leaf_of(passage.sender) != leaf_of(passage.receiver) ? 1 : 0;
                }
            }
            EXPECT_EQ(crossings, 2 * (racks - 1)) << racks << " racks of " << each;
        }
    }
}

}  // namespace
}  // namespace tutti::algo
