// SPDX-License-Identifier: BSD-3-Clause
// The messages between neighbours on the same node: letters in the node's memory
// (run/node/letters.h). In a meeting each tells one neighbour its part at most, and the others, but
// for one at most, the result: these are a rank's two letters. The last word of their header says
// whom the first one is for, and whom the second one is not for, by index on the node.
//
// A letter is written in a step, never when the call begins: whoever steps this rank wakes those
// who sleep for it.
#pragma once

#include <cstdint>
#include <optional>

#include "run/exec/meet_memory.h"
#include "run/exec/node_operations.h"

namespace tutti::exec {

class MeetLetters {
  public:
    MeetLetters(CallContext& call, NodeOperations& node) : call_(call), node_(node) {}

    // With the first operation of a round that meets: if this rank has neighbours on its node, all
    // members of the node do. Messages of one slot at a time are letters.
    void begin(Ref ref);
    // A round of that slot is over, perhaps the one that met.
    void end_round(uint8_t slot, const sched::Round& round) {
        if (are_open() && slot == slot_) end_if_met(round);
    }
    [[nodiscard]] bool are_open() const { return node_.has_letters(); }

    // From the neighbour, to where its message belongs. False: it is not there.
    [[nodiscard]] bool take(Ref with);
    // The neighbour that needs no result, since it has told this rank the result. Before the result
    // is written.
    void leave_out(Ref ref, std::optional<uint32_t> neighbour) {
        if (are_open() && ref.slot == slot_) untold_ = neighbour;
    }
    // The message to that neighbour, which has been put together; what is for several is written
    // once. False: not yet.
    [[nodiscard]] bool write(Ref with);

  private:
    void end_if_met(const sched::Round& round);

    CallContext& call_;
    NodeOperations& node_;
    uint8_t slot_ = 0;
    bool has_told_all_ = false;  // the result was written
    std::optional<uint32_t> untold_;
};

}  // namespace tutti::exec
