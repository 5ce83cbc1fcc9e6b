// SPDX-License-Identifier: BSD-3-Clause
// Calls across hosts whose blocks differ in length, as all ranks know: every algorithm, blocks with
// gaps between them and in another order, in place or not. Ranks differ in where blocks go.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/collectives.h"
#include "plan/algo/registry.h"
#include "unit/run/engine/hosts.h"

namespace tutti::test {
namespace {

constexpr uint32_t kRanks = 7;

// In elements; one long block among short and empty ones, and some that are nearly alike.
const std::vector<std::vector<uint64_t>> kLengths = {
    {1, 0, 3, 9000, 2, 0, 1}, {5, 4, 6, 5, 0, 7, 5}, {0, 0, 0, 0, 0, 0, 4}, {3, 3, 3, 3, 3, 3, 3}};

uint64_t value_of(uint32_t rank, uint64_t element) { return rank * 1'000'003 + element * 17; }

struct Arrays {
    std::vector<uint64_t> bytes;
    std::vector<uint64_t> offsets;
    std::vector<uint64_t> memory;  // as long as all blocks and gaps

    // way: one after the other, in reverse with gaps, or with gaps alone.
    Arrays(const std::vector<uint64_t>& lengths, uint64_t way) : offsets(lengths.size()) {
        uint64_t at = 0;
        for (uint64_t i = 0; i < lengths.size(); ++i) {
            const uint64_t block = way == 1 ? lengths.size() - 1 - i : i;
            if (way != 0) at += 2;
            offsets[block] = at * sizeof(uint64_t);
            at += lengths[block];
        }
        for (const uint64_t elements : lengths) bytes.push_back(elements * sizeof(uint64_t));
        memory.assign(at + 1, kUntouched);
    }
    [[nodiscard]] uint64_t* block(uint32_t i) {
        return memory.data() + offsets[i] / sizeof(uint64_t);
    }
    static constexpr uint64_t kUntouched = 0xabababababababab;
};

void run_allgatherv(uint32_t rank, tutti_team* team, const std::vector<uint64_t>& lengths,
                    uint64_t turn) {
    Arrays arrays(lengths, (turn + rank) % 3);
    const bool is_in_place = (turn / 3 + rank) % 2 == 0;
    std::vector<uint64_t> own(lengths[rank] + 1);
    for (uint64_t k = 0; k < lengths[rank]; ++k) {
        (is_in_place ? arrays.block(rank) : own.data())[k] = value_of(rank, k + turn);
    }
    const tutti_blocks blocks{nullptr, nullptr, arrays.bytes.data(), arrays.offsets.data()};
    tutti_call call{};
    call.collective = TUTTI_ALLGATHERV;
    call.send = is_in_place ? TUTTI_IN_PLACE : own.data();
    call.recv = arrays.memory.data();
    call.blocks = &blocks;
    ASSERT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
    uint64_t there = 0;
    for (uint32_t i = 0; i < kRanks; ++i) {
        for (uint64_t k = 0; k < lengths[i]; ++k) {
            ASSERT_EQ(arrays.block(i)[k], value_of(i, k + turn)) << "block " << i << ", " << k;
        }
        there += lengths[i];
    }
    const auto untouched =
        std::count(arrays.memory.begin(), arrays.memory.end(), Arrays::kUntouched);
    EXPECT_EQ(static_cast<uint64_t>(untouched), arrays.memory.size() - there) << "gaps are kept";
}

void run_reduce_scatter(uint32_t rank, tutti_team* team, const std::vector<uint64_t>& lengths,
                        uint64_t turn) {
    Arrays arrays(lengths, 0);
    for (uint64_t k = 0; k < arrays.memory.size(); ++k) {
        arrays.memory[k] = value_of(rank, k + turn);
    }
    std::vector<uint64_t> result(lengths[rank] + 1, Arrays::kUntouched);
    const tutti_blocks blocks{arrays.bytes.data(), arrays.offsets.data(), nullptr, nullptr};
    tutti_call call{};
    call.collective = TUTTI_REDUCE_SCATTER;
    call.send = arrays.memory.data();
    call.recv = result.data();
    call.dtype = TUTTI_UINT64;
    call.op = TUTTI_SUM;
    call.blocks = &blocks;
    ASSERT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
    const uint64_t before = arrays.offsets[rank] / sizeof(uint64_t);
    for (uint64_t k = 0; k < lengths[rank]; ++k) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < kRanks; ++i) sum += value_of(i, before + k + turn);
        ASSERT_EQ(result[k], sum) << k;
    }
    EXPECT_EQ(result.back(), Arrays::kUntouched);
}

void run_all_lengths(tutti_context* context) {
    run_hosts(context, kRanks, [](uint32_t rank, tutti_team* team) {
        for (uint64_t turn = 0; turn < 12; ++turn) {
            const auto& lengths = kLengths[turn % kLengths.size()];
            SCOPED_TRACE(testing::Message() << "turn " << turn);
            ASSERT_NO_FATAL_FAILURE(run_allgatherv(rank, team, lengths, turn));
            ASSERT_NO_FATAL_FAILURE(run_reduce_scatter(rank, team, lengths, turn));
        }
    });
}

TEST(Lengths, EveryAlgorithmGivesTheRightBytes) {
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        if (facts(algorithm.collective).lengths != Lengths::kKnownToAll) continue;
        if (algorithm.has_multicast) continue;
        for (const char* hosts : {"TUTTI_HOSTS=7", "TUTTI_HOSTS=3", "TUTTI_HOSTS=3:round-robin"}) {
            for (const char* options : {"", ":flat"}) {
                const std::string forced =
                    (algorithm.collective == TUTTI_ALLGATHERV ? "TUTTI_ALLGATHERV="
                                                              : "TUTTI_REDUCE_SCATTER=") +
                    std::string(algorithm.name) + options;
                SCOPED_TRACE(forced + ", " + hosts);
                const ContextPtr context = make_context({forced.c_str(), hosts, "TUTTI_MCAST=off"});
                run_all_lengths(context.get());
                if (HasFailure()) return;
            }
        }
    }
}

TEST(Lengths, TheRulesGiveTheRightBytes) {
    for (const char* hosts : {"TUTTI_HOSTS=2", "TUTTI_HOSTS=7"}) {
        for (const char* how : {"TUTTI_REPRODUCIBLE=0", "TUTTI_REPRODUCIBLE=1"}) {
            SCOPED_TRACE(std::string(how) + ", " + hosts);
            const ContextPtr context = make_context({hosts, how, "TUTTI_MCAST=off"});
            run_all_lengths(context.get());
        }
    }
}

}  // namespace
}  // namespace tutti::test
