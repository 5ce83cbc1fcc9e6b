// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/share.h"

#include <algorithm>

#include "base/amounts.h"

namespace tutti::price {
namespace {

using sched::OperationKind;

// So many rounds of each part of a program are read, from its beginning, and as many of the others.
constexpr uint64_t kReadAtFirst = 256;
constexpr uint64_t kReadThen = 256;

// Of the message that passes each way between two who meet.
sched::Block half_of(sched::Block block) {
    block.bytes /= 2;
    return block;
}

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
        switch (op.kind) {
            case OperationKind::kSend:
            case OperationKind::kRecv:
            case OperationKind::kRecvReduce:
                break;
            case OperationKind::kMeetWith:
                if (sched::is_near(op)) {
                    to.copied_bytes += op.to.bytes;
                    return;
                }
                add(sched::send(op.peer, 0, half_of(op.to)), to);
                add(sched::recv(op.peer, 0, half_of(op.to)), to);
                return;
            case OperationKind::kMeetMulticast:
                to.multicast_bytes += sched::meet_multicast_bytes(op.left.bytes);
                to.folded_bytes += op.to.bytes;
                return;
            case OperationKind::kFeed:
                return add_feed(op, to);
            case OperationKind::kMeet:
            case OperationKind::kReduce:
                to.folded_bytes += op.to.bytes;
                return;
            case OperationKind::kCopy:
                to.copied_bytes += op.to.bytes;
                return;
            case OperationKind::kMulticast:
                to.multicast_bytes += op.left.bytes;
                return;
            case OperationKind::kRecvMulticast:
                to.multicast_bytes += op.to.bytes;
                return;
            default:
                return;
        }
        const bool sends = op.kind == OperationKind::kSend;
        const uint64_t bytes = sends ? op.left.bytes : op.to.bytes;
        ++to.messages;
        to.sent += sends ? 1 : 0;
        if (op.kind == OperationKind::kRecvReduce) to.folded_bytes += bytes;
        const uint32_t peer = lanes_.host_of[op.peer];
        if (peer != host_) {
            (sends ? to.sent_bytes : to.received_bytes) += bytes;
            if (with_ways_) {
                const topo::LinkRoute route = topo::link_route(network_.fabric, host_, peer);
                to.way_ns = std::max(to.way_ns, route_latency_ns(network_.fabric, route));
            }
        }
        to.asking += bytes > network_.eager_bytes_max ? 1 : 0;
    }

    // As if all were there at once.
    void add_feed(const sched::Operation& op, Share& to) const {
        const uint64_t pieces = sched::fed_pieces(op);
        const uint64_t messages = pieces * (op.order + (op.to.bytes > 0 ? 1 : 0));
        to.messages += messages;
        to.sent += pieces * op.order;
        to.sent_bytes += op.order * sched::fed_block(op).bytes;
        to.received_bytes += op.to.bytes;
        to.asking += op.right.bytes > network_.eager_bytes_max ? messages : 0;
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
