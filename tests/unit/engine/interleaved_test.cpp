// SPDX-License-Identifier: BSD-3-Clause
// Requests of several teams under way at once: whoever waits in one team moves the others on.
#include <gtest/gtest.h>

#include <array>

#include "sim/seeds.h"
#include "unit/engine/hosts.h"

namespace tutti::test {
namespace {

// A rank with a context of its own, as a process has.
struct Rank {
    ContextPtr context;
    std::array<Made, 2> teams;
};

using Body = std::function<void(uint32_t rank, tutti_team* first, tutti_team* second)>;

// Two teams of the same ranks, on pretended hosts or on one node.
void run_two_teams(uint32_t ranks, const std::vector<const char*>& settings, const Body& body) {
    Hosts hosts{ranks};
    std::vector<Rank> all(ranks);
    for (Rank& rank : all) rank.context = make_context(settings);
    run_threads(ranks, [&](uint32_t rank) {
        for (Made& made : all[rank].teams) {
            made = hosts.make(all[rank].context.get(), rank);
            ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        }
        body(rank, all[rank].teams[0].team.get(), all[rank].teams[1].team.get());
    });
    for (Rank& rank : all) {
        for (Made& made : rank.teams) made.team.reset();
    }
}

tutti_status meet(tutti_team* team) {
    const tutti_call barrier{};
    return tutti_run(team, &barrier);
}

// Half of the ranks go on to the second team while the others wait for the first, whose calls need
// everybody several times.
void run_interleaved(uint32_t ranks, const std::vector<const char*>& settings) {
    Prng prng(3);
    const Spec spec{TUTTI_ALLREDUCE, 0, 40'000, Fold::kXorU64, prng.next()};
    Exchange first(spec, ranks);
    Exchange second(spec, ranks);
    run_two_teams(ranks, settings, [&](uint32_t rank, tutti_team* a, tutti_team* b) {
        for (int turn = 0; turn < 5; ++turn) {
            const tutti_call one = first.call(rank);
            const tutti_call two = second.call(rank);
            tutti_request* request = nullptr;
            ASSERT_EQ(tutti_request_create(a, &one, &request), TUTTI_OK);
            ASSERT_EQ(tutti_request_start(request), TUTTI_OK);
            const bool waits_first = (rank + static_cast<uint32_t>(turn)) % 2 == 0;
            if (waits_first) {
                ASSERT_EQ(tutti_request_wait(request), TUTTI_OK);
            }
            ASSERT_EQ(tutti_run(b, &two), TUTTI_OK);
            if (!waits_first) {
                ASSERT_EQ(tutti_request_wait(request), TUTTI_OK);
            }
            tutti_request_free(request);
            ASSERT_EQ(first.check(rank), "");
            ASSERT_EQ(second.check(rank), "");
            ASSERT_EQ(meet(b), TUTTI_OK);
            if (rank == 0) {
                first.reset();
                second.reset();
            }
            ASSERT_EQ(meet(b), TUTTI_OK);
        }
    });
}

TEST(Interleaved, OnOneNode) { run_interleaved(3, {"TUTTI_CHUNK=1K"}); }
TEST(Interleaved, AcrossHosts) { run_interleaved(4, {"TUTTI_HOSTS=4", "TUTTI_MCAST=off"}); }
TEST(Interleaved, AcrossHostsOfSeveralRanks) {
    run_interleaved(4, {"TUTTI_HOSTS=2", "TUTTI_MCAST=off", "TUTTI_CHUNK=1K"});
}

}  // namespace
}  // namespace tutti::test
