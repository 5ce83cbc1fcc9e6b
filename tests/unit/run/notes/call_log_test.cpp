// SPDX-License-Identifier: BSD-3-Clause
#include "run/notes/call_log.h"

#include <gtest/gtest.h>

namespace tutti::notes {
namespace {

TEST(CallLog, WordsOfOneHistoryAreEqual) {
    CallLog one, other;
    for (uint32_t i = 0; i < 300; ++i) {
        EXPECT_EQ(one.number(), i);
        EXPECT_EQ(one.add(TUTTI_BCAST, i % 3, 8 * i), other.add(TUTTI_BCAST, i % 3, 8 * i));
        EXPECT_FALSE(one.compare(other.tell()).is_there);
    }
}

TEST(CallLog, WordsTellWhatDiffers) {
    CallLog log, root, bytes, collective;
    const auto word = log.add(TUTTI_BCAST, 0, 64);
    EXPECT_NE(word.call, root.add(TUTTI_BCAST, 1, 64).call);
    EXPECT_NE(word.call, bytes.add(TUTTI_BCAST, 0, 65).call);
    EXPECT_NE(word.call, collective.add(TUTTI_GATHER, 0, 64).call);
    const auto next = log.add(TUTTI_BARRIER, 0, 0);
    EXPECT_EQ(next.call, root.add(TUTTI_BARRIER, 0, 0).call);
    EXPECT_NE(log.add(TUTTI_BARRIER, 0, 0).before, root.add(TUTTI_BARRIER, 0, 0).before);
}

TEST(CallLog, NamesTheFirstDifference) {
    CallLog mine, theirs;
    for (int i = 0; i < 5; ++i) mine.add(TUTTI_BARRIER, 0, 0), theirs.add(TUTTI_BARRIER, 0, 0);
    mine.add(TUTTI_BCAST, 2, 64);
    theirs.add(TUTTI_ALLREDUCE, 0, 8);
    for (int i = 0; i < 3; ++i) theirs.add(TUTTI_BARRIER, 0, 0);
    for (const bool is_late : {false, true}) {
        if (is_late) mine.add(TUTTI_GATHER, 1, 4);
        const CallLog::Difference found = mine.compare(theirs.tell());
        ASSERT_TRUE(found.is_there && found.is_known);
        EXPECT_EQ(found.number, 6u);
        EXPECT_EQ(mine.note(6), node::CallNote::of(6, TUTTI_BCAST, 2, 64));
        EXPECT_EQ(found.theirs, node::CallNote::of(6, TUTTI_ALLREDUCE, 0, 8));
        EXPECT_EQ(theirs.compare(mine.tell()).theirs, mine.note(6));
    }
}

TEST(CallLog, WhatIsWithdrawnHasNotBeen) {
    CallLog mine, theirs;
    for (int i = 0; i < 70; ++i) {
        mine.add(TUTTI_GATHER, 1, 200);
        mine.withdraw();
        EXPECT_EQ(mine.add(TUTTI_GATHER, 1, 100), theirs.add(TUTTI_GATHER, 1, 100));
    }
    EXPECT_EQ(mine.number(), 70u);
}

TEST(CallLog, TellsOneCallAlone) {
    CallLog mine, theirs;
    for (const uint64_t bytes : {8, 16, 24}) mine.add(TUTTI_GATHER, 1, bytes);
    for (const uint64_t bytes : {8, 64}) theirs.add(TUTTI_GATHER, 1, bytes);
    const CallLog::Difference found = theirs.compare(mine.tell(2));
    EXPECT_TRUE(found.is_there && found.is_known);
    EXPECT_EQ(found.number, 2u);
    EXPECT_EQ(found.theirs.bytes, 16u);
    EXPECT_FALSE(theirs.compare(mine.tell(1)).is_there);
    EXPECT_FALSE(theirs.compare(mine.tell(3)).is_there);
}

TEST(CallLog, KnowsWordsOfTheLastCall) {
    CallLog mine, theirs, other;
    EXPECT_FALSE(mine.is_of_last(theirs.add(TUTTI_BARRIER, 0, 0)));
    mine.add(TUTTI_BARRIER, 0, 0);
    mine.add(TUTTI_GATHER, 1, 16);
    EXPECT_TRUE(mine.is_of_last(theirs.add(TUTTI_GATHER, 1, 8)));
    EXPECT_FALSE(mine.is_of_last(theirs.add(TUTTI_GATHER, 1, 8)));
    other.add(TUTTI_BCAST, 0, 8);
    EXPECT_FALSE(mine.is_of_last(other.add(TUTTI_GATHER, 1, 8)));
}

TEST(GoesTogether, AReceiverMayHaveMoreRoom) {
    const auto call = [](tutti_collective collective, uint64_t bytes) {
        return node::CallNote::of(5, collective, 2, bytes);
    };
    const auto goes = [&](tutti_collective collective, uint64_t mine, uint32_t rank,
                          uint64_t theirs, uint32_t from) {
        return goes_together(call(collective, mine), rank, call(collective, theirs), from);
    };
    EXPECT_TRUE(goes(TUTTI_GATHER, 16, 2, 8, 0));
    EXPECT_TRUE(goes(TUTTI_GATHER, 8, 0, 16, 2));
    EXPECT_FALSE(goes(TUTTI_GATHER, 8, 2, 16, 0));
    EXPECT_FALSE(goes(TUTTI_GATHER, 16, 0, 8, 2));
    EXPECT_FALSE(goes(TUTTI_GATHER, 16, 0, 8, 1));
    EXPECT_TRUE(goes(TUTTI_SCATTER, 8, 2, 16, 0));
    EXPECT_TRUE(goes(TUTTI_SCATTER, 16, 0, 8, 2));
    EXPECT_FALSE(goes(TUTTI_SCATTER, 8, 0, 16, 2));
    EXPECT_TRUE(goes(TUTTI_SCATTER, 16, 0, 8, 1));
    EXPECT_FALSE(goes(TUTTI_BCAST, 16, 0, 8, 2));
    EXPECT_FALSE(goes(TUTTI_GATHER, 16, 2, 0, 0));
    EXPECT_FALSE(goes_together(call(TUTTI_GATHER, 16), 2, call(TUTTI_SCATTER, 8), 0));
}

TEST(CallLog, WhoIsBehindHasNothingToCompare) {
    CallLog mine, theirs;
    theirs.add(TUTTI_BCAST, 0, 8);
    EXPECT_FALSE(mine.compare(theirs.tell()).is_there);
    EXPECT_FALSE(theirs.compare(mine.tell()).is_there);
}

TEST(CallLog, KnowsThatItWasBeforeWhatIsTold) {
    CallLog mine, theirs;
    mine.add(TUTTI_BCAST, 0, 8);
    theirs.add(TUTTI_BCAST, 1, 8);
    for (int i = 0; i < 20; ++i) mine.add(TUTTI_BARRIER, 0, 0), theirs.add(TUTTI_BARRIER, 0, 0);
    const CallLog::Difference found = mine.compare(theirs.tell());
    EXPECT_TRUE(found.is_there && !found.is_known);
    EXPECT_EQ(found.number, 21 - LastCalls::kMax + 1);
}

}  // namespace
}  // namespace tutti::notes
