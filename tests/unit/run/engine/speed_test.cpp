// SPDX-License-Identifier: BSD-3-Clause
// Teams across hosts that measure how fast messages between these are, in a later call. Nothing
// here depends on how fast they are.
#include <gtest/gtest.h>

#include "sim/seeds.h"
#include "unit/run/engine/exchanges.h"
#include "unit/run/engine/hosts.h"
#include "unit/run/engine/later.h"

namespace tutti::test {
namespace {

constexpr const char* kPriced = "TUTTI_PRICE=on";
constexpr const char* kNoMulticast = "TUTTI_MCAST=off";
// Whatever prices say: ranks that know different speeds meet all the same, and are seen to differ.
constexpr const char* kForced = "TUTTI_BCAST=binomial";
// Of the embedder's allgather, where members measure, and where all know it already.
constexpr uint32_t kMeasuring = 2;
constexpr uint32_t kKnowing = 1;

void run_allreduce(tutti_team* team, size_t words) {
    std::vector<float> data(words, 1);
    std::vector<float> sums(words);
    tutti_call call{};
    call.collective = TUTTI_ALLREDUCE;
    call.op = TUTTI_SUM;
    call.dtype = TUTTI_FLOAT;
    call.send = data.data();
    call.recv = sums.data();
    call.bytes = words * sizeof(float);
    ASSERT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
}

struct Speeds {
    explicit Speeds(size_t ranks) : latencies(ranks), rates(ranks) {}
    void note(uint32_t rank, tutti_team* team) {
        const Told info = multicast_of(team);
        latencies[rank] = info.real("message_latency_s");
        rates[rank] = info.number("message_bytes_per_s");
    }
    void expect_known() const {
        EXPECT_GT(latencies[0], 0);
        EXPECT_GT(rates[0], 0u);
        EXPECT_EQ(latencies, std::vector<double>(latencies.size(), latencies[0]));
        EXPECT_EQ(rates, std::vector<uint64_t>(rates.size(), rates[0]));
    }
    std::vector<double> latencies;
    std::vector<uint64_t> rates;
};

// All members know the same, the last of an odd number too, which measures nothing. A later team of
// these hosts does not measure, nor does one of some of them; another process's would.
TEST(Speed, OnceForASetOfHosts) {
    const Settings settings{kPriced, kNoMulticast, kForced};
    Job job(5, settings);
    Speeds first(5), second(5);
    const auto body = [](Speeds& speeds, uint32_t expected) {
        return [&speeds, expected](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
            EXPECT_EQ(multicast_of(team).number("message_bytes_per_s"), 0u);
            const uint32_t rounds = seat.round;
            run_bcast(rank, team, 2);
            EXPECT_EQ(seat.round, rounds + expected);
            run_bcast(rank, team, 2);
            EXPECT_EQ(seat.round, rounds + expected);
            speeds.note(rank, team);
        };
    };
    run_later(job, body(first, kMeasuring));
    first.expect_known();
    run_later(job, body(second, kKnowing));
    EXPECT_EQ(second.latencies, first.latencies);
    EXPECT_EQ(second.rates, first.rates);
    Job fewer(3, settings);
    for (uint32_t rank = 0; rank < 3; ++rank) fewer.contexts[rank] = std::move(job.contexts[rank]);
    Speeds third(3);
    run_later(fewer, body(third, kKnowing));
    third.expect_known();
    EXPECT_EQ(third.rates[0], first.rates[0]);
    fewer.contexts[1] = make_context(settings);
    Speeds fourth(3);
    run_later(fewer, body(fourth, kMeasuring));
    fourth.expect_known();
}

// Short calls of which prices may choose the algorithm, in a row: so many until it is measured, in
// one more.
TEST(Speed, WhenCallsComeOften) {
    run_later(3, {kNoMulticast}, [](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
        const uint32_t rounds = seat.round;
        // Their bits are not to change.
        for (int i = 0; i < 300; ++i) run_allreduce(team, 2);
        for (int i = 0; i < 256; ++i) run_bcast(rank, team, 2);
        EXPECT_EQ(seat.round, rounds);
        EXPECT_EQ(multicast_of(team).number("message_bytes_per_s"), 0u);
        run_bcast(rank, team, 2);
        EXPECT_EQ(seat.round, rounds + kMeasuring);
        EXPECT_GT(multicast_of(team).number("message_bytes_per_s"), 0u);
    });
    // Long ones sooner.
    run_later(3, {kNoMulticast}, [](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
        const uint32_t rounds = seat.round;
        for (int i = 0; i < 16; ++i) run_bcast(rank, team, size_t{1} << 18);
        EXPECT_EQ(seat.round, rounds);
        run_bcast(rank, team, size_t{1} << 18);
        EXPECT_EQ(seat.round, rounds + kMeasuring);
    });
}

// A root that has more room than is sent would count otherwise than the others.
TEST(Speed, GathersAndScattersDoNotCount) {
    run_later(3, {kNoMulticast}, [](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
        const uint32_t rounds = seat.round;
        std::vector<uint32_t> all(3 * 100);
        const std::vector<uint32_t> own(100, rank);
        tutti_call call{};
        call.collective = TUTTI_GATHER;
        call.send = own.data();
        call.recv = all.data();
        call.bytes = own.size() * sizeof(uint32_t);
        for (int i = 0; i < 300; ++i) {
            ASSERT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
        }
        for (int i = 0; i < 256; ++i) run_bcast(rank, team, 2);
        EXPECT_EQ(seat.round, rounds);
        run_bcast(rank, team, 2);
        EXPECT_EQ(seat.round, rounds + kMeasuring);
    });
}

// Where nobody asks for it, where a file has parameters of its own, and where calls are watched.
TEST(Speed, NotWhereItHasNoSay) {
    constexpr const char* kOwn =
        "TUTTI_RULES_TEXT=[parameters]\nlatency = \"1us\"\nrate = \"100gbit\"\n";
    constexpr const char* kAlone =
        "TUTTI_RULES_TEXT=built_in = false\n[[rule]]\ncollective = \"bcast\"\nalgorithm = "
        "\"binomial\"\n";
    const std::vector<Settings> all{{"TUTTI_PRICE=off"},
                                    {kPriced, kOwn},
                                    {kPriced, kAlone},
                                    {kPriced, "TUTTI_CHECK=1"},
                                    {kPriced, "TUTTI_STALL=60"}};
    for (Settings settings : all) {
        settings.push_back(kNoMulticast);
        run_later(3, settings, [](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
            const uint32_t rounds = seat.round;
            for (int i = 0; i < 300; ++i) run_bcast(rank, team, 2);
            EXPECT_EQ(seat.round, rounds);
            EXPECT_EQ(multicast_of(team).number("message_bytes_per_s"), 0u);
        });
    }
    // A preset's figures are nobody's own.
    run_later(3, {kPriced, kNoMulticast, "TUTTI_RULES_TEXT=parameters = \"ethernet-10g\"\n"},
              [](uint32_t rank, tutti_team* team, Meeting::Seat&) {
                  run_bcast(rank, team, 2);
                  EXPECT_GT(multicast_of(team).number("message_bytes_per_s"), 0u);
              });
}

// Pretended hosts are one: nothing is measured unless somebody asks for it.
TEST(Speed, NotBetweenPretendedHosts) {
    Job job(3, {"TUTTI_HOSTS=3"});
    run_later(
        job,
        [](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
            const uint32_t rounds = seat.round;
            for (int i = 0; i < 17; ++i) run_bcast(rank, team, size_t{1} << 18);
            EXPECT_EQ(seat.round, rounds);
        },
        0);
}

// What is chosen by it is right.
TEST(Speed, RandomMixed) {
    const Seeds seeds = Seeds::wanted(6);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng prng(seed);
        const auto ranks = static_cast<uint32_t>(2 + seed % 6);
        const Exchanges exchanges = draw_exchanges(prng, ranks, 40);
        Job job(ranks, {kPriced, "TUTTI_HOSTS=3:round-robin"});
        Speeds speeds(ranks);
        run_later(
            job,
            [&](uint32_t rank, tutti_team* team, Meeting::Seat&) {
                for (const auto& exchange : exchanges) {
                    const tutti_call call = exchange->call(rank);
                    ASSERT_EQ(tutti_run(team, &call), TUTTI_OK)
                        << describe(exchange->spec()) << replay(seed) << tutti_team_message(team);
                    ASSERT_EQ(exchange->check(rank), "")
                        << describe(exchange->spec()) << replay(seed);
                }
                speeds.note(rank, team);
            },
            0);
        speeds.expect_known();
        ASSERT_FALSE(HasFailure()) << replay(seed);
    }
}

// Requests have ended on every rank before a call measures.
TEST(Speed, WithRequestsUnderWay) {
    run_later(3, {kPriced, kNoMulticast}, [](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
        std::vector<uint32_t> data(2, rank == 0 ? 7 : 0);
        tutti_request request;
        const tutti_call call = bcast_of(data);
        ASSERT_EQ(tutti_request_init(&request, team, &call), TUTTI_OK);
        ASSERT_EQ(tutti_request_start(&request), TUTTI_OK);
        const uint32_t rounds = seat.round;
        run_bcast(rank, team, 2);
        EXPECT_EQ(seat.round, rounds + kMeasuring);
        EXPECT_EQ(tutti_request_wait(&request), TUTTI_OK);
        EXPECT_EQ(data, std::vector<uint32_t>(2, 7));
    });
}

// Multicast that comes later is compared with what is known.
TEST(Speed, HoldsBesideMulticast) {
    Speeds before(4), after(4);
    run_later(
        4, {kPriced, "TUTTI_MCAST_IF=lo"}, [&](uint32_t rank, tutti_team* team, Meeting::Seat&) {
            run_bcast(rank, team, size_t{1} << 18);
            before.note(rank, team);
            EXPECT_EQ(multicast_of(team).text("state"), "later");
            for (int i = 0; i < 4; ++i) run_bcast(rank, team, size_t{1} << 18);
            EXPECT_EQ(multicast_of(team).text("state"), "on") << multicast_of(team).text("reason");
            after.note(rank, team);
            run_bcast(rank, team, size_t{1} << 18);
        });
    before.expect_known();
    EXPECT_EQ(after.latencies, before.latencies);
    EXPECT_EQ(after.rates, before.rates);
}

// A member that has given up does not come: the others are not left waiting for it.
TEST(Speed, WithoutAMember) {
    run_later(3, {kPriced, kNoMulticast},
              [&](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
                  run_without_rank_one(rank, team, seat);
              });
}

// The callback fails in each round in turn: no member is left waiting, and no call runs.
TEST(Speed, WithoutAWayToAgree) {
    for (uint32_t round = 0; round < kMeasuring; ++round) {
        Meeting failing(3);
        failing.fail_from(round);
        run_later(3, {kPriced, kNoMulticast},
                  [&](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
                      seat = {&failing, rank};
                      std::vector<uint32_t> data(2);
                      const tutti_call call = bcast_of(data);
                      EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_NETWORK);
                      EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_NETWORK);
                  });
    }
}

// A message of the measurement fails: its partner, and the rank that measures nothing, hear of it.
TEST(Speed, WithoutAWayToMeasure) {
    Mailbox mailbox(3);
    Meeting meeting(3);
    constexpr size_t kLong = 16u << 10;
    Failing failing{mailbox.callbacks(0), [](size_t bytes) { return bytes >= kLong; }};
    Job job(3, {kPriced, kNoMulticast});
    run_threads(3, [&](uint32_t rank) {
        const tutti_p2p p2p = rank == 0 ? failing.callbacks() : mailbox.callbacks(rank);
        Meeting::Seat seat{};
        const Made made = make_later(job.contexts[rank].get(), meeting, rank, p2p, seat);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        std::vector<uint32_t> data(2);
        const tutti_call call = bcast_of(data);
        for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(tutti_run(made.team.get(), &call), TUTTI_ERR_NETWORK);
        }
    });
}

}  // namespace
}  // namespace tutti::test
