// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/node_control.h"

#include "run/engine/disagreement.h"
#include "run/engine/messages.h"

namespace tutti::engine {
namespace {

Why why_of(const node::Op& op, const node::Disagreement& with, node::Rank own) {
    const node::CallNote mine = node::CallNote::unpack(op.note);
    switch (with.in_length) {
        using enum node::Disagreement::InLength;
        case kSent:
            return why_lengths_differ(op.number, mine, with.rank, own);
        case kTaken:
            return why_lengths_differ(op.number, mine, own, with.rank);
        case kTakenByOne:
            return why_lengths_differ(op.number, mine, own, node::kNoRank);
        case kNo:
            break;
    }
    return why_disagreed(op.number, mine, with.rank, with.is_known ? &with.note : nullptr);
}

}  // namespace

void NodeControl::report_stall(const node::Call&, const node::Op* op, uint64_t waited_ns) {
    if (!op) return;
    const Stall stall{members_.name, members_.rank, waited_ns, op->call.collective, op->number};
    members_.context.log(TUTTI_LOG_WARN, stall_message(stall, node::not_arrived(node_, *op)));
}

void NodeControl::disagree(const node::Op& op, const node::Disagreement& with) {
    break_off(TUTTI_ERR_MISMATCH, why_of(op, with, members_.rank).text);
}

}  // namespace tutti::engine
