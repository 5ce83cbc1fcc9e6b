// SPDX-License-Identifier: BSD-3-Clause
// What run/transport/multicast.h promises, for every implementation.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "conformance/allocations.h"
#include "conformance/multicast_fabrics.h"
#include "run/transport/multicast.h"

namespace tutti::test {
namespace {

using transport::kMulticastBytesMax;
using transport::kMulticastsInFlightMax;
using transport::Multicast;
using transport::Rank;
using transport::State;
using transport::Ticket;

constexpr uint32_t kRanks = kMulticastRanks;
constexpr std::byte kGuard{0x55};
constexpr std::byte kSpent{0xAA};

// One multicast: what it says, and what each rank has of it.
struct Letter {
    Rank sender = 0;
    std::vector<std::byte> said;
    std::vector<std::byte> source;  // the sender's memory, spoiled when it is free
    std::array<std::vector<std::byte>, kRanks> got;
    std::array<Ticket, kRanks> tickets;
    std::array<bool, kRanks> is_done{};
};

// A team's multicasts, and how far its ranks are. A rank posts what it may, up to its limit.
struct TeamRun {
    std::deque<Letter> letters;
    std::array<size_t, kRanks> posted{};
    std::array<size_t, kRanks> first{};  // all below are complete
    std::array<size_t, kRanks> limit{};
    [[nodiscard]] bool is_complete() const {
        return std::ranges::all_of(first, [this](size_t one) { return one == letters.size(); });
    }
};

class MulticastConformance : public testing::TestWithParam<MulticastFabricMaker> {
  protected:
    void SetUp() override { make(1); }
    void make(uint32_t teams) {
        runs_.clear();
        fabric_ = GetParam().make(teams);
        runs_.resize(teams);
        for (TeamRun& run : runs_) run.limit.fill(SIZE_MAX);
    }

    Letter& write(uint32_t team, Rank sender, size_t bytes) {
        Letter& letter = runs_[team].letters.emplace_back();
        letter.sender = sender;
        for (size_t i = 0; i < bytes; ++i) {
            letter.said.push_back(static_cast<std::byte>(prng_.next() & 0xff));
        }
        letter.source = letter.said;
        // A byte more on either side, that must stay as it is.
        for (auto& got : letter.got) got.assign(bytes + 2, kGuard);
        return letter;
    }

    void post(uint32_t team, Rank rank) {
        TeamRun& run = runs_[team];
        const size_t number = run.posted[rank]++;
        Letter& letter = run.letters[number];
        Multicast& end = fabric_->end(team, rank);
        Ticket& ticket = letter.tickets[rank];
        if (letter.sender == rank) {
            end.multicast(number, letter.source.data(), letter.source.size(), ticket);
        } else {
            std::vector<std::byte>& got = letter.got[rank];
            end.recv_multicast(number, letter.sender, got.data() + 1, got.size() - 2, ticket);
        }
    }
    // Posts what the rank may, and looks at all that is pending.
    void step(uint32_t team, Rank rank) {
        TeamRun& run = runs_[team];
        const auto may_post = [&] {
            return run.posted[rank] < std::min(run.letters.size(), run.limit[rank]) &&
                   run.posted[rank] - run.first[rank] < kMulticastsInFlightMax;
        };
        while (may_post()) post(team, rank);
        for (size_t number = run.first[rank]; number < run.posted[rank]; ++number) {
            Letter& letter = run.letters[number];
            if (letter.is_done[rank]) continue;
            const State state = fabric_->end(team, rank).test(letter.tickets[rank]);
            if (state == State::kFailed) failure_ = fabric_->end(team, rank).error();
            if (state != State::kDone) continue;
            letter.is_done[rank] = true;
            if (letter.sender == rank) std::ranges::fill(letter.source, kSpent);
        }
        while (run.first[rank] < run.posted[rank] && run.letters[run.first[rank]].is_done[rank]) {
            ++run.first[rank];
        }
    }
    void turn() {
        for (uint32_t team = 0; team < runs_.size(); ++team) {
            for (Rank rank = 0; rank < kRanks; ++rank) step(team, rank);
        }
        fabric_->pump();
    }
    void finish() {
        for (uint32_t turns = 0;; ++turns) {
            if (std::ranges::all_of(runs_, &TeamRun::is_complete)) return;
            ASSERT_LT(turns, fabric_->turns_max()) << "multicasts do not complete";
            ASSERT_EQ(failure_, "");
            turn();
        }
    }
    void expect_all() {
        finish();
        for (const TeamRun& run : runs_) {
            for (const Letter& letter : run.letters) expect(letter);
        }
    }
    static void expect(const Letter& letter) {
        for (Rank rank = 0; rank < kRanks; ++rank) {
            const std::vector<std::byte>& got = letter.got[rank];
            EXPECT_EQ(got.front(), kGuard);
            EXPECT_EQ(got.back(), kGuard);
            if (rank == letter.sender) continue;
            EXPECT_TRUE(std::equal(letter.said.begin(), letter.said.end(), got.begin() + 1))
                << letter.said.size() << " bytes from " << letter.sender << " to " << rank;
        }
    }

    Prng prng_{99};
    std::unique_ptr<MulticastFabric> fabric_;
    std::vector<TeamRun> runs_;
    std::string failure_;  // what a route last said
};

TEST_P(MulticastConformance, Sizes) {
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{7}, size_t{1400}, size_t{1500},
                               size_t{9000}, kMulticastBytesMax - 1, kMulticastBytesMax}) {
        for (Rank sender = 0; sender < kRanks; ++sender) write(0, sender, bytes);
    }
    expect_all();
}

TEST_P(MulticastConformance, OneSender) {
    for (int i = 0; i < 300; ++i) write(0, 2, prng_.below(3000));
    expect_all();
}

TEST_P(MulticastConformance, EverybodyInTurn) {
    for (uint32_t i = 0; i < 300; ++i) write(0, i % kRanks, prng_.below(3000));
    expect_all();
}

TEST_P(MulticastConformance, EverybodyAtRandom) {
    for (int i = 0; i < 300; ++i) {
        const auto sender = static_cast<Rank>(prng_.below(kRanks));
        const size_t bytes = prng_.below(8) == 0 ? prng_.below(kMulticastBytesMax + 1) : 8;
        write(0, sender, bytes);
    }
    expect_all();
}

// Ranks post at times of their own, each far behind another now and then.
TEST_P(MulticastConformance, RanksAtTimesOfTheirOwn) {
    for (uint32_t i = 0; i < 200; ++i) write(0, (i / 3) % kRanks, 1 + prng_.below(2000));
    runs_[0].limit.fill(0);
    while (std::ranges::min(runs_[0].limit) < 200) {
        const Rank rank = static_cast<Rank>(prng_.below(kRanks));
        runs_[0].limit[rank] += prng_.below(2) == 0 ? 1 : prng_.below(50);
        for (int turns = 0; turns < 5; ++turns) turn();
    }
    expect_all();
}

// Numbers that any rank may send: one offers it, the others seek it, and numbers go on behind it.
TEST_P(MulticastConformance, WhoeverOffers) {
    using Sought = Multicast::Sought;
    for (uint64_t number = 0; number < 150; ++number) {
        const auto sender = static_cast<Rank>(prng_.below(kRanks));
        const size_t bytes = prng_.below(4) == 0 ? prng_.below(kMulticastBytesMax + 1) : 24;
        std::vector<std::byte> said(bytes);
        for (std::byte& one : said) one = static_cast<std::byte>(prng_.next() & 0xff);
        std::array<std::vector<std::byte>, kRanks> got;
        got.fill(std::vector<std::byte>(bytes + 2, kGuard));
        std::array<bool, kRanks> is_done{};
        for (uint32_t turns = 0; !std::ranges::all_of(is_done, std::identity{}); ++turns) {
            ASSERT_LT(turns, fabric_->turns_max());
            for (Rank rank = 0; rank < kRanks; ++rank) {
                // The one that offers may be the last to come.
                if (is_done[rank] || (rank == sender && turns < number % 5)) continue;
                Multicast& end = fabric_->end(0, rank);
                const Sought sought = rank == sender
                                          ? end.offer(number, said.data(), bytes)
                                          : end.seek(number, got[rank].data() + 1, bytes);
                ASSERT_NE(sought, Sought::kFailed) << end.error();
                ASSERT_NE(sought, Sought::kNobody);
                is_done[rank] = sought == Sought::kDone;
            }
            fabric_->pump();
        }
        for (Rank rank = 0; rank < kRanks; ++rank) {
            ASSERT_EQ(got[rank].front(), kGuard);
            ASSERT_EQ(got[rank].back(), kGuard);
            if (rank == sender) continue;
            ASSERT_TRUE(std::equal(said.begin(), said.end(), got[rank].begin() + 1)) << number;
        }
    }
}

// One rank does nothing for long, and has everything in the end.
TEST_P(MulticastConformance, OneRankSleeps) {
    for (uint32_t i = 0; i < 250; ++i) write(0, i % 2, prng_.below(kMulticastBytesMax + 1));
    runs_[0].limit[4] = 0;
    for (int turns = 0; turns < 3000; ++turns) turn();
    for (const Letter& letter : runs_[0].letters) {
        ASSERT_TRUE(
            std::ranges::all_of(letter.got[4], [](std::byte one) { return one == kGuard; }));
    }
    runs_[0].limit[4] = SIZE_MAX;
    expect_all();
}

// Who is late holds up nobody but itself, unless the route waits for all ranks.
TEST_P(MulticastConformance, LateRanks) {
    Letter& late = write(0, 3, 500);
    Letter& early = write(0, 0, 500);
    runs_[0].limit[3] = 0;
    for (int turns = 0; turns < 3000; ++turns) turn();
    uint32_t turns = 0;
    for (const Rank rank : {1u, 2u, 4u, 5u}) {
        while (!fabric_->waits_for_all() && !early.is_done[rank]) {
            ASSERT_LT(++turns, fabric_->turns_max());
            turn();
        }
        EXPECT_EQ(early.is_done[rank], !fabric_->waits_for_all());
        EXPECT_FALSE(late.is_done[rank]);
    }
    runs_[0].limit[3] = SIZE_MAX;
    expect_all();
}

TEST_P(MulticastConformance, NothingComesUnsent) {
    Letter& letter = write(0, 5, 64);
    runs_[0].limit[5] = 0;
    for (int turns = 0; turns < 2000; ++turns) turn();
    for (Rank rank = 0; rank < kRanks; ++rank) EXPECT_FALSE(letter.is_done[rank]);
    runs_[0].limit[5] = SIZE_MAX;
    expect_all();
}

// Teams have numbers of their own and do not wait for each other.
TEST_P(MulticastConformance, SeveralTeams) {
    make(3);
    for (uint32_t i = 0; i < 150; ++i) {
        for (uint32_t team = 0; team < 3; ++team) {
            write(team, (i + team) % kRanks, prng_.below(2000));
        }
    }
    runs_[1].limit.fill(10);
    for (uint32_t turns = 0; !runs_[0].is_complete() || !runs_[2].is_complete(); ++turns) {
        ASSERT_LT(turns, fabric_->turns_max());
        turn();
    }
    for (const size_t first : runs_[1].first) EXPECT_LE(first, 10u);
    runs_[1].limit.fill(SIZE_MAX);
    expect_all();
}

// A multicast longer than its receive: that receiver is told, in one line, and nothing is
// overwritten.
TEST_P(MulticastConformance, FailureIsReported) {
    Letter& letter = write(0, 0, 100);
    letter.got[1].assign(12, kGuard);
    uint32_t turns = 0;
    do {
        turn();
    } while (letter.tickets[1].state == State::kPending && ++turns < fabric_->turns_max());
    EXPECT_EQ(fabric_->end(0, 1).test(letter.tickets[1]), State::kFailed);
    EXPECT_NE(fabric_->end(0, 1).error(), "");
    EXPECT_EQ(fabric_->end(0, 1).error().find('\n'), std::string::npos);
    EXPECT_EQ(letter.got[1].front(), kGuard);
    EXPECT_EQ(letter.got[1].back(), kGuard);
}

TEST_P(MulticastConformance, AllocatesNothingMore) {
    if (!counts_allocations()) GTEST_SKIP() << "a sanitizer has its own malloc";
    // More than all slots of a ring, so that each has been used before.
    for (uint32_t i = 0; i < 600; ++i) write(0, i % kRanks, i % 200 * 80);
    runs_[0].limit.fill(400);
    const auto is_at = [&](size_t number) {
        return std::ranges::all_of(runs_[0].first, [=](size_t one) { return one == number; });
    };
    for (uint32_t turns = 0; !is_at(400); ++turns) {
        ASSERT_LT(turns, fabric_->turns_max());
        turn();
    }
    const size_t before = allocations();
    runs_[0].limit.fill(600);
    for (uint32_t turns = 0; !is_at(600); ++turns) {
        ASSERT_LT(turns, fabric_->turns_max());
        turn();
    }
    EXPECT_EQ(allocations(), before);
    EXPECT_GT(before, 0u);
    expect_all();
}

std::vector<MulticastFabricMaker> polled_fabrics() {
    std::vector<MulticastFabricMaker> polled;
    for (const MulticastFabricMaker& one : multicast_fabrics()) {
        if (one.name.ends_with(kPolled)) polled.push_back(one);
    }
    return polled;
}

class MulticastOfServices : public MulticastConformance {};

// A host whose service gets no processor for long, nor do its ranks: the others have what they send
// meanwhile, as far as rings and windows let them, and all have everything in the end.
TEST_P(MulticastOfServices, OneHostIsStopped) {
    constexpr size_t kBefore = 20;
    for (uint32_t host = 0; host < kMulticastHosts; ++host) {
        SCOPED_TRACE("host " + std::to_string(host));
        make(1);
        TeamRun& run = runs_[0];
        const auto hold = [&](size_t limit) {
            for (Rank rank = 0; rank < kRanks; ++rank) {
                if (kHostOfRank[rank] == host) run.limit[rank] = limit;
            }
        };
        // By what another host sent meanwhile.
        const auto goes_on = [&](Rank rank) {
            return std::any_of(
                run.letters.begin() + kBefore, run.letters.end(), [&](const Letter& letter) {
                    return letter.is_done[rank] && kHostOfRank[letter.sender] != kHostOfRank[rank];
                });
        };
        for (uint32_t i = 0; i < 300; ++i) write(0, i % kRanks, prng_.below(3000));
        hold(kBefore);
        for (int turns = 0; turns < 500; ++turns) turn();
        fabric_->stop(host, true);
        for (Rank rank = 0; rank < kRanks; ++rank) {
            for (uint32_t turns = 0; kHostOfRank[rank] != host && !goes_on(rank); ++turns) {
                ASSERT_LT(turns, fabric_->turns_max());
                turn();
            }
        }
        for (int turns = 0; turns < 5000; ++turns) turn();
        hold(SIZE_MAX);
        fabric_->stop(host, false);
        expect_all();
    }
}
INSTANTIATE_TEST_SUITE_P(Transport, MulticastOfServices, testing::ValuesIn(polled_fabrics()),
                         [](const auto& fabric) { return fabric.param.name; });

INSTANTIATE_TEST_SUITE_P(Transport, MulticastConformance, testing::ValuesIn(multicast_fabrics()),
                         [](const auto& fabric) { return fabric.param.name; });

}  // namespace
}  // namespace tutti::test
