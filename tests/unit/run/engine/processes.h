// SPDX-License-Identifier: BSD-3-Clause
// Forked processes as the ranks of teams: they meet over a page that they share.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::test {

// Shared by all processes of a crew. A child says what is wrong in `complaint`: an assertion of
// GoogleTest would be lost with it.
class Board {
  public:
    static constexpr uint32_t kRanksMax = 16;
    static constexpr size_t kBytesMax = 1024;

    static Board* create(uint32_t ranks) {
        void* memory =
            mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) std::abort();
        auto* board = new (memory) Board;
        board->ranks_ = ranks;
        return board;
    }
    static void destroy(Board* board) { munmap(board, sizeof(Board)); }

    // A barrier. A rank that died must not leave the others waiting for ever.
    void meet() {
        const uint32_t turn = turn_.load();
        if (arrived_.fetch_add(1) + 1 == ranks_) {
            arrived_.store(0);
            turn_.fetch_add(1);
            return;
        }
        while (turn_.load() == turn) {
            if (is_broken_.load()) _exit(99);
            sched_yield();
        }
    }
    void give_up() { is_broken_.store(true); }
    uint32_t ranks() const { return ranks_; }

    struct Seat {
        Board* board;
        uint32_t rank;
        uint32_t round = 0;
        // Called in the round of that number, after all have met and before anybody goes on.
        std::function<void(uint32_t round)> between;
    };
    static int allgather(void* user, const void* in, void* out, size_t bytes) {
        auto* seat = static_cast<Seat*>(user);
        Board& board = *seat->board;
        if (bytes > kBytesMax) return 1;
        std::memcpy(board.data_[seat->rank], in, bytes);
        board.meet();
        for (uint32_t rank = 0; rank < board.ranks_; ++rank) {
            std::memcpy(static_cast<char*>(out) + rank * bytes, board.data_[rank], bytes);
        }
        if (seat->between) seat->between(seat->round);
        ++seat->round;
        board.meet();
        return 0;
    }

    char complaint[kRanksMax][512] = {};

  private:
    uint32_t ranks_ = 0;
    std::atomic<uint32_t> arrived_{0};
    std::atomic<uint32_t> turn_{0};
    std::atomic<bool> is_broken_{false};
    char data_[kRanksMax][kBytesMax] = {};
};

// Runs body(board, rank) in so many processes. The body's text, where there is one, is a complaint.
inline void run_processes(uint32_t ranks,
                          const std::function<std::string(Board&, uint32_t)>& body) {
    ASSERT_LE(ranks, Board::kRanksMax);
    Board* board = Board::create(ranks);
    std::vector<pid_t> children;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            const std::string complaint = body(*board, rank);
            std::strncpy(board->complaint[rank], complaint.c_str(), 511);
            if (!complaint.empty()) board->give_up();
            _exit(complaint.empty() ? 0 : 1);
        }
        children.push_back(child);
    }
    for (uint32_t left = ranks; left > 0; --left) {
        int status = 0;
        const pid_t child = wait(&status);
        if (status == 0) continue;
        board->give_up();
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            if (children[rank] != child) continue;
            ADD_FAILURE() << "rank " << rank << " ended with wait status " << status << ": "
                          << board->complaint[rank];
        }
    }
    Board::destroy(board);
}

// A context, a team and their end, in one process of a crew.
class Seated {
  public:
    Seated(Board& board, uint32_t rank, const std::vector<const char*>& settings = {},
           tutti_context* context = nullptr)
        : own_(context == nullptr), context_(context) {
        char text[512] = "";
        if (own_) {
            tutti_context_params params{};
            params.struct_bytes = sizeof(params);
            params.settings = settings.data();
            params.settings_count = settings.size();
            status_ = tutti_context_create(&params, &context_, text, sizeof(text));
        }
        seat_.board = &board;
        seat_.rank = rank;
        message_ = text;
    }
    Seated(const Seated&) = delete;
    Seated& operator=(const Seated&) = delete;
    ~Seated() {
        tutti_team_destroy(team_);
        if (own_) tutti_context_destroy(context_);
    }
    Board::Seat& seat() { return seat_; }
    // p2p: the way to other hosts.
    tutti_status make(const tutti_p2p* p2p = nullptr) {
        if (status_ != TUTTI_OK) return status_;
        tutti_team_params params{};
        params.struct_bytes = sizeof(params);
        params.rank = seat_.rank;
        params.size = seat_.board->ranks();
        params.allgather = Board::allgather;
        params.allgather_user = &seat_;
        params.name = "the processes";
        params.p2p = p2p;
        char text[512] = "";
        status_ = tutti_team_create(context_, &params, &team_, text, sizeof(text));
        message_ = text;
        return status_;
    }
    tutti_team* team() { return team_; }
    const std::string& message() const { return message_; }

    // An allreduce, an allgather and a large broadcast; the complaint, if there is one.
    std::string use() {
        const uint32_t ranks = seat_.board->ranks();
        uint64_t sum = seat_.rank + 1;
        tutti_call call{};
        call.collective = TUTTI_ALLREDUCE;
        call.send = TUTTI_IN_PLACE;
        call.recv = &sum;
        call.bytes = sizeof(sum);
        call.dtype = TUTTI_UINT64;
        if (tutti_run(team_, &call) != TUTTI_OK) return "allreduce failed";
        if (sum != uint64_t{ranks} * (ranks + 1) / 2) return "wrong sum " + std::to_string(sum);
        std::vector<uint32_t> numbers(ranks);
        call = {};
        call.collective = TUTTI_ALLGATHER;
        call.send = &seat_.rank;
        call.recv = numbers.data();
        call.bytes = sizeof(uint32_t);
        if (tutti_run(team_, &call) != TUTTI_OK) return "allgather failed";
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            if (numbers[rank] != rank) return "wrong allgather";
        }
        std::vector<uint32_t> large(100'000, seat_.rank == 0 ? 7 : 0);
        call = {};
        call.collective = TUTTI_BCAST;
        call.recv = large.data();
        call.bytes = large.size() * sizeof(uint32_t);
        if (tutti_run(team_, &call) != TUTTI_OK) return "broadcast failed";
        for (const uint32_t value : large) {
            if (value != 7) return "wrong broadcast";
        }
        return "";
    }

  private:
    bool own_;
    tutti_context* context_ = nullptr;
    tutti_team* team_ = nullptr;
    tutti_status status_ = TUTTI_OK;
    std::string message_;
    Board::Seat seat_{};
};

}  // namespace tutti::test
