// SPDX-License-Identifier: BSD-3-Clause
// Teams across pretended hosts whose messages go by RDMA, over the fake, with threads as ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <functional>
#include <thread>
#include <utility>

#include "base/topo/node_topology.h"
#include "run/bootstrap/make_team.h"
#include "run/engine/context.h"
#include "run/engine/team.h"
#include "run/networks/rdma/rdma_network.h"
#include "sim/seeds.h"
#include "unit/run/engine/batch.h"
#include "unit/run/engine/fake_network.h"
#include "unit/run/engine/hosts.h"
#include "unit/run/engine/later.h"
#include "unit/run/engine/told.h"

namespace tutti::test {
namespace {

constexpr const char* kOn = "TUTTI_VERBS=on";
constexpr const char* kTails = "TUTTI_VERBS_TAIL=1";

// One context over a network; with the settings, and without multicast.
struct Cluster {
    // on_node: the job's ranks here; more than a million have no processor of their own.
    Cluster(uint32_t ranks, std::vector<const char*> settings, uint64_t seed = 1,
            uint32_t on_node = 0)
        : network(ranks, seed, std::ranges::find(settings, kTails) != settings.end()),
          hosts{ranks} {
        settings.push_back("TUTTI_MCAST=off");
        context = make_context(settings, on_node);
    }
    std::unique_ptr<engine::Context> make_context(const std::vector<const char*>& settings,
                                                  uint32_t on_node) {
        tutti_context_params params{};
        params.struct_bytes = sizeof(params);
        params.settings = settings.data();
        params.settings_count = settings.size();
        params.ranks_on_node = on_node;
        params.log = Log::write;
        params.log_user = &log;
        auto made = engine::Context::create(params);
        EXPECT_TRUE(made) << made.error().message;
        networks::rdma::network_of(made.value()->networks()).set_device(network.device());
        return std::move(made.value());
    }

    // `requests` at once; all get the team.
    TeamPtr make(uint32_t rank, uint32_t requests = 1) { return make_in(*context, rank, requests); }
    TeamPtr make_in(engine::Context& in, uint32_t rank, uint32_t requests = 1) {
        FakeNetwork::be(rank);
        const tutti_p2p p2p = hosts.mailbox.callbacks(rank);
        Meeting::Seat seat{&hosts.meeting, rank};
        tutti_team_params params = params_of(hosts.meeting, rank, seat, "the hosts", &p2p);
        params.requests = requests;
        auto made = bootstrap::make_team(in, params);
        EXPECT_TRUE(made) << made.error().message;
        return TeamPtr(made ? reinterpret_cast<tutti_team*>(made.value().release()) : nullptr);
    }
    void run(const HostsBody& body) {
        std::barrier all_done(static_cast<std::ptrdiff_t>(hosts.ranks));
        run_threads(hosts.ranks, [&](uint32_t rank) {
            const TeamPtr team = make(rank);
            EXPECT_TRUE(team);
            if (team) body(rank, team.get());
            // What is on its way by RDMA needs its sender no more. Who waits for it for 10 ms tells
            // the others, and a member that had freed the team by then would leave the note unread.
            all_done.arrive_and_wait();
        });
    }

    FakeNetwork network;
    Hosts hosts;
    Log log;
    std::unique_ptr<engine::Context> context;
};

Told verbs_of(const tutti_team* team) { return told(team, "verbs"); }

tutti_status add_up(tutti_team* team, std::vector<uint32_t>& values) {
    tutti_call call{};
    call.collective = TUTTI_ALLREDUCE;
    call.send = TUTTI_IN_PLACE;
    call.recv = values.data();
    call.bytes = values.size() * sizeof(uint32_t);
    call.dtype = TUTTI_UINT32;
    return tutti_run(team, &call);
}

// on_node: as of a Cluster. has_tails: of two ranks, as more may outnumber the processors here.
void run_random_mixed(uint64_t count, bool has_long, uint32_t on_node = 0, bool has_tails = false) {
    const Seeds seeds = Seeds::wanted(count);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng prng(seed);
        const auto ranks = static_cast<uint32_t>(has_tails ? 2 : 2 + seed % 7);
        const std::string hosts = "TUTTI_HOSTS=" + std::to_string(has_tails ? 2 : 2 + seed % 3) +
                                  (seed % 2 == 0 ? "" : ":round-robin");
        std::vector<const char*> settings{kOn, hosts.c_str(), "TUTTI_CHUNK=1K"};
        if (has_long) {
            settings.push_back(seed % 4 < 3 ? "TUTTI_VERBS_DIRECT=4K" : "TUTTI_VERBS_DIRECT=off");
        }
        if (has_tails) settings.push_back(kTails);
        Cluster cluster(ranks, settings, seed, on_node);
        const Exchanges exchanges = draw_exchanges(prng, ranks, 12);
        cluster.run([&](uint32_t rank, tutti_team* team) {
            ASSERT_EQ(verbs_of(team).text("state"), "on") << verbs_of(team).text("reason");
            EXPECT_EQ(verbs_of(team).flag("polls_tails"), has_tails && on_node == 0);
            run_all(exchanges, rank, team, hosts + replay(seed));
        });
        EXPECT_EQ(cluster.network.fault(), "") << replay(seed);
        EXPECT_EQ(cluster.hosts.mailbox.under_way(), 0u);
        ASSERT_FALSE(testing::Test::HasFailure());
    }
}

TEST(Verbs, RandomMixed) { run_random_mixed(24, true); }
TEST(Verbs, RandomMixedByTheEndsOfMessages) {
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "two processors";
    run_random_mixed(24, true, 0, true);
}

// More than are connected with all: some peers by RDMA, some not, in one call.
TEST(Verbs, InALargeTeamSomeMessagesGoAsBefore) {
    constexpr uint32_t kRanks = 27;
    Cluster cluster(kRanks, {kOn, "TUTTI_HOSTS=27", "TUTTI_GATHER=direct"});
    Prng prng(3);
    const Exchanges exchanges = draw_exchanges(prng, kRanks, 6);
    std::atomic<uint32_t> all = 0;
    cluster.run([&](uint32_t rank, tutti_team* team) {
        const Told info = verbs_of(team);
        EXPECT_EQ(info.text("state"), "on") << info.text("reason");
        EXPECT_EQ(info.text("port"), "fake:1");
        EXPECT_GT(info.number("peers"), 5u);
        EXPECT_LT(info.number("peers"), kRanks - 1);
        EXPECT_EQ(info.number("registered_bytes"), info.number("peers") * 60 * 4096);
        all += static_cast<uint32_t>(info.number("peers"));
        run_all(exchanges, rank, team, "");
    });
    EXPECT_EQ(all % 2, 0u);  // each pair has two ends
    EXPECT_EQ(cluster.network.fault(), "");
}

// Two teams of three ranks, which share a process here, register 3.3 MiB.
TEST(Verbs, RegistersNoMoreThanAllowed) {
    Cluster cluster(3, {kOn, "TUTTI_HOSTS=3", "TUTTI_VERBS_MEMORY=4M"});
    std::barrier<> all_here(3);
    cluster.run([&](uint32_t rank, tutti_team* team) {
        TeamPtr second = cluster.make(rank);
        const TeamPtr third = cluster.make(rank);
        EXPECT_EQ(verbs_of(team).text("state"), "on");
        EXPECT_EQ(verbs_of(second.get()).text("state"), "on");
        EXPECT_EQ(verbs_of(third.get()).text("state"), "off");
        EXPECT_TRUE(verbs_of(third.get()).text("reason").find("TUTTI_VERBS_MEMORY") !=
                    std::string::npos)
            << verbs_of(third.get()).text("reason");
        std::vector<uint32_t> values(500, 1);
        for (tutti_team* one : {team, second.get(), third.get()}) {
            EXPECT_EQ(add_up(one, values), TUTTI_OK);
        }
        EXPECT_EQ(values, std::vector<uint32_t>(500, 27));
        second.reset();
        all_here.arrive_and_wait();
        // What it has sent is acknowledged some time.
        TeamPtr fourth;
        do fourth = cluster.make(rank);
        while (verbs_of(fourth.get()).text("state") != "on");
    });
    EXPECT_EQ(cluster.network.fault(), "");
}

// The messages of calls go by RDMA alone where all are connected with all.
TEST(Verbs, NoMessageOfACallGoesAsBefore) {
    Cluster cluster(3, {kOn, "TUTTI_HOSTS=3", "TUTTI_ALLREDUCE=ring"});
    std::barrier<> all_here(3);
    cluster.run([&](uint32_t, tutti_team* team) {
        all_here.arrive_and_wait();
        const uint64_t before = cluster.network.writes();
        all_here.arrive_and_wait();
        std::vector<uint32_t> values(20'000, 1);
        ASSERT_EQ(add_up(team, values), TUTTI_OK) << tutti_team_message(team);
        EXPECT_EQ(values[19'999], 3u);
        all_here.arrive_and_wait();
        // 4 rounds of 26,667 bytes on each rank: first 4,056 bytes of data, then 20,440 at most.
        EXPECT_GE(cluster.network.writes() - before, 3u * 4 * 3);
    });
}

tutti_status meet(tutti_team* team) {
    tutti_call call{};
    call.collective = TUTTI_BARRIER;
    return tutti_run(team, &call);
}

// Nobody leaves before all have come; each host but the first adds once a call. Those who look at
// their counter do not sleep meanwhile, also where their host is crowded.
TEST(Verbs, ABarrierByACounterIsAnAdditionOfEachHost) {
    constexpr uint32_t kCalls = 200;
    for (const uint32_t on_node : {0u, 2'000'000u}) {
        for (const uint32_t hosts : {6u, 3u}) {
            const std::string named = "TUTTI_HOSTS=" + std::to_string(hosts);
            Cluster cluster(6, {kOn, named.c_str(), "TUTTI_BARRIER=counter"}, 1, on_node);
            std::atomic<uint32_t> come = 0;
            std::atomic<uint64_t> told = 0;
            cluster.run([&](uint32_t rank, tutti_team* team) {
                for (uint32_t i = 1; i <= kCalls; ++i) {
                    ++come;
                    ASSERT_EQ(meet(team), TUTTI_OK) << tutti_team_message(team);
                    ASSERT_GE(come, 6 * i);
                }
                const uint64_t additions = verbs_of(team).number("additions");
                EXPECT_TRUE(rank != 0 || additions == uint64_t{hosts - 1} * kCalls) << additions;
                told += additions;
            });
            EXPECT_EQ(cluster.network.adds(), uint64_t{hosts - 1} * kCalls);
            EXPECT_EQ(told, 2 * cluster.network.adds());  // by both ends
            EXPECT_EQ(cluster.network.fault(), "");
        }
    }
}

// The counter shows that somebody does, and notes who, and what.
TEST(Verbs, WhoIsCountedAndRunsAnotherCallIsNamed) {
    Cluster cluster(4, {kOn, "TUTTI_HOSTS=4", "TUTTI_BARRIER=counter"});
    cluster.run([&](uint32_t rank, tutti_team* team) {
        ASSERT_EQ(meet(team), TUTTI_OK) << tutti_team_message(team);
        if (rank == 2) {
            tutti_call call{};
            call.collective = TUTTI_BCAST;
            ASSERT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
        }
        EXPECT_EQ(meet(team), TUTTI_ERR_MISMATCH);
        // Whoever of the two hears of the other's calls first says so.
        const std::string message = tutti_team_message(team);
        const bool is_by_either =
            message.ends_with("rank 2: call 2 is bcast root 0 of 0 bytes, on rank 0 barrier") ||
            message.ends_with("rank 0: call 2 is barrier, on rank 2 bcast root 0 of 0 bytes");
        EXPECT_TRUE(is_by_either) << message;
    });
    EXPECT_EQ(cluster.network.fault(), "");
}

TEST(Verbs, WhoIsAwaitedAtACounterAndDiesIsNamed) {
    Cluster cluster(3, {kOn, "TUTTI_HOSTS=3", "TUTTI_BARRIER=counter"});
    cluster.run([&](uint32_t rank, tutti_team* team) {
        ASSERT_EQ(meet(team), TUTTI_OK) << tutti_team_message(team);
        if (rank == 1) cluster.network.cut(1);
        tutti_status status = TUTTI_OK;
        for (int i = 0; i < 3 && status == TUTTI_OK; ++i) status = meet(team);
        EXPECT_EQ(status, TUTTI_ERR_NETWORK);
        EXPECT_NE(std::string(tutti_team_message(team)).find("RDMA to rank "), std::string::npos);
    });
}

// Ranks with contexts of their own, RDMA and multicast.
struct BothJob : Job {
    BothJob(uint32_t size, Settings settings, uint64_t seed)
        : Job(size, with_both(std::move(settings))), network(size, seed) {
        for (const ContextPtr& context : contexts) {
            networks::rdma::network_of(context_of(context).networks()).set_device(network.device());
        }
    }
    // The handle of the C interface begins with it.
    static engine::Context& context_of(const ContextPtr& context) {
        return **reinterpret_cast<std::unique_ptr<engine::Context>*>(context.get());
    }
    ~BothJob() { contexts.clear(); }
    BothJob(const BothJob&) = delete;
    BothJob& operator=(const BothJob&) = delete;
    static Settings with_both(Settings settings) {
        settings.insert(settings.end(), {kOn, "TUTTI_MCAST=on", "TUTTI_MCAST_IF=lo",
                                         "TUTTI_BARRIER=adaptive_counter"});
        return settings;
    }
    void run(const HostsBody& body) {
        std::barrier all_done(static_cast<std::ptrdiff_t>(ranks));
        Meeting meeting(ranks);
        Mailbox& mailbox = add_mailbox();
        run_threads(ranks, [&](uint32_t rank) {
            FakeNetwork::be(rank);
            const tutti_p2p p2p = mailbox.callbacks(rank);
            const Made made = make_team(contexts[rank].get(), meeting, rank, "the crew", &p2p);
            EXPECT_EQ(made.status, TUTTI_OK) << made.message;
            if (made.team) body(rank, made.team.get());
            all_done.arrive_and_wait();
        });
    }

    FakeNetwork network;
};

// Each adds once a call, rank 0 as well. Who has waited for long looks besides, which is no
// addition; one is awaited by all now and then.
TEST(Verbs, WhoeverIsLastByTheWordReleasesAll) {
    constexpr uint32_t kCalls = 100;
    for (const uint32_t ranks : {2u, 5u}) {
        const std::string hosts = "TUTTI_HOSTS=" + std::to_string(ranks);
        BothJob job(ranks, {hosts.c_str()}, ranks);
        std::atomic<uint32_t> come = 0;
        job.run([&](uint32_t rank, tutti_team* team) {
            ASSERT_EQ(multicast_of(team).text("state"), "on") << multicast_of(team).text("reason");
            for (uint32_t i = 1; i <= kCalls; ++i) {
                if (i % 8 == 0 && rank == i / 8 % ranks) {
                    for (int turn = 0; turn < 200; ++turn) sched_yield();
                }
                ++come;
                ASSERT_EQ(meet(team), TUTTI_OK) << tutti_team_message(team);
                ASSERT_GE(come, ranks * i);
                ASSERT_STREQ(tutti_team_ran(team), "adaptive_counter");
            }
            const Told info = verbs_of(team);
            EXPECT_EQ(info.number("additions"), kCalls);
            EXPECT_EQ(info.number("peers"), ranks - 1);
            EXPECT_EQ(info.number("registered_bytes"),
                      (ranks - (rank == 0 ? 0 : 1)) * uint64_t{60} * 4096);
        });
        EXPECT_GE(job.network.adds(), uint64_t{ranks} * kCalls);
        EXPECT_EQ(job.network.fault(), "");
    }
}

// Where a group fails, all ranks find whether anybody has the release. Each call by the word has an
// addition of each, also the last one, which may have been released by messages. The last rank
// fails it by the packets that it has got, so not while it always is the one that releases.
TEST(Verbs, CallsByTheWordGoOnWhereMulticastFails) {
    std::atomic<uint64_t> all_by_word = 0;  // there may be none before the first has failed
    for (const char* faults : {"TUTTI_FAULTS=fail:27", "TUTTI_FAULTS=fail:90"}) {
        BothJob job(4, {"TUTTI_HOSTS=4", faults}, 6);
        std::atomic<uint32_t> come = 0;
        std::atomic<uint64_t> added = 0;
        job.run([&](uint32_t, tutti_team* team) {
            uint64_t by_word = 0;
            for (uint32_t i = 1; i < by_word + 20; ++i) {
                ++come;
                ASSERT_EQ(meet(team), TUTTI_OK) << tutti_team_message(team);
                ASSERT_GE(come, 4 * i);
                const std::string ran = tutti_team_ran(team);
                by_word += ran == "adaptive_counter" ? 1 : 0;
            }
            all_by_word += by_word;
            EXPECT_LE(by_word, verbs_of(team).number("additions"));
            added += verbs_of(team).number("additions");
        });
        EXPECT_EQ(added % 4, 0u) << "by all alike";
        EXPECT_EQ(job.network.fault(), "");
    }
    EXPECT_GT(all_by_word, 0u);
}

// Of several ranks a host there is no word: they leave each other letters, and the tops messages.
// Nor where rank 0 has found that its port does not reach itself.
void run_without_word(bool reaches_itself) {
    BothJob job(4, {reaches_itself ? "TUTTI_HOSTS=2" : "TUTTI_HOSTS=4"}, 3);
    networks::rdma::network_of(BothJob::context_of(job.contexts[0]).networks()).reaches_itself() =
        reaches_itself;
    job.run([&](uint32_t, tutti_team* team) {
        for (uint32_t i = 0; i < 20; ++i) {
            ASSERT_EQ(meet(team), TUTTI_OK) << tutti_team_message(team);
            ASSERT_STREQ(tutti_team_ran(team), "adaptive_counter");
        }
        EXPECT_EQ(verbs_of(team).number("additions"), 0u);
    });
    EXPECT_EQ(job.network.adds(), 0u);
    EXPECT_EQ(job.network.fault(), "");
}

TEST(Verbs, WithoutAWordTheSameGoesByMessages) { run_without_word(true); }
TEST(Verbs, WhereAPortDoesNotReachItselfThereIsNoWord) { run_without_word(false); }

TEST(Verbs, WhoComesByTheWordAndRunsAnotherCallIsNamed) {
    BothJob job(3, {"TUTTI_HOSTS=3"}, 4);
    job.run([&](uint32_t rank, tutti_team* team) {
        ASSERT_EQ(meet(team), TUTTI_OK) << tutti_team_message(team);
        if (rank == 2) {
            tutti_call call{};
            call.collective = TUTTI_BCAST;
            ASSERT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
        }
        EXPECT_EQ(meet(team), TUTTI_ERR_MISMATCH);
        const std::string message = tutti_team_message(team);
        EXPECT_NE(message.find("bcast root 0 of 0 bytes"), std::string::npos) << message;
    });
    EXPECT_EQ(job.network.fault(), "");
}

// A device that nothing reaches any more: who adds to its word fails, and so do all.
TEST(Verbs, WhoHasTheWordAndDiesIsNamed) {
    BothJob job(3, {"TUTTI_HOSTS=3"}, 5);
    job.run([&](uint32_t rank, tutti_team* team) {
        ASSERT_EQ(meet(team), TUTTI_OK) << tutti_team_message(team);
        if (rank == 0) job.network.cut(0);
        tutti_status status = TUTTI_OK;
        for (int i = 0; i < 3 && status == TUTTI_OK; ++i) status = meet(team);
        EXPECT_EQ(status, TUTTI_ERR_NETWORK);
        EXPECT_NE(std::string(tutti_team_message(team)).find("RDMA to rank 0 failed"),
                  std::string::npos)
            << tutti_team_message(team);
    });
}

// Long blocks go from memory to memory, but for what ranks fold; nothing stays registered.
TEST(Verbs, LongBlocksAreNotCopied) {
    for (const char* how : {"TUTTI_ALLREDUCE=ring", "TUTTI_ALLREDUCE=rabenseifner"}) {
        Cluster cluster(4, {kOn, "TUTTI_HOSTS=4", how, "TUTTI_VERBS_DIRECT=64K"});
        std::barrier<> all_here(4);
        cluster.run([&](uint32_t, tutti_team* team) {
            all_here.arrive_and_wait();
            const uint64_t before = cluster.network.slot_bytes();
            all_here.arrive_and_wait();
            std::vector<uint32_t> values(size_t{1} << 18, 1);
            ASSERT_EQ(add_up(team, values), TUTTI_OK) << tutti_team_message(team);
            EXPECT_EQ(std::ranges::count(values, 4u), 1 << 18);
            all_here.arrive_and_wait();
            // Of 1 MiB, each rank sends and gets 1.5 MiB. What is told of it takes some bytes.
            EXPECT_LT(cluster.network.slot_bytes() - before, 20'000u);
            EXPECT_GT(verbs_of(team).number("long_messages"), 1u);
            EXPECT_EQ(verbs_of(team).number("long_copied"), 0u);
            all_here.arrive_and_wait();
        });
        EXPECT_EQ(cluster.network.exposed(), 0u);
        EXPECT_EQ(cluster.network.fault(), "");
    }
}

// Of 256 KiB each rank sends six blocks of 64 KiB, and registers its scratch once, and for each
// call its buffer, to be sent from and to be written to.
TEST(Verbs, BlocksAreRegisteredOnceForTheirCall) {
    Cluster cluster(4, {kOn, "TUTTI_HOSTS=4", "TUTTI_ALLREDUCE=ring", "TUTTI_VERBS_DIRECT=64K"});
    std::barrier<> all_here(4);
    cluster.run([&](uint32_t rank, tutti_team* team) {
        for (int call = 0; call < 3; ++call) {
            all_here.arrive_and_wait();
            const uint64_t copied = cluster.network.slot_bytes();
            const uint64_t writes = cluster.network.writes();
            const uint64_t exposures = cluster.network.exposures();
            all_here.arrive_and_wait();
            std::vector<uint32_t> values(size_t{1} << 16, 1);
            ASSERT_EQ(add_up(team, values), TUTTI_OK) << tutti_team_message(team);
            EXPECT_EQ(std::ranges::count(values, 4u), 1 << 16);
            all_here.arrive_and_wait();
            if (rank != 0) continue;
            // An announcement, an offer, a write and an end of each block.
            EXPECT_EQ(cluster.network.writes() - writes, 4u * 6 * 4);
            EXPECT_LT(cluster.network.slot_bytes() - copied, 4u * 6 * 200);
            EXPECT_EQ(cluster.network.exposures() - exposures, 4u * (call == 0 ? 3 : 2));
        }
        all_here.arrive_and_wait();
    });
    EXPECT_EQ(cluster.network.exposed(), 0u);
    EXPECT_EQ(cluster.network.fault(), "");
}

TEST(Verbs, OffUnlessAskedFor) {
    for (const char* choice : {"TUTTI_VERBS=off", "TUTTI_VERBS=auto"}) {
        Cluster cluster(2, {choice, "TUTTI_HOSTS=2"});
        cluster.run([&](uint32_t, tutti_team* team) {
            EXPECT_EQ(verbs_of(team).text("state"), "");
            std::vector<uint32_t> values(10, 1);
            ASSERT_EQ(add_up(team, values), TUTTI_OK);
        });
        EXPECT_EQ(cluster.network.made(), 0);
    }
}

// Whatever is wrong, and with whom: all ranks go without, and say the same.
void expect_without(Cluster& cluster, const std::string& reason) {
    cluster.run([&](uint32_t, tutti_team* team) {
        const Told info = verbs_of(team);
        EXPECT_EQ(info.text("state"), "off");
        EXPECT_EQ(info.text("reason").substr(0, reason.size()), reason);
        EXPECT_EQ(info.number("peers"), 0u);
        std::vector<uint32_t> values(3000, 1);
        ASSERT_EQ(add_up(team, values), TUTTI_OK) << tutti_team_message(team);
        EXPECT_EQ(values[2999], cluster.hosts.ranks);
    });
    EXPECT_EQ(cluster.network.endpoints(), 0);
    const auto lines = cluster.log.lines();
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].substr(0, 23 + reason.size()), "the hosts has no RDMA: " + reason);
}

TEST(Verbs, AProbeThatFailsOnOneRankKeepsAllFromIt) {
    for (const uint32_t gone : {0u, 2u}) {
        Cluster cluster(4, {kOn, "TUTTI_HOSTS=4"});
        cluster.network.cut(gone);
        // By the first that has something to say.
        expect_without(cluster, "rank 0: RDMA to rank ");
    }
}

TEST(Verbs, AMemberWithoutMemoryKeepsAllFromIt) {
    Cluster cluster(4, {kOn, "TUTTI_HOSTS=2"});
    cluster.network.refuse(3);
    expect_without(cluster, "rank 3: memory cannot be registered");
}

// A queue pair that fails in a call ends the team everywhere, and the message says who is gone.
TEST(Verbs, APeerThatIsGoneIsAnErrorOnAll) {
    for (const bool is_large : {false, true}) {
        Cluster cluster(4, {kOn, "TUTTI_HOSTS=4"});
        std::barrier<> all_here(4);
        std::atomic<int> named = 0;
        cluster.run([&](uint32_t rank, tutti_team* team) {
            std::vector<uint32_t> values(is_large ? 100'000 : 4, 1);
            ASSERT_EQ(add_up(team, values), TUTTI_OK) << tutti_team_message(team);
            all_here.arrive_and_wait();
            if (rank == 2) cluster.network.cut(2);
            all_here.arrive_and_wait();
            // What was posted may arrive, so one call more may end well.
            tutti_status status = TUTTI_OK;
            for (int i = 0; i < 3 && status == TUTTI_OK; ++i) status = add_up(team, values);
            EXPECT_EQ(status, TUTTI_ERR_NETWORK);
            const std::string message = tutti_team_message(team);
            named += message.find("RDMA to rank ") != std::string::npos ? 1 : 0;
            // It stays so.
            EXPECT_EQ(add_up(team, values), TUTTI_ERR_NETWORK);
        });
        EXPECT_EQ(named, 4);
        EXPECT_EQ(cluster.network.fault(), "");
    }
}

// It dies while all are within the call.
TEST(Verbs, APeerThatDiesInACallIsAnErrorOnAll) {
    Cluster cluster(3, {kOn, "TUTTI_HOSTS=3"});
    std::atomic<uint32_t> calls = 0;
    std::thread killer([&] {
        while (calls < 30) std::this_thread::yield();
        cluster.network.cut(1);
    });
    // A device may still read what was being sent when its team failed.
    std::array<std::vector<uint32_t>, 3> values;
    values.fill(std::vector<uint32_t>(50'000, 1));
    cluster.run([&](uint32_t rank, tutti_team* team) {
        tutti_status status = TUTTI_OK;
        while (status == TUTTI_OK) {
            status = add_up(team, values[rank]);
            ++calls;
        }
        EXPECT_EQ(status, TUTTI_ERR_NETWORK);
        EXPECT_NE(std::string(tutti_team_message(team)).find("RDMA to rank "), std::string::npos);
    });
    killer.join();
}

// Teams of a process that take turns, each rank with a context of its own, as in an MPI program.
struct Turns {
    explicit Turns(uint32_t ranks) : cluster(ranks, {}) {
        const std::string count = "TUTTI_HOSTS=" + std::to_string(ranks);
        const std::vector<const char*> settings{kOn, count.c_str(), "TUTTI_MCAST=off"};
        for (uint32_t i = 0; i < ranks; ++i) contexts.push_back(cluster.make_context(settings, 0));
    }
    // Of these, of which rank is one.
    TeamPtr make(uint32_t rank, Hosts& hosts, const std::vector<uint32_t>& members) {
        FakeNetwork::be(rank);
        const auto own = static_cast<uint32_t>(std::ranges::find(members, rank) - members.begin());
        const tutti_p2p p2p = hosts.mailbox.callbacks(own);
        Meeting::Seat seat{&hosts.meeting, own};
        tutti_team_params params = params_of(hosts.meeting, own, seat, "a team", &p2p);
        params.in_turn = 1;
        auto made = bootstrap::make_team(*contexts[rank], params);
        EXPECT_TRUE(made) << made.error().message;
        return TeamPtr(made ? reinterpret_cast<tutti_team*>(made.value().release()) : nullptr);
    }

    Cluster cluster;
    std::vector<std::unique_ptr<engine::Context>> contexts;
};

std::vector<std::unique_ptr<Hosts>> hosts_of(const std::vector<std::vector<uint32_t>>& sets) {
    std::vector<std::unique_ptr<Hosts>> hosts;
    for (const auto& set : sets) {
        hosts.push_back(std::unique_ptr<Hosts>(new Hosts{static_cast<uint32_t>(set.size())}));
    }
    return hosts;
}

// Copies, halves and pairs of a first team go by its connections, and make none of their own.
TEST(VerbsSharing, TeamsOfTheSameProcessesShareConnections) {
    constexpr uint32_t kRanks = 4;
    Turns turns(kRanks);
    const std::vector<std::vector<uint32_t>> sets{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 2}, {1, 3},
                                                  {0, 1, 3},    {3, 1, 0, 2}, {3, 2}};
    const auto hosts = hosts_of(sets);
    std::barrier all_done(kRanks);
    run_threads(kRanks, [&](uint32_t rank) {
        std::vector<TeamPtr> teams;
        for (size_t i = 0; i < sets.size(); ++i) {
            if (std::ranges::find(sets[i], rank) == sets[i].end()) continue;
            TeamPtr team = turns.make(rank, *hosts[i], sets[i]);
            ASSERT_TRUE(team);
            const Told info = verbs_of(team.get());
            ASSERT_EQ(info.text("state"), "on") << info.text("reason");
            EXPECT_EQ(info.number("sharing"), i == 0 ? 0u : 1u) << i;
            EXPECT_EQ(info.number("registered_bytes") == 0, i != 0);
            EXPECT_EQ(info.number("peers"), sets[i].size() - 1);
            teams.push_back(std::move(team));
        }
        // Long ones too; in the order in which all have them.
        for (const size_t count : {1u, 2000u, 100'000u}) {
            for (const TeamPtr& team : teams) {
                std::vector<uint32_t> values(count, 1);
                ASSERT_EQ(add_up(team.get(), values), TUTTI_OK) << tutti_team_message(team.get());
                ASSERT_EQ(values[count - 1], tutti_team_size(team.get()));
            }
        }
        all_done.arrive_and_wait();  // who was late has told the others, who read that in a call
    });
    EXPECT_EQ(turns.cluster.network.made(), kRanks);
    for (const auto& one : hosts) EXPECT_EQ(one->mailbox.under_way(), 0u);
    EXPECT_EQ(turns.cluster.network.fault(), "");
}

// A team whose processes are not all connected has connections of its own, which later ones share.
TEST(VerbsSharing, WhoIsNotConnectedConnects) {
    Turns turns(3);
    const std::vector<std::vector<uint32_t>> sets{{0, 1}, {0, 1, 2}, {1, 2}, {0, 1}};
    const std::vector<uint32_t> shares{0, 0, 1, 1};
    const auto hosts = hosts_of(sets);
    run_threads(3, [&](uint32_t rank) {
        std::vector<TeamPtr> teams;
        for (size_t i = 0; i < sets.size(); ++i) {
            if (std::ranges::find(sets[i], rank) == sets[i].end()) continue;
            teams.push_back(turns.make(rank, *hosts[i], sets[i]));
            ASSERT_TRUE(teams.back());
            EXPECT_EQ(verbs_of(teams.back().get()).number("sharing"), shares[i]) << i;
            std::vector<uint32_t> values(100, 1);
            ASSERT_EQ(add_up(teams.back().get(), values), TUTTI_OK);
        }
    });
    EXPECT_EQ(turns.cluster.network.made(), 5);
}

// A thousand, one after the other, beside one that stays.
TEST(VerbsSharing, AThousandTeams) {
    Turns turns(2);
    const std::vector<uint32_t> all{0, 1};
    constexpr int kTeams = 1000;
    const auto hosts = hosts_of(std::vector(kTeams + 1, all));
    run_threads(2, [&](uint32_t rank) {
        const TeamPtr first = turns.make(rank, *hosts[kTeams], all);
        ASSERT_TRUE(first);
        for (int i = 0; i < kTeams; ++i) {
            const TeamPtr team = turns.make(rank, *hosts[i], all);
            ASSERT_TRUE(team);
            std::vector<uint32_t> values(1 + i % 3 * 1000, 1);
            ASSERT_EQ(add_up(team.get(), values), TUTTI_OK) << tutti_team_message(team.get());
            ASSERT_EQ(values[0], 2u);
        }
        std::vector<uint32_t> values(1, 1);
        ASSERT_EQ(add_up(first.get(), values), TUTTI_OK);
    });
    EXPECT_EQ(turns.cluster.network.made(), 2);
    EXPECT_EQ(turns.cluster.network.fault(), "");
}

// A larger team takes nothing with it that a smaller one which shares its connections keeps, and
// leaves nothing to a process that the smaller one has not.
TEST(VerbsSharing, WhatALargerTeamHadGoesWithIt) {
    Turns turns(3);
    constexpr int kRounds = 6;
    const auto larger = hosts_of(std::vector(kRounds, std::vector<uint32_t>{0, 1, 2}));
    const auto smaller = hosts_of(std::vector(kRounds, std::vector<uint32_t>{0, 2}));
    std::barrier all_done(3);
    std::atomic<int> less = 0;
    run_threads(3, [&](uint32_t rank) {
        std::vector<TeamPtr> teams;
        uint64_t bytes = 0;
        std::vector<uint32_t> values(100, 1);
        const auto taken = [&] {
            return networks::rdma::network_of(turns.contexts[rank]->networks()).memory().taken();
        };
        for (int i = 0; i < kRounds; ++i) {
            const TeamPtr team = turns.make(rank, *larger[i], {0, 1, 2});
            ASSERT_TRUE(team);
            if (i == 0) bytes = taken();
            if (rank != 1) teams.push_back(turns.make(rank, *smaller[i], {0, 2}));
            ASSERT_EQ(add_up(team.get(), values), TUTTI_OK);
            all_done.arrive_and_wait();
        }
        EXPECT_GT(bytes, 0u);
        const uint64_t expected = rank == 1 ? 0 : bytes;
        bool is_less = false;
        for (int i = 0; i < 5'000'000 && less != 3; ++i) {
            turns.contexts[rank]->remnants().tidy();
            if (!is_less && taken() == expected) ++less;
            is_less |= taken() == expected;
            std::this_thread::yield();
        }
        EXPECT_EQ(taken(), expected);
        all_done.arrive_and_wait();
    });
    EXPECT_EQ(turns.cluster.network.fault(), "");
}

// More at a time than links have numbers: then there are more links, which share in turn.
TEST(VerbsSharing, MoreTeamsThanNumbersHaveLinksOfTheirOwn) {
    Turns turns(2);
    const std::vector<uint32_t> all{0, 1};
    constexpr int kTeams = 300;
    const auto hosts = hosts_of(std::vector(kTeams, all));
    run_threads(2, [&](uint32_t rank) {
        std::vector<TeamPtr> teams;
        for (int i = 0; i < kTeams; ++i) {
            teams.push_back(turns.make(rank, *hosts[i], all));
            ASSERT_TRUE(teams.back());
        }
        for (const TeamPtr& team : teams) {
            std::vector<uint32_t> values(1, 1);
            ASSERT_EQ(add_up(team.get(), values), TUTTI_OK) << tutti_team_message(team.get());
        }
    });
    EXPECT_EQ(turns.cluster.network.made(), 4);
    EXPECT_EQ(turns.cluster.network.fault(), "");
}

// A process that dies is an error in every team that it is in, each in its own call; a team without
// it goes on.
TEST(VerbsSharing, APeerThatDiesFailsAllItsTeams) {
    Turns turns(3);
    const std::vector<std::vector<uint32_t>> sets{{0, 1, 2}, {0, 1, 2}, {0, 2}};
    const auto hosts = hosts_of(sets);
    std::barrier all_made(3);
    run_threads(3, [&](uint32_t rank) {
        std::vector<TeamPtr> teams;
        for (size_t i = 0; i < sets.size(); ++i) {
            if (std::ranges::find(sets[i], rank) == sets[i].end()) continue;
            teams.push_back(turns.make(rank, *hosts[i], sets[i]));
            ASSERT_TRUE(teams.back());
        }
        all_made.arrive_and_wait();
        if (rank == 1) turns.cluster.network.cut(1);
        for (size_t i = 0; i < 2; ++i) {
            std::vector<uint32_t> values(4, 1);
            tutti_status status = TUTTI_OK;
            for (int n = 0; n < 3 && status == TUTTI_OK; ++n)
                status = add_up(teams[i].get(), values);
            EXPECT_EQ(status, TUTTI_ERR_NETWORK);
            EXPECT_NE(std::string(tutti_team_message(teams[i].get())).find("RDMA to rank "),
                      std::string::npos);
        }
        if (rank == 1) return;
        std::vector<uint32_t> values(4, 1);
        EXPECT_EQ(add_up(teams[2].get(), values), TUTTI_OK) << tutti_team_message(teams[2].get());
        EXPECT_EQ(values[0], 2u);
    });
}

// Not even what a member was sending when another one died.
TEST(Verbs, AFailedTeamKeepsNoMemoryOnceItIsFreed) {
    for (int i = 0; i < 12; ++i) {
        Cluster cluster(3, {kOn, "TUTTI_HOSTS=3", "TUTTI_VERBS_DIRECT=4K"});
        std::atomic<uint32_t> calls = 0;
        std::thread killer([&] {
            while (calls < 8) std::this_thread::yield();
            cluster.network.cut(1);
        });
        std::array<std::vector<uint32_t>, 3> values;  // outlive the teams, as above
        values.fill(std::vector<uint32_t>(50'000, 1));
        cluster.run([&](uint32_t rank, tutti_team* team) {
            while (add_up(team, values[rank]) == TUTTI_OK) ++calls;
        });
        killer.join();
        EXPECT_EQ(cluster.network.exposed(), 0u);
        EXPECT_EQ(cluster.network.fault(), "");
    }
}

// Freed teams go once both ends have said that they send no more; nothing is left behind.
TEST(Verbs, FreedTeamsLeaveNothing) {
    Cluster cluster(4, {kOn, "TUTTI_HOSTS=2"});
    std::barrier all_done(4);  // as in Cluster::run(): no note is left unread
    run_threads(4, [&](uint32_t rank) {
        for (int i = 0; i < 20; ++i) {
            const TeamPtr team = cluster.make(rank);
            ASSERT_TRUE(team);
            std::vector<uint32_t> values(2000, 1);
            ASSERT_EQ(add_up(team.get(), values), TUTTI_OK) << tutti_team_message(team.get());
            all_done.arrive_and_wait();
        }
    });
    EXPECT_EQ(cluster.network.made(), 80);
    for (int i = 0; i < 100'000 && cluster.network.endpoints() > 0; ++i)
        cluster.context->remnants().tidy();
    EXPECT_EQ(cluster.network.endpoints(), 0);
    EXPECT_EQ(cluster.network.fault(), "");
}

// At the end of the context a peer that is gone holds up nobody for good.
TEST(Verbs, TheContextEndsThoughAPeerIsGone) {
    Cluster cluster(2, {kOn, "TUTTI_HOSTS=2"});
    std::barrier<> both(2);
    cluster.run([&](uint32_t rank, tutti_team* team) {
        std::vector<uint32_t> values(2000, 1);
        ASSERT_EQ(add_up(team, values), TUTTI_OK);
        both.arrive_and_wait();
        if (rank == 0) cluster.network.cut(1);
        both.arrive_and_wait();
    });
    cluster.context.reset();
    EXPECT_EQ(cluster.network.endpoints(), 0);
}

// Several calls at once, on one set of connections.
TEST(Verbs, RequestsAtOnce) {
    Cluster cluster(3, {kOn, "TUTTI_HOSTS=3"});
    std::barrier all_have(3);
    run_threads(3, [&](uint32_t rank) {
        const TeamPtr team = cluster.make(rank, 2);
        ASSERT_TRUE(team);
        EXPECT_EQ(cluster.network.endpoints(), 3);
        std::vector<std::vector<uint32_t>> values(4, std::vector<uint32_t>(3000, 1));
        std::vector<tutti_request> requests(4);
        for (size_t i = 0; i < 4; ++i) {
            tutti_call call{};
            call.collective = TUTTI_ALLREDUCE;
            call.send = TUTTI_IN_PLACE;
            call.recv = values[i].data();
            call.bytes = values[i].size() * sizeof(uint32_t);
            call.dtype = TUTTI_UINT32;
            ASSERT_EQ(tutti_request_init(&requests[i], team.get(), &call), TUTTI_OK);
            ASSERT_EQ(tutti_request_start(&requests[i]), TUTTI_OK);
        }
        for (size_t i = 4; i-- > 0;) {
            ASSERT_EQ(tutti_request_wait(&requests[i]), TUTTI_OK);
            EXPECT_EQ(values[i][2999], 3u);
        }
        all_have.arrive_and_wait();
    });
    EXPECT_EQ(cluster.network.fault(), "");
}

TEST(Verbs, RandomRequestsAtOnce) {
    for_each_seed(100, [](uint64_t seed) {
        Prng prng(seed);
        const auto ranks = static_cast<uint32_t>(2 + prng.below(4));
        const auto requests = static_cast<uint32_t>(2 + prng.below(4));
        const std::string hosts = "TUTTI_HOSTS=" + std::to_string(2 + prng.below(ranks - 1));
        const char* const direct =
            prng.below(4) < 3 ? "TUTTI_VERBS_DIRECT=4K" : "TUTTI_VERBS_DIRECT=off";
        Cluster cluster(ranks, {kOn, hosts.c_str(), "TUTTI_CHUNK=1K", direct}, seed);
        const Exchanges exchanges = draw_exchanges(prng, ranks, 12);
        std::barrier all_done(static_cast<std::ptrdiff_t>(ranks));
        run_threads(ranks, [&](uint32_t rank) {
            const TeamPtr team = cluster.make(rank, requests);
            ASSERT_TRUE(team);
            EXPECT_EQ(verbs_of(team.get()).text("state"), "on");
            Batch({team.get()}, exchanges, rank, seed).run();
            all_done.arrive_and_wait();
        });
        EXPECT_EQ(cluster.network.fault(), "");
        EXPECT_EQ(cluster.hosts.mailbox.under_way(), 0u);
    });
}

// ---- ranks that outnumber processors -----------------------------------------------------------

constexpr uint32_t kCrowd = 2'000'000;

TEST(VerbsSleep, RandomMixed) { run_random_mixed(12, false, kCrowd); }
// Who sleeps for completions gets them, whatever is set.
TEST(VerbsSleep, RandomMixedWhereTheEndsOfMessagesAreWanted) {
    run_random_mixed(4, false, kCrowd, true);
}

// Rank 0 comes once all others have been about to sleep, several times over; the messages that come
// then wake them.
TEST(VerbsSleep, WhoWaitsForAMessageSleepsAndIsWoken) {
    constexpr uint32_t kRanks = 5;
    Cluster cluster(kRanks, {kOn, "TUTTI_HOSTS=5"}, 1, kCrowd);
    cluster.run([&](uint32_t rank, tutti_team* team) {
        for (int turn = 0; turn < 20; ++turn) {
            const uint64_t wanted = cluster.network.arms() + 20;
            while (rank == 0 && cluster.network.arms() < wanted) std::this_thread::yield();
            std::vector<uint32_t> values(turn % 2 == 0 ? 4 : 20'000, 1);
            ASSERT_EQ(add_up(team, values), TUTTI_OK) << tutti_team_message(team);
            ASSERT_EQ(values.back(), kRanks);
        }
    });
    EXPECT_GE(cluster.network.arms(), 400u);
    EXPECT_GE(cluster.network.tells(), 20u);
    EXPECT_EQ(cluster.network.fault(), "");
}

// Whoever waits for one of those as well must let the embedder bring it.
TEST(VerbsSleep, InALargeTeamSomeMessagesGoAsBefore) {
    constexpr uint32_t kRanks = 27;
    Cluster cluster(kRanks, {kOn, "TUTTI_HOSTS=27", "TUTTI_GATHER=direct"}, 1, kCrowd);
    Prng prng(3);
    const Exchanges exchanges = draw_exchanges(prng, kRanks, 4);
    cluster.run([&](uint32_t rank, tutti_team* team) { run_all(exchanges, rank, team, ""); });
    EXPECT_EQ(cluster.network.fault(), "");
    EXPECT_EQ(cluster.hosts.mailbox.under_way(), 0u);
}

TEST(VerbsSleep, APeerThatDiesWakesThoseWhoSleep) {
    Cluster cluster(3, {kOn, "TUTTI_HOSTS=3"}, 1, kCrowd);
    cluster.run([&](uint32_t rank, tutti_team* team) {
        std::vector<uint32_t> values(4, 1);
        ASSERT_EQ(add_up(team, values), TUTTI_OK) << tutti_team_message(team);
        if (rank == 1) {
            const uint64_t wanted = cluster.network.arms() + 10;
            while (cluster.network.arms() < wanted) std::this_thread::yield();
            cluster.network.cut(1);
        }
        tutti_status status = TUTTI_OK;
        for (int i = 0; i < 3 && status == TUTTI_OK; ++i) status = add_up(team, values);
        EXPECT_EQ(status, TUTTI_ERR_NETWORK);
        EXPECT_NE(std::string(tutti_team_message(team)).find("RDMA to rank "), std::string::npos);
    });
}

// Ranks that carry their host's multicasts, and wait for one of them and for messages at once: what
// comes first wakes them.
TEST(VerbsSleep, BesideMulticast) {
    constexpr uint32_t kRanks = 4;
    constexpr const char* kRules = R"(TUTTI_RULES_TEXT=
[[rule]]
collective = ["barrier", "allreduce"]
multicast = true
algorithm = "gather_multicast"
)";
    const std::vector<const char*> settings{
        kOn, "TUTTI_MCAST=on", "TUTTI_MCAST_IF=lo", "TUTTI_HOSTS=4", "TUTTI_ARRIVALS=off", kRules};
    Cluster cluster(kRanks, {});
    FakeNetwork& network = cluster.network;
    std::vector<std::unique_ptr<engine::Context>> contexts;  // a carrier each
    for (uint32_t i = 0; i < kRanks; ++i) {
        contexts.push_back(cluster.make_context(settings, kCrowd));
    }
    run_threads(kRanks, [&](uint32_t rank) {
        const TeamPtr made = cluster.make_in(*contexts[rank], rank);
        tutti_team* team = made.get();
        ASSERT_TRUE(team);
        ASSERT_EQ(verbs_of(team).text("state"), "on") << verbs_of(team).text("reason");
        ASSERT_EQ(multicast_of(team).text("state"), "on") << multicast_of(team).text("reason");
        for (uint32_t turn = 0; turn < 60; ++turn) {
            const uint64_t wanted = network.arms() + 4;
            // Rank 0 gathers.
            while (rank == 1 + turn % 3 && network.arms() < wanted) std::this_thread::yield();
            std::vector<uint32_t> values(16, rank);
            ASSERT_EQ(add_up(team, values), TUTTI_OK) << tutti_team_message(team);
            ASSERT_EQ(values[15], 6u);
        }
    });
    EXPECT_EQ(network.fault(), "");
}

// ---- and ranks that do not ---------------------------------------------------------------------

// However long it waits; that it makes no system call while it spins, rc_sleep_test.cpp says of the
// messages, and cost_test.cpp of all else.
TEST(VerbsSleep, WhoHasAProcessorNeverArms) {
    if (topo::affinity().count() < 2) GTEST_SKIP() << "two ranks need two processors";
    Cluster cluster(2, {kOn, "TUTTI_HOSTS=2"});
    cluster.run([&](uint32_t rank, tutti_team* team) {
        const uint64_t wanted = cluster.network.polls() + 5'000;
        while (rank == 0 && cluster.network.polls() < wanted) std::this_thread::yield();
        std::vector<uint32_t> values(4, 1);
        ASSERT_EQ(add_up(team, values), TUTTI_OK) << tutti_team_message(team);
    });
    EXPECT_EQ(cluster.network.arms(), 0u);
}

}  // namespace
}  // namespace tutti::test
