// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/abi/bench_force.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "mpi/comm_state.h"
#include "mpi/front.h"

namespace tutti::mpi {
namespace {

// Blocks as `tutti bench` has them: of one length.
struct EqualBlocks {
    EqualBlocks(uint32_t ranks, uint64_t each) : bytes(ranks, each), offsets(ranks) {
        for (uint32_t rank = 0; rank < ranks; ++rank) offsets[rank] = rank * each;
        blocks = {bytes.data(), offsets.data(), bytes.data(), offsets.data()};
    }
    EqualBlocks(const EqualBlocks&) = delete;
    EqualBlocks& operator=(const EqualBlocks&) = delete;

    std::vector<uint64_t> bytes, offsets;
    tutti_blocks blocks{};
};

// What `tutti bench` will call: doubles, summed.
tutti_call call_of(int collective, uint64_t bytes, uint32_t root, const EqualBlocks& blocks) {
    tutti_call call{};
    call.blocks = &blocks.blocks;
    call.collective = static_cast<tutti_collective>(collective);
    call.root = root;
    call.bytes = bytes;
    call.dtype = TUTTI_DOUBLE;
    call.op = TUTTI_SUM;
    return call;
}

}  // namespace
}  // namespace tutti::mpi

extern "C" int tutti_bench_force(uintptr_t comm, int collective, uint64_t bytes,
                                 const char* algorithm, char* message, size_t message_bytes) {
    using namespace tutti::mpi;
    // As many as a team remembers plans of.
    constexpr uint32_t kRootsMax = 64;
    CommState* state = find_state({comm});
    if (state == nullptr || state->team == nullptr) {
        std::strncpy(message, state != nullptr ? state->why : "Tutti is off", message_bytes - 1);
        return 1;
    }
    const EqualBlocks blocks(state->size, bytes);
    const tutti_call call = call_of(collective, bytes, 0, blocks);
    if (tutti_team_force(state->team, &call, algorithm, message, message_bytes) != TUTTI_OK) {
        return 1;
    }
    for (uint32_t root = 1; root < std::min(state->size, kRootsMax); ++root) {
        const tutti_call next = call_of(collective, bytes, root, blocks);
        tutti_algorithm(state->team, &next);
    }
    return 0;
}

extern "C" void tutti_bench_apart(uintptr_t comm) {
    using namespace tutti::mpi;
    if (CommState* state = find_state({comm})) settle_apart(*state);
}

extern "C" void tutti_bench_host(char* name, size_t name_bytes) {
    name[0] = '\0';
    if (tutti::mpi::front.context != nullptr) {
        tutti_context_host(tutti::mpi::front.context, name, name_bytes);
    }
}
