// SPDX-License-Identifier: BSD-3-Clause
// Scripts of collective calls across hosts as the input says, run by the simulator and compared
// with a direct computation. The input also chooses the hosts, the team, algorithms, their options
// and the interleaving.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include "input.h"
#include "lab/simulate/cluster_simulator.h"
#include "sim/team_call.h"

namespace {

using tutti::fuzz::Input;
using tutti::simulate::ClusterParams;
using tutti::test::Choice;
using tutti::test::Fold;
using tutti::test::Spec;
using tutti::test::TeamCall;

constexpr size_t kCallsMax = 8;
constexpr uint32_t kBytesMax = 2000;

// Of one team, which has every process.
ClusterParams read_cluster(Input& input) {
    ClusterParams params;
    const uint32_t hosts = 2 + input.below(4);
    params.cluster = tutti::transport::sim::Cluster::one_switch(hosts);
    params.cluster.eager_bytes_max = input.below(2) == 0 ? 0 : 300;
    const uint32_t processes = hosts + input.below(6);
    for (uint32_t i = 0; i < processes; ++i) {
        params.host_of_process.push_back(i < hosts ? i : input.below(hosts));
    }
    if (input.below(2) == 0) std::ranges::sort(params.host_of_process);
    params.weather = {
        .seed = input.below(65536), .delay_ns_max = 3000, .shuffles = true, .poisons = true};
    params.chunk_bytes = size_t{64} << input.below(6);
    params.rank_order = input.below(4) == 0;
    return params;
}

Spec read_spec(Input& input, uint32_t ranks) {
    Spec spec;
    spec.collective = static_cast<tutti_collective>(input.below(TUTTI_COLLECTIVE_COUNT));
    if (spec.collective == TUTTI_BARRIER) return spec;
    spec.root = input.below(ranks);
    spec.fold = static_cast<Fold>(input.below(static_cast<uint32_t>(Fold::kMatrices)));
    // Right by one algorithm only.
    if (spec.fold == Fold::kSumF64Ordered) spec.fold = Fold::kSumF64;
    const size_t element = tutti::test::fold_bytes(spec.fold);
    spec.bytes = (1 + input.below(kBytesMax) + element - 1) / element * element;
    spec.seed = input.below(65536);
    return spec;
}

tutti::algo::Tuning read_tuning(Input& input) {
    tutti::algo::Tuning tuning;
    if (input.below(2) == 0) tuning.segment_bytes = 1 + input.below(kBytesMax);
    tuning.lanes_in_flight = input.below(4);
    tuning.fan_in = input.below(4);
    tuning.leaders = input.below(4);
    tuning.flat = input.below(4) == 0;
    return tuning;
}

// The first one from where the input says on that can run it.
Choice read_choice(Input& input, const tutti::sched::Shape& shape,
                   const tutti::topo::Placement& placement) {
    const auto all = tutti::algo::algorithms();
    const tutti::algo::Tuning tuning = read_tuning(input);
    const size_t first = input.below(static_cast<uint32_t>(all.size()));
    for (size_t i = 0; i < all.size(); ++i) {
        const tutti::algo::Algorithm& one = all[(first + i) % all.size()];
        if (one.collective != shape.collective) continue;
        if (tutti::algo::plan_obstacle(one, shape, placement, tuning).empty()) {
            return {&one, tuning};
        }
    }
    return {&tutti::algo::left_fold(shape.collective), tuning};
}

void fail(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
    Input input(data, bytes);
    const ClusterParams params = read_cluster(input);
    tutti::simulate::ClusterSimulator simulator(params);
    std::vector<uint32_t> members(params.host_of_process.size());
    std::iota(members.begin(), members.end(), 0);
    const uint32_t team = simulator.add_team(members);
    const tutti::topo::Placement& placement = simulator.placement(team);
    std::vector<std::unique_ptr<TeamCall>> calls;
    while (!input.is_empty() && calls.size() < kCallsMax) {
        const Spec spec = read_spec(input, placement.ranks());
        calls.push_back(std::make_unique<TeamCall>(spec, placement));
        const Choice choice = read_choice(input, calls.back()->shape(), placement);
        const auto waits = [&](uint32_t) { return input.below(2) == 0; };
        const std::string wrong = calls.back()->add(simulator, team, choice, waits);
        if (!wrong.empty()) fail(wrong);
    }
    const auto done = simulator.run();
    if (!done) fail(done.error().message);
    for (const auto& call : calls) {
        const std::string wrong = call->check();
        if (!wrong.empty()) fail(wrong);
    }
    if (simulator.world().under_way() != 0) fail("messages that nobody wanted");
    return 0;
}
