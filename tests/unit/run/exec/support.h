// SPDX-License-Identifier: BSD-3-Clause
// An operator whose order of operands shows, programs written down by hand, and a network in
// memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "run/exec/executor.h"
#include "run/node/kernels/kernels.h"

namespace tutti::test {

// x -> a x + b. Applying one after the other is associative and does not commute.
struct Affine {
    uint32_t a;
    uint32_t b;
    bool operator==(const Affine&) const = default;
};
inline Affine then(const Affine& left, const Affine& right) {
    return {left.a * right.a, left.b * right.a + right.b};
}
inline void apply_affine(void*, const void* left, void* inout, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        auto* to = static_cast<Affine*>(inout) + i;
        *to = then(static_cast<const Affine*>(left)[i], *to);
    }
}

// operations[lane][round]
class ListProgram final : public sched::Program {
  public:
    using Lane = std::vector<std::vector<sched::Operation>>;
    ListProgram(std::vector<Lane> lanes, uint32_t lanes_in_flight, uint64_t scratch_bytes)
        : lanes_(std::move(lanes)),
          lanes_in_flight_(lanes_in_flight),
          scratch_bytes_(scratch_bytes) {}

    [[nodiscard]] std::string_view name() const override { return "list"; }
    [[nodiscard]] sched::Extent extent() const override {
        uint64_t rounds = 0;
        uint64_t multicasts = 0;
        for (const Lane& lane : lanes_) {
            rounds = std::max<uint64_t>(rounds, lane.size());
            for (const auto& round : lane) {
                multicasts += static_cast<uint64_t>(
                    std::count_if(round.begin(), round.end(), [](const auto& one) {
                        return sched::is_multicast(one.kind) ||
                               one.kind == sched::OperationKind::kMeetMulticast;
                    }));
            }
        }
        return {lanes_.size(), lanes_in_flight_, rounds, scratch_bytes_, multicasts};
    }
    void read(uint64_t lane, uint64_t round, sched::Round& out) const override {
        ++reads;
        out.clear();
        if (round >= lanes_[lane].size()) return;
        for (const sched::Operation& operation : lanes_[lane][round]) out.add(operation);
    }

    mutable uint64_t reads = 0;

  private:
    std::vector<Lane> lanes_;
    uint32_t lanes_in_flight_;
    uint64_t scratch_bytes_;
};

// Carries messages between its endpoints, in the order in which they were posted per pair and slot,
// and demands that both sides post them in the same order. A send is complete when it was received.
// Nothing arrives while it is `held`.
class Network {
  public:
    struct Posted {
        transport::MessageId id;
        const std::byte* out = nullptr;
        std::byte* in = nullptr;
        size_t bytes = 0;
        uint64_t number = 0;
    };

    bool held = false;
    uint64_t held_tests = 0;  // so many find nothing yet
    bool broken = false;
    // Of the word of all (Transport::fetch_add): ranks that can add, 0: there is none.
    uint32_t adders = 0;
    uint64_t word = 0;
    uint64_t additions = 0;
    uint64_t looks = 0;  // additions of nothing
    uint64_t posted_count = 0;
    uint64_t tests = 0;
    uint64_t polls = 0;
    std::vector<std::span<std::byte>> exposed;
    std::vector<transport::Memory> kinds;  // of all that ever was

    class Endpoint final : public transport::Transport {
      public:
        Endpoint(Network& network, uint32_t rank) : network_(network), rank_(rank) {}
        void send(uint32_t peer, const transport::MessageId& id, const std::byte* data,
                  size_t bytes, transport::Ticket& ticket) override {
            network_.post({rank_, peer, id.slot}, {id, data, nullptr, bytes, 0}, true, ticket);
        }
        void recv(uint32_t peer, const transport::MessageId& id, std::byte* data, size_t bytes,
                  transport::Ticket& ticket) override {
            network_.post({peer, rank_, id.slot}, {id, nullptr, data, bytes, 0}, false, ticket);
        }
        transport::State test(transport::Ticket& ticket) override {
            const std::lock_guard lock(network_.mutex_);
            ++network_.tests;
            if (network_.broken) return ticket.state = transport::State::kFailed;
            if (network_.held) return transport::State::kPending;
            if (network_.held_tests > 0) {
                --network_.held_tests;
                return transport::State::kPending;
            }
            auto* state = static_cast<bool*>(ticket.handle);
            if (!state || *state) ticket.state = transport::State::kDone;
            return ticket.state;
        }
        [[nodiscard]] uint32_t adders() const override { return network_.adders; }
        // At once; it is told when it is tested.
        void fetch_add(uint64_t amount, transport::Ticket& ticket) override {
            const std::lock_guard lock(network_.mutex_);
            EXPECT_NE(ticket.state, transport::State::kPending) << "one at a time";
            ++(amount == 0 ? network_.looks : network_.additions);
            ticket.state = transport::State::kPending;
            ticket.handle = nullptr;
            ticket.number = std::exchange(network_.word, network_.word + amount);
        }
        // What comes is for the next receive.
        [[nodiscard]] bool can_withdraw_receives() const override { return true; }
        [[nodiscard]] transport::State withdraw_receive(uint32_t, const transport::MessageId&,
                                                        const std::byte*, size_t,
                                                        transport::Ticket& ticket) override {
            cancel(ticket);
            return transport::State::kDone;
        }
        void cancel(transport::Ticket& ticket) override {
            const std::lock_guard lock(network_.mutex_);
            for (auto& [way, queues] : network_.queues_) {
                std::erase_if(queues.recvs, [&](const End& one) {
                    return one.done == static_cast<bool*>(ticket.handle);
                });
            }
        }
        void poll() override {
            const std::lock_guard lock(network_.mutex_);
            ++network_.polls;
        }
        void expose(std::span<std::byte> memory, transport::Memory kind) override {
            const std::lock_guard lock(network_.mutex_);
            network_.exposed.reserve(network_.exposed.size() + 1);
            network_.kinds.reserve(network_.kinds.size() + 1);
            network_.exposed.push_back(memory);
            network_.kinds.push_back(kind);
        }
        void conceal(std::span<std::byte> memory) override {
            const std::lock_guard lock(network_.mutex_);
            const auto is_it = [&](const auto& one) {
                return one.data() == memory.data() && one.size() == memory.size();
            };
            EXPECT_EQ(std::erase_if(network_.exposed, is_it), 1u);
        }
        [[nodiscard]] std::string error() const override { return "the cable is out"; }

      private:
        Network& network_;
        uint32_t rank_;
    };

  private:
    using Way = std::tuple<uint32_t, uint32_t, uint32_t>;  // from, to, slot
    struct End {
        Posted posted;
        bool* done;
    };
    struct Queues {
        std::deque<End> sends;
        std::deque<End> recvs;
    };

    void post(const Way& way, const Posted& posted, bool is_send, transport::Ticket& ticket) {
        const std::lock_guard lock(mutex_);
        ++posted_count;
        flags_.push_back(false);
        ticket.state = transport::State::kPending;
        ticket.handle = &flags_.back();
        Queues& queues = queues_[way];
        (is_send ? queues.sends : queues.recvs).push_back({posted, &flags_.back()});
        while (!queues.sends.empty() && !queues.recvs.empty()) {
            const End from = queues.sends.front();
            const End to = queues.recvs.front();
            queues.sends.pop_front();
            queues.recvs.pop_front();
            EXPECT_EQ(from.posted.id, to.posted.id);
            if (from.posted.id.may_be_short) {
                EXPECT_LE(from.posted.bytes, to.posted.bytes);
            } else {
                EXPECT_EQ(from.posted.bytes, to.posted.bytes);
            }
            if (from.posted.bytes > 0) {
                std::memcpy(to.posted.in, from.posted.out, from.posted.bytes);
            }
            *from.done = *to.done = true;
        }
    }

    std::mutex mutex_;
    std::map<Way, Queues> queues_;
    std::deque<bool> flags_;
};

// The multicast routes of some ranks, in memory made beforehand. A multicast is complete when all
// have posted it: no route may be later. Demands that all say the same of it.
class Bus {
    // No rank is further ahead of another than what may be in flight.
    static constexpr size_t kCasts = 2 * size_t{sched::kMulticastsInFlightMax};
    struct Cast {
        uint32_t sender = 0;
        const std::byte* source = nullptr;
        size_t bytes = 0;
        uint32_t posts = 0;
        std::vector<std::byte*> targets;  // by rank
        std::vector<bool*> done;
    };
    struct Offered {
        bool is_there = false;
        uint64_t number = 0;
        std::vector<std::byte> data;
    };

  public:
    uint64_t fails_from = ~uint64_t{0};  // of numbers that are offered

    explicit Bus(uint32_t ranks) : offered_(kCasts), ranks_(ranks), casts_(kCasts) {
        for (Offered& offered : offered_) offered.data.reserve(transport::kMulticastBytesMax);
        for (Cast& cast : casts_) {
            cast.targets.resize(ranks);
            cast.done.resize(ranks);
        }
    }

    class End final : public transport::Multicast {
      public:
        End(Bus& bus, uint32_t rank) : bus_(bus), rank_(rank) {}
        void multicast(uint64_t number, const std::byte* data, size_t bytes,
                       transport::Ticket& ticket) override {
            const std::lock_guard lock(bus_.mutex_);
            bus_.cast(number).source = data;
            post(number, rank_, nullptr, bytes, ticket);
        }
        void recv_multicast(uint64_t number, transport::Rank sender, std::byte* data, size_t bytes,
                            transport::Ticket& ticket) override {
            EXPECT_NE(sender, rank_);
            const std::lock_guard lock(bus_.mutex_);
            post(number, sender, data, bytes, ticket);
        }
        // Where `fails_from` says so, nobody gets it.
        Sought offer(uint64_t number, const std::byte* data, size_t bytes) override {
            const std::lock_guard lock(bus_.mutex_);
            EXPECT_EQ(number, next_);
            ++next_;
            if (number >= bus_.fails_from) return Sought::kNobody;
            Offered& offered = bus_.offered_[number % kCasts];
            EXPECT_FALSE(offered.is_there && offered.number == number) << "offered twice";
            offered.is_there = true;
            offered.number = number;
            offered.data.assign(data, data + bytes);
            return Sought::kDone;
        }
        Sought seek(uint64_t number, std::byte* data, size_t bytes) override {
            const std::lock_guard lock(bus_.mutex_);
            EXPECT_EQ(number, next_);
            if (number >= bus_.fails_from) {
                if (++bus_.asked_ % 7 != 0) return Sought::kNotYet;
                ++next_;
                return Sought::kNobody;
            }
            const Offered& offered = bus_.offered_[number % kCasts];
            if (!offered.is_there || offered.number != number) return Sought::kNotYet;
            ++next_;
            EXPECT_EQ(offered.data.size(), bytes);
            std::memcpy(data, offered.data.data(), bytes);
            return Sought::kDone;
        }
        transport::State test(transport::Ticket& ticket) override {
            const std::lock_guard lock(bus_.mutex_);
            if (*static_cast<bool*>(ticket.handle)) ticket.state = transport::State::kDone;
            return ticket.state;
        }
        [[nodiscard]] std::string error() const override { return {}; }

      private:
        void post(uint64_t number, uint32_t sender, std::byte* target, size_t bytes,
                  transport::Ticket& ticket) {
            EXPECT_EQ(number, next_++);
            Cast& cast = bus_.cast(number);
            if (cast.posts++ == 0) {
                cast.sender = sender;
                cast.bytes = bytes;
            }
            EXPECT_EQ(cast.sender, sender) << "multicast " << number;
            EXPECT_EQ(cast.bytes, bytes) << "multicast " << number;
            bool& is_done = done_[number % kCasts];
            is_done = false;
            cast.targets[rank_] = target;
            cast.done[rank_] = &is_done;
            ticket.state = transport::State::kPending;
            ticket.handle = &is_done;
            if (cast.posts == bus_.ranks_) bus_.pass(cast);
        }
        Bus& bus_;
        uint32_t rank_;
        uint64_t next_ = 0;
        std::array<bool, kCasts> done_{};  // by number
    };

  private:
    void pass(Cast& cast) const {
        for (uint32_t rank = 0; rank < ranks_; ++rank) {
            if (rank != cast.sender && cast.bytes > 0) {
                std::memcpy(cast.targets[rank], cast.source, cast.bytes);
            }
            *cast.done[rank] = true;
        }
        cast.posts = 0;
    }
    Cast& cast(uint64_t number) { return casts_[number % kCasts]; }

    std::vector<Offered> offered_;  // by number modulo its size
    uint64_t asked_ = 0;
    std::mutex mutex_;
    uint32_t ranks_;
    std::vector<Cast> casts_;
};

inline node::Reducer sum_u32() {
    return {node::find_kernel(TUTTI_UINT32, TUTTI_SUM, node::Isa::kBaseline), nullptr, nullptr, 4};
}

// One letter an element; concatenates like strings do not, but keeps the order: left * 31 + right
// is neither associative nor commutative, so it shows which operand came first.
struct OrderedOp {
    uint64_t calls = 0;
    static void apply(void* user, const void* left, void* inout, size_t count) {
        ++static_cast<OrderedOp*>(user)->calls;
        for (size_t i = 0; i < count; ++i) {
            uint32_t a = 0;
            uint32_t b = 0;
            std::memcpy(&a, static_cast<const uint32_t*>(left) + i, 4);
            std::memcpy(&b, static_cast<uint32_t*>(inout) + i, 4);
            b = a * 31 + b;
            std::memcpy(static_cast<uint32_t*>(inout) + i, &b, 4);
        }
    }
    node::Reducer reducer() { return {nullptr, apply, this, 4}; }
};

template <class T>
std::byte* bytes_of(std::vector<T>& values) {
    return reinterpret_cast<std::byte*>(values.data());
}

// Steps the executors of one call in a drawn order. False where one fails, or nothing moves.
template <class Member>
bool drive(const std::vector<std::unique_ptr<Member>>& members, Prng& prng) {
    std::vector<Member*> running;
    for (const auto& member : members) running.push_back(member.get());
    for (uint64_t idle = 0; !running.empty();) {
        const size_t i = prng.below(running.size());
        const Step step = running[i]->executor.step();
        if (step == Step::kFailed) return false;
        if (step == Step::kDone) running.erase(running.begin() + static_cast<ptrdiff_t>(i));
        idle = step == Step::kBlocked ? idle + 1 : 0;
        if (idle > 2000 * members.size()) return false;
    }
    return true;
}

}  // namespace tutti::test
