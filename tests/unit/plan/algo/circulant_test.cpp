// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/circulant.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <vector>

namespace tutti::algo {
namespace {

// Every p to 1,300, powers of two and their neighbours, and primes up to 20,000.
std::vector<Rank> all_counts() {
    const bool is_brief = std::getenv("TESTS_BRIEF") != nullptr;
    std::vector<Rank> counts;
    for (Rank p = 2; p <= (is_brief ? 140 : 1300); ++p) counts.push_back(p);
    if (is_brief) return counts;
    for (Rank power = 2048; power <= 16384; power *= 2) {
        for (const Rank p : {power - 1, power, power + 1}) counts.push_back(p);
    }
    for (const Rank p : {1999U, 3067U, 5003U, 6007U, 9973U, 12289U, 19997U}) counts.push_back(p);
    return counts;
}

// By d.
std::vector<CirculantPhase> phases_of(const CirculantSkips& skips) {
    std::vector<CirculantPhase> all;
    for (Rank d = 0; d < skips.ranks(); ++d) all.emplace_back(skips, d);
    return all;
}

// Bits: block i is bit i + q.
uint64_t bit_of(int block, int q) { return uint64_t{1} << (block + q); }

// I2: q blocks, all of the phase before but one, and the base block.
void expect_each_once(const CirculantSkips& skips, const CirculantPhase& phase, Rank d) {
    const int q = static_cast<int>(skips.levels());
    const int base = static_cast<int>(skips.base_block(d));
    uint64_t found = 0;
    for (uint32_t k = 0; k < skips.levels(); ++k) found |= bit_of(phase.received[k], q);
    const uint64_t earlier = (uint64_t{1} << q) - 1;
    ASSERT_EQ(found, (earlier & ~bit_of(base - q, q)) | bit_of(base, q)) << "d " << d;
}

// I3.
void expect_sent_is_there(const CirculantSkips& skips, const CirculantPhase& phase, Rank d) {
    const int q = static_cast<int>(skips.levels());
    // The base block of the phase before, and what has come in this one.
    uint64_t held = bit_of(static_cast<int>(skips.base_block(d)) - q, q);
    for (uint32_t k = 0; k < skips.levels(); ++k) {
        const bool to_root = d + skips[k] == skips.ranks();
        if (!to_root) {
            ASSERT_NE(held & bit_of(phase.sent[k], q), 0u) << "d " << d << ", k " << k;
        }
        held |= bit_of(phase.received[k], q);
    }
}

void expect_phases(Rank p) {
    const CirculantSkips skips(p);
    const std::vector<CirculantPhase> all = phases_of(skips);
    for (Rank d = 0; d < p; ++d) {
        for (uint32_t k = 0; k < skips.levels(); ++k) {
            const Rank next = circulant_next(skips, d, k);
            ASSERT_EQ(circulant_previous(skips, next, k), d);
            if (next == 0) continue;
            ASSERT_EQ(all[d].sent[k], all[next].received[k]) << "d " << d << ", k " << k;  // I1
            if (d == 0) {
                ASSERT_EQ(all[d].sent[k], static_cast<int>(k));
            }
        }
        if (d == 0) continue;
        // I4: what reduce_circulant.cpp keeps by block modulo 2 q does not meet.
        const uint32_t last = skips.levels() - 1;
        if (all[d].received[0] >= 0 && d + skips[last] != p) {
            ASSERT_EQ(all[d].sent[last], all[d].received[0]) << "d " << d;
        }
        ASSERT_NO_FATAL_FAILURE(expect_each_once(skips, all[d], d));
        ASSERT_NO_FATAL_FAILURE(expect_sent_is_there(skips, all[d], d));
    }
}

TEST(Circulant, Skips) {
    const CirculantSkips skips(20);
    EXPECT_EQ(skips.levels(), 5u);
    const std::vector<uint64_t> wanted{1, 2, 3, 5, 10, 20};
    for (uint32_t k = 0; k < wanted.size(); ++k) EXPECT_EQ(skips[k], wanted[k]);
    EXPECT_EQ(skips.base_block(0), 5u);
    EXPECT_EQ(skips.base_block(18), 2u);  // 10 + 5 + 3
    EXPECT_EQ(skips.base_block(16), 0u);  // 10 + 5 + 1
    EXPECT_EQ(CirculantSkips(1).levels(), 0u);
}

// That of the head comment.
TEST(Circulant, PhaseOfFive) {
    const CirculantSkips skips(5);
    using Blocks = std::vector<int>;
    const std::vector<Blocks> received{
        {0, 0, 0}, {0, -1, -2}, {-3, 1, -1}, {-2, -3, 2}, {-1, -2, 0}};
    const std::vector<Blocks> sent{{0, 1, 2}, {-3, -3, 0}, {-2, -2, 0}, {-1, 0, -2}, {0, -1, -1}};
    for (Rank d = 0; d < 5; ++d) {
        const CirculantPhase phase(skips, d);
        EXPECT_EQ(Blocks(phase.received.begin(), phase.received.begin() + 3), received[d]);
        EXPECT_EQ(Blocks(phase.sent.begin(), phase.sent.begin() + 3), sent[d]);
    }
}

TEST(Circulant, EveryPhase) {
    for (const Rank p : all_counts()) {
        SCOPED_TRACE(testing::Message() << p << " participants");
        ASSERT_NO_FATAL_FAILURE(expect_phases(p));
    }
}

// Of what it has received or sends.
void expect_tells_later(const CirculantBlocks& one) {
    for (uint64_t round = one.begin(); round < one.end(); ++round) {
        for (const auto block : {one.received(round), one.sent(round)}) {
            if (!block) continue;
            bool is_later = false;
            for (uint64_t later = round + 1; later < one.end(); ++later) {
                is_later |= one.sent(later) == block;
            }
            EXPECT_EQ(one.sends_later(round, *block), is_later) << "round " << round;
        }
    }
}

// Whoever receives a block receives it once, after whoever sends it has it, and both know.
void expect_broadcast(Rank p, uint64_t n) {
    const CirculantSkips skips(p);
    std::vector<CirculantBlocks> all;
    for (Rank d = 0; d < p; ++d) all.emplace_back(skips, d, n);
    std::vector<std::vector<uint64_t>> came(p, std::vector<uint64_t>(n, UINT64_MAX));
    came[0].assign(n, 0);
    ASSERT_EQ(all[0].end() - all[0].begin(), n - 1 + skips.levels());
    ASSERT_EQ(all[0].end() % skips.levels(), 0u);
    ASSERT_FALSE(all[0].sent(all[0].end()));
    for (uint64_t round = 0; round < all[0].end(); ++round) {
        for (Rank d = 0; d < p; ++d) {
            const auto block = all[d].sent(round);
            const Rank next = circulant_next(skips, d, round);
            ASSERT_EQ(block, all[next].received(round)) << "round " << round << ", d " << d;
            if (!block) continue;
            ASSERT_GE(round, all[0].begin());
            ASSERT_TRUE(d == 0 || came[d][*block] < round) << "round " << round << ", d " << d;
            ASSERT_EQ(came[next][*block], UINT64_MAX) << "round " << round << ", d " << d;
            came[next][*block] = round;
        }
    }
    for (const auto& blocks : came) {
        for (const uint64_t round : blocks) ASSERT_NE(round, UINT64_MAX);
    }
    for (const CirculantBlocks& one : all) expect_tells_later(one);
}

TEST(Circulant, EveryBroadcast) {
    for (Rank p = 2; p <= 40; ++p) {
        for (uint64_t n = 1; n <= 13; ++n) {
            SCOPED_TRACE(testing::Message() << p << " participants, " << n << " blocks");
            ASSERT_NO_FATAL_FAILURE(expect_broadcast(p, n));
        }
    }
    ASSERT_NO_FATAL_FAILURE(expect_broadcast(257, 40));
}

TEST(Circulant, CutsWhereItTakesLeast) {
    const CirculantSkips skips(64);
    const auto blocks = [&](uint64_t bytes, uint64_t segment) {
        Tuning tuning;
        tuning.segment_bytes = segment;
        return CirculantCut(bytes, 8, skips, tuning).blocks();
    };
    // sqrt((q - 1) m / 16 KiB), q = 6.
    EXPECT_EQ(blocks(3 << 10, 0), 1u);
    EXPECT_EQ(blocks(80 << 10, 0), 5u);
    EXPECT_EQ(blocks(5 << 20, 0), 40u);
    EXPECT_EQ(blocks(5 << 20, 64 << 10), 80u);
    EXPECT_EQ(blocks(16, 1), 2u);  // whole elements
    const CirculantCut cut(80, 8, skips, {.segment_bytes = 24});
    EXPECT_EQ(cut.blocks(), 4u);
    EXPECT_EQ(cut[3].offset, 72u);
    EXPECT_EQ(cut[3].bytes, 8u);
    // Two participants have nothing to hand on.
    EXPECT_EQ(CirculantCut(5 << 20, 8, CirculantSkips(2), {}).blocks(), 1u);
}

}  // namespace
}  // namespace tutti::algo
