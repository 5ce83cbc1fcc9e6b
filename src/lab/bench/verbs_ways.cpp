// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/verbs_ways.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "base/assert.h"
#include "run/transport/verbs/send.h"

namespace tutti::bench {
namespace {

using transport::verbs::Completion;
using transport::verbs::Device;
using transport::verbs::Endpoint;
using transport::verbs::Need;
using transport::verbs::Sends;
using transport::verbs::Write;

// Writes have one, sends the other: a receive for the ones has no room for the others.
constexpr uint32_t kWritePair = 0;
constexpr uint32_t kSendPair = 1;
constexpr uint32_t kPairs = 2;
constexpr uint32_t kRecvsPosted = 4;  // one is needed at a time
// As Tutti's messages have it (slots.h): every eighth is signaled, all behind are still the
// device's. So its memory is taken in turn, and is free when it is needed.
constexpr uint64_t kSignaled = 8;
constexpr uint64_t kSources = 2 * kSignaled;
constexpr uint64_t kWarmUps = 8;  // exchanges
// How often who waits looks whether something failed at the sender's end.
constexpr uint64_t kLookEvery = 256;
// Devices give up a peer by themselves, by default in 30 s at the latest.
constexpr uint64_t kWayNsMax = 60 * kNsPerSecond;
constexpr std::byte kNothing{0};

struct End {
    std::unique_ptr<Endpoint> endpoint;
    Sends* sends = nullptr;
    std::array<uint64_t, kPairs> posted{};
    std::array<uint64_t, kPairs> complete{};
    uint64_t received = 0;
};

class Ways {
  public:
    Ways(Device& a, Device& b, const WaysOrder& order, Clock& clock, const Waits& waits)
        : devices_{&a, &b}, order_(order), clock_(clock), waits_(waits) {}
    Result<Done> make();
    Result<WaysFigures> measure();

  private:
    [[nodiscard]] size_t pair_bytes() const { return (kSources + 1) * buffer_bytes_; }
    // In the own memory: from where a message goes, and where one comes.
    [[nodiscard]] size_t source_of(uint32_t pair, uint64_t number) const {
        return pair * pair_bytes() + number % kSources * buffer_bytes_;
    }
    [[nodiscard]] size_t target_of(uint32_t pair) const {
        return pair * pair_bytes() + kSources * buffer_bytes_;
    }
    Result<double> median_us(Way way, size_t bytes, uint64_t exchanges, WayCounts& counts);
    Result<Done> measure_asleep();
    Result<uint64_t> pass(Way way, uint32_t from, size_t bytes);
    Result<Done> post(Way way, End& end, size_t bytes);
    Result<Done> await_told(Way way, End& sender, End& receiver);
    Result<Done> await_tail(End& sender, const std::byte* target, size_t bytes);
    Result<Done> take(End& end);
    Result<Done> take_turn(End& sender);
    Result<Done> sleep(End& end);
    static Result<Done> arm(End& end) {
        if (end.endpoint->arm(transport::verbs::Events::kAll)) return Done{};
        return Error{ErrorCode::kNetwork, "no completion event is to be had"};
    }

    std::array<Device*, 2> devices_;
    const WaysOrder& order_;
    Clock& clock_;
    const Waits& waits_;
    size_t buffer_bytes_ = 0;
    std::array<End, 2> ends_;
    WaysFigures figures_;
    WayCounts* counts_ = nullptr;
    std::byte mark_{1};  // what the next message is made of
    bool sleeps_ = false;
    uint64_t turns_ = 0;
    uint64_t give_up_ns_ = 0;
};

std::optional<Error> error_of_post(int outcome) {
    if (outcome == 0) return std::nullopt;
    return Error{ErrorCode::kNetwork,
                 std::string("nothing can be posted: ") + std::strerror(outcome)};
}

Result<Done> Ways::make() {
    buffer_bytes_ = *std::ranges::max_element(order_.bytes);
    Need need;
    need.pairs = kPairs;
    need.sends = static_cast<uint32_t>(kSources);
    need.recvs = kRecvsPosted;
    need.pair_bytes = pair_bytes();
    need.mtu_bytes = std::min(devices_[0]->port().mtu_bytes, devices_[1]->port().mtu_bytes);
    need.may_sleep = true;
    for (uint32_t i = 0; i < 2; ++i) {
        auto endpoint = devices_[i]->make_endpoint(need);
        if (!endpoint) return endpoint.error();
        ends_[i].endpoint = std::move(endpoint.value());
        ends_[i].sends = ends_[i].endpoint->sends();
        TUTTI_ASSERT(ends_[i].sends, "a device has sends");
    }
    for (uint32_t i = 0; i < 2; ++i) {
        for (uint32_t pair = 0; pair < kPairs; ++pair) {
            auto connected = ends_[i].endpoint->connect(pair, devices_[1 - i]->port(),
                                                        ends_[1 - i].endpoint->card(pair));
            if (!connected) return connected;
        }
    }
    return Done{};
}

// All that has come, at this end.
Result<Done> Ways::take(End& end) {
    std::array<Completion, kRecvsPosted + kSources> found;
    const int count = end.endpoint->poll(found);
    if (count < 0) return Error{ErrorCode::kNetwork, "the completion queue was overrun"};
    for (int i = 0; i < count; ++i) {
        const Completion& one = found[static_cast<size_t>(i)];
        if (one.status != 0) {
            return Error{ErrorCode::kNetwork, std::string(end.endpoint->status_text(one.status)) +
                                                  " (status " + std::to_string(one.status) + ")"};
        }
        ++counts_->completions;
        if (one.is_recv) {
            ++end.received;
        } else {
            end.complete[one.pair] = one.number;
        }
    }
    return Done{};
}

// Nothing has come yet.
Result<Done> Ways::take_turn(End& sender) {
    waits_.turn();
    if (++turns_ % kLookEvery != 0) return Done{};
    if (clock_.now_ns() > give_up_ns_) {
        return Error{ErrorCode::kNetwork, "a message did not come within a minute"};
    }
    return take(sender);
}

// The queue was told to speak before the message was sent. It is again before this looks, so that
// nothing comes unseen and untold.
Result<Done> Ways::sleep(End& end) {
    if (!waits_.sleep(end.endpoint->wait_fd())) {
        return Error{ErrorCode::kNetwork, "no receiver was woken within a minute"};
    }
    ++counts_->wakes;
    return arm(end);
}

// The receive is posted anew at once, as by whoever goes on.
Result<Done> Ways::await_told(Way way, End& sender, End& receiver) {
    const uint64_t received = receiver.received;
    for (;;) {
        if (sleeps_) {
            if (auto slept = sleep(receiver); !slept) return slept;
        }
        if (auto taken = take(receiver); !taken) return taken;
        if (receiver.received != received) break;
        if (sleeps_) continue;
        if (auto waited = take_turn(sender); !waited) return waited;
    }
    ++counts_->recvs;
    const int outcome = way == Way::kTold ? receiver.endpoint->recv(kWritePair)
                                          : receiver.sends->recv_into(
                                                kSendPair, target_of(kSendPair), buffer_bytes_);
    if (auto error = error_of_post(outcome)) return std::move(*error);
    return Done{};
}

Result<Done> Ways::await_tail(End& sender, const std::byte* target, size_t bytes) {
    // The device writes it.
    std::atomic_ref<std::byte> tail(const_cast<std::byte&>(target[bytes - 1]));
    while (tail.load(std::memory_order_acquire) != mark_) {
        if (auto waited = take_turn(sender); !waited) return waited;
    }
    return Done{};
}

Result<Done> Ways::post(Way way, End& end, size_t bytes) {
    const uint32_t pair = way == Way::kSend ? kSendPair : kWritePair;
    Write write;
    write.number = ++end.posted[pair];
    write.offset = source_of(pair, write.number);
    write.bytes = bytes;
    write.remote_offset = target_of(kWritePair);
    write.tells = way == Way::kTold;
    write.is_signaled = write.number % kSignaled == 0;
    ++counts_->posts;
    const int outcome =
        way == Way::kSend ? end.sends->send(pair, write) : end.endpoint->write(pair, write);
    if (auto error = error_of_post(outcome)) return std::move(*error);
    return Done{};
}

// One message; how many ns it took, from its posting until its receiver may use it and has posted
// what the next one takes.
Result<uint64_t> Ways::pass(Way way, uint32_t from, size_t bytes) {
    const uint32_t pair = way == Way::kSend ? kSendPair : kWritePair;
    End& sender = ends_[from];
    End& receiver = ends_[1 - from];
    give_up_ns_ = clock_.now_ns() + kWayNsMax;
    const uint64_t number = sender.posted[pair] + 1;
    while (number > sender.complete[pair] + kSources) {
        auto taken = take(sender);
        if (taken) taken = take_turn(sender);
        if (!taken) return taken.error();
    }
    std::byte* target = receiver.endpoint->memory().data() + target_of(pair);
    std::fill_n(sender.endpoint->memory().data() + source_of(pair, number), bytes, mark_);
    std::fill_n(target, bytes, kNothing);
    if (sleeps_) {
        if (auto armed = arm(receiver); !armed) return armed.error();
    }
    const uint64_t begin_ns = clock_.now_ns();
    auto come = post(way, sender, bytes);
    if (come) {
        come = way == Way::kWrite ? await_tail(sender, target, bytes)
                                  : await_told(way, sender, receiver);
    }
    const uint64_t end_ns = clock_.now_ns();
    if (!come) return come.error();
    const auto is_whole = [&] {
        return std::count(target, target + bytes, mark_) == static_cast<ptrdiff_t>(bytes);
    };
    if (!is_whole() && way != Way::kWrite) {
        return Error{ErrorCode::kNetwork, "a message has come with other bytes than were sent"};
    }
    if (way == Way::kWrite) {
        ++figures_.looked_for;
        if (!is_whole()) ++figures_.torn;
        while (!is_whole()) {
            if (auto waited = take_turn(sender); !waited) return waited.error();
        }
    }
    // From 1 to 255: never kNothing.
    mark_ = static_cast<std::byte>(std::to_integer<uint32_t>(mark_) % 255 + 1);
    return end_ns - begin_ns;
}

Result<double> Ways::median_us(Way way, size_t bytes, uint64_t exchanges, WayCounts& counts) {
    std::vector<uint64_t> all_ns;
    all_ns.reserve(2 * exchanges);
    WayCounts warm_up;
    for (uint64_t i = 0; i < kWarmUps + exchanges; ++i) {
        counts_ = i < kWarmUps ? &warm_up : &counts;
        ++counts_->exchanges;
        for (uint32_t from = 0; from < 2; ++from) {
            const auto ns = pass(way, from, bytes);
            if (!ns) return ns.error();
            if (i >= kWarmUps) all_ns.push_back(ns.value());
        }
    }
    const auto middle = all_ns.begin() + static_cast<ptrdiff_t>(exchanges);
    std::nth_element(all_ns.begin(), middle, all_ns.end());
    return static_cast<double>(*middle) / 1e3;
}

Result<Done> Ways::measure_asleep() {
    figures_.can_sleep = ends_[0].endpoint->wait_fd() >= 0 && ends_[1].endpoint->wait_fd() >= 0;
    sleeps_ = figures_.can_sleep;
    for (uint32_t way = 0; way < kWays && sleeps_; ++way) {
        if (static_cast<Way>(way) == Way::kWrite) continue;
        const auto us = median_us(static_cast<Way>(way), order_.bytes.front(), order_.exchanges,
                                  figures_.asleep[way]);
        if (!us) return us.error();
        figures_.asleep_us[way] = us.value();
    }
    return Done{};
}

Result<WaysFigures> Ways::measure() {
    // The receives that are there have no room: messages of no bytes take them.
    WayCounts uncounted;
    counts_ = &uncounted;
    for (uint32_t i = 0; i < kRecvsPosted; ++i) {
        for (uint32_t from = 0; from < 2; ++from) {
            if (const auto sent = pass(Way::kSend, from, 0); !sent) return sent.error();
        }
    }
    for (const uint64_t bytes : order_.bytes) {
        for (uint32_t way = 0; way < kWays; ++way) {
            const auto us =
                median_us(static_cast<Way>(way), bytes, order_.exchanges, figures_.counts[way]);
            if (!us) return us.error();
            figures_.median_us[way].push_back(us.value());
        }
    }
    if (auto measured = measure_asleep(); !measured) return measured.error();
    return figures_;
}

}  // namespace

Result<WaysFigures> measure_ways(Device& a, Device& b, const WaysOrder& order, Clock& clock,
                                 const Waits& waits) {
    TUTTI_ASSERT(!order.bytes.empty(), "there are lengths");
    TUTTI_ASSERT(order.exchanges > 0, "there are exchanges");
    Ways ways(a, b, order, clock, waits);
    if (auto made = ways.make(); !made) return made.error();
    return ways.measure();
}

}  // namespace tutti::bench
