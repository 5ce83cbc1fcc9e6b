// SPDX-License-Identifier: BSD-3-Clause
// From rank to rank through ring, service, group and a lossy network: first safety, then the
// weather clears and completion is demanded, every slot free again and silence.
#include <gtest/gtest.h>

#include "sim/mcast_world.h"
#include "sim/ring_traffic.h"
#include "sim/seeds.h"

namespace tutti::test {
namespace {

using mcast::kMillisecond;
using mcast::Member;
using mcast::Params;
using transport::Rank;

constexpr uint64_t kSecond = 1'000'000'000;
// Up to 180 ms a seed: with 1000 these three tests took longer than all other unit tests together.
constexpr uint64_t kSeeds = 200;

Params draw_params(Prng& prng) {
    Params params;
    params.members = static_cast<Member>(2 + prng.below(5));
    params.window_packets = static_cast<uint32_t>(4u << prng.below(5));
    params.packet_bytes_max = prng.below(2) == 0 ? mcast::kControlBytesMax : 1472;
    params.fan_out = static_cast<uint32_t>(1 + prng.below(3));
    params.posts_max = transport::carrier::kRingSlotsMax;
    params.teams_max = 1;
    if (prng.below(3) == 0) params.bytes_per_s = 3'000'000 << prng.below(5);
    return params;
}

Weather draw_weather(Prng& prng) {
    Weather weather;
    weather.latency_ns = 2'000u << prng.below(8);
    if (prng.below(2) == 0) weather.jitter_ns = 1'000u << prng.below(10);
    if (prng.below(4) != 0) weather.loss = static_cast<double>(prng.below(151)) / 1000;
    if (prng.below(3) == 0) weather.shared_loss = static_cast<double>(prng.below(101)) / 1000;
    if (prng.below(3) == 0) weather.doubled = static_cast<double>(prng.below(101)) / 1000;
    return weather;
}

std::vector<Member> draw_members(Prng& prng, Member members) {
    std::vector<Member> member_of_rank;
    for (Member member = 0; member < members; ++member) {
        const uint64_t ranks = 1 + prng.below(4);
        member_of_rank.insert(member_of_rank.end(), ranks, member);
    }
    for (size_t i = member_of_rank.size(); i > 1; --i) {
        std::swap(member_of_rank[i - 1], member_of_rank[prng.below(i)]);
    }
    return member_of_rank;
}

RingPlan draw_plan(Prng& prng, Member members) {
    RingPlan plan;
    plan.member_of_rank = draw_members(prng, members);
    // A ring has two flights of slots.
    plan.in_flight = static_cast<uint32_t>(1u << prng.below(6));
    plan.slots = 2 * plan.in_flight;
    const uint64_t ranks = plan.member_of_rank.size();
    const uint64_t senders = prng.below(2) == 0 ? 1 : 1 + prng.below(ranks);
    const bool is_in_turn = prng.below(2) == 0;
    const uint64_t count = 1 + prng.below(200);
    for (uint64_t i = 0; i < count; ++i) {
        const auto sender = static_cast<Rank>(is_in_turn ? i % senders : prng.below(senders));
        const uint64_t kind = prng.below(8);
        const size_t bytes = kind == 0   ? prng.below(transport::kMulticastBytesMax + 1)
                             : kind == 1 ? 0
                                         : prng.below(900);
        plan.messages.push_back({sender, bytes});
    }
    if (prng.below(2) == 0) plan.poll_ns_max = 2'000;
    if (prng.below(2) == 0) {
        plan.pause_every = static_cast<uint32_t>(1u << (3 + prng.below(6)));
        plan.pause_ns_max = 1'000u << prng.below(13);
    }
    return plan;
}

// Empty, or what went wrong.
std::string run_seed(uint64_t seed) {
    Prng prng(seed);
    const Params params = draw_params(prng);
    McastWorld world(params, draw_weather(prng), prng.next());
    const RingPlan plan = draw_plan(prng, params.members);
    RingTraffic traffic(world, plan, prng.next());
    for (uint64_t stops = prng.below(3); stops > 0; --stops) {
        world.run(world.now_ns() + prng.below(20 * kMillisecond), [] { return false; });
        if (prng.below(2) == 0) {
            const auto member = static_cast<Member>(prng.below(params.members));
            world.stop_until(member, world.now_ns() + prng.below(kSecond));
        } else {
            const auto rank = static_cast<Rank>(prng.below(plan.member_of_rank.size()));
            traffic.pause(rank, world.now_ns() + prng.below(3 * kSecond));
        }
    }
    const auto is_over = [&] { return traffic.is_done() || !traffic.wrong().empty(); };
    if (!world.run(world.now_ns() + 2 * kSecond, is_over)) {
        world.set_weather(Weather{});
        if (!world.run(world.now_ns() + 30 * kSecond, is_over)) return "not complete";
    }
    if (!traffic.wrong().empty()) return traffic.wrong();
    world.set_weather(Weather{});
    if (!world.run(world.now_ns() + 5 * kSecond, [&] { return world.is_silent(); })) {
        return "not silent";
    }
    for (Member member = 0; member < params.members; ++member) {
        if (world.group(member).failure()) return "a living member was given up";
    }
    if (traffic.refused() > 0) return "a member's own packet was refused";
    if (traffic.allocations() > 0) return "allocations: " + std::to_string(traffic.allocations());
    return traffic.not_free();
}

Weather draw_milder_weather(Prng& prng) {
    Weather weather = draw_weather(prng);
    weather.loss /= 2;
    weather.shared_loss /= 2;
    return weather;
}

RingPlan draw_plan_with_network(Prng& prng, Member members, bool leaves_when_done) {
    RingPlan plan = draw_plan(prng, members);
    plan.has_network = true;
    plan.leaves_when_done = leaves_when_done;
    plan.call_messages = 1 + prng.below(20);
    const uint64_t offers = prng.below(3);
    for (RingPlan::Message& message : plan.messages) {
        message.is_offered = offers > 0 && prng.below(4 / offers) == 0;
    }
    return plan;
}

// Nodes in the midst of their row of multicasts, whose ranks can go on by messages.
struct Endangered {
    Endangered(Prng& prng, bool leaves_when_done)
        : params(draw_params(prng)),
          weather(draw_milder_weather(prng)),
          world(params, weather, prng.next()),
          plan(draw_plan_with_network(prng, params.members, leaves_when_done)),
          traffic(world, plan, prng.next()) {
        world.run(world.now_ns() + prng.below(20 * kMillisecond), [] { return false; });
    }
    Params params;
    Weather weather;
    McastWorld world;
    RingPlan plan;
    RingTraffic traffic;
};

// Empty, or what went wrong. A node is cut off, or all are: the group fails, the ranks go on by
// messages, every multicast is complete and right on every rank, and all agree from when on to do
// without.
struct Recovered {
    uint64_t missed = 0;    // what senders held and others missed
    uint64_t messages = 0;  // received one by one
};
std::string run_failure(uint64_t seed, Recovered& recovered) {
    Prng prng(seed);
    Endangered run(prng, false);
    const Params& params = run.params;
    const RingPlan& plan = run.plan;
    McastWorld& world = run.world;
    RingTraffic& traffic = run.traffic;
    const auto cut = static_cast<Member>(prng.below(params.members));
    const bool cuts_all = prng.below(4) == 0;
    const bool is_deaf = prng.below(3) == 0;
    world.set_filter([=](Member from, Member to, const mcast::Packet&) {
        return cuts_all || to == cut || (from == cut && !is_deaf);
    });
    const auto is_over = [&] {
        return !traffic.wrong().empty() || (traffic.is_done() && traffic.is_settled());
    };
    // Where all was done without a failure, whoever waits on finds out.
    if (!world.run(world.now_ns() + 120 * kSecond, is_over)) {
        return traffic.is_done() ? "not settled" : "not complete";
    }
    if (!traffic.wrong().empty()) return traffic.wrong();
    for (Rank rank = 0; rank < plan.member_of_rank.size(); ++rank) {
        recovered.missed += traffic.route(rank).counters().missed_by_others;
        recovered.messages += traffic.route(rank).counters().received_as_messages;
    }
    if (traffic.refused() > 0) return "a member's own packet was refused";
    return traffic.not_recovered();
}

TEST(RingSim, AfterAFailureTheRanksGoOnByMessages) {
    const Seeds seeds = Seeds::wanted(kSeeds);
    Recovered recovered;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        const std::string wrong = run_failure(seed, recovered);
        ASSERT_EQ(wrong, "") << "seed " << seed << replay(seed);
    }
    if (seeds.count < 100) return;
    EXPECT_GT(recovered.missed, 2 * seeds.count) << "hardly anything had to be sent again";
    EXPECT_GT(recovered.messages, 20 * seeds.count);
    RecordProperty("missed", std::to_string(recovered.missed));
    RecordProperty("messages", std::to_string(recovered.messages));
}

// Empty, or what went wrong. Switches stop to replicate, for all or for some, while packets to one
// member still arrive; and every rank that has done its part is out of reach from then on, as one
// that waits in a message of its program. What was sent must reach all without it.
std::string run_detour(uint64_t seed, uint64_t& detours) {
    Prng prng(seed);
    Endangered run(prng, true);
    const Params& params = run.params;
    const RingPlan& plan = run.plan;
    McastWorld& world = run.world;
    RingTraffic& traffic = run.traffic;
    world.replicate_to(prng.below(2) == 0 ? 0 : prng.next());
    if (prng.below(2) == 0) {
        const auto rank = static_cast<Rank>(prng.below(plan.member_of_rank.size()));
        traffic.pause(rank, world.now_ns() + prng.below(20 * kSecond));
    }
    const auto is_over = [&] { return !traffic.wrong().empty() || traffic.is_done(); };
    if (!world.run(world.now_ns() + 120 * kSecond, is_over)) return "not complete";
    if (!traffic.wrong().empty()) return traffic.wrong();
    world.set_weather(Weather{});
    if (!world.run(world.now_ns() + 60 * kSecond, [&] { return world.is_silent(); })) {
        return "not silent";
    }
    for (Member member = 0; member < params.members; ++member) {
        if (world.group(member).contradicted()) return "a contradiction";
        if (world.group(member).given_up()) ++detours;
        if (world.group(member).given_up() && !world.group(member).failure()) {
            return "a detour without an end";
        }
    }
    return {};
}

// Its memory is the program's again, and no late message may be written there.
TEST(RingSim, WhoGoesAmidARecoveryLeavesNoReceive) {
    size_t posted = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        Prng prng(seed);
        Endangered run(prng, false);
        run.world.set_filter([](Member, Member, const mcast::Packet&) { return true; });
        const auto ranks = static_cast<Rank>(run.plan.member_of_rank.size());
        // When the first one finds the failure, or goes on.
        const bool is_late = seed % 2 == 0;
        const auto has_begun = [&] {
            for (Rank rank = 0; rank < ranks; ++rank) {
                const transport::carrier::Route& route = run.traffic.route(rank);
                const bool has_come = route.counters().received_as_messages > 0;
                if (is_late ? has_come : route.has_failed()) return true;
            }
            return false;
        };
        run.world.run(run.world.now_ns() + 60 * kSecond, has_begun);
        run.world.run(run.world.now_ns() + prng.below(5 * kMillisecond), [] { return false; });
        const auto [before, after] = run.traffic.abandon();
        EXPECT_EQ(after, 0u) << "seed " << seed;
        posted += before;
    }
    EXPECT_GT(posted, 20u) << "hardly anybody went amid one";
}

TEST(RingSim, WhatWasSentArrivesThoughSwitchesReplicateNoMore) {
    const Seeds seeds = Seeds::wanted(kSeeds);
    uint64_t detours = 0;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        const std::string wrong = run_detour(seed, detours);
        ASSERT_EQ(wrong, "") << "seed " << seed << replay(seed);
    }
    if (seeds.count < 100) return;
    EXPECT_GT(detours, seeds.count) << "hardly any group was given up";
}

TEST(RingSim, EverythingReachesEveryRankOnceAndRight) {
    const Seeds seeds = Seeds::wanted(kSeeds);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        const std::string wrong = run_seed(seed);
        ASSERT_EQ(wrong, "") << "seed " << seed << replay(seed);
    }
}

// One rank sends all; on another node one of two ranks is away. The others go on to the end of the
// slots, there and at the sender, and wait without being lost; then all completes.
TEST(RingSim, ALateRankHoldsTheOthersAndNothingIsLost) {
    Params params;
    params.members = 3;
    params.packet_bytes_max = mcast::kControlBytesMax;
    params.window_packets = 16;
    params.posts_max = 64;
    McastWorld world(params, Weather{}, 1);
    RingPlan plan;
    plan.member_of_rank = {0, 1, 1, 2};
    plan.messages.assign(300, {0, 200});
    RingTraffic traffic(world, plan, 2);
    traffic.pause(2, world.now_ns() + 20 * kSecond);
    world.run(world.now_ns() + 10 * kSecond, [] { return false; });
    EXPECT_EQ(traffic.done(0), 128u) << "64 in the slots of node 1, 64 in those of node 0";
    EXPECT_EQ(traffic.done(1), 64u) << "its node's ring turns no further";
    EXPECT_EQ(traffic.done(3), 64u + 16u) << "what node 1 may have in its pool";
    EXPECT_EQ(traffic.done(2), 0u);
    for (Member member = 0; member < 3; ++member) EXPECT_FALSE(world.group(member).failure());
    EXPECT_TRUE(world.run(world.now_ns() + 30 * kSecond, [&] { return traffic.is_done(); }));
    EXPECT_EQ(traffic.wrong(), "");
}

}  // namespace
}  // namespace tutti::test
