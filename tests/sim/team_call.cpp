// SPDX-License-Identifier: BSD-3-Clause
#include "sim/team_call.h"

#include <utility>

#include "run/exec/call_arguments.h"

namespace tutti::test {
namespace {

// Those of a vector form that all ranks know; none where they are alike.
sched::OwnLengths lengths_of(const Spec& spec, uint32_t ranks) {
    if (facts(spec.collective).lengths != Lengths::kKnownToAll) return {};
    std::vector<uint64_t> lengths;
    bool differ = false;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        lengths.push_back(block_bytes(spec, ranks, rank, rank));
        differ |= lengths.back() != spec.bytes;
    }
    return differ ? sched::OwnLengths(lengths) : sched::OwnLengths();
}

sched::Shape shape_of(const Spec& spec, const sched::OwnLengths& lengths, uint32_t ranks) {
    sched::Shape shape;
    shape.collective = spec.collective;
    shape.ranks = ranks;
    shape.root = spec.root;
    shape.bytes = has_private_lengths(spec.collective) ? 0 : spec.bytes;
    shape.lengths = lengths.view();
    shape.has_multicast = true;
    if (is_reduction(spec.collective)) {
        shape.element_bytes = static_cast<uint32_t>(fold_bytes(spec.fold));
        shape.is_commutative = !is_user(spec.fold);
    }
    return shape;
}

}  // namespace

std::string text_of(const Choice& choice) {
    const algo::Tuning& tuning = choice.tuning;
    return std::string(choice.algorithm->name) + ", segment " +
           std::to_string(tuning.segment_bytes) + ", lanes " +
           std::to_string(tuning.lanes_in_flight) + ", fan-in " + std::to_string(tuning.fan_in) +
           ", leaders " + std::to_string(tuning.leaders) + (tuning.flat ? ", flat" : "");
}

TeamCall::TeamCall(const Spec& spec, const topo::Placement& placement)
    : placement_(placement),
      lengths_(lengths_of(spec, placement.ranks())),
      shape_(shape_of(spec, lengths_, placement.ranks())),
      exchange_(spec, placement.ranks()),
      places_(placement.ranks()) {}

std::string TeamCall::add(simulate::ClusterSimulator& simulator, uint32_t team,
                          const Choice& choice, const std::function<bool(uint32_t)>& waits) {
    std::string wrong;
    for (uint32_t rank = 0; rank < shape_.ranks; ++rank) {
        auto program = algo::make_plan(*choice.algorithm, shape_, placement_, rank, choice.tuning);
        const node::Call call = exchange_.node_call(rank);
        exec::Arguments arguments = exec::arguments_of(call, rank);
        if (arguments.has_private_lengths) program->set_blocks(exec::blocks_of(call, rank));
        places_[rank].begin(call, shape_.ranks);
        if (call.collective == TUTTI_ALLGATHERV) arguments.output = places_[rank].first(call);
        const auto added =
            simulator.add_call(team, rank, std::move(program), arguments, waits(rank));
        if (!added) wrong += added.error().message;
    }
    return wrong;
}

std::string TeamCall::check() {
    for (uint32_t rank = 0; rank < shape_.ranks; ++rank) {
        if (!places_[rank].are_elsewhere()) continue;
        places_[rank].end(exchange_.node_call(rank), rank, shape_.ranks);
    }
    return exchange_.check();
}

}  // namespace tutti::test
