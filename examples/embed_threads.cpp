// SPDX-License-Identifier: BSD-3-Clause
// Tutti without MPI: the ranks are threads of one process.
//
// Whatever can exchange a few bytes among the ranks once can bootstrap a team; here it is an array
// and a barrier. Usage: embed_threads [RANKS]
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "tutti/tutti.h"

namespace {

struct Meeting {
    explicit Meeting(uint32_t ranks) : barrier(ranks) {}
    std::barrier<> barrier;
    std::vector<char> board;
};

struct Seat {
    Meeting* meeting;
    uint32_t rank;
    uint32_t size;
};

int allgather(void* user, const void* in, void* out, size_t bytes) {
    const auto* seat = static_cast<Seat*>(user);
    Meeting& meeting = *seat->meeting;
    if (seat->rank == 0) meeting.board.resize(bytes * seat->size);
    meeting.barrier.arrive_and_wait();
    std::memcpy(meeting.board.data() + bytes * seat->rank, in, bytes);
    meeting.barrier.arrive_and_wait();
    std::memcpy(out, meeting.board.data(), bytes * seat->size);
    meeting.barrier.arrive_and_wait();
    return 0;
}

bool run_rank(tutti_context* context, Meeting& meeting, uint32_t rank, uint32_t size) {
    Seat seat{&meeting, rank, size};
    tutti_team_params params{};
    params.struct_bytes = sizeof(params);
    params.rank = rank;
    params.size = size;
    params.allgather = allgather;
    params.allgather_user = &seat;
    params.name = "the threads";
    params.requests = 2;  // at once
    tutti_team* team = nullptr;
    char message[256];
    if (tutti_team_create(context, &params, &team, message, sizeof(message)) != TUTTI_OK) {
        std::fprintf(stderr, "embed_threads: %s\n", message);
        return false;
    }
    // The sum and the largest, both under way at once.
    const double mine = rank + 1;
    double results[2] = {};
    const tutti_op ops[2] = {TUTTI_SUM, TUTTI_MAX};
    tutti_request requests[2];
    bool done = true;
    for (int i = 0; i < 2; ++i) {
        tutti_call call{};
        call.collective = TUTTI_ALLREDUCE;
        call.send = &mine;
        call.recv = &results[i];
        call.bytes = sizeof(double);
        call.dtype = TUTTI_DOUBLE;
        call.op = ops[i];
        done &= tutti_request_init(&requests[i], team, &call) == TUTTI_OK;
        done &= tutti_request_start(&requests[i]) == TUTTI_OK;
    }
    for (tutti_request& request : requests) done &= tutti_request_wait(&request) == TUTTI_OK;
    tutti_team_destroy(team);
    return done && results[0] == size * (size + 1) / 2.0 && results[1] == size;
}

}  // namespace

int main(int argc, char** argv) {
    const int wanted = argc > 1 ? std::atoi(argv[1]) : 4;
    if (wanted < 1 || wanted > 1024) {
        std::fprintf(stderr, "embed_threads: RANKS is 1 to 1024, not %s\n", argv[1]);
        return 2;
    }
    const auto size = static_cast<uint32_t>(wanted);
    tutti_context_params params{};
    params.struct_bytes = sizeof(params);
    params.ranks_on_node = size;
    tutti_context* context = nullptr;
    char message[256];
    if (tutti_context_create(&params, &context, message, sizeof(message)) != TUTTI_OK) {
        std::fprintf(stderr, "embed_threads: %s\n", message);
        return 1;
    }
    Meeting meeting(size);
    std::vector<std::thread> threads;
    std::vector<char> good(size, 0);
    for (uint32_t rank = 0; rank < size; ++rank) {
        threads.emplace_back([&, rank] { good[rank] = run_rank(context, meeting, rank, size); });
    }
    for (std::thread& thread : threads) thread.join();
    tutti_context_destroy(context);
    for (const char rank_good : good) {
        if (!rank_good) return 1;
    }
    std::printf("%u threads: sum and maximum of 1 to %u are right on all of them\n", size, size);
    return 0;
}
