// SPDX-License-Identifier: BSD-3-Clause
// Calls of all ranks of one simulated team, as they are drawn, and whether they end right.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/prng.h"
#include "lab/simulate/node_simulator.h"
#include "sim/script.h"

namespace tutti::test {

// draw: the Spec of the next call. Empty, or what went wrong.
template <class Draw>
std::string run_drawn(const simulate::SimTeam& team, uint32_t calls, uint64_t seed, Draw draw) {
    simulate::NodeSimulator simulator(team, seed);
    Prng teams(seed ^ 0x1ea2);  // which of several runs a call
    // Two runs on one team: the second begins where the first has left the counters.
    for (int part = 0; part < 2; ++part) {
        std::vector<std::unique_ptr<Exchange>> exchanges;
        for (uint32_t i = 0; i < calls; ++i) {
            exchanges.push_back(std::make_unique<Exchange>(draw(), team.ranks));
            const uint32_t which =
                team.lean ? static_cast<uint32_t>(teams.below(team.lean->teams)) : 0;
            for (uint32_t rank = 0; rank < team.ranks; ++rank) {
                simulator.add_call(rank, exchanges.back()->node_call(rank), which);
            }
        }
        const auto done = simulator.run();
        if (!done) return done.error().message;
        for (const auto& exchange : exchanges) {
            std::string wrong = exchange->check();
            if (!wrong.empty()) return wrong;
        }
    }
    return "";
}

}  // namespace tutti::test
