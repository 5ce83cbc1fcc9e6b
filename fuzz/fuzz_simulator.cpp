// SPDX-License-Identifier: BSD-3-Clause
// Scripts of collective calls as the input says, run by the simulator and compared with a direct
// computation. The input also chooses team, tree, chunk and interleaving.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "input.h"
#include "lab/simulate/node_simulator.h"
#include "sim/script.h"

namespace {

using tutti::fuzz::Input;
using tutti::test::Exchange;
using tutti::test::Fold;
using tutti::test::Spec;

constexpr size_t kCallsMax = 24;
constexpr size_t kBytesMax = 4000;

Spec read_spec(Input& input, const tutti::simulate::SimTeam& team) {
    Spec spec;
    spec.collective = static_cast<tutti_collective>(input.below(TUTTI_COLLECTIVE_COUNT));
    if (spec.collective == TUTTI_BARRIER) return spec;
    spec.root = input.below(team.ranks);
    spec.fold = static_cast<Fold>(input.below(static_cast<uint32_t>(Fold::kMatrices)));
    const bool keeps_order = team.layout.flat || team.rank_order;
    if (spec.fold == Fold::kSumF64Ordered && !keeps_order) spec.fold = Fold::kSumF64;
    const size_t element = tutti::test::fold_bytes(spec.fold);
    spec.bytes = (1 + input.below(kBytesMax) + element - 1) / element * element;
    spec.seed = input.below(1000);
    return spec;
}

void fail(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
    Input input(data, bytes);
    tutti::Prng prng(input.below(65536));
    tutti::simulate::SimTeam team;
    team.ranks = 2 + input.below(6);
    team.chunk_bytes = tutti::node::kLineBytes * (team.ranks + input.below(16));
    if (input.below(2) == 0) team.layout = tutti::test::random_tree(prng, team.ranks);
    team.rank_order = input.below(2) == 0;
    tutti::simulate::NodeSimulator simulator(team, prng.next());
    std::vector<std::unique_ptr<Exchange>> exchanges;
    while (!input.is_empty() && exchanges.size() < kCallsMax) {
        exchanges.push_back(std::make_unique<Exchange>(read_spec(input, team), team.ranks));
        for (uint32_t rank = 0; rank < team.ranks; ++rank) {
            simulator.add_call(rank, exchanges.back()->node_call(rank));
        }
    }
    const auto done = simulator.run();
    if (!done) fail(done.error().message);
    for (const auto& exchange : exchanges) {
        const std::string wrong = exchange->check();
        if (!wrong.empty()) fail(wrong);
    }
    return 0;
}
