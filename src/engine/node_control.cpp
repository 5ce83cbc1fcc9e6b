// SPDX-License-Identifier: BSD-3-Clause
#include "engine/node_control.h"

#include "engine/disagreement.h"
#include "engine/messages.h"

namespace tutti::engine {

void NodeControl::report_stall(const node::Call&, const node::Op* op, uint64_t waited_ns) {
    if (!op) return;
    const Stall stall{members_.name, members_.rank, waited_ns, op->call.collective, op->number};
    members_.context.log(TUTTI_LOG_WARN,
                         stall_message(stall, node::not_arrived(members_.node, *op)));
}

void NodeControl::disagree(const node::Op& op, const node::Disagreement& with) {
    const Why why = why_disagreed(op.number, node::CallNote::unpack(op.note), with.rank,
                                  with.is_known ? &with.note : nullptr);
    break_off(TUTTI_ERR_MISMATCH, why.text);
}

void NodeControl::show(const notes::Mark& mark) {
    const node::Team& node = members_.node;
    node.slice.done(node.rank).rejections.store(mark.pack(), std::memory_order_release);
    node.slice.header().bell.ring();
}

notes::Verdict NodeControl::compare() {
    const node::Team& node = members_.node;
    bool is_complete = true;
    for (node::Rank rank = 0; rank < node.size; ++rank) {
        if (rank == node.rank) continue;
        const node::DoneWords& words = node.slice.done(rank);
        // In this order: a rank that is done with a call has compared before, if it ever did.
        const auto done = static_cast<uint32_t>(words.calls_done.load(std::memory_order_acquire));
        const notes::Mark mark =
            notes::Mark::unpack(words.rejections.load(std::memory_order_acquire));
        const notes::Verdict verdict = rejections_.compare(mark);
        const bool has_begun = rejections_.mark().is_reached(done);
        if (verdict == notes::Verdict::kOutOfStep ||
            (verdict == notes::Verdict::kNotYet && has_begun)) {
            return notes::Verdict::kOutOfStep;
        }
        is_complete = is_complete && verdict == notes::Verdict::kAgree;
    }
    return is_complete ? notes::Verdict::kAgree : notes::Verdict::kNotYet;
}

// For ranks that had no error, wherever they wait for one that had.
void NodeControl::look_for_rejections() {
    const node::Team& node = members_.node;
    for (node::Rank rank = 0; rank < node.size; ++rank) {
        const uint64_t word = node.slice.done(rank).rejections.load(std::memory_order_acquire);
        if (!rejections_.is_passed(notes::Mark::unpack(word), calls_begun())) continue;
        return fall_out_of_step(rank);
    }
}

}  // namespace tutti::engine
