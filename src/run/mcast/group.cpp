// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/group.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/assert.h"

namespace tutti::mcast {

namespace {

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
      watch_(params),
      work_(params.members),
      streams_(params, prng_, watch_, work_),
      contradictions_(params),
      prober_(params),
      detour_(params),
      copies_(params),
      bytes_per_s_(params.bytes_per_s) {
    replays_.reserve(params.members);
    for (Member member = 0; member < params.members; ++member) {
        replays_.emplace_back(replay_counters(params));
    }
}

// ---------------------------------------------------------------- messages

void Group::close_team(uint64_t now_ns, uint32_t team) {
    streams_.close_team(now_ns, team);
    check();
}

bool Group::write(uint64_t now_ns, Outgoing& message) {
    TUTTI_ASSERT(!detour_.is_writing_ended(), "the client has ended writing");
    if (failure()) return false;
    const bool is_taken = sender_.write(now_ns, message);
    check();
    return is_taken;
}

Result<PostId> Group::post(uint64_t now_ns, Member sender, const MessageName& name,
                           std::span<std::byte> place) {
    auto posted = streams_.post(now_ns, sender, name, place);
    check();
    return posted;
}

Result<PostId> Group::post_any(uint64_t now_ns, const MessageName& name,
                               std::span<std::byte> place) {
    auto posted = streams_.post_any(now_ns, name, place);
    check();
    return posted;
}

void Group::release(uint64_t now_ns, PostId id) {
    streams_.release(now_ns, id);
    check();
}

std::optional<Member> Group::failure() const {
    if (!detour_.is_over()) return {};
    return detour_.dead();
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
    const Member from = packet->sender;
    const bool is_peer = from < params_.members && from != params_.member;
    const bool is_for_us = packet->to == kEverybody || packet->to == params_.member;
    if (packet->group != params_.group || !is_peer || !is_for_us) {
        ++counters_.packets_foreign;
        return false;
    }
    if (!replays_[from].accept(packet->counter)) {
        ++counters_.packets_replayed;
        return false;
    }
    if (failure()) {
        // Who still works does not know yet.
        const auto* notice = std::get_if<Failure>(&packet->body);
        if (!notice || notice->phase != Failure::Phase::kOver) work_.add(Work::kTell, from);
        return true;
    }
    // What came to this member alone says nothing of what the switches copy.
    if (detour_.has_begun() || is_to_everybody(packet->body)) watch_.heard(now_ns, from);
    const auto handle = [&](const auto& body) {
        using Kind = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Kind, Probe>) {
            prober_.on_probe(now_ns, std::min(arrival_ns, now_ns), from, body, bytes.size());
            return true;
        } else if constexpr (std::is_same_v<Kind, ProbeAnswer>) {
            prober_.on_answer(now_ns, std::min(arrival_ns, now_ns), body);
            return true;
        } else {
            return on_body(now_ns, from, body);
        }
    };
    if (!std::visit(handle, packet->body)) ++counters_.packets_malformed;
    check();
    return true;
}

bool Group::on_body(uint64_t now_ns, Member from, const Data& data) {
    if (data.payload.size() > payload_bytes_max(params_)) return false;
    if (streams_.judge(from, data.sequence) != Receiver::Verdict::kNew) return true;
    if (gate_ && !gate_(data)) {
        contradictions_.on_refused(from, data.sequence == streams_.received_end(from));
        return false;
    }
    streams_.take(now_ns, from, data);
    contradictions_.on_data(from, data, streams_.received_end(from));
    return true;
}

bool Group::on_body(uint64_t now_ns, Member from, const Heartbeat& beat) {
    if (!detour_.has_begun()) contradictions_.on_heartbeat(from, beat);
    streams_.reveal(now_ns, from, beat.end, beat.asks);
    return true;
}

bool Group::on_body(uint64_t now_ns, Member from, const Nak& nak) {
    if (nak.stream >= params_.members) return false;
    if (nak.stream == params_.member) {
        contradictions_.on_nak(now_ns, from, nak, sender_.kept_from());
        sender_.on_nak(now_ns, from, nak);
    } else {
        streams_.on_nak(now_ns, from, nak);
    }
    return true;
}

bool Group::on_body(uint64_t now_ns, Member from, const Ack& ack) {
    if (ack.stream >= params_.members || !streams_.on_ack(now_ns, from, ack)) return false;
    if (ack.stream == params_.member) {
        sender_.on_acknowledged(streams_.acknowledged());
        refresh_flush(now_ns);
    }
    return true;
}

bool Group::on_body(uint64_t now_ns, Member from, const Ask& ask) {
    if (!detour_.has_begun()) {
        sender_.on_ask(now_ns);
    } else {
        // With a copy for each, one answer to everybody would be as many as there are members.
        work_.add(Work::kBeat, from);
        work_.add(Work::kTell, from);
    }
    // Perhaps the stream's own heartbeats do not come here, or this member's acknowledgement of it
    // was lost.
    if (ask.stream < params_.members && ask.stream != params_.member) {
        streams_.reveal(now_ns, ask.stream, ask.end, true);
    }
    return true;
}

bool Group::on_body(uint64_t now_ns, Member from, const Failure& notice) {
    if (notice.dead >= params_.members) return false;
    if (!detour_.has_begun()) give_up(now_ns, notice.dead);
    const bool is_flushed = detour_.hear(from, notice.phase);
    if (notice.phase == Failure::Phase::kOver) {
        abandon(now_ns, notice.dead);
    } else if (is_flushed) {
        watch_.end_wait(from);
        refresh_flush(now_ns);
    }
    return true;
}

// ---------------------------------------------------------------- time, and the end

void Group::tick(uint64_t now_ns) {
    if (failure()) return;
    streams_.tick(now_ns);
    Member member = kNobody;
    for (;;) {
        const Watch::Finding finding = watch_.check(now_ns, member);
        if (finding == Watch::Finding::kNothing) break;
        if (finding == Watch::Finding::kAsk) {
            // One that still waits to be sent has not been left unanswered.
            if (!work_.add(Work::kAsk, member)) watch_.take_back_ask(member);
            continue;
        }
        if (detour_.has_begun()) return abandon(now_ns, member);
        give_up(now_ns, member);
    }
    check();
}

void Group::give_up(uint64_t now_ns, Member dead) {
    TUTTI_ASSERT(!detour_.has_begun(), "a group is given up once");
    TUTTI_ASSERT(dead < params_.members, "a member is named");
    detour_.name(dead);
    set_rate(bytes_per_s_);
    // Who cannot say that all is done is waited for, whatever else this member wants.
    for (Member member = 0; member < params_.members; ++member) {
        if (member != params_.member) watch_.wait(now_ns, member);
    }
    watch_.restart(now_ns);
    detour_.begin_telling(now_ns, prng_);
    check();
}

// What was still to be done on the detour nobody needs any more.
void Group::abandon(uint64_t now_ns, Member dead) {
    if (failure()) return;
    detour_.name(dead);
    work_.end();
    copies_.call_off();
    detour_.end(now_ns, prng_);
    check();
}

void Group::end_writing(uint64_t now_ns) {
    TUTTI_ASSERT(detour_.has_begun(), "a group that works may be written to at any time");
    detour_.end_writing();
    refresh_flush(now_ns);
    check();
}

// All that this member wrote is at its place, and then all that all members wrote.
void Group::refresh_flush(uint64_t now_ns) {
    const bool is_placed = sender_.placed_end() == sender_.written_end();
    if (detour_.advance(now_ns, is_placed, prng_)) abandon(now_ns, detour_.notice().dead);
}

GroupCounters Group::counters() const {
    GroupCounters all = counters_;
    static_cast<StreamCounters&>(all) = streams_.counters();
    all.sent = sender_.counters();
    return all;
}

void Group::check() const {
    TUTTI_ASSERT(packets_ <= params_.packets_max, "a counter is used twice");
    TUTTI_ASSERT(streams_.sent_end() == sender_.sent_end(), "what was sent is not accounted for");
    const Reached all = streams_.acknowledged();
    TUTTI_ASSERT(sender_.kept_from() == all.received_end, "a packet is forgotten or kept too long");
    TUTTI_ASSERT(sender_.placed_end() == all.placed_end, "a packet is placed that is not, or not");
    const bool is_all_placed = sender_.placed_end() == sender_.written_end();
    TUTTI_ASSERT(!detour_.is_flushed() || is_all_placed, "a member is flushed too early");
    TUTTI_ASSERT(detour_.has_begun() || !copies_.is_under_way(), "a group that works makes copies");
    TUTTI_ASSERT(work_.is_ended() == detour_.is_over(), "work goes on in a group that has failed");
    TUTTI_ASSERT(!detour_.is_over() || !copies_.is_under_way() || copies_.is_notice(),
                 "a group that has failed carries data");
    const auto is_awaited = [this](Member member) {
        return member == params_.member || detour_.has_heard_flushed(member) ||
               watch_.reasons(member) > 0;
    };
    for (Member member = 0; detour_.has_begun() && member < params_.members; ++member) {
        TUTTI_ASSERT(detour_.is_over() || is_awaited(member), "the detour may never end");
    }
}

}  // namespace tutti::mcast
