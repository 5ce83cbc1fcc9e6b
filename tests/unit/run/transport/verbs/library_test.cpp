// SPDX-License-Identifier: BSD-3-Clause
// Over two real ports, as TUTTI_TEST_VERBS="rxe1 rxe2" names them; soft-RoCE in a virtual machine
// will do.
#include "run/transport/verbs/library.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/prng.h"
#include "conformance/first_team.h"
#include "run/transport/verbs/rc.h"

namespace tutti::transport::verbs {
namespace {

// Messages from here on go straight.
constexpr size_t kDirectBytes = 64u << 10;

class RealClock final : public Clock {
  public:
    uint64_t now_ns() override {
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
               static_cast<uint64_t>(now.tv_nsec);
    }
};

class Library : public testing::Test {
  protected:
    void SetUp() override {
        const char* ports = std::getenv("TUTTI_TEST_VERBS");
        if (!ports) GTEST_SKIP() << "two RDMA ports: TUTTI_TEST_VERBS";
        std::istringstream names(ports);
        for (auto& device : devices_) {
            std::string name;
            names >> name;
            VerbsSettings settings;
            settings.device = name;
            settings.timeout = 14;  // as a peer that is gone is waited for
            auto opened = open_library(settings);
            ASSERT_TRUE(opened) << opened.error().message;
            device = std::move(opened.value());
        }
        for (uint32_t i = 0; i < 2; ++i) {
            const uint32_t mtu_bytes = devices_[i]->port().mtu_bytes;
            Need need = need_of(1, mtu_bytes);
            need.may_sleep = true;
            auto endpoint = devices_[i]->make_endpoint(need);
            ASSERT_TRUE(endpoint) << endpoint.error().message;
            endpoints_[i] = endpoint.value().get();
            ends_[i] = test::make_first(std::move(endpoint.value()), clock_, mtu_bytes,
                                        std::vector<Rank>{1 - i}, kDirectBytes, polls_tails_);
        }
        for (uint32_t i = 0; i < 2; ++i) {
            const auto connected = ends_[i]->links()->at(0).connect(
                devices_[1 - i]->port(), ends_[1 - i]->links()->at(0).card());
            ASSERT_TRUE(connected) << connected.error().message;
        }
    }
    // A minute at most: a peer is given up in much less.
    template <class Condition>
    bool run_until(Condition is_over) {
        const uint64_t end_ns = clock_.now_ns() + 60'000'000'000;
        while (clock_.now_ns() < end_ns) {
            if (is_over()) return true;
            for (auto& end : ends_) {
                if (end) end->poll();
            }
            sched_yield();
        }
        return false;
    }

    void exchange();

    bool polls_tails_ = false;
    RealClock clock_;
    std::array<std::unique_ptr<Device>, 2> devices_;
    std::array<std::unique_ptr<Rc>, 2> ends_;
    std::array<Endpoint*, 2> endpoints_{};  // theirs
};

void Library::exchange() {
    Prng prng(1);
    for (uint32_t i = 0; i < 300; ++i) {
        std::array<std::vector<std::byte>, 2> sent;
        std::array<std::vector<std::byte>, 2> got;
        std::array<Ticket, 4> tickets;
        MessageId id;
        id.slot = i % kSlotsMax;
        const size_t bytes = prng.below(i % 10 == 0 ? 200'000 : 3000);
        for (uint32_t end = 0; end < 2; ++end) {
            got[end].resize(bytes);
            sent[end].resize(bytes);
            for (std::byte& byte : sent[end]) byte = static_cast<std::byte>(prng.next() & 0xff);
        }
        for (uint32_t end = 0; end < 2; ++end) {
            ends_[end]->send(1 - end, id, sent[end].data(), bytes, tickets[end]);
            ends_[end]->recv(1 - end, id, got[end].data(), bytes, tickets[2 + end]);
        }
        for (Ticket& ticket : tickets) {
            ASSERT_TRUE(run_until([&] { return ticket.state != State::kPending; }));
            ASSERT_EQ(ticket.state, State::kDone) << ends_[0]->error() << ends_[1]->error();
        }
        ASSERT_EQ(got[0], sent[1]);
        ASSERT_EQ(got[1], sent[0]);
    }
    for (auto& end : ends_) end->close();
    EXPECT_TRUE(run_until([&] {
        const bool is_closed = ends_[0]->is_closed();
        return ends_[1]->is_closed() && is_closed;
    }));
}

TEST_F(Library, MessagesBothWaysAndTheEnd) { exchange(); }

// One processor places what comes on soft-RoCE, in order.
class LibraryTails : public Library {
  protected:
    LibraryTails() { polls_tails_ = true; }
};

TEST_F(LibraryTails, MessagesBothWaysAndTheEnd) { exchange(); }

// 9 MiB: three writes each way.
TEST_F(Library, LongMessagesGoStraight) {
    constexpr size_t kBytes = 9u << 20;
    std::vector<std::byte> memory(kBytes);
    const Region region = endpoints_[0]->expose(memory.data(), kBytes, true);
    ASSERT_TRUE(region.handle) << "memory cannot be registered here";
    endpoints_[0]->conceal(region);
    std::array<Ticket, 4> tickets;
    std::array<std::vector<std::byte>, 2> got;
    std::array<std::vector<std::byte>, 2> sent;
    for (uint32_t end = 0; end < 2; ++end) {
        got[end].resize(kBytes);
        sent[end].resize(kBytes, static_cast<std::byte>(end + 1));
        ends_[end]->recv(1 - end, {}, got[end].data(), kBytes, tickets[end]);
        ends_[end]->send(1 - end, {}, sent[end].data(), kBytes, tickets[2 + end]);
    }
    for (Ticket& ticket : tickets) {
        run_until([&] { return ticket.state != State::kPending; });
        ASSERT_EQ(ticket.state, State::kDone) << ends_[0]->error() << ends_[1]->error();
    }
    EXPECT_EQ(got[0], sent[1]);
    EXPECT_EQ(got[1], sent[0]);
}

// The sum is seen by looking, and each addition is told another one.
TEST_F(Library, AdditionsAreSeenAndTold) {
    constexpr uint64_t kAdds = 500;
    std::atomic_ref<uint64_t> sum(endpoints_[1]->words()[kCounter]);
    for (uint64_t number = 1; number <= kAdds; ++number) {
        const Add add{.word = kCounter, .former = kFormer, .is_signaled = true, .number = number};
        ASSERT_EQ(endpoints_[0]->add(0, add), 0);
        std::array<Completion, 1> completion;
        while (endpoints_[0]->poll(completion) == 0) sched_yield();
        ASSERT_EQ(completion[0].status, 0) << endpoints_[0]->status_text(completion[0].status);
        ASSERT_EQ(completion[0].number, number);
        ASSERT_EQ(endpoints_[0]->words()[kFormer], number - 1);
        ASSERT_EQ(sum.load(std::memory_order_acquire), number);
    }
}

// Rank 0's way to its own word. The device takes it as any other.
TEST_F(Library, AnEndIsConnectedWithItself) {
    const uint32_t mtu_bytes = devices_[0]->port().mtu_bytes;
    auto endpoint = devices_[0]->make_endpoint(need_of(2, mtu_bytes));
    ASSERT_TRUE(endpoint) << endpoint.error().message;
    Endpoint& words = *endpoint.value();
    const auto first =
        test::make_first(std::move(endpoint.value()), clock_, mtu_bytes, {0, 1}, kDirectBytes);
    Rc& own = *first;
    auto connected = own.links()->at(0).connect(devices_[0]->port(), own.links()->at(0).card());
    ASSERT_TRUE(connected) << connected.error().message;
    endpoint = devices_[1]->make_endpoint(need_of(1, mtu_bytes));
    ASSERT_TRUE(endpoint) << endpoint.error().message;
    const auto second =
        test::make_first(std::move(endpoint.value()), clock_, mtu_bytes, {0}, kDirectBytes);
    Rc& other = *second;
    connected = own.links()->at(1).connect(devices_[1]->port(), other.links()->at(0).card());
    ASSERT_TRUE(connected) << connected.error().message;
    connected = other.links()->at(0).connect(devices_[0]->port(), own.links()->at(1).card());
    ASSERT_TRUE(connected) << connected.error().message;
    own.use_adders(2);
    other.use_adders(2);
    std::vector<std::byte> in(3 * mtu_bytes);
    for (uint64_t i = 0; i < 300; ++i) {
        const std::vector<std::byte> out(in.size(), static_cast<std::byte>(i));
        std::array<Ticket, 4> tickets;
        own.recv(0, {}, in.data(), in.size(), tickets[0]);
        own.send(0, {}, out.data(), out.size(), tickets[1]);
        own.fetch_add(1, tickets[2]);
        other.fetch_add(1, tickets[3]);
        ASSERT_TRUE(run_until([&] {
            own.poll();
            other.poll();
            return std::ranges::none_of(
                tickets, [](const Ticket& one) { return one.state == State::kPending; });
        }));
        for (const Ticket& ticket : tickets) ASSERT_EQ(ticket.state, State::kDone) << own.error();
        ASSERT_EQ(in, out);
        ASSERT_EQ(std::max(tickets[2].number, tickets[3].number), 2 * i + 1);
        ASSERT_EQ(std::min(tickets[2].number, tickets[3].number), 2 * i);
    }
    EXPECT_EQ(words.words()[kArrivals], 600u);
    own.close();
    other.close();
    EXPECT_TRUE(run_until([&] {
        const bool is_closed = own.is_closed();
        return other.is_closed() && is_closed;
    }));
}

// Among others, both ways.
TEST_F(Library, MessagesAreCounted) {
    std::array<std::byte, 8> memory{};
    for (uint64_t call = 0; call < 300; ++call) {
        std::array<Ticket, 8> tickets;
        MessageId id;
        id.word = {call, ~call, 0};
        MessageId counted = id;
        counted.is_counted = true;
        for (uint32_t end = 0; end < 2; ++end) {
            ends_[end]->recv(1 - end, counted, nullptr, 0, tickets[end]);
            ends_[end]->recv(1 - end, id, memory.data(), memory.size(), tickets[2 + end]);
            ends_[end]->send(1 - end, counted, nullptr, 0, tickets[4 + end]);
            ends_[end]->send(1 - end, id, memory.data(), memory.size(), tickets[6 + end]);
        }
        for (Ticket& ticket : tickets) {
            ASSERT_TRUE(run_until([&] { return ticket.state != State::kPending; }));
            ASSERT_EQ(ticket.state, State::kDone) << ends_[0]->error() << ends_[1]->error();
        }
    }
    EXPECT_GT(endpoints_[0]->words()[kCounter], 300u);
}

// As the fake has it (tests/conformance/fake_verbs.h).
TEST_F(Library, AWriteToMemoryThatWasGivenBackFailsAndChangesNothing) {
    std::vector<std::byte> source(10'000, std::byte{1});
    std::vector<std::byte> target(10'000, std::byte{2});
    const Region from = endpoints_[0]->expose(source.data(), source.size(), false);
    const Region into = endpoints_[1]->expose(target.data(), target.size(), true);
    ASSERT_TRUE(from.handle && into.handle);
    endpoints_[1]->conceal(into);
    DirectWrite write{.from = from, .source = source.data(), .bytes = source.size()};
    write.address = reinterpret_cast<uint64_t>(target.data());
    write.key = into.key;
    write.number = 1;
    ASSERT_EQ(endpoints_[0]->write_direct(0, write), 0);
    std::array<Completion, 1> completion;
    while (endpoints_[0]->poll(completion) == 0) sched_yield();
    EXPECT_EQ(completion[0].status, 10) << endpoints_[0]->status_text(completion[0].status);
    EXPECT_EQ(target, std::vector<std::byte>(10'000, std::byte{2}));
    endpoints_[0]->conceal(from);
}

TEST_F(Library, APeerThatIsGoneIsNoticedAndNamed) {
    ends_[0].reset();
    std::array<std::byte, 8> memory{};
    Ticket ticket;
    ends_[1]->recv(0, {}, memory.data(), memory.size(), ticket);
    ASSERT_TRUE(run_until([&] { return ticket.state != State::kPending; }));
    EXPECT_EQ(ends_[1]->error(),
              "RDMA to rank 0 failed: transport retry counter exceeded (status 12)");
}

// A fabric that tells of nothing would end the poll, at last.
TEST_F(Library, WhoSleepsIsWokenByAMessage) {
    constexpr int kFarTooLongMs = 60'000;
    std::array<std::byte, 8> memory{};
    for (uint32_t i = 0; i < 200; ++i) {
        const uint32_t to = i % 2;
        std::array<Ticket, 2> tickets;
        ends_[to]->recv(1 - to, {}, memory.data(), memory.size(), tickets[0]);
        pollfd fd{ends_[to]->wait_fd(), POLLIN, 0};
        ASSERT_GE(fd.fd, 0);
        while (!ends_[to]->arm()) {
        }
        ASSERT_EQ(tickets[0].state, State::kPending);
        ends_[1 - to]->send(to, {}, memory.data(), memory.size(), tickets[1]);
        while (tickets[0].state == State::kPending) {
            ASSERT_EQ(::poll(&fd, 1, kFarTooLongMs), 1);
            static_cast<void>(ends_[to]->arm());
        }
        ASSERT_EQ(tickets[0].state, State::kDone) << ends_[to]->error();
    }
}

TEST(LibraryAlone, AnUnknownPortIsAnError) {
    VerbsSettings settings;
    settings.device = "no_such_device:1";
    const auto opened = open_library(settings);
    ASSERT_FALSE(opened);
    // By what this machine has.
    const std::set<std::string> kReasons = {
        "this host has no RDMA device no_such_device:1", "this host has no RDMA device",
        "libibverbs.so.1 is not there",
        "this build uses no RDMA devices: it had no infiniband/verbs.h"};
    EXPECT_TRUE(kReasons.contains(opened.error().message)) << opened.error().message;
}

}  // namespace
}  // namespace tutti::transport::verbs
