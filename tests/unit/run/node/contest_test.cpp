// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/contest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

namespace tutti::node {
namespace {

constexpr uint64_t kMiB = 1024 * 1024;

Call call_of(tutti_collective collective, uint64_t bytes) {
    Call call;
    call.collective = collective;
    call.bytes = bytes;
    return call;
}

using TimeOf = std::function<uint64_t(size_t member, bool is_single)>;

// Members of a team, each with a contest of its own. Which way each call went.
struct Members {
    std::vector<bool> run(const Call& call, uint32_t calls, bool tuned, const TimeOf& ns) {
        std::vector<bool> went;
        for (uint32_t i = 0; i < calls; ++i) {
            compare(call);
            for (size_t member = 0; member < contests.size(); ++member) {
                const bool is_single = contests[member].enter(call, tuned);
                if (member == 0) went.push_back(is_single);
                EXPECT_EQ(is_single, went.back()) << "member " << member;
                if (!contests[member].is_timed()) continue;
                contests[member].began(1000);
                contests[member].ended(1000 + ns(member, is_single));
            }
        }
        return went;
    }
    void compare(const Call& call) {
        const bool compares = contests[0].compares(call);
        Contest::Times all{};
        for (const Contest& contest : contests) {
            EXPECT_EQ(contest.compares(call), compares);
            const Contest::Times times = contest.times(call);
            for (size_t way = 0; way < times.size(); ++way) {
                for (size_t i = 0; i < times[way].size(); ++i) {
                    all[way][i] = std::max(all[way][i], times[way][i]);
                }
            }
        }
        if (!compares) return;
        for (Contest& contest : contests) contest.heard(call, all);
        ++compared;
    }

    std::vector<Contest> contests = std::vector<Contest>(3);
    uint32_t compared = 0;
};

const std::vector<bool> kAsInUseAndOther = {false, false, false, true, true, true,
                                            false, false, false, true, true, true};

TEST(Contest, IsAboutLongCallsWhoseSizesAgree) {
    for (const auto collective : {TUTTI_BCAST, TUTTI_ALLREDUCE, TUTTI_ALLGATHER}) {
        EXPECT_TRUE(Contest::is_about(call_of(collective, 32 * 1024), 100));
        EXPECT_FALSE(Contest::is_about(call_of(collective, 32 * 1024 - 1), 100));
    }
    EXPECT_TRUE(Contest::is_about(call_of(TUTTI_REDUCE, kMiB), 3));
    EXPECT_FALSE(Contest::is_about(call_of(TUTTI_REDUCE, kMiB), 4));
    for (const auto collective : {TUTTI_SCATTER, TUTTI_GATHER, TUTTI_ALLTOALL}) {
        EXPECT_TRUE(Contest::is_about(call_of(collective, kMiB), 100));
    }
    for (const auto collective : {TUTTI_REDUCE_SCATTER_BLOCK, TUTTI_SCAN, TUTTI_GATHERV}) {
        EXPECT_FALSE(Contest::is_about(call_of(collective, kMiB), 2));
    }
}

TEST(Contest, TakesTheWayThatIsFasterForItsSlowestMember) {
    Members members;
    const Call call = call_of(TUTTI_ALLGATHER, kMiB);
    const auto single_wins = [](size_t member, bool is_single) -> uint64_t {
        return is_single ? 100'000 + member : 150'000 + member;
    };
    const auto went = members.run(call, 8 + 12 + 64, false, single_wins);
    EXPECT_EQ(std::vector<bool>(went.begin(), went.begin() + 8), std::vector<bool>(8, false));
    EXPECT_EQ(std::vector<bool>(went.begin() + 8, went.begin() + 20), kAsInUseAndOther);
    EXPECT_EQ(std::vector<bool>(went.begin() + 20, went.end()), std::vector<bool>(64, true));
    EXPECT_EQ(members.compared, 2u);  // before the 6th call, and when it is over
    EXPECT_TRUE(members.contests[2].prefers_second(call, false));
}

TEST(Contest, StaysWhereTheOtherWayGainsLessThanATenth) {
    for (const bool tuned : {false, true}) {
        Members members;
        const Call call = call_of(TUTTI_BCAST, kMiB);
        const auto little = [tuned](size_t, bool is_single) -> uint64_t {
            return is_single == tuned ? 100'000 : 91'000;
        };
        members.run(call, 21, tuned, little);
        EXPECT_EQ(members.compared, 2u);
        EXPECT_EQ(members.contests[0].prefers_second(call, tuned), tuned);
    }
}

TEST(Contest, EndsAfterTwoCallsOfAWayThatIsMuchSlower) {
    for (const bool tuned : {false, true}) {
        Members members;
        const Call call = call_of(TUTTI_REDUCE, kMiB);
        const auto much = [tuned](size_t member, bool is_single) -> uint64_t {
            return is_single == tuned ? 100'000 : 140'000 + 11'000 * member;  // rank 2: 162'000
        };
        const auto went = members.run(call, 216, tuned, much);
        // It may be that they were disturbed: again after 64 calls, and after 128.
        const std::set<uint32_t> others = {11, 12, 80, 81, 213, 214};
        for (uint32_t i = 0; i < went.size(); ++i) {
            EXPECT_EQ(went[i] != tuned, others.contains(i)) << i;
        }
        EXPECT_EQ(members.compared, 3u);
        EXPECT_EQ(members.contests[0].prefers_second(call, tuned), tuned);
    }
}

TEST(Contest, CallsThatWereDisturbedDoNotCount) {
    Members members;
    const Call call = call_of(TUTTI_ALLREDUCE, kMiB);
    uint32_t timed = 0;
    // Every other one of single copy takes ten times as long.
    const auto disturbed = [&](size_t member, bool is_single) -> uint64_t {
        if (!is_single) return 150'000;
        timed += member == 0 ? 1 : 0;
        return timed % 2 == 0 ? 1'000'000 : 100'000;
    };
    members.run(call, 21, false, disturbed);
    EXPECT_TRUE(members.contests[0].prefers_second(call, false));
}

TEST(Contest, ComesAgainEverMoreSeldomAndChangesItsMind) {
    Members members;
    const Call call = call_of(TUTTI_ALLGATHER, kMiB);
    bool single_is_quick = true;
    const auto ns = [&](size_t, bool is_single) -> uint64_t {
        return is_single == single_is_quick ? 100'000 : 200'000;
    };
    members.run(call, 21, false, ns);
    EXPECT_TRUE(members.contests[0].prefers_second(call, false));
    single_is_quick = false;
    members.run(call, 63 + 12, false, ns);
    EXPECT_EQ(members.compared, 3u);
    const auto went = members.run(call, 512, false, ns);
    EXPECT_EQ(members.compared, 4u);
    EXPECT_EQ(std::ranges::count(went, true), 0);
    const auto third = members.run(call, 13, false, ns);
    EXPECT_EQ(members.compared, 5u);
    EXPECT_EQ(std::ranges::count(third, true), 2);
}

TEST(Contest, ASizeOfWhichNothingIsKnownGoesLikeTheNextShorterOne) {
    Members members;
    const auto single_wins = [](size_t, bool is_single) -> uint64_t {
        return is_single ? 100'000 : 150'000;
    };
    members.run(call_of(TUTTI_ALLGATHER, 256 * 1024), 21, false, single_wins);
    const Contest& contest = members.contests[0];
    EXPECT_TRUE(contest.prefers_second(call_of(TUTTI_ALLGATHER, 4 * kMiB), false));
    EXPECT_TRUE(contest.prefers_second(call_of(TUTTI_ALLGATHER, uint64_t{1} << 40), false));
    EXPECT_FALSE(contest.prefers_second(call_of(TUTTI_ALLGATHER, 128 * 1024), false));
    EXPECT_FALSE(contest.prefers_second(call_of(TUTTI_BCAST, 4 * kMiB), false));
    members.contests[0].forget();
    EXPECT_FALSE(contest.prefers_second(call_of(TUTTI_ALLGATHER, 4 * kMiB), false));
}

TEST(Contest, MayBeginLaterAndLeaveLongerSizesAlone) {
    Members members;
    members.contests.assign(3, Contest(24, false));
    const Call call = call_of(TUTTI_GATHER, 2 * kMiB);
    const auto second_wins = [](size_t, bool is_second) -> uint64_t {
        return is_second ? 100'000 : 150'000;
    };
    const auto went = members.run(call, 24 + 13, false, second_wins);
    EXPECT_EQ(std::ranges::count(went, true), 6 + 1);
    EXPECT_EQ(std::ranges::find(went, true) - went.begin(), 24 + 3);
    const Contest& contest = members.contests[0];
    EXPECT_TRUE(contest.prefers_second(call, false));
    EXPECT_FALSE(contest.prefers_second(call_of(TUTTI_GATHER, 4 * kMiB), false));
    members.contests[0].forget();
    EXPECT_FALSE(contest.prefers_second(call, false));
}

}  // namespace
}  // namespace tutti::node
