// SPDX-License-Identifier: BSD-3-Clause
// Threads as ranks and as the services of three nodes, with a wire between them that loses packets:
// every word of the ring under the thread sanitizer.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "base/prng.h"
#include "conformance/mailbox.h"
#include "run/transport/carrier/ring_feed.h"
#include "run/transport/carrier/route.h"
#include "run/transport/p2p/p2p.h"
#include "unit/run/transport/carrier/ring_support.h"

namespace tutti::transport::carrier {
namespace {

using mcast::Member;
using test::ring_bytes_of;

constexpr Member kMembers = 3;
constexpr std::array<Member, 7> kMemberOf{0, 1, 2, 0, 1, 0, 1};
constexpr uint64_t kMessages = 400;
constexpr uint32_t kSlots = 8;
constexpr uint32_t kInFlight = 4;
constexpr uint64_t kLossPercent = 3;

uint64_t clock_ns() {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}
Rank sender_of(uint64_t number) {
    return static_cast<Rank>(Prng(number / 3).below(kMemberOf.size()));
}
size_t length_of(uint64_t number) { return Prng(number + 1000).below(3000); }

// All that the nodes share.
struct Wire {
    std::vector<std::unique_ptr<class Service>> services;
    std::atomic<bool> is_cut = false;
    std::atomic<uint32_t> left = 0;  // nodes
};

class Service final : public Waker {
  public:
    Service(Wire& wire, Member member, const mcast::Timing& timing)
        : memory_({kSlots,
                   static_cast<uint32_t>(std::count(kMemberOf.begin(), kMemberOf.end(), member)),
                   kMembers}),
          wire_(wire),
          loss_(member) {
        mcast::Params params;
        params.member = member;
        params.members = kMembers;
        params.window_packets = 16;
        params.posts_max = kSlots;
        params.seed = member + 1u;
        params.timing = timing;
        group_ = std::move(mcast::Group::create(params).value());
        EXPECT_TRUE(group_->open_team(kRingTeam));
        feed_ = std::make_unique<Feed>(memory_.ring(), *group_);
    }
    [[nodiscard]] Ring ring() const { return memory_.ring(); }
    void wake() override {
        const std::lock_guard lock(mutex_);
        is_woken_ = true;
        bell_.notify_one();
    }
    void stop() {
        const std::lock_guard lock(mutex_);
        is_stopped_ = true;
        bell_.notify_one();
    }
    void run() {
        for (;;) {
            if (feed_) feed_->wake_up();
            receive();
            group_->tick(clock_ns());
            if (feed_) feed_->advance(clock_ns());
            if (feed_) leave();
            send();
            if (feed_ && !feed_->may_sleep()) continue;
            std::unique_lock lock(mutex_);
            if (is_stopped_) return;
            if (!is_woken_ && packets_.empty()) sleep(lock);
            is_woken_ = false;
        }
    }

  private:
    // In place of byes, a word that all nodes see.
    void leave() {
        if (!has_left_ && !group_->given_up() && feed_->has_left()) {
            has_left_ = true;
            if (++wire_.left == kMembers) {
                for (const auto& other : wire_.services) other->wake();
            }
        }
        if (wire_.left < kMembers) return;
        feed_->end();
        feed_.reset();
    }
    void sleep(std::unique_lock<std::mutex>& lock) {
        const uint64_t due_ns = group_->next_deadline();
        const uint64_t now_ns = clock_ns();
        if (due_ns == mcast::kNever) {
            bell_.wait(lock);
        } else if (due_ns > now_ns) {
            bell_.wait_for(lock, std::chrono::nanoseconds(due_ns - now_ns));
        }
    }
    void receive() {
        for (;;) {
            std::vector<std::byte> packet;
            {
                const std::lock_guard lock(mutex_);
                if (packets_.empty()) return;
                packet = std::move(packets_.front());
                packets_.pop_front();
            }
            group_->on_packet(clock_ns(), packet);
        }
    }
    void send() {
        std::array<std::byte, 1472> out{};
        Member to = mcast::kNobody;
        while (const size_t bytes = group_->next_packet(clock_ns(), out, to)) {
            for (const auto& other : wire_.services) {
                const Member member = other->group_->params().member;
                if (other.get() == this || (to != mcast::kEverybody && to != member)) continue;
                if (wire_.is_cut || loss_.below(100) < kLossPercent) continue;
                const std::lock_guard lock(other->mutex_);
                other->packets_.emplace_back(out.begin(),
                                             out.begin() + static_cast<std::ptrdiff_t>(bytes));
                other->bell_.notify_one();
            }
        }
    }

    test::RingMemory memory_;
    Wire& wire_;
    Prng loss_;
    std::unique_ptr<mcast::Group> group_;
    std::unique_ptr<Feed> feed_;
    std::mutex mutex_;
    std::condition_variable bell_;
    std::deque<std::vector<std::byte>> packets_;
    bool is_woken_ = false;
    bool is_stopped_ = false;
    bool has_left_ = false;
};

struct Flight {
    Ticket ticket;
    std::vector<std::byte> data;
};

template <class Turn>
void carry_out(Route& route, Rank rank, Turn turn) {
    std::array<Flight, kInFlight> flights;
    Prng pace(rank);
    for (uint64_t number = 0; number < kMessages + kInFlight; ++number) {
        Flight& flight = flights[number % kInFlight];
        turn(number);
        while (route.test(flight.ticket) == State::kPending) {
            turn(number);
            std::this_thread::yield();
        }
        if (number >= kInFlight) {
            ASSERT_EQ(flight.ticket.state, State::kDone) << route.error();
            ASSERT_EQ(flight.data, ring_bytes_of(number - kInFlight, flight.data.size()));
        }
        if (number >= kMessages) continue;
        if (pace.below(50) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        const size_t bytes = length_of(number);
        if (sender_of(number) == rank) {
            flight.data = ring_bytes_of(number, bytes);
            route.multicast(number, flight.data.data(), bytes, flight.ticket);
        } else {
            flight.data.assign(bytes, std::byte{0});
            route.recv_multicast(number, sender_of(number), flight.data.data(), bytes,
                                 flight.ticket);
        }
    }
}

// Runs the services and, for each rank, `play(service, rank)`.
template <class Play>
void run_nodes(Wire& wire, const mcast::Timing& timing, Play play) {
    for (Member member = 0; member < kMembers; ++member) {
        wire.services.push_back(std::make_unique<Service>(wire, member, timing));
    }
    std::vector<std::thread> nodes;
    nodes.reserve(kMembers);
    for (const auto& service : wire.services) {
        nodes.emplace_back([&service] { service->run(); });
    }
    std::vector<std::thread> ranks;
    ranks.reserve(kMemberOf.size());
    for (Rank rank = 0; rank < kMemberOf.size(); ++rank) {
        Service& service = *wire.services[kMemberOf[rank]];
        ranks.emplace_back([&service, &play, rank] { play(service, rank); });
    }
    for (std::thread& rank : ranks) rank.join();
    for (const auto& service : wire.services) service->stop();
    for (std::thread& node : nodes) node.join();
}

TEST(RingThreads, RanksAndServicesOfThreeNodes) {
    Wire wire;
    run_nodes(wire, {}, [](Service& service, Rank rank) {
        Route route(service.ring(), service, {rank, kMemberOf});
        carry_out(route, rank, [](uint64_t) {});
        // Each when it is done; until all are, a failure would need it.
        route.leave();
        while (route.is_needed()) std::this_thread::yield();
    });
    for (const auto& service : wire.services) EXPECT_TRUE(service->ring().is_ended());
}

// Near the end nothing comes through any more. Ranks of two nodes may have freed the team when they
// find out; they take their part all the same.
TEST(RingThreads, WhoHasLeftTakesItsPart) {
    mcast::Timing timing;
    timing.ask_ns_first = 20 * mcast::kMillisecond;
    timing.ask_ns_again = 10 * mcast::kMillisecond;
    Wire wire;
    test::Mailbox mailbox(static_cast<uint32_t>(kMemberOf.size()));
    run_nodes(wire, timing, [&](Service& service, Rank rank) {
        P2p network(mailbox.callbacks(rank), 0);
        Route route(service.ring(), service, {rank, kMemberOf, &network});
        const bool is_late = kMemberOf[rank] == kMembers - 1;
        carry_out(route, rank, [&](uint64_t number) {
            const uint64_t stop = kMessages - kInFlight;
            route.watch_all(number >= stop && !route.has_failed());
            if (is_late && number == stop) {
                wire.is_cut = true;
                while (!route.has_failed()) std::this_thread::yield();
            }
            if (number < kMessages) route.begin_call(number);
            route.step();
        });
        route.leave();
        route.watch_all(true);
        while (route.is_needed()) std::this_thread::yield();
        EXPECT_TRUE(route.has_failed());
        EXPECT_TRUE(route.is_decided());
    });
    EXPECT_EQ(mailbox.under_way(), 0u);
}

// In the midst nothing comes through any more. All find out by themselves, and go on by messages.
TEST(RingThreads, RanksGoOnWhenTheWireIsCut) {
    mcast::Timing timing;
    timing.ask_ns_first = 20 * mcast::kMillisecond;
    timing.ask_ns_again = 10 * mcast::kMillisecond;
    Wire wire;
    test::Mailbox mailbox(static_cast<uint32_t>(kMemberOf.size()));
    std::atomic<size_t> done = 0;
    std::array<uint64_t, kMemberOf.size()> ends{};
    run_nodes(wire, timing, [&](Service& service, Rank rank) {
        P2p network(mailbox.callbacks(rank), 0);
        Route route(service.ring(), service, {rank, kMemberOf, &network});
        carry_out(route, rank, [&](uint64_t number) {
            if (number == kMessages / 2) wire.is_cut = true;
            route.watch_all(number > kMessages / 2);
            if (number < kMessages) route.begin_call(number);
            route.step();
        });
        ++done;
        while (done < kMemberOf.size() || route.step() == State::kPending) {
            route.step();
            std::this_thread::yield();
        }
        EXPECT_TRUE(route.is_decided());
        EXPECT_EQ(route.step(), State::kDone);
        ends[rank] = route.calls_end();
    });
    for (const uint64_t end : ends) EXPECT_EQ(end, ends[0]);
    EXPECT_EQ(mailbox.under_way(), 0u);
}

}  // namespace
}  // namespace tutti::transport::carrier
