// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/rdma_use.h"

#include <algorithm>
#include <vector>

#include "lab/explain/schedule_cost.h"
#include "plan/algo/plan.h"
#include "plan/sched/operation_kinds.h"
#include "plan/sched/program.h"
#include "run/networks/rdma/rdma_peers.h"
#include "run/transport/verbs/rc.h"

namespace tutti::explain {
namespace {

// Where arrivals tell who sends to whom, each is counted once between neighbours.
// By a word to which all add each rank tells one, itself or another.
void count(const sched::Program& program, const std::vector<uint32_t>& peers, bool has_word,
           RdmaUse& use) {
    const sched::Extent extent = program.extent();
    sched::Round round;
    for (uint64_t lane = 0; lane < extent.lanes; ++lane) {
        for (uint64_t i = 0; i < extent.rounds; ++i) {
            program.read(lane, i, round);
            const bool adds =
                sched::meets_by_multicast(round) && round[round.size() - 1].is_counted;
            if (adds && has_word && round.size() > 1) {
                ++use.messages;
                ++use.by_rdma;
                ++use.counted;
                continue;
            }
            for (const sched::Operation& one : round) {
                if (sched::is_near(one)) continue;  // a letter in the node's memory
                if (!sched::row_of(one).sends || sched::is_multicast(one.kind)) continue;
                ++use.messages;
                if (!std::ranges::binary_search(peers, one.peer)) continue;
                ++use.by_rdma;
                use.counted += one.is_counted ? 1 : 0;
            }
        }
    }
}

}  // namespace

RdmaUse rdma_use(const sched::Shape& shape, const topo::Placement& placement,
                 const select::Choice& choice) {
    const bool is_followed =
        choice.runs == select::Runs::kPlan &&
        operations_about(*choice.algorithm, shape, placement, choice.tuning) <= kOperationsMax;
    // Then a rank is connected with itself as well.
    const bool has_word = networks::rdma::all_reach_first(placement);
    RdmaUse use;
    for (uint32_t rank = 0; rank < placement.ranks(); ++rank) {
        const std::vector<uint32_t> peers = networks::rdma::peers_of(placement, rank);
        use.peers = std::max(use.peers, peers.size());
        if (!is_followed) continue;
        count(*algo::make_plan(*choice.algorithm, shape, placement, rank, choice.tuning), peers,
              has_word, use);
    }
    const size_t pairs = use.peers + (has_word ? 1 : 0);
    const auto need = transport::verbs::need_of(static_cast<uint32_t>(pairs), kRdmaMtuBytes);
    use.bytes = pairs * need.pair_bytes;
    return use;
}

}  // namespace tutti::explain
