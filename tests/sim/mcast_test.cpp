// SPDX-License-Identifier: BSD-3-Clause
// Whole multicast groups under loss, doubling, reordering, stopped and dying members: first safety
// (every byte right, no receiver overrun), then the weather clears and completion is demanded.
#include <gtest/gtest.h>

#include <new>

#include "sim/mcast_traffic.h"
#include "sim/mcast_world.h"
#include "sim/seeds.h"
#include "unit/failing_memory.h"

namespace tutti::test {
namespace {

using mcast::kMillisecond;
using mcast::kNever;
using mcast::Member;
using mcast::Params;

constexpr uint64_t kSecond = 1'000'000'000;

Params small_params(Member members) {
    Params params;
    params.group = 0xabcd;
    params.members = members;
    params.packet_bytes_max = mcast::kControlBytesMax;
    params.window_packets = 32;
    params.fan_out = 2;
    params.posts_max = 16;
    params.teams_max = 8;
    return params;
}

Params draw_params(Prng& prng) {
    Params params = small_params(static_cast<Member>(2 + prng.below(15)));
    params.window_packets = static_cast<uint32_t>(4u << prng.below(4));
    params.fan_out = static_cast<uint32_t>(1 + prng.below(4));
    if (prng.below(2) == 0) params.bytes_per_s = 1'000'000 << prng.below(6);
    params.burst_bytes = static_cast<uint32_t>(1 + prng.below(8000));
    return params;
}

Weather draw_weather(Prng& prng) {
    Weather weather;
    weather.latency_ns = 1'000u << prng.below(11);
    if (prng.below(2) == 0) weather.jitter_ns = 1'000u << prng.below(12);
    if (prng.below(4) != 0) weather.loss = static_cast<double>(prng.below(201)) / 1000;
    if (prng.below(3) == 0) weather.shared_loss = static_cast<double>(prng.below(101)) / 1000;
    if (prng.below(3) == 0) weather.doubled = static_cast<double>(prng.below(101)) / 1000;
    if (prng.below(3) == 0) weather.bytes_per_s = 3'000'000;
    return weather;
}

TrafficPlan draw_traffic(Prng& prng, Member members) {
    TrafficPlan plan;
    const uint64_t teams = 1 + prng.below(4);
    for (uint64_t i = 0; i < teams; ++i) {
        TrafficPlan::Team team;
        const Member first = static_cast<Member>(prng.below(members));
        const auto size = static_cast<Member>(1 + prng.below(members));
        for (Member k = 0; k < size; ++k) {
            team.members.push_back(static_cast<Member>((first + k) % members));
        }
        const uint64_t calls = 1 + prng.below(12);
        const uint64_t roots = 1 + prng.below(size);
        for (uint64_t k = 0; k < calls; ++k) {
            const size_t bytes = prng.below(4) == 0 ? prng.below(20'000) : prng.below(900);
            team.calls.push_back({team.members[prng.below(roots)], bytes});
        }
        plan.teams.push_back(team);
    }
    plan.compute_ns_max = prng.below(2) == 0 ? 0 : 1'000u << prng.below(14);
    return plan;
}

// How long members that have looked do not look again: less than a time after which one asks.
enum class Steps : uint8_t { kInTime, kLate };
uint64_t late_ns(Steps steps, uint64_t seed) {
    if (steps == Steps::kInTime) return 0;
    return 1'000u << Prng(seed).below(15);
}

// Empty, or what went wrong.
std::string run_seed(uint64_t seed, Steps steps = Steps::kInTime) {
    Prng prng(seed);
    const Params params = draw_params(prng);
    Weather weather = draw_weather(prng);
    weather.late_ns = late_ns(steps, seed);
    McastWorld world(params, weather, prng.next());
    Traffic traffic(world, draw_traffic(prng, params.members), prng.next());
    world.set_app([&](Member member) { traffic.step(member); });
    const uint64_t stops = prng.below(3);
    for (uint64_t i = 0; i < stops; ++i) {
        const auto member = static_cast<Member>(prng.below(params.members));
        world.run(world.now_ns() + prng.below(20 * kMillisecond), [] { return false; });
        world.stop_until(member, world.now_ns() + prng.below(kSecond));
    }
    const auto settled = [&] { return traffic.is_settled() || !traffic.wrong().empty(); };
    if (!world.run(world.now_ns() + 2 * kSecond, settled)) {
        world.set_weather(Weather{});
        if (!world.run(world.now_ns() + 5 * kSecond, settled)) return "not complete";
    }
    if (!traffic.wrong().empty()) return traffic.wrong();
    // All is done and known to be done, so the group falls silent.
    world.set_weather(Weather{});
    if (!world.run(world.now_ns() + 5 * kSecond, [&] { return world.is_silent(); })) {
        return "not silent";
    }
    for (Member member = 0; member < params.members; ++member) {
        const mcast::GroupCounters counters = world.group(member).counters();
        if (counters.received.overruns > 0) return "overrun";
        if (counters.packets_malformed > 0) return "malformed packets";
        if (world.group(member).failure()) return "a living member was given up";
    }
    if (world.allocations() > 0) return "allocations: " + std::to_string(world.allocations());
    return {};
}

// Empty, or what went wrong. One member dies in the midst: either nobody needs it any more, or all
// that live name it, and nobody names another.
std::string run_death(uint64_t seed, Steps steps = Steps::kInTime) {
    Prng prng(seed);
    const Params params = draw_params(prng);
    Weather weather = draw_weather(prng);
    weather.loss /= 2;
    weather.shared_loss /= 2;
    weather.late_ns = late_ns(steps, seed);
    McastWorld world(params, weather, prng.next());
    Traffic traffic(world, draw_traffic(prng, params.members), prng.next());
    world.set_app([&](Member member) { traffic.step(member); });
    world.run(world.now_ns() + prng.below(50 * kMillisecond), [] { return false; });
    const auto dead = static_cast<Member>(prng.below(params.members));
    world.kill(dead);
    uint32_t named = 0;
    const auto count_named = [&] {
        named = 0;
        for (Member member = 0; member < params.members; ++member) {
            if (member != dead && world.group(member).failure()) ++named;
        }
        return named == params.members - 1u;
    };
    const uint64_t bound_ns = world.now_ns() + 60 * kSecond;
    world.run(bound_ns, [&] { return count_named() || world.is_silent(); });
    if (!traffic.wrong().empty()) return traffic.wrong();
    for (Member member = 0; member < params.members; ++member) {
        const auto failure = world.group(member).failure();
        if (member != dead && failure && *failure != dead) return "the wrong one is named";
    }
    if (named > 0 && named < params.members - 1u) return "not all know";
    if (named == 0 && !traffic.is_done_without(dead)) return "nobody knows";
    return {};
}

TEST(McastSim, ADeadMemberIsNamedByAllOrMissedByNobody) {
    const Seeds seeds = Seeds::wanted(300);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        const std::string wrong = run_death(seed);
        ASSERT_EQ(wrong, "") << "seed " << seed << replay(seed);
    }
}

TEST(McastSim, EverythingArrivesOnceAndRight) {
    const Seeds seeds = Seeds::wanted(1000);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        const std::string wrong = run_seed(seed);
        ASSERT_EQ(wrong, "") << "seed " << seed << replay(seed);
    }
}

// Timers and packets wait for a member that the system runs late.
TEST(McastSim, EverythingArrivesThoughStepsComeLate) {
    const Seeds seeds = Seeds::wanted(300);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        const std::string wrong = run_seed(seed, Steps::kLate);
        ASSERT_EQ(wrong, "") << "seed " << seed << replay(seed);
    }
}

TEST(McastSim, LateMembersNameNobodyButTheDead) {
    const Seeds seeds = Seeds::wanted(200);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        const std::string wrong = run_death(seed, Steps::kLate);
        ASSERT_EQ(wrong, "") << "seed " << seed << replay(seed);
    }
}

// All memory is taken when a group is made: whichever piece is not there, nothing is left behind.
TEST(McastSim, AGroupIsMadeWholeOrNotAtAll) {
    for_each_seed(10, [](uint64_t seed) {
        Prng prng(seed);
        const Params params = draw_params(prng);
        bool is_made = false;
        for (long at = 0; !is_made; ++at) {
            const int64_t living = living_allocations;
            has_failed = false;
            left_until_failure = at;
            try {
                const auto group = mcast::Group::create(params);
                is_made = static_cast<bool>(group);
            } catch (const std::bad_alloc&) {
                EXPECT_TRUE(has_failed);
            }
            left_until_failure = -1;
            EXPECT_EQ(is_made, !has_failed) << "at " << at;
            ASSERT_EQ(living_allocations, living) << "at " << at;
        }
    });
}

}  // namespace
}  // namespace tutti::test
