// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/plan_orders.h"

#include <algorithm>

namespace tutti::algo {
namespace {

// The first of these rounds waits for what is sorted; the others, for the round before it.
uint64_t after(uint64_t round) { return round == 0 ? sched::kAfterAll : sched::kAfterNone; }

sched::Block part(const sched::Block& whole, uint64_t offset, uint64_t bytes) {
    return {whole.buffer, whole.offset + offset, bytes};
}

}  // namespace

void add_packing(const Layout& layout, uint64_t round, bool packs, sched::Round& out) {
    const uint64_t first = round * sched::kRoundOpsMax;
    const uint64_t end = std::min<uint64_t>(first + sched::kRoundOpsMax, layout.shape.ranks);
    for (uint64_t i = first; i < end; ++i) {
        const auto rank = static_cast<Rank>(i);
        const uint64_t bytes = layout.shape.block_bytes(rank);
        const uint64_t offset = layout.shape.block_offset(rank);
        const sched::Block packed = sched::scratch(layout.rank_offset(rank), bytes);
        if (packs) {
            out.add(sched::copy(packed, sched::input(offset, bytes)));
        } else {
            out.add(sched::copy(sched::output(offset, bytes), packed));
        }
    }
}

void Sorting::add_out(uint64_t round, const sched::Block& given, const sched::Block& sorted,
                      sched::Round& out) const {
    const topo::Placement& placement = *layout_.placement;
    const uint64_t first = round * sched::kRoundOpsMax;
    const uint64_t end = std::min(first + sched::kRoundOpsMax, members_ * placement.nodes());
    for (uint64_t i = first; i < end; ++i) {
        const uint64_t sender = i / placement.nodes();
        const auto to = static_cast<uint32_t>(i % placement.nodes());
        const uint64_t receivers = placement.members(to).size();
        const uint64_t begin = sender * layout_.shape.ranks + placement.members(to).front();
        out.add(sched::copy(
            part(sorted, pair_offset(to) + sender * receivers * bytes_, receivers * bytes_),
            part(given, begin * bytes_, receivers * bytes_), after(round)));
    }
}

void Sorting::add_in(uint64_t round, const sched::Block& received, const sched::Block& sorted,
                     sched::Round& out) const {
    const topo::Placement& placement = *layout_.placement;
    const uint64_t first = round * sched::kRoundOpsMax;
    const uint64_t end = std::min(first + sched::kRoundOpsMax, members_ * layout_.shape.ranks);
    for (uint64_t i = first; i < end; ++i) {
        const auto sender = static_cast<Rank>(i % layout_.shape.ranks);
        const uint64_t receiver = i / layout_.shape.ranks;
        const uint64_t from = pair_offset(placement.node_of(sender)) +
                              (placement.index_on_node(sender) * members_ + receiver) * bytes_;
        out.add(sched::copy(part(sorted, i * bytes_, bytes_), part(received, from, bytes_),
                            after(round)));
    }
}

}  // namespace tutti::algo
