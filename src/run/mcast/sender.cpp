// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/sender.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace tutti::mcast {

Sender::Sender(const Params& params)
    : params_(params),
      pacer_(params.bytes_per_s, burst_bytes(params, params.bytes_per_s)),
      copies_(size_t{params.window_packets} * params.packet_bytes_max),
      slots_(params.window_packets),
      repairs_(params.window_packets),
      granted_(params.window_packets) {}

void Sender::check() const {
    TUTTI_ASSERT(placed_ <= base_, "a packet is at its place before it was acknowledged");
    TUTTI_ASSERT(base_ <= sent_, "a packet is acknowledged before it was sent");
    TUTTI_ASSERT(sent_ <= next_, "a packet is sent before it was written");
    TUTTI_ASSERT(next_ - base_ <= params_.window_packets, "the window is overrun");
    TUTTI_ASSERT(sent_ <= granted_, "a receiver is overrun");
    TUTTI_ASSERT(placed_ == next_ || beat_ns_ != kNever, "no heartbeat asks for what is open");
}

bool Sender::write(uint64_t now_ns, Outgoing& message) {
    TUTTI_ASSERT(message.data.size() <= UINT32_MAX, "a message has less than 4 GiB");
    TUTTI_ASSERT(message.taken_bytes <= message.data.size(), "more is taken than there is");
    while (!message.is_taken && next_ < base_ + params_.window_packets) {
        const size_t rest = message.data.size() - message.taken_bytes;
        const size_t bytes = std::min<size_t>(rest, payload_bytes_max(params_));
        add(message, bytes);
        message.taken_bytes += bytes;
        message.is_taken = message.taken_bytes == message.data.size();
    }
    // Where no data can leave, only a heartbeat finds out when it can.
    if (sent_ < next_ && beat_ns_ == kNever) restart_beats(now_ns);
    check();
    return message.is_taken;
}

void Sender::add(const Outgoing& message, size_t payload_bytes) {
    Data data;
    data.sequence = next_;
    data.name = message.name;
    data.offset = static_cast<uint32_t>(message.taken_bytes);
    data.total = static_cast<uint32_t>(message.data.size());
    data.payload = message.data.subspan(message.taken_bytes, payload_bytes);
    slot(next_) = Slot{};
    slot(next_).bytes = mcast::write({params_.group, params_.member, data}, copy(next_));
    ++next_;
}

void Sender::on_acknowledged(const Reached& reached) {
    TUTTI_ASSERT(reached.received_end <= sent_, "packets acknowledged that were never sent");
    TUTTI_ASSERT(reached.placed_end <= reached.received_end, "packets placed before they came");
    base_ = std::max(base_, reached.received_end);
    granted_ = std::max(granted_, reached.granted_end);
    placed_ = std::max(placed_, reached.placed_end);
    // Who asked wants an answer, whatever came with the question.
    if (placed_ == next_ && !is_asked_) beat_ns_ = kNever;
    check();
}

void Sender::on_nak(uint64_t now_ns, Member asker, const Nak& nak) {
    for (uint32_t i = 0; i < nak.count(); ++i) {
        const Range range = nak.range(i);
        const uint64_t first = std::max(range.first, base_);
        const uint64_t end = std::min(range.first + range.count, sent_);
        for (uint64_t sequence = first; sequence < end; ++sequence) {
            ask_repair(now_ns, asker, nak.others_asked, sequence);
        }
    }
    ++counters_.naks_heard;
}

// Within the hold-off a packet goes out again only if the former repair cannot have reached the
// asker, since it went to another one: then to all, for who asks one by one comes in numbers.
void Sender::ask_repair(uint64_t now_ns, Member asker, bool others_asked, uint64_t sequence) {
    TUTTI_ASSERT(sequence >= base_ && sequence < sent_, "a repair of what is not kept");
    Slot& state = slot(sequence);
    Member wanted = others_asked ? kEverybody : asker;
    if (state.is_repaired && now_ns < state.repaired_ns + params_.timing.hold_off_ns) {
        if (state.repaired_for == kEverybody || state.repaired_for == asker) {
            ++counters_.naks_held_off;
            return;
        }
        wanted = kEverybody;
    }
    if (state.is_queued) {
        if (state.asker != asker) state.asker = kEverybody;
        return;
    }
    state.asker = wanted;
    state.is_queued = true;
    repairs_.push(sequence);
}

uint64_t Sender::next_ns() const {
    const bool has_packet = !repairs_.is_empty() || can_send();
    return std::min(beat_ns_, has_packet ? pacer_.ready_ns() : kNever);
}

size_t Sender::next_packet(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    TUTTI_ASSERT(out.size() >= params_.packet_bytes_max, "no room for a packet");
    const bool may_send = pacer_.ready_ns() <= now_ns;
    size_t bytes = 0;
    if (may_send) bytes = next_repair(now_ns, out, to);
    if (may_send && bytes == 0) bytes = next_data(now_ns, out, to);
    if (bytes > 0) {
        pacer_.spend(now_ns, bytes + kWireBytes, has_more_);
        has_more_ = !repairs_.is_empty() || can_send();
    } else {
        bytes = next_heartbeat(now_ns, out, to);
    }
    check();
    return bytes;
}

size_t Sender::next_repair(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    while (!repairs_.is_empty()) {
        const uint64_t sequence = repairs_.pop();
        // Acknowledged meanwhile; its slot may belong to another packet already.
        if (sequence < base_) continue;
        Slot& state = slot(sequence);
        TUTTI_ASSERT(state.is_queued, "a repair that nobody asked for");
        state.is_queued = false;
        state.is_repaired = true;
        state.repaired_ns = now_ns;
        state.repaired_for = state.asker;
        to = state.asker;
        std::memcpy(out.data(), copy(sequence).data(), state.bytes);
        mark_repair(out.first(state.bytes));
        ++(to == kEverybody ? counters_.repairs_to_all : counters_.repairs_to_one);
        return state.bytes;
    }
    return 0;
}

size_t Sender::next_data(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    if (!can_send()) return 0;
    TUTTI_ASSERT(sent_ < base_ + params_.window_packets, "the window is overrun");
    const size_t bytes = slot(sent_).bytes;
    std::memcpy(out.data(), copy(sent_).data(), bytes);
    to = kEverybody;
    ++sent_;
    ++counters_.data;
    restart_beats(now_ns);
    return bytes;
}

void Sender::restart_beats(uint64_t now_ns) {
    beat_interval_ns_ = params_.timing.heartbeat_ns_first;
    beat_ns_ = must_ask_ && !can_send() ? now_ns : now_ns + beat_interval_ns_;
    beats_since_data_ = 0;
}

size_t Sender::next_heartbeat(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    if (beat_ns_ > now_ns) return 0;
    if (is_asked_) answer_again_ns_ = now_ns + params_.timing.heartbeat_ns_first;
    is_asked_ = false;
    const bool is_blocked = sent_ < next_ && !can_send();
    const bool is_open = placed_ < next_;
    Heartbeat beat{sent_, ++beat_number_, false};
    const bool is_silent = beats_since_data_ >= params_.timing.heartbeats_silent;
    beat.asks = is_open && (must_ask_ || is_blocked || is_silent);
    if (!can_send()) must_ask_ = false;
    ++beats_since_data_;
    const uint64_t longer = std::max(2 * beat_interval_ns_, params_.timing.heartbeat_ns_first);
    beat_interval_ns_ = std::min(longer, params_.timing.heartbeat_ns_max);
    beat_ns_ = is_open ? now_ns + beat_interval_ns_ : kNever;
    to = kEverybody;
    ++counters_.heartbeats;
    return mcast::write({params_.group, params_.member, beat}, out);
}

}  // namespace tutti::mcast
