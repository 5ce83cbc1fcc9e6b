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
