// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/group.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace tutti::mcast {

namespace {

// NAKs in vain, of so many times one each. A member that never gets what it asks for asks each 20
// ms or so: found out after some 5 s. Those that were under way, or waited here while this process
// stood still, while the last of what they ask for came, are read at about one time.
constexpr uint32_t kVainNaksMax = 256;
constexpr uint64_t kVainNakNs = 10 * kMillisecond;
constexpr uint64_t kVainQuietNs = 1'000 * kMillisecond;  // behind which others begin anew
// Some 20 ms lie between two repairs of one packet.
constexpr uint32_t kRefusedMax = 64;

bool is_to_everybody(const Body& body) {
    if (const auto* data = std::get_if<Data>(&body)) return !data->is_repair;
    return std::holds_alternative<Heartbeat>(body) || std::holds_alternative<Nak>(body);
}

}  // namespace

Result<std::unique_ptr<Group>> Group::create(const Params& params) {
    if (const auto valid = validate(params); !valid) return valid.error();
    return std::unique_ptr<Group>(new Group(params));
}

Group::Group(const Params& params)
    : params_(params),
      prng_(params.seed),
      sender_(params),
      inbox_(params),
      watch_(params),
      prober_(params),
      work_(params.members),
      detour_(params),
      copies_(params),
      bytes_per_s_(params.bytes_per_s) {
    streams_.reserve(params.members);
    for (Member member = 0; member < params.members; ++member)
        streams_.emplace_back(params, member);
}

void Group::close_team(uint64_t now_ns, uint32_t team) {
    inbox_.close_team(team);
    for (Member member = 0; member < params_.members; ++member) {
        if (member != params_.member) refresh(now_ns, member);
    }
}

bool Group::write(uint64_t now_ns, Outgoing& message) {
    TUTTI_ASSERT(!detour_.is_writing_ended(), "the client has ended writing");
    if (failure()) return false;
    return sender_.write(now_ns, message);
}

Result<PostId> Group::post(uint64_t now_ns, Member sender, const MessageName& name,
                           std::span<std::byte> place) {
    TUTTI_ASSERT(sender < params_.members, "no such member");
    TUTTI_ASSERT(sender != params_.member, "nobody receives from itself");
    auto posted = inbox_.post(sender, name, place);
    if (posted) refresh(now_ns, sender);
    return posted;
}

Result<PostId> Group::post_any(uint64_t now_ns, const MessageName& name,
                               std::span<std::byte> place) {
    auto posted = inbox_.post_any(name, place);
    if (!posted) return posted;
    const Member sender = inbox_.sender(posted.value());
    if (sender != kNobody) refresh(now_ns, sender);
    return posted;
}

void Group::release(uint64_t now_ns, PostId id) {
    const Member sender = inbox_.sender(id);
    inbox_.release(id);
    if (sender != kNobody) refresh_waits(now_ns, sender);
}

std::optional<Member> Group::failure() const {
    if (!detour_.is_over()) return {};
    return detour_.dead();
}

std::optional<Member> Group::contradicted() const {
    if (contradicted_ == kNobody) return {};
    return contradicted_;
}

// On the detour each packet to everybody leaves once to all and once to each of the others.
void Group::set_rate(uint64_t bytes_per_s) {
    bytes_per_s_ = bytes_per_s;
    const uint64_t copies = detour_.has_begun() ? params_.members : 1u;
    sender_.set_rate((bytes_per_s + copies - 1) / copies);
}

// ---------------------------------------------------------------- packets in

bool Group::on_packet(uint64_t now_ns, std::span<const std::byte> bytes, uint64_t arrival_ns) {
    const auto packet = parse(bytes);
    if (!packet) {
        ++counters_.packets_malformed;
        return false;
    }
    const bool is_peer = packet->sender < params_.members && packet->sender != params_.member;
    const bool is_for_us = packet->to == kEverybody || packet->to == params_.member;
    if (packet->group != params_.group || !is_peer || !is_for_us) {
        ++counters_.packets_foreign;
        return false;
    }
    if (!streams_[packet->sender].replays.accept(packet->counter)) {
        ++counters_.packets_replayed;
        return false;
    }
    if (failure()) {
        // Who still works does not know yet.
        const auto* notice = std::get_if<Failure>(&packet->body);
        if (!notice || notice->phase != Failure::Phase::kOver) {
            work_.add(Work::kTell, packet->sender);
        }
        return true;
    }
    packet_bytes_ = bytes.size();
    arrival_ns_ = std::min(arrival_ns, now_ns);
    // What came to this member alone says nothing of what the switches copy.
    if (detour_.has_begun() || is_to_everybody(packet->body)) watch_.heard(now_ns, packet->sender);
    std::visit([&](const auto& body) { on_body(now_ns, packet->sender, body); }, packet->body);
    return true;
}

void Group::on_body(uint64_t now_ns, Member from, const Data& data) {
    if (data.payload.size() > payload_bytes_max(params_)) {
        ++counters_.packets_malformed;
        return;
    }
    Receiver& receiver = streams_[from].receiver;
    const Receiver::Verdict verdict = receiver.judge(data.sequence, inbox_.pooled_packets(from));
    receiver.count(verdict);
    if (verdict != Receiver::Verdict::kNew) return;
    if (gate_ && !gate_(data)) {
        ++counters_.packets_malformed;
        // If it is the sender's own after all, it comes again and again.
        uint32_t& refused = streams_[from].refused;
        if (data.sequence == receiver.received_end()) ++refused;
        if (refused > kRefusedMax) contradicted_ = from;
        return;
    }
    inbox_.put(from, data);
    receiver.accept(now_ns, data.sequence, data.is_repair, prng_);
    Continuity& continuity = streams_[from].continuity;
    if (data.sequence < receiver.received_end()) streams_[from].refused = 0;
    continuity.add(data);
    continuity.advance(receiver.received_end());
    if (!continuity.is_whole()) contradicted_ = from;
    refresh(now_ns, from);
}

void Group::on_body(uint64_t now_ns, Member from, const Heartbeat& beat) {
    // Those by which members answer on the detour never ask.
    if (!detour_.has_begun()) streams_[from].continuity.on_heartbeat(beat);
    if (!streams_[from].continuity.is_whole()) contradicted_ = from;
    streams_[from].receiver.reveal(now_ns, beat.end, prng_);
    if (beat.asks) streams_[from].acks.on_asked(beat.end);
    refresh(now_ns, from);
}

void Group::on_body(uint64_t now_ns, Member from, const Nak& nak) {
    if (nak.stream >= params_.members) {
        ++counters_.packets_malformed;
    } else if (nak.stream == params_.member) {
        count_vain(now_ns, from, nak);
        sender_.on_nak(now_ns, from, nak);
    } else {
        streams_[nak.stream].receiver.on_nak(now_ns, from, nak, prng_);
        refresh(now_ns, nak.stream);
    }
}

// Somebody acknowledged in this member's name what it does not have, and it is not kept any more.
void Group::count_vain(uint64_t now_ns, Member from, const Nak& nak) {
    Stream& stream = streams_[from];
    if (nak.range(0).first >= sender_.kept_from()) {
        stream.vain_naks = 0;
        return;
    }
    const uint64_t since_ns = now_ns - stream.vain_ns;
    if (stream.vain_naks > 0 && since_ns < kVainNakNs) return;
    stream.vain_naks = since_ns < kVainQuietNs ? stream.vain_naks + 1 : 1;
    stream.vain_ns = now_ns;
    if (stream.vain_naks > kVainNaksMax) contradicted_ = from;
}

void Group::on_body(uint64_t now_ns, Member from, const Ack& ack) {
    const bool is_stream = ack.stream < params_.members;
    const bool is_own = ack.stream == params_.member;
    // Nobody has what was never sent.
    if (!is_stream || (is_own && ack.received_end > sender_.sent_end())) {
        ++counters_.packets_malformed;
        return;
    }
    const Reached reached{ack.received_end, ack.granted_end, ack.placed_end};
    if (!streams_[ack.stream].acks.on_child(from, reached)) {
        ++counters_.packets_malformed;
        return;
    }
    refresh(now_ns, ack.stream);
}

void Group::on_body(uint64_t now_ns, Member from, const Ask& ask) {
    if (!detour_.has_begun()) {
        sender_.on_ask(now_ns);
    } else {
        // With a copy for each, one answer to everybody would be as many as there are members.
        work_.add(Work::kBeat, from);
        work_.add(Work::kTell, from);
    }
    if (ask.stream < params_.members && ask.stream != params_.member) {
        // Perhaps the stream's own heartbeats do not come here, or this member's acknowledgement of
        // it was lost.
        streams_[ask.stream].receiver.reveal(now_ns, ask.end, prng_);
        streams_[ask.stream].acks.on_asked(ask.end);
        refresh(now_ns, ask.stream);
    }
}

void Group::on_body(uint64_t now_ns, Member from, const Failure& notice) {
    if (notice.dead >= params_.members) {
        ++counters_.packets_malformed;
        return;
    }
    if (!detour_.has_begun()) give_up(now_ns, notice.dead);
    const bool is_flushed = detour_.hear(from, notice.phase);
    if (notice.phase == Failure::Phase::kOver) {
        fail(now_ns);
    } else if (is_flushed) {
        watch_.end_wait(from);
        refresh_flush(now_ns);
    }
}

void Group::on_body(uint64_t now_ns, Member from, const Probe& probe) {
    prober_.on_probe(now_ns, arrival_ns_, from, probe, packet_bytes_);
}

void Group::on_body(uint64_t now_ns, Member, const ProbeAnswer& answer) {
    prober_.on_answer(now_ns, arrival_ns_, answer);
}

// ---------------------------------------------------------------- what follows from them

// After anything has changed in a stream: what it owes, to whom, and whom it waits for.
void Group::refresh(uint64_t now_ns, Member member) {
    Stream& stream = streams_[member];
    if (member == params_.member) {
        sender_.on_acknowledged(stream.acks.joined());
        refresh_flush(now_ns);
    } else {
        const Receiver& receiver = stream.receiver;
        const uint64_t received_end = receiver.received_end();
        stream.acks.set_own({received_end, receiver.granted_end(inbox_.pooled_packets(member)),
                             inbox_.placed_end(member, received_end)});
        stream.ack_ns = stream.acks.due_ns(now_ns);
        if (stream.ack_ns <= now_ns) work_.add(Work::kAck, member);
        if (receiver.nak_ns() <= now_ns) work_.add(Work::kNak, member);
        schedule(now_ns, stream);
    }
    refresh_waits(now_ns, member);
}

void Group::refresh_waits(uint64_t now_ns, Member member) {
    Stream& stream = streams_[member];
    const bool is_own = member == params_.member;
    if (!is_own) {
        const bool was_missing = std::exchange(stream.is_missing, stream.receiver.is_missing());
        missing_streams_ += (stream.is_missing ? 1u : 0u) - (was_missing ? 1u : 0u);
        const bool wanted = stream.is_missing || inbox_.pending_posts(member) > 0;
        set_wait(now_ns, stream.waits_for_sender, wanted, member);
    }
    const uint64_t end = is_own ? sender_.sent_end() : stream.receiver.highest();
    for (uint32_t i = 0; i < stream.acks.children(); ++i) {
        const bool is_behind = stream.acks.of_child(i).placed_end < end;
        set_wait(now_ns, stream.waits_for_child[i], is_behind, stream.acks.child(i));
    }
}

void Group::set_wait(uint64_t now_ns, bool& waits, bool wanted, Member member) {
    if (waits == wanted) return;
    waits = wanted;
    if (wanted) {
        watch_.wait(now_ns, member);
    } else {
        watch_.end_wait(member);
    }
}

void Group::tick(uint64_t now_ns) {
    if (failure()) return;
    if (streams_ns_ <= now_ns) tick_streams(now_ns);
    if (watch_.next_ns() <= now_ns) tick_watch(now_ns);
}

void Group::tick_streams(uint64_t now_ns) {
    streams_ns_ = kNever;
    for (Member member = 0; member < params_.members; ++member) {
        Stream& stream = streams_[member];
        const uint64_t nak_ns = stream.receiver.nak_ns();
        if (stream.ack_ns <= now_ns) work_.add(Work::kAck, member);
        if (nak_ns <= now_ns) work_.add(Work::kNak, member);
        schedule(now_ns, stream);
    }
}

// What is due now is queued already and gets its next time when it has been sent.
void Group::schedule(uint64_t now_ns, const Stream& stream) {
    const uint64_t nak_ns = stream.receiver.nak_ns();
    if (stream.ack_ns > now_ns) streams_ns_ = std::min(streams_ns_, stream.ack_ns);
    if (nak_ns > now_ns) streams_ns_ = std::min(streams_ns_, nak_ns);
}

void Group::tick_watch(uint64_t now_ns) {
    Member member = kNobody;
    for (;;) {
        const Watch::Finding finding = watch_.check(now_ns, member);
        if (finding == Watch::Finding::kNothing) return;
        if (finding == Watch::Finding::kDead) {
            if (detour_.has_begun()) {
                fail(now_ns);
                return;
            }
            give_up(now_ns, member);
            continue;
        }
        // One that still waits to be sent has not been left unanswered.
        if (!work_.add(Work::kAsk, member)) watch_.take_back_ask(member);
    }
}

// ---------------------------------------------------------------- the end

void Group::give_up(uint64_t now_ns, Member dead) {
    TUTTI_ASSERT(!detour_.has_begun(), "a group is given up once");
    detour_.name(dead);
    set_rate(bytes_per_s_);
    // Who cannot say that all is done is waited for, whatever else this member wants.
    for (Member member = 0; member < params_.members; ++member) {
        if (member != params_.member) watch_.wait(now_ns, member);
    }
    watch_.restart(now_ns);
    detour_.begin_telling(now_ns, prng_);
}

void Group::abandon(uint64_t now_ns, Member dead) {
    if (failure()) return;
    detour_.name(dead);
    fail(now_ns);
}

void Group::end_writing(uint64_t now_ns) {
    TUTTI_ASSERT(detour_.has_begun(), "a group that works may be written to at any time");
    detour_.end_writing();
    refresh_flush(now_ns);
}

// All that this member wrote is at its place, and then all that all members wrote.
void Group::refresh_flush(uint64_t now_ns) {
    const bool is_placed = sender_.placed_end() == sender_.written_end();
    if (detour_.advance(now_ns, is_placed, prng_)) fail(now_ns);
}

// What was still to be done on the detour nobody needs any more.
void Group::fail(uint64_t now_ns) {
    work_.clear();
    copies_.call_off();
    detour_.end(now_ns, prng_);
}

GroupCounters Group::counters() const {
    GroupCounters all = counters_;
    all.sent = sender_.counters();
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

}  // namespace tutti::mcast
