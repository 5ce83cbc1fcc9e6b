// SPDX-License-Identifier: BSD-3-Clause
#include "run/notes/inquiry.h"

#include <gtest/gtest.h>

namespace tutti::notes {
namespace {

using Ranks = std::vector<uint32_t>;

Ranks asked(Inquiry& inquiry) {
    Ranks ranks;
    for (uint32_t rank = 0; inquiry.next(rank);) ranks.push_back(rank);
    return ranks;
}

TEST(Inquiry, FollowsTheAnswers) {
    Inquiry inquiry;
    inquiry.begin(7, 1000);
    inquiry.add(Ranks{5, 2}, 0);
    EXPECT_EQ(asked(inquiry), (Ranks{5, 2}));
    EXPECT_EQ(asked(inquiry), Ranks{});
    inquiry.answered(5, 7, 7);
    inquiry.add(Ranks{2, 0, 9}, 0);  // known, oneself, new
    EXPECT_EQ(asked(inquiry), Ranks{9});
    inquiry.answered(2, 7, 6);
    EXPECT_FALSE(inquiry.is_over(999));
    EXPECT_TRUE(inquiry.is_over(1000));
    EXPECT_EQ(inquiry.silent(), Ranks{9});
    EXPECT_EQ(inquiry.waiting(), Ranks{5});
    EXPECT_EQ(inquiry.elsewhere(), Ranks{2});
    inquiry.answered(9, 7, 7);
    EXPECT_TRUE(inquiry.is_over(0));
    inquiry.stop();
    EXPECT_FALSE(inquiry.is_over(2000));
}

TEST(Inquiry, AnswersToOtherQuestionsDoNotCount) {
    Inquiry inquiry;
    inquiry.answered(1, 0, 0);
    inquiry.begin(7, 1000);
    inquiry.add(Ranks{1}, 0);
    inquiry.answered(1, 6, 6);
    inquiry.answered(3, 7, 7);
    EXPECT_EQ(inquiry.silent(), Ranks{1});
    inquiry.begin(8, 1000);
    EXPECT_EQ(inquiry.silent(), Ranks{});
}

TEST(Inquiry, AsksNoMoreThanItsBound) {
    Inquiry inquiry;
    inquiry.begin(1, 1000);
    Ranks many;
    for (uint32_t rank = 0; rank < 1000; ++rank) many.push_back(rank);
    inquiry.add(many, 3);
    EXPECT_EQ(asked(inquiry).size(), Inquiry::kAskedMax);
}

}  // namespace
}  // namespace tutti::notes
