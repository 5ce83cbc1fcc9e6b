// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/by_price.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "plan/algo/plan.h"
#include "plan/select/parameter_presets.h"
#include "plan/select/select.h"

namespace tutti::select {
namespace {

using topo::Placement;

class ByPrice : public testing::Test {
  protected:
    Result<Choice> choose(const std::string& rules_text) {
        auto parsed = Rules::parse(rules_text, "tuned.toml");
        EXPECT_TRUE(parsed) << parsed.error().message;
        rules_ = std::move(parsed.value());
        shape_.ranks = placement_.ranks();
        cluster_ = cluster_of(placement_, *rules_.parameters());
        prices_.emplace(placement_, cluster_);
        return select::choose({.rules = rules_,
                               .settings = settings_,
                               .shape = shape_,
                               .placement = placement_,
                               .host_mpi = "openmpi",
                               .prices = &*prices_});
    }
    Rules rules_;
    Settings settings_;
    Cluster cluster_;
    std::optional<Prices> prices_;
    sched::Shape shape_{.collective = TUTTI_ALLREDUCE, .bytes = 8, .element_bytes = 8};
    Placement placement_ = Placement::blocks(16, 16);
};

TEST_F(ByPrice, TheCheapestRuns) {
    auto choice = choose("parameters = \"infiniband-100g\"\n");
    ASSERT_TRUE(choice) << choice.error().message;
    EXPECT_EQ(choice.value().algorithm->name, "pairwise");
    EXPECT_TRUE(choice.value().reason.starts_with("the lowest price: "));
    shape_.bytes = 16u << 20;
    choice = choose("parameters = \"infiniband-100g\"\n");
    ASSERT_TRUE(choice);
    // Halves between pairs or pieces around a ring: the same bytes, and many or few messages.
    EXPECT_NE(choice.value().algorithm->name, "pairwise");
    EXPECT_NE(choice.value().algorithm->name, "binomial");
}

// The user's rules, the tuned file's, the prices; whose parameters these are does not matter.
TEST_F(ByPrice, BehindTheTunedFilesRules) {
    const auto tuned = [](const std::string& text) {
        return Rules::parse("[tuned]\nmpi = \"a\"\nhosts = \"b\"\n" + text, "tuned.toml").value();
    };
    const std::string parameters = "[parameters]\nlatency = \"1us\"\nrate = \"100gbit\"\n";
    const std::string rule = "[[rule]]\ncollective = \"allreduce\"\n";
    const auto reason = [&](const std::string& user, const std::string& of_tuned) {
        rules_ = Rules::parse(user, "mine.toml").value();
        rules_.follow_with(tuned(of_tuned));
        shape_.ranks = placement_.ranks();
        prices_.reset();
        if (const auto& known = rules_.parameters()) {
            prices_.emplace(placement_, cluster_of(placement_, *known));
        }
        const auto choice = select::choose({.rules = rules_,
                                            .settings = settings_,
                                            .shape = shape_,
                                            .placement = placement_,
                                            .host_mpi = "openmpi",
                                            .prices = prices_ ? &*prices_ : nullptr});
        return choice ? choice.value().reason : choice.error().message;
    };
    const std::string chain = rule + "algorithm = \"chain\"\n";
    const std::string ring = rule + "bytes = \"..4K\"\nalgorithm = \"ring\"\nwhy = \"measured\"\n";
    EXPECT_EQ(reason(chain, ring), "rule 1 of mine.toml (allreduce)");
    EXPECT_EQ(reason(parameters, ring), "rule 1 of tuned.toml (allreduce, up to 4 KiB): measured");
    EXPECT_EQ(reason(parameters, rule + "bytes = \"4K..\"\nalgorithm = \"host\"\n" + ring),
              "rule 2 of tuned.toml (allreduce, up to 4 KiB): measured");
    shape_.bytes = 1u << 20;
    EXPECT_TRUE(reason("", ring).starts_with("built-in rule "));
    EXPECT_TRUE(reason("", ring + parameters).starts_with("the lowest price: "));
    EXPECT_TRUE(reason(parameters, ring).starts_with("the lowest price: "));
    EXPECT_EQ(reason("built_in = false\n" + parameters, ring), "no rule fits");
}

// Bytes cost ever more against messages, so a long vector's algorithm is never one of whole
// vectors, whatever the preset; and of all that can run none is cheaper.
TEST_F(ByPrice, NoneIsCheaper) {
    for (const Preset& preset : presets()) {
        for (const auto collective : {TUTTI_BCAST, TUTTI_REDUCE, TUTTI_ALLREDUCE, TUTTI_GATHER,
                                      TUTTI_SCATTER, TUTTI_ALLGATHER, TUTTI_BARRIER}) {
            for (const uint64_t bytes : {8u, 4096u, 1u << 18}) {
                shape_ = {.collective = collective, .ranks = 16, .bytes = bytes};
                if (!has_data(collective)) shape_.bytes = 0;
                const auto choice = choose("parameters = \"" + preset.name + "\"\n");
                ASSERT_TRUE(choice) << choice.error().message;
                const Choice& chosen = choice.value();
                const uint64_t ns =
                    predicted_ns(*chosen.algorithm, shape_, placement_, chosen.tuning, cluster_);
                for (const algo::Algorithm& other : algo::algorithms()) {
                    if (other.collective != collective || other.has_multicast) continue;
                    if (other.follows_arrival || other.is_only_named) continue;
                    if (!algo::plan_obstacle(other, shape_, placement_, {}).empty()) continue;
                    EXPECT_LE(ns, predicted_ns(other, shape_, placement_, {}, cluster_))
                        << preset.name << ": " << chosen.algorithm->name << ", " << other.name;
                }
            }
        }
    }
}

// As one long block among others alike, of sizes that many lengths share.
TEST_F(ByPrice, BlocksThatDifferArePricedByTheLongest) {
    const auto priced = [&](std::vector<uint64_t> lengths) {
        const sched::OwnLengths own(lengths);
        const sched::Shape shape = {.collective = TUTTI_ALLGATHERV,
                                    .ranks = 4,
                                    .bytes = std::ranges::max(lengths),
                                    .lengths = own.view()};
        return length_class(shape);
    };
    EXPECT_FALSE(priced({100, 90, 80, 50}).view().are_there()) << "about alike";
    const sched::OwnLengths one = priced({5, 900, 0, 7});
    ASSERT_TRUE(one.view().are_there());
    EXPECT_EQ(one.view().bytes[0], 1024u);
    for (const uint32_t i : {1u, 2u, 3u}) EXPECT_EQ(one.view().bytes[i], 4u);
    EXPECT_EQ(priced({1000, 4, 4, 4}).view(), one.view());
    EXPECT_EQ(priced({0, 0, 0, 1000}).view().bytes[3], 0u);
}

TEST_F(ByPrice, OneLongBlockIsAPipeline) {
    std::vector<uint64_t> lengths(16, 0);
    lengths[5] = 4u << 20;
    const sched::OwnLengths own(lengths);
    shape_ = {.collective = TUTTI_ALLGATHERV, .ranks = 16, .bytes = 4u << 20};
    shape_.lengths = own.view();
    const auto choice = choose("parameters = \"ethernet-10g\"\n");
    ASSERT_TRUE(choice) << choice.error().message;
    EXPECT_EQ(choice.value().algorithm->name, "pipelined_ring") << choice.value().reason;
    const auto& ranking = prices_->of(shape_);
    const auto ring = std::ranges::find(ranking.priced, std::string_view("ring"),
                                        [](const Priced& one) { return one.algorithm->name; });
    if (ring != ranking.priced.end()) {
        EXPECT_GT(ring->ns, 5 * ranking.priced.front().ns);
    }
}

// Too long for a tree and too short for a chain. Four leaves with one link up are for a chain.
TEST_F(ByPrice, MiddlingVectorsAmongManyGoAroundACirculantGraph) {
    const auto chosen = [&]() -> std::string_view {
        const auto choice = choose("parameters = \"ethernet-10g\"\n");
        return choice ? choice.value().algorithm->name : "none";
    };
    placement_ = Placement::blocks(64, 64);
    for (const auto collective : {TUTTI_BCAST, TUTTI_REDUCE}) {
        shape_ = {.collective = collective, .ranks = 64, .bytes = 1u << 20, .element_bytes = 8};
        EXPECT_EQ(chosen(), "circulant") << collective_name(collective);
    }
    shape_.is_commutative = false;
    EXPECT_NE(chosen(), "circulant");
    shape_ = {.collective = TUTTI_BCAST, .ranks = 64, .bytes = 64u << 20};
    EXPECT_EQ(chosen(), "chain");
    std::vector<uint64_t> lengths(64, 8);
    lengths[5] = 1u << 20;
    const sched::OwnLengths own(lengths);
    shape_ = {.collective = TUTTI_ALLGATHERV, .ranks = 64, .bytes = 1u << 20};
    shape_.lengths = own.view();
    EXPECT_EQ(chosen(), "circulant");
    topo::SwitchTree tree;
    tree.nodes.resize(5);
    for (uint32_t leaf = 1; leaf <= 4; ++leaf) tree.nodes[leaf].parent = 0;
    for (uint32_t host = 0; host < 64; ++host) tree.place_of_host.push_back({1 + host / 16, {}});
    placement_.set_switches(tree);
    shape_ = {.collective = TUTTI_BCAST, .ranks = 64, .bytes = 1u << 20};
    EXPECT_EQ(chosen(), "chain");
}

TEST_F(ByPrice, BuiltInRulesComeBehind) {
    shape_.ranks = 16;
    prices_.emplace(placement_, cluster_of(placement_, find_preset("infiniband-100g")->parameters));
    const auto choice = select::choose({.rules = Rules::built_in(),
                                        .settings = settings_,
                                        .shape = shape_,
                                        .placement = placement_,
                                        .host_mpi = "openmpi",
                                        .prices = &*prices_});
    ASSERT_TRUE(choice);
    EXPECT_TRUE(choice.value().reason.starts_with("the lowest price: ")) << choice.value().reason;
}

TEST_F(ByPrice, RulesGoBefore) {
    const auto choice = choose(
        "parameters = \"infiniband-100g\"\n[[rule]]\ncollective = \"allreduce\"\n"
        "algorithm = \"chain\"\n");
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice.value().algorithm->name, "chain");
}

// Without built-in rules behind them there are no prices either.
TEST_F(ByPrice, NothingIsPricedWhereTheHostIsWanted) {
    const auto choice = choose("built_in = false\nparameters = \"infiniband-100g\"\n");
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice.value().runs, Runs::kHost);
}

// Where start-up is all that counts, levels of a tree are one; where each message costs its sender
// as much, they are not.
TEST_F(ByPrice, ATreeIsAsFlatAsMessagesAreCheap) {
    placement_ = Placement::blocks(64, 64);
    shape_ = {.collective = TUTTI_BCAST, .bytes = 8};
    auto choice =
        choose("[parameters]\nlatency = \"10us\"\nrate = \"100gbit\"\nmessage = \"1ns\"\n");
    ASSERT_TRUE(choice) << choice.error().message;
    EXPECT_EQ(choice.value().algorithm->name, "binomial");
    EXPECT_EQ(choice.value().tuning.fan_in, 8u);
    choice = choose("[parameters]\nlatency = \"1us\"\nrate = \"100gbit\"\nmessage = \"9us\"\n");
    ASSERT_TRUE(choice) << choice.error().message;
    EXPECT_EQ(choice.value().tuning.fan_in, 0u);
}

TEST_F(ByPrice, WhatDoesNotFitIntoScratchIsNotChosen) {
    shape_.bytes = 16u << 20;
    settings_.rules.scratch_bytes = 64u << 10;
    const auto choice = choose("parameters = \"infiniband-100g\"\n");
    ASSERT_TRUE(choice) << choice.error().message;
    EXPECT_LE(algo::plan_scratch_bytes(*choice.value().algorithm, shape_, placement_,
                                       choice.value().tuning),
              settings_.rules.scratch_bytes);
}

TEST_F(ByPrice, SizesNearEachOtherHaveOneRanking) {
    Prices prices(placement_, cluster_of(placement_, find_preset("ranger")->parameters));
    shape_.ranks = 16;
    shape_.bytes = 1000;
    shape_.root = 5;
    const Prices::Ranking& first = prices.of(shape_);
    EXPECT_EQ(first.shape.bytes, 1024u);
    EXPECT_EQ(first.shape.root, 0u);
    ASSERT_FALSE(first.priced.empty());
    shape_.bytes = 800;
    EXPECT_EQ(prices.of(shape_).priced.data(), first.priced.data());
    shape_.bytes = 768;
    EXPECT_EQ(prices.of(shape_).shape.bytes, 768u);
    // Many sizes: the first is forgotten, and priced alike when it comes again.
    for (uint64_t bytes = 8; bytes < 1u << 20; bytes += 8 + bytes / 4) {
        shape_.bytes = bytes / 8 * 8;
        EXPECT_GE(prices.of(shape_).shape.bytes, shape_.bytes);
        EXPECT_LE(prices.of(shape_).shape.bytes, 2 * shape_.bytes);
    }
}

// Of what is not in the ranking, too, as long as it can run and is not estimated.
TEST_F(ByPrice, WhateverIsAskedAboutHasItsPrice) {
    const Cluster cluster = cluster_of(placement_, find_preset("ranger")->parameters);
    Prices prices(placement_, cluster);
    shape_ = {.collective = TUTTI_BCAST, .ranks = 16, .bytes = 64u << 10};
    const algo::Algorithm& chain = *algo::find(TUTTI_BCAST, "chain");
    const Priced& first = prices.of(shape_).priced.front();
    EXPECT_EQ(prices.price(shape_, *first.algorithm, first.tuning), first.ns);
    const algo::Tuning odd{.segment_bytes = 3000, .lanes_in_flight = 3};
    for (int again = 0; again < 2; ++again) {
        EXPECT_EQ(prices.price(shape_, chain, odd),
                  predicted_ns(chain, shape_, placement_, odd, cluster));
    }
    EXPECT_FALSE(prices.price(shape_, *algo::find(TUTTI_BCAST, "multicast"), {}));
}

// Hosts on one switch, of which a file says that its links are slow.
TEST_F(ByPrice, ASwitchAloneHasItsRates) {
    topo::SwitchTree tree;
    tree.nodes.emplace_back();
    tree.place_of_host.resize(16);
    for (auto& place : tree.place_of_host) place.up.bits_per_s = 25'000'000;
    placement_.set_switches(tree);
    ASSERT_EQ(placement_.switches(), nullptr);
    const Cluster cluster = cluster_of(placement_, {});
    EXPECT_EQ(cluster.network.fabric.link_bits_per_s(0), 25'000'000u);
}

// Rules choose, since no price is of the lengths that a call will have.
TEST_F(ByPrice, LengthsThatOnlyPairsKnowHaveNoPrice) {
    for (const auto collective :
         {TUTTI_GATHERV, TUTTI_SCATTERV, TUTTI_ALLTOALLV, TUTTI_ALLTOALLW}) {
        shape_ = {.collective = collective, .ranks = placement_.ranks(), .bytes = 4096};
        EXPECT_TRUE(by_price(shape_, placement_, cluster_).empty());
    }
}

// By so few messages that it takes less than a millisecond: 0.1 to 0.2 us each.
TEST_F(ByPrice, AmongThousandsOfHostsFewMessagesAreFollowed) {
    placement_ = Placement::blocks(4096, 4096);
    const auto choice = choose("parameters = \"infiniband-100g\"\n");
    ASSERT_TRUE(choice);
    EXPECT_TRUE(choice.value().reason.starts_with("the lowest price")) << choice.value().reason;
    for (const auto collective : {TUTTI_BCAST, TUTTI_REDUCE, TUTTI_ALLREDUCE, TUTTI_GATHER,
                                  TUTTI_SCATTER, TUTTI_ALLGATHER, TUTTI_BARRIER}) {
        for (const uint64_t bytes : {8u, 4096u, 1u << 18, 1u << 22}) {
            if (has_blocks(collective) && bytes > 1u << 18) continue;
            shape_ = {.collective = collective, .ranks = 4096, .bytes = bytes};
            if (!has_data(collective)) shape_.bytes = 0;
            shape_.element_bytes = has_data(collective) ? 8 : 1;
            const auto priced = by_price(shape_, placement_, cluster_);
            ASSERT_FALSE(priced.empty());
            uint64_t operations = 0;
            for (const Priced& one : priced) {
                const Prediction found =
                    predict(*one.algorithm, shape_, placement_, one.tuning, cluster_);
                EXPECT_EQ(found.method, Method::kExtrapolated);
                EXPECT_EQ(found.ns, one.ns);
                operations += found.operations;
            }
            EXPECT_LE(operations / 2, 3500u) << collective_name(collective) << ' ' << bytes;
        }
    }
}

}  // namespace
}  // namespace tutti::select
