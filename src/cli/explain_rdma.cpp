// SPDX-License-Identifier: BSD-3-Clause
#include "cli/explain_rdma.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "lab/explain/schedule_cost.h"
#include "plan/algo/plan.h"
#include "plan/sched/operation_kinds.h"
#include "plan/sched/program.h"
#include "run/networks/rdma/rdma_peers.h"
#include "run/transport/verbs/rc.h"

namespace tutti::cli {
namespace {

struct Messages {
    uint64_t all = 0;
    uint64_t by_rdma = 0;
    uint64_t counted = 0;  // of these
};

// Where arrivals tell who sends to whom, each is counted once between neighbours.
// By a word to which all add each rank tells one, itself or another.
void count(const sched::Program& program, const std::vector<uint32_t>& peers, bool has_word,
           Messages& messages) {
    const sched::Extent extent = program.extent();
    sched::Round round;
    for (uint64_t lane = 0; lane < extent.lanes; ++lane) {
        for (uint64_t i = 0; i < extent.rounds; ++i) {
            program.read(lane, i, round);
            const bool adds =
                sched::meets_by_multicast(round) && round[round.size() - 1].is_counted;
            if (adds && has_word && round.size() > 1) {
                ++messages.all;
                ++messages.by_rdma;
                ++messages.counted;
                continue;
            }
            for (const sched::Operation& one : round) {
                if (sched::is_near(one)) continue;  // a letter in the node's memory
                if (!sched::row_of(one).sends || sched::is_multicast(one.kind)) continue;
                ++messages.all;
                if (!std::ranges::binary_search(peers, one.peer)) continue;
                ++messages.by_rdma;
                messages.counted += one.is_counted ? 1 : 0;
            }
        }
    }
}

// has_own: a rank is connected with itself as well.
RdmaMemory memory_of(size_t peers, bool has_own) {
    const size_t pairs = peers + (has_own ? 1 : 0);
    const auto need = transport::verbs::need_of(static_cast<uint32_t>(pairs), kRdmaMtuBytes);
    return {peers, pairs * need.pair_bytes};
}

}  // namespace

RdmaMemory print_rdma(const sched::Shape& shape, const topo::Placement& placement,
                      const select::Choice& choice, const VerbsSettings& settings) {
    const bool is_followed = choice.runs == select::Runs::kPlan &&
                             explain::operations_about(*choice.algorithm, shape, placement,
                                                       choice.tuning) <= explain::kOperationsMax;
    const bool has_word = networks::rdma::all_reach_first(placement);
    size_t peers_max = 0;
    Messages messages;
    for (uint32_t rank = 0; rank < placement.ranks(); ++rank) {
        const std::vector<uint32_t> peers = networks::rdma::peers_of(placement, rank);
        peers_max = std::max(peers_max, peers.size());
        if (!is_followed) continue;
        count(*algo::make_plan(*choice.algorithm, shape, placement, rank, choice.tuning), peers,
              has_word, messages);
    }
    const RdmaMemory memory = memory_of(peers_max, has_word);
    if (is_too_much(memory, settings)) {
        fmt::print("rdma:  none: a rank would register {}, beyond TUTTI_VERBS_MEMORY\n",
                   format_bytes(memory.bytes));
        return memory;
    }
    fmt::print("rdma:  a rank is connected with {} at most, {} registered", memory.peers,
               format_bytes(memory.bytes));
    if (messages.all != 0) {
        fmt::print("; {} of {} messages go by RDMA{}", messages.by_rdma, messages.all,
                   messages.by_rdma < messages.all ? ", the others by your MPI" : "");
        if (messages.counted != 0) {
            fmt::print("; {} as additions to counters, where the adapters can", messages.counted);
        }
    }
    fmt::print("\n");
    return memory;
}

bool is_too_much(const RdmaMemory& memory, const VerbsSettings& settings) {
    return settings.memory_bytes != 0 && memory.bytes > settings.memory_bytes;
}

}  // namespace tutti::cli
