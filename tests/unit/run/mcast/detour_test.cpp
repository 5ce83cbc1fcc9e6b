// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/detour.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "run/mcast/detour_copies.h"
#include "run/mcast/group_work.h"

namespace tutti::mcast {
namespace {

using Phase = Failure::Phase;

Params three() {
    Params params;
    params.members = 3;
    params.member = 0;
    return params;
}

class DetourTest : public testing::Test {
  protected:
    // Notices that are due until nothing is.
    uint32_t notices() {
        uint32_t count = 0;
        for (; detour_.next_ns() != kNever; ++count) {
            EXPECT_FALSE(detour_.take_notice(detour_.next_ns() - 1));
            EXPECT_TRUE(detour_.take_notice(detour_.next_ns()));
        }
        return count;
    }
    Params params_ = three();
    Prng prng_{1};
    Detour detour_{params_};
};

TEST_F(DetourTest, EndsWhenAllIsAtItsPlaceEverywhere) {
    detour_.name(2);
    detour_.name(1);
    EXPECT_EQ(detour_.dead(), Member{2}) << "the first one counts";
    detour_.begin_telling(0, prng_);
    EXPECT_EQ(notices(), params_.timing.notices);
    EXPECT_FALSE(detour_.advance(0, true, prng_)) << "the client may still write";
    EXPECT_FALSE(detour_.is_flushed());
    detour_.end_writing();
    EXPECT_FALSE(detour_.advance(0, false, prng_));
    EXPECT_FALSE(detour_.is_flushed());
    EXPECT_FALSE(detour_.advance(0, true, prng_));
    EXPECT_TRUE(detour_.is_flushed());
    EXPECT_EQ(notices(), 1u);
    EXPECT_TRUE(detour_.hear(1, Phase::kFlushed));
    EXPECT_FALSE(detour_.hear(1, Phase::kFlushed)) << "said before";
    EXPECT_FALSE(detour_.advance(0, true, prng_));
    EXPECT_TRUE(detour_.hear(2, Phase::kFlushed));
    EXPECT_TRUE(detour_.advance(0, true, prng_));
    detour_.end(0, prng_);
    EXPECT_TRUE(detour_.is_over());
    EXPECT_EQ(notices(), 1u) << "all agree";
}

TEST_F(DetourTest, OneThatEndsAtOnceIsToldOften) {
    detour_.name(2);
    detour_.end(0, prng_);
    EXPECT_EQ(notices(), params_.timing.notices);
    EXPECT_FALSE(detour_.advance(0, true, prng_));
}

TEST_F(DetourTest, AMemberThatKnowsIsNotTold) {
    detour_.name(2);
    EXPECT_TRUE(detour_.must_tell(1));
    EXPECT_FALSE(detour_.hear(1, Phase::kDetour));
    EXPECT_FALSE(detour_.must_tell(1));
    EXPECT_TRUE(detour_.must_tell(2));
    detour_.end_writing();
    EXPECT_FALSE(detour_.advance(0, true, prng_));
    EXPECT_TRUE(detour_.must_tell(1)) << "that this one is flushed";
    detour_.end(0, prng_);
    EXPECT_TRUE(detour_.must_tell(1)) << "that it is over";
    EXPECT_FALSE(detour_.hear(1, Phase::kOver));
    EXPECT_FALSE(detour_.must_tell(1));
}

TEST(DetourCopies, GoToEachOtherMember) {
    const Params params = three();
    DetourCopies copies(params);
    const std::array<std::byte, 3> packet{std::byte{1}, std::byte{2}, std::byte{3}};
    std::vector<std::byte> out(params.packet_bytes_max);
    Member to = kNobody;
    const auto nobody = [](Member) { return false; };
    copies.begin(packet, false);
    for (Member member = 1; member < 3; ++member) {
        EXPECT_EQ(copies.next(out, to, nobody), packet.size());
        EXPECT_EQ(to, member);
        EXPECT_TRUE(std::ranges::equal(packet, std::span(out).first(packet.size())));
    }
    EXPECT_EQ(copies.next(out, to, nobody), 0u);
    EXPECT_FALSE(copies.is_under_way());
    copies.begin(packet, true);
    EXPECT_EQ(copies.next(out, to, [](Member member) { return member == 2; }), packet.size());
    EXPECT_EQ(to, 2);
    copies.call_off();
    EXPECT_FALSE(copies.is_under_way());
}

TEST(GroupWork, EachKindOnceAMemberInTurn) {
    GroupWork work(3);
    EXPECT_TRUE(work.add(Work::kNak, 1));
    EXPECT_TRUE(work.add(Work::kAck, 1));
    EXPECT_FALSE(work.add(Work::kNak, 1));
    EXPECT_EQ(work.pop().work, Work::kNak);
    EXPECT_TRUE(work.add(Work::kNak, 1)) << "it was taken";
    EXPECT_EQ(work.pop().work, Work::kAck);
    EXPECT_FALSE(work.is_empty());
    EXPECT_TRUE(work.is_queued(Work::kNak, 1));
    EXPECT_FALSE(work.is_queued(Work::kAck, 1));
}

TEST(GroupWork, OfAFailedGroupOthersAreOnlyTold) {
    GroupWork work(3);
    EXPECT_TRUE(work.add(Work::kNak, 1));
    work.end();
    EXPECT_TRUE(work.is_empty());
    EXPECT_FALSE(work.add(Work::kNak, 1));
    EXPECT_TRUE(work.add(Work::kTell, 1));
    EXPECT_FALSE(work.add(Work::kTell, 1));
}

}  // namespace
}  // namespace tutti::mcast
