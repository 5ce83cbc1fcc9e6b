// SPDX-License-Identifier: BSD-3-Clause
// Messages of ranks that do not run the same call.
#include "run/transport/p2p/p2p.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "conformance/mailbox.h"

namespace tutti::test {
namespace {

using transport::CallWord;
using transport::MessageId;
using transport::P2p;
using transport::State;
using transport::Ticket;

constexpr size_t kLong = P2p::kWordedBytesMax + 1;

MessageId id_of(const CallWord& word) { return {1, 0, 3, 0, word}; }

class Words : public ::testing::Test {
  protected:
    // Rank 0 sends so many bytes, rank 1 receives: where the receive stands.
    State pass(size_t sent, const CallWord& senders, size_t wanted, const CallWord& receivers) {
        std::vector<std::byte> in(sent, std::byte{7});
        out_.assign(wanted, std::byte{0});
        Ticket send, recv;
        sender_.send(1, id_of(senders), in.data(), sent, send);
        receiver_.recv(0, id_of(receivers), out_.data(), wanted, recv);
        const State state = receiver_.test(recv);
        failed_ = recv;
        EXPECT_EQ(sender_.test(send), state == State::kPending ? State::kPending : State::kDone);
        return state;
    }
    // What came is what was sent, or nothing of it.
    void expect_data(std::byte all) { EXPECT_EQ(out_, std::vector<std::byte>(out_.size(), all)); }

    Mailbox mailbox_{2};
    P2p sender_{mailbox_.callbacks(0), 100, {}, 30};
    P2p receiver_{mailbox_.callbacks(1), 100, {}, 30};
    std::vector<std::byte> out_;
    Ticket failed_;  // the last receive, where it has
};

TEST_F(Words, OfOneCallLetDataPass) {
    for (const size_t bytes : {size_t{0}, size_t{1}, P2p::kWordedBytesMax, kLong}) {
        EXPECT_EQ(pass(bytes, {5, 6, 7}, bytes, {5, 6, 7}), State::kDone) << bytes;
        expect_data(std::byte{7});
    }
    EXPECT_EQ(mailbox_.under_way(), 0u);
}

// What comes afterwards is nobody's.
TEST_F(Words, ACancelledReceiveIsNotWrittenTo) {
    std::vector<std::byte> in(kLong, std::byte{7});
    std::vector<std::byte> out(kLong, std::byte{0});
    Ticket send, recv;
    receiver_.recv(0, id_of({5, 6, 7}), out.data(), kLong, recv);
    receiver_.cancel(recv);
    EXPECT_EQ(receiver_.test(recv), State::kFailed);
    sender_.send(1, id_of({5, 6, 7}), in.data(), kLong, send);
    EXPECT_EQ(sender_.test(send), State::kPending);
    receiver_.cancel(recv);
    sender_.cancel(send);
    EXPECT_EQ(out, std::vector<std::byte>(kLong, std::byte{0}));
}

TEST_F(Words, OfAnotherCallAreFound) {
    EXPECT_EQ(pass(8, {5, 6, 7}, 8, {4, 6, 7}), State::kFailed);
    expect_data(std::byte{0});
    const transport::Disagreement found = receiver_.disagreement();
    EXPECT_TRUE(found.is_there && found.has_word);
    EXPECT_EQ(found.peer, 0u);
    EXPECT_EQ(found.word, (CallWord{5, 6, 0}));
}

TEST_F(Words, AreFoundInMessagesOfAnotherSize) {
    EXPECT_EQ(pass(0, {5, 6, 7}, 8, {4, 6, 7}), State::kFailed);
    EXPECT_EQ(receiver_.disagreement().word, (CallWord{5, 6, 0}));
}

TEST_F(Words, AreFoundInLongerMessages) {
    EXPECT_EQ(pass(200, {5, 6, 7}, 0, {4, 6, 7}), State::kFailed);
    EXPECT_EQ(receiver_.disagreement().word, (CallWord{5, 6, 0}));
}

TEST_F(Words, OfOtherCallsBeforeAreFound) {
    EXPECT_EQ(pass(8, {5, 6, 7}, 8, {5, 3, 7}), State::kFailed);
    EXPECT_EQ(receiver_.disagreement().word, (CallWord{5, 6, 0}));
}

// A call that was another one to its sender begins anew as that: what it has got is not lost.
TEST_F(Words, WhatWasSetAsideIsForTheNextReceive) {
    EXPECT_EQ(pass(8, {5, 6, 7}, 16, {4, 6, 7}), State::kFailed);
    const std::vector<std::byte> in(8, std::byte{9});
    std::vector<std::byte> out(8, std::byte{0});
    Ticket again, send;
    ASSERT_TRUE(receiver_.can_withdraw_receives());
    EXPECT_EQ(receiver_.withdraw_receive(0, id_of({4, 6, 7}), out_.data(), 16, failed_),
              State::kDone);
    receiver_.clear_disagreement();
    EXPECT_FALSE(receiver_.disagreement().is_there);
    receiver_.recv(0, id_of({5, 6, 7}), out.data(), 8, again);
    EXPECT_EQ(receiver_.test(again), State::kDone);
    EXPECT_EQ(out, std::vector<std::byte>(8, std::byte{7}));
    receiver_.recv(0, id_of({5, 6, 7}), out.data(), 8, again);
    sender_.send(1, id_of({5, 6, 7}), in.data(), 8, send);
    EXPECT_EQ(receiver_.test(again), State::kDone);
    EXPECT_EQ(sender_.test(send), State::kDone);
    EXPECT_EQ(out, in);
}

TEST_F(Words, WhatIsSetAsideUnmetIsMetByTheNextReceive) {
    const std::vector<std::byte> in(kLong, std::byte{9});
    std::vector<std::byte> out(kLong, std::byte{0});
    for (const size_t bytes : {size_t{8}, kLong}) {
        for (const bool has_come : {false, true}) {
            Ticket posted, again, send;
            receiver_.recv(0, id_of({4, 6, 7}), out.data(), bytes, posted);
            if (has_come) sender_.send(1, id_of({4, 6, 7}), in.data(), bytes, send);
            const State set =
                receiver_.withdraw_receive(0, id_of({4, 6, 7}), out.data(), bytes, posted);
            EXPECT_EQ(set, State::kDone);
            std::fill(out.begin(), out.end(), std::byte{0});
            if (!has_come) sender_.send(1, id_of({4, 6, 7}), in.data(), bytes, send);
            receiver_.recv(0, id_of({4, 6, 7}), out.data(), bytes, again);
            EXPECT_EQ(receiver_.test(again), State::kDone);
            EXPECT_EQ(sender_.test(send), State::kDone);
            EXPECT_EQ(std::count(out.begin(), out.end(), std::byte{9}), static_cast<int>(bytes));
        }
    }
    EXPECT_EQ(mailbox_.under_way(), 0u);
}

TEST_F(Words, WhatNobodyHasAskedForTellsItsWord) {
    const std::vector<std::byte> in(kLong, std::byte{9});
    std::vector<std::byte> out(8, std::byte{0});
    Ticket send, other, recv;
    EXPECT_FALSE(receiver_.find_unexpected(3).is_there);
    sender_.send(1, id_of({5, 6, 7}), in.data(), 8, send);
    const transport::Disagreement found = receiver_.find_unexpected(3);
    EXPECT_TRUE(found.is_there);
    EXPECT_EQ(found.word, (CallWord{5, 6, 0}));
    receiver_.recv(0, id_of({5, 6, 7}), out.data(), 8, recv);
    EXPECT_EQ(receiver_.test(recv), State::kDone);
    EXPECT_EQ(out, std::vector<std::byte>(8, std::byte{9}));
    transport::Rank peer = 7;
    EXPECT_FALSE(receiver_.find_long_unexpected(3, 7, 8, peer));
    sender_.send(1, id_of({5, 6, 7}), in.data(), kLong, other);
    EXPECT_FALSE(receiver_.find_long_unexpected(3, 7, 37, peer));  // of 30 kinds
    EXPECT_TRUE(receiver_.find_long_unexpected(3, 7, 8, peer));
    EXPECT_EQ(peer, 0u);
}

TEST_F(Words, LongMessagesOfOtherKindsDoNotMeet) {
    EXPECT_EQ(pass(kLong, {5, 6, 7}, kLong, {4, 6, 8}), State::kPending);
    EXPECT_EQ(mailbox_.under_way(), 2u);
}

TEST_F(Words, LongMessagesOfOneKindAreCompared) {
    EXPECT_EQ(pass(kLong + 8, {5, 6, 7}, kLong + 9, {4, 6, 7}), State::kFailed);
    EXPECT_TRUE(receiver_.disagreement().is_there);
    EXPECT_FALSE(receiver_.disagreement().has_word);
    EXPECT_EQ(receiver_.error(), "rank 0 sent 265 bytes, not 266");
}

// Whatever their lengths are, they meet.
TEST_F(Words, FewerThanThereIsRoomForWhereThatMayBe) {
    MessageId id = id_of({5, 6, 7});
    id.may_be_short = true;
    const std::vector<std::byte> in(2 * kLong, std::byte{7});
    for (const size_t sent : {size_t{1}, size_t{8}, kLong, 2 * kLong}) {
        for (const size_t room : {size_t{8}, kLong, kLong + 1}) {
            Ticket send, recv;
            std::vector<std::byte> out(2 * kLong, std::byte{0});
            P2p receiver{mailbox_.callbacks(1), 100, {}, 30};
            sender_.send(1, id, in.data(), sent, send);
            receiver.recv(0, id, out.data(), room, recv);
            const State state = receiver.test(recv);
            EXPECT_EQ(sender_.test(send), State::kDone);
            SCOPED_TRACE(testing::Message() << sent << " to " << room);
            EXPECT_EQ(state, sent <= room ? State::kDone : State::kFailed);
            EXPECT_EQ(std::count(out.begin(), out.end(), std::byte{7}),
                      static_cast<ptrdiff_t>(sent <= room ? sent : 0));
            if (sent <= room) continue;
            const std::string size = std::to_string(room);
            EXPECT_EQ(receiver.error(), "rank 0 sent more than " + size + " bytes, not " + size);
        }
    }
}

TEST_F(Words, LongerThanThereIsRoomFor) {
    EXPECT_EQ(pass(kLong + 9, {5, 6, 7}, kLong, {5, 6, 7}), State::kFailed);
    EXPECT_EQ(receiver_.error(), "rank 0 sent more than 257 bytes, not 257");
}

}  // namespace
}  // namespace tutti::test
