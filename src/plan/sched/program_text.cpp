// SPDX-License-Identifier: BSD-3-Clause
#include "plan/sched/program_text.h"

#include "plan/sched/operation_kinds.h"

namespace tutti::sched {
namespace {

std::string block_text(const Block& block) {
    std::string text(kBufferNames[static_cast<size_t>(block.buffer)]);
    if (block.buffer == Buffer::kNone && block.offset == 0 && block.bytes == 0) return text;
    return text + "[" + std::to_string(block.offset) + "+" + std::to_string(block.bytes) + "]";
}

std::string message_text(const Operation& op, std::string_view preposition) {
    return std::to_string(op.message) + " " + std::string(preposition) + " " +
           std::to_string(op.peer) + " ";
}

std::string fold_text(const Operation& op) {
    const bool is_message = op.kind == OperationKind::kRecvReduce;
    const bool is_left = op.incoming == Incoming::kLeft;
    return block_text(op.to) + " = " + (is_message && is_left ? "*" : "") + block_text(op.left) +
           " op " + (is_message && !is_left ? "*" : "") + block_text(op.right);
}

// Behind the word.
std::string body_text(const Operation& op) {
    const std::string copied = block_text(op.to) + " = " + block_text(op.left);
    const std::string root = "root " + std::to_string(op.peer);
    switch (op.kind) {
        case OperationKind::kSend:
            return message_text(op, "to") + block_text(op.left);
        case OperationKind::kRecv:
            return message_text(op, "from") + block_text(op.to);
        case OperationKind::kRecvReduce:
            return message_text(op, "from") + fold_text(op);
        case OperationKind::kCopy:
            return copied;
        case OperationKind::kReduce:
            return fold_text(op);
        case OperationKind::kMulticast:
            return block_text(op.left);
        case OperationKind::kRecvMulticast:
            return "from " + std::to_string(op.peer) + " " + block_text(op.to);
        case OperationKind::kMeetWith:
            return std::string(op.incoming == Incoming::kLeft ? "parent " : "child ") +
                   std::to_string(op.peer) + " " +
                   (is_near(op) ? "near " + std::to_string(op.order - 1) + " " : "") +
                   block_text(op.to);
        case OperationKind::kMeet:
            return copied + " by " + block_text(op.right);
        case OperationKind::kMeetMulticast:
            return "as " + std::to_string(op.peer) + " " + copied + " by " + block_text(op.right);
        case OperationKind::kFeed:
            return std::string(op.to.bytes > 0 ? "in " : "out ") + block_text(fed_block(op)) +
                   " by " + block_text(op.right) + " to " + std::to_string(op.order) + " of " +
                   std::to_string(op.message);
        case OperationKind::kNodeArrive:
        case OperationKind::kNodeRelease:
            return root;
        case OperationKind::kNodeBcast:
            return root + " " + block_text(op.to);
        case OperationKind::kNodeReduce:
        case OperationKind::kNodeGather:
        case OperationKind::kNodeScatter:
            return root + " " + copied;
    }
    return {};
}

std::string after_text(uint64_t after) {
    if (after == kAfterAll) return {};
    if (after == kAfterNone) return " after none";
    std::string text = " after ";
    for (uint32_t i = 0; i < kRoundOpsMax; ++i) {
        if ((after >> i & 1) == 0) continue;
        if (text.back() != ' ') text += ',';
        text += std::to_string(i);
    }
    return text;
}

}  // namespace

std::string print(const Operation& operation) {
    std::string text = std::string(row_of(operation.kind).word) + " " + body_text(operation);
    if (operation.is_counted) text += " counted";
    if (has_order(operation.kind)) text += " order " + std::to_string(operation.order);
    return text + after_text(operation.after);
}

std::string label(Rank rank, const Position& position, const Operation& operation) {
    return "rank " + std::to_string(rank) + ", lane " + std::to_string(position.lane) + ", round " +
           std::to_string(position.round) + ": " + print(operation);
}

std::string print(const Program& program, Rank rank, const Shape& shape) {
    const Extent extent = program.extent();
    std::string text = "schedule 1\n";
    text += "collective " + std::string(collective_name(shape.collective)) + "\n";
    text += "ranks " + std::to_string(shape.ranks) + "\n";
    text += "root " + std::to_string(shape.root) + "\n";
    text += "bytes " + std::to_string(shape.bytes) + "\n";
    text += "element " + std::to_string(shape.element_bytes) + "\n";
    if (!shape.is_commutative) text += "ordered\n";
    text += "rank " + std::to_string(rank) + "\n";
    text += "name " + std::string(program.name()) + "\n";
    text += "lanes " + std::to_string(extent.lanes) + "\n";
    text += "in_flight " + std::to_string(extent.lanes_in_flight) + "\n";
    text += "rounds " + std::to_string(extent.rounds) + "\n";
    text += "scratch " + std::to_string(extent.scratch_bytes) + "\n";
    if (extent.multicasts != 0) {
        text += "multicasts " + std::to_string(extent.multicasts) + "\n";
    }
    Round round;
    for (uint64_t lane = 0; lane < extent.lanes; ++lane) {
        bool is_titled = false;
        for (uint64_t k = 0; k < extent.rounds; ++k) {
            program.read(lane, k, round);
            if (round.size() == 0) continue;
            if (!is_titled) text += "lane " + std::to_string(lane) + "\n";
            is_titled = true;
            text += "  round " + std::to_string(k) + "\n";
            for (const Operation& op : round) text += "    " + print(op) + "\n";
        }
    }
    return text;
}

}  // namespace tutti::sched
