// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/share.h"

#include <algorithm>

#include "base/amounts.h"
#include "plan/sched/operation_amounts.h"

namespace tutti::price {
namespace {

// So many rounds of each part of a program are read, from its beginning, and as many of the others.
constexpr uint64_t kReadAtFirst = 256;
constexpr uint64_t kReadThen = 256;

class Counter {
  public:
    Counter(const Network& network, const Lanes& lanes, sched::Rank participant, bool with_ways)
        : network_(network),
          lanes_(lanes),
          host_(lanes.host_of[participant]),
          with_ways_(with_ways) {}

    // It counts for so many.
    void add(const sched::Round& round, uint64_t times) {
        Share one;
        for (const sched::Operation& op : round) add(op, one);
        share_.rounds += one.messages > 0 ? times : 0;
        share_.messages += times * one.messages;
        share_.sent += times * one.sent;
        share_.asking += times * one.asking;
        share_.sent_bytes += times * one.sent_bytes;
        share_.received_bytes += times * one.received_bytes;
        share_.multicast_bytes += times * one.multicast_bytes;
        share_.folded_bytes += times * one.folded_bytes;
        share_.copied_bytes += times * one.copied_bytes;
        share_.way_ns = std::max(share_.way_ns, one.way_ns);
    }
    [[nodiscard]] const Share& share() const { return share_; }

  private:
    void add(const sched::Operation& op, Share& to) {
        const sched::Amounts one = sched::amounts_of(op);
        const uint64_t messages = one.messages_sent + one.messages_received;
        to.messages += messages;
        to.sent += one.messages_sent;
        to.asking += one.message_bytes > network_.eager_bytes_max ? messages : 0;
        to.multicast_bytes += one.multicast_bytes_sent + one.multicast_bytes_received;
        to.folded_bytes += one.folded_bytes;
        to.copied_bytes += one.copied_bytes;
        if (messages > 0 && !is_within_host(op)) {
            to.sent_bytes += one.bytes_sent;
            to.received_bytes += one.bytes_received;
            if (with_ways_) to.way_ns = std::max(to.way_ns, way_ns(op));
        }
    }

    // Arrivals decide who feeds whom: a rank of another host, so far as is known.
    [[nodiscard]] bool is_within_host(const sched::Operation& op) const {
        return sched::row_of(op).has_participant && lanes_.host_of[op.peer] == host_;
    }
    [[nodiscard]] uint64_t way_ns(const sched::Operation& op) const {
        if (!sched::row_of(op).has_participant) return 0;
        const uint32_t peer = lanes_.host_of[op.peer];
        return route_latency_ns(network_.fabric, topo::link_route(network_.fabric, host_, peer));
    }

    const Network& network_;
    const Lanes& lanes_;
    uint32_t host_;
    bool with_ways_;
    Share share_;
};

void count(const sched::Program& program, uint64_t begin, uint64_t end, Counter& counter) {
    sched::Round round;
    const auto read = [&](uint64_t k, uint64_t times) {
        program.read(0, k, round);
        counter.add(round, times);
    };
    const uint64_t dense = std::min(end, begin + kReadAtFirst);
    for (uint64_t k = begin; k < dense; ++k) read(k, 1);
    const uint64_t left = end - dense;
    const uint64_t reads = std::min(left, kReadThen);
    for (uint64_t i = 0; i < reads; ++i) {
        const uint64_t first = dense + left * i / reads;
        const uint64_t next = dense + left * (i + 1) / reads;
        read(first, next - first);
    }
}

}  // namespace

uint64_t Share::work_ns(const Network& network, const NodeParameters& node) const {
    return messages * network.message_ns + bytes_ns(folded_bytes, node.reduce_bytes_per_s) +
           bytes_ns(copied_bytes, node.copy_bytes_per_s);
}

uint64_t Share::moving_ns(const Network& network, const NodeParameters& node,
                          uint64_t host_bits_per_s) const {
    return bits_ns(std::max(sent_bytes, received_bytes), host_bits_per_s) +
           network.multicast_ns(multicast_bytes) + bytes_ns(folded_bytes, node.reduce_bytes_per_s) +
           bytes_ns(copied_bytes, node.copy_bytes_per_s);
}

Share share_of(const Network& network, const Lanes& lanes, sched::Rank participant,
               bool with_ways) {
    const auto program = lanes.program(participant);
    const uint64_t rounds = program->extent().rounds;
    Counter counter(network, lanes, participant, with_ways);
    sched::Round round;
    uint64_t at = 0;
    for (const sched::Stretch& stretch : lanes.alike) {
        if (stretch.rounds == 0 || stretch.first < at) continue;
        count(*program, at, stretch.first, counter);
        program->read(0, stretch.first, round);
        counter.add(round, stretch.rounds);
        at = stretch.first + stretch.rounds;
    }
    count(*program, at, rounds, counter);
    return counter.share();
}

}  // namespace tutti::price
