// SPDX-License-Identifier: BSD-3-Clause
// Messages that go straight from memory to memory: under seeds, counted, called off, and where
// memory cannot be registered.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "base/prng.h"
#include "conformance/first_team.h"
#include "run/transport/verbs/rc.h"
#include "sim/seeds.h"
#include "unit/run/transport/verbs/ends.h"

namespace tutti::transport::verbs {
namespace {

constexpr size_t kDirectBytes = 4096;
constexpr std::array<size_t, 9> kAround = {
    0, 900, kDirectBytes - 1, kDirectBytes, kDirectBytes + 1, 9000, 20'000, 60'000, 150'000};
constexpr size_t kHeader = sizeof(SlotHeader);

// Some memory that may not be registered.
void run_direct_seed(uint64_t seed) {
    Prng prng(seed);
    test::FakeRules rules{.seed = seed, .delay_ns_max = 1 + prng.below(20'000)};
    if (seed % 3 == 0) rules.exposed_bytes_max = prng.below(200'000);
    Ends ends(rules, kDirectBytes);
    write_letters(
        ends, prng, 60, [&] { return kAround[prng.below(kAround.size())]; }, 30);
}

TEST(Direct, Seeds) { test::for_each_seed(300, run_direct_seed); }

// 16 MiB: an announcement, an offer, four writes, the end; each end registers once.
TEST(Direct, NothingIsCopiedOfALongMessage) {
    Ends ends({}, kDirectBytes);
    std::deque<Letter> letters;
    Prng prng(1);
    Letter& letter = write(letters, prng, 0, 2, 16u << 20);
    recv(ends, letter);
    send(ends, letter);
    ASSERT_TRUE(ends.run_until([&] { return is_over(letter); }));
    EXPECT_EQ(letter.got, letter.sent);
    EXPECT_EQ(ends.verbs.writes(), 7u);
    EXPECT_EQ(ends.verbs.slot_bytes(), 3 * kHeader + 32);
    EXPECT_EQ(ends.verbs.exposures(), 2u);
    expect_nothing_left(ends);
}

// Other messages go on between those that are posted at a time.
TEST(Direct, FewWritesOfAMessageAreUnderWayAtATime) {
    Ends ends({}, kDirectBytes);
    std::deque<Letter> letters;
    Prng prng(11);
    Letter& letter = write(letters, prng, 0, 2, 6 * kWriteBytesMax);
    recv(ends, letter);
    send(ends, letter);
    ASSERT_TRUE(ends.run_until([&] { return ends.verbs.writes() > 2; }));
    EXPECT_EQ(ends.verbs.writes(), 2u + 4);
    ASSERT_TRUE(ends.run_until([&] { return is_over(letter); }));
    EXPECT_EQ(ends.verbs.writes(), 3u + 6);
}

// Sixteen long messages that would have four writes each under way, and then a short one.
TEST(Direct, LongMessagesLeaveRoomForShortOnes) {
    constexpr uint32_t kLong = 16;
    constexpr size_t kBytes = 4 * kWriteBytesMax;
    Ends ends({}, kDirectBytes);
    std::vector<std::byte> memory(kBytes);
    std::array<Ticket, kLong> sent;
    std::array<Ticket, kLong> received;
    for (uint32_t slot = 0; slot < kLong; ++slot) {
        const MessageId id{.slot = slot};
        ends.ends[0]->send(1, id, memory.data(), kBytes, sent[slot]);
        ends.ends[1]->recv(0, id, memory.data(), kBytes, received[slot]);
    }
    // All offers come, and then the sender looks.
    while (!ends.verbs.is_idle()) {
        ends.verbs.pump();
        ends.ends[1]->poll();
    }
    ends.ends[0]->poll();
    EXPECT_GE(ends.verbs.writes(), 2 * kLong + 4);
    EXPECT_LE(ends.verbs.writes(), 2 * kLong + 16);
    Ticket short_one;
    ends.ends[0]->send(1, {.slot = kLong}, memory.data(), 100, short_one);
    EXPECT_EQ(short_one.state, State::kDone);
}

// By an end that is not one of ours.
TEST(Direct, AnOfferOfAWrongSizeIsRefused) {
    test::FakeVerbs verbs(2, {});
    const auto stranger = std::move(verbs.device(0).make_endpoint(need_of(1, kMtuBytes)).value());
    const auto end =
        test::make_first(std::move(verbs.device(1).make_endpoint(need_of(1, kMtuBytes)).value()),
                         verbs, kMtuBytes, {0}, kDirectBytes);
    ASSERT_TRUE(stranger->connect(0, verbs.device(1).port(), end->links()->at(0).card()));
    ASSERT_TRUE(end->links()->at(0).connect(verbs.device(0).port(), stranger->card(0)));
    std::vector<std::byte> memory(20'000);
    Ticket sent;
    end->send(0, {.slot = 3}, memory.data(), memory.size(), sent);
    const SlotHeader header{.bytes = 32, .piece_bytes = 8, .piece = Piece::kOffer};
    std::byte* own = stranger->memory().data();
    const uint64_t bytes = memory.size();
    const uint32_t stream = 3;
    std::memcpy(own + 8, &bytes, sizeof bytes);
    std::memcpy(own + 16, &stream, sizeof stream);
    std::memcpy(own + 32, &header, sizeof header);
    const Write offer{.bytes = 32 + sizeof header,
                      .remote_offset = size_t{kSignSlot + 1} * kSlotBytes - 32 - sizeof header,
                      .immediate = kSignSlot};
    ASSERT_EQ(stranger->write(0, offer), 0);
    while (!verbs.is_idle()) {
        verbs.pump();
        end->poll();
    }
    EXPECT_EQ(sent.state, State::kFailed);
    EXPECT_EQ(end->error(), "RDMA to rank 0 failed: an offer of memory has a wrong size");
    EXPECT_EQ(verbs.exposed(), 0u);
}

TEST(Direct, FromTheThresholdOn) {
    for (const size_t bytes : {kDirectBytes - 1, kDirectBytes, kDirectBytes + 1}) {
        Ends ends({}, kDirectBytes);
        std::deque<Letter> letters;
        Prng prng(2);
        Letter& letter = write(letters, prng, 1, 0, bytes);
        send(ends, letter);
        recv(ends, letter);
        ASSERT_TRUE(ends.run_until([&] { return is_over(letter); }));
        EXPECT_EQ(letter.got, letter.sent);
        EXPECT_EQ(ends.verbs.exposures(), bytes < kDirectBytes ? 0u : 2u);
    }
}

// What one end does not register the other has copied.
TEST(Direct, BySlotsWhereMemoryCannotBeRegistered) {
    for (const size_t exposed : {size_t{10'000}, size_t{25'000}}) {
        Ends ends({.exposed_bytes_max = exposed}, kDirectBytes);
        std::deque<Letter> letters;
        Prng prng(3);
        // That of the second is too much beside the first one's at that end alone.
        for (const Rank from : {0u, 1u}) {
            Letter& letter = write(letters, prng, from, 0, 20'000);
            recv(ends, letter);
            send(ends, letter);
        }
        ASSERT_TRUE(ends.run_until([&] { return std::ranges::all_of(letters, is_over); }));
        for (const Letter& letter : letters) EXPECT_EQ(letter.got, letter.sent);
        EXPECT_GE(ends.verbs.slot_bytes(), 20'000u);
        EXPECT_GE(ends.ends[0]->sent_copied() + ends.ends[1]->sent_copied(), 1u);
        expect_nothing_left(ends);
    }
}

// A mapping that goes once its message is complete: whatever touched it later would die of it.
class Mapping {
  public:
    explicit Mapping(size_t bytes)
        : memory_(static_cast<std::byte*>(
              mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
          bytes_(bytes) {}
    ~Mapping() { unmap(); }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    void unmap() {
        if (memory_) munmap(memory_, bytes_);
        memory_ = nullptr;
    }
    [[nodiscard]] std::byte* get() const { return memory_; }

  private:
    std::byte* memory_;
    size_t bytes_;
};

TEST(Direct, MemoryIsMappedAnewBetweenMessages) {
    constexpr size_t kBytes = 40'000;
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        Ends ends({.seed = seed}, kDirectBytes);
        for (int i = 0; i < 4; ++i) {
            Mapping source(kBytes);
            Mapping target(kBytes);
            std::memset(source.get(), 'a' + i, kBytes);
            Ticket sent;
            Ticket received;
            ends.ends[0]->send(1, {}, source.get(), kBytes, sent);
            ends.ends[1]->recv(0, {}, target.get(), kBytes, received);
            ASSERT_TRUE(ends.run_until([&] {
                if (sent.state == State::kDone) source.unmap();
                if (received.state == State::kDone && target.get()) {
                    EXPECT_EQ(std::count(target.get(), target.get() + kBytes,
                                         static_cast<std::byte>('a' + i)),
                              static_cast<ptrdiff_t>(kBytes));
                    target.unmap();
                }
                return !source.get() && !target.get();
            }));
        }
        expect_nothing_left(ends);
    }
}

// A send that was being written when it was called off, and nobody polls any more.
TEST(Direct, MemoryOfWhatWasCalledOffMayBeGivenUp) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        Ends ends({.seed = seed}, kDirectBytes);
        Mapping source(5 * kWriteBytesMax);
        Mapping target(5 * kWriteBytesMax);
        Ticket sent;
        Ticket received;
        ends.ends[1]->recv(0, {}, target.get(), 5 * kWriteBytesMax, received);
        ends.ends[0]->send(1, {}, source.get(), 5 * kWriteBytesMax, sent);
        ASSERT_TRUE(ends.run_until([&] { return ends.verbs.writes() > 2; }));
        ends.ends[0]->cancel(sent);
        ends.ends[1]->cancel(received);
        EXPECT_EQ(ends.verbs.exposed(), 1u);
        ends.ends[0]->give_up();
        expect_nothing_left(ends);
        source.unmap();
        target.unmap();
        // What was on its way fails.
        for (int i = 0; i < 1000; ++i) ends.verbs.pump();
        ends.ends[0]->give_up();
        expect_nothing_left(ends);
        ASSERT_TRUE(ends.run_until([&] { return !ends.ends[0]->error().empty(); }));
        expect_nothing_left(ends);
    }
}

// And what was not stays where it is.
TEST(Direct, GivingUpMemoryLeavesWhatGoesOn) {
    Ends ends({}, kDirectBytes);
    std::deque<Letter> letters;
    Prng prng(12);
    Letter& letter = write(letters, prng, 0, 1, 5 * kWriteBytesMax);
    recv(ends, letter);
    send(ends, letter);
    while (!is_over(letter)) {
        for (auto& end : ends.ends) end->give_up();
        ends.turn();
    }
    EXPECT_EQ(letter.got, letter.sent);
    expect_nothing_left(ends);
}

// Whenever a send is called off: half a message is none, and the next one comes.
TEST(Direct, ASendThatIsGivenUpFailsItsReceive) {
    for (uint32_t turns = 0; turns < 40; turns += 6) {
        Ends ends({.seed = turns + 1}, kDirectBytes);
        std::deque<Letter> letters;
        Prng prng(4);
        Letter& letter = write(letters, prng, 0, 1, 5 * kWriteBytesMax);
        recv(ends, letter);
        send(ends, letter);
        for (uint32_t i = 0; i < turns; ++i) ends.turn();
        if (letter.recv.state != State::kPending) break;
        ends.ends[0]->cancel(letter.send);
        Letter& next = write(letters, prng, 0, 1, 30'000);
        send(ends, next);
        recv(ends, next);
        ASSERT_TRUE(ends.run_until([&] { return is_over(next); }));
        EXPECT_EQ(next.got, next.sent);
        const bool has_been_told = letter.recv.state == State::kDone;
        if (!has_been_told) {
            EXPECT_EQ(letter.recv.state, State::kFailed);
            EXPECT_EQ(ends.ends[1]->error(), "RDMA to rank 0 failed: that end gave up a message");
        }
        expect_nothing_left(ends);
    }
}

// Whenever a receive is called off: its memory may go. What comes for it all the same fails.
TEST(Direct, NothingIsWrittenToACancelledReceive) {
    constexpr size_t kBytes = 100'000;
    int refused = 0;
    for (uint32_t turns = 0; turns < 40; ++turns) {
        Ends ends({.seed = turns + 1}, kDirectBytes);
        Mapping target(kBytes);
        std::vector<std::byte> source(kBytes, std::byte{7});
        Ticket sent;
        Ticket received;
        ends.ends[1]->recv(0, {}, target.get(), kBytes, received);
        ends.ends[0]->send(1, {}, source.data(), kBytes, sent);
        for (uint32_t i = 0; i < turns; ++i) ends.turn();
        ends.ends[1]->cancel(received);
        EXPECT_NE(received.state, State::kPending);
        target.unmap();
        for (int i = 0; i < 1000; ++i) ends.turn();
        if (sent.state == State::kFailed) {
            ++refused;
            EXPECT_EQ(ends.ends[0]->error(),
                      "RDMA to rank 1 failed: remote access error (status 10)");
        }
        EXPECT_EQ(ends.verbs.fault(), "");
    }
    EXPECT_GT(refused, 0);
}

TEST(Direct, AReceiveThatIsSetAsideLosesNothing) {
    for (uint32_t turns = 0; turns < 60; turns += 2) {
        Ends ends({.seed = turns + 1}, kDirectBytes);
        std::deque<Letter> letters;
        Prng prng(6);
        Letter& letter = write(letters, prng, 0, 1, 30'000);
        recv(ends, letter);
        send(ends, letter);
        for (uint32_t i = 0; i < turns; ++i) ends.turn();
        State state = State::kPending;
        ASSERT_TRUE(ends.run_until([&] {
            state = ends.ends[1]->withdraw_receive(0, letter.id, letter.got.data(), 30'000,
                                                   letter.recv);
            return state != State::kPending;
        }));
        EXPECT_EQ(state, State::kDone);
        std::ranges::fill(letter.got, std::byte{0});
        recv(ends, letter);
        ASSERT_TRUE(ends.run_until([&] { return is_over(letter); }));
        EXPECT_EQ(letter.got, letter.sent);
        expect_nothing_left(ends);
    }
}

// It is found before any memory is offered, and loses nothing.
TEST(Direct, AnotherCallOrSizeIsADisagreement) {
    for (const bool is_size : {false, true}) {
        Ends ends({}, kDirectBytes);
        std::deque<Letter> letters;
        Prng prng(7);
        Letter& letter = write(letters, prng, 0, 1, 20'000);
        send(ends, letter);
        const MessageId right = letter.id;
        if (is_size) letter.got.resize(10'000);
        if (!is_size) letter.id.word.call ^= 1;
        recv(ends, letter);
        ASSERT_TRUE(ends.run_until([&] { return letter.recv.state != State::kPending; }));
        EXPECT_EQ(letter.recv.state, State::kFailed);
        EXPECT_EQ(ends.ends[1]->error(),
                  is_size ? "rank 0 sent 20000 bytes, not 10000" : "rank 0 runs another call");
        EXPECT_EQ(ends.verbs.exposures(), 0u);
        letter.id = right;
        letter.got.resize(20'000);
        ASSERT_EQ(ends.ends[1]->withdraw_receive(0, right, letter.got.data(), 20'000, letter.recv),
                  State::kDone);
        ends.ends[1]->clear_disagreement();
        recv(ends, letter);
        ASSERT_TRUE(ends.run_until([&] { return is_over(letter); }));
        EXPECT_EQ(letter.got, letter.sent);
    }
}

TEST(Direct, APeerThatIsGoneIsNamedAndItsMemoryGivenBack) {
    for (uint32_t turns = 0; turns < 40; turns += 3) {
        Ends ends({.seed = turns + 1}, kDirectBytes);
        std::deque<Letter> letters;
        Prng prng(8);
        Letter& letter = write(letters, prng, 0, 1, 100'000);
        recv(ends, letter);
        send(ends, letter);
        for (uint32_t i = 0; i < turns; ++i) ends.turn();
        if (is_over(letter)) break;
        ends.verbs.cut(turns % 2);
        ASSERT_TRUE(ends.run_until([&] {
            return letter.send.state != State::kPending && letter.recv.state != State::kPending;
        }));
        expect_nothing_left(ends);
        // Of one that is complete the other end may be gone since, too.
        for (const Rank rank : {0u, 1u}) {
            if ((rank == 0 ? letter.send : letter.recv).state == State::kDone) continue;
            EXPECT_EQ(ends.ends[rank]->error(),
                      "RDMA to rank " + std::to_string(1 - rank) +
                          " failed: transport retry counter exceeded (status 12)");
        }
    }
}

// However much lies unread: offers wait for none of it.
TEST(Direct, OffersPassWhatNobodyReads) {
    Ends ends({}, kDirectBytes);
    std::deque<Letter> letters;
    Prng prng(9);
    for (uint32_t slot = 0; slot < kSlotsMax; ++slot) {
        for (int i = 0; i < 3; ++i) send(ends, write(letters, prng, 1, slot, 4000));
    }
    for (int i = 0; i < 1000; ++i) ends.turn();
    for (uint32_t slot = 0; slot < kSlotsMax; ++slot) {
        Letter& letter = write(letters, prng, 0, slot, 50'000);
        send(ends, letter);
        recv(ends, letter);
        ASSERT_TRUE(ends.run_until([&] { return is_over(letter); })) << slot;
        EXPECT_EQ(letter.got, letter.sent);
    }
}

// Memory that is being written from is given back when that is over, also by a team that ends.
TEST(Direct, AnEndClosesBehindWhatItGaveUp) {
    for (uint32_t turns = 0; turns < 40; turns += 3) {
        Ends ends({.seed = turns + 1}, kDirectBytes);
        std::deque<Letter> letters;
        Prng prng(10);
        Letter& letter = write(letters, prng, 0, 1, 200'000);
        recv(ends, letter);
        send(ends, letter);
        for (uint32_t i = 0; i < turns; ++i) ends.turn();
        ends.ends[0]->cancel(letter.send);
        for (auto& end : ends.ends) end->close();
        ASSERT_TRUE(
            ends.run_until([&] { return ends.ends[0]->is_closed() && ends.ends[1]->is_closed(); }));
        EXPECT_EQ(ends.ends[0]->error(), "the team is gone");
        for (auto& end : ends.ends) end.reset();
        expect_nothing_left(ends);
    }
}

}  // namespace
}  // namespace tutti::transport::verbs
