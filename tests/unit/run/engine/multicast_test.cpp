// SPDX-License-Identifier: BSD-3-Clause
// Teams across pretended hosts with hardware multicast over the loopback interface: threads as
// ranks, each with a context of its own, as processes have.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "sim/script.h"
#include "sim/seeds.h"
#include "unit/run/engine/exchanges.h"
#include "unit/run/engine/later.h"

namespace tutti::test {
namespace {

constexpr const char* kOn = "TUTTI_MCAST=on";
constexpr const char* kLoopback = "TUTTI_MCAST_IF=lo";

TEST(Multicast, AllOfATeamHaveIt) {
    Job job(5, {kOn, kLoopback, "TUTTI_HOSTS=3"});
    const auto infos = job.multicasts();
    int carriers = 0;
    for (const Told& info : infos) {
        EXPECT_EQ(info.text("state"), "on") << info.text("reason");
        EXPECT_EQ(info.number("hosts"), 3u);
        EXPECT_NE(info.number("group"), 0u);
        EXPECT_EQ(info.number("group"), infos[0].number("group"));
        EXPECT_EQ(info.text("address"), infos[0].text("address"));
        EXPECT_EQ(info.text("communicator"), "the crew");
        EXPECT_EQ(info.number("bytes_per_s"), infos[0].number("bytes_per_s"));
        EXPECT_GT(info.number("bytes_per_s"), 0u);
        EXPECT_EQ(info.has("data_packets"), info.text("interface")[0] != '\0');
        carriers += info.has("data_packets") ? 1 : 0;
    }
    EXPECT_EQ(carriers, 3);
    EXPECT_TRUE(job.log.is_empty()) << job.log.lines()[0];
}

TEST(Multicast, SettingsHoldForTheGroup) {
    Job job(2, {kOn, kLoopback, "TUTTI_HOSTS=2", "TUTTI_MCAST_ADDRESS=239.9.8.7",
                "TUTTI_MCAST_PORT=17718", "TUTTI_MCAST_RATE=80mbit"});
    for (const Told& info : job.multicasts()) {
        EXPECT_EQ(info.text("state"), "on") << info.text("reason");
        EXPECT_EQ(info.text("address"), "239.9.8.7 port 17718");
        EXPECT_EQ(info.number("bytes_per_s"), 10'000'000u);
    }
}

TEST(Multicast, AllKnowWhatProtectsPackets) {
    const struct {
        const char* setting;
        const char* code;
        bool is_encrypted = false;
    } cases[] = {{"TUTTI_MCAST_CODE=all", "all"},
                 {"TUTTI_MCAST_CODE=header", "header"},
                 {"TUTTI_MCAST_CODE=none", "none"},
                 {"TUTTI_MCAST_SECRET=1", "all", true}};
    for (const auto& one : cases) {
        Job job(3, {kOn, kLoopback, "TUTTI_HOSTS=3", one.setting});
        for (const Told& info : job.multicasts()) {
            EXPECT_EQ(info.text("state"), "on") << info.text("reason");
            EXPECT_EQ(info.text("code"), one.code) << one.setting;
            EXPECT_EQ(info.flag("encrypted"), one.is_encrypted) << one.setting;
        }
    }
}

// A rate that no processor's codes go at: prices and pacing go by what they let through.
TEST(Multicast, CodesBoundTheRate) {
    constexpr uint64_t kWanted = 125'000'000'000;
    Job job(3, {kOn, kLoopback, "TUTTI_HOSTS=3", "TUTTI_MCAST_RATE=1000gbit"});
    const auto infos = job.multicasts();
    for (const Told& info : infos) {
        EXPECT_EQ(info.text("state"), "on") << info.text("reason");
        EXPECT_GT(info.number("code_bytes_per_s"), 0u);
        EXPECT_EQ(info.number("code_bytes_per_s"), infos[0].number("code_bytes_per_s"));
        EXPECT_LT(info.number("bytes_per_s"), kWanted);
        EXPECT_EQ(info.number("bytes_per_s"), info.number("code_bytes_per_s"));
    }
}

TEST(Multicast, NobodyTriesWhatIsNotWanted) {
    for (const Settings& settings : {Settings{"TUTTI_MCAST=off", "TUTTI_HOSTS=2"},
                                     Settings{"TUTTI_HOSTS=2"}, Settings{kOn, kLoopback}}) {
        Job job(2, settings);
        for (const Told& info : job.multicasts()) {
            // A team of one host tells nothing of it.
            if (info.has("state")) {
                EXPECT_EQ(info.text("state"), "none");
            }
            EXPECT_FALSE(info.has("group"));
        }
    }
}

TEST(Multicast, AnObstacleIsNamedOnceAndTheTeamGoesWithout) {
    Job job(3, {kOn, "TUTTI_MCAST_IF=nosuch0", "TUTTI_HOSTS=3"});
    for (int team = 0; team < 2; ++team) {
        for (const Told& info : job.multicasts()) {
            EXPECT_EQ(info.text("state"), "off");
            const std::string reason = info.text("reason");
            EXPECT_TRUE(reason.starts_with("pretended host 0: ")) << reason;
            EXPECT_NE(reason.find("nosuch0"), std::string::npos) << reason;
        }
    }
    const auto lines = job.log.lines();
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_TRUE(lines[0].starts_with("the crew has no multicast: pretended host 0: ")) << lines[0];
}

TEST(Multicast, TeamsBeyondTheLimitGoWithout) {
    Job job(2, {kOn, kLoopback, "TUTTI_HOSTS=2", "TUTTI_MCAST_TEAMS=1"});
    job.run([&](uint32_t rank, tutti_team* first) {
        EXPECT_EQ(multicast_of(first).text("state"), "on");
        static Meeting meeting(2);
        static Mailbox mailbox(2);
        const tutti_p2p p2p = mailbox.callbacks(rank);
        const Made second = make_team(job.contexts[rank].get(), meeting, rank, "more", &p2p);
        ASSERT_EQ(second.status, TUTTI_OK) << second.message;
        EXPECT_EQ(multicast_of(second.team.get()).text("state"), "off");
        const tutti_call barrier{};
        EXPECT_EQ(tutti_run(second.team.get(), &barrier), TUTTI_OK);
    });
}

// Whatever has an algorithm by multicast runs by it.
constexpr const char* kRules = R"(TUTTI_RULES_TEXT=
[[rule]]
collective = "barrier"
multicast = true
algorithm = "gather_multicast"
[[rule]]
collective = "bcast"
multicast = true
algorithm = "multicast"
[[rule]]
collective = "allreduce"
bytes = "..4K"
multicast = true
algorithm = "gather_multicast"
[[rule]]
collective = "allreduce"
multicast = true
algorithm = "multicast"
[[rule]]
collective = ["allgather", "allgatherv"]
multicast = true
algorithm = "multicast"
)";

// The same, and whoever comes last releases all.
constexpr const char* kFollowingRules = R"(TUTTI_RULES_TEXT=
[[rule]]
collective = "barrier"
multicast = true
algorithm = "adaptive_multicast"
[[rule]]
collective = "bcast"
multicast = true
algorithm = "multicast"
[[rule]]
collective = "allreduce"
multicast = true
algorithm = "adaptive_multicast"
)";

const char* rules_of(uint64_t seed) { return seed / 2 % 2 == 0 ? kRules : kFollowingRules; }

void run_mixed(uint64_t seed, const Settings& settings) {
    Prng prng(seed);
    const auto ranks = static_cast<uint32_t>(2 + seed % 5);
    const Limits limits{ranks, std::max<size_t>(1024, 64 * ranks), 40'000, false};
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (uint32_t i = 0; i < 30; ++i) {
        exchanges.push_back(std::make_unique<Exchange>(draw_spec(prng, limits), ranks));
    }
    Job job(ranks, settings);
    std::atomic<uint64_t> packets = 0;
    job.run([&](uint32_t rank, tutti_team* team) {
        run_all(exchanges, rank, team, replay(seed));
        packets += multicast_of(team).number("data_packets");
    });
    EXPECT_GT(packets, 0u) << replay(seed);
    EXPECT_TRUE(job.log.is_empty()) << job.log.lines()[0];
}

// Calls that multicast would run, in a row: so many until it is tried, in one more.
uint32_t calls_until_tried(uint32_t rank, tutti_team* team, const Meeting::Seat& seat,
                           size_t words) {
    for (uint32_t calls = 0; calls < 100; ++calls) {
        const uint32_t rounds = seat.round;
        run_bcast(rank, team, words);
        if (seat.round != rounds) return calls;
        EXPECT_STRNE(tutti_team_ran(team), "multicast");
    }
    return 100;
}

TEST(Multicast, LaterIsTriedWhenCallsAskForIt) {
    uint32_t rounds_off = 0;
    run_later(3, {"TUTTI_MCAST=off"}, [&](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
        EXPECT_EQ(multicast_of(team).text("state"), "none");
        if (rank == 0) rounds_off = seat.round;
    });
    run_later(3, {kLoopback, kRules}, [&](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
        // Making the team is no dearer than without.
        EXPECT_EQ(multicast_of(team).text("state"), "later");
        if (rank == 0) {
            EXPECT_EQ(seat.round, rounds_off);
        }
        // Nobody would multicast these.
        const uint32_t rounds = seat.round;
        std::vector<char> block(4096), blocks(3 * block.size());
        for (int i = 0; i < 100; ++i) {
            tutti_call gather{};
            gather.collective = TUTTI_GATHER;
            gather.send = block.data();
            gather.recv = blocks.data();
            gather.bytes = block.size();
            ASSERT_EQ(tutti_run(team, &gather), TUTTI_OK);
        }
        EXPECT_EQ(seat.round, rounds);
        EXPECT_EQ(calls_until_tried(rank, team, seat, 2), 16u);
        EXPECT_EQ(multicast_of(team).text("state"), "on") << multicast_of(team).text("reason");
        EXPECT_STREQ(tutti_team_ran(team), "multicast");  // the call in which it was tried
        const uint32_t tried = seat.round;
        for (const size_t words : {2u, 300u, 20'000u}) run_bcast(rank, team, words);
        EXPECT_EQ(seat.round, tried);
        if (rank == 0) {
            EXPECT_GT(multicast_of(team).number("data_packets"), 0u);
        }
    });
}

// Sums of doubles keep their order of operands, and so go by messages beside a sound group. They do
// not count as calls that went without since it failed.
TEST(Multicast, CallsThatMayNotMulticastBringNoOther) {
    run_later(3, {kLoopback, kRules}, [&](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
        ASSERT_EQ(calls_until_tried(rank, team, seat, 2), 16u);
        const uint32_t rounds = seat.round;
        double one = 1, sum = 0;
        tutti_call call{};
        call.collective = TUTTI_ALLREDUCE;
        call.send = &one;
        call.recv = &sum;
        call.bytes = sizeof one;
        call.dtype = TUTTI_DOUBLE;
        call.op = TUTTI_SUM;
        for (int i = 0; i < 200; ++i) {
            ASSERT_EQ(tutti_run(team, &call), TUTTI_OK);
            ASSERT_STRNE(tutti_team_ran(team), "multicast");
        }
        EXPECT_EQ(sum, 3.0);
        EXPECT_EQ(seat.round, rounds) << "nobody has tried again";
        EXPECT_EQ(multicast_of(team).number("returns"), 0u);
        run_bcast(rank, team, 2);
        EXPECT_STREQ(tutti_team_ran(team), "multicast");
    });
}

// A network of its own that is much slower than messages: the team has it, and no built-in rule
// uses it. What is measured is the same on all members, as their choices must be.
TEST(Multicast, SlowerThanMessagesIsNotUsed) {
    std::vector<uint64_t> rates(5);
    std::vector<double> latencies(5);
    const auto body = [&](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
        EXPECT_EQ(calls_until_tried(rank, team, seat, size_t{1} << 18), 4u);
        const Told info = multicast_of(team);
        EXPECT_EQ(info.text("state"), "on") << info.text("reason");
        rates[rank] = info.number("message_bytes_per_s");
        latencies[rank] = info.real("message_latency_s");
        std::vector<uint32_t> data(size_t{1} << 18);
        const tutti_call call = bcast_of(data);
        EXPECT_STRNE(tutti_algorithm(team, &call), "multicast");
        run_bcast(rank, team, size_t{1} << 18);
        EXPECT_EQ(multicast_of(team).number("data_packets"), 0u);
    };
    // The last of an odd number measures nothing and knows all the same.
    run_later(5, {kLoopback, "TUTTI_MCAST_RATE=25mbit"}, body);
    EXPECT_GT(rates[0], 0u);
    EXPECT_GT(latencies[0], 0);
    EXPECT_EQ(rates, std::vector<uint64_t>(5, rates[0]));
    EXPECT_EQ(latencies, std::vector<double>(5, latencies[0]));
}

// Who asks for it by name does not compare.
TEST(Multicast, AskedForByNameItIsUsed) {
    run_later(3, {kLoopback, kOn, "TUTTI_MCAST_RATE=25mbit"},
              [&](uint32_t rank, tutti_team* team, Meeting::Seat&) {
                  EXPECT_EQ(multicast_of(team).number("message_bytes_per_s"), 0u);
                  std::vector<uint32_t> data(1000);
                  const tutti_call call = bcast_of(data);
                  EXPECT_STREQ(tutti_algorithm(team, &call), "multicast");
                  run_bcast(rank, team, 1000);
              });
}

// A long call asks as much as several short ones.
TEST(Multicast, LongCallsAskSooner) {
    run_later(3, {kLoopback, kRules}, [&](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
        EXPECT_EQ(calls_until_tried(rank, team, seat, size_t{1} << 18), 4u);
    });
}

// No built-in rule multicasts between two hosts, so nothing is ever tried there.
TEST(Multicast, TwoHostsNeverTryIt) {
    run_later(2, {kLoopback}, [&](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
        EXPECT_EQ(calls_until_tried(rank, team, seat, 1000), 100u);
        EXPECT_EQ(multicast_of(team).text("state"), "later");
    });
}

// Requests ask for it too, and have ended on every rank before a call tries it.
TEST(Multicast, LaterWithRequestsUnderWay) {
    run_later(3, {kLoopback, kRules}, [&](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
        constexpr size_t kRequests = 16;
        std::vector<std::vector<uint32_t>> data(kRequests,
                                                std::vector<uint32_t>(2, rank == 0 ? 7 : 0));
        std::vector<tutti_request> requests(kRequests);
        for (size_t i = 0; i < kRequests; ++i) {
            const tutti_call call = bcast_of(data[i]);
            ASSERT_EQ(tutti_request_init(&requests[i], team, &call), TUTTI_OK);
            ASSERT_EQ(tutti_request_start(&requests[i]), TUTTI_OK);
        }
        EXPECT_EQ(calls_until_tried(rank, team, seat, 2), 0u);
        EXPECT_EQ(multicast_of(team).text("state"), "on") << multicast_of(team).text("reason");
        for (size_t i = 0; i < kRequests; ++i) {
            EXPECT_EQ(tutti_request_wait(&requests[i]), TUTTI_OK);
            EXPECT_EQ(data[i], std::vector<uint32_t>(2, 7));
        }
    });
}

// Where it does not work the team goes on without, and it is not tried any more.
TEST(Multicast, LaterInVain) {
    run_later(3, {"TUTTI_MCAST_IF=nosuch0", kRules},
              [&](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
                  EXPECT_EQ(calls_until_tried(rank, team, seat, 2), 16u);
                  EXPECT_EQ(multicast_of(team).text("state"), "off");
                  EXPECT_EQ(calls_until_tried(rank, team, seat, 2), 100u);
              });
}

// What is forced by a setting is tried at once: there is no call without it. So is it where every
// call is to be compared or watched, as the trial is not.
TEST(Multicast, ForcedIsNotLater) {
    for (const char* setting : {"TUTTI_BCAST=multicast", "TUTTI_CHECK=1", "TUTTI_STALL=60", kOn}) {
        run_later(3, {kLoopback, setting}, [&](uint32_t rank, tutti_team* team, Meeting::Seat&) {
            EXPECT_EQ(multicast_of(team).text("state"), "on") << multicast_of(team).text("reason");
            run_bcast(rank, team, 300);
        });
    }
}

// The rules leave barriers to the host, but not the meeting before a try.
constexpr const char* kHostBarriers = R"(TUTTI_RULES_TEXT=
[[rule]]
collective = "bcast"
multicast = true
algorithm = "multicast"
[[rule]]
collective = "barrier"
mpi = "openmpi"
algorithm = "host"
)";

// A member that has given up does not come: the others are not left waiting for it.
TEST(Multicast, LaterWithoutAMember) {
    for (const char* text : {kRules, kHostBarriers}) {
        Job job(3, {kLoopback, text}, "openmpi");
        run_later(job, [&](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
            for (int i = 0; i < 16; ++i) run_bcast(rank, team, 2);
            run_without_rank_one(rank, team, seat);
        });
    }
}

// The callback fails in each round of the trial in turn: no member is left waiting, and no call
// runs.
TEST(Multicast, LaterWithoutAWayToAgree) {
    for (uint32_t round = 0; round < 4; ++round) {
        Job job(3, {kLoopback, kRules});
        Meeting meeting(3);
        Meeting failing(3);
        failing.fail_from(round);
        Mailbox& mailbox = job.add_mailbox();
        run_threads(3, [&](uint32_t rank) {
            const tutti_p2p p2p = mailbox.callbacks(rank);
            Meeting::Seat seat{};
            const Made made = make_later(job.contexts[rank].get(), meeting, rank, p2p, seat);
            ASSERT_EQ(made.status, TUTTI_OK) << made.message;
            tutti_team* team = made.team.get();
            for (int i = 0; i < 16; ++i) run_bcast(rank, team, 2);
            seat = {&failing, rank};
            std::vector<uint32_t> data(2);
            const tutti_call call = bcast_of(data);
            EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_NETWORK);
            EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_NETWORK);
        });
    }
}

TEST(Multicast, RandomMixed) {
    const Seeds seeds = Seeds::wanted(16);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        run_mixed(seed, {kOn, kLoopback, rules_of(seed), "TUTTI_CHUNK=1K",
                         seed % 2 == 0 ? "TUTTI_HOSTS=2" : "TUTTI_HOSTS=3:round-robin",
                         seed % 3 == 0 ? "TUTTI_FAULTS=drop:0.02,dup:0.01" : "TUTTI_CHECK=1"});
        ASSERT_FALSE(HasFailure());
    }
}

TEST(Multicast, RandomMixedWithoutAThread) {
    const Seeds seeds = Seeds::wanted(6);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        run_mixed(seed, {kOn, kLoopback, rules_of(seed), "TUTTI_CHUNK=1K", "TUTTI_MCAST_THREAD=0",
                         seed % 2 == 0 ? "TUTTI_HOSTS=2" : "TUTTI_HOSTS=3:round-robin",
                         seed % 3 == 0 ? "TUTTI_FAULTS=drop:0.02" : "TUTTI_CHECK=0"});
        ASSERT_FALSE(HasFailure());
    }
}

// Open files of this process whose targets begin so.
size_t open_files(const std::string& beginning = "") {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
        count += target.starts_with(beginning) ? 1 : 0;
    }
    return count;
}

// Freed teams stay until all ranks have left; so long, each that does not carry has a pipe to the
// one that does.
bool have_ended(Job& job, size_t pipes) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < end) {
        for (const ContextPtr& context : job.contexts) tutti_context_attend(context.get(), 0);
        if (open_files("pipe:") == pipes) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

// Whatever a team's group took is there for the next one, at the latest when nobody needs it more.
TEST(Multicast, TeamsComeAndGo) {
    const size_t pipes = open_files("pipe:") + 2 * 2;  // each carrier's own has two ends
    Job job(4, {kOn, kLoopback, "TUTTI_HOSTS=2", "TUTTI_MCAST_TEAMS=3"});
    std::set<uint32_t> groups;
    size_t files = 0;
    for (int team = 0; team < 12; ++team) {
        const auto infos = job.multicasts();
        for (const Told& info : infos) {
            EXPECT_EQ(info.text("state"), infos[0].text("state")) << info.text("reason");
            if (info.text("state") == "on")
                groups.insert(static_cast<uint32_t>(info.number("group")));
        }
        if (team > 0) continue;
        ASSERT_TRUE(have_ended(job, pipes));
        files = open_files();
    }
    EXPECT_GE(groups.size(), 2u);
    ASSERT_TRUE(have_ended(job, pipes));
    EXPECT_LE(open_files(), files);
}

// Byes are lost. Who has all of them has no team left here, and must repair its own all the same,
// though nothing but waits serves it.
TEST(Multicast, WithoutAThreadWhoHasLeftStillRepairs) {
    const size_t pipes = open_files("pipe:") + 2 * 3;
    Job job(6, {kOn, kLoopback, "TUTTI_HOSTS=3", "TUTTI_MCAST_THREAD=0", "TUTTI_FAULTS=drop:0.05"});
    uint32_t groups = 0;
    for (int team = 0; team < 20; ++team) {
        groups += job.multicasts()[0].text("state") == "on" ? 1 : 0;
        ASSERT_TRUE(have_ended(job, pipes)) << team;
    }
    EXPECT_GT(groups, 0u);
}

// ---- after a failure ----

// What the ranks of a team see of it: calls in which multicast was tried, and the numbers in the
// lines that say from which call on it failed and came back.
struct Course {
    std::vector<std::vector<uint32_t>> tried;  // by rank
    std::vector<uint64_t> failed, back;
};

uint64_t number_after(const std::string& line, const std::string& words) {
    return std::stoull(line.substr(line.find(words) + words.size()));
}

void read_lines(Log& log, Course& course) {
    for (const std::string& line : log.lines()) {
        if (line.find("no longer answers") != std::string::npos) {
            course.failed.push_back(number_after(line, "from call "));
        } else if (line.find("answers multicast again") != std::string::npos) {
            course.back.push_back(number_after(line, "from call "));
        } else {
            EXPECT_NE(line.find("has no multicast"), std::string::npos) << line;
        }
    }
}

// Runs calls on all ranks until multicast was tried again so often.
Course run_with_failures(uint32_t ranks, const Settings& settings, int apart, uint32_t tries,
                         const std::function<void(uint32_t, tutti_team*)>& at_end) {
    Course course;
    course.tried.resize(ranks);
    Settings without = settings;
    without.push_back("TUTTI_ARRIVALS=off");  // clocks are read over the seats, too
    Job job(ranks, without);
    const auto body = [&](uint32_t rank, tutti_team* team, Meeting::Seat& seat) {
        ASSERT_EQ(multicast_of(team).text("state"), "on") << multicast_of(team).text("reason");
        std::vector<uint32_t>& tried = course.tried[rank];
        for (uint32_t i = 0; tried.size() < tries; ++i) {
            ASSERT_LT(i, 20'000u) << "it is never tried";
            std::vector<uint32_t> data(300, rank == i % ranks ? i : 0);
            tutti_call call = bcast_of(data);
            call.root = i % ranks;
            // Half of them are chosen first: multicast may fail before they go on.
            call.buffers_later = i / ranks % 2 == 0 ? 1 : 0;
            const uint32_t rounds = seat.round;
            const uint64_t packets = multicast_of(team).number("data_packets");
            tutti_status status = tutti_run(team, &call);
            if (call.buffers_later != 0) {
                ASSERT_EQ(status, TUTTI_CHOSEN) << tutti_team_message(team);
                status = tutti_resume(team, nullptr, data.data());
            }
            ASSERT_EQ(status, TUTTI_OK) << tutti_team_message(team);
            ASSERT_EQ(data, std::vector<uint32_t>(300, i));
            // Those of all groups that there were.
            EXPECT_GE(multicast_of(team).number("data_packets"), packets);
            if (seat.round != rounds) tried.push_back(i);
        }
        at_end(rank, team);
    };
    run_later(job, body, apart);
    read_lines(job.log, course);
    return course;
}

// Each time that a group has failed, so many calls later there is a new one, on all ranks in the
// same call; twice as many each time.
TEST(Multicast, ItComesBackAfterAFailure) {
    for (const bool has_thread : {true, false}) {
        const Settings settings{kOn, kLoopback, kRules, "TUTTI_FAULTS=fail:400",
                                has_thread ? "TUTTI_MCAST_THREAD=1" : "TUTTI_MCAST_THREAD=0"};
        const auto at_end = [](uint32_t, tutti_team* team) {
            const Told info = multicast_of(team);
            EXPECT_EQ(info.number("returns"), 3u);
            EXPECT_EQ(info.number("failures"), info.text("state") == "on" ? 3u : 4u);
            EXPECT_NE(info.text("reason").find("answer"), std::string::npos) << info.text("reason");
        };
        const Course course = run_with_failures(3, settings, 1, 3, at_end);
        for (const auto& tried : course.tried) EXPECT_EQ(tried, course.tried[0]);
        ASSERT_GE(course.failed.size(), 3u);
        ASSERT_EQ(course.back.size(), 3u);
        for (size_t i = 0; i < 3; ++i) {
            // One more is the barrier in which they meet; without a thread, each call with
            // multicasts, so the last one too, is followed by a barrier with a number of its own.
            EXPECT_EQ(course.back[i], course.failed[i] + (64u << i) + (has_thread ? 1 : 2));
            EXPECT_LT(i == 0 ? 0 : course.back[i - 1], course.failed[i]);
        }
    }
}

// A team that is freed without it speaks for the others no longer.
TEST(Multicast, EachTeamThatFailsAloneSaysSo) {
    Job job(3, {kOn, kLoopback, kRules, "TUTTI_HOSTS=3", "TUTTI_FAULTS=fail:400"});
    for (size_t team = 1; team <= 2; ++team) {
        job.run([&](uint32_t rank, tutti_team* one) {
            const tutti_call barrier{};
            for (int i = 0; i < 600; ++i) {
                run_bcast(rank, one, 300);
                ASSERT_EQ(tutti_run(one, &barrier), TUTTI_OK);
            }
        });
        const auto lines = job.log.lines();
        ASSERT_EQ(lines.size(), team);
        EXPECT_NE(lines.back().find("pretended host 0 no longer answers"), std::string::npos);
    }
}

// Whoever does not hear the others stays away for good: a try each time that twice as many calls
// have gone by, none of which is the worse for it.
TEST(Multicast, ItIsTriedAgainInVain) {
    // There is room for one ring, and not for the next one beside it.
    const Settings settings{
        kOn, kLoopback, kRules, "TUTTI_FAULTS=fail:400", "TUTTI_HOSTS=2", "TUTTI_MEMORY=2M"};
    const auto at_end = [](uint32_t, tutti_team* team) {
        const Told info = multicast_of(team);
        EXPECT_EQ(info.text("state"), "failed");
        EXPECT_EQ(info.number("failures"), 1u);
        EXPECT_EQ(info.number("returns"), 0u);
        const std::string reason = info.text("reason");
        EXPECT_TRUE(reason.starts_with("pretended host 0 no longer answers; later: ")) << reason;
        EXPECT_NE(reason.find("no shared memory left"), std::string::npos) << reason;
    };
    const Course course = run_with_failures(4, settings, 0, 4, at_end);
    for (const auto& tried : course.tried) EXPECT_EQ(tried, course.tried[0]);
    EXPECT_EQ(course.failed.size(), 1u);
    EXPECT_TRUE(course.back.empty());
    // In each try the barrier counts, of which the next wait begins anew.
    for (size_t i = 1; i < 4; ++i) EXPECT_EQ(course.tried[0][i] - course.tried[0][i - 1], 64u << i);
}

// Groups that fail at any time: in calls, between them, in a try.
void run_failing(uint64_t seed) {
    Prng prng(seed);
    const auto ranks = static_cast<uint32_t>(3 + seed % 3);
    const Limits limits{ranks, std::max<size_t>(1024, 64 * ranks), 40'000, false};
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (uint32_t i = 0; i < 300; ++i) {
        exchanges.push_back(std::make_unique<Exchange>(draw_spec(prng, limits), ranks));
    }
    const std::string faults = "TUTTI_FAULTS=fail:" + std::to_string(1 + prng.below(600)) +
                               (seed % 2 == 0 ? ",drop:0.01,reorder:8" : "");
    const Settings settings{kOn,
                            kLoopback,
                            rules_of(seed),
                            faults.c_str(),
                            seed % 3 == 0 ? "TUTTI_MCAST_THREAD=0" : "TUTTI_MCAST_THREAD=1",
                            seed % 2 == 0 ? "TUTTI_HOSTS=2" : "TUTTI_HOSTS=3:round-robin"};
    Job job(ranks, settings);
    Meeting meeting(ranks);
    Mailbox& mailbox = job.add_mailbox();
    std::vector<std::vector<uint32_t>> tried(ranks);
    run_threads(ranks, [&](uint32_t rank) {
        const tutti_p2p p2p = mailbox.callbacks(rank);
        Meeting::Seat seat{};
        const Made made = make_later(job.contexts[rank].get(), meeting, rank, p2p, seat, 0);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        tutti_team* team = made.team.get();
        for (uint32_t i = 0; i < exchanges.size(); ++i) {
            const auto& exchange = exchanges[i];
            const tutti_call call = exchange->call(rank);
            const uint32_t rounds = seat.round;
            ASSERT_EQ(tutti_run(team, &call), TUTTI_OK)
                << describe(exchange->spec()) << replay(seed) << tutti_team_message(team);
            ASSERT_EQ(exchange->check(rank), "") << describe(exchange->spec()) << replay(seed);
            if (seat.round != rounds) tried[rank].push_back(i);
        }
    });
    for (const auto& one : tried) EXPECT_EQ(one, tried[0]) << replay(seed);
}

TEST(Multicast, RandomMixedWithFailures) {
    const Seeds seeds = Seeds::wanted(12);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        run_failing(seed);
        ASSERT_FALSE(HasFailure());
    }
}

// Teams of few calls, whose groups fail about when they are freed: whoever has freed one is there
// for the others, and then nothing is left.
void run_short(uint64_t seed) {
    Prng prng(seed);
    constexpr uint32_t kRanks = 4;
    const Limits limits{kRanks, 1024, 40'000, false};
    const std::string faults = "TUTTI_FAULTS=fail:" + std::to_string(70 + prng.below(130)) +
                               (seed % 2 == 0 ? ",drop:0.02" : "");
    const Settings settings{kOn,
                            kLoopback,
                            rules_of(seed),
                            faults.c_str(),
                            seed % 3 == 0 ? "TUTTI_MCAST_THREAD=0" : "TUTTI_MCAST_THREAD=1",
                            "TUTTI_HOSTS=3:round-robin"};
    const size_t pipes = open_files("pipe:") + 2 * 3;
    Job job(kRanks, settings);
    for (int team = 0; team < 6; ++team) {
        std::vector<std::unique_ptr<Exchange>> exchanges;
        for (uint64_t i = 1 + prng.below(12); i > 0; --i) {
            exchanges.push_back(std::make_unique<Exchange>(draw_spec(prng, limits), kRanks));
        }
        job.run([&](uint32_t rank, tutti_team* one) {
            for (const auto& exchange : exchanges) {
                const tutti_call call = exchange->call(rank);
                ASSERT_EQ(tutti_run(one, &call), TUTTI_OK)
                    << describe(exchange->spec()) << replay(seed) << tutti_team_message(one);
                ASSERT_EQ(exchange->check(rank), "") << describe(exchange->spec()) << replay(seed);
            }
        });
    }
    EXPECT_TRUE(have_ended(job, pipes)) << replay(seed);
}

TEST(Multicast, TeamsThatAreFreedWhenTheirGroupsFail) {
    const Seeds seeds = Seeds::wanted(16);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        run_short(seed);
        ASSERT_FALSE(HasFailure());
    }
}

}  // namespace
}  // namespace tutti::test
