// SPDX-License-Identifier: BSD-3-Clause
#include "plan/sched/program_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/sched/list_program.h"
#include "plan/sched/operation_kinds.h"
#include "schedules.h"

namespace tutti::sched {
namespace {

bool same(const Program& a, const Program& b) {
    const Extent x = a.extent();
    const Extent y = b.extent();
    if (a.name() != b.name() || x.lanes != y.lanes || x.lanes_in_flight != y.lanes_in_flight ||
        x.rounds != y.rounds || x.scratch_bytes != y.scratch_bytes ||
        x.multicasts != y.multicasts) {
        return false;
    }
    Round of_a;
    Round of_b;
    for (uint64_t lane = 0; lane < x.lanes; ++lane) {
        for (uint64_t k = 0; k < x.rounds; ++k) {
            a.read(lane, k, of_a);
            b.read(lane, k, of_b);
            if (!std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end())) return false;
        }
    }
    return true;
}

rc::Gen<Block> any_block() {
    return rc::gen::apply(
        [](Buffer buffer, uint64_t offset, uint64_t bytes) {
            if (buffer == Buffer::kNone) return Block{};
            return Block{buffer, offset, bytes % (~uint64_t{0} - offset)};
        },
        rc::gen::element(Buffer::kNone, Buffer::kInput, Buffer::kOutput, Buffer::kScratch),
        rc::gen::arbitrary<uint64_t>(), rc::gen::arbitrary<uint64_t>());
}

void draw(Field field, Operation& op) {
    const uint32_t some = *rc::gen::arbitrary<uint32_t>();
    switch (field) {
        case Field::kMessage:
            op.message = some;
            return;
        case Field::kPeer:
            op.peer = some;
            return;
        case Field::kOrder:
            op.order = some;
            return;
        case Field::kTo:
            op.to = *any_block();
            return;
        case Field::kLeft:
            op.left = *any_block();
            return;
        case Field::kRight:
            op.right = *any_block();
            return;
        case Field::kStarLeft:
            op.incoming = *rc::gen::element(Incoming::kLeft, Incoming::kRight);
            op.left = *any_block();
            return;
        case Field::kStarRight:
            op.right = *any_block();
            return;
        case Field::kNeighbour:
            op.incoming = *rc::gen::element(Incoming::kLeft, Incoming::kRight);
            op.peer = some;
            return;
        case Field::kNear:
            op.order = *rc::gen::arbitrary<bool>() ? uint64_t{some} + 1 : 0;
            return;
        case Field::kFed:
            (*rc::gen::arbitrary<bool>() ? op.to : op.left) =
                Block{Buffer::kOutput, some, 1 + uint64_t{*rc::gen::arbitrary<uint32_t>()}};
            return;
    }
}

// What the kind's text has no word for stays as it is made.
Operation any_operation() {
    const OperationRow& row = kOperations[*rc::gen::inRange<size_t>(0, kOperations.size())];
    Operation op;
    op.kind = row.kind;
    op.after = *rc::gen::oneOf(rc::gen::element(kAfterAll, kAfterNone, after_op(63)),
                               rc::gen::arbitrary<uint64_t>());
    for (std::string_view left = row.text; !left.empty();) {
        const std::string_view word = take_word(left);
        if (word.starts_with('$')) draw(*field_of(word.substr(1)), op);
    }
    if (row.may_be_counted) op.is_counted = *rc::gen::arbitrary<bool>();
    if (row.may_be_bundled) op.is_bundled = *rc::gen::arbitrary<bool>();
    if (row.order != Order::kNone) op.order = *rc::gen::arbitrary<uint64_t>();
    return op;
}

RC_GTEST_PROP(Text, WhatIsPrintedIsReadAgain, ()) {
    Extent extent;
    extent.lanes = *rc::gen::inRange<uint64_t>(1, 5);
    extent.lanes_in_flight = *rc::gen::inRange<uint32_t>(1, kLanesInFlightMax + 1);
    extent.rounds = *rc::gen::inRange<uint64_t>(1, 6);
    extent.scratch_bytes = *rc::gen::arbitrary<uint64_t>();
    extent.multicasts = *rc::gen::arbitrary<uint64_t>();
    ListProgram program("any name at all", extent);
    for (uint64_t lane = 0; lane < extent.lanes; ++lane) {
        for (uint64_t k = 0; k < extent.rounds; ++k) {
            const int operations = *rc::gen::inRange(0, 4);
            for (int i = 0; i < operations; ++i) program.add(lane, k, any_operation());
        }
    }
    Shape shape = shape_of(TUTTI_SCATTER, 7, *rc::gen::arbitrary<uint64_t>(), 6);
    shape.element_bytes = 3;
    shape.is_commutative = *rc::gen::arbitrary<bool>();
    const std::string text = print(program, 5, shape);
    const auto parsed = parse_program(text, "text");
    if (!parsed) RC_FAIL(parsed.error().message + "\n" + text);
    RC_ASSERT(same(program, *parsed.value().program));
    RC_ASSERT(parsed.value().rank == 5u);
    RC_ASSERT(parsed.value().shape.collective == shape.collective);
    RC_ASSERT(parsed.value().shape.ranks == shape.ranks);
    RC_ASSERT(parsed.value().shape.root == shape.root);
    RC_ASSERT(parsed.value().shape.bytes == shape.bytes);
    RC_ASSERT(parsed.value().shape.element_bytes == shape.element_bytes);
    RC_ASSERT(parsed.value().shape.is_commutative == shape.is_commutative);
    RC_ASSERT(print(*parsed.value().program, 5, parsed.value().shape) == text);
}

const std::string kHeader =
    "schedule 1\ncollective reduce\nranks 3\nroot 0\nbytes 8\nelement 8\nrank 1\nname a b\n"
    "lanes 2\nin_flight 1\nrounds 2\nscratch 0\n";

std::string header_of(const std::string& collective, const std::string& bytes) {
    return "schedule 1\ncollective " + collective + "\nranks 3\nroot 0\nbytes " + bytes +
           "\nelement 1\nrank 1\nname a\nlanes 1\nin_flight 1\nrounds 0\nscratch 0\n";
}

TEST(Text, LengthsOfBlocksStandBehindTheLongest) {
    const std::string text = header_of("allgatherv", "8 lengths 8 0 3");
    const auto parsed = parse_program(text, "f");
    ASSERT_TRUE(parsed) << parsed.error().message;
    const Shape& shape = parsed.value().shape;
    EXPECT_EQ(shape.block_offset(2), 8u);
    EXPECT_EQ(shape.all_blocks_bytes(), 11u);
    EXPECT_EQ(print(*parsed.value().program, 1, shape), text);
    const auto complaint = [](const std::string& collective, const std::string& bytes) {
        const auto wrong = parse(header_of(collective, bytes), "f");
        return wrong ? std::string() : wrong.error().message;
    };
    EXPECT_EQ(complaint("allgather", "8 lengths 8 0 3"),
              "f:5:9: this collective has none that all ranks know");
    EXPECT_EQ(complaint("allgatherv", "8 lengths 8 0"), "f:5:19: there is one for each rank");
    EXPECT_EQ(complaint("reduce_scatter", "8 lengths 8 9 0"),
              "f:5:19: the number is greater than 8");
    EXPECT_EQ(complaint("reduce_scatter", "8 lengths 4 4 0"),
              "f:5:21: the longest block has as many bytes as it says in front");
}

TEST(Text, CommentsAndBlanksAreFree) {
    const auto parsed = parse("# why\n" + kHeader +
                                  "\n\tlane 1 # the second\r\n round 0\n"
                                  "send 0 to 2 input [ 0 + 8 ] after 0 , 3\n",
                              "f");
    ASSERT_TRUE(parsed) << parsed.error().message;
    Round round;
    parsed.value()->read(1, 0, round);
    ASSERT_EQ(round.size(), 1u);
    EXPECT_EQ(round[0], send(2, 0, input(0, 8), after_op(0) | after_op(3)));
    EXPECT_EQ(parsed.value()->name(), "a b");
    for (const uint64_t lane : {0u, 1u}) {
        parsed.value()->read(lane, 1, round);
        EXPECT_EQ(round.size(), 0u);
    }
}

TEST(Text, MulticastsAreCountedInTheHeader) {
    const auto parsed = parse(kHeader +
                                  "multicasts 2\nlane 0\nround 0\nmulticast output[0+8] order 0\n"
                                  "recv_multicast from 2 - order 1 after none\n",
                              "f");
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed.value()->extent().multicasts, 2u);
    Round round;
    parsed.value()->read(0, 0, round);
    ASSERT_EQ(round.size(), 2u);
    EXPECT_EQ(round[0], multicast(0, output(0, 8)));
    EXPECT_EQ(round[1], recv_multicast(2, 1, {}, kAfterNone));
    const auto without = parse(kHeader, "f");
    ASSERT_TRUE(without) << without.error().message;
    EXPECT_EQ(without.value()->extent().multicasts, 0u);
}

TEST(Text, NeighboursOnTheSameNode) {
    const std::string lines =
        "lane 0\nround 0\nmeet_with parent 5 near 0 scratch[0+32]\n"
        "meet_with child 2 scratch[64+32]\nmeet - = - by scratch[128+16]\n";
    const auto parsed = parse(kHeader + lines, "f");
    ASSERT_TRUE(parsed) << parsed.error().message;
    Round round;
    parsed.value()->read(0, 0, round);
    ASSERT_EQ(round.size(), 3u);
    EXPECT_EQ(round[0], meet_near(5, 0, Incoming::kLeft, scratch(0, 32)));
    EXPECT_TRUE(is_near(round[0]));
    EXPECT_FALSE(is_near(round[1]));
    EXPECT_EQ(print(round[0]), "meet_with parent 5 near 0 scratch[0+32]");
}

TEST(Text, ErrorsSayWhereAndWhat) {
    const auto expect = [](const std::string& text, const std::string& message) {
        const auto parsed = parse(text, "f.sched");
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error().message, message);
    };
    const auto expect_line = [&](const std::string& line, const std::string& message) {
        expect(kHeader + "lane 0\nround 0\n" + line + "\n", "f.sched:15:" + message);
    };
    expect("", "f.sched:1:1: 'schedule' is missing");
    expect("schedule 2\n", "f.sched:1:10: only version 1 is known");
    expect("schedule 1\ncollective allreduc\n",
           "f.sched:2:12: 'allreduc' is no collective; did you mean 'allreduce'?");
    expect("schedule 1\nranks 3\n", "f.sched:2:1: 'collective' is missing here");
    expect("schedule 1\ncollective bcast\nranks 0\n", "f.sched:3:7: there is at least one rank");
    expect("schedule 1\ncollective bcast\nranks 2\nroot 2\n",
           "f.sched:4:6: the root is none of the ranks");
    expect("schedule 1\ncollective bcast\nranks 4294967296\n",
           "f.sched:3:7: the number is greater than 4294967295");
    expect("schedule 1 1\n", "f.sched:1:12: the line should end here");
    expect("schedule 1\ncollective bcast\nranks 1\nroot 0\nbytes 8\nelement 1\nordered\n",
           "f.sched:8:1: 'rank' is missing");
    const std::string lanes =
        "schedule 1\ncollective bcast\nranks 1\nroot 0\nbytes 8\nelement 1\nrank 0\nname a\n";
    expect(lanes + "lanes 0\n", "f.sched:9:7: there is at least one lane");
    expect(lanes + "lanes 1\nin_flight 0\n", "f.sched:10:11: 1 to 16 lanes can be in flight");
    expect(lanes + "lanes 1\nin_flight 17\n", "f.sched:10:11: 1 to 16 lanes can be in flight");
    expect(kHeader + "round 0\n", "f.sched:13:1: a lane comes first");
    expect(kHeader + "lane 2\n", "f.sched:13:6: there is no such lane");
    expect(kHeader + "lane 1\nlane 0\n", "f.sched:14:6: lanes ascend");
    expect(kHeader + "lane 1\nround 2\n", "f.sched:14:7: there is no such round");
    expect(kHeader + "lane 1\nround 1\nround 1\n", "f.sched:15:7: rounds ascend");
    expect(kHeader + "lane 1\ncopy - = -\n", "f.sched:14:1: a lane and a round come first");
    expect_line("sned 0 to 1 -", "1: 'sned' is no operation; did you mean 'send'?");
    expect_line("send 0 from 1 -", "8: 'to' is missing here");
    expect_line("send x to 1 -", "6: a number is missing here");
    expect_line("send 0 to 1 inputs[0+1]", "13: 'inputs' is no buffer; did you mean 'input'?");
    expect_line("send 0 to 1 input[0-1]", "19: a number is missing here");
    expect_line("send 0 to 1 input[0:1]", "20: '+' is missing here");
    expect_line("send 0 to 1 input[1+18446744073709551615]",
                "21: the number is greater than 18446744073709551614");
    expect_line("send 0 to 1 input[18446744073709551615+5]", "40: the number is greater than 0");
    expect_line("send 0 to 1 - after 64", "21: the number is greater than 63");
    expect_line("send 0 to 1 - behind 1", "15: 'after' is missing here");
    expect_line("send 0 to 1 - after 1 2", "23: the line should end here");
    expect_line("reduce output[0+8] = *input[0+8] op input[0+8]",
                "22: the name of the buffer is missing here");
    expect_line("recv_reduce 0 from 2 output[0+8] = input[0+8] op input[0+8]",
                "50: '*' is missing here");
    expect_line("node_arrive root 0", "19: 'order' is missing here");
    expect_line("multicast input[0+8]", "21: 'order' is missing here");
    expect_line("multicast to 1 input[0+8] order 0", "11: 'to' is no buffer; did you mean '-'?");
    expect_line("recv_multicast output[0+8] order 0", "16: 'from' is missing here");
    expect(kHeader + "multicasts\n", "f.sched:13:11: a number is missing here");
    expect(kHeader + "multicasts 1\nmulticasts 1\n",
           "f.sched:14:1: 'multicasts' is no operation; did you mean 'multicast'?");
    std::string many;
    for (int i = 0; i < 65; ++i) many += "copy - = -\n";
    expect(kHeader + "lane 0\nround 0\n" + many, "f.sched:79:1: a round has at most 64 operations");
}

}  // namespace
}  // namespace tutti::sched
