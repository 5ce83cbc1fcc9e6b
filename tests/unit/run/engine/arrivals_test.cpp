// SPDX-License-Identifier: BSD-3-Clause
// Teams whose members look when they come to their calls. Nothing here depends on times; who is
// late by them is tests/unit/run/adapt/arrival_figures_test.cpp.
#include "run/engine/arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <numeric>

#include "base/prng.h"
#include "run/adapt/arrival_figures.h"
#include "sim/script.h"
#include "sim/seeds.h"
#include "unit/run/engine/exchanges.h"
#include "unit/run/engine/hosts.h"
#include "unit/run/engine/later.h"
#include "unit/run/engine/told.h"

namespace tutti::test {
namespace {

constexpr const char* kArrivals = "TUTTI_ARRIVALS=on";
constexpr const char* kNoMulticast = "TUTTI_MCAST=off";
constexpr const char* kUnpriced = "TUTTI_PRICE=off";
// Of the embedder's allgather, where hosts read each other's clocks.
constexpr uint32_t kReading = 2;
// Of samples.
constexpr uint32_t kFirstComparison = 4;

// The call that begins with the first comparison.
uint64_t first_comparison() {
    uint64_t call = 0;
    for (uint32_t sampled = 0; sampled < kFirstComparison;) {
        if (adapt::is_sampled(++call)) ++sampled;
    }
    return call + 1;
}

// By collective, so many of the first `calls` as have been compared: after 4, 8, 16, then 24 each.
std::vector<uint64_t> compared(const std::vector<tutti_collective>& calls) {
    std::vector<uint64_t> counts(TUTTI_COLLECTIVE_COUNT), open(TUTTI_COLLECTIVE_COUNT);
    uint64_t sampled = 0, wanted = kFirstComparison, compares_at = UINT64_MAX;
    for (uint64_t call = 1; call <= calls.size(); ++call) {
        if (call == compares_at) {
            for (size_t i = 0; i < counts.size(); ++i) counts[i] += std::exchange(open[i], 0);
            wanted = std::min<uint64_t>(2 * wanted, 24);
            sampled = 0;
        } else if (adapt::is_sampled(call)) {
            ++open[calls[call - 1]];
            if (++sampled == wanted) compares_at = call + 1;
        }
    }
    return counts;
}

void run_barrier(tutti_team* team) {
    const tutti_call barrier{};
    ASSERT_EQ(tutti_run(team, &barrier), TUTTI_OK) << tutti_team_message(team);
}

void expect_alike(const std::vector<Told>& of_ranks) {
    const std::vector<Fact>& first = of_ranks[0].row().facts;
    for (const Told& one : of_ranks) {
        const std::vector<Fact>& facts = one.row().facts;
        ASSERT_EQ(facts.size(), first.size());
        for (size_t i = 0; i < facts.size(); ++i) {
            EXPECT_EQ(facts[i].name, first[i].name);
            EXPECT_EQ(facts[i].value, first[i].value) << facts[i].name;
        }
    }
}

// How late a member came to its last samples, of the collective that was sampled most.
std::vector<double> lateness_of(tutti_team* team) {
    std::vector<double> late_s;
    for (const Told& one : all_told(team, "arrivals")) {
        for (const Fact& fact : one.row().facts) {
            if (fact.name.starts_with("recorded/late_s/")) {
                late_s.push_back(std::get<double>(fact.value));
            }
        }
    }
    return late_s;
}

uint64_t all_last(const Told& told) {
    uint64_t last = 0;
    for (int i = 0; told.has("last/" + std::to_string(i) + "/rank"); ++i) {
        last += told.number("last/" + std::to_string(i) + "/samples");
    }
    return last;
}

// Random calls of all collectives: results are right, samples are those of the numbers, and all
// members find the same.
void run_mixed(const Settings& settings, uint32_t ranks, uint64_t seed, int apart) {
    Prng random(seed);
    const Limits limits{ranks, 256, 20'000, false};
    Exchanges exchanges;
    std::vector<tutti_collective> kinds;
    for (int i = 0; i < 700; ++i) {
        exchanges.push_back(std::make_unique<Exchange>(draw_spec(random, limits), ranks));
        kinds.push_back(exchanges.back()->call(0).collective);
    }
    const std::vector<uint64_t> expected = compared(kinds);
    ASSERT_GT(std::accumulate(expected.begin(), expected.end(), uint64_t{0}), 0u);
    std::vector<std::vector<Told>> found(TUTTI_COLLECTIVE_COUNT, std::vector<Told>(ranks));
    std::vector<std::vector<double>> late_s(ranks);
    Job job(ranks, settings);
    const auto body = [&](uint32_t rank, tutti_team* team, Meeting::Seat&) {
        for (const auto& exchange : exchanges) {
            const tutti_call call = exchange->call(rank);
            ASSERT_EQ(tutti_run(team, &call), TUTTI_OK)
                << describe(exchange->spec()) << replay(seed) << tutti_team_message(team);
            ASSERT_EQ(exchange->check(rank), "") << describe(exchange->spec()) << replay(seed);
        }
        for (int kind = 0; kind < TUTTI_COLLECTIVE_COUNT; ++kind) {
            found[static_cast<size_t>(kind)][rank] =
                arrivals_of(team, static_cast<tutti_collective>(kind));
        }
        late_s[rank] = lateness_of(team);
    };
    run_later(job, body, apart);
    const uint64_t sampled = std::accumulate(expected.begin(), expected.end(), uint64_t{0});
    for (size_t kind = 0; kind < found.size(); ++kind) {
        const Told& one = found[kind][0];
        EXPECT_EQ(one.number("samples"), expected[kind]) << kind << replay(seed);
        if (expected[kind] == 0) continue;
        EXPECT_DOUBLE_EQ(one.real("calls_per_sample"),
                         static_cast<double>(kinds.size()) / static_cast<double>(sampled));
        EXPECT_EQ(all_last(one), expected[kind]) << kind << replay(seed);
        expect_alike(found[kind]);
    }
    const uint64_t most = *std::ranges::max_element(expected);
    ASSERT_EQ(late_s[0].size(), std::min<uint64_t>(most, adapt::ArrivalFigures::kRecentMax));
    // Somebody was the first in each.
    for (size_t i = 0; i < late_s[0].size(); ++i) {
        const auto late = [&](const std::vector<double>& of_rank) { return of_rank[i]; };
        EXPECT_EQ(late(*std::ranges::min_element(late_s, {}, late)), 0);
    }
}

TEST(Arrivals, MixedCallsOnOneHost) {
    const auto seeds = Seeds::wanted(4);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        run_mixed({kArrivals}, 4, seed, 0);
    }
}

TEST(Arrivals, MixedCallsAcrossHosts) {
    const auto seeds = Seeds::wanted(4);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        run_mixed({kArrivals, kNoMulticast}, 5, seed, 1);
        run_mixed({kArrivals, kNoMulticast, "TUTTI_HOSTS=3:round-robin"}, 6, seed, 0);
    }
}

// By default only where there is a report to say it in, and not where calls are watched.
TEST(Arrivals, OnlyWhereTheyAreWanted) {
    const auto samples = [](const Settings& settings, int apart) {
        Job job(3, settings);
        std::vector<uint64_t> found(3);
        run_later(
            job,
            [&](uint32_t rank, tutti_team* team, Meeting::Seat&) {
                for (uint64_t i = 0; i < first_comparison(); ++i) run_barrier(team);
                found[rank] = arrivals_of(team, TUTTI_BARRIER).number("samples");
            },
            apart);
        return found[0];
    };
    for (const int apart : {0, 1}) {
        EXPECT_EQ(samples({kNoMulticast}, apart), 0u);
        EXPECT_EQ(samples({kNoMulticast, "TUTTI_REPORT=1", "TUTTI_ARRIVALS=off"}, apart), 0u);
        EXPECT_EQ(samples({kNoMulticast, "TUTTI_REPORT=1"}, apart), kFirstComparison);
        EXPECT_EQ(samples({kNoMulticast, kArrivals, "TUTTI_CHECK=1"}, apart), 0u);
        EXPECT_EQ(samples({kNoMulticast, kArrivals, "TUTTI_STALL=9"}, apart), 0u);
    }
}

// Clocks are read with the first comparison, and then no more until it has paid off.
TEST(Arrivals, HostsReadEachOthersClocks) {
    for (const uint32_t hosts : {2u, 3u, 5u, 8u}) {
        run_later(hosts, {kArrivals, kNoMulticast, kUnpriced},
                  [](uint32_t, tutti_team* team, Meeting::Seat& seat) {
                      const uint32_t rounds = seat.round;
                      for (uint64_t i = 1; i < first_comparison(); ++i) run_barrier(team);
                      EXPECT_EQ(seat.round, rounds);
                      EXPECT_EQ(arrivals_of(team, TUTTI_BARRIER).number("samples"), 0u);
                      run_barrier(team);
                      EXPECT_EQ(seat.round, rounds + kReading);
                      const Told barrier = arrivals_of(team, TUTTI_BARRIER);
                      EXPECT_EQ(barrier.number("samples"), kFirstComparison);
                      EXPECT_GT(barrier.real("clock_error_s"), 0);
                      EXPECT_NE(barrier.text("last/0/host"), "");
                  });
    }
}

// Of calls that are the embedder's own, it says itself when a member has left them, or nobody
// knows.
TEST(Arrivals, TheEmbeddersOwnCalls) {
    const Settings settings{kArrivals, kNoMulticast, "TUTTI_BARRIER=host"};
    for (const int apart : {0, 1}) {
        for (const bool tells : {false, true}) {
            Job job(3, settings);
            for (auto& context : job.contexts) context = make_context(settings, nullptr, "openmpi");
            run_later(
                job,
                [&](uint32_t, tutti_team* team, Meeting::Seat&) {
                    for (uint64_t i = 1; i <= first_comparison(); ++i) {
                        const tutti_call barrier{};
                        ASSERT_EQ(tutti_run(team, &barrier), TUTTI_HOST);
                        if (tells) tutti_team_host_left(team);
                    }
                    const Told barrier = arrivals_of(team, TUTTI_BARRIER);
                    EXPECT_EQ(barrier.number("samples"), kFirstComparison);
                    EXPECT_EQ(barrier.has("synchronization_delay/mean_s"), tells);
                    tutti_team_host_left(team);  // of nothing
                },
                apart);
        }
    }
}

// What is left is compared at the end, where all say so.
TEST(Arrivals, TheLastOnesCountToo) {
    for (const int apart : {0, 1}) {
        Job job(3, {kArrivals, kNoMulticast});
        run_later(
            job,
            [&](uint32_t, tutti_team* team, Meeting::Seat&) {
                // Of nothing, and each is a call itself.
                EXPECT_EQ(tutti_team_finish_arrivals(team), TUTTI_OK);
                for (uint64_t i = 4; i < first_comparison(); ++i) run_barrier(team);
                EXPECT_EQ(tutti_team_finish_arrivals(team), TUTTI_OK);
                EXPECT_EQ(arrivals_of(team, TUTTI_BARRIER).number("samples"), kFirstComparison - 1);
                run_barrier(team);
            },
            apart);
    }
}

// A rank that has given up before a comparison.
TEST(Arrivals, NobodyIsLeftWaiting) {
    run_later(3, {kArrivals, kNoMulticast, kUnpriced},
              [&](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
                  for (uint64_t i = 1; i < first_comparison(); ++i) run_barrier(team);
                  run_without_rank_one(rank, team, seat);
              });
}

// One message of a reading fails, at any host and in any step: whoever waits for that host, then or
// later, hears of it, and nobody goes on.
TEST(Arrivals, WithoutAWayToReadClocks) {
    constexpr uint32_t kHosts = 8;
    // Three of the barrier before; then 12 a step, of which hosts 2 and 6 have two.
    for (const int sends : {4, 14, 20, 26, 30}) {
        for (const uint32_t culprit : {0u, 2u, 4u, 6u}) {
            if (sends > 26 && culprit % 4 != 0) continue;
            Mailbox mailbox(kHosts);
            Meeting meeting(kHosts);
            int left = INT_MAX;
            Failing failing{mailbox.callbacks(culprit), [&](size_t) { return left-- == 0; }};
            Job job(kHosts, {kArrivals, kNoMulticast, kUnpriced});
            std::vector<tutti_status> ends(kHosts);
            run_threads(kHosts, [&](uint32_t rank) {
                const tutti_p2p p2p =
                    rank == culprit ? failing.callbacks() : mailbox.callbacks(rank);
                Meeting::Seat seat{};
                const Made made = make_later(job.contexts[rank].get(), meeting, rank, p2p, seat);
                ASSERT_EQ(made.status, TUTTI_OK) << made.message;
                for (uint64_t i = 1; i < first_comparison(); ++i) run_barrier(made.team.get());
                if (rank == culprit) left = sends;
                const tutti_call barrier{};
                ends[rank] = tutti_run(made.team.get(), &barrier);
                if (rank != culprit) return;
                const std::string why = tutti_team_message(made.team.get());
                EXPECT_NE(why.find("a message to another host failed: the send of "),
                          std::string::npos)
                    << why;
            });
            EXPECT_EQ(ends, std::vector<tutti_status>(kHosts, TUTTI_ERR_NETWORK))
                << culprit << ", " << sends;
        }
    }
}

// Rank 1 has given up, and no call follows: all are told.
TEST(Arrivals, NobodyIsLeftWaitingAtTheEnd) {
    for (const int apart : {0, 1}) {
        Job job(3, {kArrivals, kNoMulticast, kUnpriced});
        run_later(
            job,
            [&](uint32_t rank, tutti_team* team, Meeting::Seat&) {
                for (uint64_t i = 3; i < first_comparison(); ++i) run_barrier(team);
                if (rank == 1) tutti_team_give_up(team, "no memory");
                EXPECT_LT(tutti_team_finish_arrivals(team), TUTTI_OK);
            },
            apart);
    }
}

// A call that is malformed is none.
TEST(Arrivals, MalformedCallsDoNotCount) {
    Job job(2, {kArrivals});
    job.run([&](uint32_t rank, tutti_team* team) {
        tutti_call wrong{};
        wrong.collective = TUTTI_BCAST;
        wrong.root = 7;
        for (uint64_t i = 1; i <= first_comparison(); ++i) {
            if (rank == 1) {
                EXPECT_EQ(tutti_run(team, &wrong), TUTTI_ERR_ARGUMENT);
            }
            run_barrier(team);
        }
        EXPECT_EQ(arrivals_of(team, TUTTI_BARRIER).number("samples"), kFirstComparison);
        EXPECT_DOUBLE_EQ(arrivals_of(team, TUTTI_BARRIER).real("calls_per_sample"),
                         static_cast<double>(first_comparison()) / kFirstComparison);
    });
}

// A reading is due again when 200 times as long has passed as it took, on whichever rank most did.
TEST(Arrivals, ClocksAreReadAgainWhenItHasPaidOff) {
    for (const uint64_t passed : {199, 200}) {
        engine::Arrivals one(0);
        one.read_clocks();
        EXPECT_TRUE(one.is_reading_due());
        one.take_reading({1000, 50, 5}, 10);
        EXPECT_FALSE(one.is_reading_due());
        for (uint32_t i = 0; i < kFirstComparison; ++i) {
            while (!one.has_turn()) {
            }
            one.add({TUTTI_BARRIER, 1000 + i, 1001 + i});
        }
        EXPECT_TRUE(one.has_turn());
        EXPECT_TRUE(one.is_comparison_due());
        one.block_of_own(1000 + passed * 10);
        one.compared();
        EXPECT_EQ(one.is_reading_due(), passed == 200);
    }
}

// For a report one member speaks of what all know, and each of itself.
TEST(Arrivals, AllTellOfThemselvesAndTheFirstOfAll) {
    Job job(2, {kArrivals});
    job.run([&](uint32_t rank, tutti_team* team) {
        for (uint64_t i = 1; i <= first_comparison(); ++i) run_barrier(team);
        EXPECT_EQ(all_told(team, "arrivals/calls").size(), 1u);
        EXPECT_EQ(all_told(team, "arrivals/calls", true).size(), rank == 0 ? 1u : 0u);
        const std::vector<Told> own = all_told(team, "arrivals", true);
        ASSERT_EQ(own.size(), 2u);
        for (const Told& one : own) EXPECT_TRUE(one.row().by_rank);
        EXPECT_TRUE(own[0].has("waited_s_by_rank"));
        EXPECT_EQ(own[1].text("recorded/collective"), "barrier");
    });
}

}  // namespace
}  // namespace tutti::test
