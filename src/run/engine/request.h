// SPDX-License-Identifier: BSD-3-Clause
// One call of a team, from its start to its completion; and what TUTTI_CHECK compares of it.
#pragma once

#include <cstdint>

#include "plan/sched/shape.h"
#include "plan/select/live.h"
#include "run/node/kernels/kernels.h"
#include "run/node/node_team.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class Team;
class Track;

// What TUTTI_CHECK compares: equal on all members of a correct program.
struct CallCard {
    uint32_t collective = 0;  // TUTTI_COLLECTIVE_COUNT: the embedder's own, see label
    uint32_t root = 0;
    uint32_t op = 0;
    uint32_t dtype = TUTTI_BYTE;  // of the elements; TUTTI_BYTE: not told, and goes with any
    uint64_t bytes = 0;
    uint64_t lengths = 0;  // a hash of those that all know; else 0
    char label[24] = {};

    bool operator==(const CallCard&) const = default;
};

// Can be started again when it is complete.
struct Request {
    Team* team = nullptr;
    Track* track = nullptr;      // of the last start: see tracks.h
    node::Op op;                 // op.call is the call
    bool commutes = true;        // the operator of a reduction
    bool is_exact = true;        // see is_exact(); true of all else
    bool buffers_later = false;  // see tutti_call
    bool was_chosen = false;     // and is not over, or has failed since
    uint32_t way = 0;            // that live tuning says (select::Way::force), of a blocking call
    CallCard card;               // TUTTI_CHECK only
    const char* ran = nullptr;   // what runs it; nullptr: what the node level chooses
    node::Call described;        // as it is to be started
    enum class Stage {
        kIdle,
        kQueued,
        kChecking,
        kDeciding,  // what runs it
        kChosen,    // waits for its buffers
        kRunning
    } stage = Stage::kIdle;
    tutti_status status = TUTTI_OK;
    Request* next = nullptr;  // in the track's queue

    [[nodiscard]] bool awaits_buffers() const {
        return buffers_later && (op.call.bytes > 0 || op.call.blocks != nullptr);
    }
    // Nothing moves it on but its owner.
    [[nodiscard]] bool is_at_rest() const {
        return stage == Stage::kIdle || stage == Stage::kChosen;
    }
};

// A member of a team.
struct Self {
    uint32_t rank = 0;
    uint32_t ranks = 1;
};
// TUTTI_OK, or TUTTI_ERR_ARGUMENT: the call of a team of so many ranks is malformed. Sets all that
// follows from the call alone.
tutti_status describe(const tutti_call& call, const Self& self, node::Isa isa, Request& request);
// Of a call that is chosen. False: `send` says IN_PLACE, which such a call cannot be.
bool may_have(const Request& request, const void* send);
void set_buffers(Request& request, const void* send, void* recv);
// Whatever the order of operands and the parentheses: the result has the same bits. Minima and
// maxima of floating point depend on them where there are NaNs, or zeros of either sign.
bool is_exact(tutti_op op, tutti_dtype dtype);
// Of a call that is described.
CallCard card_of(const tutti_call& call, uint32_t ranks, const Request& request);
// Of a collective that the embedder runs itself.
CallCard foreign_card(const char* label);
// What all ranks know alike of a call.
sched::Shape shape_of(const Request& request, uint32_t ranks);

// Of a call that is described.
select::CallKind kind_of(const Request& request);

}  // namespace tutti::engine
