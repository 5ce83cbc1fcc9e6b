// SPDX-License-Identifier: BSD-3-Clause
// Every order of arrivals and messages of a broadcast that feeds whoever is there, among a few;
// orders by seed among many; and what planted faults are found by.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <unordered_set>

#include "base/prng.h"
#include "sim/seeds.h"
#include "unit/run/adapt/explored.h"
#include "unit/run/adapt/feedings.h"

namespace tutti::adapt::test {
namespace {

struct State {
    Feedings all;
    std::vector<FeedMail> mail;  // in order, so that states are alike in whatever order it was sent
};

void collect(State& state) {
    for (FeedMail& mail : state.all.sent()) state.mail.push_back(std::move(mail));
    std::ranges::sort(state.mail);
}

std::string key(const State& state) {
    std::string key = state.all.state();
    for (const FeedMail& mail : state.mail) {
        for (const uint64_t value : {mail.call, uint64_t{mail.from}, uint64_t{mail.to},
                                     static_cast<uint64_t>(mail.kind), mail.number}) {
            key += static_cast<char>(value + 1);
        }
        key += static_cast<char>(mail.source + 1);
        for (const uint32_t whom : mail.whom) key += static_cast<char>(whom + 1);
    }
    return key;
}

void explore(const State& from, std::unordered_set<std::string>& seen, Explored& found,
             const std::string& way) {
    bool can_arrive = false;
    bool can_else = false;
    const std::string here = key(from);
    const auto enter = [&](const std::string& event, bool& can, auto&& happen) {
        if (!found.wrong.empty()) return;
        State next = from;
        const std::string wrong = happen(next);
        if (!wrong.empty()) {
            found.wrong = wrong + " by" + way + event;
            return;
        }
        collect(next);
        std::string there = key(next);
        can = can || there != here;
        if (seen.insert(std::move(there)).second) explore(next, seen, found, way + event);
    };
    for (uint32_t who = 0; who < from.all.setup().participants; ++who) {
        const std::string name = std::to_string(who);
        if (from.all.can_arrive(who)) {
            enter(" " + name, can_arrive, [&](State& next) { return next.all.arrive(who); });
        }
        if (from.all.can_go_on(who)) {
            enter(" +" + name, can_else, [&](State& next) { return next.all.go_on(who); });
        }
    }
    for (size_t i = 0; i < from.mail.size(); ++i) {
        const FeedMail& mail = from.mail[i];
        if (!from.all.can_take(mail)) continue;
        enter(" " + std::to_string(mail.from) + ">" + std::to_string(mail.to), can_else,
              [&](State& next) {
                  next.mail.erase(next.mail.begin() + static_cast<ptrdiff_t>(i));
                  return next.all.take(mail);
              });
    }
    if (!found.wrong.empty() || can_else) return;
    std::string wrong = from.all.held_up();
    if (wrong.empty() && !can_arrive) {
        ++found.ends;
        wrong = from.all.end();
        if (wrong.empty() && !from.mail.empty()) wrong = "a message that nobody takes";
    }
    if (!wrong.empty()) found.wrong = wrong + " by" + way;
}

Explored explored(const FeedWorld& setup) { return explored_from(State{Feedings(setup), {}}); }

TEST(Feedings, EveryOrderEndsWell) {
    const uint32_t most = std::getenv("TESTS_LONG") ? 5 : 4;
    size_t states = 0;
    size_t setups = 0;
    for (const bool is_eager : {false, true}) {
        for (uint32_t p = 1; p <= most; ++p) {
            for (uint32_t fan_in = 1; fan_in < std::max(p, 2u); ++fan_in) {
                for (const uint64_t pieces : {1, 2}) {
                    if (pieces == 2 && p == most && std::getenv("TESTS_BRIEF")) continue;
                    const uint64_t calls = p < most ? 2 : 1;
                    const Explored found = explored({p, fan_in, pieces, calls, is_eager});
                    EXPECT_EQ(found.wrong, "")
                        << p << " participants, fan_in " << fan_in << ", " << pieces << " pieces";
                    EXPECT_GT(found.ends, 0u);
                    states += found.states;
                    ++setups;
                }
            }
        }
    }
    std::printf("%zu setups, %zu states\n", setups, states);
}

TEST(Feedings, FaultsAreFound) {
    struct Case {
        FeedFault fault;
        const char* what;
    };
    for (const auto& [fault, what] : std::to_array<Case>({
             {FeedFault::kTellsTheAbsent, "a message to one who is not there"},
             {FeedFault::kForgetsOne, "waits for one who is not there"},
             {FeedFault::kNeverEnds, "waits for one who is not there"},
             {FeedFault::kKeepsAChild, "waits for one who is not there"},
             {FeedFault::kLeavesEarly, "a message that nobody takes"},
             {FeedFault::kFeedsEarly, "sends what it has not"},
         })) {
        const Explored found =
            explored({.participants = 4, .fan_in = 2, .pieces = 2, .fault = fault});
        EXPECT_NE(found.wrong.find(what), std::string::npos)
            << static_cast<int>(fault) << ": " << found.wrong;
    }
}

// One order of many participants' events, as it is drawn.
std::string run(const FeedWorld& setup, Prng& random, uint64_t& messages) {
    State now{Feedings(setup), {}};
    const bool are_late = random.below(2) == 0;
    for (uint64_t idle = 0; idle < 100'000; ++idle) {
        for (FeedMail& mail : now.all.sent()) now.mail.push_back(std::move(mail));
        std::string wrong;
        const uint64_t drawn = random.below(are_late ? 64 : 4);
        const auto who = static_cast<uint32_t>(random.below(setup.participants));
        if (drawn == 0 && now.all.can_arrive(who)) {
            wrong = now.all.arrive(who);
        } else if (drawn <= 1 && now.all.can_go_on(who)) {
            wrong = now.all.go_on(who);
            if (wrong.empty()) continue;  // that is no progress
        } else if (drawn > 1 && !now.mail.empty()) {
            const size_t i = random.below(now.mail.size());
            const FeedMail mail = now.mail[i];
            if (!now.all.can_take(mail)) continue;
            now.mail[i] = std::move(now.mail.back());
            now.mail.pop_back();
            wrong = now.all.take(mail);
        } else {
            if (now.mail.empty() && now.all.end().empty()) break;
            continue;
        }
        if (!wrong.empty()) return wrong;
        idle = 0;
    }
    messages = now.all.messages;
    return now.all.end();
}

TEST(Feedings, ManyParticipantsBySeed) {
    const auto seeds = tutti::test::Seeds::wanted(300);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng random(seed);
        FeedWorld setup;
        setup.participants = static_cast<uint32_t>(1 + random.below(seed % 10 == 0 ? 300 : 40));
        setup.fan_in = static_cast<uint32_t>(1 + random.below(kFedMax));
        setup.pieces = 1 + random.below(8);
        setup.calls = 1 + random.below(3);
        setup.is_eager = random.below(2) == 0;
        uint64_t messages = 0;
        ASSERT_EQ(run(setup, random, messages), "") << tutti::test::replay(seed);
        // Each one's word, at most four to it, and the pieces.
        const uint64_t members = setup.participants - 1;
        EXPECT_GE(messages, setup.calls * members * (2 + setup.pieces))
            << tutti::test::replay(seed);
        EXPECT_LE(messages, setup.calls * members * (4 + setup.pieces))
            << tutti::test::replay(seed);
    }
}

}  // namespace
}  // namespace tutti::adapt::test
