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

std::string field_text(Field field, const Operation& op) {
    const bool is_left = op.incoming == Incoming::kLeft;
    switch (field) {
        case Field::kMessage:
            return std::to_string(op.message);
        case Field::kPeer:
            return std::to_string(op.peer);
        case Field::kOrder:
            return std::to_string(op.order);
        case Field::kTo:
            return block_text(op.to);
        case Field::kLeft:
            return block_text(op.left);
        case Field::kRight:
            return block_text(op.right);
        case Field::kStarLeft:
            return (is_left ? "*" : "") + block_text(op.left);
        case Field::kStarRight:
            return (is_left ? "" : "*") + block_text(op.right);
        case Field::kNeighbour:
            return (is_left ? "parent " : "child ") + std::to_string(op.peer);
        case Field::kNear:
            return is_near(op) ? "near " + std::to_string(op.order - 1) : "";
        case Field::kFed:
            return (op.to.bytes > 0 ? "in " : "out ") + block_text(fed_block(op));
    }
    return {};
}

std::string body_text(const Operation& op) {
    std::string text;
    for (std::string_view left = row_of(op).text; !left.empty();) {
        const std::string_view word = take_word(left);
        const bool is_field = word.starts_with('$');
        const std::string said =
            is_field ? field_text(*field_of(word.substr(1)), op) : std::string(word);
        if (!said.empty()) text += " " + said;
    }
    return text;
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
    std::string text = std::string(row_of(operation).word) + body_text(operation);
    if (operation.is_counted) text += " counted";
    if (operation.is_bundled) text += " bundled";
    if (row_of(operation).order != Order::kNone)
        text += " order " + std::to_string(operation.order);
    return text + after_text(operation.after);
}

std::string label(Rank rank, const Position& position, const Operation& operation) {
    return "rank " + std::to_string(rank) + ", lane " + std::to_string(position.lane) + ", round " +
           std::to_string(position.round) + ": " + print(operation);
}

namespace {

std::string lengths_text(const BlockLengths& lengths) {
    if (!lengths.are_there()) return {};
    std::string text = " lengths";
    for (uint32_t i = 0; i < lengths.ranks; ++i) text += " " + std::to_string(lengths.bytes[i]);
    return text;
}

}  // namespace

std::string print(const Program& program, Rank rank, const Shape& shape) {
    const Extent extent = program.extent();
    std::string text = "schedule 1\n";
    text += "collective " + std::string(collective_name(shape.collective)) + "\n";
    text += "ranks " + std::to_string(shape.ranks) + "\n";
    text += "root " + std::to_string(shape.root) + "\n";
    text += "bytes " + std::to_string(shape.bytes) + lengths_text(shape.lengths) + "\n";
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
