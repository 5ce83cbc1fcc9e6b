// SPDX-License-Identifier: BSD-3-Clause
// Calls that failed outside the team: on all members nothing has happened, on some all hear of it.
#include "notes/rejections.h"

#include <barrier>

#include "conformance/mailbox.h"
#include "unit/engine/crew.h"

namespace tutti::test {
namespace {

using notes::Mark;
using notes::Rejections;
using notes::Verdict;

TEST(Marks, AreCompared) {
    EXPECT_EQ(notes::Mark::unpack(notes::Mark({7, 9, 0xfffffffeu}).pack()),
              (notes::Mark{7, 9, 0xfffffffeu}));
    notes::Rejections mine;
    EXPECT_FALSE(mine.is_open());
    mine.add();
    EXPECT_TRUE(mine.is_open());
    EXPECT_EQ(mine.begin(5), (notes::Mark{1, 1, 5}));
    EXPECT_EQ(mine.compare({0, 0, 0}), notes::Verdict::kNotYet);
    EXPECT_EQ(mine.compare({1, 1, 5}), notes::Verdict::kAgree);
    EXPECT_EQ(mine.compare({1, 2, 5}), notes::Verdict::kOutOfStep);
    EXPECT_EQ(mine.compare({1, 1, 6}), notes::Verdict::kOutOfStep);
    EXPECT_EQ(mine.compare({2, 2, 5}), notes::Verdict::kAgree);
    mine.end();
    EXPECT_FALSE(mine.is_open());
}

TEST(Marks, TellWhoHasPassed) {
    notes::Rejections mine;
    EXPECT_FALSE(mine.is_passed({0, 0, 0}, 9));
    EXPECT_FALSE(mine.is_passed({1, 1, 10}, 9));
    EXPECT_TRUE(mine.is_passed({1, 1, 9}, 9));
    EXPECT_TRUE(mine.is_passed({1, 1, 0xffffffffu}, 2));  // numbers wrap around
    mine.add();
    mine.begin(9);
    EXPECT_FALSE(mine.is_passed({1, 1, 9}, 9));
    uint32_t who = 99;
    mine.heard(3, 1, {2, 2, 12});
    EXPECT_FALSE(mine.find_passed(11, who));
    EXPECT_TRUE(mine.find_passed(12, who));
    EXPECT_EQ(who, 3u);
}

constexpr uint32_t kRanks = 5;

class Rejected : public ::testing::TestWithParam<const char*> {
  protected:
    // Each rank's part, with its team.
    static void run(const std::function<void(tutti_team*, uint32_t)>& part) {
        const ContextPtr context = make_context({GetParam(), "TUTTI_MCAST=off"});
        Meeting meeting(kRanks);
        Mailbox mailbox(kRanks);
        run_threads(kRanks, [&](uint32_t rank) {
            const tutti_p2p p2p = mailbox.callbacks(rank);
            const Made made = make_team(context.get(), meeting, rank, "the crew", &p2p);
            ASSERT_EQ(made.status, TUTTI_OK) << made.message;
            part(made.team.get(), rank);
        });
    }
    static tutti_status sum_up(tutti_team* team, uint32_t rank) {
        uint32_t sum = 0;
        tutti_call call{};
        call.collective = TUTTI_ALLREDUCE;
        call.send = &rank;
        call.recv = &sum;
        call.bytes = sizeof rank;
        call.dtype = TUTTI_UINT32;
        call.op = TUTTI_SUM;
        const tutti_status status = tutti_run(team, &call);
        if (status == TUTTI_OK) {
            EXPECT_EQ(sum, kRanks * (kRanks - 1) / 2);
        }
        return status;
    }
    static tutti_status gather(tutti_team* team, uint32_t rank) {
        uint32_t all[kRanks] = {};
        tutti_call call{};
        call.collective = TUTTI_GATHER;
        call.send = &rank;
        call.recv = all;
        call.bytes = sizeof rank;
        return tutti_run(team, &call);
    }
    static void expect_end(tutti_team* team, uint32_t rank) {
        for (int turn = 0; turn < 3; ++turn) {
            EXPECT_EQ(sum_up(team, rank), TUTTI_ERR_MISMATCH);
            const std::string message = tutti_team_message(team);
            EXPECT_NE(message.find("out of step since a collective failed on rank 0, but not on"),
                      std::string::npos)
                << message;
        }
    }
};

TEST_P(Rejected, ByAllChangesNothing) {
    run([](tutti_team* team, uint32_t rank) {
        for (uint32_t turn = 0; turn < 12; ++turn) {
            EXPECT_EQ(sum_up(team, rank), TUTTI_OK);
            for (uint32_t again = 0; again <= turn % 3; ++again) tutti_team_rejected(team);
            EXPECT_EQ(gather(team, rank), TUTTI_OK);
        }
    });
}

// Here and below: the end of the team may meet a rank that has not looked yet whether its last call
// is complete, so nothing ends it before all have.
//
// The others go through with a call that does not wait for the rank that is not there.
TEST_P(Rejected, ByOneEndsTheCallsOfAll) {
    std::barrier all_complete(kRanks);
    run([&](tutti_team* team, uint32_t rank) {
        EXPECT_EQ(sum_up(team, rank), TUTTI_OK);
        all_complete.arrive_and_wait();
        if (rank == 0) tutti_team_rejected(team);
        if (rank != 0) gather(team, rank);
        expect_end(team, rank);
    });
}

// All had errors, one had more of them.
TEST_P(Rejected, OnceMoreByOneEndsTheCallsOfAll) {
    std::barrier all_complete(kRanks);
    run([&](tutti_team* team, uint32_t rank) {
        tutti_team_rejected(team);
        EXPECT_EQ(sum_up(team, rank), TUTTI_OK);
        all_complete.arrive_and_wait();
        tutti_team_rejected(team);
        if (rank == 0) tutti_team_rejected(team);
        EXPECT_EQ(sum_up(team, rank), TUTTI_ERR_MISMATCH);
    });
}

TEST_P(Rejected, HoldsForRequests) {
    std::barrier all_complete(kRanks);
    run([&](tutti_team* team, uint32_t rank) {
        const tutti_call call{};
        tutti_request requests[2];
        for (tutti_request& request : requests) {
            ASSERT_EQ(tutti_request_init(&request, team, &call), TUTTI_OK);
        }
        for (const bool is_alike : {true, false}) {
            if (is_alike || rank == 0) tutti_team_rejected(team);
            for (tutti_request& request : requests) {
                ASSERT_EQ(tutti_request_start(&request), TUTTI_OK);
            }
            for (tutti_request& request : requests) {
                tutti_status status = TUTTI_PENDING;
                while ((status = tutti_request_test(&request)) == TUTTI_PENDING) {
                }
                EXPECT_EQ(status, is_alike ? TUTTI_OK : TUTTI_ERR_MISMATCH);
            }
            all_complete.arrive_and_wait();
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Rejected,
                         ::testing::Values("TUTTI_HOSTS=1", "TUTTI_HOSTS=2", "TUTTI_HOSTS=5"));

}  // namespace
}  // namespace tutti::test
