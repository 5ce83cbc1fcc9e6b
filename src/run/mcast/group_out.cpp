// SPDX-License-Identifier: BSD-3-Clause
// What a group sends, in its order, and to whom: notices first, then what others are owed, then its
// own packets; on the detour a copy for each.
#include <algorithm>

#include "base/assert.h"
#include "run/mcast/group.h"

namespace tutti::mcast {

size_t Group::do_work(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    while (!work_.is_empty()) {
        const auto [work, member] = work_.pop();
        if (work == Work::kAsk) return write_ask(member, out, to);
        if (work == Work::kAck) return write_ack(member, out, to);
        if (work == Work::kTell) {
            to = member;
            return mcast::write({params_.group, params_.member, detour_.notice()}, out);
        }
        if (work == Work::kBeat) {
            to = member;
            const Heartbeat beat{sender_.sent_end(), 0, false};
            return mcast::write({params_.group, params_.member, beat}, out);
        }
        Receiver& receiver = streams_[member].receiver;
        const size_t bytes = receiver.write_nak(now_ns, out, prng_);
        // More gaps than one NAK holds.
        if (receiver.nak_ns() <= now_ns) work_.add(Work::kNak, member);
        schedule(now_ns, streams_[member]);
        to = kEverybody;
        if (bytes > 0) return bytes;
    }
    return 0;
}

size_t Group::write_ask(Member member, std::span<std::byte> out, Member& to) {
    const Member stream = stream_behind(member);
    const bool is_own = stream == params_.member;
    const uint64_t end = is_own ? sender_.sent_end() : streams_[stream].receiver.highest();
    to = member;
    ++counters_.asks_sent;
    const Ask ask{static_cast<uint32_t>(counters_.asks_sent), stream, end};
    return mcast::write({params_.group, params_.member, ask}, out);
}

// One in which this member waits for the other's acknowledgement; another one each time.
Member Group::stream_behind(Member member) const {
    for (Member i = 0; i < params_.members; ++i) {
        const auto number =
            static_cast<Member>((params_.member + counters_.asks_sent + i) % params_.members);
        const Stream& stream = streams_[number];
        for (uint32_t child = 0; child < stream.acks.children(); ++child) {
            if (stream.waits_for_child[child] && stream.acks.child(child) == member) return number;
        }
    }
    return params_.member;
}

size_t Group::write_ack(Member member, std::span<std::byte> out, Member& to) {
    Stream& stream = streams_[member];
    const Reached reached = stream.acks.report();
    stream.ack_ns = kNever;
    to = stream.acks.parent();
    ++counters_.acks_sent;
    const Ack ack{member, reached.received_end, reached.granted_end, reached.placed_end};
    return mcast::write({params_.group, params_.member, ack}, out);
}

uint64_t Group::next_deadline() const {
    if (packets_ == params_.packets_max) return kNever;
    if (failure()) return detour_.next_ns();
    return std::min(
        {streams_ns_, watch_.next_ns(), sender_.next_ns(), prober_.next_ns(), detour_.next_ns()});
}

size_t Group::next_packet(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    TUTTI_ASSERT(out.size() >= params_.packet_bytes_max, "no room for a packet");
    if (packets_ == params_.packets_max) return 0;
    const size_t bytes = next_unnumbered(now_ns, out, to);
    if (bytes > 0) number(out, ++packets_, to);
    if (packets_ < params_.packets_max || failure()) return bytes;
    // The others notice that nothing comes any more.
    detour_.name(params_.member);
    fail(now_ns);
    return bytes;
}

size_t Group::next_unnumbered(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    if (copies_.is_under_way()) {
        const auto must_tell = [this](Member member) { return detour_.must_tell(member); };
        if (const size_t bytes = copies_.next(out, to, must_tell); bytes > 0) return bytes;
    }
    const bool is_notice = detour_.take_notice(now_ns);
    const size_t bytes = is_notice ? write_notice(out, to) : generate(now_ns, out, to);
    // The one to everybody goes first: perhaps it is the ways to single members that are cut off.
    if (bytes > 0 && to == kEverybody && detour_.has_begun()) {
        copies_.begin(out.first(bytes), is_notice);
    }
    return bytes;
}

size_t Group::write_notice(std::span<std::byte> out, Member& to) {
    to = kEverybody;
    return mcast::write({params_.group, params_.member, detour_.notice()}, out);
}

size_t Group::generate(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    if (failure()) return do_work(now_ns, out, to);
    if (const size_t bytes = do_work(now_ns, out, to); bytes > 0) return bytes;
    if (const size_t bytes = prober_.next_packet(now_ns, out, to); bytes > 0) return bytes;
    const uint64_t sent_end = sender_.sent_end();
    const size_t bytes = sender_.next_packet(now_ns, out, to);
    if (sender_.sent_end() > sent_end) refresh_waits(now_ns, params_.member);
    return bytes;
}

}  // namespace tutti::mcast
