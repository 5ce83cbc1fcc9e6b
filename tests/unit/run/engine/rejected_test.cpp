// SPDX-License-Identifier: BSD-3-Clause
// A call that the embedder rejects on one member, after the team has left it to the embedder: the
// member makes it again, and all are in the same call.
#include "conformance/mailbox.h"
#include "unit/run/engine/crew.h"
#include "unit/run/engine/later.h"

namespace tutti::test {
namespace {

constexpr uint32_t kRanks = 3;

class Rejected : public ::testing::TestWithParam<const char*> {
  protected:
    static void run(const char* setting, const std::function<void(tutti_team*, uint32_t)>& part) {
        const ContextPtr context =
            make_context({GetParam(), "TUTTI_MCAST=off", setting}, nullptr, "mpich");
        Meeting meeting(kRanks);
        Mailbox mailbox(kRanks);
        run_threads(kRanks, [&](uint32_t rank) {
            const tutti_p2p p2p = mailbox.callbacks(rank);
            const Made made = make_team(context.get(), meeting, rank, "the crew", &p2p);
            ASSERT_EQ(made.status, TUTTI_OK) << made.message;
            part(made.team.get(), rank);
        });
    }
    static void sum_up(tutti_team* team, uint32_t rank) {
        uint32_t sum = 0;
        tutti_call call{};
        call.collective = TUTTI_ALLREDUCE;
        call.send = &rank;
        call.recv = &sum;
        call.bytes = sizeof rank;
        call.dtype = TUTTI_UINT32;
        call.op = TUTTI_SUM;
        ASSERT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
        EXPECT_EQ(sum, kRanks * (kRanks - 1) / 2);
    }
};

TEST_P(Rejected, ItTakesNoSecondNumber) {
    run("TUTTI_BCAST=host", [](tutti_team* team, uint32_t rank) {
        std::vector<uint32_t> data(4);
        const tutti_call bcast = bcast_of(data);
        for (uint32_t turn = 0; turn < 12; ++turn) {
            EXPECT_EQ(tutti_run(team, &bcast), TUTTI_HOST);
            for (uint32_t again = 0; rank == turn % kRanks && again <= turn % 3; ++again) {
                tutti_team_rejected(team, &bcast);
                EXPECT_EQ(tutti_run(team, &bcast), TUTTI_HOST);
            }
            sum_up(team, rank);
        }
    });
}

// Not the call that was left, but another: members are in step all the same.
TEST_P(Rejected, OnlyTheSameCallIsMeant) {
    run("TUTTI_BCAST=host", [](tutti_team* team, uint32_t rank) {
        std::vector<uint32_t> data(4);
        const tutti_call bcast = bcast_of(data);
        EXPECT_EQ(tutti_run(team, &bcast), TUTTI_HOST);
        tutti_team_rejected(team, &bcast);
        sum_up(team, rank);
        EXPECT_EQ(tutti_run(team, &bcast), TUTTI_HOST);
        sum_up(team, rank);
    });
}

TEST_P(Rejected, AComparedCallOfTheEmbeddersIsNotComparedAgain) {
    run("TUTTI_CHECK=1", [](tutti_team* team, uint32_t rank) {
        for (uint32_t turn = 0; turn < 6; ++turn) {
            EXPECT_EQ(tutti_check_foreign(team, "MPI_Alltoall"), TUTTI_OK);
            if (rank == turn % kRanks) {
                tutti_team_rejected_foreign(team, "MPI_Alltoall");
                EXPECT_EQ(tutti_check_foreign(team, "MPI_Alltoall"), TUTTI_OK);
            }
            sum_up(team, rank);
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Rejected, ::testing::Values("TUTTI_HOSTS=1", "TUTTI_HOSTS=3"));

}  // namespace
}  // namespace tutti::test
