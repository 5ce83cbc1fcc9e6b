// SPDX-License-Identifier: BSD-3-Clause
// As formulas_test.cpp, of the algorithms on a circulant graph. n blocks, or m pieces of one.
#include <gtest/gtest.h>

#include "property/totals.h"

namespace tutti::algo {
namespace {

// Träff 2024: n - 1 + ceil(log2 p) rounds, each block to each rank once. The root sends in all.
void expect_circulant(const Shape& shape, uint64_t n, const Totals& all) {
    const uint64_t p = shape.ranks;
    const uint64_t rounds = n - 1 + ceil_log2(p);
    EXPECT_EQ(all.rounds, rounds);
    // What the root sends in two rounds waits for nothing.
    EXPECT_LE(all.steps, rounds);
    EXPECT_EQ(all.messages, (p - 1) * n);
    EXPECT_EQ(all.bytes, (p - 1) * shape.bytes);
    const bool folds = shape.collective == TUTTI_REDUCE;
    EXPECT_EQ(folds ? all.bytes_sent : all.bytes_received, shape.bytes);
    EXPECT_LE(folds ? all.bytes_received : all.bytes_sent, rounds * (shape.bytes / n));
    EXPECT_EQ(all.reduced_bytes, folds ? (p - 1) * shape.bytes : 0);
}

TEST(CirculantFormulas, BcastAndReduce) {
    for (const tutti_collective collective : {TUTTI_BCAST, TUTTI_REDUCE}) {
        const Algorithm& algorithm = *find(collective, "circulant");
        for (const Rank p : rank_counts()) {
            if (p == 1) continue;
            for (const uint64_t n : {1U, 2U, 5U, 8U, 30U}) {
                const Shape shape = {.collective = collective,
                                     .ranks = p,
                                     .root = p / 3,
                                     .bytes = 24 * n,
                                     .element_bytes = 8};
                Tuning tuning;
                tuning.segment_bytes = 24;
                SCOPED_TRACE(testing::Message() << algorithm.name << ", " << p << " ranks, " << n);
                const Totals all = totals(algorithm, shape, tuning);
                EXPECT_EQ(algorithm.steps(shape, tuning), all.rounds);
                expect_circulant(shape, n, all);
                if (testing::Test::HasFailure()) return;
            }
        }
    }
}

// What a rank has folded and not sent yet, of 2 q blocks at most, and two that land.
TEST(CirculantFormulas, ReduceScratch) {
    const Algorithm& algorithm = *find(TUTTI_REDUCE, "circulant");
    Shape shape = {.collective = TUTTI_REDUCE, .ranks = 100, .bytes = 64 * 5};
    Tuning tuning;
    tuning.segment_bytes = 64;
    EXPECT_EQ(algorithm.scratch_bytes(shape, tuning), (2 + 5) * uint64_t{64});
    shape.bytes = 64 * 1000;
    EXPECT_EQ(algorithm.scratch_bytes(shape, tuning), (2 + 2 * 7) * uint64_t{64});
}

// One block of m pieces, and p - 1 short ones beside it: as many rounds as a broadcast of it.
TEST(CirculantFormulas, Allgatherv) {
    const Algorithm& algorithm = *find(TUTTI_ALLGATHERV, "circulant");
    for_every_p(TUTTI_ALLGATHERV, "circulant", [](const Shape& shape, const Totals& all) {
        const uint64_t p = shape.ranks;
        EXPECT_EQ(all.rounds, ceil_log2(p));
        EXPECT_LE(all.steps, ceil_log2(p));
        // Cut at the end of the output.
        EXPECT_LE(all.messages_sent, 2 * ceil_log2(p) - 1);
        EXPECT_EQ(all.bytes_sent, (p - 1) * shape.bytes);
        EXPECT_EQ(all.bytes_received, (p - 1) * shape.bytes);
    });
    for (const Rank p : {2U, 3U, 8U, 13U, 64U, 100U}) {
        for (const uint64_t m : {2U, 7U, 64U}) {
            Shape shape = {.collective = TUTTI_ALLGATHERV, .ranks = p, .bytes = 24 * m};
            std::vector<uint64_t> lengths(p, 24);
            lengths[p / 2] = shape.bytes;
            shape.lengths = kept(sched::OwnLengths(lengths));
            Tuning tuning;
            tuning.segment_bytes = 24;
            SCOPED_TRACE(testing::Message() << p << " ranks, " << m << " pieces");
            const Totals all = totals(algorithm, shape, tuning);
            EXPECT_EQ(all.rounds, m - 1 + ceil_log2(p));
            EXPECT_LE(all.steps, all.rounds);
            EXPECT_EQ(algorithm.steps(shape, tuning), all.rounds);
            // A piece a round, and each round's short blocks in three stretches at most.
            EXPECT_LE(all.messages_sent, all.rounds + 3 * ceil_log2(p));
            EXPECT_EQ(all.bytes, (p - 1) * shape.all_blocks_bytes());
        }
    }
}

// As many as are broadcast in pieces at most: the next longest one is a piece.
TEST(CirculantFormulas, AllgathervOfManyLongBlocks) {
    const Algorithm& algorithm = *find(TUTTI_ALLGATHERV, "circulant");
    std::vector<uint64_t> lengths(100, 1);
    for (uint64_t i = 0; i < 20; ++i) lengths[5 * i] = 1000 - 10 * i;
    const Shape shape = {.collective = TUTTI_ALLGATHERV,
                         .ranks = 100,
                         .bytes = 1000,
                         .lengths = kept(sched::OwnLengths(lengths))};
    Tuning tuning;
    tuning.segment_bytes = 8;
    EXPECT_EQ(algorithm.steps(shape, tuning), 8U);  // 880 bytes a piece: 2, 7 levels
    EXPECT_EQ(totals(algorithm, shape, tuning).bytes, 99 * shape.all_blocks_bytes());
}

}  // namespace
}  // namespace tutti::algo
