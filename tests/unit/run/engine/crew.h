// SPDX-License-Identifier: BSD-3-Clause
// Threads as the ranks of teams: a place to meet, and somebody to start and join them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tutti/tutti.h"
#include "unit/threads.h"

namespace tutti::test {

// What the ranks of one team need to bootstrap it.
class Meeting {
  public:
    explicit Meeting(uint32_t ranks) : ranks_(ranks), barrier_(ranks) {}
    uint32_t ranks() const { return ranks_; }
    // From this allgather on (counted from 0), the callback fails on all ranks alike.
    void fail_from(uint32_t round) { fail_from_ = round; }

    struct Seat {
        Meeting* meeting;
        uint32_t rank;
        uint32_t round = 0;
    };
    static int allgather(void* user, const void* in, void* out, size_t bytes) {
        auto* seat = static_cast<Seat*>(user);
        return seat->meeting->gather(*seat, in, out, bytes);
    }

  private:
    int gather(Seat& seat, const void* in, void* out, size_t bytes) {
        const bool fails = seat.round++ >= fail_from_;
        if (seat.rank == 0) board_.resize(bytes * ranks_);
        barrier_.arrive_and_wait();
        std::memcpy(board_.data() + bytes * seat.rank, in, bytes);
        barrier_.arrive_and_wait();
        if (!fails) std::memcpy(out, board_.data(), bytes * ranks_);
        barrier_.arrive_and_wait();
        return fails ? 1 : 0;
    }

    uint32_t ranks_;
    uint32_t fail_from_ = UINT32_MAX;
    std::barrier<> barrier_;
    std::vector<char> board_;
};

// What was logged, by any thread.
class Log {
  public:
    static void write(void* user, tutti_log_level, const char* line) {
        auto* log = static_cast<Log*>(user);
        const std::lock_guard lock(log->mutex_);
        log->lines_.emplace_back(line);
    }
    std::vector<std::string> lines() {
        const std::lock_guard lock(mutex_);
        return lines_;
    }
    bool is_empty() { return lines().empty(); }

  private:
    std::mutex mutex_;
    std::vector<std::string> lines_;
};

struct ContextFree {
    void operator()(tutti_context* context) const { tutti_context_destroy(context); }
};
using ContextPtr = std::unique_ptr<tutti_context, ContextFree>;

inline ContextPtr make_context(const std::vector<const char*>& settings, Log* log = nullptr,
                               const char* host_mpi = nullptr) {
    tutti_context_params params{};
    params.struct_bytes = sizeof(params);
    params.host_mpi = host_mpi;
    params.settings = settings.data();
    params.settings_count = settings.size();
    if (log) {
        params.log = Log::write;
        params.log_user = log;
    }
    tutti_context* context = nullptr;
    char message[256] = "";
    EXPECT_EQ(tutti_context_create(&params, &context, message, sizeof(message)), TUTTI_OK)
        << message;
    return ContextPtr(context);
}

struct TeamFree {
    void operator()(tutti_team* team) const { tutti_team_destroy(team); }
};
using TeamPtr = std::unique_ptr<tutti_team, TeamFree>;

struct Made {
    tutti_status status = TUTTI_OK;
    TeamPtr team;
    std::string message;
};

// The seat outlives the team's making, and the team where it meets again later.
inline tutti_team_params params_of(const Meeting& meeting, uint32_t rank, Meeting::Seat& seat,
                                   const char* name, const tutti_p2p* p2p) {
    tutti_team_params params{};
    params.struct_bytes = sizeof(params);
    params.rank = rank;
    params.size = meeting.ranks();
    params.allgather = Meeting::allgather;
    params.allgather_user = &seat;
    params.name = name;
    params.p2p = p2p;
    return params;
}

inline Made make_team(tutti_context* context, const tutti_team_params& params) {
    tutti_team* team = nullptr;
    char message[512] = "";
    Made made;
    made.status = tutti_team_create(context, &params, &team, message, sizeof(message));
    made.team.reset(team);
    made.message = message;
    return made;
}

inline Made make_team(tutti_context* context, Meeting& meeting, uint32_t rank,
                      const char* name = "the crew", const tutti_p2p* p2p = nullptr,
                      uint32_t requests = 1, bool in_turn = false, bool cannot = false) {
    Meeting::Seat seat{&meeting, rank};
    tutti_team_params params = params_of(meeting, rank, seat, name, p2p);
    params.requests = requests;
    params.in_turn = in_turn ? 1 : 0;
    params.cannot = cannot ? 1 : 0;
    return make_team(context, params);
}

// A team of `ranks` threads over one context; body(rank, team) on each. False where the team was
// not made.
inline bool run_crew(tutti_context* context, uint32_t ranks,
                     const std::function<void(uint32_t, tutti_team*)>& body) {
    Meeting meeting(ranks);
    std::atomic<bool> good = true;
    run_threads(ranks, [&](uint32_t rank) {
        const Made made = make_team(context, meeting, rank);
        if (made.status == TUTTI_OK) {
            body(rank, made.team.get());
        } else {
            good = false;
            ADD_FAILURE() << "rank " << rank << ": " << made.message;
        }
    });
    return good;
}

}  // namespace tutti::test
