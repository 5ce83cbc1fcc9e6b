// SPDX-License-Identifier: BSD-3-Clause
// A member that cannot go on tells the others, wherever they wait for it.
#include <functional>

#include "conformance/mailbox.h"
#include "unit/run/engine/crew.h"

namespace tutti::test {
namespace {

Made make(tutti_context* context, Meeting& meeting, Mailbox& mailbox, uint32_t rank) {
    const tutti_p2p p2p = mailbox.callbacks(rank);
    return make_team(context, meeting, rank, "the crew", &p2p);
}

constexpr uint32_t kRanks = 4;
constexpr uint32_t kWhoGivesUp = 2;
constexpr const char* kMessage = "the crew: rank 2: it has had enough";

tutti_call barrier() { return {}; }

class GiveUp : public ::testing::TestWithParam<const char*> {};

TEST_P(GiveUp, EndsTheCallsOfAll) {
    const ContextPtr context = make_context({GetParam(), "TUTTI_MCAST=off"});
    Meeting meeting(kRanks);
    Mailbox mailbox(kRanks);
    run_threads(kRanks, [&](uint32_t rank) {
        const Made made = make(context.get(), meeting, mailbox, rank);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        tutti_team* team = made.team.get();
        const tutti_call call = barrier();
        ASSERT_EQ(tutti_run(team, &call), TUTTI_OK);
        if (rank == kWhoGivesUp) tutti_team_give_up(team, "it has had enough");
        for (int turn = 0; turn < 3; ++turn) {
            EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_MEMORY);
            EXPECT_STREQ(tutti_team_message(team), kMessage);
        }
    });
}

// Also those who only test, and whatever stands in the queue.
TEST_P(GiveUp, EndsRequests) {
    const ContextPtr context = make_context({GetParam(), "TUTTI_MCAST=off"});
    Meeting meeting(kRanks);
    Mailbox mailbox(kRanks);
    run_threads(kRanks, [&](uint32_t rank) {
        const Made made = make(context.get(), meeting, mailbox, rank);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        tutti_team* team = made.team.get();
        const tutti_call call = barrier();
        tutti_request requests[2];
        for (tutti_request& request : requests) {
            ASSERT_EQ(tutti_request_init(&request, team, &call), TUTTI_OK);
        }
        if (rank == kWhoGivesUp) tutti_team_give_up(team, "it has had enough");
        for (tutti_request& request : requests) {
            ASSERT_EQ(tutti_request_start(&request), TUTTI_OK);
        }
        for (tutti_request& request : requests) {
            tutti_status status = TUTTI_PENDING;
            while ((status = tutti_request_test(&request)) == TUTTI_PENDING) {
            }
            EXPECT_EQ(status, TUTTI_ERR_MEMORY);
        }
    });
}

// The root of a broadcast has sent it and gives up before the other has looked: that call is right.
// A turn of the embedder lasts so long that the other looks for news after each.
struct LateNews {
    std::atomic<bool> is_waiting{false};
    std::atomic<int> turns{0};
    std::atomic<bool> may_go_on{false};
    std::atomic<bool> has_given_up{false};
    static void progress(void* user) {
        auto* news = static_cast<LateNews*>(user);
        if (!news->is_waiting.load()) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(11));
        if (++news->turns != 4) return;
        news->may_go_on.store(true);
        while (!news->has_given_up.load()) std::this_thread::yield();
    }
    ContextPtr make_context(const char* hosts) {
        const char* settings[] = {hosts, "TUTTI_MCAST=off"};
        tutti_context_params params{};
        params.struct_bytes = sizeof(params);
        params.settings = settings;
        params.settings_count = 2;
        params.progress = &LateNews::progress;
        params.progress_user = this;
        tutti_context* context = nullptr;
        EXPECT_EQ(tutti_context_create(&params, &context, nullptr, 0), TUTTI_OK);
        return ContextPtr(context);
    }
};

TEST_P(GiveUp, LeavesACallThatIsComplete) {
    LateNews news;
    const ContextPtr context = news.make_context(GetParam());
    Meeting meeting(2);
    Mailbox mailbox(2);
    run_threads(2, [&](uint32_t rank) {
        const Made made = make(context.get(), meeting, mailbox, rank);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        tutti_team* team = made.team.get();
        int value = rank == 0 ? 71 : 0;
        tutti_call call{};
        call.collective = TUTTI_BCAST;
        call.bytes = sizeof(value);
        call.send = &value;
        call.recv = &value;
        while (rank == 0 && !news.may_go_on.load()) std::this_thread::yield();
        news.is_waiting.store(true);
        EXPECT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
        EXPECT_EQ(value, 71);
        if (rank == 0) tutti_team_give_up(team, "it has had enough");
        if (rank == 0) news.has_given_up.store(true);
        const tutti_call next = barrier();
        EXPECT_EQ(tutti_run(team, &next), TUTTI_ERR_MEMORY);
    });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, GiveUp,
                         ::testing::Values("TUTTI_HOSTS=1", "TUTTI_HOSTS=2", "TUTTI_HOSTS=4"));

// One that gives up while more wait for it than notes may be under way; a context a rank, as in
// processes. `while_told` is what it does until the calls of all others have ended.
void give_up_before_many(uint32_t ranks, const char* hosts,
                         const std::function<void(tutti_context*)>& while_told) {
    std::vector<ContextPtr> contexts;  // notes may be under way out of them up to the end
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        contexts.push_back(make_context({hosts, "TUTTI_MCAST=off"}));
    }
    Meeting meeting(ranks);
    Mailbox mailbox(ranks);
    std::atomic<uint32_t> ended{0};
    run_threads(ranks, [&](uint32_t rank) {
        const Made made = make(contexts[rank].get(), meeting, mailbox, rank);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        if (rank == kWhoGivesUp) {
            tutti_team_give_up(made.team.get(), "it has had enough");
            while (ended.load() < ranks - 1) while_told(contexts[rank].get());
            return;
        }
        const tutti_call call = barrier();
        EXPECT_EQ(tutti_run(made.team.get(), &call), TUTTI_ERR_MEMORY);
        EXPECT_STREQ(tutti_team_message(made.team.get()), kMessage);
        ++ended;
    });
}

// One rank of each node is told first, and passes it on: 23 notes, where 32 may be under way.
TEST(GiveUpBeforeMany, EveryNodeHearsOfItAtOnce) {
    give_up_before_many(48, "TUTTI_HOSTS=24", [](tutti_context*) { std::this_thread::yield(); });
}

// There is no room for 39; the rest are told as soon as there is.
TEST(GiveUpBeforeMany, WhoFoundNoRoomIsToldLater) {
    give_up_before_many(40, "TUTTI_HOSTS=40", [](tutti_context* context) {
        tutti_context_attend(context, 0);
        std::this_thread::yield();
    });
}

// A message that fails on one rank ends the calls of all.
TEST(Hosts, AFailedMessageIsNotedToAll) {
    const ContextPtr context = make_context({"TUTTI_HOSTS=2", "TUTTI_MCAST=off"});
    Meeting meeting(2);
    Mailbox mailbox(2);
    run_threads(2, [&](uint32_t rank) {
        tutti_p2p p2p = mailbox.callbacks(rank);
        if (rank == 0) {
            p2p.recv = [](void*, void*, size_t, uint32_t, uint32_t, void**) { return 19; };
        }
        const Made made = make_team(context.get(), meeting, rank, "the crew", &p2p);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        const tutti_call call = barrier();
        EXPECT_EQ(tutti_run(made.team.get(), &call), TUTTI_ERR_NETWORK);
        const std::string message = tutti_team_message(made.team.get());
        EXPECT_NE(message.find("rank 0: the receive of 0 bytes from rank 1 failed with status 19"),
                  std::string::npos)
            << message;
    });
}

// Rank 0 gives up before the second call, or in it, while the last rank waits in the first for the
// one before, which is late. Between them is one of rank 0's host.
void fail_later(const char* hosts, uint32_t ranks, bool is_chosen) {
    const ContextPtr context = make_context({hosts, "TUTTI_MCAST=off", "TUTTI_BCAST=chain"});
    Meeting meeting(ranks);
    Mailbox mailbox(ranks, size_t{1} << 20);  // nobody waits for who has sent
    std::atomic<bool> has_failed{false};
    run_threads(ranks, [&](uint32_t rank) {
        const Made made = make(context.get(), meeting, mailbox, rank);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        uint64_t data[512] = {rank == 0 ? uint64_t{7} : 0};
        tutti_call call{};
        call.collective = TUTTI_BCAST;
        call.bytes = sizeof data;
        call.recv = data;
        if (rank + 2 == ranks) {
            while (!has_failed.load()) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(60));
        }
        tutti_team* team = made.team.get();
        EXPECT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
        EXPECT_EQ(data[0], 7u);
        if (rank == 0) {
            call.buffers_later = 1;
            if (is_chosen) {
                EXPECT_EQ(tutti_run(team, &call), TUTTI_CHOSEN);
            }
            tutti_team_give_up(team, "it has had enough");
        } else {
            EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_MEMORY);
        }
        if (rank == 0) has_failed.store(true);
    });
}

TEST(Hosts, WhatFailsLaterEndsNoCallBefore) {
    for (const bool is_chosen : {false, true}) {
        fail_later("TUTTI_HOSTS=3", 3, is_chosen);
        fail_later("TUTTI_HOSTS=2:round-robin", 4, is_chosen);
    }
}

}  // namespace
}  // namespace tutti::test
