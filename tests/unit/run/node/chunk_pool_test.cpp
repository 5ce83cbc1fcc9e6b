// SPDX-License-Identifier: BSD-3-Clause
// Which chunks of a pool are free, and when.
#include "run/node/chunk_pool.h"

#include <gtest/gtest.h>

#include "lab/simulate/node_simulator.h"

namespace tutti::test {
namespace {

using node::ChunkPool;
using node::kChunksOut;
using node::kNoRank;

// Two lean teams of three ranks, seen by rank 0, whose pool has 8 places.
class Pool : public testing::Test {
  protected:
    static constexpr uint64_t kNothing = 0;
    simulate::SimSlice memory_{3, 192, simulate::SimLean{.teams = 2}};
    ChunkPool& pool_ = *memory_.pool(0);
    ChunkPool::Part& first_ = pool_.join(memory_.slice(0), 0);
    ChunkPool::Part& second_ = pool_.join(memory_.slice(1), 0);

    // All chunks of the pool, by the first team.
    void fill(node::Rank reader = kNoRank) {
        for (uint64_t index = 0; index < kChunksOut; ++index) {
            ASSERT_TRUE(pool_.claim(first_, index, kNothing, reader));
        }
    }
    void consume(uint32_t team, node::Rank rank, uint64_t chunks) {
        memory_.slice(team).done(rank).chunks_consumed.store(chunks);
    }
    bool has_room() { return pool_.claim(second_, 0, kNothing, kNoRank); }
};

TEST_F(Pool, WaitsForAllReaders) {
    fill();
    EXPECT_FALSE(has_room());
    consume(0, 1, 1);
    EXPECT_FALSE(has_room());
    consume(0, 2, 1);
    EXPECT_TRUE(has_room());
    // That one alone; and asked again, it is still the same.
    EXPECT_TRUE(has_room());
    EXPECT_FALSE(pool_.claim(second_, 1, kNothing, kNoRank));
}

TEST_F(Pool, WaitsForTheOnlyReader) {
    fill(2);
    consume(0, 1, kChunksOut);
    EXPECT_FALSE(has_room());
    consume(0, 2, 1);
    EXPECT_TRUE(has_room());
}

// What the call's own guard knows to be read need not be looked for.
TEST_F(Pool, HearsWhatIsRead) {
    fill();
    EXPECT_TRUE(pool_.claim(first_, kChunksOut, 1, kNoRank));
    EXPECT_FALSE(has_room());
}

TEST_F(Pool, TellsWhereAChunkIs) {
    fill();
    consume(0, 1, 3);
    consume(0, 2, 3);
    ASSERT_TRUE(has_room());
    const node::Slice first = memory_.slice(0);
    const node::Slice second = memory_.slice(1);
    EXPECT_EQ(second.chunk(0, 0), first.chunk(0, 0));
    EXPECT_NE(first.chunk(0, 3), first.chunk(0, 4));
}

// Whatever their words say, which are another team's by then.
TEST_F(Pool, IsFreeWhenAllHaveLeft) {
    fill();
    pool_.leave(first_);
    EXPECT_FALSE(has_room());
    memory_.slice(0).entry_state(0).is_left.store(1);
    EXPECT_TRUE(has_room());
}

TEST_F(Pool, IsFreeWhenTheEntryIsAnothersNow) {
    fill();
    pool_.leave(first_);
    pool_.end(memory_.slice(0).area(0));
    EXPECT_TRUE(has_room());
    pool_.join(memory_.slice(0), 0);
    EXPECT_TRUE(pool_.claim(second_, 1, kNothing, kNoRank));
}

TEST_F(Pool, IsLostWhenMembersGaveUp) {
    fill();
    EXPECT_FALSE(pool_.is_lost());
    memory_.slice(0).header().gave_up.store(2);
    EXPECT_TRUE(pool_.is_lost());
    // One is too few for a call of another team, which may have eight out.
    consume(0, 1, 1);
    consume(0, 2, 1);
    EXPECT_TRUE(pool_.is_lost());
    consume(0, 1, kChunksOut);
    consume(0, 2, kChunksOut);
    EXPECT_FALSE(pool_.is_lost());
}

// The call ends in an error instead of waiting for good.
TEST_F(Pool, AnEndWhereItIsLost) {
    fill();
    memory_.slice(0).header().gave_up.store(2);
    const simulate::SimTeam shape{
        .ranks = 3, .chunk_bytes = 192, .layout = {}, .lean = simulate::SimLean{.teams = 2}};
    node::Team team = simulate::sim_rank(shape, memory_, 0, 1);
    std::vector<std::byte> data(4000);
    node::Call call;
    call.collective = TUTTI_BCAST;
    call.recv = data.data();
    call.bytes = data.size();
    node::Op op;
    node::start(team, op, call);
    EXPECT_EQ(node::step(team, op), Step::kBlocked);
    EXPECT_TRUE(op.lacks_chunks);
    // They are read, after all.
    consume(0, 1, kChunksOut);
    consume(0, 2, kChunksOut);
    EXPECT_EQ(node::step(team, op), Step::kAdvanced);
    EXPECT_FALSE(op.lacks_chunks);
}

}  // namespace
}  // namespace tutti::test
