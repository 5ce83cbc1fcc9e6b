// SPDX-License-Identifier: BSD-3-Clause
// Parameters out of experiments on a network that is a handful of formulas.
#include "lab/survey/link_survey.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tutti::survey {
namespace {

struct Formulas {
    topo::Fabric fabric = topo::Fabric::one_switch(6);
    double post_ns = 500;
    double latency_ns = 2000;  // of the links on one switch
    double hop_ns = 300;
    double bytes_per_ns = 1;
    double trunk_bytes_per_ns = 100;
    uint64_t eager_bytes = 64 << 10;
    double burst_bytes = 0;
    double both_ways = 1;
    double in_turn = 1;
    double waiting = 1;  // of long messages whose answer waits
    std::vector<uint32_t> silent = {};
    uint64_t longest_bytes = 0;

    [[nodiscard]] double way_ns(const Transfer& who) const {
        const uint32_t hops = topo::link_route(fabric, who.from, who.to).hops();
        return post_ns + latency_ns + hop_ns * (hops - 2);
    }
    [[nodiscard]] double message_ns(const Transfer& who, uint64_t bytes, double slower) const {
        const double paced = std::max(static_cast<double>(bytes) - burst_bytes, 0.0);
        const double waits = bytes > eager_bytes ? 3 : 1;
        return waits * way_ns(who) + slower * paced / bytes_per_ns;
    }
    [[nodiscard]] double transfer_ns(const Experiment& made, const Transfer& who) const {
        double slower = 1;
        const bool asks = made.kind == Experiment::Kind::kTransfers && made.bytes > eager_bytes;
        for (const Transfer& other : made.transfers) {
            if (other.from == who.to && other.to == who.from)
                slower = both_ways * (asks ? in_turn : 1);
            if (other.from == who.to || other.to == who.from) {
                // Of every second one the answer waits.
                const bool waits = asks && who.from % 2 == 0;
                slower = std::max(slower, both_ways * (waits ? waiting : 1));
            }
        }
        const bool is_far = fabric.switch_of_host[who.from] != fabric.switch_of_host[who.to];
        const double share = trunk_bytes_per_ns / static_cast<double>(made.transfers.size());
        if (is_far) slower = std::max(slower, bytes_per_ns / share);
        return message_ns(who, made.bytes, slower);
    }
    Result<std::vector<uint64_t>> make(const Experiment& made) {
        longest_bytes = std::max(longest_bytes, made.bytes);
        std::vector<uint64_t> times;
        for (const Transfer& who : made.transfers) {
            double ns = transfer_ns(made, who);
            if (made.kind == Experiment::Kind::kRoundTrips) ns *= 2;
            if (made.kind == Experiment::Kind::kPosts) ns = post_ns;
            const bool waits = made.kind == Experiment::Kind::kUnasked && made.bytes > eager_bytes;
            const bool is_silent = std::ranges::count(silent, who.from) > 0;
            times.push_back(waits || is_silent ? kMissingNs : static_cast<uint64_t>(ns));
        }
        return times;
    }
    LinkFigures measured() {
        const auto figures =
            measure_links(fabric, [this](const Experiment& made) { return make(made); });
        EXPECT_TRUE(figures) << figures.error().message;
        return figures ? figures.value() : LinkFigures();
    }
};

void expect_near(uint64_t value, double expected, double share) {
    EXPECT_NEAR(static_cast<double>(value), expected, share * expected);
}

TEST(MeasureLinks, OfOneSwitch) {
    Formulas network;
    const LinkFigures figures = network.measured();
    EXPECT_EQ(figures.latency_ns, 2008u);  // eight bytes are some
    EXPECT_EQ(figures.post_ns, 500u);
    expect_near(figures.bits_per_s, 8e9, 0.01);
    EXPECT_EQ(figures.eager_bytes, 64u << 10);
    EXPECT_EQ(figures.burst_bytes, 0u);
    EXPECT_EQ(figures.both_ways_permille, 1000u);
    EXPECT_EQ(figures.hop_ns, 0u);
    EXPECT_EQ(figures.trunk_bits_per_s, 0u);
    EXPECT_EQ(network.longest_bytes, kLinkBytesMax);
}

TEST(MeasureLinks, OfShapedLinks) {
    Formulas network;
    network.bytes_per_ns = 0.003;
    network.burst_bytes = 20000;
    network.both_ways = 1.5;
    network.latency_ns = 40000;
    network.eager_bytes = (64 << 10) - 64;
    const LinkFigures figures = network.measured();
    expect_near(figures.bits_per_s, 24e6, 0.01);
    expect_near(figures.burst_bytes, 20000, 0.02);
    EXPECT_NEAR(figures.both_ways_permille, 1500, 15);
    EXPECT_EQ(figures.eager_bytes, (64u << 10) - 256);
    EXPECT_FALSE(figures.long_in_turn);
    EXPECT_LE(network.longest_bytes, 128u << 10);  // no minutes at 24 Mbit/s
}

TEST(MeasureLinks, AnExchangeOfWhichOneWaitsForTheOther) {
    Formulas network;
    network.both_ways = 1.2;
    network.in_turn = 1.7;
    const LinkFigures figures = network.measured();
    EXPECT_NEAR(figures.both_ways_permille, 1200, 12);
    EXPECT_TRUE(figures.long_in_turn);
    EXPECT_EQ(figures.long_both_ways_permille, 0u);
    // Two hosts alone do not tell.
    network.fabric = topo::Fabric::one_switch(2);
    const LinkFigures two = network.measured();
    EXPECT_NEAR(two.both_ways_permille, 1200, 12);
    EXPECT_NEAR(two.long_both_ways_permille, 2040, 20);
    EXPECT_FALSE(two.long_in_turn);
}

TEST(MeasureLinks, AnswersThatWaitAtTimes) {
    Formulas network;
    network.both_ways = 1.1;
    network.in_turn = 2;
    network.waiting = 2;
    const LinkFigures figures = network.measured();
    EXPECT_NEAR(figures.both_ways_permille, 1100, 12);
    EXPECT_NEAR(figures.long_both_ways_permille, 1650, 16);
    EXPECT_TRUE(figures.long_in_turn);
}

TEST(MeasureLinks, BetweenSwitches) {
    const uint32_t sizes[] = {4, 4};
    Formulas network{.fabric = topo::Fabric::leaves(sizes), .trunk_bytes_per_ns = 2};
    LinkFigures figures = network.measured();
    EXPECT_EQ(figures.hop_ns, 300u);
    EXPECT_TRUE(figures.is_trunk_full);
    expect_near(figures.trunk_bits_per_s, 16e9, 0.02);
    network.trunk_bytes_per_ns = 100;
    figures = network.measured();
    EXPECT_FALSE(figures.is_trunk_full);
    expect_near(figures.trunk_bits_per_s, 4 * 8e9, 0.02);  // at least
}

// Each host on a switch of its own: what is near is what is nearest.
TEST(MeasureLinks, WithoutNeighbours) {
    const uint32_t sizes[] = {1, 1, 1};
    Formulas network{.fabric = topo::Fabric::leaves(sizes)};
    const LinkFigures figures = network.measured();
    EXPECT_EQ(figures.latency_ns, 2608u);
    EXPECT_EQ(figures.hop_ns, 0u);
}

TEST(MeasureLinks, APairThatDoesNotAnswerIsNoMatter) {
    Formulas network;
    network.silent = {2};
    EXPECT_EQ(network.measured().latency_ns, 2008u);
    network.silent = {0, 1, 2, 3, 4, 5};
    const auto none =
        measure_links(network.fabric, [&](const Experiment& made) { return network.make(made); });
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message, "no pair of hosts answered each other");
}

TEST(MeasureLinks, AnErrorEndsIt) {
    uint32_t asked = 0;
    const auto none = measure_links(topo::Fabric::one_switch(4), [&](const Experiment& made) {
        if (++asked == 3) return Result<std::vector<uint64_t>>(Error{ErrorCode::kNetwork, "x"});
        return Result(std::vector<uint64_t>(made.transfers.size(), 5000));
    });
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message, "x");
    EXPECT_EQ(asked, 3u);
}

}  // namespace
}  // namespace tutti::survey
