// SPDX-License-Identifier: BSD-3-Clause
// Rounds, messages and bytes of every algorithm are exactly what its source says. Letters as in
// the algorithms' files: p ranks, n bytes of the vector or of one block, q = log2 p.
#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "lab/check/count.h"
#include "property/totals.h"

namespace tutti::algo {
namespace {

TEST(Formulas, BarrierDissemination) {
    for_every_p(TUTTI_BARRIER, "dissemination", [](const Shape& shape, const Totals& all) {
        EXPECT_EQ(all.steps, ceil_log2(shape.ranks));  // Kini 2003, section 4.1.2
        EXPECT_EQ(all.messages, shape.ranks * ceil_log2(shape.ranks));
        EXPECT_EQ(all.messages_sent, ceil_log2(shape.ranks));
        EXPECT_EQ(all.bytes, 0U);
    });
}

TEST(Formulas, BarrierDirect) {
    const Algorithm& algorithm = *find(TUTTI_BARRIER, "direct");
    for (Rank p = 2; p <= 33; ++p) {
        const Shape shape = {.collective = TUTTI_BARRIER, .ranks = p};
        ASSERT_EQ(algorithm.obstacle(shape), "");
        const Totals all = totals(algorithm, shape);
        EXPECT_EQ(all.steps, 1U);  // Kini 2003, section 3.1
        EXPECT_EQ(all.messages, p * (p - 1));
        EXPECT_EQ(all.messages_sent, p - 1);
    }
    const Shape more = {.collective = TUTTI_BARRIER, .ranks = 34};
    EXPECT_EQ(algorithm.obstacle(more), "has at most 33 participants");
}

// Kini 2003, section 3.1: one addition of each but the one that has the counter.
TEST(Formulas, BarrierCounter) {
    for (const char* name : {"counter", "counter_multicast"}) {
        const Algorithm& algorithm = *find(TUTTI_BARRIER, name);
        for (const Rank p : rank_counts()) {
            const Shape shape = {.collective = TUTTI_BARRIER, .ranks = p, .has_multicast = true};
            const Totals all = totals(algorithm, shape);
            SCOPED_TRACE(testing::Message() << name << ", " << p << " ranks");
            uint64_t counted = 0;
            for (Rank rank = 0; rank < p; ++rank) {
                const auto program = algorithm.make(shape, rank, {});
                sched::Round round;
                uint64_t own = 0;
                for (uint64_t k = 0; k < program->extent().rounds; ++k) {
                    program->read(0, k, round);
                    for (const sched::Operation& one : round) {
                        const bool is_send = one.kind == sched::OperationKind::kSend;
                        own += one.is_counted && is_send ? 1 : 0;
                    }
                }
                EXPECT_EQ(own, rank == 0 ? 0U : 1U);
                counted += own;
            }
            EXPECT_EQ(counted, p - uint64_t{1});
            EXPECT_EQ(all.messages, algorithm.has_multicast ? counted : 2 * counted);
            if (p > 1 && p <= 25) {
                EXPECT_EQ(all.steps, 2U);
            }
        }
    }
}

// One addition of each, where there is a word for it; without one the messages of the tree.
TEST(Formulas, BarrierAdaptiveCounter) {
    const Algorithm& algorithm = *find(TUTTI_BARRIER, "adaptive_counter");
    const Algorithm& by_messages = *find(TUTTI_BARRIER, "adaptive_multicast");
    for (const Rank p : rank_counts()) {
        const Shape shape = {.collective = TUTTI_BARRIER, .ranks = p, .has_multicast = true};
        const Totals all = totals(algorithm, shape);
        const Totals other = totals(by_messages, shape);
        EXPECT_EQ(all.steps, other.steps);
        EXPECT_EQ(all.messages, other.messages);
        for (Rank rank = 0; rank < p; ++rank) {
            const auto program = algorithm.make(shape, rank, {});
            ASSERT_EQ(program->extent().rounds, 1U);
            sched::Round round;
            program->read(0, 0, round);
            uint32_t counted = 0;
            for (const sched::Operation& one : round) counted += one.is_counted ? 1 : 0;
            EXPECT_EQ(counted, 1U);
            EXPECT_TRUE(round[round.size() - 1].is_counted);
        }
    }
}

TEST(Formulas, BarrierPairwise) {
    for_every_p(TUTTI_BARRIER, "pairwise", [](const Shape& shape, const Totals& all) {
        // Section 4.1.1 says ceil(log2 N) + 2 and section 5.2.1 floor(log2 N) + 2 for N that is no
        // power of two; its example of 5 nodes takes floor(log2 5) + 2 = 4 steps in lockstep. With
        // few guests no chain of messages is as long, since a first exchange needs no answer.
        const uint64_t power = std::bit_floor(shape.ranks);
        const uint64_t guests = shape.ranks - power;
        EXPECT_EQ(all.rounds, floor_log2(power) + (guests > 0 ? 2 : 0));
        EXPECT_LE(all.steps, all.rounds);
        if (guests == 0 || guests == power - 1) {
            EXPECT_EQ(all.steps, all.rounds);
        }
        EXPECT_EQ(all.messages, power * floor_log2(power) + 2 * guests);
    });
}

// ceil(log_{l+1} N), and (l+1) to that power.
std::pair<uint64_t, uint64_t> tree_levels(Rank p, uint32_t l) {
    uint64_t levels = 0;
    uint64_t power = 1;
    for (; power < p; power *= l + 1) ++levels;
    return {levels, power};
}

TEST(Formulas, BarrierTree) {
    for (const uint32_t l : {1U, 3U, 7U, 15U}) {
        Tuning tuning;
        tuning.fan_in = l;
        for (const Rank p : rank_counts()) {
            const Shape shape = {.collective = TUTTI_BARRIER, .ranks = p};
            const Totals all = totals(*find(TUTTI_BARRIER, "tree"), shape, tuning);
            // ceil(log_{l+1} N) levels each way, section 4.1.3.
            const auto [levels, power] = tree_levels(p, l);
            SCOPED_TRACE(testing::Message() << p << " ranks, fan-in " << l);
            EXPECT_LE(all.steps, 2 * levels);
            if (power == p) {
                EXPECT_EQ(all.steps, 2 * levels);
            }
            EXPECT_EQ(all.messages, 2 * (uint64_t{p} - 1));
            EXPECT_LE(all.messages_sent, l * levels + 1);
        }
    }
}

TEST(Formulas, BarrierBinomial) {
    for_every_p(TUTTI_BARRIER, "binomial", [](const Shape& shape, const Totals& all) {
        // Fan-in 1 of the tree's: ceil(log2 N) levels each way, section 4.1.3.
        EXPECT_LE(all.steps, 2 * ceil_log2(shape.ranks));
        if (std::has_single_bit(shape.ranks)) {
            EXPECT_EQ(all.steps, 2 * floor_log2(shape.ranks));
        }
        EXPECT_EQ(all.messages, 2 * (uint64_t{shape.ranks} - 1));
        // The root's, one to each of its children.
        EXPECT_EQ(all.messages_sent, std::max<uint64_t>(ceil_log2(shape.ranks), 1));
        EXPECT_EQ(all.bytes, 0U);
    });
}

// Kini 2003, sections 4.1.3 and 5.2.2: as many levels up, one step down.
TEST(Formulas, GatherMulticast) {
    for (const uint32_t l : {1U, 3U, 7U, 15U}) {
        Tuning tuning;
        tuning.fan_in = l;
        for (const Rank p : rank_counts()) {
            Shape shape = {.collective = TUTTI_BARRIER, .ranks = p, .has_multicast = true};
            const auto [levels, power] = tree_levels(p, l);
            for (const uint64_t n : {0U, 24U}) {
                shape.collective = n == 0 ? TUTTI_BARRIER : TUTTI_ALLREDUCE;
                shape.bytes = n;
                const Totals all =
                    totals(*find(shape.collective, "gather_multicast"), shape, tuning);
                SCOPED_TRACE(testing::Message() << p << " ranks, fan-in " << l << ", bytes " << n);
                EXPECT_LE(all.steps, levels + 1);
                if (power == p) {
                    EXPECT_EQ(all.steps, levels + 1);
                }
                EXPECT_EQ(all.messages, p - uint64_t{1});
                EXPECT_EQ(all.bytes, (p - uint64_t{1}) * n);
                EXPECT_EQ(all.reduced_bytes, (p - uint64_t{1}) * n);
                EXPECT_LE(all.messages_sent, 1U);
                EXPECT_EQ(all.multicasts, 1U);
                EXPECT_EQ(all.multicast_bytes, n);
            }
        }
    }
}

TEST(Formulas, BcastMulticast) {
    for_every_p(TUTTI_BCAST, "multicast", [](const Shape& shape, const Totals& all) {
        EXPECT_EQ(all.steps, 1U);
        EXPECT_EQ(all.messages, 0U);
        EXPECT_EQ(all.multicasts, 1U);
        EXPECT_EQ(all.multicast_bytes, shape.bytes);
        EXPECT_EQ(all.multicast_bytes_received, shape.bytes);
    });
}

TEST(Formulas, BcastBinomial) {
    for_every_p(TUTTI_BCAST, "binomial", [](const Shape& shape, const Totals& all) {
        EXPECT_LE(all.steps, ceil_log2(shape.ranks));
        if (std::has_single_bit(shape.ranks)) {
            EXPECT_EQ(all.steps, floor_log2(shape.ranks));
        }
        EXPECT_EQ(all.messages, shape.ranks - 1);
        EXPECT_EQ(all.bytes, (shape.ranks - 1) * shape.bytes);
        EXPECT_EQ(all.bytes_received, shape.bytes);
        EXPECT_LE(all.bytes_sent, ceil_log2(shape.ranks) * shape.bytes);
    });
}

TEST(Formulas, BcastChain) {
    for_every_p(TUTTI_BCAST, "chain", [](const Shape& shape, const Totals& all) {
        EXPECT_EQ(all.steps, shape.ranks - 1);
        EXPECT_EQ(all.messages, shape.ranks - 1);
        EXPECT_EQ(all.bytes_sent, shape.bytes);
        EXPECT_EQ(all.bytes_received, shape.bytes);
    });
}

// As if all were there at once: a word of each and the answer, then pieces down a tree.
TEST(Formulas, BcastAdaptive) {
    const Algorithm& algorithm = *find(TUTTI_BCAST, "adaptive");
    for (const uint32_t f : {2U, 3U, 14U}) {
        for (const Rank p : rank_counts()) {
            if (p == 1 || p > sched::kRoundOpsMax) continue;
            const Shape shape = {
                .collective = TUTTI_BCAST, .ranks = p, .root = p / 2, .bytes = 1000};
            Tuning tuning;
            tuning.fan_in = f;
            tuning.segment_bytes = 300;  // 4 pieces
            const Totals all = totals(algorithm, shape, tuning);
            SCOPED_TRACE(testing::Message() << p << " ranks, fan-in " << f);
            uint64_t depth = 0;
            for (uint64_t level = 1, reached = 1; reached < p; reached += level *= f) ++depth;
            EXPECT_EQ(all.steps, 2 + depth);
            EXPECT_EQ(algorithm.steps(shape, tuning), 2 + depth);
            EXPECT_EQ(all.messages, (uint64_t{p} - 1) * (2 + 4));
            EXPECT_EQ(all.bytes, (uint64_t{p} - 1) * (2 * sched::kFeedMessageBytes + 1000));
            EXPECT_LE(all.messages_sent, p - 1 + 4 * f);
            EXPECT_EQ(all.reduced_bytes, 0U);
        }
    }
}

TEST(Formulas, BcastScatterAllgather) {
    for_every_p(TUTTI_BCAST, "scatter_allgather", [](const Shape& shape, const Totals& all) {
        const uint64_t p = shape.ranks;
        EXPECT_LE(all.steps, ceil_log2(p) + p - 1);
        // Nobody receives a byte twice, the root none.
        EXPECT_EQ(all.bytes, (p - 1) * shape.bytes);
        EXPECT_EQ(all.bytes_received, shape.bytes);
        EXPECT_LT(all.bytes_sent, 2 * shape.bytes);
    });
}

TEST(Formulas, ReduceBinomial) {
    for_every_p(TUTTI_REDUCE, "binomial", [](const Shape& shape, const Totals& all) {
        EXPECT_LE(all.steps, ceil_log2(shape.ranks));
        if (std::has_single_bit(shape.ranks)) {
            EXPECT_EQ(all.steps, floor_log2(shape.ranks));
        }
        EXPECT_EQ(all.messages, shape.ranks - 1);
        EXPECT_EQ(all.bytes, (shape.ranks - 1) * shape.bytes);
        EXPECT_EQ(all.bytes_sent, shape.bytes);
        EXPECT_EQ(all.reduced_bytes, (shape.ranks - 1) * shape.bytes);
    });
}

TEST(Formulas, ReduceChain) {
    for_every_p(TUTTI_REDUCE, "chain", [](const Shape& shape, const Totals& all) {
        const uint64_t hand_over = shape.root == shape.ranks - 1 ? 0 : 1;
        EXPECT_EQ(all.steps, shape.ranks - 1 + hand_over);
        EXPECT_EQ(all.messages, shape.ranks - 1 + hand_over);
        EXPECT_EQ(all.bytes_sent, shape.bytes);
        EXPECT_EQ(all.reduced_bytes, (shape.ranks - 1) * shape.bytes);
    });
}

TEST(Formulas, ReduceRotatedChain) {
    for_every_p(TUTTI_REDUCE, "rotated_chain", [](const Shape& shape, const Totals& all) {
        EXPECT_EQ(all.steps, shape.ranks - 1);
        EXPECT_EQ(all.messages, shape.ranks - 1);
        EXPECT_EQ(all.bytes_sent, shape.bytes);
        EXPECT_EQ(all.bytes_received, shape.bytes);
        EXPECT_EQ(all.reduced_bytes, (shape.ranks - 1) * shape.bytes);
    });
}

TEST(Formulas, ReduceRabenseifner) {
    for_every_p(TUTTI_REDUCE, "rabenseifner", [](const Shape& shape, const Totals& all) {
        const uint64_t p = shape.ranks;
        const uint64_t power = std::bit_floor(p);
        const uint64_t q = floor_log2(power);
        const uint64_t guests = p - power;
        // Thakur, Rabenseifner, Gropp 2005, section 3.5: log2 p steps each way.
        EXPECT_EQ(all.steps, 2 * q + (guests > 0 ? 1 : 0));
        EXPECT_EQ(all.messages, power * q + power - 1 + guests);
        EXPECT_EQ(all.reduced_bytes, (p - 1) * shape.bytes);
        if (guests > 0) return;
        // (p - 1) / p n each way: all ranks that halve, and half of it in each step of the gather.
        EXPECT_EQ(all.bytes, (p - 1) * shape.bytes + q * shape.bytes / 2);
        EXPECT_EQ(all.bytes_received, 2 * (p - 1) * shape.bytes / p);
        EXPECT_LE(all.bytes_sent, (p - 1) * shape.bytes / p + shape.bytes / 2);
    });
}

TEST(Formulas, AllreducePairwise) {
    for_every_p(TUTTI_ALLREDUCE, "pairwise", [](const Shape& shape, const Totals& all) {
        const uint64_t power = std::bit_floor(shape.ranks);
        const uint64_t guests = shape.ranks - power;
        // Kini 2003, section 5.2.1.
        EXPECT_EQ(all.steps, floor_log2(power) + (guests > 0 ? 2 : 0));
        EXPECT_EQ(all.messages, power * floor_log2(power) + 2 * guests);
        EXPECT_EQ(all.bytes, all.messages * shape.bytes);
        EXPECT_EQ(all.bytes_sent, (floor_log2(power) + (guests > 0 ? 1 : 0)) * shape.bytes);
        EXPECT_EQ(all.reduced_bytes, (power * floor_log2(power) + guests) * shape.bytes);
    });
}

TEST(Formulas, AllreduceRabenseifner) {
    for_every_p(TUTTI_ALLREDUCE, "rabenseifner", [](const Shape& shape, const Totals& all) {
        const uint64_t p = shape.ranks;
        const uint64_t power = std::bit_floor(p);
        const uint64_t q = floor_log2(power);
        EXPECT_EQ(all.steps, 2 * q + (power < p ? 2 : 0));
        EXPECT_EQ(all.messages, power * 2 * q + 2 * (p - power));
        EXPECT_EQ(all.bytes, 2 * (p - 1) * shape.bytes);
        if (power == p) {
            EXPECT_EQ(all.bytes_sent, 2 * (p - 1) * shape.bytes / p);
        }
        EXPECT_EQ(all.reduced_bytes, (p - 1) * shape.bytes);
    });
}

TEST(Formulas, AllreduceRing) {
    for_every_p(TUTTI_ALLREDUCE, "ring", [](const Shape& shape, const Totals& all) {
        const uint64_t p = shape.ranks;
        EXPECT_EQ(all.steps, 2 * (p - 1));
        EXPECT_EQ(all.messages_sent, 2 * (p - 1));
        EXPECT_EQ(all.messages, p * 2 * (p - 1));
        // The lower bound: Patarasuk and Yuan 2007, Lemma 2.
        EXPECT_EQ(all.bytes_sent, 2 * (p - 1) * shape.bytes / p);
        EXPECT_EQ(all.bytes_received, 2 * (p - 1) * shape.bytes / p);
        EXPECT_EQ(all.reduced_bytes, (p - 1) * shape.bytes);
    });
}

TEST(Formulas, AllreduceMulticast) {
    for_every_p(TUTTI_ALLREDUCE, "multicast", [](const Shape& shape, const Totals& all) {
        const uint64_t p = shape.ranks;
        // Shares are short: 32 of them are under way at a time.
        EXPECT_EQ(all.steps, p - 1 + (p + 31) / 32);
        EXPECT_EQ(all.messages, p * (p - 1));
        EXPECT_EQ(all.bytes_sent, (p - 1) * shape.bytes / p);
        EXPECT_EQ(all.multicasts, p);
        EXPECT_EQ(all.multicast_bytes, shape.bytes);
        // Down to a rank no more than around the ring all the way.
        EXPECT_EQ(all.bytes_received + all.multicast_bytes_received, 2 * (p - 1) * shape.bytes / p);
        EXPECT_EQ(all.reduced_bytes, (p - 1) * shape.bytes);
    });
}

TEST(Formulas, AllreduceChain) {
    for_every_p(TUTTI_ALLREDUCE, "chain", [](const Shape& shape, const Totals& all) {
        EXPECT_EQ(all.steps, 2 * (shape.ranks - 1));
        EXPECT_EQ(all.messages, 2 * (shape.ranks - 1));
        EXPECT_EQ(all.bytes_sent, (shape.ranks == 2 ? 1 : 2) * shape.bytes);
        EXPECT_EQ(all.reduced_bytes, (shape.ranks - 1) * shape.bytes);
    });
}

TEST(Formulas, AllreduceBinomial) {
    for_every_p(TUTTI_ALLREDUCE, "binomial", [](const Shape& shape, const Totals& all) {
        // A reduction and a broadcast: Patarasuk and Yuan 2007, section 4.
        const uint64_t p = shape.ranks;
        EXPECT_LE(all.steps, 2 * ceil_log2(p));
        if (std::has_single_bit(p)) {
            EXPECT_EQ(all.steps, 2 * floor_log2(p));
        }
        EXPECT_EQ(all.messages, 2 * (p - 1));
        EXPECT_EQ(all.bytes, 2 * (p - 1) * shape.bytes);
        // The root sends to each of its children, others up once and to fewer children.
        EXPECT_EQ(all.bytes_sent, std::max<uint64_t>(ceil_log2(p), 1) * shape.bytes);
        EXPECT_EQ(all.bytes_received, ceil_log2(p) * shape.bytes);
        EXPECT_EQ(all.reduced_bytes, (p - 1) * shape.bytes);
    });
}

TEST(Formulas, Direct) {
    for (const tutti_collective collective : {TUTTI_GATHER, TUTTI_SCATTER}) {
        for_every_p(collective, "direct", [&](const Shape& shape, const Totals& all) {
            const uint64_t p = shape.ranks;
            // 32 receives a round, two rounds open at a time.
            const uint64_t rounds = (p - 1 + 31) / 32;
            EXPECT_EQ(all.steps, (rounds + 1) / 2);
            EXPECT_EQ(all.messages, p - 1);
            EXPECT_EQ(all.bytes, (p - 1) * shape.bytes);
            const bool is_gather = collective == TUTTI_GATHER;
            EXPECT_EQ(is_gather ? all.bytes_received : all.bytes_sent, (p - 1) * shape.bytes);
            EXPECT_EQ(is_gather ? all.bytes_sent : all.bytes_received, shape.bytes);
        });
    }
}

TEST(Formulas, BinomialBlocks) {
    for (const tutti_collective collective : {TUTTI_GATHER, TUTTI_SCATTER}) {
        for_every_p(collective, "binomial", [&](const Shape& shape, const Totals& all) {
            const uint64_t p = shape.ranks;
            EXPECT_LE(all.steps, ceil_log2(p));
            EXPECT_EQ(all.messages, p - 1);
            EXPECT_EQ(collective == TUTTI_GATHER ? all.bytes_received : all.bytes_sent,
                      (p - 1) * shape.bytes);
            if (collective == TUTTI_GATHER) {
                EXPECT_LE(all.bytes_sent, (p + 1) / 2 * shape.bytes);
            }
            if (!std::has_single_bit(p)) return;
            EXPECT_EQ(all.steps, floor_log2(p));
            EXPECT_EQ(all.bytes, p / 2 * floor_log2(p) * shape.bytes);
        });
    }
}

TEST(Formulas, AllgatherRing) {
    for (const tutti_collective form : {TUTTI_ALLGATHER, TUTTI_ALLGATHERV}) {
        for_every_p(form, "ring", [](const Shape& shape, const Totals& all) {
            const uint64_t p = shape.ranks;
            EXPECT_EQ(all.steps, p - 1);
            EXPECT_EQ(all.messages_sent, p - 1);
            EXPECT_EQ(all.bytes_sent, (p - 1) * shape.bytes);
            EXPECT_EQ(all.bytes, p * (p - 1) * shape.bytes);
        });
    }
}

TEST(Formulas, AllgatherMulticast) {
    for (const uint64_t m : {1U, 2U, 4U}) {
        for (const uint32_t under_way : {1U, 2U, 4U, 32U}) {
            const auto check = [&](const Shape& shape, const Totals& all) {
                const uint64_t p = shape.ranks;
                SCOPED_TRACE(testing::Message() << m << " pieces, " << under_way << " under way");
                EXPECT_EQ(all.messages, 0U);
                EXPECT_EQ(all.multicasts, p * m);
                EXPECT_EQ(all.multicasts_sent, m);
                EXPECT_EQ(all.multicast_bytes, p * shape.bytes);
                EXPECT_EQ(all.multicast_bytes_received, (p - 1) * shape.bytes);
                EXPECT_EQ(all.rounds, (p * m + under_way - 1) / under_way);
                // One after the other, as many at a time as may be under way. What a rank has to
                // send at once has no order among itself.
                EXPECT_LE(all.steps, all.rounds);
                if (m <= under_way) {
                    EXPECT_EQ(all.steps, all.rounds);
                }
            };
            for (const Rank p : rank_counts()) {
                if (p == 1) continue;
                const Shape shape = {
                    .collective = TUTTI_ALLGATHER, .ranks = p, .bytes = 40, .has_multicast = true};
                Tuning tuning;
                tuning.segment_bytes = 40 / m;
                tuning.fan_in = under_way;
                SCOPED_TRACE(testing::Message() << p << " ranks");
                check(shape, totals(*find(TUTTI_ALLGATHER, "multicast"), shape, tuning));
                if (testing::Test::HasFailure()) return;
            }
        }
    }
}

// Blocks of 0 to 3 pieces: an empty one has no multicast.
TEST(Formulas, AllgathervMulticast) {
    std::vector<uint64_t> lengths;
    for (uint64_t i = 0; i < 9; ++i) lengths.push_back(i % 4 * 20);
    const Shape shape = {.collective = TUTTI_ALLGATHERV,
                         .ranks = 9,
                         .bytes = 60,
                         .has_multicast = true,
                         .lengths = kept(sched::OwnLengths(lengths))};
    Tuning tuning;
    tuning.segment_bytes = 20;
    tuning.fan_in = 2;
    const Totals all = totals(*find(TUTTI_ALLGATHERV, "multicast"), shape, tuning);
    EXPECT_EQ(all.multicasts, 12U);
    EXPECT_EQ(all.multicasts_sent, 3U);
    EXPECT_EQ(all.multicast_bytes, 12U * 20);
    EXPECT_EQ(all.rounds, 6U);
}

TEST(Formulas, AllgatherRecursiveDoubling) {
    for (const tutti_collective form : {TUTTI_ALLGATHER, TUTTI_ALLGATHERV}) {
        for_every_p(form, "recursive_doubling", [](const Shape& shape, const Totals& all) {
            const uint64_t p = shape.ranks;
            EXPECT_EQ(all.steps, ceil_log2(p));
            EXPECT_EQ(all.bytes, p * (p - 1) * shape.bytes);
            EXPECT_EQ(all.bytes_received, (p - 1) * shape.bytes);
            if (std::has_single_bit(p)) {
                EXPECT_EQ(all.messages, p * floor_log2(p));
                EXPECT_EQ(all.bytes_sent, (p - 1) * shape.bytes);
            }
            // Longer halves cost at most a block a round; serving the rank without a partner costs
            // at most half of all blocks, once.
            EXPECT_LE(all.messages_sent, ceil_log2(p) + 1);
            EXPECT_LE(all.bytes_sent, (p - 1 + ceil_log2(p) + p / 2) * shape.bytes);
        });
    }
}

TEST(Formulas, AllgatherBruck) {
    for (const tutti_collective form : {TUTTI_ALLGATHER, TUTTI_ALLGATHERV}) {
        for_every_p(form, "bruck", [](const Shape& shape, const Totals& all) {
            const uint64_t p = shape.ranks;
            EXPECT_EQ(all.steps, ceil_log2(p));
            EXPECT_EQ(all.messages_sent, ceil_log2(p));
            EXPECT_EQ(all.messages, p * ceil_log2(p));
            EXPECT_EQ(all.bytes_sent, (p - 1) * shape.bytes);
            EXPECT_EQ(all.bytes_received, (p - 1) * shape.bytes);
            EXPECT_EQ(all.bytes, p * (p - 1) * shape.bytes);
        });
    }
}

TEST(Formulas, ReduceScatterDirect) {
    for (const tutti_collective form : {TUTTI_REDUCE_SCATTER_BLOCK, TUTTI_REDUCE_SCATTER}) {
        for_every_p(form, "direct", [](const Shape& shape, const Totals& all) {
            const uint64_t p = shape.ranks;
            // 31 receives a round, two rounds open at a time.
            const uint64_t rounds = (p - 1 + 30) / 31;
            EXPECT_EQ(all.steps, (rounds + 1) / 2);
            EXPECT_EQ(all.rounds, rounds + p - 1);
            EXPECT_EQ(all.messages_sent, p - 1);
            EXPECT_EQ(all.bytes_sent, (p - 1) * shape.bytes);
            EXPECT_EQ(all.bytes_received, (p - 1) * shape.bytes);
            EXPECT_EQ(all.reduced_bytes, p * (p - 1) * shape.bytes);
        });
    }
}

TEST(Formulas, ReduceScatterRing) {
    for (const tutti_collective form : {TUTTI_REDUCE_SCATTER_BLOCK, TUTTI_REDUCE_SCATTER}) {
        for_every_p(form, "ring", [](const Shape& shape, const Totals& all) {
            const uint64_t p = shape.ranks;
            EXPECT_EQ(all.steps, p - 1);  // Patarasuk, Yuan 2007, section 3.2
            EXPECT_EQ(all.rounds, p);
            EXPECT_EQ(all.messages_sent, p - 1);
            EXPECT_EQ(all.bytes_sent, (p - 1) * shape.bytes);
            EXPECT_EQ(all.bytes_received, (p - 1) * shape.bytes);
            EXPECT_EQ(all.reduced_bytes, p * (p - 1) * shape.bytes);
        });
    }
}

TEST(Formulas, ReduceScatterPairwise) {
    for (const tutti_collective form : {TUTTI_REDUCE_SCATTER_BLOCK, TUTTI_REDUCE_SCATTER}) {
        for_every_p(form, "pairwise", [](const Shape& shape, const Totals& all) {
            const uint64_t p = shape.ranks;
            EXPECT_EQ(all.steps, p - 1);
            EXPECT_EQ(all.rounds, p);
            EXPECT_EQ(all.messages_sent, p - 1);
            EXPECT_EQ(all.bytes_sent, (p - 1) * shape.bytes);
            EXPECT_EQ(all.bytes_received, (p - 1) * shape.bytes);
            EXPECT_EQ(all.reduced_bytes, p * (p - 1) * shape.bytes);
        });
    }
}

// Thakur, Rabenseifner, Gropp 2005, section 4.3, where p is a power of two. Otherwise a rank may
// fold twice, but each contribution is still sent once for each block.
TEST(Formulas, ReduceScatterHalving) {
    for (const tutti_collective form : {TUTTI_REDUCE_SCATTER_BLOCK, TUTTI_REDUCE_SCATTER}) {
        for_every_p(form, "halving", [](const Shape& shape, const Totals& all) {
            const uint64_t p = shape.ranks;
            EXPECT_EQ(all.bytes, p * (p - 1) * shape.bytes);
            EXPECT_EQ(all.reduced_bytes, p * (p - 1) * shape.bytes);
            EXPECT_EQ(all.bytes_sent, (p - 1) * shape.bytes);
            EXPECT_EQ(all.messages_sent, ceil_log2(p));
            EXPECT_EQ(all.steps, ceil_log2(p));
            if (std::has_single_bit(p)) {
                EXPECT_EQ(all.messages, p * floor_log2(p));
                EXPECT_EQ(all.bytes_received, (p - 1) * shape.bytes);
            }
        });
    }
}

// Of lengths that differ: each block goes to each other rank once, or comes from it.
TEST(Formulas, EveryBlockOfAnyLengthOnce) {
    for (const tutti_collective form : {TUTTI_ALLGATHERV, TUTTI_REDUCE_SCATTER}) {
        for (const Algorithm& algorithm : algorithms()) {
            if (algorithm.collective != form || algorithm.has_multicast) continue;
            for (const Rank p : {2U, 3U, 8U, 13U, 16U, 40U}) {
                for (const Shape& shape :
                     with_lengths({.collective = form, .ranks = p, .bytes = 96})) {
                    SCOPED_TRACE(testing::Message() << algorithm.name << ", " << p << " ranks");
                    const Totals all = totals(algorithm, shape);
                    const uint64_t moved = (p - 1) * shape.all_blocks_bytes();
                    EXPECT_EQ(all.bytes, moved);
                    EXPECT_EQ(all.reduced_bytes, is_reduction(form) ? moved : 0);
                }
            }
        }
    }
}

// One block of m slots, and p - 1 of one: p + m - 1 slots, of which a rank receives all but its
// own. A broadcast by a chain has m + p - 2 steps as well.
TEST(Formulas, AllgathervPipelinedRing) {
    const Algorithm& algorithm = *find(TUTTI_ALLGATHERV, "pipelined_ring");
    for_every_p(TUTTI_ALLGATHERV, "pipelined_ring", [](const Shape& shape, const Totals& all) {
        EXPECT_EQ(all.steps, shape.ranks - 1);
        EXPECT_EQ(all.messages_sent, shape.ranks - 1);
    });
    for (const Rank p : {2U, 3U, 8U, 13U}) {
        for (const uint64_t m : {1U, 2U, 7U, 64U}) {
            Shape shape = {.collective = TUTTI_ALLGATHERV, .ranks = p, .bytes = 24 * m};
            std::vector<uint64_t> lengths(p, 24);
            lengths[p / 2] = shape.bytes;
            shape.lengths = kept(sched::OwnLengths(lengths));
            Tuning tuning;
            tuning.segment_bytes = 24;
            SCOPED_TRACE(testing::Message() << p << " ranks, " << m << " slots");
            const Totals all = totals(algorithm, shape, tuning);
            EXPECT_EQ(all.rounds, p + m - 2);
            EXPECT_LE(all.steps, p + m - 2);
            EXPECT_LE(all.messages_sent, p + m - 2);
            EXPECT_LE(all.bytes_sent, shape.all_blocks_bytes());
        }
    }
}

TEST(Formulas, AlltoallLinear) {
    for_every_p(TUTTI_ALLTOALL, "linear", [](const Shape& shape, const Totals& all) {
        const uint64_t p = shape.ranks;
        // 31 messages each way a round, two rounds open at a time.
        const uint64_t rounds = (p - 1 + 30) / 31;
        EXPECT_EQ(all.steps, (rounds + 1) / 2);
        EXPECT_EQ(all.rounds, rounds);
        EXPECT_EQ(all.messages_sent, p - 1);
        EXPECT_EQ(all.bytes_sent, (p - 1) * shape.bytes);
        EXPECT_EQ(all.bytes_received, (p - 1) * shape.bytes);
    });
}

TEST(Formulas, AlltoallPairwise) {
    for_every_p(TUTTI_ALLTOALL, "pairwise", [](const Shape& shape, const Totals& all) {
        const uint64_t p = shape.ranks;
        EXPECT_EQ(all.steps, p - 1);
        EXPECT_EQ(all.rounds, p - 1);
        EXPECT_EQ(all.messages_sent, p - 1);
        EXPECT_EQ(all.bytes_sent, (p - 1) * shape.bytes);
        EXPECT_EQ(all.bytes_received, (p - 1) * shape.bytes);
    });
}

// With blocks of one length; of others, private_lengths_test.cpp.
TEST(Formulas, VectorFormsAreAsThoseWithEqualBlocks) {
    struct Pair {
        tutti_collective form, equal;
        const char* name;
    };
    for (const Pair& one : {Pair{TUTTI_GATHERV, TUTTI_GATHER, "direct"},
                            Pair{TUTTI_SCATTERV, TUTTI_SCATTER, "direct"},
                            Pair{TUTTI_ALLTOALLV, TUTTI_ALLTOALL, "linear"},
                            Pair{TUTTI_ALLTOALLV, TUTTI_ALLTOALL, "pairwise"},
                            Pair{TUTTI_ALLTOALLW, TUTTI_ALLTOALL, "linear"},
                            Pair{TUTTI_ALLTOALLW, TUTTI_ALLTOALL, "pairwise"}}) {
        for (const Rank p : {2U, 3U, 8U, 33U, 40U, 64U}) {
            for (const uint32_t fan_in : {0U, 3U}) {
                Tuning tuning;
                tuning.fan_in = fan_in;
                Shape shape = {.collective = one.equal, .ranks = p, .bytes = 86};
                shape.root = has_root(one.equal) ? p / 2 : 0;
                const Totals equal = totals(*find(one.equal, one.name), shape, tuning);
                shape.collective = one.form;
                EXPECT_EQ(totals(*find(one.form, one.name), shape, tuning), equal)
                    << collective_name(one.form) << " " << one.name << ", " << p << " ranks";
            }
        }
    }
}

// Blocks in pieces of 5 bytes, the last one shorter: of linear those of all ranks in turn, of
// pairwise up to 16 in a round.
TEST(Formulas, AlltoallPieces) {
    for (const Rank p : {2U, 3U, 8U, 40U}) {
        Tuning tuning;
        tuning.segment_bytes = 5;
        const Shape shape = {.collective = TUTTI_ALLTOALL, .ranks = p, .bytes = 86};
        const Totals linear = totals(*find(TUTTI_ALLTOALL, "linear"), shape, tuning);
        EXPECT_EQ(linear.messages, p * (p - 1) * uint64_t{18});
        EXPECT_EQ(linear.bytes, p * (p - 1) * uint64_t{86});
        EXPECT_EQ(linear.rounds, p > 32 ? 36U : 18U);
        const Totals pairwise = totals(*find(TUTTI_ALLTOALL, "pairwise"), shape, tuning);
        EXPECT_EQ(pairwise.messages, p * (p - 1) * uint64_t{18});
        EXPECT_EQ(pairwise.bytes, p * (p - 1) * uint64_t{86});
        EXPECT_EQ(pairwise.rounds, (p - 1) * uint64_t{2});
    }
}

// Bruck and others 1997, section 3: w = ceil(log_k p) rounds, of which all but the last have k - 1
// messages, and of each distance as many blocks are sent as it has digits that are not 0.
TEST(Formulas, AlltoallBruck) {
    for (const uint32_t k : {0U, 2U, 3U, 4U, 8U, 33U}) {
        const uint64_t base = k == 0 ? 2 : k;
        Tuning tuning;
        tuning.fan_in = k;
        for (const Rank p : rank_counts()) {
            if (p == 1) continue;
            const Shape shape = {.collective = TUTTI_ALLTOALL, .ranks = p, .bytes = 24};
            const Totals all = totals(*find(TUTTI_ALLTOALL, "bruck"), shape, tuning);
            SCOPED_TRACE(testing::Message() << p << " ranks, radix " << base);
            uint64_t places = 0;
            uint64_t messages = 0;
            uint64_t last = 1;
            for (; last * base < p; last *= base) {
                ++places;
                messages += base - 1;
            }
            uint64_t blocks = 0;
            for (uint64_t distance = 1; distance < p; ++distance) {
                for (uint64_t rest = distance; rest > 0; rest /= base) {
                    blocks += rest % base == 0 ? 0 : 1;
                }
            }
            EXPECT_EQ(all.steps, places + 1);
            EXPECT_EQ(all.messages_sent, messages + (p - 1) / last);
            EXPECT_EQ(all.messages, p * all.messages_sent);
            EXPECT_EQ(all.bytes_sent, blocks * shape.bytes);
            EXPECT_EQ(all.bytes_received, blocks * shape.bytes);
            EXPECT_EQ(all.bytes, p * blocks * shape.bytes);
        }
    }
}

// At most as many blocks as a round sends, and as many as it receives; none where each message is
// a single block.
TEST(Formulas, AlltoallBruckScratch) {
    const Algorithm& bruck = *find(TUTTI_ALLTOALL, "bruck");
    const auto blocks = [&](Rank p, uint32_t k) {
        Tuning tuning;
        tuning.fan_in = k;
        const Shape shape = {.collective = TUTTI_ALLTOALL, .ranks = p, .bytes = 64};
        return bruck.scratch_bytes(shape, tuning) / 64;
    };
    EXPECT_EQ(blocks(3, 2), 0U);
    EXPECT_EQ(blocks(8, 8), 0U);
    EXPECT_EQ(blocks(8, 2), 2 * 4U);
    EXPECT_EQ(blocks(9, 3), 2 * 6U);
    EXPECT_EQ(blocks(1024, 2), 2 * 512U);
    EXPECT_EQ(blocks(1024, 32), 2 * 992U);
}

TEST(Formulas, ScanDoubling) {
    for_every_p(TUTTI_SCAN, "doubling", [](const Shape& shape, const Totals& all) {
        const uint64_t p = shape.ranks;
        const uint64_t q = ceil_log2(p);
        EXPECT_EQ(all.steps, q);
        EXPECT_EQ(all.messages_sent, q);
        EXPECT_EQ(all.bytes_sent, q * shape.bytes);
        EXPECT_EQ(all.bytes_received, q * shape.bytes);
        // Stage k has p - 2^k messages, each with a fold.
        const uint64_t messages = q * p - ((uint64_t{1} << q) - 1);
        EXPECT_EQ(all.messages, messages);
        EXPECT_EQ(all.reduced_bytes, messages * shape.bytes);
    });
}

TEST(Formulas, ScanChain) {
    for_every_p(TUTTI_SCAN, "chain", [](const Shape& shape, const Totals& all) {
        EXPECT_EQ(all.steps, shape.ranks - 1);
        EXPECT_EQ(all.messages, shape.ranks - 1);
        EXPECT_EQ(all.bytes_sent, shape.bytes);
        EXPECT_EQ(all.bytes_received, shape.bytes);
        EXPECT_EQ(all.reduced_bytes, (shape.ranks - 1) * shape.bytes);
    });
}

TEST(Formulas, ExscanChain) {
    for_every_p(TUTTI_EXSCAN, "chain", [](const Shape& shape, const Totals& all) {
        EXPECT_EQ(all.steps, shape.ranks - 1);
        EXPECT_EQ(all.messages, shape.ranks - 1);
        EXPECT_EQ(all.bytes_sent, shape.bytes);
        EXPECT_EQ(all.bytes_received, shape.bytes);
        EXPECT_EQ(all.reduced_bytes, (shape.ranks - 2) * shape.bytes);
    });
}

// Ranks whose subtree begins at 0, or ends at p.
uint64_t spine_of(uint64_t p, bool is_left) {
    uint64_t ranks = 0;
    for (; p > 0; p = is_left ? p / 2 : p - 1 - p / 2) ++ranks;
    return ranks;
}

TEST(Formulas, ScanTrees) {
    for (const auto collective : {TUTTI_SCAN, TUTTI_EXSCAN}) {
        for_every_p(collective, "tree", [](const Shape& shape, const Totals& all) {
            const uint64_t p = shape.ranks;
            const uint64_t behind = p - 1 - p / 2;
            const uint64_t steps =
                floor_log2(p / 2) + 1 + (behind > 0 ? floor_log2(behind) + 1 : 0);
            EXPECT_EQ(all.steps, steps);
            EXPECT_EQ(all.messages, 2 * p - spine_of(p, true) - spine_of(p, false));
            EXPECT_LE(all.bytes_sent, 3 * shape.bytes);
            EXPECT_LE(all.bytes_received, 3 * shape.bytes);
            // Up a fold for each message. Down one a rank, or two a rank with children.
            EXPECT_LE(all.reduced_bytes, 2 * p * shape.bytes);
        });
    }
}

// Of one rank, in vectors.
uint64_t folds_of(const char* name, const Shape& shape, Rank rank) {
    const auto program = find(TUTTI_EXSCAN, name)->make(shape, rank, {});
    return check::count(*program).reduced_bytes / shape.bytes;
}

TEST(Formulas, ExscanDoubling) {
    for_every_p(TUTTI_EXSCAN, "doubling", [](const Shape& shape, const Totals& all) {
        const uint64_t p = shape.ranks;
        const uint64_t q = ceil_log2(p);
        // Träff 2026: the fewest inclusive stages of q.
        const uint64_t inclusive = q - floor_log2((uint64_t{1} << q) - p + 1);
        EXPECT_EQ(all.steps, q);
        EXPECT_LE(all.messages_sent, q);
        EXPECT_EQ(all.bytes_received, q * shape.bytes);
        EXPECT_EQ(folds_of("doubling", shape, shape.ranks - 1), q - 1);
        for (Rank rank = 0; rank < p; ++rank) {
            EXPECT_LE(folds_of("doubling", shape, rank), q - 1 + inclusive - 1);
        }
    });
}

TEST(Formulas, ExscanDoubling123) {
    for_every_p(TUTTI_EXSCAN, "doubling_123", [](const Shape& shape, const Totals& all) {
        const uint64_t p = shape.ranks;
        // Träff 2025: q = ceil(log2(p - 1) + log2(4/3)), the least for which 3/4 2^q >= p - 1.
        uint64_t q = 1;
        while (3 * (uint64_t{1} << q) < 4 * (p - 1)) ++q;
        // Of three ranks none sends what it was sent.
        EXPECT_EQ(all.steps, p == 3 ? 1 : q);
        EXPECT_LE(all.messages_sent, q);
        EXPECT_EQ(all.bytes_received, q * shape.bytes);
        // The result takes q - 1 folds; of ranks that send on in stage 1, what they send one more.
        EXPECT_EQ(folds_of("doubling_123", shape, shape.ranks - 1), q - 1);
        for (Rank rank = 0; rank < p; ++rank) {
            EXPECT_LE(folds_of("doubling_123", shape, rank), q);
        }
    });
}

// Long schedules are priced by it (plan/select/many_hosts.h). What is posted at once counts once
// there: direct's receives and linear's, which are more than two rounds, and multicasts, of which
// some are under way.
TEST(Formulas, NoChainIsLongerThanTheLaw) {
    for (const Algorithm& algorithm : algorithms()) {
        if (algorithm.name == "direct") continue;
        if (algorithm.name == "multicast") continue;
        for (const Rank p : rank_counts()) {
            if (p == 1) continue;
            Shape shape = {.collective = algorithm.collective, .ranks = p, .has_multicast = true};
            if (has_data(shape.collective)) shape.bytes = uint64_t{24} * p;
            if (!algorithm.obstacle(shape).empty()) continue;
            SCOPED_TRACE(testing::Message() << algorithm.name << ", " << p << " ranks");
            const uint64_t law = algorithm.steps(shape, {});
            const Totals all = totals(algorithm, shape);
            EXPECT_LE(all.steps, law);
            // The scatter's rounds and the ring's overlap.
            if (p == 64 && algorithm.name != "scatter_allgather") {
                EXPECT_EQ(all.steps, law);
            }
        }
    }
}

TEST(Formulas, BlocksOfUnequalNodes) {
    for (Rank p = 2; p <= 19; ++p) {
        const topo::Placement nodes = unequal_nodes(p);
        const Shape shape = {.ranks = p, .root = p / 3, .bytes = 24, .nodes = &nodes};
        const uint64_t all_bytes = shape.all_blocks_bytes();
        ASSERT_EQ(all_bytes, nodes.ranks() * uint64_t{24});
        const auto received = [&](tutti_collective collective, const char* name, Rank rank) {
            Shape same = shape;
            same.collective = collective;
            return check::count(*find(collective, name)->make(same, rank, {})).bytes_received;
        };
        for (const char* name : {"direct", "binomial"}) {
            EXPECT_EQ(received(TUTTI_GATHER, name, shape.root),
                      all_bytes - shape.block_bytes(shape.root));
        }
        for (Rank rank = 0; rank < p; ++rank) {
            const uint64_t others = all_bytes - shape.block_bytes(rank);
            EXPECT_EQ(received(TUTTI_ALLGATHER, "ring", rank), others);
            EXPECT_EQ(received(TUTTI_ALLGATHER, "recursive_doubling", rank), others);
            EXPECT_EQ(received(TUTTI_ALLGATHER, "bruck", rank), others);
            EXPECT_EQ(received(TUTTI_SCATTER, "direct", rank),
                      rank == shape.root ? 0 : shape.block_bytes(rank));
        }
    }
}

}  // namespace
}  // namespace tutti::algo
