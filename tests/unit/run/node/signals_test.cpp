// SPDX-License-Identifier: BSD-3-Clause
// The two halves of a barrier: whoever must wait does, and nobody else.
#include <gtest/gtest.h>

#include <vector>

#include "lab/simulate/node_simulator.h"
#include "sim/script.h"

namespace tutti::node {
namespace {

// A team whose ranks move when the test says so.
struct Members {
    explicit Members(const simulate::SimTeam& shape) : memory(shape.ranks, shape.chunk_bytes) {
        for (Rank rank = 0; rank < shape.ranks; ++rank) {
            teams.push_back(simulate::sim_rank(shape, memory, rank));
        }
        ops.resize(shape.ranks);
        is_begun.resize(shape.ranks);
        is_done.resize(shape.ranks);
    }
    void begin_none() {
        is_begun.assign(teams.size(), false);
        is_done.assign(teams.size(), false);
    }
    void begin(Rank rank, tutti_collective half, Rank root) {
        Call call;
        call.collective = half;
        call.root = root;
        call.is_signal = true;
        EXPECT_FALSE(call.is_empty());
        start(teams[rank], ops[rank], call);
        is_begun[rank] = true;
    }
    void move_all() {
        for (size_t turn = 0; turn < 4 * teams.size(); ++turn) {
            for (size_t rank = 0; rank < teams.size(); ++rank) {
                if (!is_begun[rank] || is_done[rank]) continue;
                is_done[rank] = step(teams[rank], ops[rank]) == Step::kDone;
            }
        }
    }

    simulate::SimSlice memory;
    std::vector<Team> teams;
    std::vector<Op> ops;
    std::vector<bool> is_begun;
    std::vector<bool> is_done;
};

// Calls of no bytes wait for nobody: a rank may be so many of them ahead that a note of its has the
// low bits of the call that another one is in.
TEST(Signals, WhoIsFarAheadDoesNotDisagree) {
    simulate::SimTeam shape;
    shape.ranks = 3;
    Members members(shape);
    members.begin_none();
    members.begin(0, TUTTI_REDUCE, 0);
    members.begin(1, TUTTI_REDUCE, 0);
    members.move_all();
    ASSERT_TRUE(members.is_done[1]);
    ASSERT_FALSE(members.is_done[0]);  // it waits for rank 2
    Call nothing;
    nothing.collective = TUTTI_BCAST;
    for (int i = 0; i < 600; ++i) {
        pass(members.teams[1], nothing);
        ASSERT_EQ(find_disagreement(members.teams[0], members.ops[0]).rank, kNoRank) << i;
    }
}

TEST(Signals, TheRootWaitsForAllAndAllWaitForTheRoot) {
    Prng prng(1);
    for (const uint32_t ranks : {2u, 3u, 5u, 9u}) {
        for (const bool is_flat : {true, false}) {
            simulate::SimTeam shape;
            shape.ranks = ranks;
            while (!is_flat && shape.layout.flat) shape.layout = test::random_tree(prng, ranks);
            for (Rank root = 0; root < ranks; ++root) {
                SCOPED_TRACE(std::to_string(ranks) + " ranks, root " + std::to_string(root) +
                             (is_flat ? ", flat" : ", tree"));
                // The last one comes when all others have done what they can; round after round, so
                // that slots are used again.
                Members members(shape);
                for (Rank turn = 0; turn < 40; ++turn) {
                    const Rank last = (root + 1 + turn % (ranks - 1)) % ranks;
                    members.begin_none();
                    for (Rank rank = 0; rank < ranks; ++rank) {
                        if (rank != last) members.begin(rank, TUTTI_REDUCE, root);
                    }
                    members.move_all();
                    ASSERT_FALSE(members.is_done[root]);
                    if (is_flat) {
                        for (Rank rank = 0; rank < ranks; ++rank) {
                            ASSERT_EQ(members.is_done[rank], rank != root && rank != last);
                        }
                    }
                    members.begin(last, TUTTI_REDUCE, root);
                    members.move_all();
                    ASSERT_EQ(members.is_done, std::vector<bool>(ranks, true));

                    members.begin_none();
                    for (Rank rank = 0; rank < ranks; ++rank) {
                        if (rank != root) members.begin(rank, TUTTI_BCAST, root);
                    }
                    members.move_all();
                    for (Rank rank = 0; rank < ranks; ++rank) {
                        if (rank != root) {
                            ASSERT_FALSE(members.is_done[rank]);
                        }
                    }
                    members.begin(root, TUTTI_BCAST, root);
                    members.move_all();
                    ASSERT_EQ(members.is_done, std::vector<bool>(ranks, true));
                }
            }
        }
    }
}

}  // namespace
}  // namespace tutti::node
