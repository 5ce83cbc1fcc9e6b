// SPDX-License-Identifier: BSD-3-Clause
// Memory that runs out on one rank, at every allocation in turn: nobody is left waiting, and all
// ranks get the same answer. A binary of its own, since it replaces operator new.
#include <cstdlib>
#include <new>
#include <set>
#include <span>
#include <utility>

#include "conformance/fake_ud.h"
#include "conformance/mailbox.h"
#include "run/engine/context.h"
#include "run/networks/rdma/rdma_network.h"
#include "unit/failing_memory.h"
#include "unit/plenty_mail.h"
#include "unit/run/engine/crew.h"
#include "unit/run/engine/fake_network.h"
#include "unit/run/engine/told.h"

namespace tutti::test {
namespace {

int allgather(void* user, const void* in, void* out, size_t bytes) {
    const Plenty plenty;
    return Meeting::allgather(user, in, out, bytes);
}

struct Case {
    const char* hosts;
    uint32_t ranks;
    bool for_good;
    uint32_t requests = 1;
};

struct Outcome {
    tutti_status status = TUTTI_OK;
    std::string verbs;      // their state
    std::string multicast;  // its state
    std::string fabric;
    TeamPtr team;
    char message[256] = "";
};

// Makes a team whose rank `victim` fails at its allocation number `at`. True if it came to that.
// One context for all ranks, or one for each.
bool make_short(std::span<const ContextPtr> contexts, const Case& one, uint32_t victim, long at,
                std::vector<Outcome>& outcomes) {
    Meeting meeting(one.ranks);
    Mailbox mailbox(one.ranks);
    std::atomic<bool> came_to_it = false;
    run_threads(one.ranks, [&](uint32_t index) {
        FakeNetwork::be(index);
        Meeting::Seat seat{&meeting, index};
        PlentyMail rank{&mailbox, index};
        const tutti_p2p p2p = rank.p2p();
        tutti_team_params params{};
        params.struct_bytes = sizeof(params);
        params.rank = index;
        params.size = one.ranks;
        params.allgather = allgather;
        params.allgather_user = &seat;
        params.p2p = &p2p;
        params.requests = one.requests;
        tutti_team* team = nullptr;
        Outcome& outcome = outcomes[index];
        if (index == victim) {
            fails_for_good = one.for_good;
            left_until_failure = at;
        }
        tutti_context* context = contexts[index % contexts.size()].get();
        outcome.status =
            tutti_team_create(context, &params, &team, outcome.message, sizeof(outcome.message));
        left_until_failure = -1;
        if (has_failed) came_to_it = true;
        has_failed = false;
        outcome.team.reset(team);
        if (outcome.status != TUTTI_OK) return;
        outcome.multicast = told(team, "multicast").text("state");
        outcome.fabric = told(team, "multicast").text("over");
        outcome.verbs = told(team, "verbs").text("state");
        const tutti_call barrier{};
        EXPECT_EQ(tutti_run(team, &barrier), TUTTI_OK);
        outcome.team.reset();
    });
    return came_to_it;
}

void expect_alike(const std::vector<Outcome>& outcomes, const Case& one, uint32_t victim, long at) {
    for (const Outcome& outcome : outcomes) {
        EXPECT_EQ(outcome.status, outcomes[0].status)
            << one.hosts << ", " << one.ranks << " ranks: allocation " << at << " of rank "
            << victim << ": " << outcome.message << " / " << outcomes[0].message;
        if (outcome.status == TUTTI_OK) continue;
        EXPECT_EQ(outcome.status, TUTTI_ERR_MEMORY) << outcome.message;
        const std::string message = outcome.message;
        const bool says_it = message.find("out of memory") != std::string::npos ||
                             message.find("no memory for") != std::string::npos;
        EXPECT_TRUE(says_it) << message;
    }
}

class Creation : public ::testing::TestWithParam<Case> {};

TEST_P(Creation, AllOrNothing) {
    const Case& one = GetParam();
    const ContextPtr context =
        make_context({one.hosts, "TUTTI_CHECK=1", "TUTTI_CHUNK=1K", "TUTTI_MCAST=off"});
    for (const uint32_t victim : {0u, one.ranks - 1}) {  // leads, or does not
        long at = 0;
        uint32_t failures = 0;
        while (true) {
            std::vector<Outcome> outcomes(one.ranks);
            const bool came_to_it = make_short({&context, 1}, one, victim, at, outcomes);
            expect_alike(outcomes, one, victim, at);
            if (HasFailure()) return;
            if (!came_to_it) break;
            failures += outcomes[0].status == TUTTI_ERR_MEMORY;
            ++at;
        }
        // Nearly every one matters.
        EXPECT_GT(failures, 5u);
        EXPECT_GT(at, 3);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Memory, Creation,
    ::testing::Values(Case{"TUTTI_HOSTS=1", 3, false}, Case{"TUTTI_HOSTS=1", 3, true},
                      Case{"TUTTI_HOSTS=2", 3, false}, Case{"TUTTI_HOSTS=2", 3, true},
                      Case{"TUTTI_HOSTS=3", 3, true}, Case{"TUTTI_HOSTS=1", 3, false, 3},
                      Case{"TUTTI_HOSTS=2", 3, false, 3}));

// The handle of the C interface begins with it.
engine::Context& context_of(const ContextPtr& context) {
    return **reinterpret_cast<std::unique_ptr<engine::Context>*>(context.get());
}

// Each with a port, whose link is slow, so that UDP goes before it where both are there.
std::vector<ContextPtr> make_contexts(const Case& one, const char* over) {
    FakeUdRules rules;
    rules.bytes_per_s = 1000;
    const auto fake = std::make_shared<FakeUd>(rules);
    std::vector<ContextPtr> contexts;
    for (uint32_t rank = 0; rank < one.ranks; ++rank) {
        contexts.push_back(make_context(
            {one.hosts, "TUTTI_CHUNK=1K", "TUTTI_MCAST=on", "TUTTI_MCAST_IF=lo", over}));
        networks::rdma::network_of(context_of(contexts[rank]).networks())
            .set_device(FakeUd::add_port(fake));
    }
    return contexts;
}

class CreationWithMulticast : public ::testing::TestWithParam<Case> {
  protected:
    // Each time anew, since a process remembers failures; that takes long, so that only TESTS_LONG
    // (make nightly) tries more than every step'th allocation, and TESTS_BRIEF but every sixth of
    // these. see(outcome of a rank, of rank 0).
    template <class See>
    void fail_each(const char* over, uint32_t victim, long step, const See& see) {
        const Case& one = GetParam();
        if (std::getenv("TESTS_LONG")) step = 1;
        if (std::getenv("TESTS_BRIEF")) step *= 6;
        for (long at = 0;; at += step) {
            const auto contexts = make_contexts(one, over);
            std::vector<Outcome> outcomes(one.ranks);
            const bool came_to_it = make_short(contexts, one, victim, at, outcomes);
            expect_alike(outcomes, one, victim, at);
            SCOPED_TRACE("allocation " + std::to_string(at) + " of rank " + std::to_string(victim));
            for (const Outcome& outcome : outcomes) see(outcome, outcomes[0]);
            if (HasFailure() || !came_to_it) return;
        }
    }
};

// The team may go without it, all ranks alike.
TEST_P(CreationWithMulticast, AllOrNothing) {
    const Case& one = GetParam();
    for (const uint32_t victim : {0u, one.ranks - 1}) {  // carries for its node, or does not
        std::set<std::string> seen;
        fail_each("TUTTI_MCAST_OVER=udp", victim, 4,
                  [&](const Outcome& outcome, const Outcome& first) {
                      EXPECT_EQ(outcome.multicast, first.multicast);
                      if (outcome.status == TUTTI_OK) seen.insert(outcome.multicast);
                  });
        if (HasFailure()) return;
        EXPECT_EQ(seen.count("on"), 1u);
        if (std::getenv("TESTS_BRIEF")) continue;  // may step over the few allocations that matter
        EXPECT_EQ(seen.count("off"), one.for_good ? 0u : 1u);
    }
}

// And over one fabric alike.
TEST_P(CreationWithMulticast, OverBothFabricsAllChooseAlike) {
    const Case& one = GetParam();
    for (const uint32_t victim : {0u, one.ranks - 1}) {
        std::set<std::string> seen;
        fail_each("TUTTI_MCAST_OVER=auto", victim, 9,
                  [&](const Outcome& outcome, const Outcome& first) {
                      EXPECT_EQ(outcome.multicast, first.multicast);
                      EXPECT_EQ(outcome.fabric, first.fabric);
                      if (outcome.multicast == "on") seen.insert(outcome.fabric);
                  });
        if (HasFailure()) return;
        EXPECT_EQ(seen.count("udp"), 1u);
        if (std::getenv("TESTS_BRIEF")) continue;  // may step over the few allocations that matter
        EXPECT_EQ(seen.count("verbs"), one.for_good ? 0u : 1u);
    }
}

class CreationWithVerbs : public ::testing::TestWithParam<Case> {};

// The team may go by the embedder's messages, all ranks alike.
TEST_P(CreationWithVerbs, AllOrNothing) {
    const Case& one = GetParam();
    for (const uint32_t victim : {0u, one.ranks - 1}) {
        std::set<std::string> seen;
        for (long at = 0;; at += std::getenv("TESTS_LONG") ? 1 : 9) {
            FakeNetwork network(one.ranks, 1);
            network.on_use = [](bool is_begun) {
                static thread_local long kept = -1;
                if (is_begun) kept = std::exchange(left_until_failure, -1);
                if (!is_begun) left_until_failure = kept;
            };
            std::vector<ContextPtr> contexts;
            for (uint32_t rank = 0; rank < one.ranks; ++rank) {
                contexts.push_back(make_context({one.hosts, "TUTTI_MCAST=off", "TUTTI_VERBS=on"}));
                networks::rdma::network_of(context_of(contexts.back()).networks())
                    .set_device(network.device());
            }
            std::vector<Outcome> outcomes(one.ranks);
            const bool came_to_it = make_short(contexts, one, victim, at, outcomes);
            expect_alike(outcomes, one, victim, at);
            for (const Outcome& outcome : outcomes) {
                EXPECT_EQ(outcome.verbs, outcomes[0].verbs)
                    << "allocation " << at << " of rank " << victim;
                if (outcome.status == TUTTI_OK) seen.insert(outcome.verbs);
            }
            if (HasFailure()) return;
            if (!came_to_it) break;
        }
        EXPECT_EQ(seen.count("on"), 1u);
        EXPECT_EQ(seen.count("off"), one.for_good ? 0u : 1u);
    }
}

INSTANTIATE_TEST_SUITE_P(Memory, CreationWithVerbs,
                         ::testing::Values(Case{"TUTTI_HOSTS=3", 3, false},
                                           Case{"TUTTI_HOSTS=3", 3, true},
                                           Case{"TUTTI_HOSTS=3", 3, false, 2}));

INSTANTIATE_TEST_SUITE_P(Memory, CreationWithMulticast,
                         ::testing::Values(Case{"TUTTI_HOSTS=2", 4, false},
                                           Case{"TUTTI_HOSTS=2", 4, true}));

// The first call of a shape plans it and reserves its memory. True if it came to a failure there.
bool call_short(tutti_context* context, const Case& one, uint32_t victim, long at,
                std::vector<Outcome>& outcomes) {
    Meeting meeting(one.ranks);
    Mailbox mailbox(one.ranks);
    std::atomic<bool> came_to_it = false;
    run_threads(one.ranks, [&](uint32_t index) {
        PlentyMail rank{&mailbox, index};
        const tutti_p2p p2p = rank.p2p();
        const Made made = make_team(context, meeting, index, "the crew", &p2p);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        tutti_team* team = made.team.get();
        std::vector<uint32_t> values(5000, index);
        tutti_call call{};
        call.collective = TUTTI_ALLREDUCE;
        call.send = TUTTI_IN_PLACE;
        call.recv = values.data();
        call.bytes = values.size() * sizeof(uint32_t);
        call.dtype = TUTTI_UINT32;
        if (index == victim) {
            fails_for_good = one.for_good;
            left_until_failure = at;
        }
        const tutti_status status = tutti_run(team, &call);
        left_until_failure = -1;
        if (has_failed) came_to_it = true;
        has_failed = false;
        outcomes[index].status = status;
        std::strncpy(outcomes[index].message, tutti_team_message(team), 255);
        if (status == TUTTI_OK) {
            EXPECT_EQ(values[4999], one.ranks * (one.ranks - 1) / 2);
        }
    });
    return came_to_it;
}

class FirstCall : public ::testing::TestWithParam<Case> {};

TEST_P(FirstCall, NobodyIsLeftWaiting) {
    const Case& one = GetParam();
    const ContextPtr context =
        make_context({one.hosts, "TUTTI_CHUNK=1K", "TUTTI_MCAST=off", "TUTTI_ALLREDUCE=ring"});
    for (const uint32_t victim : {0u, one.ranks - 1}) {
        long at = 0;
        uint32_t failures = 0;
        for (;; ++at) {
            std::vector<Outcome> outcomes(one.ranks);
            if (!call_short(context.get(), one, victim, at, outcomes)) break;
            expect_alike(outcomes, one, victim, at);
            if (HasFailure()) return;
            failures += outcomes[0].status == TUTTI_ERR_MEMORY;
        }
        EXPECT_GT(at, 3);
        if (one.for_good) {
            EXPECT_GT(failures, 3u);
        }
    }
}

// Where a single allocation fails, what was put aside mostly helps.
INSTANTIATE_TEST_SUITE_P(Memory, FirstCall,
                         ::testing::Values(Case{"TUTTI_HOSTS=2", 3, false},
                                           Case{"TUTTI_HOSTS=2", 3, true}));

}  // namespace
}  // namespace tutti::test
