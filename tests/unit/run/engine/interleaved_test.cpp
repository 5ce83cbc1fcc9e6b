// SPDX-License-Identifier: BSD-3-Clause
// Requests of several teams under way at once: whoever waits in one team moves the others on.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "sim/seeds.h"
#include "unit/run/engine/batch.h"
#include "unit/run/engine/hosts.h"

namespace tutti::test {
namespace {

// Teams of the same ranks, on pretended hosts or on one node. A rank has a context of its own, as a
// process has.
struct Setting {
    uint32_t ranks = 2;
    uint32_t requests = 1;  // of a team at once
    size_t teams = 1;
    std::vector<const char*> settings;
    bool fails = false;  // messages may be left over
};
using Body = std::function<void(uint32_t rank, const Teams& teams)>;

void run_teams(const Setting& setting, const Body& body) {
    Hosts hosts{setting.ranks};
    std::vector<ContextPtr> contexts;
    for (uint32_t rank = 0; rank < setting.ranks; ++rank) {
        contexts.push_back(make_context(setting.settings));
    }
    std::vector<std::vector<Made>> made(setting.ranks);
    run_threads(setting.ranks, [&](uint32_t rank) {
        Teams teams;
        for (size_t i = 0; i < setting.teams; ++i) {
            made[rank].push_back(hosts.make(contexts[rank].get(), rank, setting.requests));
            ASSERT_EQ(made[rank].back().status, TUTTI_OK) << made[rank].back().message;
            teams.push_back(made[rank].back().team.get());
        }
        body(rank, teams);
    });
    made.clear();
    if (!setting.fails) {
        EXPECT_EQ(hosts.mailbox.under_way(), 0u);
    }
}

tutti_status meet(tutti_team* team) {
    const tutti_call barrier{};
    return tutti_run(team, &barrier);
}

// Half of the ranks go on to the second team while the others wait for the first, whose calls need
// everybody several times.
void run_interleaved(uint32_t ranks, const std::vector<const char*>& settings) {
    Prng prng(3);
    const Spec spec{TUTTI_ALLREDUCE, 0, 40'000, Fold::kXorU64, prng.next()};
    Exchange first(spec, ranks);
    Exchange second(spec, ranks);
    run_teams({ranks, 1, 2, settings}, [&](uint32_t rank, const Teams& teams) {
        for (int turn = 0; turn < 5; ++turn) {
            const tutti_call one = first.call(rank);
            const tutti_call two = second.call(rank);
            tutti_request request;
            ASSERT_EQ(tutti_request_init(&request, teams[0], &one), TUTTI_OK);
            ASSERT_EQ(tutti_request_start(&request), TUTTI_OK);
            const bool waits_first = (rank + static_cast<uint32_t>(turn)) % 2 == 0;
            if (waits_first) {
                ASSERT_EQ(tutti_request_wait(&request), TUTTI_OK);
            }
            ASSERT_EQ(tutti_run(teams[1], &two), TUTTI_OK);
            if (!waits_first) {
                ASSERT_EQ(tutti_request_wait(&request), TUTTI_OK);
            }
            ASSERT_EQ(first.check(rank), "");
            ASSERT_EQ(second.check(rank), "");
            ASSERT_EQ(meet(teams[1]), TUTTI_OK);
            if (rank == 0) {
                first.reset();
                second.reset();
            }
            ASSERT_EQ(meet(teams[1]), TUTTI_OK);
        }
    });
}

TEST(Interleaved, OnOneNode) { run_interleaved(3, {"TUTTI_CHUNK=1K"}); }
TEST(Interleaved, AcrossHosts) { run_interleaved(4, {"TUTTI_HOSTS=4", "TUTTI_MCAST=off"}); }
TEST(Interleaved, AcrossHostsOfSeveralRanks) {
    run_interleaved(4, {"TUTTI_HOSTS=2", "TUTTI_MCAST=off", "TUTTI_CHUNK=1K"});
}

// The barrier lacks its last rank until the broadcast behind it is through.
void run_overtaking(const std::vector<const char*>& settings) {
    std::atomic<bool> is_through = false;
    run_teams({3, 2, 1, settings}, [&](uint32_t rank, const Teams& teams) {
        uint64_t word = rank == 0 ? 42 : 0;
        tutti_call calls[2] = {};
        calls[0].collective = TUTTI_BARRIER;
        calls[1].collective = TUTTI_BCAST;
        calls[1].recv = &word;
        calls[1].bytes = sizeof word;
        if (rank == 2) {
            while (!is_through) std::this_thread::yield();
        }
        tutti_request requests[2];
        for (size_t i = 0; i < 2; ++i) {
            ASSERT_EQ(tutti_request_init(&requests[i], teams[0], &calls[i]), TUTTI_OK);
            ASSERT_EQ(tutti_request_start(&requests[i]), TUTTI_OK);
        }
        ASSERT_EQ(tutti_request_wait(&requests[1]), TUTTI_OK);
        EXPECT_EQ(word, 42u);
        if (rank == 1) {
            EXPECT_EQ(tutti_request_test(&requests[0]), TUTTI_PENDING);
            is_through = true;
        }
        ASSERT_EQ(tutti_request_wait(&requests[0]), TUTTI_OK);
    });
}

TEST(Interleaved, OvertakenOnOneNode) { run_overtaking({}); }
TEST(Interleaved, OvertakenAcrossHosts) { run_overtaking({"TUTTI_HOSTS=3", "TUTTI_MCAST=off"}); }

// One rank gives up while others wait in another call of the team.
TEST(Interleaved, GivingUpEndsAllCalls) {
    run_teams({3, 3, 1, {"TUTTI_HOSTS=3", "TUTTI_MCAST=off"}, true},
              [&](uint32_t rank, const Teams& teams) {
                  if (rank == 1) return tutti_team_give_up(teams[0], "it is tired");
                  const tutti_call barrier{};
                  tutti_request requests[3];
                  for (tutti_request& request : requests) {
                      ASSERT_EQ(tutti_request_init(&request, teams[0], &barrier), TUTTI_OK);
                      ASSERT_EQ(tutti_request_start(&request), TUTTI_OK);
                  }
                  for (tutti_request& request : requests) {
                      EXPECT_EQ(tutti_request_wait(&request), TUTTI_ERR_MEMORY);
                  }
                  EXPECT_STREQ(tutti_team_message(teams[0]), "the hosts: rank 1: it is tired");
              });
}

// Whatever a team of one member asks for, one call at a time is all that it needs.
TEST(Interleaved, OfOneRank) {
    const ContextPtr context = make_context({});
    Meeting meeting(1);
    const Made made = make_team(context.get(), meeting, 0, "alone", nullptr, 3);
    ASSERT_EQ(made.status, TUTTI_OK) << made.message;
    for (uint64_t i = 1; i <= 8; ++i) {
        uint64_t out = 0;
        tutti_call call{};
        call.collective = TUTTI_ALLREDUCE;
        call.send = &i;
        call.recv = &out;
        call.bytes = sizeof i;
        call.dtype = TUTTI_UINT64;
        tutti_request request;
        ASSERT_EQ(tutti_request_init(&request, made.team.get(), &call), TUTTI_OK);
        ASSERT_EQ(tutti_request_start(&request), TUTTI_OK);
        ASSERT_EQ(tutti_request_wait(&request), TUTTI_OK);
        EXPECT_EQ(out, i);
    }
}

// Only the first track of two multicasts. The user's word holds on both, as far as it can.
TEST(Interleaved, TheUsersWordHoldsOnAllTracks) {
    constexpr uint32_t kRanks = 3;
    Hosts hosts{kRanks};
    std::vector<ContextPtr> contexts;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        contexts.push_back(make_context(
            {"TUTTI_HOSTS=3", "TUTTI_MCAST=on", "TUTTI_MCAST_IF=lo", "TUTTI_ALLREDUCE=host",
             "TUTTI_BCAST=multicast", "TUTTI_BARRIER=dissemination"},
            nullptr, "mpich"));
    }
    run_threads(kRanks, [&](uint32_t rank) {
        const Made made = hosts.make(contexts[rank].get(), rank, 2);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        tutti_team* const team = made.team.get();
        for (int turn = 0; turn < 4; ++turn) {
            uint64_t word = rank == 0 ? 42 : 0;
            tutti_call call{};
            call.collective = TUTTI_BCAST;
            call.recv = &word;
            call.bytes = sizeof word;
            ASSERT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
            EXPECT_EQ(word, 42u);
            EXPECT_EQ(std::string(tutti_team_ran(team)) == "multicast", turn % 2 == 0);
            if (turn != 1) continue;
            call.collective = TUTTI_ALLREDUCE;
            call.send = TUTTI_IN_PLACE;
            call.dtype = TUTTI_UINT64;
            EXPECT_EQ(tutti_run(team, &call), TUTTI_HOST);
            EXPECT_EQ(tutti_run(team, &call), TUTTI_HOST);
        }
        ASSERT_EQ(meet(team), TUTTI_OK);
        ASSERT_EQ(meet(team), TUTTI_OK);
    });
}

// By what messages go between hosts. Multicast comes over the loopback interface, of one seed in
// sixteen, since a group takes its time.
std::vector<const char*> draw_ways(Prng& prng) {
    switch (prng.below(16)) {
        case 0:
            return {"TUTTI_MCAST=on", "TUTTI_MCAST_IF=lo"};
        case 1:
        case 2:
            return {"TUTTI_MCAST=off", "TUTTI_LOOPBACK=on"};
        case 3:
        case 4:
            return {"TUTTI_MCAST=off", "TUTTI_FAULTS=reorder:16"};
        default:
            return {"TUTTI_MCAST=off"};
    }
}

void run_random(uint64_t seed) {
    Prng prng(seed);
    Setting setting;
    setting.ranks = static_cast<uint32_t>(2 + prng.below(4));
    setting.requests = static_cast<uint32_t>(1 + prng.below(4));
    setting.teams = 1 + prng.below(3);
    const std::string hosts = "TUTTI_HOSTS=" + std::to_string(1 + prng.below(setting.ranks));
    setting.settings = draw_ways(prng);
    setting.settings.insert(
        setting.settings.end(),
        {hosts.c_str(), "TUTTI_CHUNK=1K", prng.below(4) == 0 ? "TUTTI_CHECK=1" : "TUTTI_CHECK=0"});
    std::vector<Exchanges> batches;
    for (int i = 0; i < 2; ++i) {
        batches.push_back(draw_exchanges(prng, setting.ranks,
                                         static_cast<uint32_t>(setting.teams + prng.below(8))));
    }
    run_teams(setting, [&](uint32_t rank, const Teams& teams) {
        for (size_t i = 0; i < batches.size(); ++i) {
            Batch(teams, batches[i], rank, seed * 7 + i).run();
            const tutti_call barrier{};
            ASSERT_EQ(tutti_run(teams[seed % teams.size()], &barrier), TUTTI_OK);
        }
    });
}

TEST(Interleaved, RandomRequestsOfSeveralTeams) {
    const Seeds seeds = Seeds::wanted(1000);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        run_random(seed);
        ASSERT_FALSE(HasFailure()) << replay(seed);
    }
}

// Roots of gathers that have room for more than is sent to them, several at once: each finds out by
// itself, and begins its own call anew.
TEST(Interleaved, GathersWithRoomForMoreAtOnce) {
    constexpr uint32_t kRanks = 4;
    constexpr size_t kCalls = 6;
    for_each_seed(200, [&](uint64_t seed) {
        Prng prng(seed);
        const std::string hosts = "TUTTI_HOSTS=" + std::to_string(2 + prng.below(3));
        std::array<size_t, kCalls> sent{};
        for (size_t& bytes : sent) bytes = 1 + prng.below(prng.below(2) == 0 ? 200 : 6000);
        run_teams({kRanks, 3, 1, {hosts.c_str(), "TUTTI_MCAST=off", "TUTTI_CHUNK=1K"}},
                  [&](uint32_t rank, const Teams& teams) {
                      std::array<tutti_request, kCalls> requests;
                      std::array<std::vector<uint8_t>, kCalls> ins;
                      std::array<std::vector<uint8_t>, kCalls> outs;
                      for (size_t i = 0; i < kCalls; ++i) {
                          const auto root = static_cast<uint32_t>(i % kRanks);
                          const size_t room = 2 * sent[i];
                          ins[i].assign(room, static_cast<uint8_t>(10 * i + rank + 1));
                          outs[i].assign(kRanks * room, 0);
                          tutti_call call{};
                          call.collective = TUTTI_GATHER;
                          call.root = root;
                          call.send = ins[i].data();
                          call.recv = outs[i].data();
                          call.bytes = rank == root ? room : sent[i];
                          ASSERT_EQ(tutti_request_init(&requests[i], teams[0], &call), TUTTI_OK);
                          ASSERT_EQ(tutti_request_start(&requests[i]), TUTTI_OK);
                      }
                      for (size_t i = kCalls; i-- > 0;) {
                          ASSERT_EQ(tutti_request_wait(&requests[i]), TUTTI_OK)
                              << tutti_team_message(teams[0]);
                          if (rank != i % kRanks) continue;
                          for (uint32_t from = 0; from < kRanks; ++from) {
                              const auto told = static_cast<uint8_t>(10 * i + from + 1);
                              const size_t at = from * 2 * sent[i];
                              EXPECT_EQ(outs[i][at], told);
                              EXPECT_EQ(outs[i][at + sent[i] - 1], told);
                          }
                      }
                      // A root asks what it was sent: the others answer while they wait.
                      ASSERT_EQ(meet(teams[0]), TUTTI_OK);
                  });
    });
}

}  // namespace
}  // namespace tutti::test
