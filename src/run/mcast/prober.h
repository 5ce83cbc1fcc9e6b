// SPDX-License-Identifier: BSD-3-Clause
// The round before a group is used: which members hear which, how long a round trip takes, at what
// rate member 0's packets arrive. Bounded: a fabric without multicast is found out, not waited for.
//
// Source: ours. Every member multicasts probes that carry a bit for each member it has heard, so
// everyone gathers the whole matrix from what it hears; no member is asked by all the others at
// once. Each probe names one member that answers it: that gives round trips. When all hear all
// (switches that snoop take a while to learn of members), member 0 sends a row of full packets
// whose spacing at arrival gives the rate of the narrowest link (packet trains, cf. Dovrolis,
// Ramanathan, Moore 2001); the first half of the row is not counted, since shapers let a burst
// pass. A member that hears the row holds its own probes back until it has passed; they would take
// their share of the link.
//
// A member is done when its matrix is full, a round trip is known and the row has passed, or after
// probes_max probes; it goes on answering those that are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "run/mcast/packet.h"
#include "run/mcast/params.h"

namespace tutti::mcast {

class Prober {
  public:
    explicit Prober(const Params& params);

    void start(uint64_t now_ns);
    // `arrival_ns` may lie before `now_ns`: what the train measures is when its packets came, not
    // when somebody had time to look.
    void on_probe(uint64_t now_ns, uint64_t arrival_ns, Member from, const Probe& probe,
                  size_t packet_bytes);
    void on_answer(uint64_t now_ns, uint64_t arrival_ns, const ProbeAnswer& answer);
    [[nodiscard]] uint64_t next_ns() const;
    size_t next_packet(uint64_t now_ns, std::span<std::byte> out, Member& to);

    [[nodiscard]] bool is_done() const { return is_done_; }
    // As far as this member knows.
    [[nodiscard]] bool hears(Member who, Member whom) const;
    [[nodiscard]] bool all_hear_all() const { return heard_count_ == full_count(); }
    [[nodiscard]] uint64_t round_trip_ns_min() const { return round_trip_ns_min_; }
    [[nodiscard]] uint64_t round_trip_ns_max() const { return round_trip_ns_max_; }
    // Of the slowest member that measured it; 0: none did.
    [[nodiscard]] uint64_t bytes_per_s() const;
    // Of this member; 0: no two of the full packets that count came.
    [[nodiscard]] uint64_t own_bytes_per_s() const { return peers_[params_.member].bytes_per_s; }

  private:
    struct Peer {
        bool must_answer = false;
        uint32_t number = 0;
        uint64_t sent_ns = 0;
        uint64_t bytes_per_s = 0;
    };

    [[nodiscard]] std::span<std::byte> row(Member member) {
        return {matrix_.data() + member * row_bytes_, row_bytes_};
    }
    [[nodiscard]] uint64_t full_count() const {
        return uint64_t{params_.members} * params_.members;
    }
    void merge(Member member, std::span<const std::byte> heard);
    void mark(Member who, Member whom);
    void on_train(uint64_t arrival_ns, uint32_t number, size_t packet_bytes);
    void look_whether_done(uint64_t now_ns);
    size_t next_answer(std::span<std::byte> out, Member& to);
    size_t write_probe(uint64_t now_ns, bool is_train, std::span<std::byte> out);
    // Asserts what must hold behind each step.
    void check() const;
    [[nodiscard]] bool is_counted_right() const;

    Params params_;
    size_t row_bytes_;
    uint64_t interval_ns_;
    std::vector<std::byte> matrix_;  // rows of bits
    uint64_t heard_count_ = 0;
    std::vector<Peer> peers_;
    uint32_t answers_due_ = 0;
    bool has_begun_train_ = false;  // member 0
    uint32_t train_left_ = 0;
    uint32_t probes_ = 0;
    uint64_t probe_ns_ = kNever;
    bool is_train_over_;
    bool is_done_ = false;
    uint64_t train_first_ns_ = kNever;
    uint32_t train_first_ = 0;    // number of that packet
    uint64_t train_arrived_ = 0;  // since then
    uint64_t round_trip_ns_min_ = kNever;
    uint64_t round_trip_ns_max_ = 0;
};

}  // namespace tutti::mcast
