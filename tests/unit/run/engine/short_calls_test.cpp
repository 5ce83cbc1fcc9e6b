// SPDX-License-Identifier: BSD-3-Clause
// Memory that runs out on one rank in the midst of several calls under way, by seed: a call ends
// well, or with an error on whoever is in it; nobody is left waiting, and all ranks find the team
// whole or all find it broken. A binary of its own, since it replaces operator new.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/seeds.h"
#include "unit/failing_memory.h"
#include "unit/plenty_mail.h"
#include "unit/run/engine/crew.h"
#include "unit/run/engine/hosts.h"

namespace tutti::test {
namespace {

constexpr size_t kCalls = 10;

// As a seed has it, alike on all ranks.
struct Scene {
    uint32_t ranks = 2;
    uint32_t requests = 1;
    uint32_t victim = 0;
    long at = 0;  // its allocation that fails
    bool for_good = false;
    std::string hosts;
    bool checks = false;
    Exchanges exchanges;
};

Scene draw_scene(uint64_t seed) {
    Prng prng(seed);
    Scene scene;
    scene.ranks = static_cast<uint32_t>(2 + prng.below(3));
    scene.requests = static_cast<uint32_t>(1 + prng.below(3));
    scene.victim = static_cast<uint32_t>(prng.below(scene.ranks));
    scene.at = static_cast<long>(prng.below(120));
    scene.for_good = prng.below(2) == 0;
    scene.hosts = "TUTTI_HOSTS=" + std::to_string(1 + prng.below(scene.ranks));
    scene.checks = prng.below(4) == 0;
    scene.exchanges = draw_exchanges(prng, scene.ranks, kCalls);
    return scene;
}

struct Outcome {
    std::array<tutti_status, kCalls> calls{};
    tutti_status end = TUTTI_OK;
    bool has_failed = false;  // it came to that
};

// The user's operator has memory.
struct PlentyOperator {
    void (*reduce)(void*, const void*, void*, size_t) = nullptr;
    void* user = nullptr;
    tutti_call wrap(tutti_call call) {
        if (call.op != TUTTI_OP_USER) return call;
        *this = {call.reduce, call.reduce_user};
        call.reduce = [](void* self, const void* in, void* inout, size_t count) {
            const Plenty plenty;
            const auto* inner = static_cast<PlentyOperator*>(self);
            inner->reduce(inner->user, in, inout, count);
        };
        call.reduce_user = this;
        return call;
    }
};

// All are started at once, and waited for in an order of this rank's own.
void run_calls(const Scene& scene, uint32_t rank, tutti_team* team, Prng& prng, Outcome& outcome) {
    std::array<tutti_request, kCalls> requests;
    std::array<PlentyOperator, kCalls> operators;
    std::vector<size_t> order;
    for (size_t i = 0; i < kCalls; ++i) {
        const tutti_call call = operators[i].wrap(scene.exchanges[i]->call(rank));
        ASSERT_EQ(tutti_request_init(&requests[i], team, &call), TUTTI_OK);
        order.insert(order.begin() + static_cast<long>(prng.below(i + 1)), i);
    }
    if (rank == scene.victim) {
        fails_for_good = scene.for_good;
        left_until_failure = scene.at;
    }
    for (tutti_request& request : requests) {
        const tutti_status started = tutti_request_start(&request);
        const Plenty plenty;
        EXPECT_EQ(started, TUTTI_OK);
    }
    for (const size_t i : order) outcome.calls[i] = tutti_request_wait(&requests[i]);
    left_until_failure = -1;
    outcome.has_failed = std::exchange(has_failed, false);
    for (size_t i = 0; i < kCalls; ++i) {
        if (outcome.calls[i] != TUTTI_OK) continue;
        EXPECT_EQ(scene.exchanges[i]->check(rank), "") << describe(scene.exchanges[i]->spec());
    }
    const tutti_call barrier{};
    outcome.end = tutti_run(team, &barrier);
}

// Whether a call failed for want of memory.
bool run_scene(uint64_t seed) {
    const Scene scene = draw_scene(seed);
    Meeting meeting(scene.ranks);
    Mailbox mailbox(scene.ranks);
    std::vector<ContextPtr> contexts;
    for (uint32_t rank = 0; rank < scene.ranks; ++rank) {
        contexts.push_back(make_context({scene.hosts.c_str(), "TUTTI_MCAST=off", "TUTTI_CHUNK=1K",
                                         scene.checks ? "TUTTI_CHECK=1" : "TUTTI_CHECK=0"}));
    }
    std::vector<Outcome> outcomes(scene.ranks);
    run_threads(scene.ranks, [&](uint32_t rank) {
        PlentyMail mail{&mailbox, rank};
        const tutti_p2p p2p = mail.p2p();
        Made made =
            make_team(contexts[rank].get(), meeting, rank, "the crew", &p2p, scene.requests);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        Prng prng(seed * 100 + rank);
        run_calls(scene, rank, made.team.get(), prng, outcomes[rank]);
    });
    for (const Outcome& outcome : outcomes) {
        EXPECT_EQ(outcome.end, outcomes[0].end) << "rank 0 and another";
        for (const tutti_status status : outcome.calls) {
            EXPECT_TRUE(status == TUTTI_OK || status == TUTTI_ERR_MEMORY) << status;
            if (status != TUTTI_OK) {
                EXPECT_EQ(outcomes[0].end, TUTTI_ERR_MEMORY);
            }
        }
    }
    if (outcomes[0].end != TUTTI_OK) {
        EXPECT_TRUE(outcomes[scene.victim].has_failed);
    }
    return outcomes[0].end != TUTTI_OK;
}

TEST(ShortCalls, EndAlikeUnderSeeds) {
    uint32_t seeds = 0;
    uint32_t broken = 0;
    for_each_seed(400, [&](uint64_t seed) {
        ++seeds;
        broken += run_scene(seed) ? 1 : 0;
    });
    if (seeds < 100) return;
    EXPECT_GT(broken, seeds / 20);
    EXPECT_LT(broken, seeds);
}

}  // namespace
}  // namespace tutti::test
