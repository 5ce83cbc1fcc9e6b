// SPDX-License-Identifier: BSD-3-Clause
#include "plan/sched/program.h"

namespace tutti::sched {

Operation send(Rank peer, uint32_t message, Block what, uint64_t after) {
    Operation op;
    op.kind = OperationKind::kSend;
    op.peer = peer;
    op.message = message;
    op.left = what;
    op.after = after;
    return op;
}

Operation recv(Rank peer, uint32_t message, Block to, uint64_t after) {
    Operation op;
    op.kind = OperationKind::kRecv;
    op.peer = peer;
    op.message = message;
    op.to = to;
    op.after = after;
    return op;
}

Operation recv_reduce_left(Rank peer, uint32_t message, Block to, Block landing, Block own,
                           uint64_t after) {
    Operation op = recv(peer, message, to, after);
    op.kind = OperationKind::kRecvReduce;
    op.incoming = Incoming::kLeft;
    op.left = landing;
    op.right = own;
    return op;
}

Operation recv_reduce_right(Rank peer, uint32_t message, Block to, Block own, Block landing,
                            uint64_t after) {
    Operation op = recv(peer, message, to, after);
    op.kind = OperationKind::kRecvReduce;
    op.incoming = Incoming::kRight;
    op.left = own;
    op.right = landing;
    return op;
}

Operation multicast(uint64_t order, Block what, uint64_t after) {
    Operation op;
    op.kind = OperationKind::kMulticast;
    op.order = order;
    op.left = what;
    op.after = after;
    return op;
}

Operation recv_multicast(Rank sender, uint64_t order, Block to, uint64_t after) {
    Operation op;
    op.kind = OperationKind::kRecvMulticast;
    op.peer = sender;
    op.order = order;
    op.to = to;
    op.after = after;
    return op;
}

Operation copy(Block to, Block from, uint64_t after) {
    Operation op;
    op.kind = OperationKind::kCopy;
    op.to = to;
    op.left = from;
    op.after = after;
    return op;
}

Operation reduce(Block to, Block left, Block right, uint64_t after) {
    Operation op = copy(to, left, after);
    op.kind = OperationKind::kReduce;
    op.right = right;
    return op;
}

Operation meet_with(Rank peer, Incoming incoming, Block message_buffer, uint64_t after) {
    Operation op;
    op.kind = OperationKind::kMeetWith;
    op.peer = peer;
    op.incoming = incoming;
    op.to = message_buffer;
    op.after = after;
    return op;
}

Operation meet_near(Rank peer, uint32_t index, Incoming incoming, Block message_buffer,
                    uint64_t after) {
    Operation op = meet_with(peer, incoming, message_buffer, after);
    op.order = uint64_t{index} + 1;
    return op;
}

Operation meet(Block to, Block from, Block message_buffer, uint64_t after) {
    Operation op = reduce(to, from, message_buffer, after);
    op.kind = OperationKind::kMeet;
    return op;
}

Operation meet_multicast(Rank own, uint64_t order, Block to, Block from, Block message_buffer,
                         uint64_t after) {
    Operation op = meet(to, from, message_buffer, after);
    op.kind = OperationKind::kMeetMulticast;
    op.peer = own;
    op.order = order;
    return op;
}

Operation feed(Block to, Block left, uint64_t piece_bytes, uint32_t fed, uint32_t fed_max,
               uint64_t after) {
    Operation op;
    op.kind = OperationKind::kFeed;
    op.to = to;
    op.left = left;
    op.right = fed_block(op);
    op.right.bytes = piece_bytes;
    op.order = fed;
    op.message = fed_max;
    op.after = after;
    return op;
}

Operation node_operation(OperationKind kind, Rank root, uint64_t after, uint64_t order) {
    Operation operation;
    operation.kind = kind;
    operation.peer = root;
    operation.after = after;
    operation.order = order;
    return operation;
}

}  // namespace tutti::sched
