// SPDX-License-Identifier: BSD-3-Clause
// The end of teams with multicast: freed on each rank when it likes, while packets are lost, and
// before, at and after a failure of the group. No call waits for ever, whoever has freed the team
// by then; nobody thinks that all have left as long as one has not; and where nothing fails,
// nothing is left behind.
#include <gtest/gtest.h>

#include "sim/leaving_world.h"
#include "sim/seeds.h"

namespace tutti::test {
namespace {

using mcast::kMillisecond;
using mcast::Member;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kSeeds = 300;

enum class Trouble { kNone, kStop, kSilence, kDeaf, kDumb, kCut, kSwitches };

LeavingPlan draw_plan(Prng& prng) {
    LeavingPlan plan;
    const auto members = static_cast<Member>(2 + prng.below(4));
    // How far the ends of the ranks are apart.
    const uint64_t spread_ns = kMillisecond << prng.below(14);
    for (Member member = 0; member < members; ++member) {
        for (uint64_t ranks = 1 + prng.below(3); ranks > 0; --ranks) {
            const uint64_t free_ns = prng.below(3) == 0 ? prng.below(spread_ns) : 0;
            plan.ranks.push_back({member, free_ns, prng.below(2) == 0});
        }
    }
    plan.in_flight = static_cast<uint32_t>(1u << prng.below(6));
    plan.call_messages = 1 + prng.below(20);
    plan.window_packets = static_cast<uint32_t>(4u << prng.below(5));
    if (prng.below(3) == 0) plan.packet_bytes_max = mcast::kControlBytesMax;
    const uint64_t senders = 1 + prng.below(plan.ranks.size());
    for (uint64_t count = 1 + prng.below(60); count > 0; --count) {
        const auto sender = static_cast<transport::Rank>(prng.below(senders));
        const size_t bytes =
            prng.below(8) == 0 ? prng.below(transport::kMulticastBytesMax + 1) : prng.below(900);
        plan.messages.push_back({sender, bytes});
    }
    return plan;
}

Weather draw_weather(Prng& prng) {
    Weather weather;
    weather.latency_ns = 2'000u << prng.below(8);
    if (prng.below(2) == 0) weather.jitter_ns = 1'000u << prng.below(10);
    if (prng.below(3) != 0) weather.loss = static_cast<double>(prng.below(101)) / 1000;
    return weather;
}

// Before the first rank has freed the team, at that time, or when a node has left.
void await_time(Prng& prng, LeavingWorld& world) {
    const uint64_t when = prng.below(4);
    const uint64_t late_ns = world.now_ns() + 60 * kSecond;
    if (when == 1) world.run(late_ns, [&] { return world.freed() > 0; });
    if (when == 2) world.run(late_ns, [&] { return world.left() > 0; });
    if (when == 3) world.run(late_ns, [&] { return world.left() + 1 >= world.members(); });
    const uint64_t further_ns =
        prng.below(2) == 0 ? 1 + prng.below(20 * kMillisecond) : 1 + prng.below(20'000);
    world.run(world.now_ns() + further_ns, [] { return false; });
}

void make_trouble(Prng& prng, LeavingWorld& world, Trouble trouble) {
    const auto who = static_cast<Member>(prng.below(world.members()));
    const uint64_t long_ns = kSecond + prng.below(14 * kSecond);
    const bool is_for_ever = prng.below(2) == 0;
    const uint64_t end_ns = is_for_ever ? UINT64_MAX : world.now_ns() + long_ns;
    switch (trouble) {
        case Trouble::kNone:
            break;
        case Trouble::kStop:
            world.stop_until(who, world.now_ns() + long_ns);
            break;
        case Trouble::kSilence:
        case Trouble::kDeaf:
        case Trouble::kDumb:
        case Trouble::kCut:
        case Trouble::kSwitches:
            world.set_filter([=, &world](Member from, Member to, bool is_for_all) {
                if (world.now_ns() >= end_ns) return false;
                const bool is_deaf = to == who && trouble != Trouble::kDumb;
                const bool is_dumb = from == who && trouble != Trouble::kDeaf;
                if (trouble == Trouble::kCut) return true;
                if (trouble == Trouble::kSwitches) return is_for_all;
                return is_deaf || is_dumb;
            });
            break;
    }
}

struct Ends {
    uint64_t frozen = 0;    // seeds in which rings froze
    uint64_t ended = 0;     // in which none did
    uint64_t after = 0;     // failures after some rank had freed the team
    uint64_t messages = 0;  // numbers received one by one
    uint64_t kept = 0;      // seeds in which a rank stays with its context
};

std::string look_at_end(const LeavingWorld& world, Trouble trouble, Ends& ends) {
    ends.messages += world.messages();
    ++(world.frozen() > 0 ? ends.frozen : ends.ended);
    if (world.gone() == world.ranks()) {
        if (!world.is_silent()) return "a group without an end";
        return world.under_way() > 0 ? "messages that nobody receives" : "";
    }
    ++ends.kept;
    // Where switches copy no longer packets to one member still come.
    if (trouble == Trouble::kNone || trouble == Trouble::kSwitches) return "a rank is left behind";
    // It has not got all byes, and others that had them are gone.
    if (world.ended() > 0) return "";
    return "ranks wait for nobody";
}

// Empty, or what went wrong.
std::string run_seed(uint64_t seed, Ends& ends) {
    Prng prng(seed);
    LeavingPlan plan = draw_plan(prng);
    plan.protection = static_cast<transport::carrier::Protection>(seed % 4);
    const Weather weather = draw_weather(prng);
    LeavingWorld world(plan, weather, prng.next());
    const auto trouble = static_cast<Trouble>(prng.below(7));
    await_time(prng, world);
    const bool has_begun_to_end = world.freed() > 0;
    const uint32_t frozen_before = world.frozen();
    make_trouble(prng, world, trouble);
    const auto have_all_freed = [&] {
        return !world.wrong().empty() || world.freed() == world.ranks();
    };
    // Whose node waits for nobody does not find out; then the next wait of its ranks comes.
    if (!world.run(world.now_ns() + 60 * kSecond, have_all_freed)) world.wait_for_all();
    if (!world.run(world.now_ns() + 60 * kSecond, have_all_freed)) return "a call waits for ever";
    if (!world.wrong().empty()) return world.wrong();
    const auto is_over = [&] {
        return !world.wrong().empty() || (world.gone() == world.ranks() && world.is_silent());
    };
    // As the end of the program does, where a node has not found out by then.
    if (!world.run(world.now_ns() + 20 * kSecond, is_over)) world.wait_for_all();
    world.run(world.now_ns() + 40 * kSecond, is_over);
    if (!world.wrong().empty()) return world.wrong();
    const bool has_failed = frozen_before == 0 && world.frozen() > 0;
    if (trouble == Trouble::kNone && world.frozen() > 0) return "a living member was given up";
    ends.after += has_begun_to_end && has_failed ? 1 : 0;
    return look_at_end(world, trouble, ends);
}

TEST(Leaving, NoCallWaitsForWhoHasFreedTheTeam) {
    const Seeds seeds = Seeds::wanted(kSeeds);
    Ends ends;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        const std::string wrong = run_seed(seed, ends);
        ASSERT_EQ(wrong, "") << "seed " << seed << replay(seed);
    }
    RecordProperty("frozen", std::to_string(ends.frozen));
    RecordProperty("after", std::to_string(ends.after));
    RecordProperty("messages", std::to_string(ends.messages));
    RecordProperty("kept", std::to_string(ends.kept));
    if (seeds.count < 100) return;
    EXPECT_GT(ends.ended, seeds.count / 5);
    EXPECT_GT(ends.frozen, seeds.count / 5);
    EXPECT_GT(ends.after, seeds.count / 10) << "hardly any group failed after a rank had left";
    EXPECT_GT(ends.messages, seeds.count);
    // With trouble at the worst time, of a kind that ends the detour too.
    EXPECT_LT(ends.kept, seeds.count / 4);
}

}  // namespace
}  // namespace tutti::test
