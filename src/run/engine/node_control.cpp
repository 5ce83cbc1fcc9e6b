// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/node_control.h"

#include "run/engine/disagreement.h"
#include "run/engine/messages.h"

namespace tutti::engine {

void NodeControl::report_stall(const node::Call&, const node::Op* op, uint64_t waited_ns) {
    if (!op) return;
    const Stall stall{members_.name, members_.rank, waited_ns, op->call.collective, op->number};
    members_.context.log(TUTTI_LOG_WARN, stall_message(stall, node::not_arrived(node_, *op)));
}

void NodeControl::disagree(const node::Op& op, const node::Disagreement& with) {
    const node::CallNote mine = node::CallNote::unpack(op.note);
    break_off(TUTTI_ERR_MISMATCH, why_disagreed(op.number, mine, with, members_.rank).text);
}

}  // namespace tutti::engine
