// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/lane_slots.h"

namespace tutti::exec {
namespace {

constexpr uint64_t all_of(uint32_t count) {
    return count == sched::kRoundOpsMax ? ~uint64_t{0} : sched::after_op(count) - 1;
}

}  // namespace

void LaneSlots::reserve(const sched::Extent& extent) {
    TUTTI_ASSERT(is_over(), "memory is not moved under a call");
    TUTTI_ASSERT(extent.lanes_in_flight <= sched::kLanesInFlightMax, "a lane in flight has a slot");
    const uint64_t lanes = lanes_in_flight(extent);
    while (slots_.size() < lanes) slots_.push_back(std::make_unique<Slot>());
}

void LaneSlots::start(const sched::Program& program) {
    TUTTI_ASSERT(is_over(), "one call at a time");
    program_ = &program;
    extent_ = program.extent();
    extent_.lanes_in_flight = static_cast<uint32_t>(lanes_in_flight(extent_));
    TUTTI_ASSERT(extent_.lanes_in_flight <= slots_.size(), "reserved for this extent");
    lanes_left_ = extent_.lanes;
}

void LaneSlots::load_lane(Slot& slot, uint64_t lane) {
    TUTTI_ASSERT(lane < extent_.lanes, "the program has this lane");
    slot.lane = lane;
    slot.base = 0;
    slot.neighbours.count = 0;
    load_round(slot, 0);
    load_round(slot, 1);
}

void LaneSlots::load_round(Slot& slot, uint64_t round) {
    Window& window = slot.windows[round % 2];
    if (round < extent_.rounds) {
        program_->read(slot.lane, round, window.round);
    } else {
        window.round.clear();
    }
    window.all = all_of(window.round.size());
    window.begun = 0;
    window.done = 0;
}

bool LaneSlots::go_on(uint8_t index) {
    Slot& slot = *slots_[index];
    TUTTI_ASSERT(slot.windows[slot.older()].is_over(), "a round ends when all of it is done");
    TUTTI_ASSERT(lanes_left_ > 0, "the slot has a lane");
    ++slot.base;
    if (slot.base < extent_.rounds) {
        load_round(slot, slot.base + 1);
        return true;
    }
    --lanes_left_;
    const uint64_t next = slot.lane + extent_.lanes_in_flight;
    if (next >= extent_.lanes) return false;
    load_lane(slot, next);
    return true;
}

}  // namespace tutti::exec
