// SPDX-License-Identifier: BSD-3-Clause
// One member's stream: numbers packets, keeps them until all have acknowledged them, repairs.
//
// Source: ours; docs/protocol/multicast.md. What a receiver misses is answered from the stream's
// own copy (the window), so that the application's buffer is free as soon as write() has taken it
// and no member depends on a root that computes (cf. Kini 2003, 5.4.1, which resends from the
// buffers of the operation).
//
//      acknowledged | kept for repair       | written, not sent | free
//     --------------+-----------------------+-------------------+------
//                 base_                   sent_               next_     base_ + window
//
// Invariants:
//   I1  base_ <= sent_ <= next_ <= base_ + window: nothing is forgotten before all have it;
//   I2  no packet at or beyond granted_ is ever sent: no receiver is overrun;
//   I3  as long as anything is not acknowledged, or not at its place everywhere, a heartbeat is
//       due.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.h"
#include "base/page_allocator.h"
#include "run/mcast/ack_node.h"
#include "run/mcast/pacer.h"
#include "run/mcast/packet.h"
#include "run/mcast/params.h"

namespace tutti::mcast {

// A message on its way into the stream. The caller keeps it and the data until write() says that
// all of it is taken.
struct Outgoing {
    MessageName name;
    std::span<const std::byte> data;
    size_t taken_bytes = 0;
    bool is_taken = false;
};

struct SenderCounters {
    uint64_t data = 0;
    uint64_t repairs_to_one = 0;
    uint64_t repairs_to_all = 0;
    uint64_t heartbeats = 0;
    uint64_t naks_heard = 0;
    uint64_t naks_held_off = 0;  // packets asked for again too soon
};

// Packets that wait for their repair: each at most once.
class RepairQueue {
  public:
    explicit RepairQueue(size_t most) : sequences_(most) {}
    [[nodiscard]] bool is_empty() const { return count_ == 0; }
    void push(uint64_t sequence) {
        TUTTI_ASSERT(count_ < sequences_.size(), "a packet is queued for repair twice");
        sequences_[(first_ + count_++) % sequences_.size()] = sequence;
    }
    uint64_t pop() {
        TUTTI_ASSERT(count_ > 0, "no packet is queued for repair");
        const uint64_t sequence = sequences_[first_];
        first_ = (first_ + 1) % static_cast<uint32_t>(sequences_.size());
        --count_;
        return sequence;
    }

  private:
    std::vector<uint64_t> sequences_;  // a ring
    uint32_t first_ = 0;
    uint32_t count_ = 0;
};

class Sender {
  public:
    explicit Sender(const Params& params);

    // Takes as much as there is room for; true when the message is taken whole.
    bool write(uint64_t now_ns, Outgoing& message);
    // All members say so.
    void on_acknowledged(const Reached& reached);
    void on_nak(uint64_t now_ns, Member asker, const Nak& nak);
    // A member asks to hear from this one. All hear the answer, so those who ask within a first
    // heartbeat's time get one together.
    void on_ask(uint64_t now_ns) {
        beat_ns_ = std::max(now_ns, answer_again_ns_);
        is_asked_ = true;
    }
    // A rank waits until all that was sent is at its place: asks for acknowledgements now.
    void hasten(uint64_t now_ns) {
        if (placed_ == next_) return;
        must_ask_ = true;
        if (!can_send()) beat_ns_ = now_ns;
    }
    void set_rate(uint64_t bytes_per_s) {
        pacer_.set_rate(bytes_per_s, burst_bytes(params_, bytes_per_s));
    }

    // When next_packet() should be called again, if nothing else happens.
    [[nodiscard]] uint64_t next_ns() const;
    // Writes the next packet that is due and says to whom; 0: none is.
    size_t next_packet(uint64_t now_ns, std::span<std::byte> out, Member& to);

    [[nodiscard]] uint64_t sent_end() const { return sent_; }
    // All before this all members have acknowledged.
    [[nodiscard]] uint64_t kept_from() const { return base_; }
    [[nodiscard]] uint64_t written_end() const { return next_; }
    [[nodiscard]] uint64_t placed_end() const { return placed_; }
    [[nodiscard]] bool is_acknowledged() const { return base_ == next_; }
    [[nodiscard]] const SenderCounters& counters() const { return counters_; }

  private:
    struct Slot {
        size_t bytes = 0;
        uint64_t repaired_ns = 0;
        Member repaired_for = kNobody;  // the last repair; kEverybody if to all
        bool is_repaired = false;
        Member asker = kNobody;  // the next repair
        bool is_queued = false;
    };

    [[nodiscard]] Slot& slot(uint64_t sequence) {
        return slots_[sequence % params_.window_packets];
    }
    [[nodiscard]] std::span<std::byte> copy(uint64_t sequence) {
        return {copies_.data() + sequence % params_.window_packets * params_.packet_bytes_max,
                params_.packet_bytes_max};
    }
    void add(const Outgoing& message, size_t payload_bytes);
    void ask_repair(uint64_t now_ns, Member asker, bool others_asked, uint64_t sequence);
    size_t next_repair(uint64_t now_ns, std::span<std::byte> out, Member& to);
    size_t next_data(uint64_t now_ns, std::span<std::byte> out, Member& to);
    size_t next_heartbeat(uint64_t now_ns, std::span<std::byte> out, Member& to);
    [[nodiscard]] bool can_send() const { return sent_ < next_ && sent_ < granted_; }
    void restart_beats(uint64_t now_ns);
    // Asserts the invariants, behind each step.
    void check() const;

    Params params_;
    Pacer pacer_;
    bool has_more_ = false;  // when the last packet left, another one was there already
    std::vector<std::byte, PageAllocator<std::byte>> copies_;
    std::vector<Slot> slots_;
    RepairQueue repairs_;
    uint64_t base_ = 0;
    uint64_t placed_ = 0;  // <= base_
    uint64_t sent_ = 0;
    uint64_t next_ = 0;
    uint64_t granted_ = 0;
    uint64_t beat_ns_ = kNever;
    uint64_t beat_interval_ns_ = 0;
    bool is_asked_ = false;  // and has not answered by a heartbeat
    uint64_t answer_again_ns_ = 0;
    bool must_ask_ = false;  // by a heartbeat behind all that may be sent
    uint32_t beats_since_data_ = 0;
    uint32_t beat_number_ = 0;
    SenderCounters counters_;
};

}  // namespace tutti::mcast
