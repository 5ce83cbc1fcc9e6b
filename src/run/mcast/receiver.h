// SPDX-License-Identifier: BSD-3-Clause
// One sender's stream as a receiver sees it: which packets are there, which are missing, when to
// ask for them. It knows numbers only; where data goes is the inbox's (inbox.h).
//
// Source: NAK with random back-off and suppression, RFC 5740 (NORM), Section 5.3; the shape of a
// small machine with the time passed in is that of Aeron's loss detector. Ours: the second voice.
// Repairs go to the member that asked, so one that hears another ask does not yet know that its own
// loss will be repaired. The second to ask says that it is not alone; the sender repairs to all,
// and from then on the others keep silent. So a shared loss costs about two NAKs, a single one no
// multicast.
//
// Each missing packet has its own clock:
//
//   noticed --reorder wait + back-off--> asked (1) --re-NAK--> asked (2) --2 x--> asked (3) ...
//      | heard one other: its voice is kept, mine will say "others too"
//      | heard two: as if I had asked
//      '--- it arrives at any point: done
//
// Invariants:
//   I1  next_ is the first packet that is not here; all before it have been accepted exactly once;
//   I2  packets from highest_ on are not known to exist, so nobody asks for them;
//   I3  highest_ <= next_ + window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/prng.h"
#include "run/mcast/packet.h"
#include "run/mcast/params.h"
#include "run/mcast/round_trip.h"

namespace tutti::mcast {

struct ReceiverCounters {
    uint64_t packets = 0;
    uint64_t duplicates = 0;
    uint64_t overruns = 0;  // beyond what was granted: no honest sender does that
    uint64_t gaps = 0;      // packets noticed missing
    uint64_t naks = 0;
    uint64_t suppressed = 0;  // packets not asked for, since two others had
    uint64_t repaired = 0;    // missing packets that came
    uint64_t repaired_in_10_ms = 0;
    uint64_t repair_ns_max = 0;  // from noticed to here
};

class Receiver {
  public:
    Receiver(const Params& params, Member stream);

    enum class Verdict : uint8_t { kNew, kDuplicate, kOverrun };
    [[nodiscard]] Verdict judge(uint64_t sequence, uint32_t pooled_packets) const;
    // A packet that judge() calls new is here.
    void accept(uint64_t now_ns, uint64_t sequence, bool is_repair, Prng& prng);
    void count(Verdict verdict);
    // The sender says that its stream reaches to `end`.
    void reveal(uint64_t now_ns, uint64_t end, Prng& prng);
    // Another member asks.
    void on_nak(uint64_t now_ns, Member asker, const Nak& nak, Prng& prng);

    // When a NAK is due; kNever if nothing is missing.
    [[nodiscard]] uint64_t nak_ns() const { return nak_ns_; }
    // Asks for all that is due by now and a little later; 0 bytes if nothing is.
    size_t write_nak(uint64_t now_ns, std::span<std::byte> out, Prng& prng);

    [[nodiscard]] uint64_t received_end() const { return next_; }
    [[nodiscard]] uint64_t highest() const { return highest_; }
    [[nodiscard]] bool is_missing() const { return next_ < highest_; }
    // What may be sent, when so many packets wait unposted: unposted and still to come together
    // never exceed the window.
    [[nodiscard]] uint64_t granted_end(uint32_t pooled_packets) const;
    [[nodiscard]] const ReceiverCounters& counters() const { return counters_; }
    [[nodiscard]] const RoundTrip& round_trip() const { return round_trip_; }

  private:
    struct Entry {
        uint64_t due_ns = 0;
        uint64_t noticed_ns = 0;
        uint64_t asked_ns = 0;  // first
        uint16_t tries = 0;
        Member voice = kNobody;
        bool is_here = false;
    };

    [[nodiscard]] Entry& entry(uint64_t sequence) {
        return entries_[sequence % params_.window_packets];
    }
    [[nodiscard]] const Entry& entry(uint64_t sequence) const {
        return entries_[sequence % params_.window_packets];
    }
    void extend(uint64_t now_ns, uint64_t end, Prng& prng);
    void measure_spacing(uint64_t now_ns);
    void close_gap(uint64_t now_ns, Entry& gap, bool is_repair);
    [[nodiscard]] uint64_t reorder_ns() const;
    [[nodiscard]] uint64_t backoff_ns(Prng& prng) const;
    [[nodiscard]] uint64_t renak_ns(uint32_t tries, Prng& prng) const;
    void find_due();
    // Asserts the invariants, behind each step.
    void check() const;
    [[nodiscard]] uint64_t count_early() const;

    Params params_;
    Member stream_;
    std::vector<Entry> entries_;  // a ring over [next_, next_ + window)
    uint64_t next_ = 0;
    uint64_t highest_ = 0;
    uint64_t early_ = 0;  // packets here behind next_
    uint64_t nak_ns_ = kNever;
    uint64_t arrival_ns_ = kNever;
    uint64_t spacing_ns_ = 0;
    RoundTrip round_trip_;
    ReceiverCounters counters_;
};

}  // namespace tutti::mcast
