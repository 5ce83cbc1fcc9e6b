// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/block_places.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

namespace tutti::engine {
namespace {

constexpr uint32_t kRanks = 4;

// The blocks "aa", "", "bbb" and "c" of an allgatherv.
class BlockPlacesTest : public testing::Test {
  protected:
    using Offsets = std::array<uint64_t, kRanks>;

    // Receives as a schedule does, and gives what the program finds then.
    std::string received(const Offsets& offsets, bool is_in_place = false) {
        std::memset(buffer_, '.', sizeof(buffer_));
        const tutti_blocks blocks{nullptr, nullptr, lengths_.data(), offsets.data()};
        node::Call call;
        call.collective = TUTTI_ALLGATHERV;
        call.send = is_in_place ? nullptr : reinterpret_cast<const std::byte*>("bbb");
        call.recv = reinterpret_cast<std::byte*>(buffer_);
        call.bytes = 3;
        call.blocks = &blocks;
        places_.begin(call, kRanks);
        std::memcpy(places_.first(call), is_in_place ? "aaxxxc" : "aabbbc", 6);
        were_elsewhere_ = places_.are_elsewhere();
        if (were_elsewhere_) places_.end(call, 2, kRanks);
        EXPECT_FALSE(places_.are_elsewhere());
        return std::string(buffer_, sizeof(buffer_));
    }

    const std::array<uint64_t, kRanks> lengths_ = {2, 0, 3, 1};
    char buffer_[10] = {};
    BlockPlaces places_;
    bool were_elsewhere_ = false;
};

TEST_F(BlockPlacesTest, OneAfterTheOtherAreReceivedWhereTheyBelong) {
    EXPECT_EQ(received({0, 2, 2, 5}), "aabbbc....");
    EXPECT_FALSE(were_elsewhere_);
    EXPECT_EQ(received({1, 9, 3, 6}), ".aabbbc...") << "where an empty one is says nothing";
    EXPECT_FALSE(were_elsewhere_);
}

TEST_F(BlockPlacesTest, WithGapsOrInAnotherOrderTheyAreCopied) {
    EXPECT_EQ(received({0, 0, 3, 7}), "aa.bbb.c..");
    EXPECT_TRUE(were_elsewhere_);
    EXPECT_EQ(received({8, 0, 0, 4}), "bbb.c...aa");
    EXPECT_EQ(received({0, 2, 2, 5}), "aabbbc....");
}

// What others have sent goes to its place, and the own block is not touched.
TEST_F(BlockPlacesTest, InPlaceTheOwnOneStays) {
    EXPECT_EQ(received({8, 0, 0, 4}, true), "....c...aa");
}

}  // namespace
}  // namespace tutti::engine
