// SPDX-License-Identifier: BSD-3-Clause
#include "run/notes/notes.h"

#include <gtest/gtest.h>

#include "conformance/mailbox.h"

namespace tutti::notes {
namespace {

constexpr uint32_t kTag = 16;

TEST(Notes, ReachTheirRank) {
    test::Mailbox mailbox(3);
    const uint32_t peers[] = {2, 0};  // the embedder's numbers of ranks 0 and 1
    Notes first(mailbox.callbacks(2), kTag, peers, 2, 0, 11);
    Notes second(mailbox.callbacks(0), kTag, peers, 2, 1, 11);
    Note note;
    EXPECT_FALSE(second.receive(note));
    note.kind = Note::Kind::kAnswer;
    note.call = 5;
    note.count = 1;
    note.waits_for[0] = 1;
    first.send(1, note);
    EXPECT_TRUE(first.is_busy());
    Note got;
    ASSERT_TRUE(second.receive(got));
    EXPECT_FALSE(first.is_busy());
    EXPECT_EQ(got.from, 0u);
    EXPECT_EQ(got.kind, Note::Kind::kAnswer);
    EXPECT_EQ(got.call, 5u);
    EXPECT_EQ(got.waits_for[0], 1u);
    EXPECT_FALSE(second.receive(got));
}

// Of a team that had the same tag before.
TEST(Notes, ThoseOfAnotherTeamAreDropped) {
    test::Mailbox mailbox(2);
    Notes before(mailbox.callbacks(0), kTag, {}, 2, 0, 11);
    Notes after(mailbox.callbacks(0), kTag, {}, 2, 0, 12);
    Notes other(mailbox.callbacks(1), kTag, {}, 2, 1, 12);
    Note note;
    note.call = 1;
    before.send(1, note);
    note.call = 2;
    after.send(1, note);
    Note got;
    ASSERT_TRUE(other.receive(got));
    EXPECT_EQ(got.call, 2u);
    EXPECT_EQ(mailbox.under_way(), 0u);
}

// Notes go to the ranks that a note names.
TEST(Notes, ThoseThatNameNoRanksAreDropped) {
    test::Mailbox mailbox(2);
    Notes notes(mailbox.callbacks(0), kTag, {}, 2, 0, 11);
    Notes other(mailbox.callbacks(1), kTag, {}, 2, 1, 11);
    Notes beyond(mailbox.callbacks(1), kTag, {}, 3, 2, 11);
    beyond.send(0, Note{});
    Note answer;
    answer.kind = Note::Kind::kAnswer;
    answer.count = 2;
    answer.waits_for = {1, 2};
    other.send(0, answer);
    other.send(0, Note{});
    Note got;
    ASSERT_TRUE(notes.receive(got));
    EXPECT_EQ(got.from, 1u);
    EXPECT_EQ(got.kind, Note::Kind::kQuestion);
    EXPECT_FALSE(notes.receive(got));
    EXPECT_EQ(mailbox.under_way(), 0u);
}

// What nobody takes is bounded, and is taken at the end at the latest.
TEST(Notes, AreBounded) {
    test::Mailbox mailbox(2);
    Notes first(mailbox.callbacks(0), kTag, {}, 2, 0, 11);
    {
        Notes second(mailbox.callbacks(1), kTag, {}, 2, 1, 11);
        for (int i = 0; i < 1000; ++i) first.send(1, Note{});
        EXPECT_EQ(mailbox.under_way(), 32u);
        EXPECT_TRUE(first.is_busy());
        second.drain();
    }
    EXPECT_FALSE(first.is_busy());
    EXPECT_EQ(mailbox.under_way(), 0u);
}

TEST(Notes, OffWithoutAProbe) {
    test::Mailbox mailbox(2);
    tutti_p2p p2p = mailbox.callbacks(0);
    p2p.probe = nullptr;
    Notes notes(p2p, kTag, {}, 2, 0, 11);
    EXPECT_FALSE(notes.is_on());
    notes.send(1, Note{});
    Note got;
    EXPECT_FALSE(notes.receive(got));
    EXPECT_EQ(mailbox.under_way(), 0u);
}

}  // namespace
}  // namespace tutti::notes
