// SPDX-License-Identifier: BSD-3-Clause
// Short calls of one node in virtual time: the real state machines of node/, each rank on a core of
// a machine and on a stack of its own. Every access to the slice is trapped, and made when its
// core's clock is the lowest of all; what it costs says CacheLines. A blocked rank goes on when a
// line that it has read is taken from it: before that, its polls find what they found.
//
// Nothing is drawn by chance: the same call costs the same in every run.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "lab/simulate/node_simulator.h"
#include "sim/cache_lines.h"
#include "sim/line_trap.h"
#include "sim/script.h"

namespace tutti::test {

class CoreSimulator {
  public:
    // core_of: by rank; each its own.
    CoreSimulator(const Machine& machine, const CoreModel& model, const simulate::SimTeam& team,
                  std::vector<uint32_t> core_of);
    CoreSimulator(const CoreSimulator&) = delete;
    CoreSimulator& operator=(const CoreSimulator&) = delete;

    // All ranks begin this call at once, as after a barrier: nanoseconds until the last one has
    // ended it. Its slots are as an equal call has left them. Checks the results.
    uint64_t run(const Spec& spec);

  private:
    static constexpr size_t kStackBytes = 128 * 1024;
    enum class State { kReady, kAsleep, kDone };
    struct Fiber {
        ucontext_t context{};
        std::unique_ptr<std::byte[]> stack;
        uint64_t clock_ns = 0;
        State state = State::kDone;
        bool has_lost = false;  // a line, since its step began
    };

    static void enter(uint32_t high, uint32_t low);
    void run_once(const Exchange& exchange);
    void run_rank();
    void on_access(size_t line, bool is_write);
    void take(const CacheLines::Taken& taken);
    void switch_away();

    simulate::SimTeam team_;
    simulate::SimSlice memory_;
    std::vector<uint32_t> core_of_;
    std::vector<uint32_t> rank_on_;  // by core
    CacheLines lines_;
    std::vector<node::Team> ranks_;
    std::vector<node::Op> ops_;
    std::vector<Fiber> fibers_;
    ucontext_t outside_{};
    uint32_t current_ = 0;
    const Exchange* exchange_ = nullptr;
    uint64_t now_ns_ = 0;  // between calls
    LineTrap trap_;
};

}  // namespace tutti::test
