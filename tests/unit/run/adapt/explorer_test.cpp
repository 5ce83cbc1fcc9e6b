// SPDX-License-Identifier: BSD-3-Clause
// Every order of arrivals and messages among a few members, over calls that follow each other; a
// state that was seen before is not entered again. Messages may overtake each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <unordered_set>

#include "unit/run/adapt/arrivals.h"
#include "unit/run/adapt/explored.h"

namespace tutti::adapt::test {
namespace {

struct State {
    Arrivals members;
    std::vector<Mail> mail;  // in order, so that states are alike in whatever order it was sent
};

std::string key(const State& state) {
    std::string key = state.members.state();
    for (const Mail& mail : state.mail) {
        key += static_cast<char>(mail.call);
        key += static_cast<char>(mail.from);
        key += static_cast<char>(mail.to);
        key += static_cast<char>(2 * static_cast<int>(mail.kind) + (mail.is_multicast ? 1 : 0));
        for (const bool one : mail.holds) key += one ? 'x' : '-';
    }
    return key;
}

void explore(const State& from, std::unordered_set<std::string>& seen, Explored& all,
             const std::string& way) {
    bool is_end = true;
    const auto enter = [&](const std::string& event, auto&& happen) {
        is_end = false;
        if (!all.wrong.empty()) return;
        State next = from;
        const Happened happened = happen(next);
        const std::string there = way + event;
        if (!happened.wrong.empty()) {
            all.wrong = happened.wrong + " by" + there;
            return;
        }
        next.mail.insert(next.mail.end(), happened.posted.begin(), happened.posted.end());
        std::ranges::sort(next.mail);
        if (seen.insert(key(next)).second) explore(next, seen, all, there);
    };
    for (uint32_t member = 0; member < from.members.setup().members; ++member) {
        if (!from.members.can_arrive(member)) continue;
        enter(" " + std::to_string(member),
              [&](State& next) { return next.members.arrive(member); });
    }
    for (size_t i = 0; i < from.mail.size(); ++i) {
        const Mail& mail = from.mail[i];
        enter(" " + std::to_string(mail.from) + ">" + std::to_string(mail.to), [&](State& next) {
            next.mail.erase(next.mail.begin() + static_cast<ptrdiff_t>(i));
            return next.members.deliver(mail);
        });
    }
    if (!is_end) return;
    ++all.ends;
    const std::string wrong = from.members.end();
    if (!wrong.empty()) all.wrong = wrong + " by" + way;
}

Explored explored(const World& setup) { return explored_from(State{Arrivals(setup), {}}); }

TEST(Arrivals, EveryOrderEndsWell) {
    const uint32_t most = std::getenv("TESTS_BRIEF") ? 4 : std::getenv("TESTS_LONG") ? 6 : 5;
    size_t states = 0;
    size_t setups = 0;
    for (const Releases releases : {Releases::kAlongTree, Releases::kByMulticast}) {
        for (uint32_t members = 1; members <= most; ++members) {
            for (uint32_t fan_in = 1; fan_in < std::max(members, 2u); ++fan_in) {
                const uint64_t calls = members < most ? 3 : 2;
                const Explored all = explored({members, fan_in, releases, calls});
                EXPECT_EQ(all.wrong, "") << members << " members, fan_in " << fan_in;
                EXPECT_GT(all.ends, 0u);
                states += all.states;
                ++setups;
            }
        }
    }
    std::printf("%zu setups, %zu states\n", setups, states);
}

TEST(Arrivals, FaultsAreFound) {
    struct Case {
        Fault fault;
        Releases releases;
        const char* what;
        // Whenever member 0 has everything it releases all by multicast, and rightly: so its parts
        // only save a hop there.
        uint32_t first = 0;
    };
    for (const auto& [fault, releases, what, first] : std::to_array<Case>({
             {Fault::kForgetsItself, Releases::kAlongTree, "a release without everything"},
             {Fault::kLeavesWithItsPart, Releases::kAlongTree, "release"},
             {Fault::kLeavesWithItsPart, Releases::kByMulticast, "release"},
             {Fault::kBothMulticast, Releases::kByMulticast, "two multicasts", 1},
             {Fault::kForgetsANeighbour, Releases::kAlongTree, "is never released"},
             {Fault::kIsSilent, Releases::kAlongTree, "is never released"},
             {Fault::kIsSilent, Releases::kByMulticast, "is never released", 1},
         })) {
        for (uint32_t faulty = first; faulty < 4; ++faulty) {
            const Explored all = explored({4, 2, releases, 1, fault, faulty});
            EXPECT_NE(all.wrong.find(what), std::string::npos)
                << static_cast<int>(fault) << " of " << faulty << ": " << all.wrong;
        }
    }
}

}  // namespace
}  // namespace tutti::adapt::test
