// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/receiver.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "run/mcast/backoff.h"

namespace tutti::mcast {
namespace {

// A longer pause says nothing about the time between packets of a row.
constexpr uint64_t kSpacingNsMax = 10 * kMillisecond;
// What is due so soon is asked for in the same NAK: a NAK is a packet to everybody, and 250 us are
// little beside the 10 ms in which a repair should come.
constexpr uint64_t kTogetherNs = 250 * kMicrosecond;
constexpr uint64_t kSoonNs = 10 * kMillisecond;
// Of the first packet's back-off before anything was measured: a LAN's round trip.
constexpr uint64_t kBackoffFactor = 4;

}  // namespace

Receiver::Receiver(const Params& params, Member stream)
    : params_(params), stream_(stream), entries_(params.window_packets) {}

void Receiver::check() const {
    TUTTI_ASSERT(next_ <= highest_, "a packet is here that was never sent");
    TUTTI_ASSERT(highest_ - next_ <= params_.window_packets, "the window is overrun");
    TUTTI_ASSERT(early_ <= highest_ - next_, "more packets are early than there are");
    TUTTI_ASSERT(!entry(next_).is_here, "the first missing packet is here");
    TUTTI_ASSERT(is_missing() == (nak_ns_ != kNever), "a NAK is due where a packet is missing");
    TUTTI_ASSERT_SLOW(count_early() == early_, "early packets are counted wrongly");
}

uint64_t Receiver::count_early() const {
    uint64_t count = 0;
    for (uint64_t sequence = next_; sequence < highest_; ++sequence) {
        count += entry(sequence).is_here ? 1 : 0;
    }
    return count;
}

Receiver::Verdict Receiver::judge(uint64_t sequence, uint32_t pooled_packets) const {
    if (sequence < next_) return Verdict::kDuplicate;
    if (sequence >= granted_end(pooled_packets)) return Verdict::kOverrun;
    return entry(sequence).is_here ? Verdict::kDuplicate : Verdict::kNew;
}

void Receiver::count(Verdict verdict) {
    if (verdict == Verdict::kNew) ++counters_.packets;
    if (verdict == Verdict::kDuplicate) ++counters_.duplicates;
    if (verdict == Verdict::kOverrun) ++counters_.overruns;
}

void Receiver::accept(uint64_t now_ns, uint64_t sequence, bool is_repair, Prng& prng) {
    TUTTI_ASSERT(sequence >= next_, "a packet is accepted twice");
    TUTTI_ASSERT(sequence - next_ < params_.window_packets, "a packet beyond the window");
    TUTTI_ASSERT(!entry(sequence).is_here, "a packet is accepted twice");
    if (!is_repair) measure_spacing(now_ns);
    if (sequence < highest_) {
        close_gap(now_ns, entry(sequence), is_repair);
    } else {
        extend(now_ns, sequence, prng);
        highest_ = sequence + 1;
    }
    entry(sequence).is_here = true;
    ++early_;
    while (next_ < highest_ && entry(next_).is_here) {
        entry(next_) = Entry{};
        ++next_;
        --early_;
    }
    if (next_ == highest_) nak_ns_ = kNever;
    check();
}

void Receiver::measure_spacing(uint64_t now_ns) {
    if (arrival_ns_ != kNever && now_ns - arrival_ns_ < kSpacingNsMax) {
        spacing_ns_ = (7 * spacing_ns_ + (now_ns - arrival_ns_)) / 8;
    }
    arrival_ns_ = now_ns;
}

void Receiver::close_gap(uint64_t now_ns, Entry& gap, bool is_repair) {
    // Which of several NAKs was answered cannot be told (Karn & Partridge 1987). To take none of
    // them would keep a time that is too short for ever, when every answer comes after the second;
    // so two count, from the first on.
    if (is_repair && gap.tries > 0 && gap.tries <= 2) round_trip_.add(now_ns - gap.asked_ns);
    const uint64_t took_ns = now_ns - gap.noticed_ns;
    ++counters_.repaired;
    if (took_ns <= kSoonNs) ++counters_.repaired_in_10_ms;
    counters_.repair_ns_max = std::max(counters_.repair_ns_max, took_ns);
}

void Receiver::reveal(uint64_t now_ns, uint64_t end, Prng& prng) {
    if (end > highest_) extend(now_ns, std::min(end, next_ + params_.window_packets), prng);
    check();
}

// All from highest_ to `end` has been sent and is not here.
void Receiver::extend(uint64_t now_ns, uint64_t end, Prng& prng) {
    if (end <= highest_) return;
    const uint64_t due_ns = now_ns + reorder_ns() + backoff_ns(prng);
    for (uint64_t sequence = highest_; sequence < end; ++sequence) {
        entry(sequence) = {due_ns, now_ns, 0, 0, kNobody, false};
        ++counters_.gaps;
    }
    nak_ns_ = std::min(nak_ns_, due_ns);
    highest_ = end;
}

uint64_t Receiver::reorder_ns() const {
    const Timing& timing = params_.timing;
    return std::clamp(timing.reorder_packets * spacing_ns_, timing.reorder_ns_min,
                      timing.reorder_ns_max);
}

uint64_t Receiver::backoff_ns(Prng& prng) const {
    const Timing& timing = params_.timing;
    const uint64_t longest = std::clamp(kBackoffFactor * round_trip_.mean_ns(),
                                        timing.backoff_ns_min, timing.backoff_ns_max);
    return draw_backoff_ns(prng, longest, params_.members);
}

uint64_t Receiver::renak_ns(uint32_t tries, Prng& prng) const {
    const Timing& timing = params_.timing;
    // Where round trips jitter, as among processes that share processors, four deviations are many
    // times the mean; long before, the answer is lost more often than late.
    const uint64_t patience = 2 * round_trip_.mean_ns() + timing.renak_ns_min;
    const uint64_t measured =
        std::max(std::min(round_trip_.timeout_ns(), patience), timing.renak_ns_min);
    // The first two tries wait as measured, so that three fit into what a repair should take.
    const uint32_t doublings = tries > 2 ? std::min(tries - 2, 8u) : 0;
    return std::min(measured << doublings, timing.renak_ns_max) + backoff_ns(prng);
}

void Receiver::on_nak(uint64_t now_ns, Member asker, const Nak& nak, Prng& prng) {
    for (uint32_t i = 0; i < nak.count(); ++i) {
        const Range range = nak.range(i);
        const uint64_t first = std::max(range.first, next_);
        const uint64_t end = std::min(range.first + range.count, highest_);
        for (uint64_t sequence = first; sequence < end; ++sequence) {
            Entry& gap = entry(sequence);
            if (gap.is_here || gap.voice == asker) continue;
            const bool is_second = gap.voice != kNobody || nak.others_asked;
            gap.voice = asker;
            if (!is_second) continue;
            // The repair will go to all. If it is lost, the next round is mine.
            gap.voice = kNobody;
            gap.due_ns = std::max(gap.due_ns, now_ns + renak_ns(gap.tries, prng));
            ++counters_.suppressed;
        }
    }
    find_due();
    check();
}

size_t Receiver::write_nak(uint64_t now_ns, std::span<std::byte> out, Prng& prng) {
    std::array<Range, kNakRangesMax> ranges;
    uint32_t count = 0;
    bool others_asked = false;
    if (nak_ns_ > now_ns) return 0;
    for (uint64_t sequence = next_; sequence < highest_; ++sequence) {
        Entry& gap = entry(sequence);
        if (gap.is_here || gap.due_ns > now_ns + kTogetherNs) continue;
        const bool follows =
            count > 0 && ranges[count - 1].first + ranges[count - 1].count == sequence;
        if (!follows && count == kNakRangesMax) break;
        if (!follows) ranges[count++] = {sequence, 0};
        ++ranges[count - 1].count;
        others_asked |= gap.voice != kNobody;
        gap.voice = kNobody;
        if (gap.tries == 0) gap.asked_ns = now_ns;
        ++gap.tries;
        gap.due_ns = now_ns + renak_ns(gap.tries, prng);
    }
    find_due();
    check();
    if (count == 0) return 0;
    ++counters_.naks;
    std::array<std::byte, kNakRangesMax * 8> bytes;
    const size_t ranges_bytes = write_ranges(ranges[0].first, {ranges.data(), count}, bytes);
    const Nak nak{stream_, others_asked, ranges[0].first,
                  std::span<const std::byte>(bytes).first(ranges_bytes)};
    return write({params_.group, params_.member, nak}, out);
}

void Receiver::find_due() {
    nak_ns_ = kNever;
    for (uint64_t sequence = next_; sequence < highest_; ++sequence) {
        if (!entry(sequence).is_here) nak_ns_ = std::min(nak_ns_, entry(sequence).due_ns);
    }
}

uint64_t Receiver::granted_end(uint32_t pooled_packets) const {
    const uint64_t accepted = next_ + early_;
    TUTTI_ASSERT(pooled_packets <= params_.window_packets, "the pool is overrun");
    return std::min(accepted - pooled_packets, next_) + params_.window_packets;
}

}  // namespace tutti::mcast
