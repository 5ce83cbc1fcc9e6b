// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/prober.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assert.h"

namespace tutti::mcast {
namespace {

// All members' probes come to every member: more members probe more slowly, so that a thousand of
// them make no more than about 6,000 packets a second.
constexpr uint32_t kMembersAtFullPace = 32;
// One of so many packets may be lost by chance. A queue that overflows because the sender's link is
// faster by less than that share does not overflow within the row.
constexpr uint32_t kTrainLossShare = 10;
// Member 0's probes are numbered from here on once the row has left.
constexpr uint32_t kBehindTrain = 1u << 16;

}  // namespace

Prober::Prober(const Params& params)
    : params_(params),
      row_bytes_((params.members + 7u) / 8),
      interval_ns_(params.timing.probe_ns * (1 + params.members / kMembersAtFullPace)),
      matrix_(row_bytes_ * params.members),
      peers_(params.members),
      is_train_over_(params.train_packets == 0) {
    for (Member member = 0; member < params.members; ++member) mark(member, member);
}

void Prober::check() const {
    TUTTI_ASSERT(heard_count_ <= full_count(), "members hear more than there are");
    TUTTI_ASSERT(answers_due_ < params_.members, "more answers are due than there are others");
    TUTTI_ASSERT(train_left_ <= params_.train_packets, "the row is longer than agreed");
    TUTTI_ASSERT(params_.member == 0 || !has_begun_train_, "member 0 alone sends the row");
    TUTTI_ASSERT(probes_ <= params_.timing.probes_max, "more probes than agreed");
    TUTTI_ASSERT_SLOW(is_counted_right(), "the matrix or the answers are counted wrongly");
}

bool Prober::is_counted_right() const {
    uint64_t heard = 0;
    for (const std::byte eight : matrix_) heard += std::popcount(std::to_integer<uint8_t>(eight));
    const auto due = std::ranges::count_if(peers_, [](const Peer& one) { return one.must_answer; });
    return heard == heard_count_ && static_cast<uint64_t>(due) == answers_due_;
}

void Prober::start(uint64_t now_ns) { probe_ns_ = now_ns; }

bool Prober::hears(Member who, Member whom) const {
    const std::byte eight = matrix_[who * row_bytes_ + whom / 8u];
    return (eight & (std::byte{1} << (whom % 8u))) != std::byte{0};
}

void Prober::mark(Member who, Member whom) {
    if (hears(who, whom)) return;
    row(who)[whom / 8u] |= std::byte{1} << (whom % 8u);
    ++heard_count_;
}

void Prober::merge(Member member, std::span<const std::byte> heard) {
    if (heard.size() != row_bytes_) return;
    for (Member whom = 0; whom < params_.members; ++whom) {
        const std::byte bit = heard[whom / 8u] & (std::byte{1} << (whom % 8u));
        if (bit != std::byte{0}) mark(member, whom);
    }
}

void Prober::on_probe(uint64_t now_ns, uint64_t arrival_ns, Member from, const Probe& probe,
                      size_t packet_bytes) {
    mark(params_.member, from);
    merge(from, probe.heard);
    Peer& peer = peers_[from];
    peer.bytes_per_s = std::max(peer.bytes_per_s, probe.bytes_per_s);
    if (from == 0 && probe.is_train) on_train(arrival_ns, probe.number, packet_bytes);
    // Its last packet may be lost; what member 0 probes from then on comes behind it.
    const uint32_t end = probe.is_train ? params_.train_packets - 1 : kBehindTrain;
    if (from == 0 && probe.number >= end) is_train_over_ = true;
    if (!is_train_over_ && from == 0 && probe.is_train && probe_ns_ != kNever) {
        probe_ns_ = std::max(probe_ns_, now_ns + interval_ns_);
    }
    if (probe.answerer == params_.member) {
        if (!peer.must_answer) ++answers_due_;
        peer.must_answer = true;
        peer.number = probe.number;
        peer.sent_ns = probe.sent_ns;
    }
    look_whether_done(now_ns);
    // Who is not done may lack just what this one knows.
    const bool may_probe = probes_ > 0 && probes_ < params_.timing.probes_max;
    if (is_done_ && !probe.is_done && may_probe && probe_ns_ == kNever) {
        probe_ns_ = now_ns + interval_ns_;
    }
    check();
}

// Few that are missing were lost somewhere, and the link carried them or could have. Many were too
// much for a queue, and the rate is that of those which came.
void Prober::on_train(uint64_t arrival_ns, uint32_t number, size_t packet_bytes) {
    const bool is_possible = number < params_.train_packets;
    if (!is_possible || number < params_.train_packets / 2) return;
    if (train_first_ns_ == kNever) {
        train_first_ns_ = arrival_ns;
        train_first_ = number;
        return;
    }
    if (number <= train_first_ || arrival_ns <= train_first_ns_) return;
    ++train_arrived_;
    const uint64_t sent = number - train_first_;
    const bool lost_few = train_arrived_ + sent / kTrainLossShare >= sent;
    const uint64_t packets = lost_few ? sent : train_arrived_;
    const uint64_t bytes = packets * (packet_bytes + kWireBytes);
    const uint64_t took_ns = arrival_ns - train_first_ns_;
    peers_[params_.member].bytes_per_s = bytes * 1'000'000'000 / took_ns;
}

void Prober::on_answer(uint64_t now_ns, uint64_t arrival_ns, const ProbeAnswer& answer) {
    if (answer.sent_ns >= arrival_ns) return;
    round_trip_ns_min_ = std::min(round_trip_ns_min_, arrival_ns - answer.sent_ns);
    round_trip_ns_max_ = std::max(round_trip_ns_max_, arrival_ns - answer.sent_ns);
    look_whether_done(now_ns);
    check();
}

void Prober::look_whether_done(uint64_t now_ns) {
    if (params_.member == 0 && !has_begun_train_ && all_hear_all()) {
        has_begun_train_ = true;
        train_left_ = params_.train_packets;
        probe_ns_ = now_ns;
    }
    const bool has_round_trip = round_trip_ns_max_ > 0;
    if (is_done_ || !has_round_trip || !all_hear_all() || !is_train_over_) return;
    is_done_ = true;
    // Tells the others at once what they need in order to be done too.
    probe_ns_ = now_ns;
}

uint64_t Prober::bytes_per_s() const {
    uint64_t least = 0;
    for (const Peer& peer : peers_) {
        if (peer.bytes_per_s > 0 && (least == 0 || peer.bytes_per_s < least)) {
            least = peer.bytes_per_s;
        }
    }
    return least;
}

uint64_t Prober::next_ns() const { return answers_due_ > 0 ? 0 : probe_ns_; }

size_t Prober::next_packet(uint64_t now_ns, std::span<std::byte> out, Member& to) {
    check();
    if (answers_due_ > 0) return next_answer(out, to);
    if (probe_ns_ > now_ns) return 0;
    to = kEverybody;
    if (train_left_ > 0) {
        const size_t bytes = write_probe(now_ns, true, out);
        if (train_left_ == 0) is_train_over_ = true;
        look_whether_done(now_ns);
        return bytes;
    }
    if (probes_ == params_.timing.probes_max) {
        is_done_ = true;
        probe_ns_ = kNever;
        return 0;
    }
    probe_ns_ = is_done_ ? kNever : now_ns + interval_ns_;
    return write_probe(now_ns, false, out);
}

size_t Prober::next_answer(std::span<std::byte> out, Member& to) {
    for (Member member = 0; member < params_.members; ++member) {
        Peer& peer = peers_[member];
        if (!peer.must_answer) continue;
        peer.must_answer = false;
        --answers_due_;
        to = member;
        return write({params_.group, params_.member, ProbeAnswer{peer.number, peer.sent_ns}}, out);
    }
    TUTTI_ASSERT(false, "an answer was due");
    return 0;
}

size_t Prober::write_probe(uint64_t now_ns, bool is_train, std::span<std::byte> out) {
    Probe probe;
    probe.is_train = is_train;
    probe.is_done = is_done_;
    probe.sent_ns = now_ns;
    probe.bytes_per_s = peers_[params_.member].bytes_per_s;
    probe.heard = row(params_.member);
    if (is_train) {
        probe.number = params_.train_packets - train_left_;
        --train_left_;
    } else {
        probe.number = probes_++;
        if (has_begun_train_) probe.number += kBehindTrain;
        // Another one each time.
        const uint32_t step = 1 + probe.number % (params_.members - 1u);
        probe.answerer = static_cast<Member>((params_.member + step) % params_.members);
    }
    const size_t bytes = write({params_.group, params_.member, probe}, out);
    if (!is_train) return bytes;
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(bytes),
              out.begin() + params_.packet_bytes_max, std::byte{0});
    return params_.packet_bytes_max;
}

}  // namespace tutti::mcast
