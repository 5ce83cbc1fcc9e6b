// SPDX-License-Identifier: BSD-3-Clause
// Parts of Rc, each alone on an endpoint that counts what is registered.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "run/transport/verbs/counted_receives.h"
#include "run/transport/verbs/exposures.h"
#include "run/transport/verbs/link.h"
#include "run/transport/verbs/link_peers.h"
#include "run/transport/verbs/team_peer.h"
#include "run/transport/verbs/team_share.h"

namespace tutti::transport::verbs {
namespace {

struct StubRc final : Endpoint {
    std::span<std::byte> memory() override { return {}; }
    std::span<uint64_t> words() override { return all_words; }
    PairCard card(uint32_t /*pair*/) override { return {}; }
    Result<Done> connect(uint32_t, const PortCard&, const PairCard&) override { return Done{}; }
    int write(uint32_t, const Write&) override { return 0; }
    int write_direct(uint32_t, const DirectWrite&) override { return 0; }
    int add(uint32_t, const Add&) override { return 0; }
    Region expose(const std::byte* at, size_t bytes, bool is_target) override {
        if (refuses) return {};
        auto* handle = reinterpret_cast<void*>(++made);
        registered.insert(handle);
        last = {at, bytes};
        last_is_target = is_target;
        return {handle, 0};
    }
    void conceal(const Region& region) override {
        EXPECT_EQ(registered.erase(region.handle), 1u) << "given up twice";
    }
    int recv(uint32_t) override { return 0; }
    int poll(std::span<Completion>) override { return 0; }
    [[nodiscard]] const char* status_text(int) const override { return ""; }

    std::vector<uint64_t> all_words = std::vector<uint64_t>(kWords);
    std::set<void*> registered;
    std::span<const std::byte> last;
    uintptr_t made = 0;
    bool last_is_target = false;
    bool refuses = false;
};

class ExposuresTest : public testing::Test {
  protected:
    static constexpr size_t kLong = 4096;
    static constexpr size_t kShort = 512;
    ExposuresTest() { exposures_.use(kShort, 0); }
    ~ExposuresTest() override {
        exposures_.conceal_all();
        EXPECT_TRUE(endpoint_.registered.empty());
    }
    std::span<std::byte> memory(size_t offset, size_t bytes) {
        return std::span(bytes_).subspan(offset, bytes);
    }
    std::vector<std::byte> bytes_ = std::vector<std::byte>(16 * kLong);
    StubRc endpoint_;
    Exposures exposures_{endpoint_, kLong};
};

TEST_F(ExposuresTest, ALongMessageIsRegisteredByItself) {
    EXPECT_TRUE(exposures_.goes_straight(bytes_.data(), kLong, 0));
    EXPECT_FALSE(exposures_.goes_straight(bytes_.data(), kLong - 1, 0));
    Exposures::Lease lease = exposures_.lease_source(bytes_.data(), kLong);
    EXPECT_EQ(endpoint_.last.size(), kLong);
    exposures_.give_back(lease);
    EXPECT_EQ(lease.region.handle, nullptr);
    EXPECT_TRUE(endpoint_.registered.empty());
    exposures_.give_back(lease);  // nothing is left to give
}

TEST_F(ExposuresTest, ExposedMemoryIsRegisteredOnceAsAWhole) {
    exposures_.expose(memory(0, 2 * kLong), Memory::kScratch);
    EXPECT_TRUE(exposures_.goes_straight(bytes_.data() + kShort, kShort, 0));
    EXPECT_FALSE(exposures_.goes_straight(bytes_.data() + kShort, kShort, exposures_.count()));
    Exposures::Lease one = exposures_.lease_target(bytes_.data(), kShort);
    EXPECT_TRUE(endpoint_.last_is_target);
    Exposures::Lease other = exposures_.lease_target(bytes_.data() + kLong, kShort);
    EXPECT_EQ(one.region.handle, other.region.handle);
    EXPECT_EQ(endpoint_.last.size(), 2 * kLong);
    EXPECT_EQ(endpoint_.made, 1u);
    exposures_.give_back(one);
    exposures_.give_back(other);
    EXPECT_EQ(endpoint_.registered.size(), 1u) << "until it is concealed";
    exposures_.conceal(memory(0, 2 * kLong));
    EXPECT_TRUE(endpoint_.registered.empty());
    // Outside of it, or where there is none, a short message has nothing registered.
    EXPECT_EQ(exposures_.lease_target(bytes_.data(), kShort).region.handle, nullptr);
}

// Nothing may be written there any more, but a send still reads.
TEST_F(ExposuresTest, ConcealedMemoryIsReadToTheEnd) {
    exposures_.expose(memory(0, kLong), Memory::kScratch);
    Exposures::Lease target = exposures_.lease_target(bytes_.data(), kShort);
    Exposures::Lease source = exposures_.lease_source(bytes_.data(), kShort);
    EXPECT_EQ(endpoint_.registered.size(), 2u);
    exposures_.give_back(target);
    exposures_.conceal(memory(0, kLong));
    EXPECT_EQ(endpoint_.registered, std::set<void*>{source.region.handle});
    exposures_.give_back(source);
    EXPECT_TRUE(endpoint_.registered.empty());
}

TEST_F(ExposuresTest, WhatWasRefusedIsNotAskedForAgain) {
    exposures_.expose(memory(0, kLong), Memory::kScratch);
    endpoint_.refuses = true;
    EXPECT_EQ(exposures_.lease_target(bytes_.data(), kShort).region.handle, nullptr);
    EXPECT_EQ(exposures_.lease_source(bytes_.data(), kShort).region.handle, nullptr);
    endpoint_.refuses = false;
    EXPECT_EQ(exposures_.lease_target(bytes_.data(), kShort).region.handle, nullptr);
    EXPECT_FALSE(exposures_.goes_straight(bytes_.data(), kShort, 0));
}

class CountedReceivesTest : public testing::Test {
  protected:
    void post(uint32_t index, uint32_t pair, const CallWord& word = {}) {
        tickets_[index].number = pair * kSlotsMax;
        tickets_[index].state = State::kPending;
        Operation* operation = pool_.take();
        operation->ticket = &tickets_[index];
        operation->word = word;
        counted_.add(pair, operation);
    }
    void come(const CallWord& word = {}) { endpoint_.all_words[kCounter] += counted_amount(word); }
    [[nodiscard]] State state(uint32_t index) const { return tickets_[index].state; }

    StubRc endpoint_;
    OperationPool pool_;
    CountedReceives counted_{endpoint_, pool_, 3};
    std::array<Ticket, 4> tickets_;
};

TEST_F(CountedReceivesTest, AreCompleteWhenAllHaveCome) {
    post(0, 1);
    post(1, 2);
    come();
    EXPECT_TRUE(counted_.take());
    EXPECT_EQ(state(0), State::kPending);
    come();
    EXPECT_TRUE(counted_.take());
    EXPECT_EQ(state(0), State::kDone);
    EXPECT_EQ(state(1), State::kDone);
    EXPECT_EQ(counted_.count(), 2u);
    EXPECT_FALSE(counted_.is_waiting());
}

TEST_F(CountedReceivesTest, AnotherCallIsFoundOut) {
    post(0, 1, {5, 4, 0});
    come({6, 5, 0});
    EXPECT_FALSE(counted_.take());
    EXPECT_EQ(state(0), State::kFailed);
}

TEST_F(CountedReceivesTest, WhatIsWithdrawnCountsForTheNextOne) {
    post(0, 1);
    EXPECT_TRUE(counted_.withdraw(tickets_[0]));
    EXPECT_FALSE(counted_.withdraw(tickets_[0]));
    come();
    post(1, 1);
    EXPECT_TRUE(counted_.take());
    EXPECT_EQ(state(1), State::kDone);
}

TEST_F(CountedReceivesTest, ThoseOfAPairFailWithIt) {
    post(0, 1);
    post(1, 2);
    post(2, 1);
    counted_.drop(1);
    EXPECT_EQ(state(0), State::kFailed);
    EXPECT_EQ(state(1), State::kPending);
    EXPECT_EQ(state(2), State::kFailed);
    EXPECT_FALSE(counted_.is_waiting(1));
    EXPECT_TRUE(counted_.is_waiting(2));
    EXPECT_TRUE(counted_.cancel(tickets_[1]));
    EXPECT_FALSE(counted_.cancel(tickets_[1]));
}

// Two teams with a peer each, by one link.
class LinkPeersTest : public testing::Test {
  protected:
    LinkPeersTest() { peers_.reserve(2); }
    // The teams that are asked whether they have more to do, which all of them say if `more`.
    std::vector<const TeamPeer*> asked(bool more) {
        std::vector<const TeamPeer*> found;
        peers_.advance([&](const TeamPeer& peer) {
            found.push_back(&peer);
            return more;
        });
        return found;
    }

    StubRc endpoint_;
    LinkShare links_{endpoint_, SlotMemory({}), kSlotBytes, false, {}};
    Link link_{links_, 0};
    TeamShare first_{endpoint_, 0, 0, 1};
    TeamShare second_{endpoint_, 1, 0, 1};
    TeamPeer of_first_{first_, 0, 7, link_, nullptr};
    TeamPeer of_second_{second_, 0, 3, link_, nullptr};
    LinkPeers peers_;
};

TEST_F(LinkPeersTest, ThoseThatAreMarkedAreAskedUntilNothingIsLeft) {
    using All = std::vector<const TeamPeer*>;
    peers_.join(0, of_first_);
    peers_.join(1, of_second_);
    EXPECT_EQ(asked(true), All{});
    peers_.mark(1);
    EXPECT_EQ(asked(true), All{&of_second_});
    peers_.mark(0);
    EXPECT_EQ(asked(false), (All{&of_first_, &of_second_}));
    EXPECT_FALSE(peers_.is_marked());
}

TEST_F(LinkPeersTest, ATeamThatIsGoneIsAskedNothing) {
    peers_.join(0, of_first_);
    peers_.join(1, of_second_);
    peers_.mark(1);
    peers_.forget(1);
    EXPECT_EQ(peers_.at(1), nullptr);
    EXPECT_EQ(peers_.at(2), nullptr) << "it was never here";
    EXPECT_FALSE(peers_.any([&](const TeamPeer& peer) { return &peer == &of_second_; }));
    EXPECT_TRUE(peers_.any([&](const TeamPeer& peer) { return &peer == &of_first_; }));
    EXPECT_TRUE(asked(true).empty());
    EXPECT_FALSE(peers_.is_marked());
}

// Of each stream the first message alone may be under way from memory to memory.
TEST(TeamShare, WhatIsWrittenFromStaysRegisteredWhenAllElseIsDropped) {
    StubRc endpoint;
    TeamShare share(endpoint, 0, 1, 1);
    StreamLines lines;
    std::array<Ticket, 4> tickets;
    std::array<std::byte, 64> memory{};
    for (uint32_t i = 0; i < 4; ++i) {
        tickets[i].state = State::kPending;
        Operation* operation = share.pool.take();
        operation->ticket = &tickets[i];
        lines.append(i < 3 ? 0 : 1, operation);
    }
    Operation* writing = lines.first(0);
    writing->lease = share.exposures.lease_source(memory.data(), memory.size());
    ASSERT_TRUE(writing->is_registered());
    share.drop_but_registered(lines);
    for (const Ticket& ticket : tickets) EXPECT_EQ(ticket.state, State::kFailed);
    EXPECT_EQ(lines.busy(), 1u);
    EXPECT_EQ(lines.first(0), writing);
    EXPECT_EQ(writing->next, nullptr);
    EXPECT_EQ(writing->ticket, nullptr);
    EXPECT_EQ(endpoint.registered.size(), 1u);
    share.drop(lines);
    EXPECT_EQ(lines.busy(), 0u);
    EXPECT_TRUE(endpoint.registered.empty());
}

}  // namespace
}  // namespace tutti::transport::verbs
