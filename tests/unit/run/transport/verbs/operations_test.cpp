// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/operations.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace tutti::transport::verbs {
namespace {

TEST(Line, KeepsItsOrderWhateverIsRemoved) {
    std::array<Operation, 4> all;
    std::array<Ticket, 4> tickets;
    Line line;
    for (size_t i = 0; i < all.size(); ++i) {
        all[i].ticket = &tickets[i];
        line.append(&all[i]);
    }
    EXPECT_EQ(line.find(tickets[2]), &all[2]);
    line.remove(&all[3]);
    line.remove(&all[1]);
    EXPECT_EQ(line.find(tickets[3]), nullptr);
    all[3].next = nullptr;
    line.append(&all[3]);
    for (const size_t i : {0, 2, 3}) EXPECT_EQ(line.pop(), &all[i]);
    EXPECT_EQ(line.first, nullptr);
    all[0].next = nullptr;
    line.append(&all[0]);
    EXPECT_EQ(line.pop(), &all[0]);
}

TEST(StreamLines, KnowWhichAreNotEmpty) {
    std::array<Operation, 3> all;
    Ticket ticket;
    all[1].ticket = &ticket;
    StreamLines lines;
    lines.append(2, &all[0]);
    lines.append(2, &all[1]);
    lines.append(5, &all[2]);
    EXPECT_EQ(lines.busy(), 1u << 2 | 1u << 5);
    EXPECT_EQ(lines.find(2, ticket), &all[1]);
    EXPECT_EQ(lines.find(5, ticket), nullptr);
    EXPECT_EQ(lines.pop(2), &all[0]);
    EXPECT_EQ(lines.busy(), 1u << 2 | 1u << 5);
    lines.remove(2, &all[1]);
    EXPECT_EQ(lines.busy(), 1u << 5);
    EXPECT_EQ(lines.pop(5), &all[2]);
    EXPECT_EQ(lines.busy(), 0u);
    EXPECT_EQ(lines.first(5), nullptr);
}

TEST(OperationPool, GivesOutEachOnceAndAnew) {
    OperationPool pool;
    std::set<Operation*> taken;
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(taken.insert(pool.take()).second);
    for (Operation* one : taken) {
        one->bytes = 5;
        pool.release(one);
    }
    size_t count = 0;
    pool.for_all([&](const Operation& one) { count += one.bytes == 5 ? 1 : 0; });
    EXPECT_EQ(count, taken.size());
    Operation* again = pool.take();
    EXPECT_TRUE(taken.contains(again));
    EXPECT_EQ(again->bytes, 0u);
}

}  // namespace
}  // namespace tutti::transport::verbs
