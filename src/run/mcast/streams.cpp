// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/streams.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace tutti::mcast {

Streams::Streams(const Params& params, Prng& prng, Watch& watch, GroupWork& work)
    : params_(params),
      own_(params.member),
      prng_(prng),
      watch_(watch),
      work_(work),
      inbox_(params) {
    streams_.reserve(params.members);
    for (Member member = 0; member < params.members; ++member)
        streams_.emplace_back(params, member);
}

// ---------------------------------------------------------------- messages

void Streams::close_team(uint64_t now_ns, uint32_t team) {
    inbox_.close_team(team);
    for (Member member = 0; member < params_.members; ++member) {
        if (member != own_) refresh(now_ns, member);
    }
    check_all();
}

Result<PostId> Streams::post(uint64_t now_ns, Member sender, const MessageName& name,
                             std::span<std::byte> place) {
    TUTTI_ASSERT(sender < params_.members, "no such member");
    TUTTI_ASSERT(sender != own_, "nobody receives from itself");
    auto posted = inbox_.post(sender, name, place);
    if (posted) refresh(now_ns, sender);
    check_all();
    return posted;
}

Result<PostId> Streams::post_any(uint64_t now_ns, const MessageName& name,
                                 std::span<std::byte> place) {
    auto posted = inbox_.post_any(name, place);
    if (!posted) return posted;
    const Member sender = inbox_.sender(posted.value());
    if (sender != kNobody) refresh(now_ns, sender);
    check_all();
    return posted;
}

void Streams::release(uint64_t now_ns, PostId id) {
    const Member sender = inbox_.sender(id);
    inbox_.release(id);
    if (sender != kNobody) refresh_waits(now_ns, sender);
    check_all();
}

// ---------------------------------------------------------------- what others say

Receiver::Verdict Streams::judge(Member from, uint64_t sequence) {
    Receiver& receiver = streams_[from].receiver;
    const Receiver::Verdict verdict = receiver.judge(sequence, inbox_.pooled_packets(from));
    receiver.count(verdict);
    return verdict;
}

void Streams::take(uint64_t now_ns, Member from, const Data& data) {
    inbox_.put(from, data);
    streams_[from].receiver.accept(now_ns, data.sequence, data.is_repair, prng_);
    refresh(now_ns, from);
    check_all();
}

void Streams::reveal(uint64_t now_ns, Member stream, uint64_t end, bool is_asked) {
    TUTTI_ASSERT(stream != own_, "nobody else knows how far the own stream reaches");
    streams_[stream].receiver.reveal(now_ns, end, prng_);
    if (is_asked) streams_[stream].acks.on_asked(end);
    refresh(now_ns, stream);
    check_all();
}

void Streams::on_nak(uint64_t now_ns, Member from, const Nak& nak) {
    TUTTI_ASSERT(nak.stream != own_, "the sender answers what is asked of its own stream");
    streams_[nak.stream].receiver.on_nak(now_ns, from, nak, prng_);
    refresh(now_ns, nak.stream);
    check_all();
}

bool Streams::on_ack(uint64_t now_ns, Member from, const Ack& ack) {
    if (ack.stream == own_ && ack.received_end > sent_end_) return false;
    const Reached reached{ack.received_end, ack.granted_end, ack.placed_end};
    if (!streams_[ack.stream].acks.on_child(from, reached)) return false;
    refresh(now_ns, ack.stream);
    check_all();
    return true;
}

void Streams::on_sent(uint64_t now_ns, uint64_t sent_end) {
    TUTTI_ASSERT(sent_end_ <= sent_end, "what was sent goes back");
    if (sent_end_ == sent_end) return;
    sent_end_ = sent_end;
    refresh_waits(now_ns, own_);
    check_all();
}

// ---------------------------------------------------------------- what follows from them

Reached Streams::reached(Member stream) const {
    const Receiver& receiver = streams_[stream].receiver;
    const uint64_t received_end = receiver.received_end();
    return {received_end, receiver.granted_end(inbox_.pooled_packets(stream)),
            inbox_.placed_end(stream, received_end)};
}

uint64_t Streams::end_of(Member stream) const {
    return stream == own_ ? sent_end_ : streams_[stream].receiver.highest();
}

// After anything has changed in a stream: what it owes, to whom, and whom it waits for.
void Streams::refresh(uint64_t now_ns, Member member) {
    Stream& stream = streams_[member];
    if (member != own_) {
        stream.acks.set_own(reached(member));
        stream.ack_ns = stream.acks.due_ns(now_ns);
        schedule(now_ns, member);
    }
    refresh_waits(now_ns, member);
}

void Streams::refresh_waits(uint64_t now_ns, Member member) {
    Stream& stream = streams_[member];
    if (member != own_) {
        const bool was_missing = std::exchange(stream.is_missing, stream.receiver.is_missing());
        missing_ += (stream.is_missing ? 1u : 0u) - (was_missing ? 1u : 0u);
        const bool wanted = stream.is_missing || inbox_.pending_posts(member) > 0;
        set_wait(now_ns, stream.waits_for_sender, wanted, member);
    }
    const uint64_t end = end_of(member);
    for (uint32_t i = 0; i < stream.acks.children(); ++i) {
        const bool is_behind = stream.acks.of_child(i).placed_end < end;
        set_wait(now_ns, stream.waits_for_child[i], is_behind, stream.acks.child(i));
    }
    check(member);
}

void Streams::set_wait(uint64_t now_ns, bool& waits, bool wanted, Member member) {
    if (waits == wanted) return;
    waits = wanted;
    if (wanted) {
        watch_.wait(now_ns, member);
    } else {
        watch_.end_wait(member);
    }
}

// What is due now is queued, and gets its next time when it has been sent.
void Streams::schedule(uint64_t now_ns, Member member) {
    const uint64_t ack_ns = streams_[member].ack_ns;
    const uint64_t nak_ns = streams_[member].receiver.nak_ns();
    if (ack_ns <= now_ns) work_.add(Work::kAck, member);
    if (nak_ns <= now_ns) work_.add(Work::kNak, member);
    if (ack_ns > now_ns) next_ns_ = std::min(next_ns_, ack_ns);
    if (nak_ns > now_ns) next_ns_ = std::min(next_ns_, nak_ns);
}

void Streams::tick(uint64_t now_ns) {
    if (next_ns_ > now_ns) return;
    next_ns_ = kNever;
    for (Member member = 0; member < params_.members; ++member) schedule(now_ns, member);
    TUTTI_ASSERT(next_ns_ > now_ns, "what was due has been queued");
    check_all();
}

// ---------------------------------------------------------------- debts

size_t Streams::write_ack(Member member, std::span<std::byte> out, Member& to) {
    Stream& stream = streams_[member];
    const Reached reached = stream.acks.report();
    stream.ack_ns = kNever;
    to = stream.acks.parent();
    ++acks_sent_;
    const Ack ack{member, reached.received_end, reached.granted_end, reached.placed_end};
    return mcast::write({params_.group, own_, ack}, out);
}

size_t Streams::write_nak(uint64_t now_ns, Member stream, std::span<std::byte> out, Member& to) {
    Receiver& receiver = streams_[stream].receiver;
    const size_t bytes = receiver.write_nak(now_ns, out, prng_);
    // There may be more gaps than one NAK holds.
    if (receiver.nak_ns() <= now_ns) {
        work_.add(Work::kNak, stream);
    } else {
        next_ns_ = std::min(next_ns_, receiver.nak_ns());
    }
    check(stream);
    to = kEverybody;
    return bytes;
}

size_t Streams::write_ask(Member member, std::span<std::byte> out, Member& to) {
    const Member stream = stream_behind(member);
    to = member;
    ++asks_sent_;
    const Ask ask{static_cast<uint32_t>(asks_sent_), stream, end_of(stream)};
    return mcast::write({params_.group, own_, ask}, out);
}

// One in which this member waits for the other's acknowledgement; another one each time.
Member Streams::stream_behind(Member member) const {
    for (Member i = 0; i < params_.members; ++i) {
        const auto number = static_cast<Member>((own_ + asks_sent_ + i) % params_.members);
        const Stream& stream = streams_[number];
        for (uint32_t child = 0; child < stream.acks.children(); ++child) {
            if (stream.waits_for_child[child] && stream.acks.child(child) == member) return number;
        }
    }
    return own_;
}

StreamCounters Streams::counters() const {
    StreamCounters all;
    all.acks_sent = acks_sent_;
    all.asks_sent = asks_sent_;
    all.packets_dropped = inbox_.dropped_packets();
    for (const Stream& stream : streams_) {
        const ReceiverCounters& one = stream.receiver.counters();
        all.received.packets += one.packets;
        all.received.duplicates += one.duplicates;
        all.received.overruns += one.overruns;
        all.received.gaps += one.gaps;
        all.received.naks += one.naks;
        all.received.suppressed += one.suppressed;
        all.received.repaired += one.repaired;
        all.received.repaired_in_10_ms += one.repaired_in_10_ms;
        all.received.repair_ns_max = std::max(all.received.repair_ns_max, one.repair_ns_max);
    }
    return all;
}

// ---------------------------------------------------------------- invariants

void Streams::check(Member member) const {
    const Stream& stream = streams_[member];
    if (member != own_) {
        const Reached now = reached(member);
        TUTTI_ASSERT(stream.acks.own() == now, "the tree does not know what is here");
        TUTTI_ASSERT(now.placed_end <= now.received_end, "a packet is placed before it came");
        TUTTI_ASSERT(now.received_end <= now.granted_end, "a packet came that was not granted");
        TUTTI_ASSERT(stream.is_missing == stream.receiver.is_missing(), "a gap is not counted");
        TUTTI_ASSERT(
            stream.waits_for_sender == (stream.is_missing || inbox_.pending_posts(member) > 0),
            "a sender is waited for without a reason, or is not");
        const bool is_over = work_.is_ended();
        TUTTI_ASSERT(is_over || next_ns_ <= stream.ack_ns || work_.is_queued(Work::kAck, member),
                     "an acknowledgement is forgotten");
        TUTTI_ASSERT(
            is_over || next_ns_ <= stream.receiver.nak_ns() || work_.is_queued(Work::kNak, member),
            "a NAK is forgotten");
    }
    for (uint32_t i = 0; i < stream.acks.children(); ++i) {
        TUTTI_ASSERT(
            stream.waits_for_child[i] == (stream.acks.of_child(i).placed_end < end_of(member)),
            "a child is waited for without a reason, or is not");
    }
}

void Streams::check_all() const {
    TUTTI_ASSERT(missing_ < params_.members, "more streams have gaps than there are");
    TUTTI_ASSERT_SLOW(missing_ == count_missing(), "streams with gaps are counted wrongly");
    TUTTI_ASSERT_SLOW(are_waits_watched(), "a wait is not watched");
}

bool Streams::are_waits_watched() const {
    for (Member member = 0; member < params_.members; ++member) {
        check(member);
        if (reasons_for(member) > watch_.reasons(member)) return false;
    }
    return true;
}

// The client and the detour may have more.
uint32_t Streams::reasons_for(Member member) const {
    uint32_t reasons = streams_[member].waits_for_sender ? 1 : 0;
    for (const Stream& stream : streams_) {
        for (uint32_t i = 0; i < stream.acks.children(); ++i) {
            reasons += stream.waits_for_child[i] && stream.acks.child(i) == member ? 1 : 0;
        }
    }
    return reasons;
}

uint32_t Streams::count_missing() const {
    return static_cast<uint32_t>(
        std::ranges::count_if(streams_, [](const Stream& stream) { return stream.is_missing; }));
}

}  // namespace tutti::mcast
