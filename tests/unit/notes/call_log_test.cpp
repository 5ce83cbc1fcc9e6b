// SPDX-License-Identifier: BSD-3-Clause
#include "notes/call_log.h"

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
