// SPDX-License-Identifier: BSD-3-Clause
// Crowded ranks across pretended hosts, as threads: those that wait for their node alone sleep, and
// leave it to its leader to look at the network.
#include <gtest/gtest.h>

#include <chrono>

#include "sim/seeds.h"
#include "unit/run/engine/hosts.h"

namespace tutti::test {
namespace {

constexpr const char* kRules = R"(TUTTI_RULES_TEXT=
[[rule]]
collective = "barrier"
algorithm = "dissemination"
[[rule]]
collective = "bcast"
algorithm = "binomial"
[[rule]]
collective = "reduce"
algorithm = "binomial"
[[rule]]
collective = "allreduce"
algorithm = "ring"
[[rule]]
collective = ["gather", "scatter"]
algorithm = "direct"
[[rule]]
collective = "allgather"
algorithm = "ring"
)";

thread_local std::atomic<uint64_t>* progress_count = nullptr;

// Of a job that has more ranks on this machine than any machine has processors.
ContextPtr crowded_context(const char* hosts) {
    const char* settings[] = {kRules, "TUTTI_CHUNK=1K", hosts};
    tutti_context_params params{};
    params.struct_bytes = sizeof(params);
    params.settings = settings;
    params.settings_count = std::size(settings);
    params.ranks_on_node = 1'000'000;
    params.progress = [](void*) {
        if (progress_count) ++*progress_count;
    };
    tutti_context* context = nullptr;
    EXPECT_EQ(tutti_context_create(&params, &context, nullptr, 0), TUTTI_OK);
    return ContextPtr(context);
}

TEST(Crowded, RandomMixed) {
    const Seeds seeds = Seeds::wanted(12);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng prng(seed);
        const auto ranks = static_cast<uint32_t>(4 + seed % 5);
        const std::string hosts =
            "TUTTI_HOSTS=" + std::to_string(2 + seed % 2) + (seed % 3 == 0 ? ":round-robin" : "");
        const ContextPtr context = crowded_context(hosts.c_str());
        run_exchanges(context.get(), ranks, draw_exchanges(prng, ranks, 12), replay(seed));
        ASSERT_FALSE(HasFailure());
    }
}

// Rank 1 waits for its leader, rank 0, which waits for a message from the other host, whose rank 3
// is late. Meanwhile rank 1 lets the embedder progress, but once a millisecond at most, in one long
// wait as in many short ones.
TEST(Crowded, WhoSleepsForItsNodeSeldomLooksAtTheNetwork) {
    const ContextPtr context = crowded_context("TUTTI_HOSTS=2");
    std::atomic<uint64_t> looks = 0;
    std::atomic<bool> is_begun = false;
    run_hosts(context.get(), 4, [&](uint32_t rank, tutti_team* team) {
        const auto begin = std::chrono::steady_clock::now();
        const tutti_call barrier{};
        if (rank == 1) {
            progress_count = &looks;
            is_begun.store(true);
        }
        const uint64_t wanted = 20;
        while (rank == 3 && (!is_begun.load() || looks.load() < wanted)) std::this_thread::yield();
        for (int turn = 0; turn < 100; ++turn) ASSERT_EQ(tutti_run(team, &barrier), TUTTI_OK);
        if (rank != 1) return;
        progress_count = nullptr;
        const auto waited = std::chrono::steady_clock::now() - begin;
        const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
        EXPECT_GE(looks.load(), wanted);
        EXPECT_LE(looks.load(), static_cast<uint64_t>(limit) + 2);
    });
}

}  // namespace
}  // namespace tutti::test
