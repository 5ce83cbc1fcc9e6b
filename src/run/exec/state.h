// SPDX-License-Identifier: BSD-3-Clause
// The state of an executor, private to its own files. executor.cpp begins operations and moves
// messages; each other kind of work has a file of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "plan/sched/operation_kinds.h"
#include "run/adapt/roll_call.h"
#include "run/exec/call_context.h"
#include "run/exec/executor.h"
#include "run/exec/local_work.h"
#include "run/exec/meet_feed.h"
#include "run/exec/multicasts.h"
#include "run/exec/node_operations.h"
#include "run/exec/posted_messages.h"

namespace tutti::exec {

struct Executor::State {
    class Hall;

    State(node::Team* node_team, transport::Transport& transport, transport::Multicast* multicast)
        : context(transport),
          messages(context),
          work(context),
          node(context, node_team),
          multicasts(context, multicast),
          feeds(context) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    CallContext context;
    // Operations under way, each in exactly one place.
    PostedMessages messages;
    LocalWork work;
    NodeOperations node;
    Multicasts multicasts;
    Feeds feeds;
    uint64_t left_ns = 0;  // by the clock, the last call

    adapt::RollCall roll_call;
    uint64_t looked_ns = 0;  // at the word of all, or added to it
    uint64_t meetings = 0;   // by multicast, of the team since the beginning, on all ranks alike

    Result<Done> reserve(const sched::Extent& wanted, uint64_t scratch_bytes_max);
    void start_lanes();
    void advance(uint8_t slot);
    void begin_all(const LaneSlots::Beginning& beginning);
    void begin(Ref ref);
    [[nodiscard]] bool take(Ref ref);
    void set_done(Ref ref);
    void complete(Ref ref);
    transport::State test_message(Ref ref);
    bool poll_messages();
    [[nodiscard]] transport::MessageId id_of(Ref ref) const;
    transport::State withdraw();
    bool step_work();
    bool step_node();
    bool post_multicasts();
    bool test_multicasts();
    bool step_multicasts();
    void post_neighbour(Ref ref);
    void begin_meet(Ref ref);
    // A neighbour's message is here, and others' are awaited before it is answered.
    [[nodiscard]] bool has_unanswered(Ref ref);
    transport::State test_neighbour(Ref ref);
    transport::State hear_neighbour(Ref ref);
    transport::State test_told(Ref ref);
    bool hear(Ref ref);
    bool hears_all(Ref ref, uint32_t vain_tests);
    void look_for_parts(Ref ref);
    bool follow(Ref ref, const adapt::Orders& orders, bool is_told);
    void tell(Ref ref, uint32_t neighbour, adapt::Kind kind);
    void settle(const Hall& hall, std::optional<uint32_t> neighbour, bool is_told);
    void begin_meeting(Ref ref);
    [[nodiscard]] bool may_call_roll(const sched::Round& round);
    void begin_roll_call(Ref ref);
    bool step_roll_call(Ref ref);
    void look_at_roll(Meet& meet);
    void add_missing(const Meet& meet, std::vector<sched::Rank>& ranks) const;
    void meet_without_roll(Ref ref);
    void call_off_roll();
    [[nodiscard]] bool calls_roll(Ref ref) {
        return sched::is_meet(operation_of(ref).kind) && !feeds.is_fed(ref) &&
               slot_of(ref).meet.calls_roll;
    }
    bool step_release(Ref ref);
    [[nodiscard]] std::optional<sched::Rank> releaser();
    [[nodiscard]] bool seeks_only();
    [[nodiscard]] bool holds_back();
    void take_release(Ref ref);
    void release_along_tree(Ref ref);
    transport::State set_idle(Ref ref);
    void begin_letters(Slot& slot, const sched::Round& round);
    void end_letters(Slot& slot, const sched::Round& round);
    [[nodiscard]] bool is_near(Ref ref) { return sched::is_near(operation_of(ref)); }
    transport::State test_heard(Ref ref);
    transport::State test_sent(Ref ref);
    [[nodiscard]] bool take_letter(Ref ref);
    bool write_letter(Ref ref);
    [[nodiscard]] bool waits_for_letters();
    [[nodiscard]] std::byte* at(Ref ref, const sched::Block& block) const {
        return context.at(ref, block);
    }

    [[nodiscard]] Slot& slot_of(Ref ref) { return context.slots.slot_of(ref); }
    [[nodiscard]] Window& window_of(Ref ref) { return context.slots.window_of(ref); }
    [[nodiscard]] const sched::Operation& operation_of(Ref ref) const {
        return context.slots.operation_of(ref);
    }
    [[nodiscard]] Task& task_of(Ref ref) { return context.slots.task_of(ref); }
};

}  // namespace tutti::exec
