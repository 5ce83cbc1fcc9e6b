// SPDX-License-Identifier: BSD-3-Clause
// Up to a thousand members in virtual time, arriving by several distributions.
#include "run/adapt/meeting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>

#include "base/prng.h"
#include "run/adapt/skew.h"
#include "sim/seeds.h"
#include "unit/run/adapt/arrivals.h"

namespace tutti::adapt::test {
namespace {

constexpr uint64_t kHopNs = 1000;
constexpr uint32_t kMembersPerHost = 4;

struct Outcome {
    std::string wrong;
    std::vector<uint64_t> delays_ns;  // by call: last exit minus last arrival
    uint64_t messages = 0;
};

// hop_ns, and up to so many percent longer at random; messages may so overtake each other.
class Simulation {
  public:
    Simulation(const World& setup, Skew skew, uint64_t most_ns, uint32_t jitter_percent,
               uint64_t seed)
        : arrivals_(setup),
          delays_{skew, most_ns, seed, setup.members,
                  (setup.members + kMembersPerHost - 1) / kMembersPerHost},
          jitter_percent_(jitter_percent),
          random_(seed),
          last_in_ns_(setup.calls),
          last_out_ns_(setup.calls) {}

    Outcome go() {
        const World& setup = arrivals_.setup();
        for (uint32_t member = 0; member < setup.members; ++member) enter_after(member, 0);
        while (!events_.empty()) {
            const Event event = events_.top();
            events_.pop();
            const std::string wrong = happen(event);
            if (!wrong.empty()) return {wrong, {}, 0};
        }
        Outcome outcome{arrivals_.end(), {}, arrivals_.messages};
        for (uint64_t call = 0; call < setup.calls; ++call) {
            outcome.delays_ns.push_back(last_out_ns_[call] - last_in_ns_[call]);
        }
        return outcome;
    }

  private:
    struct Event {
        uint64_t at_ns = 0;
        uint64_t number = 0;
        bool is_arrival = false;
        uint32_t member = 0;
        Mail mail;
        bool operator<(const Event& other) const {
            return at_ns != other.at_ns ? at_ns > other.at_ns : number > other.number;
        }
    };

    void enter_after(uint32_t member, uint64_t now_ns) {
        if (!arrivals_.can_arrive(member)) return;
        const uint64_t delay_ns =
            delays_.delay_ns(arrivals_.member(member).call(), member, member / kMembersPerHost);
        const uint64_t at_ns = now_ns + delay_ns;
        events_.push({at_ns, number_++, true, member, {}});
    }

    std::string happen(const Event& event) {
        const uint32_t member = event.is_arrival ? event.member : event.mail.to;
        const uint64_t call = arrivals_.member(member).call();
        if (event.is_arrival) last_in_ns_[call] = std::max(last_in_ns_[call], event.at_ns);
        Happened happened =
            event.is_arrival ? arrivals_.arrive(member) : arrivals_.deliver(event.mail);
        for (Mail& mail : happened.posted) {
            const uint64_t more = kHopNs * random_.below(jitter_percent_ + 1) / 100;
            events_.push({event.at_ns + kHopNs + more, number_++, false, 0, std::move(mail)});
        }
        if (arrivals_.member(member).call() > call) {
            last_out_ns_[call] = std::max(last_out_ns_[call], event.at_ns);
            enter_after(member, event.at_ns);
        }
        return happened.wrong;
    }

    Arrivals arrivals_;
    Delays delays_;
    uint32_t jitter_percent_;
    Prng random_;
    std::vector<uint64_t> last_in_ns_;
    std::vector<uint64_t> last_out_ns_;
    std::priority_queue<Event> events_;
    uint64_t number_ = 0;
};

// Hops between the two members that are farthest apart.
uint64_t diameter(const World& setup) {
    uint64_t deepest = 0;
    for (uint32_t member = 0; member < setup.members; ++member) {
        uint64_t depth = 0;
        for (auto up = place_in_tree(setup.members, setup.fan_in, member).parent; up; ++depth) {
            up = place_in_tree(setup.members, setup.fan_in, *up).parent;
        }
        deepest = std::max(deepest, depth);
    }
    return 2 * deepest;
}

// Whatever the order, results are whole, nobody leaves early, and nobody waits for longer than
// messages from one end to the other and back take.
TEST(Meeting, ManyMembersBySeed) {
    const auto seeds = tutti::test::Seeds::wanted(2000);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng random(seed);
        const auto most = static_cast<uint32_t>(random.below(10) == 0 ? 1000 : 60);
        const auto members = static_cast<uint32_t>(1 + random.below(most));
        const World setup{
            .members = members,
            .fan_in = static_cast<uint32_t>(1 + random.below(random.below(2) ? 8 : members)),
            .releases = static_cast<Releases>(random.below(2)),
            .calls = 1 + random.below(4)};
        // A chain of hundreds is as long.
        if (setup.fan_in == 1 && members > 100) continue;
        const auto jitter = static_cast<uint32_t>(random.below(2) * random.below(400));
        const Outcome outcome =
            Simulation(setup, static_cast<Skew>(random.below(static_cast<uint64_t>(Skew::kReport))),
                       random.below(40) * kHopNs, jitter, seed)
                .go();
        ASSERT_EQ(outcome.wrong, "") << tutti::test::replay(seed);
        const uint64_t hops =
            setup.releases == Releases::kByMulticast ? diameter(setup) + 1 : 2 * diameter(setup);
        for (const uint64_t delay : outcome.delays_ns) {
            ASSERT_LE(delay, hops * kHopNs * (100 + jitter) / 100) << tutti::test::replay(seed);
        }
        const uint64_t edges = members - 1;
        if (setup.releases == Releases::kAlongTree) {
            EXPECT_EQ(outcome.messages, 2 * edges * setup.calls);
        } else {
            EXPECT_GE(outcome.messages, edges * setup.calls);
            EXPECT_LE(outcome.messages, 2 * edges * setup.calls);
        }
    }
}

// Seed 000's point: whoever comes so late that all else is done is the root, and one multicast
// later all are released, however many they are.
TEST(Meeting, TheLastOneIsTheRoot) {
    for (const uint32_t members : {2u, 3u, 16u, 64u, 1000u}) {
        for (const uint32_t fan_in : {2u, 4u, 16u, 999u}) {
            for (uint64_t seed = 1; seed <= 5; ++seed) {
                World setup{members, fan_in, Releases::kByMulticast, 1};
                const uint64_t skew_ns = (diameter(setup) + 1) * kHopNs;
                const Outcome by_multicast = Simulation(setup, Skew::kOne, skew_ns, 0, seed).go();
                ASSERT_EQ(by_multicast.wrong, "");
                EXPECT_EQ(by_multicast.delays_ns, std::vector<uint64_t>{kHopNs});
                EXPECT_EQ(by_multicast.messages, members - 1);
                setup.releases = Releases::kAlongTree;
                const Outcome along = Simulation(setup, Skew::kOne, skew_ns, 0, seed).go();
                ASSERT_EQ(along.wrong, "");
                EXPECT_LE(along.delays_ns.front(), diameter(setup) * kHopNs);
            }
        }
    }
}

}  // namespace
}  // namespace tutti::adapt::test
