// SPDX-License-Identifier: BSD-3-Clause
// Making and freeing teams: all or nothing, within the memory allowed, without leaks.
#include <dirent.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "sim/script.h"
#include "unit/run/engine/crew.h"

namespace tutti::test {
namespace {

// Both ranks must fail alike; returns what they say.
std::string failing(uint32_t ranks, const std::vector<const char*>& settings, tutti_status expected,
                    uint32_t fail_from = UINT32_MAX) {
    const ContextPtr context = make_context(settings);
    Meeting meeting(ranks);
    meeting.fail_from(fail_from);
    std::vector<std::string> messages(ranks);
    run_threads(ranks, [&](uint32_t rank) {
        const Made made = make_team(context.get(), meeting, rank);
        EXPECT_EQ(made.status, expected) << made.message;
        EXPECT_EQ(made.team, nullptr);
        messages[rank] = made.message;
    });
    for (const std::string& message : messages) EXPECT_EQ(message, messages[0]);
    return messages[0];
}

TEST(Teams, TooLittleMemoryAllowed) {
    const std::string message = failing(4, {"TUTTI_MEMORY=64K"}, TUTTI_ERR_MEMORY);
    EXPECT_NE(message.find("TUTTI_MEMORY allows 64 KiB"), std::string::npos) << message;
}

TEST(Teams, ParametersOfAnotherVersion) {
    const ContextPtr context = make_context({});
    tutti_team_params params{};
    params.struct_bytes = sizeof(params) - 8;
    params.size = 1;
    tutti_team* team = nullptr;
    char message[64] = "";
    EXPECT_EQ(tutti_team_create(context.get(), &params, &team, message, sizeof(message)),
              TUTTI_ERR_ARGUMENT);
    EXPECT_STREQ(message, "tutti_team_params of another version");
}

TEST(Teams, SwitchedOff) {
    const ContextPtr context = make_context({"TUTTI=off"});
    Meeting meeting(1);
    const Made made = make_team(context.get(), meeting, 0);
    EXPECT_EQ(made.status, TUTTI_ERR_OFF);
    EXPECT_EQ(made.message, "switched off by TUTTI=off");
}

// The callback fails in one of its rounds; the memory that was taken by then is given back.
TEST(Teams, FailingCallback) {
    const std::string expected = "the allgather callback failed";
    uint32_t failures = 0;
    for (uint32_t round = 0; round < 4; ++round) {
        EXPECT_EQ(failing(3, {}, TUTTI_ERR_BOOTSTRAP, round), expected);
        ++failures;
    }
    EXPECT_EQ(failures, 4u);
    // A context goes on after it.
    const ContextPtr context = make_context({"TUTTI_MEMORY=1M"});
    for (int turn = 0; turn < 50; ++turn) {
        Meeting meeting(2);
        meeting.fail_from(static_cast<uint32_t>(turn % 4));
        run_threads(2, [&](uint32_t rank) {
            EXPECT_EQ(make_team(context.get(), meeting, rank).status, TUTTI_ERR_BOOTSTRAP);
        });
    }
    run_crew(context.get(), 2, [](uint32_t, tutti_team* team) {
        tutti_call barrier{};
        EXPECT_EQ(tutti_run(team, &barrier), TUTTI_OK);
    });
}

TEST(Teams, MalformedParameters) {
    const ContextPtr context = make_context({});
    Meeting meeting(2);
    Meeting::Seat seat{&meeting, 0};
    tutti_team_params good{};
    good.struct_bytes = sizeof(good);
    good.rank = 1;
    good.size = 2;
    good.allgather = Meeting::allgather;
    good.allgather_user = &seat;
    tutti_team* team = nullptr;
    char message[8] = "";
    const auto create = [&](const tutti_team_params& params) {
        return tutti_team_create(context.get(), &params, &team, message, sizeof(message));
    };
    tutti_team_params params = good;
    params.rank = 2;
    EXPECT_EQ(create(params), TUTTI_ERR_ARGUMENT);
    EXPECT_STREQ(message, "tutti_t");  // Cut, and ended.
    params = good;
    params.size = 0;
    EXPECT_EQ(create(params), TUTTI_ERR_ARGUMENT);
    params = good;
    params.allgather = nullptr;
    EXPECT_EQ(create(params), TUTTI_ERR_ARGUMENT);
    params = good;
    params.struct_bytes = 8;
    EXPECT_EQ(create(params), TUTTI_ERR_ARGUMENT);
    EXPECT_EQ(tutti_team_create(context.get(), &good, nullptr, nullptr, 0), TUTTI_ERR_ARGUMENT);
    EXPECT_EQ(team, nullptr);
}

size_t open_descriptors() {
    size_t count = 0;
    DIR* directory = opendir("/proc/self/fd");
    while (readdir(directory)) ++count;
    closedir(directory);
    return count;
}

// One takes part in the making alone; the others hear of it, and the next team is made.
TEST(Teams, AMemberThatCannotKeepIt) {
    const ContextPtr context = make_context({});
    Meeting meeting(3);
    run_threads(3, [&](uint32_t rank) {
        const Made made =
            make_team(context.get(), meeting, rank, "the crew", nullptr, 1, false, rank == 1);
        EXPECT_EQ(made.status, TUTTI_ERR_MEMORY);
        EXPECT_EQ(made.message, "rank 1: out of memory");
        EXPECT_EQ(made.team, nullptr);
    });
    run_crew(context.get(), 3, [](uint32_t, tutti_team* team) {
        tutti_call barrier{};
        EXPECT_EQ(tutti_run(team, &barrier), TUTTI_OK);
    });
}

size_t virtual_pages() {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages;
}

// A thousand teams made, used and freed leave memory and descriptors where they were.
TEST(Teams, AThousandTeams) {
    const ContextPtr context = make_context({"TUTTI_MEMORY=4M"});
    size_t descriptors[2] = {};
    size_t pages[2] = {};
    Meeting first(2);
    std::vector<std::unique_ptr<Meeting>> meetings;
    for (int i = 0; i < 1000; ++i) meetings.push_back(std::make_unique<Meeting>(2));
    Meeting pause(2);
    run_threads(2, [&](uint32_t rank) {
        // One team stays, so that the segment does; the others get slices of it.
        const Made kept = make_team(context.get(), first, rank);
        ASSERT_EQ(kept.status, TUTTI_OK);
        for (size_t i = 0; i < meetings.size(); ++i) {
            const Made made = make_team(context.get(), *meetings[i], rank);
            ASSERT_EQ(made.status, TUTTI_OK) << i << ": " << made.message;
            tutti_call barrier{};
            ASSERT_EQ(tutti_run(made.team.get(), &barrier), TUTTI_OK);
            const bool looks = rank == 0 && (i == 50 || i + 1 == meetings.size());
            if (looks) {
                descriptors[i == 50 ? 0 : 1] = open_descriptors();
                pages[i == 50 ? 0 : 1] = virtual_pages();
            }
        }
    });
    EXPECT_EQ(descriptors[0], descriptors[1]);
    // A slice or two may be on their way out at one moment and not at the other.
    EXPECT_LE(pages[1], pages[0] + 1024);
}

// Teams that stay use memory up; then the answer is one line, and freed memory is used again.
TEST(Teams, MemoryRunsOutAndComesBack) {
    const ContextPtr context = make_context({"TUTTI_MEMORY=512K"});
    std::vector<std::unique_ptr<Meeting>> meetings;
    for (int i = 0; i < 100; ++i) meetings.push_back(std::make_unique<Meeting>(2));
    run_threads(2, [&](uint32_t rank) {
        std::vector<TeamPtr> teams;
        tutti_call barrier{};
        size_t next = 0;
        std::string message;
        while (next < 50 && message.empty()) {
            Made made = make_team(context.get(), *meetings[next++], rank);
            if (made.status == TUTTI_OK) {
                ASSERT_EQ(tutti_run(made.team.get(), &barrier), TUTTI_OK);
                teams.push_back(std::move(made.team));
            } else {
                EXPECT_EQ(made.status, TUTTI_ERR_MEMORY);
                message = made.message;
            }
        }
        EXPECT_NE(message.find("TUTTI_MEMORY allows 512 KiB"), std::string::npos) << message;
        ASSERT_GE(teams.size(), 2u);
        // All of them still work; all but the first are freed, and there is room again.
        for (const TeamPtr& team : teams) ASSERT_EQ(tutti_run(team.get(), &barrier), TUTTI_OK);
        teams.resize(1);
        ASSERT_EQ(tutti_run(teams[0].get(), &barrier), TUTTI_OK);
        const Made made = make_team(context.get(), *meetings[next], rank);
        EXPECT_EQ(made.status, TUTTI_OK) << made.message;
    });
}

// A team of one needs nobody else, not even a callback.
TEST(Teams, AloneEveryCollectiveIsACopy) {
    const ContextPtr context = make_context({});
    tutti_team_params params{};
    params.struct_bytes = sizeof(params);
    params.size = 1;
    tutti_team* raw = nullptr;
    ASSERT_EQ(tutti_team_create(context.get(), &params, &raw, nullptr, 0), TUTTI_OK);
    const TeamPtr team(raw);
    for (int kind = 0; kind < TUTTI_COLLECTIVE_COUNT; ++kind) {
        for (uint64_t contents = 0; contents < 4; ++contents) {
            const Exchange exchange(
                {static_cast<tutti_collective>(kind), 0, 800, Fold::kSumF64Ordered, contents}, 1);
            const tutti_call call = exchange.call(0);
            EXPECT_STREQ(tutti_algorithm(team.get(), &call), "alone");
            ASSERT_EQ(tutti_run(team.get(), &call), TUTTI_OK);
            EXPECT_EQ(exchange.check(), "");
        }
    }
}

// 64 MiB through every collective (a vector of so many, or blocks that make it so many).
TEST(Teams, LargeVectors) {
    const ContextPtr context = make_context({});
    for (int kind = TUTTI_BCAST; kind < TUTTI_COLLECTIVE_COUNT; ++kind) {
        const auto collective = static_cast<tutti_collective>(kind);
        const Exchange exchange(
            {collective, 0, (has_blocks(collective) ? size_t{32} : size_t{64}) << 20, Fold::kXorU64,
             3},
            2);
        run_crew(context.get(), 2, [&](uint32_t rank, tutti_team* team) {
            const tutti_call call = exchange.call(rank);
            ASSERT_EQ(tutti_run(team, &call), TUTTI_OK);
            EXPECT_EQ(exchange.check(rank), "");
        });
    }
}

// Odd sizes around the border from which blocks are written past the caches, at any alignment.
TEST(Teams, LargeOddBlocks) {
    const ContextPtr context = make_context({});
    const tutti_collective kinds[] = {TUTTI_BCAST, TUTTI_GATHER, TUTTI_SCATTER, TUTTI_ALLGATHER};
    uint64_t contents = 0;
    for (const tutti_collective kind : kinds) {
        for (const size_t bytes : {(size_t{4} << 20) - 1, (size_t{4} << 20) + 13}) {
            const Exchange exchange({kind, 1, bytes, Fold::kSumU32, ++contents}, 3);
            run_crew(context.get(), 3, [&](uint32_t rank, tutti_team* team) {
                const tutti_call call = exchange.call(rank);
                ASSERT_EQ(tutti_run(team, &call), TUTTI_OK);
                EXPECT_EQ(exchange.check(rank), "");
            });
        }
    }
}

tutti_status run_malformed(tutti_team* team, const tutti_call& call) {
    tutti_request request;
    EXPECT_EQ(tutti_request_init(&request, team, &call), TUTTI_ERR_ARGUMENT);
    EXPECT_STREQ(tutti_algorithm(team, &call), "none");
    return tutti_run(team, &call);
}

// Malformed calls fail at once on the rank that makes them, and spoil nothing.
TEST(Teams, MalformedCalls) {
    const ContextPtr context = make_context({});
    run_crew(context.get(), 2, [](uint32_t, tutti_team* team) {
        std::vector<std::byte> memory(4096);
        tutti_call good{};
        good.collective = TUTTI_ALLREDUCE;
        good.send = TUTTI_IN_PLACE;
        good.recv = memory.data();
        good.bytes = 8;
        good.dtype = TUTTI_INT32;
        tutti_call call = good;
        call.collective = TUTTI_COLLECTIVE_COUNT;
        EXPECT_EQ(run_malformed(team, call), TUTTI_ERR_ARGUMENT);
        call = good;
        call.collective = TUTTI_REDUCE;
        call.root = 2;
        EXPECT_EQ(run_malformed(team, call), TUTTI_ERR_ARGUMENT);
        call = good;
        call.bytes = 7;
        EXPECT_EQ(run_malformed(team, call), TUTTI_ERR_ARGUMENT);
        call = good;
        call.op = TUTTI_MINLOC;
        EXPECT_EQ(run_malformed(team, call), TUTTI_ERR_ARGUMENT);
        call.dtype = TUTTI_DTYPE_COUNT;
        call.op = TUTTI_SUM;
        EXPECT_EQ(run_malformed(team, call), TUTTI_ERR_ARGUMENT);
        call = good;
        call.op = TUTTI_OP_USER;
        call.element_bytes = 4;
        EXPECT_EQ(run_malformed(team, call), TUTTI_ERR_ARGUMENT);
        call.reduce = [](void*, const void*, void*, size_t) {};
        call.element_bytes = 0;
        EXPECT_EQ(run_malformed(team, call), TUTTI_ERR_ARGUMENT);
        call.element_bytes = TUTTI_ELEMENT_BYTES_MAX + 1;
        call.bytes = 2 * call.element_bytes;
        EXPECT_EQ(run_malformed(team, call), TUTTI_ERR_ARGUMENT);
        // A root is not significant here.
        call = good;
        call.root = 99;
        EXPECT_EQ(tutti_run(team, &call), TUTTI_OK);
    });
}

TEST(Contexts, SettingsAreReadAndNamed) {
    const ContextPtr context = make_context({"TUTTI_CHUNK=2M", "TUTTI_STALL=1.5", "OTHER=1"});
    EXPECT_STREQ(tutti_context_setting(context.get(), "TUTTI_CHUNK"), "2097152");
    EXPECT_STREQ(tutti_context_setting(context.get(), "TUTTI_STALL"), "1.5");
    EXPECT_STREQ(tutti_context_setting(context.get(), "TUTTI_CHECK"), "0");
    EXPECT_STREQ(tutti_context_setting(context.get(), "TUTTI_REPORT"), "");
    EXPECT_EQ(tutti_context_setting(context.get(), "OTHER"), nullptr);
    EXPECT_EQ(tutti_context_setting(context.get(), nullptr), nullptr);
    EXPECT_EQ(tutti_context_setting(nullptr, "TUTTI"), nullptr);

    const char* bad[] = {"TUTTI_CHECK=2"};
    tutti_context_params params{};
    params.struct_bytes = sizeof(params);
    params.settings = bad;
    params.settings_count = 1;
    tutti_context* none = nullptr;
    char message[128] = "";
    EXPECT_EQ(tutti_context_create(&params, &none, message, sizeof(message)), TUTTI_ERR_ARGUMENT);
    EXPECT_EQ(none, nullptr);
    EXPECT_STREQ(message, "TUTTI_CHECK=2: expected 0|1");
    params.struct_bytes = 1;
    EXPECT_EQ(tutti_context_create(&params, &none, message, sizeof(message)), TUTTI_ERR_ARGUMENT);
    EXPECT_EQ(tutti_context_create(nullptr, &none, nullptr, 0), TUTTI_ERR_ARGUMENT);
}

using Lines = std::vector<std::string>;

// What a process of two says when it is made, `on_node` of them on one host.
Lines told(const std::vector<const char*>& settings, uint32_t rank, uint32_t on_node = 2) {
    Lines lines;
    tutti_context_params params{};
    params.struct_bytes = sizeof(params);
    params.settings = settings.data();
    params.settings_count = settings.size();
    params.ranks_on_node = on_node;
    params.job_rank = rank;
    params.job_size = 2;
    params.log_user = &lines;
    params.log = [](void* user, tutti_log_level level, const char* line) {
        EXPECT_EQ(level, TUTTI_LOG_WARN);
        static_cast<Lines*>(user)->emplace_back(line);
    };
    tutti_context* made = nullptr;
    EXPECT_EQ(tutti_context_create(&params, &made, nullptr, 0), TUTTI_OK);
    const ContextPtr context(made);
    return lines;
}

// One process says it; modules' variables are none of ours.
TEST(Contexts, UnknownSettingsAreTold) {
    EXPECT_EQ(told({"TUTTI_CHEK=1", "TUTTI_ROOT=/opt/tutti"}, 0),
              Lines{"unknown variable TUTTI_CHEK is ignored; did you mean TUTTI_CHECK?"});
    EXPECT_EQ(told({"TUTTI_CHEK=1"}, 1), Lines{});
}

TEST(Contexts, SettingsWithoutEffectAreTold) {
    const Lines line{"without effect, since all ranks are on one host: TUTTI_MCAST=on"};
    EXPECT_EQ(told({"TUTTI_MCAST=on", "TUTTI_STALL=9"}, 0), line);
    EXPECT_EQ(told({"TUTTI_MCAST=on"}, 1), Lines{});
    EXPECT_EQ(told({"TUTTI_MCAST=on"}, 0, 1), Lines{});  // two hosts
    EXPECT_EQ(told({"TUTTI_MCAST=on"}, 0, 0), Lines{});  // nobody knows
    EXPECT_EQ(told({"TUTTI_MCAST=on", "TUTTI_HOSTS=2"}, 0), Lines{});
    EXPECT_EQ(told({"TUTTI_MCAST=on", "TUTTI=off"}, 0), Lines{});
}

TEST(Texts, EveryStatusHasItsOwn) {
    std::set<std::string> texts;
    for (int status = TUTTI_ERR_OFF; status <= TUTTI_PENDING; ++status) {
        texts.insert(tutti_status_text(static_cast<tutti_status>(status)));
    }
    EXPECT_EQ(texts.size(), 9u);
    EXPECT_EQ(texts.count("unknown status"), 0u);
    EXPECT_STREQ(tutti_collective_name(TUTTI_ALLGATHER), "allgather");
    EXPECT_STREQ(tutti_collective_name(TUTTI_COLLECTIVE_COUNT), "collective");
}

}  // namespace
}  // namespace tutti::test
