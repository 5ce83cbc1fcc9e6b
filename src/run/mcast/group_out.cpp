// SPDX-License-Identifier: BSD-3-Clause
// What a group sends, in its order, and to whom: notices first, then what others are owed, then its
// own packets; on the detour a copy for each.
#include <algorithm>

#include "base/assert.h"
#include "run/mcast/group.h"

namespace tutti::mcast {

bool Group::add_work(Work work, Member member) {
    const size_t index = static_cast<size_t>(work) * params_.members + member;
    if (is_queued_[index]) return false;
    is_queued_[index] = true;
    TUTTI_ASSERT(work_count_ < work_.size(), "work is queued twice");
    work_[(work_first_ + work_count_) % work_.size()] = {work, member};
    ++work_count_;
    return true;
}

size_t Group::do_work(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    while (work_count_ > 0) {
        const auto [work, member] = work_[work_first_];
        work_first_ = (work_first_ + 1) % static_cast<uint32_t>(work_.size());
        --work_count_;
        is_queued_[static_cast<size_t>(work) * params_.members + member] = false;
        if (work == Work::kAsk) return write_ask(member, out, to);
        if (work == Work::kAck) return write_ack(member, out, to);
        if (work == Work::kTell) {
            to = member;
            return mcast::write({params_.group, params_.member, notice()}, out);
        }
        if (work == Work::kBeat) {
            to = member;
            const Heartbeat beat{sender_.sent_end(), 0, false};
            return mcast::write({params_.group, params_.member, beat}, out);
        }
        Receiver& receiver = streams_[member].receiver;
        const size_t bytes = receiver.write_nak(now_ns, out, prng_);
        // More gaps than one NAK holds.
        if (receiver.nak_ns() <= now_ns) add_work(Work::kNak, member);
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
    if (failure()) return notice_ns_;
    return std::min(
        {streams_ns_, watch_.next_ns(), sender_.next_ns(), prober_.next_ns(), notice_ns_});
}

size_t Group::next_packet(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    TUTTI_ASSERT(out.size() >= params_.packet_bytes_max, "no room for a packet");
    if (packets_ == params_.packets_max) return 0;
    const size_t bytes = next_unnumbered(now_ns, out, to);
    if (bytes > 0) number(out, ++packets_, to);
    if (packets_ < params_.packets_max || failure()) return bytes;
    // The others notice that nothing comes any more.
    if (dead_ == kNobody) dead_ = params_.member;
    fail(now_ns);
    return bytes;
}

size_t Group::next_unnumbered(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    if (copied_for_ != kNobody) {
        if (const size_t bytes = next_copy(out, to); bytes > 0) return bytes;
    }
    const size_t bytes = generate(now_ns, out, to);
    if (bytes == 0 || to != kEverybody || dead_ == kNobody) return bytes;
    // The one to everybody goes first: perhaps it is the ways to single members that are cut off.
    std::copy_n(out.begin(), bytes, copied_.begin());
    copied_bytes_ = bytes;
    copied_for_ = 0;
    return bytes;
}

// 0: nobody needs one any more.
size_t Group::next_copy(std::span<std::byte> out, Member& to) {
    while (copied_for_ < params_.members && !is_copied_to(copied_for_)) ++copied_for_;
    if (copied_for_ >= params_.members) {
        copied_for_ = kNobody;
        return 0;
    }
    to = copied_for_++;
    std::copy_n(copied_.begin(), copied_bytes_, out.begin());
    return copied_bytes_;
}

// What each member needs to hear of each other one is that it is flushed; of the rest one voice is
// enough.
bool Group::is_copied_to(Member member) const {
    if (member == params_.member) return false;
    if (!is_notice_copied_ || phase_ == Failure::Phase::kFlushed) return true;
    return phase_ == Failure::Phase::kOver ? !heard_[member].is_over : !heard_[member].notice;
}

size_t Group::generate(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    const size_t notice_bytes = next_notice(now_ns, out, to);
    is_notice_copied_ = notice_bytes > 0;
    if (notice_bytes > 0) return notice_bytes;
    if (failure()) return do_work(now_ns, out, to);
    if (const size_t bytes = do_work(now_ns, out, to); bytes > 0) return bytes;
    if (const size_t bytes = prober_.next_packet(now_ns, out, to); bytes > 0) return bytes;
    const uint64_t sent_end = sender_.sent_end();
    const size_t bytes = sender_.next_packet(now_ns, out, to);
    if (sender_.sent_end() > sent_end) refresh_waits(now_ns, params_.member);
    return bytes;
}

}  // namespace tutti::mcast
