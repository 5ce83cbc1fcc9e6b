// SPDX-License-Identifier: BSD-3-Clause
#include "sim/mcast_world.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/failing_memory.h"

namespace tutti::test {

using mcast::kEverybody;
using mcast::kNever;
using mcast::Member;

uint64_t allocations_so_far() { return allocations; }

McastWorld::McastWorld(const mcast::Params& params, const Weather& weather, uint64_t seed)
    : weather_(weather), prng_(seed), nodes_(params.members), out_(params.packet_bytes_max) {
    for (Member member = 0; member < params.members; ++member) {
        mcast::Params own = params;
        own.member = member;
        own.seed = prng_.next();
        auto made = mcast::Group::create(own);
        EXPECT_TRUE(made) << made.error().message;
        nodes_[member].group = std::move(made.value());
    }
}

bool McastWorld::chance(double probability) {
    return probability > 0 && static_cast<double>(prng_.below(1'000'000)) < probability * 1'000'000;
}

template <class Call>
auto McastWorld::counted(Call call) {
    const uint64_t before = allocations_so_far();
    struct Add {
        uint64_t& sum;
        uint64_t before;
        ~Add() { sum += allocations_so_far() - before; }
    } add{allocations_, before};
    return call();
}

void McastWorld::inject(Member to, std::span<const std::byte> packet, uint64_t in_ns) {
    flights_.push({now_ns_ + in_ns, flight_number_++, to, new_buffer(packet)});
}

uint32_t McastWorld::new_buffer(std::span<const std::byte> packet) {
    uint32_t index = 0;
    if (free_buffers_.empty()) {
        index = static_cast<uint32_t>(buffers_.size());
        buffers_.emplace_back();
    } else {
        index = free_buffers_.back();
        free_buffers_.pop_back();
    }
    buffers_[index].assign(packet.begin(), packet.end());
    return index;
}

void McastWorld::flush(Member member) {
    Node& node = nodes_[member];
    for (;;) {
        Member to = mcast::kNobody;
        const size_t bytes = counted([&] { return node.group->next_packet(now_ns_, out_, to); });
        if (bytes == 0) return;
        ++packets_;
        uint64_t leaves_ns = now_ns_;
        if (weather_.bytes_per_s > 0) {
            const uint64_t wire = (bytes + mcast::kWireBytes) * 1'000'000'000;
            leaves_ns = std::max(node.link_free_ns, now_ns_) + wire / weather_.bytes_per_s;
            node.link_free_ns = leaves_ns;
        }
        const bool is_lost = chance(weather_.shared_loss);
        for (Member peer = 0; peer < nodes_.size(); ++peer) {
            if (peer == member || (to != kEverybody && to != peer)) continue;
            if (to == kEverybody && (replicated_to_ >> peer & 1) == 0) continue;
            transmit(member, peer, bytes, is_lost, leaves_ns);
        }
        replay(bytes, leaves_ns);
    }
}

void McastWorld::replay(size_t bytes, uint64_t leaves_ns) {
    for (uint32_t i = 0; i < replays_; ++i) {
        for (Member peer = 0; peer < nodes_.size(); ++peer) {
            const uint64_t later_ns = replayer_.below(replayed_within_ns_);
            // Behind the packet itself, which may come late.
            const uint64_t ns = leaves_ns + weather_.latency_ns + weather_.jitter_ns + later_ns;
            flights_.push({ns, flight_number_++, peer,
                           new_buffer(std::span<const std::byte>(out_).first(bytes))});
        }
    }
}

void McastWorld::transmit(Member from, Member to, size_t bytes, bool is_lost, uint64_t leaves_ns) {
    if (is_lost || chance(weather_.loss)) return;
    if (filter_) {
        const auto packet = mcast::parse(std::span<const std::byte>(out_).first(bytes));
        EXPECT_TRUE(packet.has_value());
        if (filter_(from, to, *packet)) return;
    }
    const int copies = chance(weather_.doubled) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
        const uint64_t jitter = weather_.jitter_ns > 0 ? prng_.below(weather_.jitter_ns) : 0;
        flights_.push({leaves_ns + weather_.latency_ns + jitter, flight_number_++, to,
                       new_buffer(std::span<const std::byte>(out_).first(bytes))});
    }
}

uint64_t McastWorld::wake_ns(const Node& node) const {
    if (node.is_dead) return kNever;
    const uint64_t wanted = std::min(node.group->next_deadline(), node.app_ns);
    if (wanted == kNever) return kNever;
    return std::max({wanted, node.stopped_ns, node.looks_ns, now_ns_});
}

void McastWorld::have_looked(Node& node) {
    if (weather_.late_ns > 0) node.looks_ns = now_ns_ + lateness_.below(weather_.late_ns);
}

void McastWorld::wake(Member member) {
    Node& node = nodes_[member];
    have_looked(node);
    const bool is_due = node.group->next_deadline() <= now_ns_;
    counted([&] { node.group->tick(now_ns_); });
    if (is_due && service_) service_(member);
    if (node.app_ns <= now_ns_) node.app_ns = kNever;
    if (app_) app_(member);
    flush(member);
}

void McastWorld::arrive() {
    const Flight flight = flights_.top();
    flights_.pop();
    Node& node = nodes_[flight.to];
    now_ns_ = std::max(now_ns_, flight.ns);
    const uint64_t looks_ns = std::max(node.stopped_ns, node.looks_ns);
    if (!node.is_dead && looks_ns > now_ns_) {
        flights_.push({looks_ns, flight_number_++, flight.to, flight.buffer});
        return;
    }
    if (!node.is_dead) {
        // What has come meanwhile is all looked at together.
        const bool is_last = flights_.empty() || flights_.top().ns > now_ns_;
        if (is_last) have_looked(node);
        const std::vector<std::byte>& bytes = buffers_[flight.buffer];
        counted([&] { node.group->on_packet(now_ns_, bytes); });
        if (service_) service_(flight.to);
        if (app_) app_(flight.to);
        flush(flight.to);
    }
    free_buffers_.push_back(flight.buffer);
}

bool McastWorld::run(uint64_t until_ns, const std::function<bool()>& done) {
    while (!done()) {
        Member next = 0;
        uint64_t next_ns = kNever;
        for (Member member = 0; member < nodes_.size(); ++member) {
            const uint64_t ns = wake_ns(nodes_[member]);
            if (ns < next_ns) {
                next = member;
                next_ns = ns;
            }
        }
        const uint64_t flight_ns = flights_.empty() ? kNever : flights_.top().ns;
        if (std::min(next_ns, flight_ns) > until_ns) {
            now_ns_ = until_ns;
            return false;
        }
        if (flight_ns <= next_ns) {
            arrive();
        } else {
            now_ns_ = next_ns;
            wake(next);
        }
    }
    return true;
}

bool McastWorld::is_silent() const {
    const auto waits = [&](const Node& node) {
        return !node.is_dead && node.group->next_deadline() != kNever;
    };
    return flights_.empty() && std::none_of(nodes_.begin(), nodes_.end(), waits);
}

}  // namespace tutti::test
