// SPDX-License-Identifier: BSD-3-Clause
// The lanes of a call that are under way: which of their operations have begun, which are done, and
// which may begin by that.
//
// Each slot holds two rounds of its lane. All operations of the older one may begin; those of the
// newer one by their masks. When the older one is complete, the next round takes its place: so the
// rule about rounds up to k - 2 needs no further look.
//
// Message order: by the time an operation of the newer round begins, all of the older one have
// begun, and of messages between the same two ranks in one round all begin at once, in the order of
// their index (check/prove demands equal masks). That is what a transport that keeps order per pair
// and slot needs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/assert.h"
#include "plan/sched/operation_kinds.h"
#include "run/transport/transport.h"

namespace tutti::exec {

// An operation under way.
struct Ref {
    uint8_t slot = 0;
    uint8_t window = 0;
    uint8_t index = 0;
    // Another one of the same round.
    [[nodiscard]] Ref with(uint32_t other) const {
        return {slot, window, static_cast<uint8_t>(other)};
    }
    [[nodiscard]] uint64_t bit() const { return sched::after_op(index); }
};

// Transports keep the address of the ticket, so a task stays where it is.
struct Task {
    transport::Ticket ticket;
    uint64_t worked_bytes = 0;  // of a copy or fold
};

// One round under way; bit i of the sets is operation i.
struct Window {
    sched::Round round;
    uint64_t all = 0;
    uint64_t begun = 0;
    uint64_t done = 0;
    std::array<Task, sched::kRoundOpsMax> tasks;

    [[nodiscard]] bool is_over() const { return done == all; }
    // Those that begin now, and count as begun: all; or those that need not wait for one of these
    // operations of the round before.
    uint64_t take_all() {
        const uint64_t taken = all & ~begun;
        begun = all;
        return taken;
    }
    uint64_t take_ready(uint64_t missing) {
        uint64_t taken = 0;
        for (uint64_t rest = all & ~begun; rest != 0; rest &= rest - 1) {
            const auto i = static_cast<uint32_t>(std::countr_zero(rest));
            if ((round[i].after & missing) == 0) taken |= sched::after_op(i);
        }
        begun |= taken;
        return taken;
    }
};

// The neighbours of a round that meets or feeds: neighbour i is its operation i, and what all do
// together comes behind them. A receive's ticket is that of its task.
struct Neighbours {
    uint32_t count = 0;  // that have begun
    uint64_t heard = 0;  // bits: its message is here
    uint64_t told = 0;   // bits: a message to it was posted
    std::array<transport::Ticket, sched::kRoundOpsMax> sent;

    void begin(uint32_t index) {
        TUTTI_ASSERT(index == count, "neighbours in their order");
        const uint64_t bit = sched::after_op(count++);
        heard &= ~bit;
        told &= ~bit;
    }
};

struct Slot {
    uint64_t lane = 0;
    uint64_t base = 0;  // the older round; round k is in windows[k % 2]
    std::array<Window, 2> windows;
    Neighbours neighbours;

    [[nodiscard]] uint8_t older() const { return static_cast<uint8_t>(base % 2); }
    [[nodiscard]] uint8_t newer() const { return static_cast<uint8_t>(1 - base % 2); }
    // Those of a round that begin now.
    uint64_t take_older() { return windows[older()].take_all(); }
    uint64_t take_newer() {
        const Window& before = windows[older()];
        TUTTI_ASSERT(before.begun == before.all, "the older round begins first");
        return windows[newer()].take_ready(before.all & ~before.done);
    }
};

class LaneSlots {
  public:
    [[nodiscard]] static uint64_t lanes_in_flight(const sched::Extent& extent) {
        return std::min<uint64_t>(extent.lanes_in_flight, extent.lanes);
    }
    // Memory for as many lanes as such a program has under way, between calls. May throw
    // std::bad_alloc; then it may be tried again.
    void reserve(const sched::Extent& extent);
    [[nodiscard]] size_t operations_max() const { return slots_.size() * 2 * sched::kRoundOpsMax; }

    // The next call, of which no lane has begun yet. The program stays until it is over.
    void start(const sched::Program& program);
    [[nodiscard]] uint32_t lanes_in_flight() const { return extent_.lanes_in_flight; }
    // The first lane of a slot, which has its number.
    void begin_lane(uint8_t slot) { load_lane(*slots_[slot], slot); }
    // All lanes are complete, or the call has ended otherwise.
    [[nodiscard]] bool is_over() const { return lanes_left_ == 0; }
    void end() { lanes_left_ = 0; }

    // From a round that is over to the next one, or to the next lane. False: there is none.
    bool go_on(uint8_t slot);

    void set_done(Ref ref) {
        Window& window = window_of(ref);
        TUTTI_ASSERT((window.begun & ref.bit()) != 0, "an operation begins before it is done");
        window.done |= ref.bit();
    }

    [[nodiscard]] Slot& operator[](uint8_t slot) { return *slots_[slot]; }
    [[nodiscard]] Slot& slot_of(Ref ref) { return *slots_[ref.slot]; }
    [[nodiscard]] const Slot& slot_of(Ref ref) const { return *slots_[ref.slot]; }
    [[nodiscard]] Neighbours& neighbours_of(Ref ref) { return slots_[ref.slot]->neighbours; }
    [[nodiscard]] const Neighbours& neighbours_of(Ref ref) const {
        return slots_[ref.slot]->neighbours;
    }
    [[nodiscard]] Window& window_of(Ref ref) { return slots_[ref.slot]->windows[ref.window]; }
    [[nodiscard]] const sched::Round& round_of(Ref ref) const {
        return slots_[ref.slot]->windows[ref.window].round;
    }
    [[nodiscard]] const sched::Operation& operation_of(Ref ref) const {
        return round_of(ref)[ref.index];
    }
    [[nodiscard]] Task& task_of(Ref ref) { return window_of(ref).tasks[ref.index]; }
    [[nodiscard]] transport::Ticket& ticket_of(Ref ref) { return task_of(ref).ticket; }

  private:
    void load_lane(Slot& slot, uint64_t lane);
    void load_round(Slot& slot, uint64_t round);

    std::vector<std::unique_ptr<Slot>> slots_;
    const sched::Program* program_ = nullptr;
    sched::Extent extent_;
    uint64_t lanes_left_ = 0;
};

}  // namespace tutti::exec
