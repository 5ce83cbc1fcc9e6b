// SPDX-License-Identifier: BSD-3-Clause
#include "plan/sched/operation_amounts.h"

#include <gtest/gtest.h>

namespace tutti::sched {
namespace {

TEST(OperationAmounts, OfMessages) {
    EXPECT_EQ(amounts_of(send(1, 0, input(0, 24))),
              (Amounts{.messages_sent = 1, .bytes_sent = 24, .message_bytes = 24}));
    EXPECT_EQ(amounts_of(recv(1, 0, output(0, 24))),
              (Amounts{.messages_received = 1, .bytes_received = 24, .message_bytes = 24}));
    const Operation fold = recv_reduce_left(1, 0, output(0, 8), scratch(0, 8), input(0, 8));
    EXPECT_EQ(
        amounts_of(fold),
        (Amounts{
            .messages_received = 1, .bytes_received = 8, .message_bytes = 8, .folded_bytes = 8}));
}

TEST(OperationAmounts, OfMulticasts) {
    EXPECT_EQ(amounts_of(multicast(0, output(0, 7))),
              (Amounts{.multicasts_sent = 1, .multicast_bytes_sent = 7}));
    EXPECT_EQ(amounts_of(recv_multicast(2, 0, output(0, 7))),
              (Amounts{.multicasts_received = 1, .multicast_bytes_received = 7}));
}

TEST(OperationAmounts, OfWorkAtHome) {
    EXPECT_EQ(amounts_of(copy(output(0, 9), input(0, 9))), (Amounts{.copied_bytes = 9}));
    EXPECT_EQ(amounts_of(reduce(output(0, 9), input(0, 9), scratch(0, 9))),
              (Amounts{.folded_bytes = 9}));
}

// 16 bytes and two vectors each way; what goes by memory is written and read.
TEST(OperationAmounts, OfNeighbours) {
    const uint64_t bytes = meet_message_bytes(8);
    const Operation with = meet_with(1, Incoming::kLeft, scratch(0, 2 * bytes));
    EXPECT_EQ(amounts_of(with), (Amounts{.messages_sent = 1,
                                         .bytes_sent = bytes,
                                         .messages_received = 1,
                                         .bytes_received = bytes,
                                         .message_bytes = bytes}));
    EXPECT_EQ(neighbour_vector_bytes(with), 8u);
    EXPECT_EQ(amounts_of(meet_near(1, 0, Incoming::kLeft, scratch(0, 2 * bytes))),
              (Amounts{.copied_bytes = 2 * bytes}));
}

TEST(OperationAmounts, OfThoseWhoMeet) {
    const Block room = scratch(0, meet_message_bytes(8));
    EXPECT_EQ(amounts_of(meet(output(0, 8), input(0, 8), room)), (Amounts{.folded_bytes = 8}));
    EXPECT_EQ(amounts_of(meet_multicast(0, 0, output(0, 8), input(0, 8), room)),
              (Amounts{.multicasts_received = 1,
                       .multicast_bytes_received = meet_multicast_bytes(8),
                       .folded_bytes = 8}));
}

// 100 bytes in pieces of 40 to two others.
TEST(OperationAmounts, OfThoseWhoAreFed) {
    Amounts expected{.messages_sent = 6, .bytes_sent = 200, .message_bytes = 40};
    EXPECT_EQ(amounts_of(feed({}, output(0, 100), 40, 2, 2)), expected);
    expected.messages_received = 3;
    expected.bytes_received = 100;
    EXPECT_EQ(amounts_of(feed(output(0, 100), {}, 40, 2, 2)), expected);
}

TEST(OperationAmounts, WhatANodeMovesIsNotHere) {
    for (const OperationRow& row : kOperations) {
        if (row.among != Among::kNode) continue;
        Operation op;
        op.kind = row.kind;
        op.to = output(0, 8);
        op.left = input(0, 8);
        EXPECT_EQ(amounts_of(op), Amounts{}) << row.word;
    }
}

}  // namespace
}  // namespace tutti::sched
