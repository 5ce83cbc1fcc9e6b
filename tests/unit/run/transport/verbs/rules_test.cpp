// SPDX-License-Identifier: BSD-3-Clause
// The rules of reliable connections that docs/protocol/verbs.md rests on, of the fake and of two
// real ports, as TUTTI_TEST_VERBS="rxe1 rxe2" names them: what holds of one holds of the other.
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/prng.h"
#include "conformance/fake_verbs.h"
#include "run/transport/verbs/library.h"
#include "run/transport/verbs/send.h"

namespace tutti::transport::verbs {
namespace {

// Whatever a packet has, kLongBytes are several.
constexpr size_t kLongBytes = 20'480;
constexpr Need kNeed{.pairs = 2,
                     .sends = 16,
                     .recvs = 16,
                     .pair_bytes = 2 * kLongBytes,
                     .words = 20,
                     .mtu_bytes = 1024,
                     .may_sleep = true};

// Two devices, and how time goes by.
class Bed {
  public:
    virtual ~Bed() = default;
    virtual Device& device(uint32_t number) = 0;
    virtual void step() = 0;
    // In seconds of the real one; the fake's are steps.
    [[nodiscard]] virtual bool is_too_late() = 0;
    virtual void begin_wait() = 0;
};

class FakeBed final : public Bed {
  public:
    explicit FakeBed(uint64_t seed) : verbs_(2, {.seed = seed}) {}
    Device& device(uint32_t number) override { return verbs_.device(number); }
    void step() override { verbs_.pump(), ++steps_; }
    [[nodiscard]] bool is_too_late() override { return steps_ > 100'000; }
    void begin_wait() override { steps_ = 0; }

  private:
    test::FakeVerbs verbs_;
    uint32_t steps_ = 0;
};

class PortBed final : public Bed {
  public:
    explicit PortBed(const std::string& ports) {
        std::istringstream names(ports);
        for (auto& device : devices_) {
            VerbsSettings settings;
            names >> settings.device;
            // As long as a peer that is gone, and one without receives, is tried.
            settings.timeout = 14;
            settings.retries = 2;
            auto opened = open_library(settings);
            if (!opened) throw std::runtime_error(opened.error().message);
            device = std::move(opened.value());
        }
    }
    Device& device(uint32_t number) override { return *devices_[number]; }
    void step() override { sched_yield(); }
    [[nodiscard]] bool is_too_late() override { return std::time(nullptr) > begun_ + 60; }
    void begin_wait() override { begun_ = std::time(nullptr); }

  private:
    std::array<std::unique_ptr<Device>, 2> devices_;
    std::time_t begun_ = 0;
};

// Of all of source, to target's memory; the regions are those of theirs, or ought to be.
DirectWrite direct_of(std::span<const std::byte> source, const Region& from,
                      std::span<const std::byte> target, const Region& into, uint64_t number) {
    return {.from = from,
            .source = source.data(),
            .bytes = source.size(),
            .address = reinterpret_cast<uint64_t>(target.data()),
            .key = into.key,
            .number = number};
}

// Another end than the two, connected with the one that has the word.
struct Adder {
    std::unique_ptr<Endpoint> end;
    uint64_t posted = 0;
    uint64_t told = 0;
    std::vector<uint64_t> formers;
};

// 0: two real ports; else the fake's seed.
class Rules : public testing::TestWithParam<uint64_t> {
  protected:
    void SetUp() override {
        const char* ports = std::getenv("TUTTI_TEST_VERBS");
        if (GetParam() == 0 && !ports) GTEST_SKIP() << "two RDMA ports: TUTTI_TEST_VERBS";
        if (GetParam() == 0) bed_ = std::make_unique<PortBed>(ports);
        if (GetParam() != 0) bed_ = std::make_unique<FakeBed>(GetParam());
        for (uint32_t i = 0; i < 2; ++i) {
            auto made = bed_->device(i).make_endpoint(kNeed);
            ASSERT_TRUE(made) << made.error().message;
            ends_[i] = std::move(made.value());
        }
        for (uint32_t i = 0; i < 2; ++i) {
            for (uint32_t pair = 0; pair < kNeed.pairs; ++pair) {
                const auto connected =
                    ends_[i]->connect(pair, bed_->device(1 - i).port(), ends_[1 - i]->card(pair));
                ASSERT_TRUE(connected) << connected.error().message;
            }
        }
    }
    // What both ends are told is kept, in its order.
    void look() {
        std::array<Completion, 8> found;
        bed_->step();
        for (uint32_t i = 0; i < 2; ++i) {
            const int count = ends_[i] ? ends_[i]->poll(found) : 0;
            ASSERT_GE(count, 0);
            told_[i].insert(told_[i].end(), found.begin(), found.begin() + count);
        }
    }
    bool look_until(const std::function<bool()>& is_over) {
        for (bed_->begin_wait(); !is_over() && !bed_->is_too_late();) look();
        return is_over();
    }
    // Fails where it does not come.
    Completion next(uint32_t end) {
        if (!look_until([&] { return !told_[end].empty(); })) {
            ADD_FAILURE() << "end " << end << " is told nothing";
            return {};
        }
        const Completion first = told_[end].front();
        told_[end].erase(told_[end].begin());
        return first;
    }
    // Receives that are flushed come in no order with what else fails.
    Completion next_but_flushed_receives(uint32_t end) {
        Completion one = next(end);
        while (one.is_recv && one.status == test::kFlushed) one = next(end);
        return one;
    }
    void expect_write(int status, uint64_t number) {
        const Completion one = next_but_flushed_receives(0);
        EXPECT_FALSE(one.is_recv);
        EXPECT_EQ(one.status, status) << ends_[0]->status_text(one.status);
        EXPECT_EQ(one.number, number);
    }
    // As every post that is expected to be taken.
    void write(uint32_t pair, const Write& one) { ASSERT_EQ(ends_[0]->write(pair, one), 0); }
    void add(uint32_t pair, const Add& one) { ASSERT_EQ(ends_[0]->add(pair, one), 0); }
    // A device may have none, which the rules of additions are not for.
    [[nodiscard]] bool can_add() {
        return !ends_[0]->words().empty() && !ends_[1]->words().empty();
    }
    [[nodiscard]] uint64_t word(uint32_t end, uint32_t number) {
        return std::atomic_ref(ends_[end]->words()[number]).load(std::memory_order_acquire);
    }
    // Another pair of the two is as before.
    void expect_pair_works(uint32_t pair) {
        write(pair, {.bytes = 8, .immediate = 4711});
        Completion one;
        do one = next(1);
        while (one.pair != pair);
        EXPECT_TRUE(one.is_recv && one.status == 0 && one.immediate == 4711);
    }

    std::unique_ptr<Bed> bed_;
    std::array<std::unique_ptr<Endpoint>, 2> ends_;
    std::array<std::vector<Completion>, 2> told_;
};

// Writes of a pair in turn, some of which tell: who is told of one has the data of all before it.
TEST_P(Rules, WhoIsToldHasTheDataOfAllBefore) {
    constexpr uint32_t kPlaces = 16;
    constexpr size_t kPlaceBytes = 4096 / kPlaces;
    constexpr uint64_t kWrites = 500;
    Prng prng(GetParam() + 1);
    std::array<std::vector<std::byte>, kPlaces> expected;
    std::vector<uint64_t> telling;
    uint64_t seen = 0;
    for (uint64_t number = 1; number <= kWrites; ++number) {
        const size_t offset = (number % kPlaces) * kPlaceBytes;
        std::vector<std::byte>& data = expected[number % kPlaces];
        data.resize(prng.below(kPlaceBytes + 1));
        for (std::byte& byte : data) byte = static_cast<std::byte>(prng.next() & 0xff);
        std::ranges::copy(data, ends_[0]->memory().begin() + static_cast<ptrdiff_t>(offset));
        const bool tells = prng.below(3) != 0 || number % (kPlaces / 2) == 0;
        if (tells) telling.push_back(number);
        write(0, {offset, data.size(), offset, tells, static_cast<uint32_t>(number),
                  number % (kPlaces / 2) == 0, number});
        if (number % (kPlaces / 2) != 0) continue;
        for (uint64_t told : telling) {
            const Completion one = next(1);
            ASSERT_TRUE(one.is_recv);
            ASSERT_EQ(one.status, 0);
            ASSERT_EQ(one.immediate, told);
            ASSERT_EQ(ends_[1]->recv(0), 0);
            for (; seen < told; ++seen) {
                const std::vector<std::byte>& sent = expected[(seen + 1) % kPlaces];
                const size_t at = ((seen + 1) % kPlaces) * kPlaceBytes;
                ASSERT_TRUE(std::ranges::equal(ends_[1]->memory().subspan(at, sent.size()), sent));
            }
        }
        telling.clear();
        expect_write(0, number);
    }
    EXPECT_TRUE(told_[0].empty());  // of the others nobody is told
}

// However many packets it takes, of which the last one tells: two writes in turn, so that one is on
// its way while the other is looked at.
TEST_P(Rules, WhoIsToldOfALongWriteHasAllOfIt) {
    constexpr uint64_t kWrites = 100;
    Prng prng(GetParam() + 1);
    std::array<std::vector<std::byte>, 2> sent;
    const auto write_one = [&](uint64_t number) {
        std::vector<std::byte>& data = sent[number % 2];
        data.resize(kLongBytes - prng.below(2) * prng.below(kLongBytes));
        for (std::byte& byte : data) byte = static_cast<std::byte>(prng.next() & 0xff);
        const size_t offset = number % 2 * kLongBytes;
        std::ranges::copy(data, ends_[0]->memory().begin() + static_cast<ptrdiff_t>(offset));
        write(0, {offset, data.size(), offset, true, static_cast<uint32_t>(number), true, number});
    };
    write_one(1);
    for (uint64_t number = 1; number <= kWrites; ++number) {
        write_one(number + 1);
        const Completion one = next(1);
        ASSERT_TRUE(one.is_recv);
        ASSERT_EQ(one.status, 0);
        ASSERT_EQ(one.immediate, number);
        const size_t offset = number % 2 * kLongBytes;
        const auto got = ends_[1]->memory().subspan(offset, sent[number % 2].size());
        ASSERT_TRUE(std::ranges::equal(got, sent[number % 2]));
        ASSERT_EQ(ends_[1]->recv(0), 0);
        expect_write(0, number);
    }
}

TEST_P(Rules, AWriteOfNoBytesTells) {
    write(1, {.bytes = 0, .immediate = 0xfedcba98});
    const Completion one = next(1);
    EXPECT_TRUE(one.is_recv);
    EXPECT_EQ(one.pair, 1u);
    EXPECT_EQ(one.immediate, 0xfedcba98);
}

TEST_P(Rules, AsManyAsAgreedAreTakenAtOnce) {
    for (uint32_t i = 1; i <= kNeed.sends; ++i) {
        write(0, {.bytes = 64, .immediate = i, .is_signaled = i == kNeed.sends, .number = i});
    }
    for (uint32_t i = 1; i <= kNeed.recvs; ++i) EXPECT_EQ(next(1).immediate, i);
    expect_write(0, kNeed.sends);
}

TEST_P(Rules, AWriteThatFindsNoReceiveFailsAtLast) {
    for (uint32_t i = 1; i <= kNeed.recvs; ++i) {
        write(0, {.bytes = 8, .immediate = i, .is_signaled = true, .number = i});
        expect_write(0, i);
    }
    write(0, {.bytes = 8, .is_signaled = true, .number = 99});
    expect_write(test::kRnrExceeded, 99);
    expect_pair_works(1);
}

// Nothing behind the one that failed is carried out, and the sender is told of each.
TEST_P(Rules, AWriteToMemoryThatWasGivenBackFailsAndThoseBehindIt) {
    std::vector<std::byte> source(10'000, std::byte{1});
    std::vector<std::byte> target(10'000, std::byte{2});
    const Region from = ends_[0]->expose(source.data(), source.size(), false);
    const Region into = ends_[1]->expose(target.data(), target.size(), true);
    ASSERT_TRUE(from.handle && into.handle);
    ends_[1]->conceal(into);
    const DirectWrite direct = direct_of(source, from, target, into, 1);
    ASSERT_EQ(ends_[0]->write_direct(0, direct), 0);
    write(0, {.bytes = 8, .immediate = 5, .number = 2});
    expect_write(test::kRemoteAccess, 1);
    expect_write(test::kFlushed, 2);
    EXPECT_EQ(target, std::vector<std::byte>(10'000, std::byte{2}));
    for (const Completion& one : told_[1]) EXPECT_NE(one.status, 0);
    ends_[0]->conceal(from);
    expect_pair_works(1);
}

TEST_P(Rules, AWriteFromMemoryThatWasGivenBackFails) {
    std::vector<std::byte> source(100, std::byte{1});
    std::vector<std::byte> target(100, std::byte{2});
    const Region into = ends_[1]->expose(target.data(), target.size(), true);
    const Region from = ends_[0]->expose(source.data(), source.size(), false);
    const Region other = ends_[0]->expose(target.data(), target.size(), false);
    ASSERT_TRUE(from.handle && into.handle && other.handle);
    // The key that it had is nobody's; the other one is of other memory.
    const DirectWrite direct = direct_of(source, other, target, into, 3);
    ends_[0]->conceal(from);
    ASSERT_EQ(ends_[0]->write_direct(0, direct), 0);
    expect_write(test::kLocalProtection, 3);
    EXPECT_EQ(target, std::vector<std::byte>(100, std::byte{2}));
    ends_[0]->conceal(other);
    ends_[1]->conceal(into);
    expect_pair_works(1);
}

// Here or there: the one that failed is told of behind those before it.
TEST_P(Rules, WhatWasBeforeAWriteThatFailsIsComplete) {
    std::vector<std::byte> source(100, std::byte{1});
    std::vector<std::byte> target(100, std::byte{2});
    const Region into = ends_[1]->expose(target.data(), target.size(), true);
    const Region from = ends_[0]->expose(source.data(), source.size(), false);
    ASSERT_TRUE(from.handle && into.handle);
    ends_[1]->conceal(into);
    for (const uint32_t pair : {0u, 1u}) {
        for (uint64_t i = 1; i <= 8; ++i) {
            write(pair, {.bytes = kLongBytes, .tells = false, .is_signaled = true, .number = i});
        }
        // From memory of which the key is not, or to some that was given back.
        const std::vector<std::byte>& memory = pair == 0 ? target : source;
        const DirectWrite direct = direct_of(memory, from, target, into, 9);
        ASSERT_EQ(ends_[0]->write_direct(pair, direct), 0);
        for (uint64_t i = 1; i <= 8; ++i) expect_write(0, i);
        expect_write(pair == 0 ? test::kLocalProtection : test::kRemoteAccess, 9);
    }
    ends_[0]->conceal(from);
}

TEST_P(Rules, APeerThatIsGoneIsTriedAndGivenUp) {
    ends_[1].reset();
    write(0, {.bytes = 8, .number = 1});
    write(0, {.bytes = 8, .number = 2});
    expect_write(test::kRetryExceeded, 1);
    expect_write(test::kFlushed, 2);
}

// Receives of the pair itself are flushed as well: whoever waits for one is told.
TEST_P(Rules, ReceivesOfAPairThatFailedAreFlushed) {
    ends_[1].reset();
    write(0, {.bytes = 8, .number = 1});
    uint32_t flushed = 0;
    Completion first = next(0);
    for (; first.is_recv; first = next(0)) ++flushed;
    EXPECT_EQ(first.status, test::kRetryExceeded);
    for (; flushed < kNeed.recvs; ++flushed) {
        const Completion one = next(0);
        EXPECT_TRUE(one.is_recv);
        EXPECT_EQ(one.status, test::kFlushed);
        EXPECT_EQ(one.pair, 0u);
    }
}

TEST_P(Rules, ASendThatIsLongerThanItsReceiveFailsAtBothEnds) {
    for (uint32_t i = 1; i <= kNeed.recvs; ++i) {
        write(0, {.bytes = 0, .is_signaled = true, .number = i});
        expect_write(0, i);
        EXPECT_EQ(next(1).status, 0);
    }
    ASSERT_EQ(ends_[1]->sends()->recv_into(0, 0, 64), 0);
    ASSERT_EQ(ends_[0]->sends()->send(0, {.bytes = 65, .is_signaled = true, .number = 20}), 0);
    // Local length and remote invalid request by the specification; soft-RoCE has others.
    const Completion here = next_but_flushed_receives(1);
    EXPECT_TRUE(here.is_recv && here.status != 0);
    const Completion there = next_but_flushed_receives(0);
    EXPECT_TRUE(!there.is_recv && there.status != 0 && there.status != test::kFlushed);
    EXPECT_EQ(there.number, 20u);
}

// One that came before is not told of, so the next one has to be.
TEST_P(Rules, WhoAsksIsToldOfTheNextCompletion) {
    pollfd fd{ends_[1]->wait_fd(), POLLIN, 0};
    ASSERT_GE(fd.fd, 0);
    for (uint32_t i = 1; i <= 20; ++i) {
        ASSERT_TRUE(ends_[1]->arm(Events::kAll));
        ASSERT_TRUE(told_[1].empty());
        write(0, {.bytes = 8, .immediate = i, .is_signaled = true, .number = i});
        ASSERT_TRUE(look_until([&] { return ::poll(&fd, 1, 0) == 1; }));
        EXPECT_EQ(next(1).immediate, i);
        ASSERT_EQ(ends_[1]->recv(0), 0);
        expect_write(0, i);
    }
}

// Of receives whose write says so, and of no own write that succeeds.
TEST_P(Rules, WhoAsksForSolicitedEventsIsToldOfNoOther) {
    pollfd fd{ends_[1]->wait_fd(), POLLIN, 0};
    ASSERT_GE(fd.fd, 0);
    ASSERT_TRUE(ends_[1]->arm(Events::kSolicited));
    for (uint32_t i = 1; i <= 4; ++i) {
        write(0, {.bytes = 8, .immediate = i, .is_signaled = true, .number = i, .wakes = false});
        EXPECT_EQ(next(1).immediate, i);
        ASSERT_EQ(ends_[1]->write(0, {.bytes = 8, .is_signaled = true, .number = i}), 0);
        EXPECT_FALSE(next(1).is_recv);
        EXPECT_EQ(::poll(&fd, 1, 0), 0) << i;
    }
    // Several packets, of which the last one says it.
    write(0, {.bytes = kLongBytes, .immediate = 5, .is_signaled = true, .number = 5});
    ASSERT_TRUE(look_until([&] { return ::poll(&fd, 1, 0) == 1; }));
    EXPECT_EQ(next(1).immediate, 5u);
}

TEST_P(Rules, WhoAsksForAllIsToldOfOwnWrites) {
    pollfd fd{ends_[0]->wait_fd(), POLLIN, 0};
    ASSERT_TRUE(ends_[0]->arm(Events::kSolicited));
    ASSERT_TRUE(ends_[0]->arm(Events::kAll));
    write(0, {.bytes = 8, .is_signaled = true, .number = 1, .wakes = false});
    ASSERT_TRUE(look_until([&] { return ::poll(&fd, 1, 0) == 1; }));
    expect_write(0, 1);
}

// Whatever is asked for.
TEST_P(Rules, WhoSleepsIsToldOfAFailure) {
    pollfd fd{ends_[0]->wait_fd(), POLLIN, 0};
    ends_[1].reset();
    ASSERT_TRUE(ends_[0]->arm(Events::kSolicited));
    write(0, {.bytes = 8, .number = 1, .wakes = false});
    ASSERT_TRUE(look_until([&] { return ::poll(&fd, 1, 0) == 1; }));
    expect_write(test::kRetryExceeded, 1);
}

// By the completion the former value is here, alone in its word. The sum is seen by looking, some
// time; nobody is told there, and no receive is taken.
TEST_P(Rules, AnAdditionIsToldWhatTheWordWas) {
    if (!can_add()) GTEST_SKIP() << "this device cannot add";
    constexpr std::array<uint64_t, 4> kAmounts = {1, 0, (uint64_t{1} << 48) + 1, UINT64_MAX};
    std::array<uint64_t, 2> sums{};
    for (uint64_t i = 0; i < 100; ++i) {
        const auto which = static_cast<uint32_t>(i % 2);
        const uint64_t amount = kAmounts[i / 2 % kAmounts.size()];
        ends_[0]->words()[5] = ~sums[which];
        add(0, {3 + which, amount, 5, true, i + 1});
        expect_write(0, i + 1);
        ASSERT_EQ(word(0, 5), sums[which]) << i;
        sums[which] += amount;
        ASSERT_TRUE(look_until([&] { return word(1, 3 + which) == sums[which]; })) << i;
    }
    for (const uint32_t other : {2u, 5u}) EXPECT_EQ(word(1, other), 0u);
    for (const uint32_t other : {3u, 4u, 6u}) EXPECT_EQ(word(0, other), 0u);
    EXPECT_TRUE(told_[1].empty());
    for (uint32_t i = 1; i <= kNeed.recvs; ++i) {
        write(0, {.bytes = 8, .immediate = i, .is_signaled = true, .number = 100 + i});
        expect_write(0, 100 + i);
        EXPECT_EQ(next(1).immediate, i);
    }
}

// As many as agreed are taken at once, however few the device has under way; of a signaled one, or
// write, all formers before it are here, which nobody else told of.
TEST_P(Rules, ASignaledOneTellsOfAllAdditionsBefore) {
    if (!can_add()) GTEST_SKIP() << "this device cannot add";
    uint64_t number = 0;
    uint64_t sum = 0;
    for (uint32_t turn = 0; turn < 40; ++turn) {
        const uint32_t adds = kNeed.sends - turn % 2;
        for (uint32_t i = 0; i < adds; ++i) {
            const bool is_last = i + 1 == kNeed.sends;
            ends_[0]->words()[i] = UINT64_MAX;
            add(0, {.word = 7, .former = i, .is_signaled = is_last, .number = ++number});
        }
        if (adds < kNeed.sends) {
            write(0, {.bytes = 8, .tells = false, .is_signaled = true, .number = ++number});
        }
        expect_write(0, number);
        for (uint32_t i = 0; i < adds; ++i) ASSERT_EQ(word(0, i), sum++) << turn;
        EXPECT_TRUE(told_[0].empty());
    }
    EXPECT_TRUE(told_[1].empty());
}

// Two ends of one device, by two connections, and one of the device that has the word. None is
// lost, and those of one connection happen in turn.
TEST_P(Rules, AdditionsOfSeveralEndsAreToldDifferentSums) {
    if (!can_add()) GTEST_SKIP() << "this device cannot add";
    constexpr uint32_t kAdders = 3;
    constexpr uint64_t kAddsEach = 60;
    constexpr uint64_t kAtOnce = 4;
    Need need = kNeed;
    need.pairs = kAdders;
    auto owner = bed_->device(1).make_endpoint(need);
    ASSERT_TRUE(owner) << owner.error().message;
    need.pairs = 1;
    std::array<Adder, kAdders> adders;
    for (uint32_t i = 0; i < kAdders; ++i) {
        Device& device = bed_->device(i == kAdders - 1 ? 1 : 0);
        auto made = device.make_endpoint(need);
        ASSERT_TRUE(made) << made.error().message;
        adders[i].end = std::move(made.value());
        const PortCard& port = bed_->device(1).port();
        ASSERT_TRUE(adders[i].end->connect(0, port, owner.value()->card(i)));
        ASSERT_TRUE(owner.value()->connect(i, device.port(), adders[i].end->card(0)));
    }
    std::array<Completion, kAtOnce> found;
    const auto go_on = [&](Adder& one) {
        while (one.posted < kAddsEach && one.posted - one.told < kAtOnce) {
            const uint64_t number = ++one.posted;
            const auto former = static_cast<uint32_t>(number % kAtOnce);
            ASSERT_EQ(one.end->add(0, {6, 1, former, true, number}), 0);
        }
        const int count = one.end->poll(found);
        ASSERT_GE(count, 0);
        for (const Completion& each : std::span(found.data(), static_cast<size_t>(count))) {
            ASSERT_EQ(each.status, 0) << one.end->status_text(each.status);
            ASSERT_EQ(each.number, ++one.told);
            one.formers.push_back(one.end->words()[each.number % kAtOnce]);
        }
    };
    ASSERT_TRUE(look_until([&] {
        for (Adder& one : adders) go_on(one);
        return HasFatalFailure() ||
               std::ranges::all_of(adders, [](const Adder& one) { return one.told == kAddsEach; });
    }));
    ASSERT_FALSE(HasFatalFailure());
    std::vector<uint64_t> formers;
    for (const Adder& one : adders) {
        EXPECT_TRUE(std::ranges::is_sorted(one.formers));
        formers.insert(formers.end(), one.formers.begin(), one.formers.end());
    }
    std::ranges::sort(formers);
    for (uint64_t i = 0; i < kAdders * kAddsEach; ++i) ASSERT_EQ(formers[i], i);
    EXPECT_TRUE(look_until(
        [&] { return std::atomic_ref(owner.value()->words()[6]).load() == kAdders * kAddsEach; }));
}

// Of a connection all happens in turn: who is told of a write has the sum of the addition before
// it, and the data of the write before that, of however many packets.
TEST_P(Rules, WhoIsToldHasTheSumsAndTheDataBefore) {
    if (!can_add()) GTEST_SKIP() << "this device cannot add";
    Prng prng(GetParam() + 1);
    for (uint64_t turn = 1; turn <= 100; ++turn) {
        std::vector<std::byte> data(kLongBytes - prng.below(2) * prng.below(kLongBytes));
        for (std::byte& byte : data) byte = static_cast<std::byte>(prng.next() & 0xff);
        std::ranges::copy(data, ends_[0]->memory().begin());
        write(0, {.bytes = data.size(), .tells = false, .number = 3 * turn - 2});
        add(0, {.word = 1, .former = 2, .number = 3 * turn - 1});
        const auto immediate = static_cast<uint32_t>(turn);
        write(0, {.immediate = immediate, .is_signaled = true, .number = 3 * turn});
        ASSERT_EQ(next(1).immediate, turn);
        ASSERT_EQ(word(1, 1), turn);
        ASSERT_TRUE(std::ranges::equal(ends_[1]->memory().first(data.size()), data));
        ASSERT_EQ(ends_[1]->recv(0), 0);
        expect_write(0, 3 * turn);
        ASSERT_EQ(word(0, 2), turn - 1);
    }
}

// Each of those that are not carried out tells it, signaled or not.
TEST_P(Rules, AnAdditionToAPeerThatIsGoneFailsAndThoseBehindIt) {
    if (!can_add()) GTEST_SKIP() << "this device cannot add";
    ends_[0]->words()[0] = 4711;
    ends_[1].reset();
    add(0, {.number = 1});
    add(0, {.is_signaled = true, .number = 2});
    write(0, {.bytes = 8, .number = 3});
    expect_write(test::kRetryExceeded, 1);
    expect_write(test::kFlushed, 2);
    expect_write(test::kFlushed, 3);
    EXPECT_EQ(ends_[0]->words()[0], 4711u);
}

TEST_P(Rules, AnAdditionBehindAWriteThatFailedIsNotCarriedOut) {
    if (!can_add()) GTEST_SKIP() << "this device cannot add";
    std::vector<std::byte> source(100, std::byte{1});
    const Region from = ends_[0]->expose(source.data(), source.size(), false);
    const Region into = ends_[1]->expose(source.data(), source.size(), true);
    ASSERT_TRUE(from.handle && into.handle);
    ends_[1]->conceal(into);
    const DirectWrite direct = direct_of(source, from, source, into, 2);
    ends_[0]->words()[0] = ends_[0]->words()[1] = 4711;
    add(0, {.amount = 5, .former = 1, .number = 1});
    ASSERT_EQ(ends_[0]->write_direct(0, direct), 0);
    add(0, {.amount = 7, .number = 3});
    expect_write(test::kRemoteAccess, 2);
    EXPECT_EQ(word(0, 1), 0u);  // what was before it is complete
    expect_write(test::kFlushed, 3);
    EXPECT_EQ(word(0, 0), 4711u);
    ends_[0]->conceal(from);
    // By the other pair, behind all that.
    add(1, {.amount = 0, .former = 1, .is_signaled = true, .number = 1});
    expect_write(0, 1);
    EXPECT_EQ(word(0, 1), 5u);
    EXPECT_TRUE(look_until([&] { return word(1, 0) == 5; }));
}

// It is an own one: who asks for solicited events alone is told of none that succeeds.
TEST_P(Rules, WhoAsksForAllIsToldOfOwnAdditions) {
    if (!can_add()) GTEST_SKIP() << "this device cannot add";
    pollfd fd{ends_[0]->wait_fd(), POLLIN, 0};
    ASSERT_TRUE(ends_[0]->arm(Events::kSolicited));
    add(0, {.is_signaled = true, .number = 1});
    expect_write(0, 1);
    EXPECT_EQ(::poll(&fd, 1, 0), 0);
    ASSERT_TRUE(ends_[0]->arm(Events::kAll));
    add(0, {.is_signaled = true, .number = 2});
    ASSERT_TRUE(look_until([&] { return ::poll(&fd, 1, 0) == 1; }));
    expect_write(0, 2);
}

INSTANTIATE_TEST_SUITE_P(Fake, Rules, testing::Range(uint64_t{1}, uint64_t{21}));
INSTANTIATE_TEST_SUITE_P(Ports, Rules, testing::Values(uint64_t{0}));

}  // namespace
}  // namespace tutti::transport::verbs
