// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/first_failure.h"

#include <gtest/gtest.h>

namespace tutti::transport::verbs {
namespace {

TEST(FirstFailure, ThePairThatFailedFirstStays) {
    FirstFailure failure;
    EXPECT_EQ(failure.text(), "");
    failure.note_size(3, 8, 16);
    EXPECT_EQ(failure.text(), "rank 3 sent 8 bytes, not 16");
    EXPECT_TRUE(failure.disagreement().is_short);
    failure.note_word(4, {});
    EXPECT_EQ(failure.disagreement().peer, 3u) << "the first disagreement";
    failure.note_pair(5, "it is flushed", "");
    EXPECT_EQ(failure.text(), "RDMA to rank 5 failed: it is flushed");
    EXPECT_FALSE(failure.disagreement().is_there);
    failure.note_pair(6, "another one", "");
    failure.note_count();
    failure.clear_disagreement();
    EXPECT_TRUE(failure.is_pair());
    EXPECT_EQ(failure.text(), "RDMA to rank 5 failed: it is flushed");
}

TEST(FirstFailure, TheCauseIsToldOfThatPairAlone) {
    FirstFailure failure;
    failure.tell_cause(5, "nobody", "");
    EXPECT_EQ(failure.text(), "");
    failure.note_pair(5, "it is flushed", "");
    failure.tell_cause(6, "its port is down", "");
    EXPECT_EQ(failure.text(), "RDMA to rank 5 failed: it is flushed");
    failure.tell_cause(5, "its port is down", " (status 12)");
    EXPECT_EQ(failure.text(), "RDMA to rank 5 failed: its port is down (status 12)");
    failure.forget();
    EXPECT_EQ(failure.text(), "");
}

TEST(FirstFailure, DisagreementsAreCleared) {
    FirstFailure failure;
    failure.note_count();
    EXPECT_TRUE(failure.disagreement().is_counted);
    failure.clear_disagreement();
    failure.note_word(2, {7, 6, 0});
    EXPECT_EQ(failure.text(), "rank 2 runs another call");
    EXPECT_EQ(failure.disagreement().word.call, 7u);
}

}  // namespace
}  // namespace tutti::transport::verbs
