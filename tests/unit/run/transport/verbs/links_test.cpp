// SPDX-License-Identifier: BSD-3-Clause
// Several teams of the same two processes, by one link.
#include "run/transport/verbs/links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "base/prng.h"
#include "sim/seeds.h"
#include "unit/run/transport/verbs/teams.h"

namespace tutti::transport::verbs {
namespace {

// Messages of all lengths in four teams, of which two are asked for much later than they come: the
// others go on meanwhile, and nothing is lost.
TEST(Links, TeamsSeeds) {
    const test::Seeds seeds = test::Seeds::wanted(200);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        SCOPED_TRACE(test::replay(seed));
        Prng prng(seed);
        Teams teams({.seed = seed, .ends_last = ends_last(seed)}, direct_bytes_of(seed),
                    tails_of(seed));
        uint32_t count = 1;
        for (; count < 4; ++count) ASSERT_EQ(teams.join(), count);
        std::deque<Letter> letters;
        std::vector<Post> posts;
        const auto post_receives = [&](bool late) {
            for (const Post& post : posts) {
                if (!post.letter->is_received && (late || post.team < 2)) recv_in(teams, post);
            }
        };
        for (uint32_t i = 0; i < 150; ++i) {
            const auto number = static_cast<uint32_t>(prng.below(count));
            posts.push_back({number, &write_any(letters, prng)});
            send_in(teams, posts.back());
            if (prng.below(2) == 0) post_receives(false);
            for (uint64_t turns = prng.below(30); turns > 0; --turns) teams.turn_all();
        }
        post_receives(false);
        ASSERT_TRUE(teams.run_all_until([&] {
            return std::ranges::all_of(
                posts, [](const Post& post) { return post.team >= 2 || is_over(*post.letter); });
        })) << "teams keep each other waiting";
        post_receives(true);
        ASSERT_TRUE(teams.run_all_until([&] { return std::ranges::all_of(letters, is_over); }));
        for (const Letter& letter : letters) ASSERT_EQ(letter.got, letter.sent);
        end_all(teams, count);
        if (HasFatalFailure()) return;
    }
}

// What a team sent before it was freed comes, by links that others have; those go on, and a later
// team may have its number.
TEST(Links, TeamsComeAndGo) {
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        Prng prng(seed);
        Teams teams({.seed = seed});
        std::deque<Letter> letters;
        for (int i = 0; i < 20; ++i) {
            const uint32_t number = teams.join();
            EXPECT_EQ(number, 1u);
            const Post post{number, &write(letters, prng, i % 2, 3, prng.below(120'000))};
            send_in(teams, post);
            ASSERT_TRUE(teams.run_all_until(
                [&] { return post.letter->send.state == State::kDone || prng.below(50) == 0; }));
            recv_in(teams, post);
            ASSERT_TRUE(teams.run_all_until([&] { return is_over(*post.letter); }));
            ASSERT_EQ(post.letter->got, post.letter->sent);
            Rc& early = *teams.team(i % 2, number);
            Rc& late = *teams.team(1 - i % 2, number);
            early.close();
            for (int turn = 0; turn < 100; ++turn) teams.turn_all();
            EXPECT_FALSE(early.is_closed());
            late.close();
            ASSERT_TRUE(teams.run_all_until([&] { return early.is_closed() && late.is_closed(); }));
            for (auto& one : teams.others) one[number].reset();
        }
        EXPECT_FALSE(teams.shared(0)->teams().is_closing());
        end_all(teams, 1);
    }
}

// What nobody received of a team that is gone takes no slot from the others.
TEST(Links, WhatATeamLeavesBehindIsDropped) {
    Teams teams({});
    Prng prng(1);
    std::deque<Letter> letters;
    for (int i = 0; i < 10; ++i) {
        const uint32_t number = teams.join();
        for (uint32_t slot = 0; slot < kSlotsMax; ++slot) {
            send_in(teams, {number, &write(letters, prng, 0, slot, 100)});
        }
        for (int turn = 0; turn < 300; ++turn) teams.turn_all();
        EXPECT_EQ(number, 1u);
        for (const uint32_t at : {1u, 0u}) teams.team(at, number)->close();
        ASSERT_TRUE(teams.run_all_until([&] {
            return teams.team(0, number)->is_closed() && teams.team(1, number)->is_closed();
        }));
        for (auto& one : teams.others) one[number].reset();
    }
    // Nobody knows what of these may still come; of a team that never sent anything nothing does.
    const uint32_t number = teams.join();
    send_in(teams, {number, &write(letters, prng, 0, 0, 100)});
    for (auto& one : teams.others) one[number].reset();
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(teams.join(), number + 1);
        for (auto& one : teams.others) one[number + 1].reset();
    }
    for (uint32_t slot = 0; slot < kSlotsMax; ++slot) {
        const Post post{0, &write(letters, prng, 0, slot, 120'000)};
        send_in(teams, post);
        recv_in(teams, post);
        ASSERT_TRUE(teams.run_all_until([&] { return is_over(*post.letter); }));
    }
    end_all(teams, 1);
}

// A team has left when what it sent is there, not before, whatever other teams there are: one that
// has failed keeps nobody waiting, and hurries nobody.
TEST(Links, ATeamThatLeavesWaitsForWhatItHasSent) {
    for (const bool has_failed : {false, true}) {
        Teams teams({});
        Prng prng(1);
        std::deque<Letter> letters;
        const uint32_t number = teams.join();
        if (has_failed) {
            for (const uint32_t at : {0u, 1u}) teams.team(at, number)->give_up();
        }
        const Post post{0, &write(letters, prng, 0, 3, 500)};
        send_in(teams, post);
        teams.ends[0]->close();
        for (int i = 0; i < 100; ++i) ASSERT_FALSE(teams.ends[0]->has_left());
        ASSERT_TRUE(teams.run_until([&] { return teams.ends[0]->has_left(); }));
        EXPECT_FALSE(teams.ends[0]->is_closed());
        teams.ends[0].reset();
        for (auto& one : teams.others) one[number].reset();
        recv_in(teams, post);
        ASSERT_TRUE(teams.run_all_until([&] { return is_over(*post.letter); }));
        EXPECT_EQ(post.letter->got, post.letter->sent);
    }
}

// By whoever looks for pieces in memory too, though nobody else looks there.
TEST(Links, AByeIsHeardWhereverItComes) {
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        Teams teams({.seed = seed, .ends_last = true}, 0, {true, true});
        for (int i = 0; i < 30; ++i) {
            const uint32_t number = teams.join();
            EXPECT_EQ(number, 1u);
            for (const uint32_t at : {0u, 1u}) teams.team(at, number)->close();
            const auto is_closed = [&] {
                const bool one = teams.team(0, number)->is_closed();
                return teams.team(1, number)->is_closed() && one;
            };
            bool are_closed = false;
            for (int turn = 0; turn < 1000 && !are_closed; ++turn) {
                teams.verbs.pump();
                are_closed = is_closed();
            }
            ASSERT_TRUE(are_closed);
            for (auto& one : teams.others) one[number].reset();
        }
        end_all(teams, 1);
    }
}

// Each says it of its own rank of that process.
TEST(Links, ALinkThatFailsFailsAllTeams) {
    Teams teams({});
    const uint32_t number = teams.join();
    Prng prng(1);
    std::deque<Letter> letters;
    const Post post{number, &write(letters, prng, 0, 3, 100)};
    recv_in(teams, post);
    teams.verbs.cut(0);
    send_in(teams, post);
    ASSERT_TRUE(teams.run_all_until([&] { return !teams.ends[0]->error().empty(); }));
    EXPECT_EQ(teams.ends[0]->error().find("RDMA to rank 1 failed: "), 0u) << teams.ends[0]->error();
    EXPECT_EQ(teams.team(0, number)->error().find("RDMA to rank 0 failed: "), 0u)
        << teams.team(0, number)->error();
    EXPECT_FALSE(teams.shared(0)->at(0).is_good());
}

// Ranks of one team that do not run the same call say nothing of the other team.
TEST(Links, ADisagreementIsTheTeamsAlone) {
    Teams teams({});
    const uint32_t number = teams.join();
    Prng prng(1);
    std::deque<Letter> letters;
    const Post bad{number, &write(letters, prng, 0, 3, 100)};
    send_in(teams, bad);
    bad.letter->id.word.call ^= 1;
    recv_in(teams, bad);
    ASSERT_TRUE(teams.run_all_until([&] { return bad.letter->recv.state == State::kFailed; }));
    EXPECT_EQ(teams.team(1, number)->error(), "rank 1 runs another call");
    EXPECT_EQ(teams.ends[1]->error(), "");
    EXPECT_TRUE(teams.shared(0)->at(0).is_good());
    const Post good{0, &write(letters, prng, 0, 3, 100)};
    send_in(teams, good);
    recv_in(teams, good);
    ASSERT_TRUE(teams.run_all_until([&] { return is_over(*good.letter); }));
    // A failed team never closes; what is still coming for it goes.
    for (const uint32_t at : {0u, 1u}) teams.team(at, number)->give_up();
    for (const uint32_t at : {0u, 1u}) teams.others[at][number].reset();
    end_all(teams, 1);
}

// A message of a team alone costs what it did.
TEST(Links, ATeamCostsTheOthersNothing) {
    std::array<Counts, 2> counts{};
    for (const uint32_t more : {0u, 1u}) {
        Teams teams({.seed = 3});
        for (uint32_t i = 0; i < more * 50; ++i) teams.join();
        Prng prng(1);
        std::deque<Letter> letters;
        for (uint32_t i = 0; i < 200; ++i) {
            const Post post{0, &write(letters, prng, i % 2, 0, 500)};
            recv_in(teams, post);
            send_in(teams, post);
            ASSERT_TRUE(teams.run_all_until([&] { return is_over(*post.letter); }));
        }
        counts[more] = counts_of(teams.verbs);
    }
    EXPECT_EQ(counts[0], counts[1]);
    EXPECT_EQ(counts[0].writes, 200u);
}

// A message from the first process, straight, whose data are on their way: in a second team.
struct Writing {
    explicit Writing(Teams& teams) : number(teams.join()) {
        Prng prng(1);
        post = {number, &write(letters, prng, 0, 3, 100'000)};
        send_in(teams, post);
        recv_in(teams, post);
        EXPECT_TRUE(
            teams.run_all_until([&] { return teams.team(0, number)->sent_straight() == 1; }));
    }
    std::deque<Letter> letters;
    uint32_t number;
    Post post;
};

// Its registration outlives the data, which would else break the link for all.
TEST(Links, AReceiveThatIsCalledOffWaitsForItsDataWhereOthersAreThere) {
    Teams teams({}, kDirectBytes);
    Writing writing(teams);
    teams.clock.on_look = [&] {
        teams.verbs.pump();
        teams.ends[0]->poll();
    };
    teams.team(1, writing.number)->cancel(writing.post.letter->recv);
    teams.clock.on_look = nullptr;
    EXPECT_EQ(writing.post.letter->recv.state, State::kFailed);
    EXPECT_EQ(teams.verbs.exposed(), 0u);
    Prng prng(2);
    std::deque<Letter> letters;
    const Post good{0, &write(letters, prng, 0, 3, 100)};
    send_in(teams, good);
    recv_in(teams, good);
    EXPECT_TRUE(teams.run_all_until([&] { return is_over(*good.letter); }));
    EXPECT_EQ(writing.post.letter->send.state, State::kDone);
    end_all(teams, 2);
}

// Who does not come for 100 ms is waited for no longer, and that once.
TEST(Links, WhatIsCalledOffHoldsNobody) {
    Teams teams({}, kDirectBytes);
    Writing writing(teams);
    uint64_t looks = 0;
    teams.clock.on_look = [&] {
        ++looks;
        teams.clock.late_ns += 10'000'000;
    };
    teams.team(1, writing.number)->cancel(writing.post.letter->recv);
    teams.clock.on_look = nullptr;
    EXPECT_GE(looks, 11u);
    EXPECT_LT(looks, 30u);
    EXPECT_EQ(writing.post.letter->recv.state, State::kFailed);
}

TEST(Links, WhatAClosedTeamHasSentOutlivesOneThatIsGivenUp) {
    Teams teams({}, kDirectBytes);
    Writing writing(teams);
    Rc* failed = teams.team(0, writing.number);
    failed->cancel(writing.post.letter->send);
    failed->give_up();
    Prng prng(2);
    std::deque<Letter> letters;
    const Post good{0, &write(letters, prng, 0, 3, 100)};
    send_in(teams, good);
    EXPECT_EQ(good.letter->send.state, State::kDone);
    teams.ends[0]->close();
    EXPECT_TRUE(failed->is_read_from());
    failed->give_up();
    recv_in(teams, good);
    EXPECT_TRUE(teams.run_all_until([&] { return is_over(*good.letter); }))
        << teams.ends[1]->error();
}

TEST(Links, WhatCameBeforeAByeIsReceivedAfterAFailure) {
    Teams teams({});
    const uint32_t number = teams.join();
    Prng prng(1);
    std::deque<Letter> letters;
    const Post post{number, &write(letters, prng, 0, 3, 100)};
    send_in(teams, post);
    teams.team(0, number)->close();
    ASSERT_TRUE(teams.run_all_until([&] { return teams.team(0, number)->has_left(); }));
    teams.verbs.cut(0);
    const Post other{0, &write(letters, prng, 0, 3, 100)};
    recv_in(teams, other);
    ASSERT_TRUE(teams.run_all_until([&] { return other.letter->recv.state == State::kFailed; }));
    EXPECT_EQ(teams.team(1, number)->error(), "");
    recv_in(teams, post);
    EXPECT_EQ(post.letter->recv.state, State::kDone);
}

// More of them than have room there.
TEST(Links, WhoHasLeftIsOwedNoBye) {
    Teams teams({});
    std::vector<uint32_t> numbers(kSigns);
    for (uint32_t& number : numbers) number = teams.join();
    for (const uint32_t number : numbers) teams.team(1, number)->close();
    teams.ends[1]->close();
    ASSERT_TRUE(teams.run_all_until([&] { return teams.shared(0)->at(0).is_left_by_peer(); }));
    for (const uint32_t number : numbers) teams.team(0, number)->close();
    EXPECT_TRUE(teams.run_all_until([&] {
        return std::ranges::all_of(
            numbers, [&](uint32_t number) { return teams.team(0, number)->is_closed(); });
    }));
    end_all(teams, 1);
}

}  // namespace
}  // namespace tutti::transport::verbs
