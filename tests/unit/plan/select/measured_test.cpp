// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/measured.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "plan/select/plans.h"
#include "plan/select/select.h"

namespace tutti::select {
namespace {

using topo::Placement;

// A 10 Gbit/s Ethernet that is half as slow again as the preset has it, and the lab's.
constexpr sched::Speed kEthernet{22'500, 6'000};
constexpr sched::Speed kSlow{900'000, 25};
constexpr const char* kOwn = "[parameters]\nlatency = \"1us\"\nrate = \"100gbit\"\n";
constexpr const char* kNamed = "parameters = \"ethernet-10g\"\n";

TEST(Measured, TheNearestPresetKeepsItsProportions) {
    const Preset& nearest = nearest_preset(kEthernet);
    EXPECT_EQ(nearest.name, "ethernet-10g");
    const price::ClusterParameters found = with_measured(nearest.parameters, kEthernet);
    // Of 15 us that a message takes there, two tenths are the processors'.
    EXPECT_EQ(found.links.latency_ns, 18'000u);
    EXPECT_EQ(found.message_ns, 2'250u);
    EXPECT_EQ(found.links.latency_ns + 2 * found.message_ns, kEthernet.latency_ns);
    EXPECT_EQ(found.links.bits_per_s, 6'000'000'000u);
    EXPECT_EQ(found.links.trunk_bits_per_s, 0u);
    EXPECT_EQ(found.links.trunk_latency_ns, 0u);
    EXPECT_EQ(found.eager_bytes_max, nearest.parameters.eager_bytes_max);
    EXPECT_EQ(found.node, nearest.parameters.node);
}

TEST(Measured, SlowEthernetsAreEthernets) {
    for (const sched::Speed& speed : {kSlow, sched::Speed{200'000, 94}, sched::Speed{40'000, 940},
                                      sched::Speed{30'000, 2'300}}) {
        EXPECT_EQ(nearest_preset(speed).name, "ethernet-10g") << speed_text(speed);
    }
}

// A message of the lab's costs 3 KiB, one over gigabit Ethernet 5.
TEST(Measured, WhatTheBuiltInRulesAreFor) {
    EXPECT_TRUE(suits_built_in(kSlow));
    EXPECT_TRUE(suits_built_in({40'000, 940}));
    EXPECT_FALSE(suits_built_in({15'000, 9'400}));
    EXPECT_FALSE(suits_built_in({1'400, 97'000}));
    EXPECT_FALSE(suits_built_in({UINT64_MAX, UINT64_MAX}));
}

TEST(Measured, EveryPresetIsNearestToItself) {
    for (const Preset& preset : presets()) {
        const price::ClusterParameters& told = preset.parameters;
        const sched::Speed speed{told.links.latency_ns + 2 * told.message_ns,
                                 told.links.bits_per_s / 1'000'000};
        EXPECT_EQ(nearest_preset(speed).name, preset.name);
        const price::ClusterParameters found = with_measured(told, speed);
        EXPECT_EQ(found.links.latency_ns, told.links.latency_ns) << preset.name;
        EXPECT_EQ(found.links.trunk_latency_ns, told.links.trunk_latency_ns) << preset.name;
        EXPECT_EQ(found.links.bits_per_s, told.links.bits_per_s) << preset.name;
        EXPECT_EQ(found.message_ns, told.message_ns) << preset.name;
    }
}

// Whatever a clock says, prices can be counted.
TEST(Measured, ExtremesAreBounded) {
    for (const sched::Speed& speed :
         {sched::Speed{0, 1}, sched::Speed{UINT64_MAX, 1}, sched::Speed{1, UINT64_MAX}}) {
        for (const Preset& preset : presets()) {
            const price::ClusterParameters found = with_measured(preset.parameters, speed);
            EXPECT_GE(found.links.latency_ns, 2u);
            EXPECT_LE(found.links.latency_ns, 1'000'000'000u);
            EXPECT_GE(found.links.bits_per_s, 1'000'000u);
            EXPECT_LE(found.links.bits_per_s, 100'000'000'000'000u);
        }
        EXPECT_FALSE(nearest_preset(speed).name.empty());
    }
}

TEST(Measured, TrunksStayInProportion) {
    price::ClusterParameters told = find_preset("ranger")->parameters;
    told.links.trunk_bits_per_s = told.links.bits_per_s / 2;
    const price::ClusterParameters found = with_measured(told, {3'140, 3'800});
    EXPECT_EQ(found.links.bits_per_s, 3'800'000'000u);
    EXPECT_EQ(found.links.trunk_bits_per_s, 1'900'000'000u);
    EXPECT_EQ(found.links.trunk_latency_ns, told.links.trunk_latency_ns * 3'140 / 2'370);
}

TEST(Measured, WhoHasASay) {
    Settings settings;
    const auto rules_of = [](const std::string& text) {
        return Rules::parse(text, "r.toml").value();
    };
    EXPECT_TRUE(admits_measured(settings, Rules::built_in()));
    EXPECT_TRUE(admits_measured(settings, rules_of(kNamed)));
    EXPECT_FALSE(admits_measured(settings, rules_of(kOwn)));
    EXPECT_FALSE(admits_measured(settings, rules_of("built_in = false\n")));
    auto rules = rules_of("");
    EXPECT_TRUE(admits_measured(settings, rules));
    rules.follow_with(rules_of(kOwn));
    EXPECT_FALSE(admits_measured(settings, rules));
    // Bits stay as they are.
    EXPECT_TRUE(admits_measured(settings, Rules::built_in(), TUTTI_BCAST));
    EXPECT_FALSE(admits_measured(settings, Rules::built_in(), TUTTI_ALLREDUCE));
    settings.rules.price = PriceChoice::kOn;
    EXPECT_TRUE(admits_measured(settings, Rules::built_in(), TUTTI_ALLREDUCE));
    EXPECT_FALSE(admits_measured(settings, rules_of(kOwn)));
    settings.rules.price = PriceChoice::kOff;
    EXPECT_FALSE(admits_measured(settings, Rules::built_in()));
}

// A call on 16 hosts of a rank each.
class Pricing : public testing::Test {
  protected:
    void rules(const std::string& text) { rules_ = Rules::parse(text, "mine.toml").value(); }
    Choice choose(tutti_collective collective, uint64_t bytes, const char* mpi = "openmpi") {
        shape_.collective = collective;
        shape_.bytes = bytes;
        shape_.element_bytes = is_reduction(collective) ? 8 : 1;
        auto measured = measured_prices(settings_, rules_, shape_, placement_);
        std::optional<Prices> told;
        if (rules_.parameters())
            told.emplace(placement_, cluster_of(placement_, *rules_.parameters()));
        const auto choice = select::choose({.rules = rules_,
                                            .settings = settings_,
                                            .shape = shape_,
                                            .placement = placement_,
                                            .host_mpi = mpi,
                                            .prices = told ? &*told : nullptr,
                                            .measured = measured ? &*measured : nullptr});
        EXPECT_TRUE(choice) << choice.error().message;
        return choice ? choice.value() : Choice();
    }
    uint64_t price(const Choice& choice) {
        const Prices measured(
            placement_,
            cluster_of(placement_, with_measured(nearest_preset(shape_.message_speed).parameters,
                                                 shape_.message_speed)));
        return predicted_ns(*choice.algorithm, size_class(shape_), placement_, choice.tuning,
                            measured.cluster());
    }

    Settings settings_;
    Rules rules_ = Rules::built_in();
    Placement placement_ = Placement::blocks(16, 16);
    sched::Shape shape_{.ranks = 16, .message_speed = kEthernet};
};

// Whatever is chosen is never more than half as dear again as the cheapest, and never dearer than
// what the rules say; they stand where nothing is clearly cheaper.
TEST_F(Pricing, BuiltInRulesStandWhereNothingIsClearlyCheaper) {
    int overruled = 0;
    for (const sched::Speed& speed : {kEthernet, kSlow, sched::Speed{1'400, 97'000}}) {
        for (const auto collective :
             {TUTTI_BARRIER, TUTTI_BCAST, TUTTI_GATHER, TUTTI_SCATTER, TUTTI_ALLGATHER}) {
            for (const uint64_t bytes : {512u, 4096u, 1u << 15, 1u << 20}) {
                const uint64_t sent = has_data(collective) ? bytes : 0;
                shape_.message_speed = {};
                const Choice rule = choose(collective, sent, "impi");
                shape_.message_speed = speed;
                const Choice choice = choose(collective, sent, "impi");
                ASSERT_EQ(choice.runs, Runs::kPlan);
                EXPECT_TRUE(choice.reason.starts_with("built-in rule ") ||
                            choice.reason.starts_with("by price, measured messages ("))
                    << choice.reason;
                const bool is_same =
                    choice.algorithm == rule.algorithm && choice.tuning == rule.tuning;
                EXPECT_EQ(is_same, choice.reason == rule.reason) << choice.reason;
                overruled += is_same ? 0 : 1;
                EXPECT_LE(price(choice), price(rule));
                if (!is_same) {
                    EXPECT_LE(price(choice) * 3, price(rule) * 2);
                }
            }
        }
    }
    EXPECT_GT(overruled, 0);
}

TEST_F(Pricing, BuiltInRulesStandWhereTheyWereMeasured) {
    shape_.message_speed = kSlow;
    for (const uint64_t bytes : {4096u, 1u << 14, 1u << 18}) {
        EXPECT_TRUE(choose(TUTTI_BCAST, bytes).reason.starts_with("built-in rule "));
    }
    settings_.rules.price = PriceChoice::kOn;
    EXPECT_TRUE(choose(TUTTI_BCAST, 1u << 18).reason.starts_with("by price"));
}

TEST_F(Pricing, ReductionsAndWhatIsTheHostsStay) {
    for (const uint64_t bytes : {8u, 4096u, 1u << 20}) {
        EXPECT_EQ(choose(TUTTI_ALLREDUCE, bytes).reason.find("by price"), std::string::npos);
        EXPECT_EQ(choose(TUTTI_REDUCE, bytes).reason.find("by price"), std::string::npos);
    }
    EXPECT_EQ(choose(TUTTI_BCAST, 8).runs, Runs::kHost);
    EXPECT_FALSE(choose(TUTTI_BCAST, 8).may_be_priced);
    EXPECT_TRUE(choose(TUTTI_BCAST, 4096).may_be_priced);
}

TEST_F(Pricing, OnPutsPricesBeforeTheBuiltInRules) {
    settings_.rules.price = PriceChoice::kOn;
    const Choice choice = choose(TUTTI_ALLREDUCE, 1u << 20);
    EXPECT_TRUE(choice.reason.starts_with(
        "by price, measured messages (22.5 us and 6000 Mbit/s, else as ethernet-10g): "))
        << choice.reason;
    EXPECT_EQ(choose(TUTTI_BCAST, 8).runs, Runs::kPlan);
    // The user's rules still come first, and parameters of a file are not replaced.
    rules("[[rule]]\ncollective = \"allreduce\"\nalgorithm = \"chain\"\n");
    EXPECT_EQ(choose(TUTTI_ALLREDUCE, 1u << 20).reason, "rule 1 of mine.toml (allreduce)");
    rules(kOwn);
    EXPECT_TRUE(choose(TUTTI_ALLREDUCE, 1u << 20).reason.starts_with("the lowest price"));
    settings_.rules.price = PriceChoice::kOff;
    rules("");
    EXPECT_TRUE(choose(TUTTI_ALLREDUCE, 1u << 20).reason.starts_with("built-in rule "));
}

TEST_F(Pricing, OfANamedPresetLatencyAndRateAreReplaced) {
    rules(kNamed);
    EXPECT_TRUE(choose(TUTTI_BCAST, 1u << 20)
                    .reason.starts_with("by price, measured messages (22.5 us and 6000 Mbit/s, "
                                        "else as ethernet-10g): "));
    // Bits stay as they are.
    EXPECT_TRUE(choose(TUTTI_ALLREDUCE, 1u << 20).reason.starts_with("the lowest price"));
    settings_.rules.price = PriceChoice::kOff;
    EXPECT_TRUE(choose(TUTTI_BCAST, 1u << 20).reason.starts_with("the lowest price"));
    shape_.message_speed = {};
    settings_.rules.price = PriceChoice::kAuto;
    EXPECT_TRUE(choose(TUTTI_BCAST, 1u << 20).reason.starts_with("the lowest price"));
}

// What was measured in one way on all members is in the shape, so plans of before do not count any
// more; and a plan that waits for it says so.
TEST(MeasuredPlans, CountFromWhenTheyAreKnown) {
    Settings settings;
    settings.rules.price = PriceChoice::kOn;
    const Rules rules = Rules::built_in();
    const Placement placement = Placement::blocks(16, 16);
    const std::string obstacle;
    Plans plans({settings, rules, nullptr}, placement, 3);
    Plans others({settings, rules, nullptr}, placement, 7);
    sched::Shape shape{
        .collective = TUTTI_ALLREDUCE, .ranks = 16, .bytes = 64u << 10, .element_bytes = 8};
    EXPECT_FALSE(plans.find(shape, {false, false, obstacle}).value()->awaits_price);
    sched::Shape other = shape;
    other.bytes *= 2;
    EXPECT_TRUE(plans.find(other, {false, false, obstacle, true}).value()->awaits_price);
    bool differs = false;
    for (shape.bytes = 64; shape.bytes <= 1u << 20; shape.bytes *= 4) {
        shape.message_speed = {};
        const std::string before = plans.find(shape, {false, false, obstacle}).value()->name;
        shape.message_speed = kSlow;
        const Plan& plan = *plans.find(shape, {false, false, obstacle}).value();
        EXPECT_STREQ(plan.name, others.find(shape, {false, false, obstacle}).value()->name);
        differs |= before != plan.name;
    }
    EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace tutti::select
