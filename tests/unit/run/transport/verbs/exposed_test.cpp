// SPDX-License-Identifier: BSD-3-Clause
// Memory that is registered for a call instead of for each message: under seeds, counted, called
// off, and where there is none.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "base/prng.h"
#include "run/transport/verbs/rc.h"
#include "sim/seeds.h"
#include "unit/run/transport/verbs/ends.h"

namespace tutti::transport::verbs {
namespace {

// Messages alone, and within exposed memory.
constexpr size_t kAlone = 40'000;
constexpr size_t kWithin = 8192;
constexpr size_t kSign = sizeof(SlotHeader);

// Pages that go with it: whatever touched them later would die of it.
class Pages {
  public:
    explicit Pages(size_t bytes)
        : memory_(static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
                  bytes) {}
    ~Pages() { munmap(memory_.data(), memory_.size()); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    [[nodiscard]] std::span<std::byte> all() const { return memory_; }

  private:
    std::span<std::byte> memory_;
};

class ExposedEnds : public Ends {
  public:
    explicit ExposedEnds(const test::FakeRules& rules = {}, size_t memory_bytes = 0)
        : Ends(rules, kAlone) {
        for (auto& end : ends) end->use_exposed(kWithin, memory_bytes);
    }
};

// Between parts of two ends' memory.
struct Parcel {
    std::span<std::byte> source{};
    std::span<std::byte> target{};
    Rank from = 0;
    MessageId id{};
    Ticket sent{};
    Ticket received{};

    void send(Ends& ends) {
        ends.ends[from]->send(1 - from, id, source.data(), source.size(), sent);
    }
    void recv(Ends& ends) {
        ends.ends[1 - from]->recv(from, id, target.data(), target.size(), received);
    }
    [[nodiscard]] bool is_over() const {
        return sent.state == State::kDone && received.state == State::kDone;
    }
    [[nodiscard]] bool is_right() const { return std::ranges::equal(source, target); }
};

void deliver(Ends& ends, Parcel parcel) {
    for (std::byte& byte : parcel.source) byte ^= std::byte{1};
    parcel.recv(ends);
    parcel.send(ends);
    ASSERT_TRUE(ends.run_until([&] { return parcel.is_over(); }));
    ASSERT_TRUE(parcel.is_right());
}

// ---- under seeds -------------------------------------------------------------------------------

constexpr std::array<size_t, 8> kLengths = {0,           900,    kWithin - 1, kWithin,
                                            kWithin + 1, 20'000, kAlone - 1,  kAlone};

// One end's memory in a call: each message has a part of its own in one of them.
class CallMemory {
  public:
    explicit CallMemory(std::span<std::byte> scratch)
        : input_(kBytes),
          output_(kBytes),
          other_(kBytes),
          places_{scratch, input_.all(), output_.all(), other_.all()} {}
    void expose(Rc& end, Prng& prng) {
        is_exposed_ = prng.below(4) != 0;
        if (!is_exposed_) return;
        end.expose(output_.all(), Memory::kOutput);
        end.expose(input_.all(), Memory::kInput);
    }
    void conceal(Rc& end) const {
        if (!is_exposed_) return;
        end.conceal(input_.all());
        end.conceal(output_.all());
    }
    // Nobody writes input.
    std::span<std::byte> part(Prng& prng, size_t bytes, bool is_target) {
        size_t place = prng.below(places_.size());
        if (is_target && place == 1) place = 2;
        const auto part = places_[place].first(bytes);
        places_[place] = places_[place].subspan(bytes);
        return part;
    }
    static constexpr size_t kBytes = size_t{1} << 20;

  private:
    Pages input_;
    Pages output_;
    Pages other_;
    std::array<std::span<std::byte>, 4> places_;
    bool is_exposed_ = false;
};

void run_exposed_call(ExposedEnds& ends, Prng& prng, std::array<Pages, 2>& scratch) {
    std::array<CallMemory, 2> memory{CallMemory(scratch[0].all()), CallMemory(scratch[1].all())};
    for (const Rank rank : {0u, 1u}) memory[rank].expose(*ends.ends[rank], prng);
    std::deque<Parcel> parcels;
    for (int i = 0; i < 24; ++i) {
        Parcel& parcel = parcels.emplace_back();
        parcel.from = static_cast<Rank>(prng.below(2));
        parcel.id.slot = static_cast<uint32_t>(prng.below(kSlotsMax));
        const size_t bytes = kLengths[prng.below(kLengths.size())];
        parcel.source = memory[parcel.from].part(prng, bytes, false);
        parcel.target = memory[1 - parcel.from].part(prng, bytes, true);
        for (std::byte& byte : parcel.source) byte = static_cast<std::byte>(prng.next() & 0xff);
        const bool sends_first = prng.below(2) == 0;
        if (sends_first) parcel.send(ends);
        for (uint64_t turns = prng.below(20); turns > 0; --turns) ends.turn();
        parcel.recv(ends);
        if (!sends_first) parcel.send(ends);
    }
    ASSERT_TRUE(ends.run_until([&] { return std::ranges::all_of(parcels, &Parcel::is_over); }));
    for (const Parcel& parcel : parcels) ASSERT_TRUE(parcel.is_right());
    for (const Rank rank : {0u, 1u}) memory[rank].conceal(*ends.ends[rank]);
}

// Some ends have no scratch exposed, some memory may not be registered.
TEST(Exposed, Seeds) {
    const test::Seeds seeds = test::Seeds::wanted(300);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        SCOPED_TRACE(test::replay(seed));
        Prng prng(seed);
        test::FakeRules rules{.seed = seed, .delay_ns_max = 1 + prng.below(20'000)};
        if (seed % 3 == 0) rules.exposed_bytes_max = prng.below(3 * CallMemory::kBytes);
        ExposedEnds ends(rules);
        std::array<Pages, 2> scratch{Pages(CallMemory::kBytes), Pages(CallMemory::kBytes)};
        for (const Rank rank : {0u, 1u}) {
            if (prng.below(4) != 0) ends.ends[rank]->expose(scratch[rank].all(), Memory::kScratch);
        }
        for (int call = 0; call < 3; ++call) {
            run_exposed_call(ends, prng, scratch);
            if (testing::Test::HasFatalFailure()) return;
        }
        for (const Rank rank : {0u, 1u}) ends.ends[rank]->conceal(scratch[rank].all());
        expect_nothing_left(ends);
        if (testing::Test::HasFailure()) return;
    }
}

// ---- counted -----------------------------------------------------------------------------------

// Ten of 64 KiB, from an output into scratch: each an announcement, an offer, a write and its end.
TEST(Exposed, MemoryIsRegisteredOnceForAllMessagesOfACall) {
    constexpr size_t kBytes = size_t{64} << 10;
    Pages output(10 * kBytes);
    Pages scratch(kBytes);
    Ends ends({}, size_t{256} << 10);
    for (auto& end : ends.ends) end->use_exposed(kExposedBytes, 0);
    ends.ends[1]->expose(scratch.all(), Memory::kScratch);
    for (uint32_t call = 1; call <= 2; ++call) {
        ends.ends[0]->expose(output.all(), Memory::kOutput);
        for (int i = 0; i < 10; ++i) {
            deliver(ends,
                    {.source = output.all().subspan(i * kBytes, kBytes), .target = scratch.all()});
        }
        EXPECT_EQ(ends.verbs.writes(), call * 40u);
        EXPECT_EQ(ends.verbs.slot_bytes(), call * 10 * (3 * kSign + 32));
        // The scratch once, the output for each call.
        EXPECT_EQ(ends.verbs.exposures(), 1u + call);
        ends.ends[0]->conceal(output.all());
        EXPECT_EQ(ends.verbs.exposed(), 1u);
    }
    EXPECT_EQ(ends.ends[0]->sent_straight(), 20u);
    ends.ends[1]->conceal(scratch.all());
    expect_nothing_left(ends);
}

// From where it takes fewer writes than by slots.
TEST(Exposed, MessagesOfSixteenSlotsTakeFewerWritesStraight) {
    constexpr size_t kBytes = kExposedBytes;
    std::array<uint64_t, 2> writes{};
    for (const bool is_exposed : {false, true}) {
        Pages output(2 * kBytes);
        Ends ends({}, size_t{256} << 10);
        for (auto& end : ends.ends) end->use_exposed(kBytes, 0);
        for (auto& end : ends.ends) {
            if (is_exposed) end->expose(output.all(), Memory::kOutput);
        }
        for (int i = 0; i < 10; ++i) {
            deliver(ends,
                    {.source = output.all().first(kBytes), .target = output.all().last(kBytes)});
        }
        writes[is_exposed ? 1 : 0] = ends.verbs.writes();
        for (auto& end : ends.ends) end->conceal(output.all());
        expect_nothing_left(ends);
    }
    EXPECT_EQ(writes[1], 40u);
    EXPECT_GT(writes[0], 50u);
}

TEST(Exposed, ShorterMessagesAndShorterMemoryAreCopied) {
    Pages output(2 * kWithin);
    ExposedEnds ends({}, 3 * kWithin);
    for (auto& end : ends.ends) end->expose(output.all(), Memory::kOutput);
    deliver(ends, {.source = output.all().first(kWithin), .target = output.all().last(kWithin)});
    EXPECT_EQ(ends.verbs.exposures(), 0u);
    for (auto& end : ends.ends) {
        end->conceal(output.all());
        end->expose(output.all(), Memory::kScratch);
    }
    deliver(ends,
            {.source = output.all().first(kWithin - 1), .target = output.all().last(kWithin - 1)});
    EXPECT_EQ(ends.verbs.exposures(), 0u);
    deliver(ends, {.source = output.all().first(kWithin), .target = output.all().last(kWithin)});
    EXPECT_EQ(ends.verbs.exposures(), 2u);
    for (auto& end : ends.ends) end->conceal(output.all());
    expect_nothing_left(ends);
}

// Of an input the first message has its own part registered, the second one all of it.
TEST(Exposed, AnInputOfWhichOnePartGoesIsNotRegisteredAsAWhole) {
    Pages input(16 * kWithin);
    Pages output(16 * kWithin);
    // All of the input and another part of it are too much.
    ExposedEnds ends({.exposed_bytes_max = 16 * kWithin});
    ends.ends[0]->expose(input.all(), Memory::kInput);
    ends.ends[1]->expose(output.all(), Memory::kOutput);
    for (const uint64_t exposures : {2u, 3u, 3u}) {
        deliver(ends,
                {.source = input.all().first(kWithin), .target = output.all().first(kWithin)});
        EXPECT_EQ(ends.verbs.exposures(), exposures);
        EXPECT_EQ(ends.verbs.exposed(), exposures - 1);
    }
    ends.ends[0]->conceal(input.all());
    ends.ends[1]->conceal(output.all());
    expect_nothing_left(ends);
}

// An end asks once a call.
TEST(Exposed, WhereThePeerHasNothingExposedItIsNotAskedAgain) {
    Pages output(4 * kWithin);
    ExposedEnds ends;
    std::vector<std::byte> target(kWithin);
    for (int call = 1; call <= 2; ++call) {
        ends.ends[0]->expose(output.all(), Memory::kOutput);
        const Parcel parcel{.source = output.all().first(kWithin), .target = target};
        const uint64_t before = ends.verbs.slot_bytes();
        deliver(ends, parcel);
        const uint64_t first = ends.verbs.slot_bytes();
        deliver(ends, parcel);
        // The announcement and what offers nothing; and the pieces, in the end in slots that do not
        // lie next to each other.
        EXPECT_EQ(first - before, kWithin + 3 * kSign + 32);
        EXPECT_EQ(ends.verbs.slot_bytes() - first, kWithin + (call == 1 ? 1 : 3) * kSign);
        EXPECT_EQ(ends.verbs.exposures(), 0u);
        EXPECT_EQ(ends.ends[0]->sent_copied(), 0u);
        ends.ends[0]->conceal(output.all());
    }
    expect_nothing_left(ends);
}

// A whole may be too much where a part of it is not.
TEST(Exposed, MemoryThatCannotBeRegisteredAsAWholeIsByMessage) {
    Pages output(4 * kAlone);
    ExposedEnds ends({.exposed_bytes_max = 2 * kAlone});
    for (auto& end : ends.ends) end->expose(output.all(), Memory::kOutput);
    deliver(ends, {.source = output.all().first(kAlone), .target = output.all().last(kAlone)});
    EXPECT_EQ(ends.verbs.exposures(), 2u);
    EXPECT_EQ(ends.verbs.exposed(), 0u);
    // The sender knows by now that it cannot be had.
    const uint64_t before = ends.verbs.slot_bytes();
    deliver(ends, {.source = output.all().first(kWithin), .target = output.all().last(kWithin)});
    EXPECT_GE(ends.verbs.slot_bytes() - before, kWithin);
    EXPECT_EQ(ends.verbs.exposures(), 2u);
    for (auto& end : ends.ends) end->conceal(output.all());
    expect_nothing_left(ends);
}

// More than there is room for is as if it were not exposed.
TEST(Exposed, TooManyAtOnceAreNotRegistered) {
    ExposedEnds ends;
    std::deque<Pages> pages;
    for (int i = 0; i < 12; ++i) {
        for (auto& end : ends.ends) {
            end->expose(pages.emplace_back(kWithin).all(), Memory::kScratch);
        }
    }
    for (size_t i = 0; i < pages.size(); i += 2) {
        deliver(ends, {.source = pages[i].all(), .target = pages[i + 1].all()});
    }
    EXPECT_EQ(ends.verbs.exposures(), 16u);
    for (size_t i = 0; i < pages.size(); ++i) ends.ends[i % 2]->conceal(pages[i].all());
    expect_nothing_left(ends);
}

// ---- called off --------------------------------------------------------------------------------

// Whenever a call fails: the memory may go once it is concealed. Where it is still being sent from,
// that goes its way, and is registered to be read until then.
TEST(Exposed, NothingIsWrittenToMemoryThatIsConcealed) {
    constexpr size_t kBytes = size_t{2} << 20;
    int refused = 0;
    int kept = 0;
    for (uint32_t turns = 0; turns < 40; ++turns) {
        ExposedEnds ends({.seed = turns + 1});
        Pages source(kBytes);
        std::optional<Pages> target(kBytes);
        ends.ends[0]->expose(source.all(), Memory::kOutput);
        ends.ends[1]->expose(target->all(), Memory::kOutput);
        Parcel parcel{.source = source.all(), .target = target->all()};
        parcel.recv(ends);
        parcel.send(ends);
        for (uint32_t i = 0; i < turns; ++i) ends.turn();
        const bool is_sender = turns % 2 == 0;
        Rc& end = *ends.ends[is_sender ? 0 : 1];
        end.cancel(is_sender ? parcel.sent : parcel.received);
        end.conceal(is_sender ? source.all() : target->all());
        if (!is_sender) target.reset();
        if (is_sender && ends.verbs.exposed() == 2) ++kept;
        for (int i = 0; i < 1000; ++i) ends.turn();
        refused += !is_sender && parcel.sent.state == State::kFailed ? 1 : 0;
        for (const Rank rank : {0u, 1u}) {
            if ((rank == 0) != is_sender) {
                ends.ends[rank]->conceal(rank == 0 ? source.all() : target->all());
            }
        }
        expect_nothing_left(ends);
    }
    EXPECT_GT(refused, 0);
    EXPECT_GT(kept, 0);
}

// What was called off does not hold memory for ever, and the end gives back what is left.
TEST(Exposed, MemoryThatWasCalledOffMayBeGivenUp) {
    constexpr size_t kBytes = size_t{2} << 20;
    for (const bool is_concealed : {false, true}) {
        ExposedEnds ends;
        Pages source(kBytes);
        Pages target(kBytes);
        ends.ends[0]->expose(source.all(), Memory::kOutput);
        ends.ends[1]->expose(target.all(), Memory::kOutput);
        Parcel parcel{.source = source.all(), .target = target.all()};
        parcel.recv(ends);
        parcel.send(ends);
        ASSERT_TRUE(ends.run_until([&] { return ends.verbs.writes() > 2; }));
        ends.ends[0]->cancel(parcel.sent);
        if (is_concealed) ends.ends[0]->conceal(source.all());
        EXPECT_EQ(ends.verbs.exposed(), 2u);
        ends.ends[0]->give_up();
        EXPECT_EQ(ends.verbs.exposed(), is_concealed ? 1u : 2u);
        for (auto& end : ends.ends) end.reset();
        expect_nothing_left(ends);
    }
}

// ---- what it takes -----------------------------------------------------------------------------

TEST(Exposed, ItPaysFromWhereCopyingTakesLonger) {
    // 10 us for a page, 0.1 ns a byte more; copies 0.2 ns a byte.
    constexpr uint64_t kCopy = 52'429;
    constexpr uint64_t kGrowth = 26'214;
    EXPECT_NEAR(static_cast<double>(Exposures::pays_from(10'000, 10'000 + kGrowth, kCopy)), 100'000,
                100);
    EXPECT_EQ(Exposures::pays_from(0, 0, 0), 0u);
    EXPECT_EQ(Exposures::pays_from(0, 0, kCopy), 0u);
    EXPECT_EQ(Exposures::pays_from(10'000, 10'000 + kCopy, kCopy), UINT64_MAX);
    EXPECT_EQ(Exposures::pays_from(10'000, 90'000, kCopy), UINT64_MAX);
    // What a clock says may be uneven.
    EXPECT_EQ(Exposures::pays_from(500, 100, kCopy), uint64_t{500} * (256 << 10) / kCopy);
}

TEST(Exposed, WhatItTakesIsTriedAndLeavesNothing) {
    Ends ends({});
    EXPECT_EQ(ends.ends[0]->exposure_pays_from(), 0u);
    EXPECT_EQ(ends.verbs.exposures(), 6u);
    expect_nothing_left(ends);
    Ends without({.exposed_bytes_max = 5000});
    EXPECT_EQ(without.ends[0]->exposure_pays_from(), UINT64_MAX);
    expect_nothing_left(without);
}

}  // namespace
}  // namespace tutti::transport::verbs
