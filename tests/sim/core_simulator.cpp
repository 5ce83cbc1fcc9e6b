// SPDX-License-Identifier: BSD-3-Clause
#include "sim/core_simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace tutti::test {

CoreSimulator::CoreSimulator(const Machine& machine, const CoreModel& model,
                             const simulate::SimTeam& team, std::vector<uint32_t> core_of)
    : team_(team),
      memory_(team.ranks, team.chunk_bytes),
      core_of_(std::move(core_of)),
      rank_on_(machine.cores, node::kNoRank),
      lines_(machine, model),
      ops_(team.ranks),
      fibers_(team.ranks),
      trap_(memory_.bytes(), [this](size_t line, bool is_write) { on_access(line, is_write); }) {
    for (uint32_t rank = 0; rank < team.ranks; ++rank) {
        ranks_.push_back(simulate::sim_rank(team, memory_, rank));
        rank_on_[core_of_[rank]] = rank;
        fibers_[rank].stack = std::make_unique<std::byte[]>(kStackBytes);
    }
}

// As if seven other calls had gone between, after which all had met.
uint64_t CoreSimulator::run(const Spec& spec) {
    Exchange exchange(spec, team_.ranks);
    run_once(exchange);
    for (node::Team& rank : ranks_) {
        for (uint64_t i = 0; i < node::kSlotCount - 1; ++i) node::pass(rank, {});
    }
    exchange.reset();
    const uint64_t began_ns = now_ns_;
    run_once(exchange);
    EXPECT_EQ(exchange.check(), "");
    return now_ns_ - began_ns;
}

// makecontext() hands over integers.
void CoreSimulator::enter(uint32_t high, uint32_t low) {
    const auto address = static_cast<uintptr_t>(high) << 32 | low;
    reinterpret_cast<CoreSimulator*>(address)->run_rank();
}

void CoreSimulator::run_once(const Exchange& exchange) {
    exchange_ = &exchange;
    const auto address = reinterpret_cast<uintptr_t>(this);
    for (uint32_t rank = 0; rank < team_.ranks; ++rank) {
        Fiber& fiber = fibers_[rank];
        ranks_[rank].known.done = ranks_[rank].bases.call;
        fiber.clock_ns = now_ns_;
        fiber.state = State::kReady;
        lines_.pause(core_of_[rank]);
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.get();
        fiber.context.uc_stack.ss_size = kStackBytes;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, reinterpret_cast<void (*)()>(enter), 2,
                    static_cast<uint32_t>(address >> 32), static_cast<uint32_t>(address));
    }
    trap_.close();
    current_ = 0;
    swapcontext(&outside_, &fibers_[0].context);
    trap_.open();
    for (const Fiber& fiber : fibers_) {
        EXPECT_EQ(fiber.state, State::kDone) << "deadlock";
        now_ns_ = std::max(now_ns_, fiber.clock_ns);
    }
}

void CoreSimulator::run_rank() {
    const uint32_t rank = current_;
    Fiber& fiber = fibers_[rank];
    simulate::sim_start(team_, ranks_[rank], ops_[rank], exchange_->node_call(rank));
    fiber.has_lost = false;
    for (Step step = Step::kAdvanced; step != Step::kDone;) {
        step = node::step(ranks_[rank], ops_[rank]);
        if (step == Step::kBlocked && !fiber.has_lost) {
            fiber.state = State::kAsleep;
            switch_away();
        }
        if (step == Step::kBlocked) lines_.pause(core_of_[rank]);
        fiber.has_lost = false;
    }
    fiber.state = State::kDone;
    switch_away();
}

void CoreSimulator::on_access(size_t line, bool is_write) {
    const uint32_t rank = current_;
    Fiber& fiber = fibers_[rank];
    const uint32_t core = core_of_[rank];
    switch_away();
    while (!is_write && lines_.visible_at(core, line) > fiber.clock_ns) {
        fiber.clock_ns = lines_.visible_at(core, line);
        switch_away();
    }
    if (is_write) {
        take(lines_.write(core, line, fiber.clock_ns));
        ++fiber.clock_ns;
    } else {
        fiber.clock_ns = lines_.read(core, line, fiber.clock_ns);
    }
}

// Whoever waits looks again then.
void CoreSimulator::take(const CacheLines::Taken& taken) {
    for (const uint32_t core : taken.from) {
        Fiber& fiber = fibers_[rank_on_[core]];
        if (fiber.state == State::kDone) continue;
        fiber.has_lost = true;
        if (fiber.state != State::kAsleep) continue;
        fiber.state = State::kReady;
        fiber.clock_ns = std::max(fiber.clock_ns, taken.at);
    }
}

// To the rank whose clock is the lowest; the current one where that is it.
void CoreSimulator::switch_away() {
    uint32_t next = node::kNoRank;
    for (uint32_t rank = 0; rank < fibers_.size(); ++rank) {
        if (fibers_[rank].state != State::kReady) continue;
        if (next == node::kNoRank || fibers_[rank].clock_ns < fibers_[next].clock_ns) next = rank;
    }
    const uint32_t last = std::exchange(current_, next);
    if (next == last) return;
    swapcontext(&fibers_[last].context, next == node::kNoRank ? &outside_ : &fibers_[next].context);
}

}  // namespace tutti::test
