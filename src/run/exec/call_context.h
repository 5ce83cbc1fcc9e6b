// SPDX-License-Identifier: BSD-3-Clause
// What all kinds of work of an executor share: the call under way, its operations and its memory,
// the network, and how the call goes. Each kind of work has a class of its own, which begins
// operations and says which are complete. State asks each of these in turn, sets them done, and
// begins what may begin by that. Only Meetings and Feeds set the last operation of their round done
// themselves. So none of these classes is entered from within itself.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "run/exec/call_buffers.h"
#include "run/exec/lane_slots.h"

namespace tutti::exec {

struct CallContext {
    explicit CallContext(transport::Transport& transport)
        : network(transport), buffers(transport) {}

    transport::Transport& network;
    Clock* clock = nullptr;
    LaneSlots slots;
    CallBuffers buffers;
    // Its name on the network.
    uint32_t number = 0;
    transport::CallWord word;
    bool has_private_lengths = false;  // see Arguments

    bool is_untouched = true;  // nothing has come from another rank yet
    // In this step something came or left, or another step has something to do without completing
    // an operation.
    bool has_progressed = false;
    bool has_failed = false;
    bool has_miscounted = false;  // by the word of all a rank runs another call
    bool has_misfit = false;      // a message in a bundle is longer than there is room for
    std::string error;            // the first
    Work totals;

    void start(uint32_t call, const transport::CallWord& call_word, bool are_lengths_private) {
        TUTTI_ASSERT(!has_failed, "a failure is final");
        number = call;
        word = call_word;
        has_private_lengths = are_lengths_private;
        is_untouched = true;
    }
    void fail(std::string why) {
        if (!has_failed) error = std::move(why);
        has_failed = true;
    }

    [[nodiscard]] std::byte* at(Ref ref, const sched::Block& block) const {
        return buffers.at(ref.slot, block);
    }
    // Of an operation's message.
    [[nodiscard]] transport::MessageId id_of(Ref ref) const { return id_of(ref, ref.slot); }
    [[nodiscard]] transport::MessageId id_of(Ref ref, uint32_t slot) const {
        const sched::Operation& operation = slots.operation_of(ref);
        return {number,
                static_cast<uint32_t>(slots.slot_of(ref).lane),
                slot,
                operation.message,
                word,
                operation.is_counted,
                has_private_lengths};
    }
};

}  // namespace tutti::exec
