// SPDX-License-Identifier: BSD-3-Clause
// When the members of one team come to its calls (run/adapt/arrival_figures.h): which calls are
// sampled, when the members compare what they have, and when they read each other's clocks for
// that. All of it follows from what all members know alike: the number of blocking calls, and what
// they found when they last compared.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/collectives.h"
#include "run/adapt/arrival_figures.h"
#include "run/adapt/clock_offset.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class Arrivals {
  public:
    explicit Arrivals(uint32_t rank) : rank_(rank) {}
    // The members' hosts have clocks of their own. Before the first call.
    void read_clocks() { across_ = true; }

    // ---- of each blocking call ----
    // Before it: counts it. True where it is to be sampled, or comes after a comparison.
    bool has_turn() {
        ++calls_;
        return times_calls() || adapt::is_sampled(calls_) || calls_ == compares_at_;
    }
    [[nodiscard]] bool is_sampled() const { return adapt::is_sampled(calls_); }
    [[nodiscard]] bool is_comparison_due() const { return calls_ == compares_at_; }
    // Not before this call: all members put it off, or members that disagree.
    void put_off() { compares_at_ = calls_ + 1; }
    struct Sample {
        tutti_collective collective = TUTTI_BARRIER;
        uint64_t arrived_ns = 0;
        uint64_t left_ns = 0;  // 0: the embedder's own, which may tell later, before the next call
        // For live tuning: of a batch (time_calls()), and by whose number there its kind is known.
        bool is_timed = false;
        uint32_t question = 0;
        bool may_follow = false;  // see plan/select/follow.h
    };
    // After a call that has a turn.
    void add(const Sample& sample);
    [[nodiscard]] bool awaits_exit() const { return calls_ == exit_awaited_; }
    void host_left(uint64_t left_ns);

    // ---- for live tuning ----
    // Every call has its turn, and so many of those that are compared next may be others than the
    // samples: they are in no figures. Before the first call.
    void time_calls(uint32_t calls_max) {
        timed_max_ = calls_max;
        compares_at_ = kFirstLook;
    }
    // The next comparison; then samples have no say in when it comes.
    void compare_after(uint64_t calls) { compares_at_ = calls_ + calls; }
    // Calls run otherwise from now on: the next comparison comes after few samples, as the second
    // one did.
    void compare_soon() { wanted_ = std::min(wanted_, kWantedSoon); }
    [[nodiscard]] uint64_t calls() const { return calls_; }
    [[nodiscard]] uint32_t timed() const { return timed_; }
    // Of the last comparison, before it counts (compared()): block().calls are so many.
    [[nodiscard]] std::span<const Sample> samples() const { return {samples_.data(), sampled_}; }
    [[nodiscard]] const adapt::ArrivalBlock& block() const { return block_; }
    // In the mean of all samples so far, the last comes later after the first than all take to
    // leave after it.
    [[nodiscard]] bool has_stragglers(tutti_collective collective) const;

    // ---- a comparison ----
    // Before it, the members are to read their clocks.
    [[nodiscard]] bool is_reading_due() const { return across_ && is_reading_due_; }
    // Of the first member's clock, by this one's; took_ns: all of it.
    void take_reading(const adapt::ClockReading& reading, uint64_t took_ns);
    // It was not to be had, and is not tried again: there are no figures.
    void do_without() { is_off_ = true; }
    // To be compared; alike on all members.
    [[nodiscard]] bool has_samples() const { return (sampled_ > 0 || times_calls()) && !is_off_; }
    // What this member says, to be reduced in place.
    adapt::ArrivalBlock& block_of_own(uint64_t now_ns);
    // The block is what all say.
    void compared();

    // ---- what all comparisons have found ----
    [[nodiscard]] const adapt::ArrivalFigures& figures(tutti_collective collective) const {
        return figures_[collective];
    }
    // Samples stand for so many calls, where there are some.
    [[nodiscard]] double calls_per_sample() const {
        return static_cast<double>(calls_) / static_cast<double>(compared_);
    }
    [[nodiscard]] uint64_t clock_error_ns() const { return error_ns_; }  // the most

  private:
    [[nodiscard]] bool times_calls() const { return timed_max_ > 0; }
    [[nodiscard]] uint32_t samples_max() const {
        return adapt::ArrivalBlock::kCallsMax - timed_max_;
    }

    // The first comparison, where calls are timed.
    static constexpr uint64_t kFirstLook = 128;
    static constexpr uint32_t kWantedSoon = 8;
    // A reading may take so small a share of the time between two of them.
    static constexpr uint64_t kReadingShare = 200;

    const uint32_t rank_;
    bool across_ = false;
    uint64_t calls_ = 0;
    uint64_t compares_at_ = UINT64_MAX;
    // A few at first, for programs of few calls; each comparison costs about two of these.
    uint32_t wanted_ = 4;
    uint32_t timed_max_ = 0;  // see time_calls()
    uint32_t sampled_ = 0;    // with those that are timed
    uint32_t timed_ = 0;
    uint64_t exit_awaited_ = UINT64_MAX;  // of this call, the last sample
    std::array<Sample, adapt::ArrivalBlock::kCallsMax> samples_;
    adapt::ArrivalBlock block_;
    bool is_off_ = false;
    bool is_reading_due_ = true;
    uint32_t readings_ = 0;
    adapt::ClockLine clock_;  // the first member's
    uint64_t reading_ns_ = 0;
    uint64_t compared_ = 0;  // samples
    uint64_t error_ns_ = 0;  // the most so far
    std::array<adapt::ArrivalFigures, TUTTI_COLLECTIVE_COUNT> figures_;
};

}  // namespace tutti::engine
