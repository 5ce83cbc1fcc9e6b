// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/posted_messages.h"

namespace tutti::exec {
namespace {

// Of a receive.
const sched::Block& target_of(const sched::Operation& operation) {
    const bool is_left = operation.incoming == sched::Incoming::kLeft;
    if (sched::is_recv(operation)) return operation.to;
    return is_left ? operation.left : operation.right;
}

}  // namespace

bool PostedMessages::post(Ref ref) {
    const sched::Operation& operation = call_.slots.operation_of(ref);
    transport::Ticket& ticket = call_.slots.ticket_of(ref);
    const transport::MessageId id = call_.id_of(ref);
    if (sched::is_send(operation)) {
        call_.network.send(operation.peer, id, call_.at(ref, operation.left), operation.left.bytes,
                           ticket);
    } else {
        const sched::Block& block = target_of(operation);
        call_.network.recv(operation.peer, id, call_.at(ref, block), block.bytes, ticket);
    }
    const bool is_done = ticket.state == transport::State::kDone;
    if (!is_done) refs_.push_back(ref);
    return is_done;
}

// They stand in the order of their posting: none has been completed.
transport::State PostedMessages::withdraw() {
    TUTTI_ASSERT(call_.is_untouched, "nothing of it is lost");
    while (!refs_.empty()) {
        const Ref ref = refs_.front();
        const sched::Operation& operation = call_.slots.operation_of(ref);
        if (!sched::is_recv(operation)) return transport::State::kFailed;
        const transport::State set = call_.network.withdraw_receive(
            operation.peer, call_.id_of(ref), call_.at(ref, operation.to), operation.to.bytes,
            call_.slots.ticket_of(ref));
        if (set != transport::State::kDone) return set;
        refs_.erase(refs_.begin());
    }
    return transport::State::kDone;
}

}  // namespace tutti::exec
