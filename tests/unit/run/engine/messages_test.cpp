// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/messages.h"

#include <gtest/gtest.h>

#include <cstring>

#include "lab/simulate/node_simulator.h"

namespace tutti::engine {
namespace {

TEST(RankList, JoinsRunsOfThreeOrMore) {
    EXPECT_EQ(rank_list({7}), "rank 7");
    EXPECT_EQ(rank_list({0, 1}), "ranks 0, 1");
    EXPECT_EQ(rank_list({0, 1, 2}), "ranks 0-2");
    EXPECT_EQ(rank_list({0, 2, 3, 4, 5, 9}), "ranks 0, 2-5, 9");
    EXPECT_EQ(rank_list({0, 1, 3, 4, 6, 7, 8}), "ranks 0, 1, 3, 4, 6-8");
    EXPECT_EQ(rank_list({4'294'967'293, 4'294'967'294, 4'294'967'295}),
              "ranks 4294967293-4294967295");
}

CallCard card(tutti_collective collective, uint32_t root, uint32_t op, uint64_t bytes,
              const char* label = "") {
    CallCard card;
    card.collective = collective;
    card.root = root;
    card.op = op;
    card.bytes = bytes;
    std::strncpy(card.label, label, sizeof(card.label) - 1);
    return card;
}

TEST(Mismatch, GroupsRanksThatAgree) {
    const std::vector<CallCard> cards = {card(TUTTI_REDUCE, 1, TUTTI_MAX, 64),
                                         card(TUTTI_REDUCE, 0, TUTTI_MAX, 64),
                                         card(TUTTI_REDUCE, 1, TUTTI_MAX, 64),
                                         card(TUTTI_BARRIER, 0, 0, 0),
                                         card(TUTTI_ALLGATHER, 0, 0, 12),
                                         card(TUTTI_COLLECTIVE_COUNT, 0, 0, 0, "alltoall"),
                                         card(TUTTI_ALLREDUCE, 0, TUTTI_OP_USER, 8)};
    EXPECT_EQ(mismatch_message("world", 9, cards),
              "mismatch on world of 7 ranks (exchange 9): ranks 0, 2: reduce root 1 MAX 64 bytes; "
              "rank 1: reduce root 0 MAX 64 bytes; rank 3: barrier; rank 4: allgather 12 bytes; "
              "rank 5: alltoall; rank 6: allreduce user operator 8 bytes");
}

TEST(Mismatch, TypesAreNamedWhereTheyAreTold) {
    std::vector<CallCard> cards(3, card(TUTTI_BCAST, 1, 0, 64));
    cards[1].dtype = TUTTI_DOUBLE;
    cards[2].dtype = TUTTI_INT64;
    const std::string text = mismatch_message("world", 4, cards);
    EXPECT_NE(text.find("rank 0: bcast root 1 64 bytes; rank 1: bcast root 1 64 bytes of double; "
                        "rank 2: bcast root 1 64 bytes of int64"),
              std::string::npos)
        << text;
}

TEST(Mismatch, ALabelMayFillItsPlace) {
    CallCard long_one = card(TUTTI_COLLECTIVE_COUNT, 0, 0, 0);
    std::memset(long_one.label, 'x', sizeof(long_one.label));
    const std::string text = mismatch_message("w", 1, {long_one, card(TUTTI_BARRIER, 0, 0, 0)});
    EXPECT_NE(text.find("rank 0: " + std::string(sizeof(long_one.label), 'x') + "; rank 1"),
              std::string::npos);
}

// Three ranks on one slice; what each has done is what the others can know of it.
struct Stalled {
    simulate::SimTeam team{.ranks = 3, .chunk_bytes = 256, .layout = {}};
    simulate::SimSlice memory{3, 256};
    std::vector<node::Team> ranks;
    std::vector<node::Op> ops{3};
    Stalled() {
        for (uint32_t rank = 0; rank < 3; ++rank)
            ranks.push_back(simulate::sim_rank(team, memory, rank));
    }
    void enter(uint32_t rank, const node::Call& call) {
        node::start(ranks[rank], ops[rank], call);
        node::step(ranks[rank], ops[rank]);
    }
    std::string message(uint32_t rank, uint64_t waited_ns) {
        const node::Op& op = ops[rank];
        const Stall stall{"world", rank, waited_ns, op.call.collective, op.number};
        return stall_message(stall, node::not_arrived(ranks[rank], op));
    }
};

TEST(Stall, TellsWhoIsMissingFromWhoWaits) {
    const Stall stall{"world", 4, 2'000'000'000, TUTTI_BCAST, 7};
    const std::string head =
        "rank 4 of world has waited 2.0 s in bcast (call 7 of this communicator): ";
    EXPECT_EQ(stall_message(stall, StallAcross{{"rank 0 (on a)", "rank 2 (on b)"},
                                               {"rank 1 (on a)"},
                                               {"rank 3 (on b)"}}),
              head +
                  "not arrived: rank 0 (on a), rank 2 (on b); waiting too: rank 1 (on a); in "
                  "another call: rank 3 (on b)");
    EXPECT_EQ(stall_message(stall, StallAcross{{}, {"rank 1 (on a)"}, {}}),
              head + "waiting too: rank 1 (on a)");
    EXPECT_EQ(stall_message(stall, StallAcross{{"rank 0 (on a)"}, {}, {}, false}),
              head + "waits for messages of rank 0 (on a)");
    EXPECT_EQ(stall_message(stall, StallAcross{}),
              head + "all ranks have arrived, still waiting for data");
}

TEST(Stall, NamesWhoHasNotArrived) {
    Stalled stalled;
    stalled.enter(1, node::Call{});
    EXPECT_EQ(stalled.message(1, 2'540'000'000),
              "rank 1 of world has waited 2.5 s in barrier (call 1 of this communicator): not "
              "arrived: ranks 0, 2");
    stalled.enter(2, node::Call{});
    EXPECT_EQ(node::not_arrived(stalled.ranks[1], stalled.ops[1]), std::vector<node::Rank>{0});
}

// A reader leaves no trace in the slice by itself; announcing does.
TEST(Stall, AnnouncingIsEnough) {
    Stalled stalled;
    std::vector<std::byte> payload(8);
    node::Call call;
    call.collective = TUTTI_BCAST;
    call.recv = payload.data();
    call.bytes = payload.size();
    stalled.enter(1, call);
    stalled.enter(2, call);
    EXPECT_EQ(node::not_arrived(stalled.ranks[1], stalled.ops[1]), (std::vector<node::Rank>{0, 2}));
    node::announce(stalled.ranks[2], stalled.ops[2]);
    EXPECT_EQ(node::not_arrived(stalled.ranks[1], stalled.ops[1]), std::vector<node::Rank>{0});
}

TEST(Stall, SaysWhenAllHaveArrived) {
    Stalled stalled;
    for (uint32_t rank = 0; rank < 3; ++rank) stalled.enter(rank, node::Call{});
    const std::string text = stalled.message(0, 1);
    EXPECT_NE(text.find("all ranks have arrived, still waiting for data"), std::string::npos);
}

}  // namespace
}  // namespace tutti::engine
