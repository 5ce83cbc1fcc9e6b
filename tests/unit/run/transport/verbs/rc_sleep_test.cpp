// SPDX-License-Identifier: BSD-3-Clause
// Ends that sleep until the device tells of a completion: whatever it tells when, nobody sleeps
// while there is something to do.
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "base/prng.h"
#include "conformance/fake_verbs.h"
#include "conformance/first_team.h"
#include "run/transport/verbs/rc.h"
#include "sanitized.h"
#include "sim/seeds.h"

namespace tutti::transport::verbs {
namespace {

constexpr Rank kSleepers = 3;
constexpr uint32_t kMtuBytes = 1024;
constexpr size_t kDirectBytes = 60'000;  // of those that are cut, half
// A slot, and all that are shared, in two pieces.
constexpr size_t kAllAtOnce = (1 + 2 * kPieceSlots) * kSlotBytes - 3 * sizeof(SlotHeader);

// All connected with all.
class Dormitory {
  public:
    explicit Dormitory(const test::FakeRules& rules, bool may_sleep = true, size_t direct_bytes = 0)
        : verbs(kSleepers, rules) {
        for (Rank rank = 0; rank < kSleepers; ++rank) {
            Need need = need_of(kSleepers - 1, kMtuBytes);
            need.may_sleep = may_sleep;
            auto endpoint = verbs.device(rank).make_endpoint(need);
            std::vector<Rank> peers;
            for (Rank peer = 0; peer < kSleepers; ++peer) {
                if (peer != rank) peers.push_back(peer);
            }
            ends[rank] = test::make_first(std::move(endpoint.value()), verbs, kMtuBytes, peers,
                                          direct_bytes);
        }
        for (Rank rank = 0; rank < kSleepers; ++rank) {
            for (Rank peer = 0; peer < kSleepers; ++peer) {
                if (peer == rank) continue;
                const auto connected =
                    ends[rank]
                        ->links()
                        ->at(pair_with(rank, peer))
                        .connect(verbs.device(peer).port(),
                                 ends[peer]->links()->at(pair_with(peer, rank)).card());
                EXPECT_TRUE(connected);
            }
        }
    }
    static uint32_t pair_with(Rank rank, Rank peer) { return peer < rank ? peer : peer - 1; }
    [[nodiscard]] bool is_told(Rank rank) const {
        pollfd fd{ends[rank]->wait_fd(), POLLIN, 0};
        return ::poll(&fd, 1, 0) > 0;
    }
    // Who is awake looks, and then may fall asleep; who is asleep wakes when it is told.
    void turn(Prng& prng) {
        for (Rank rank = 0; rank < kSleepers; ++rank) {
            if (sleeps[rank] && !is_told(rank)) continue;
            wakes[rank] += sleeps[rank] ? 1 : 0;
            sleeps[rank] = false;
            if (prng.below(3) == 0) continue;  // it is kept from the processor
            ends[rank]->poll();
            sleeps[rank] = prng.below(2) == 0 && ends[rank]->arm();
        }
    }
    // Whoever has nothing to do sleeps, and wakes as soon as it is told. Until all sleep for good.
    void rest() {
        do {
            if (!verbs.is_idle()) verbs.pump();
            for (Rank rank = 0; rank < kSleepers; ++rank) {
                if (sleeps[rank] && !is_told(rank)) continue;
                wakes[rank] += sleeps[rank] ? 1 : 0;
                do ends[rank]->poll();
                while (!ends[rank]->arm());
                sleeps[rank] = true;
            }
        } while (!all_sleep());
    }
    // For good.
    [[nodiscard]] bool all_sleep() const {
        bool all = verbs.is_idle();
        for (Rank rank = 0; rank < kSleepers; ++rank) {
            all = all && sleeps[rank] && !is_told(rank);
        }
        return all;
    }

    test::FakeVerbs verbs;
    std::array<std::unique_ptr<Rc>, kSleepers> ends;
    std::array<bool, kSleepers> sleeps{};
    std::array<uint64_t, kSleepers> wakes{};
};

struct Parcel {
    Rank from = 0;
    Rank to = 0;
    MessageId id;
    std::vector<std::byte> sent;
    std::vector<std::byte> got;
    Ticket send;
    Ticket recv;
};

bool has_come(const Parcel& one) {
    return one.send.state == State::kDone && one.recv.state == State::kDone;
}

Parcel draw(Prng& prng) {
    Parcel one;
    one.from = static_cast<Rank>(prng.below(kSleepers));
    one.to = static_cast<Rank>((one.from + 1 + prng.below(kSleepers - 1)) % kSleepers);
    one.id.slot = static_cast<uint32_t>(prng.below(kSlotsMax));
    one.sent.resize(prng.below(4) == 0 ? 40'000 + prng.below(40'000) : prng.below(3000));
    for (std::byte& byte : one.sent) byte = static_cast<std::byte>(prng.next() & 0xff);
    one.got.resize(one.sent.size());
    return one;
}

Parcel parcel(Rank from, Rank to, size_t bytes) {
    Parcel one;
    one.from = from;
    one.to = to;
    one.sent.resize(bytes);
    for (size_t i = 0; i < bytes; ++i) one.sent[i] = static_cast<std::byte>(i % 251);
    one.got.resize(bytes);
    return one;
}

// Whoever posts is awake.
void post(Dormitory& at, Parcel& one) {
    at.ends[one.from]->send(one.to, one.id, one.sent.data(), one.sent.size(), one.send);
    at.ends[one.to]->recv(one.from, one.id, one.got.data(), one.got.size(), one.recv);
    at.sleeps[one.from] = at.sleeps[one.to] = false;
}

void sleep_through(uint64_t seed) {
    Prng prng(seed);
    Dormitory at({.seed = seed, .delay_ns_max = 1 + prng.below(20'000)}, true, kDirectBytes);
    std::deque<Parcel> parcels;
    for (int i = 0; i < 60; ++i) {
        post(at, parcels.emplace_back(draw(prng)));
        for (uint64_t turns = prng.below(30); turns > 0; --turns) {
            at.verbs.pump();
            at.turn(prng);
        }
    }
    while (!std::ranges::all_of(parcels, has_come)) {
        if (!at.verbs.is_idle()) at.verbs.pump();
        at.turn(prng);
        ASSERT_FALSE(at.all_sleep() && !std::ranges::all_of(parcels, has_come))
            << "nobody wakes them";
    }
    for (const Parcel& one : parcels) ASSERT_EQ(one.got, one.sent);
    EXPECT_GT(at.wakes[0] + at.wakes[1] + at.wakes[2], 10u);
    EXPECT_EQ(at.verbs.fault(), "");
}

TEST(RcSleep, NobodySleepsWhileThereIsSomethingToDo) { test::for_each_seed(300, sleep_through); }

// A completion that has come before the queue was armed is told by nobody.
TEST(RcSleep, WhatCameBeforeKeepsAwake) {
    Dormitory at({});
    Prng prng(1);
    Parcel one = draw(prng);
    one.sent.resize(100);
    one.got.resize(100);
    post(at, one);
    while (!at.verbs.is_idle()) at.verbs.pump();
    EXPECT_FALSE(at.ends[one.to]->arm());
    EXPECT_EQ(one.recv.state, State::kDone);
    EXPECT_TRUE(at.ends[one.to]->arm());
    EXPECT_EQ(at.verbs.tells(), 0u);
}

// A message that is longer than all slots: its first piece is a slot, then two fill five slots
// each, and its sender waits for the word about them. So its receiver, asleep, wakes once for each
// such round, not for each piece, and its sender for the words.
TEST(RcSleep, ALongMessageWakesOnceForEachRoundOfSlots) {
    constexpr uint64_t kPieces = 17;
    constexpr uint64_t kRounds = 7;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        Dormitory at({.seed = seed});
        Parcel one = parcel(0, 1, 256u << 10);
        at.rest();
        post(at, one);
        at.rest();
        ASSERT_TRUE(has_come(one));
        EXPECT_EQ(one.got, one.sent);
        EXPECT_EQ(at.wakes, (std::array<uint64_t, kSleepers>{kRounds - 1, kRounds, 0}));
        EXPECT_EQ(at.verbs.writes(), kPieces + kRounds - 1);
        EXPECT_EQ(at.verbs.fault(), "");
    }
}

// What is put into as many slots as there are is one round: whoever is asleep wakes at its end.
TEST(RcSleep, AMessageWakesOnceWhereItsSlotsAreThere) {
    for (const size_t bytes :
         {size_t{1}, kSlotBytes - sizeof(SlotHeader), kSlotBytes, kAllAtOnce}) {
        Dormitory at({});
        Parcel one = parcel(0, 1, bytes);
        at.rest();
        post(at, one);
        at.sleeps[1] = at.ends[1]->arm();
        at.rest();
        EXPECT_TRUE(has_come(one));
        EXPECT_EQ(at.wakes[1], 1u) << bytes;
    }
}

// Long ones straight from memory: who is written to wakes for what is announced and at the end, the
// sender for the offer and as its writes are complete, of which no solicited event tells.
TEST(RcSleep, WhoWritesStraightWakesWhenItIsComplete) {
    Dormitory at({}, true, kDirectBytes);
    Parcel one = parcel(0, 1, size_t{16} << 20);
    at.rest();
    post(at, one);
    at.rest();
    EXPECT_TRUE(has_come(one));
    EXPECT_EQ(one.got, one.sent);
    EXPECT_EQ(at.wakes, (std::array<uint64_t, kSleepers>{5, 2, 0}));
    EXPECT_EQ(at.verbs.fault(), "");
}

// Its queue is full before its slots are used up: the last piece that goes wakes its receiver, and
// it is woken by its own writes, of which some are told.
TEST(RcSleep, WhoMayWriteNoMoreWakesAndIsWoken) {
    Dormitory at({});
    MessageId counted;
    counted.is_counted = true;
    std::array<Ticket, kSends - 2> additions;
    at.rest();
    for (Ticket& ticket : additions) at.ends[0]->send(1, counted, nullptr, 0, ticket);
    Parcel one = parcel(0, 1, kAllAtOnce);
    post(at, one);
    EXPECT_EQ(at.verbs.writes(), kSends);  // of the message's three pieces two
    at.rest();
    EXPECT_TRUE(has_come(one));
    EXPECT_EQ(at.verbs.fault(), "");
}

// Its own completion says what the word was, and is no solicited event. Nobody else wakes.
TEST(RcSleep, WhoAddsToTheWordOfAllIsWokenByTheAnswer) {
    Dormitory at({});
    at.rest();
    for (uint64_t sum = 0; sum < 20; ++sum) {
        Ticket ticket;
        at.sleeps[1] = false;
        if (sum == 0) at.ends[1]->use_adders(kSleepers);
        at.ends[1]->fetch_add(1, ticket);
        at.rest();
        ASSERT_EQ(ticket.state, State::kDone);
        ASSERT_EQ(ticket.number, sum);
    }
    EXPECT_LE(at.wakes[1], 20u);  // fewer where it is there before the sleep
    EXPECT_EQ(at.wakes[0] + at.wakes[2], 0u);
    EXPECT_EQ(at.verbs.fault(), "");
}

// What was told of a completion that was polled meanwhile wakes once, not for ever.
TEST(RcSleep, WhatWasToldIsTakenOff) {
    Dormitory at({});
    Prng prng(2);
    Parcel one = draw(prng);
    ASSERT_TRUE(at.ends[one.to]->arm());
    post(at, one);
    while (one.recv.state == State::kPending) {
        at.verbs.pump();
        for (auto& end : at.ends) end->poll();
    }
    while (!at.verbs.is_idle()) at.verbs.pump();
    EXPECT_TRUE(at.is_told(one.to));
    while (!at.ends[one.to]->arm()) {
    }
    EXPECT_FALSE(at.is_told(one.to));
}

// It sleeps again and again, 10 ms each time, and has looked after a second.
TEST(RcSleep, WhoSleepsLooksEachSecondWhetherItsPeerIsThere) {
    Dormitory at({});
    Prng prng(3);
    Parcel one = draw(prng);
    at.ends[1]->recv(0, one.id, one.got.data(), one.got.size(), one.recv);
    at.verbs.cut(0);
    for (int i = 0; i < 101; ++i) {
        ASSERT_TRUE(at.ends[1]->arm());
        at.verbs.pump();
    }
    EXPECT_EQ(at.verbs.writes(), 1u);
    EXPECT_EQ(at.verbs.looks(), 1u);
    while (!at.verbs.is_idle()) at.verbs.pump();
    EXPECT_TRUE(at.is_told(1));
    EXPECT_FALSE(at.ends[1]->arm());
    EXPECT_EQ(one.recv.state, State::kFailed);
    EXPECT_EQ(at.ends[1]->error(),
              "RDMA to rank 0 failed: transport retry counter exceeded (status 12)");
}

TEST(RcSleep, WhereItIsNotWantedOnePolls) {
    Dormitory at({}, false);
    EXPECT_EQ(at.ends[0]->wait_fd(), -1);
    EXPECT_FALSE(at.ends[0]->arm());
}

// ---- who does not sleep makes no system call ---------------------------------------------------

void exchange_all(Dormitory& at, std::deque<Parcel>& parcels) {
    for (Parcel& one : parcels) post(at, one);
    while (!std::ranges::all_of(parcels, has_come)) {
        at.verbs.pump();
        for (auto& end : at.ends) end->poll();
    }
}

// How a process ends in which all system calls but its last are forbidden.
int end_of(Dormitory& at, std::deque<Parcel>& parcels, bool breaks_it) {
    const pid_t child = fork();
    if (child == 0) {
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(1);
        for (int turn = 0; turn < 3; ++turn) exchange_all(at, parcels);
        if (breaks_it) syscall(SYS_getppid);
        syscall(SYS_exit, 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

TEST(RcSleep, WhoPollsMakesNoSystemCall) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer makes system calls of its own";
    Dormitory at({});
    Prng prng(4);
    std::deque<Parcel> parcels;
    for (int i = 0; i < 40; ++i) parcels.push_back(draw(prng));
    exchange_all(at, parcels);  // all memory is there from here on
    const int caught = end_of(at, parcels, true);
    if (WIFEXITED(caught)) GTEST_SKIP() << "no seccomp here";
    const int status = end_of(at, parcels, false);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(at.verbs.arms(), 0u);
}

}  // namespace
}  // namespace tutti::transport::verbs
