// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "unit/base/topo/switch_trees.h"

namespace tutti::select {
namespace {

using topo::Placement;

sched::Shape shape_of(tutti_collective collective, uint64_t bytes, uint32_t ranks) {
    sched::Shape shape;
    shape.collective = collective;
    shape.ranks = ranks;
    shape.bytes = bytes;
    shape.element_bytes = collective == TUTTI_ALLREDUCE || collective == TUTTI_REDUCE ? 8 : 1;
    return shape;
}

Rules rules_of(const std::string& text) {
    auto parsed = Rules::parse(text, "r.toml");
    EXPECT_TRUE(parsed) << parsed.error().message;
    return parsed ? parsed.value() : Rules();
}

class Choosing : public testing::Test {
  protected:
    // Ranks are two a host.
    [[nodiscard]] Result<Choice> choose(const sched::Shape& shape,
                                        const std::string& mpi = "openmpi",
                                        const std::string& no_multicast = "") const {
        auto placement = is_dealt_ ? Placement::round_robin(shape.ranks, hosts_)
                                   : Placement::blocks(shape.ranks, hosts_);
        if (!leaf_of_host_.empty()) {
            placement.set_switches(topo::test::two_levels(leaf_of_host_));
        }
        return select::choose({.rules = rules_,
                               .settings = settings_,
                               .shape = shape,
                               .placement = placement,
                               .host_mpi = mpi,
                               .forced = forced_ ? &*forced_ : nullptr,
                               .no_multicast = no_multicast});
    }
    void force(tutti_collective collective, const std::string& text) {
        forced_ = parse_forced(collective, text).value();
    }
    [[nodiscard]] std::string name(const Result<Choice>& choice) const {
        if (!choice) return choice.error().message;
        if (choice.value().runs == Runs::kHost) return "host";
        if (choice.value().runs == Runs::kNode) return "node";
        return std::string(choice.value().algorithm->name);
    }

    Rules rules_ = Rules::built_in();
    Settings settings_;
    std::optional<Forced> forced_;
    uint32_t hosts_ = 4;
    bool is_dealt_ = false;               // ranks, to hosts in turn
    std::vector<uint32_t> leaf_of_host_;  // empty: not known
};

TEST_F(Choosing, TheFirstRuleThatFits) {
    rules_ = rules_of(
        "[[rule]]\ncollective = \"allreduce\"\nbytes = \"..1K\"\nalgorithm = \"pairwise\"\n"
        "why = \"few rounds\"\n"
        "[[rule]]\ncollective = \"allreduce\"\nbytes = \"..64K\"\nhosts = \"..3\"\n"
        "algorithm = \"rabenseifner\"\n"
        "[[rule]]\ncollective = \"allreduce\"\nalgorithm = \"ring\"\nsegment = \"64K\"\n"
        "leaders = 2\n");
    const auto small = choose(shape_of(TUTTI_ALLREDUCE, 1024, 8));
    EXPECT_EQ(name(small), "pairwise");
    EXPECT_EQ(small.value().reason, "rule 1 of r.toml (allreduce, up to 1 KiB): few rounds");
    const auto large = choose(shape_of(TUTTI_ALLREDUCE, 1032, 8));
    EXPECT_EQ(name(large), "ring");
    EXPECT_EQ(large.value().tuning.segment_bytes, 64u << 10);
    EXPECT_EQ(large.value().tuning.leaders, 2u);
    hosts_ = 3;
    EXPECT_EQ(name(choose(shape_of(TUTTI_ALLREDUCE, 1032, 8))), "rabenseifner");
    // Of other collectives these rules say nothing.
    const auto barrier = choose(shape_of(TUTTI_BARRIER, 0, 8));
    EXPECT_EQ(name(barrier), "tree");
    EXPECT_TRUE(barrier.value().reason.starts_with("built-in rule 19 (barrier, hosts 2 to 16, "))
        << barrier.value().reason;
}

// Ranks that disagree on the size must not go different ways.
TEST_F(Choosing, TheHostHasSomeSizesOnceTheyAreCompared) {
    const std::string by_host = "algorithm = \"host\"\n";
    rules_ = rules_of("[[rule]]\ncollective = \"gather\"\nbytes = \"..1K\"\n" + by_host +
                      "[[rule]]\ncollective = \"scatter\"\n" + by_host);
    auto shape = shape_of(TUTTI_GATHER, 64, 8);
    EXPECT_EQ(name(choose(shape)), "host");
    EXPECT_FALSE(choose(shape).value().is_for_now);
    shape.sizes_are_compared = false;
    const auto choice = choose(shape);
    EXPECT_NE(name(choice), "host");
    EXPECT_TRUE(choice.value().is_for_now);
    EXPECT_NE(choice.value().reason.find("rule 1 of r.toml passed over: sizes are compared in the "
                                         "first 16 calls"),
              std::string::npos)
        << choice.value().reason;
    // A rule for all sizes, one for others, and one host, where who goes which way can be seen.
    auto other = shape;
    other.bytes = 2048;
    EXPECT_FALSE(choose(other).value().is_for_now);
    other.collective = TUTTI_SCATTER;
    EXPECT_EQ(name(choose(other)), "host");
    hosts_ = 1;
    EXPECT_EQ(name(choose(shape)), "host");
}

TEST_F(Choosing, ARuleThatCannotRunIsPassedOver) {
    rules_ = rules_of(
        "built_in = false\n"
        "[[rule]]\ncollective = \"allreduce\"\nalgorithm = \"ring\"\n"
        "[[rule]]\ncollective = \"allreduce\"\nalgorithm = \"pairwise\"\n");
    auto shape = shape_of(TUTTI_ALLREDUCE, 64, 8);
    EXPECT_EQ(name(choose(shape)), "ring");
    shape.is_commutative = false;
    const auto choice = choose(shape);
    EXPECT_EQ(name(choice), "pairwise");
    EXPECT_EQ(choice.value().reason,
              "rule 2 of r.toml (allreduce); rule 1 of r.toml passed over: ring needs an operator "
              "that commutes");
}

TEST_F(Choosing, ARuleThatTakesTooMuchScratchIsPassedOver) {
    const auto shape = shape_of(TUTTI_ALLREDUCE, 64u << 20, 8);
    rules_ = rules_of(
        "[[rule]]\ncollective = \"allreduce\"\nalgorithm = \"pairwise\"\n"
        "[[rule]]\ncollective = \"allreduce\"\nsegment = \"64K\"\nalgorithm = \"pairwise\"\n");
    settings_.rules.scratch_bytes = 1u << 30;
    EXPECT_EQ(choose(shape).value().tuning.segment_bytes, 0u);
    settings_.rules.scratch_bytes = 4u << 20;
    const auto choice = choose(shape);
    EXPECT_EQ(choice.value().tuning.segment_bytes, 64u << 10);
    EXPECT_NE(choice.value().reason.find("of scratch, and TUTTI_SCRATCH is 4 MiB"),
              std::string::npos)
        << choice.value().reason;
}

TEST_F(Choosing, RulesAboutHostMpiAndRanksPerHost) {
    rules_ = rules_of(
        "[[rule]]\ncollective = \"bcast\"\nmpi = [\"mpich\", \"impi\"]\nalgorithm = \"host\"\n"
        "[[rule]]\ncollective = \"bcast\"\nranks_per_host = 2\nalgorithm = \"chain\"\n"
        "[[rule]]\ncollective = \"bcast\"\nalgorithm = \"binomial\"\n");
    EXPECT_EQ(name(choose(shape_of(TUTTI_BCAST, 8, 8), "impi")), "host");
    EXPECT_EQ(name(choose(shape_of(TUTTI_BCAST, 8, 8), "openmpi")), "chain");
    // Three hosts have 2 ranks, one has 3.
    EXPECT_EQ(name(choose(shape_of(TUTTI_BCAST, 8, 9), "openmpi")), "binomial");
}

TEST_F(Choosing, RulesAboutSwitches) {
    rules_ = rules_of(
        "[[rule]]\ncollective = \"bcast\"\nswitches = 2\nhosts_per_switch = \"2..\"\n"
        "contiguous = true\nalgorithm = \"chain\"\n"
        "[[rule]]\ncollective = \"bcast\"\nswitches = 2\ncontiguous = false\n"
        "algorithm = \"scatter_allgather\"\n"
        "[[rule]]\ncollective = \"bcast\"\nswitches = 1\nalgorithm = \"host\"\n"
        "[[rule]]\ncollective = \"bcast\"\nalgorithm = \"binomial\"\n");
    const auto shape = shape_of(TUTTI_BCAST, 8, 8);
    const auto on_leaves = [&](const std::vector<uint32_t>& leaf_of_host) {
        leaf_of_host_ = leaf_of_host;
        return name(choose(shape));
    };
    EXPECT_EQ(name(choose(shape)), "binomial");
    EXPECT_EQ(on_leaves({1, 1, 0, 0}), "chain");
    EXPECT_EQ(on_leaves({1, 0, 1, 0}), "scatter_allgather");
    EXPECT_EQ(on_leaves({1, 0, 0, 0}), "binomial");
    EXPECT_EQ(on_leaves({0, 0, 0, 0}), "host");
}

TEST_F(Choosing, RulesAboutMulticast) {
    rules_ = rules_of(
        "[[rule]]\ncollective = \"bcast\"\nmulticast = true\nalgorithm = \"chain\"\n"
        "[[rule]]\ncollective = \"bcast\"\nmulticast = false\nalgorithm = \"binomial\"\n");
    auto shape = shape_of(TUTTI_BCAST, 8, 8);
    const auto without = choose(shape);
    EXPECT_EQ(name(without), "binomial");
    EXPECT_EQ(without.value().reason, "rule 2 of r.toml (bcast, without multicast)");
    shape.has_multicast = true;
    const auto with = choose(shape);
    EXPECT_EQ(name(with), "chain");
    EXPECT_EQ(with.value().reason, "rule 1 of r.toml (bcast, with multicast)");
    rules_ = rules_of(
        "[[rule]]\ncollective = \"bcast\"\nmulticast = true\nmulticast_mbit = \"..1000\"\n"
        "algorithm = \"chain\"\n"
        "[[rule]]\ncollective = \"bcast\"\nalgorithm = \"binomial\"\n");
    shape.multicast_speed.mbit = 1000;
    EXPECT_EQ(choose(shape).value().reason,
              "rule 1 of r.toml (bcast, with multicast, multicast Mbit/s up to 1000)");
    shape.multicast_speed.mbit = 1001;
    EXPECT_EQ(name(choose(shape)), "binomial");
}

// The host MPI's own short calls were measured beside messages that go through it.
TEST_F(Choosing, RulesAboutRdma) {
    auto shape = shape_of(TUTTI_BARRIER, 0, 4);
    EXPECT_EQ(name(choose(shape)), "host");
    shape.networks.add(network_number("rdma"));
    EXPECT_EQ(name(choose(shape)), "dissemination");
    rules_ = rules_of(
        "[[rule]]\ncollective = \"barrier\"\nrdma = true\nalgorithm = \"dissemination\"\n"
        "[[rule]]\ncollective = \"barrier\"\nrdma = false\nalgorithm = \"pairwise\"\n");
    EXPECT_EQ(choose(shape).value().reason, "rule 1 of r.toml (barrier, with RDMA)");
    shape.networks = {};
    EXPECT_EQ(choose(shape).value().reason, "rule 2 of r.toml (barrier, without RDMA)");
}

// A management Ethernet beside the network of the host MPI: what is measured there says so.
TEST_F(Choosing, BuiltInMulticastWinsOnlyWhereMessagesAreNotFaster) {
    hosts_ = 16;
    auto shape = shape_of(TUTTI_BCAST, 1u << 20, 16);
    shape.has_multicast = true;
    shape.multicast_speed = {100'000, 940};
    EXPECT_EQ(name(choose(shape)), "multicast");  // nothing is known of messages
    shape.message_speed = {60'000, 940};
    EXPECT_EQ(name(choose(shape)), "multicast");  // the same wires
    shape.message_speed = {2'000, 90'000};
    const auto fast = choose(shape);
    EXPECT_EQ(name(fast), "chain");
    EXPECT_NE(fast.value().reason.find(
                  "; built-in rule 4 passed over: multicast is predicted to take 9.024 ms, chain "),
              std::string::npos)
        << fast.value().reason;
    EXPECT_NE(fast.value().reason.find(
                  "(multicasts 100 us and 940 Mbit/s, messages 2 us and 90000 Mbit/s)"),
              std::string::npos)
        << fast.value().reason;
    // Latencies count for what is short.
    auto barrier = shape_of(TUTTI_BARRIER, 0, 16);
    barrier.has_multicast = true;
    barrier.multicast_speed = {100'000, 940};
    EXPECT_EQ(name(choose(barrier)), "gather_multicast");
    barrier.message_speed = {2'000, 90'000};
    EXPECT_NE(name(choose(barrier)), "gather_multicast");
    // Who asks for it by name gets it.
    settings_.mcast.choice = McastChoice::kOn;
    EXPECT_EQ(name(choose(shape)), "multicast");
    settings_.mcast.choice = McastChoice::kAuto;
    rules_ = rules_of("[[rule]]\ncollective = \"bcast\"\nalgorithm = \"multicast\"\n");
    EXPECT_EQ(name(choose(shape)), "multicast");
}

TEST_F(Choosing, WithoutMulticastItIsSaidWhy) {
    force(TUTTI_BCAST, "multicast:segment=4K");
    auto shape = shape_of(TUTTI_BCAST, 8, 8);
    const std::string cannot =
        "TUTTI_BCAST=multicast: cannot run this call: multicast needs hardware multicast, and "
        "there is none";
    EXPECT_EQ(name(choose(shape)), cannot);
    EXPECT_EQ(name(choose(shape, "", "h3 does not hear h1")), cannot + ": h3 does not hear h1");
    shape.has_multicast = true;
    const auto choice = choose(shape);
    EXPECT_EQ(name(choice), "multicast");
    EXPECT_EQ(choice.value().tuning.segment_bytes, 4096U);
    // A rule is passed over.
    forced_.reset();
    rules_ = rules_of(
        "[[rule]]\ncollective = \"bcast\"\nalgorithm = \"multicast\"\n"
        "[[rule]]\ncollective = \"bcast\"\nalgorithm = \"chain\"\n");
    EXPECT_EQ(name(choose(shape)), "multicast");
    shape.has_multicast = false;
    const auto chain = choose(shape, "", "TUTTI_MCAST=off");
    EXPECT_EQ(name(chain), "chain");
    EXPECT_EQ(chain.value().reason,
              "rule 2 of r.toml (bcast); rule 1 of r.toml passed over: multicast needs hardware "
              "multicast, and there is none: TUTTI_MCAST=off");
}

TEST_F(Choosing, OneHostNeedsNoMessages) {
    hosts_ = 1;
    force(TUTTI_BCAST, "chain");
    EXPECT_EQ(name(choose(shape_of(TUTTI_BCAST, 8, 8))), "node");
    force(TUTTI_BCAST, "host");
    EXPECT_EQ(name(choose(shape_of(TUTTI_BCAST, 8, 8))), "host");
    forced_.reset();
    rules_ = rules_of(
        "[[rule]]\ncollective = \"bcast\"\nbytes = \"..8\"\nalgorithm = \"chain\"\n"
        "[[rule]]\ncollective = \"bcast\"\nbytes = \"..8\"\nalgorithm = \"node\"\n"
        "[[rule]]\ncollective = \"bcast\"\nalgorithm = \"host\"\n");
    const auto small = choose(shape_of(TUTTI_BCAST, 8, 8));
    EXPECT_EQ(name(small), "node");
    EXPECT_EQ(small.value().reason, "rule 2 of r.toml (bcast, up to 8 B)");
    EXPECT_EQ(name(choose(shape_of(TUTTI_BCAST, 16, 8))), "host");
}

TEST_F(Choosing, AForcedAlgorithmRunsOrIsAnError) {
    auto shape = shape_of(TUTTI_ALLREDUCE, 8, 8);
    force(TUTTI_ALLREDUCE, "ring:segment=4K,lanes=2");
    const auto ring = choose(shape);
    EXPECT_EQ(name(ring), "ring");
    EXPECT_EQ(ring.value().tuning.segment_bytes, 4096u);
    EXPECT_EQ(ring.value().tuning.lanes_in_flight, 2u);
    EXPECT_EQ(ring.value().reason, "forced by TUTTI_ALLREDUCE");
    shape.is_commutative = false;
    EXPECT_EQ(name(choose(shape)),
              "TUTTI_ALLREDUCE=ring: cannot run this call: ring needs an operator that commutes");
    force(TUTTI_ALLREDUCE, "host");
    EXPECT_EQ(name(choose(shape)), "host");
    EXPECT_EQ(name(choose(shape, "")),
              "TUTTI_ALLREDUCE=host: cannot run this call: there is no MPI below Tutti");
    force(TUTTI_ALLREDUCE, "pairwise");
    settings_.rules.scratch_bytes = 4096;
    shape.bytes = 8192;
    EXPECT_TRUE(name(choose(shape))
                    .starts_with("TUTTI_ALLREDUCE=pairwise: cannot run this call: pairwise takes "))
        << name(choose(shape));
}

// Whoever loaded the rules has parsed it, and says in the question what is forced.
TEST_F(Choosing, TheTextOfTheSettingIsNotLookedAt) {
    const auto shape = shape_of(TUTTI_ALLREDUCE, 8, 8);
    const std::string by_rules = name(choose(shape));
    ASSERT_NE(by_rules, "ring");
    for (const char* text : {"ring", "nonsense"}) {
        settings_.rules.forced[TUTTI_ALLREDUCE] = text;
        EXPECT_EQ(name(choose(shape)), by_rules);
    }
    force(TUTTI_ALLREDUCE, "ring");
    EXPECT_EQ(name(choose(shape)), "ring");
}

TEST_F(Choosing, ReproducibleReductionsAreFlatChains) {
    settings_.results.reproducible = true;
    for (const auto collective : {TUTTI_REDUCE, TUTTI_ALLREDUCE, TUTTI_SCAN, TUTTI_EXSCAN}) {
        auto shape = shape_of(collective, 8, 8);
        shape.has_multicast = collective == TUTTI_ALLREDUCE;
        const auto choice = choose(shape);
        EXPECT_EQ(name(choice), "chain");
        EXPECT_TRUE(choice.value().tuning.flat);
    }
    EXPECT_EQ(name(choose(shape_of(TUTTI_BCAST, 8, 8))), "binomial");
    force(TUTTI_ALLREDUCE, "chain:segment=4K");
    const auto forced = choose(shape_of(TUTTI_ALLREDUCE, 8, 8));
    EXPECT_TRUE(forced.value().tuning.flat);
    EXPECT_EQ(forced.value().tuning.segment_bytes, 4096u);
    // On one host the node level keeps the order.
    hosts_ = 1;
    rules_ = rules_of("[[rule]]\ncollective = \"allreduce\"\nalgorithm = \"host\"\n");
    const auto node = choose(shape_of(TUTTI_ALLREDUCE, 8, 8));
    EXPECT_EQ(name(node), "node");
    EXPECT_EQ(node.value().reason,
              "one host: shared memory; rule 1 of r.toml passed over: your MPI is not "
              "TUTTI_REPRODUCIBLE");
}

TEST_F(Choosing, WithoutARuleTheHostRuns) {
    rules_ = rules_of("built_in = false");
    const auto choice = choose(shape_of(TUTTI_BCAST, 8, 8));
    EXPECT_EQ(name(choice), "host");
    EXPECT_EQ(choice.value().reason, "no rule fits");
    EXPECT_EQ(name(choose(shape_of(TUTTI_BCAST, 8, 8), "")),
              "no rule can run this bcast, and there is no MPI below Tutti");
}

// Few rounds, then few bytes; between them trees, if chains are long.
TEST_F(Choosing, BuiltInScans) {
    const auto named = [&](uint64_t bytes, uint32_t ranks) {
        hosts_ = ranks;
        const std::string scan = name(choose(shape_of(TUTTI_SCAN, bytes, ranks)));
        EXPECT_EQ(name(choose(shape_of(TUTTI_EXSCAN, bytes, ranks))), scan);
        return scan;
    };
    for (const uint32_t ranks : {2u, 16u, 256u}) {
        EXPECT_EQ(named(8, ranks), "doubling");
        EXPECT_EQ(named(64 << 20, ranks), "chain");
    }
    EXPECT_EQ(named(16 << 10, 4), "chain");
    EXPECT_EQ(named(16 << 10, 16), "doubling");
    EXPECT_EQ(named(32 << 10, 16), "chain");
    EXPECT_EQ(named(32 << 10, 32), "tree");
    EXPECT_EQ(named(64 << 10, 32), "chain");
    EXPECT_EQ(named(64 << 10, 64), "tree");
    EXPECT_EQ(named(512 << 10, 256), "tree");
}

// Of hosts with consecutive ranks these count, else ranks.
TEST_F(Choosing, BuiltInScansOfFatHosts) {
    const auto named = [&](uint64_t bytes, uint32_t hosts, uint32_t ranks_per_host) {
        hosts_ = hosts;
        return name(choose(shape_of(TUTTI_SCAN, bytes, hosts * ranks_per_host)));
    };
    EXPECT_EQ(named(16 << 10, 16, 8), "doubling");
    EXPECT_EQ(named(32 << 10, 16, 8), "chain");
    EXPECT_EQ(named(8 << 10, 4, 4), "doubling");
    EXPECT_EQ(named(16 << 10, 4, 4), "chain");
    EXPECT_EQ(named(32 << 10, 32, 2), "tree");
    is_dealt_ = true;
    EXPECT_EQ(named(256, 16, 8), "doubling");
    EXPECT_EQ(named(512, 16, 8), "tree");
    EXPECT_EQ(named(1024, 16, 4), "doubling");
    EXPECT_EQ(named(2048, 16, 4), "tree");
    EXPECT_EQ(named(512, 4, 8), "chain");
    EXPECT_EQ(named(256, 4, 8), "doubling");
}

TEST_F(Choosing, AlltoallCombinesShortBlocksAmongManyHosts) {
    struct Expected {
        uint32_t ranks;
        uint32_t hosts;
        uint64_t bytes;
        const char* algorithm;
        uint32_t fan_in;
        bool flat;
    };
    for (const Expected& one :
         {Expected{8, 8, 8, "linear", 0, false}, Expected{16, 16, 512, "bruck", 4, false},
          Expected{16, 16, 513, "linear", 0, true}, Expected{64, 64, 1024, "bruck", 8, false},
          Expected{256, 256, 8, "bruck", 16, false}, Expected{64, 64, 8192, "linear", 2, true},
          Expected{64, 16, 8, "bruck", 4, false}, Expected{128, 32, 32, "bruck", 8, false},
          Expected{32, 8, 8, "linear", 0, false}, Expected{64, 16, 512, "linear", 0, false},
          Expected{64, 16, 1024, "linear", 0, true}, Expected{128, 16, 257, "linear", 0, true},
          Expected{17, 16, 8, "linear", 0, false}, Expected{256, 16, 8, "linear", 0, false},
          Expected{64, 16, 65536, "linear", 2, true}}) {
        hosts_ = one.hosts;
        const auto choice = choose(shape_of(TUTTI_ALLTOALL, one.bytes, one.ranks), "");
        ASSERT_TRUE(choice) << choice.error().message;
        SCOPED_TRACE(testing::Message() << one.ranks << " ranks on " << one.hosts << " hosts, "
                                        << one.bytes << " bytes");
        EXPECT_EQ(choice.value().algorithm->name, one.algorithm);
        EXPECT_EQ(choice.value().tuning.fan_in, one.fan_in);
        EXPECT_EQ(choice.value().tuning.flat, one.flat);
    }
}

// Hosts whose ranks are not consecutive have no leaders.
TEST_F(Choosing, AlltoallOfRanksThatAreDealtToHosts) {
    is_dealt_ = true;
    hosts_ = 16;
    for (const uint64_t bytes : {uint64_t{8}, uint64_t{512}}) {
        const auto choice = choose(shape_of(TUTTI_ALLTOALL, bytes, 64), "");
        ASSERT_TRUE(choice) << choice.error().message;
        EXPECT_EQ(choice.value().algorithm->name, "bruck");
        EXPECT_TRUE(choice.value().tuning.flat);
    }
}

// Short blocks and, of an allgatherv, long ones are for leaders; in between a leader would gather
// or fold before the first message. Ranks that are dealt to hosts would send everything over each
// link.
TEST_F(Choosing, LeadersHaveBlocksOfDifferentLengths) {
    const auto expect = [&](tutti_collective collective, uint64_t bytes, const char* algorithm,
                            bool is_flat) {
        const auto choice = choose(shape_of(collective, bytes, 4 * hosts_));
        EXPECT_EQ(name(choice), algorithm) << collective << ", " << bytes;
        EXPECT_EQ(choice && choice.value().tuning.flat, is_flat) << collective << ", " << bytes;
    };
    hosts_ = 16;
    expect(TUTTI_ALLGATHERV, 128, "recursive_doubling", false);
    expect(TUTTI_ALLGATHERV, 1024, "pipelined_ring", true);
    expect(TUTTI_ALLGATHERV, 64 << 10, "pipelined_ring", false);
    expect(TUTTI_REDUCE_SCATTER, 128, "halving", false);
    expect(TUTTI_REDUCE_SCATTER, 64 << 10, "ring", true);
    is_dealt_ = true;
    expect(TUTTI_ALLGATHERV, 1024, "pipelined_ring", false);
    expect(TUTTI_REDUCE_SCATTER, 1024, "ring", false);
    is_dealt_ = false;
    hosts_ = 4;
    expect(TUTTI_ALLGATHERV, 1024, "pipelined_ring", false);
    expect(TUTTI_REDUCE_SCATTER, 1024, "direct", false);
    expect(TUTTI_REDUCE_SCATTER, 64 << 10, "ring", true);
}

TEST_F(Choosing, CirculantGraphsAreForManyHosts) {
    const auto chosen = [&](tutti_collective collective, uint64_t bytes) {
        return name(choose(shape_of(collective, bytes, hosts_)));
    };
    hosts_ = 32;
    EXPECT_NE(chosen(TUTTI_BCAST, 64 << 10), "circulant");
    EXPECT_NE(chosen(TUTTI_REDUCE, 64 << 10), "circulant");
    hosts_ = 64;
    EXPECT_EQ(chosen(TUTTI_BCAST, 8 << 10), "binomial");
    EXPECT_EQ(chosen(TUTTI_BCAST, 64 << 10), "circulant");
    EXPECT_EQ(chosen(TUTTI_BCAST, 1 << 20), "chain");
    EXPECT_EQ(chosen(TUTTI_REDUCE, 64 << 10), "circulant");
    hosts_ = 256;
    EXPECT_EQ(chosen(TUTTI_BCAST, 4 << 20), "circulant");
    EXPECT_EQ(chosen(TUTTI_BCAST, 8 << 20), "scatter_allgather");
    EXPECT_EQ(chosen(TUTTI_REDUCE, 4 << 20), "circulant");
}

// Only pairs of ranks know them: a shape may have some for a simulation, and a rule may ask for
// some.
TEST_F(Choosing, LengthsThatOnlyPairsKnowChooseNothing) {
    rules_ = rules_of(
        "[[rule]]\ncollective = [\"gatherv\", \"scatterv\", \"alltoallv\", \"alltoallw\"]\n"
        "bytes = \"1..\"\nalgorithm = \"host\"\n");
    for (const auto& [collective, algorithm] :
         std::vector<std::pair<tutti_collective, std::string>>{{TUTTI_GATHERV, "direct"},
                                                               {TUTTI_SCATTERV, "direct"},
                                                               {TUTTI_ALLTOALLV, "linear"},
                                                               {TUTTI_ALLTOALLW, "linear"}}) {
        for (const uint64_t bytes : {uint64_t{0}, uint64_t{8}, uint64_t{1} << 20}) {
            EXPECT_EQ(name(choose(shape_of(collective, bytes, 8))), algorithm);
        }
    }
}

// Whatever is called, the built-in rules have an answer that runs without a host MPI.
TEST_F(Choosing, TheBuiltInRulesKnowEveryCall) {
    for (uint32_t one = 0; one < TUTTI_COLLECTIVE_COUNT; ++one) {
        for (const uint32_t ranks : {2u, 3u, 8u, 16u, 33u, 100u, 4096u}) {
            for (const uint64_t bytes : {0ull, 8ull, 4096ull, 65536ull, 1ull << 20, 1ull << 28}) {
                for (const uint32_t kind : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
                    is_dealt_ = kind / 4 == 1;
                    hosts_ = is_dealt_ ? std::max(2u, (ranks + 2) / 3) : ranks;
                    auto shape = shape_of(static_cast<tutti_collective>(one), bytes, ranks);
                    shape.is_commutative = kind % 2 == 0;
                    shape.has_multicast = kind / 2 % 2 == 0;
                    const auto choice = choose(shape, "");
                    ASSERT_TRUE(choice) << choice.error().message << " " << ranks << " " << bytes;
                    EXPECT_EQ(choice.value().runs, Runs::kPlan);
                    EXPECT_NE(choice.value().algorithm, nullptr);
                }
            }
        }
    }
}

}  // namespace
}  // namespace tutti::select
