// SPDX-License-Identifier: BSD-3-Clause
// Threads as the ranks of teams across hosts that make trials in later calls: each has a context of
// its own, as processes have.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "conformance/mailbox.h"
#include "unit/run/engine/crew.h"
#include "unit/run/engine/told.h"

namespace tutti::test {

using Settings = std::vector<const char*>;

inline Told multicast_of(const tutti_team* team) { return told(team, "multicast"); }

// Ranks that meet more than once.
struct Job {
    Job(uint32_t size, const Settings& settings, const char* mpi = nullptr) : ranks(size) {
        for (uint32_t rank = 0; rank < size; ++rank) {
            contexts.push_back(make_context(settings, &log, mpi));
        }
    }
    // A team of all ranks; body(rank, team) on each.
    void run(const std::function<void(uint32_t, tutti_team*)>& body) {
        Meeting meeting(ranks);
        Mailbox& mailbox = add_mailbox();
        run_threads(ranks, [&](uint32_t rank) {
            const tutti_p2p p2p = mailbox.callbacks(rank);
            const Made made = make_team(contexts[rank].get(), meeting, rank, "the crew", &p2p);
            ASSERT_EQ(made.status, TUTTI_OK) << made.message;
            body(rank, made.team.get());
        });
    }
    // What each rank of a team tells of its multicast.
    std::vector<Told> multicasts() {
        std::vector<Told> all(ranks);
        run([&](uint32_t rank, tutti_team* team) {
            all[rank] = multicast_of(team);
            const tutti_call barrier{};
            EXPECT_EQ(tutti_run(team, &barrier), TUTTI_OK);
        });
        return all;
    }

    // Of a team, whose ranks may need it until their contexts end.
    Mailbox& add_mailbox() { return mailboxes.emplace_back(ranks); }

    uint32_t ranks;
    Log log;
    std::deque<Mailbox> mailboxes;
    std::vector<ContextPtr> contexts;
};

// A team whose ranks count as hosts of their own, and that tries multicast when calls have asked
// for it.
inline Made make_later(tutti_context* context, Meeting& meeting, uint32_t rank,
                       const tutti_p2p& p2p, Meeting::Seat& seat, int apart = 1) {
    seat = {&meeting, rank};
    tutti_team_params params = params_of(meeting, rank, seat, "the crew", &p2p);
    params.apart = apart;
    params.multicast_later = 1;
    return make_team(context, params);
}

// body(rank, team, seat) on each rank, whose later rounds meet over the seat.
using LaterBody = std::function<void(uint32_t, tutti_team*, Meeting::Seat&)>;

inline void run_later(Job& job, const LaterBody& body, int apart = 1) {
    Meeting meeting(job.ranks);
    Mailbox& mailbox = job.add_mailbox();
    run_threads(job.ranks, [&](uint32_t rank) {
        const tutti_p2p p2p = mailbox.callbacks(rank);
        Meeting::Seat seat{};
        const Made made = make_later(job.contexts[rank].get(), meeting, rank, p2p, seat, apart);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        body(rank, made.team.get(), seat);
    });
}

inline void run_later(uint32_t ranks, const Settings& settings, const LaterBody& body) {
    Job job(ranks, settings);
    run_later(job, body);
}

inline tutti_call bcast_of(std::vector<uint32_t>& data) {
    tutti_call call{};
    call.collective = TUTTI_BCAST;
    call.recv = data.data();
    call.bytes = data.size() * sizeof(uint32_t);
    return call;
}

inline void run_bcast(uint32_t rank, tutti_team* team, size_t words) {
    std::vector<uint32_t> data(words, rank == 0 ? 7 : 0);
    const tutti_call call = bcast_of(data);
    ASSERT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
    ASSERT_EQ(data, std::vector<uint32_t>(words, 7));
}

// The next call, at which the team would try something, where rank 1 has given up: nobody meets,
// and nobody is left waiting.
inline void run_without_rank_one(uint32_t rank, tutti_team* team, const Meeting::Seat& seat) {
    const uint32_t rounds = seat.round;
    if (rank == 1) tutti_team_give_up(team, "no memory");
    std::vector<uint32_t> data(2);
    const tutti_call call = bcast_of(data);
    EXPECT_LT(tutti_run(team, &call), TUTTI_OK);
    EXPECT_EQ(seat.round, rounds);
}

// Messages of a mailbox, of which one rank cannot send some.
struct Failing {
    tutti_p2p inner;
    std::function<bool(size_t bytes)> fails;
    static int send(void* user, const void* data, size_t bytes, uint32_t peer, uint32_t tag,
                    void** request) {
        auto& self = *static_cast<Failing*>(user);
        if (self.fails(bytes)) return 1;
        return self.inner.send(self.inner.user, data, bytes, peer, tag, request);
    }
    static int recv(void* user, void* data, size_t bytes, uint32_t peer, uint32_t tag,
                    void** request) {
        auto& self = *static_cast<Failing*>(user);
        return self.inner.recv(self.inner.user, data, bytes, peer, tag, request);
    }
    static int test(void* user, void** request, int* done) {
        auto& self = *static_cast<Failing*>(user);
        return self.inner.test(self.inner.user, request, done);
    }
    static int probe(void* user, uint32_t tag, uint32_t* peer, int* there) {
        auto& self = *static_cast<Failing*>(user);
        return self.inner.probe(self.inner.user, tag, peer, there);
    }
    static int cancel(void* user, void** request, int* done) {
        auto& self = *static_cast<Failing*>(user);
        return self.inner.cancel(self.inner.user, request, done);
    }
    tutti_p2p callbacks() {
        return {sizeof(tutti_p2p), this, inner.tag_max, send, recv, test, probe, cancel};
    }
};

}  // namespace tutti::test
