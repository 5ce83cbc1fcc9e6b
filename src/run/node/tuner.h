// SPDX-License-Identifier: BSD-3-Clause
// Keeps a team's tuning up to date. Before some long calls, at call numbers that all ranks know, it
// checks whether all may still read each other's memory, and whether a barrier takes as long as
// when the team was measured. If a barrier does not, the ranks have moved to other processors, and
// it measures again. If a rank may no longer read, no call begins as a single copy any more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/collectives.h"
#include "run/node/contest.h"
#include "run/node/meter.h"

namespace tutti::node {

struct Algorithm;

// After how many calls the members look again.
class LookPace {
  public:
    // Counts a call. is_in_vain: measuring came to nothing, so that a look takes as long as many
    // calls: ever fewer of them.
    bool is_time(const Call& call, bool is_in_vain) {
        calls_ += calls_ < kFirst ? 1 : weight(call.bytes);
        if (calls_ < next_) return false;
        distance_ = is_in_vain ? 2 * distance_ : std::min(2 * distance_, kDistanceMax);
        next_ = calls_ + distance_;
        return true;
    }

  private:
    static constexpr uint64_t kFirst = 64;
    // A look takes as long as some 44 short calls: a hundredth of so many long ones, or of fewer
    // that are longer.
    static constexpr uint64_t kDistanceMax = 1024;
    static uint64_t weight(size_t bytes) {
        constexpr size_t kBytesEach = 32 * 1024;
        constexpr uint64_t kMost = 32;
        return std::min<uint64_t>(1 + bytes / kBytesEach, kMost);
    }

    uint64_t calls_ = 0;  // longer ones count more
    uint64_t next_ = kFirst;
    uint64_t distance_ = kFirst;
};

class Tuner {
  public:
    // Told of the first rank that was denied reading; must not fail.
    using OnDenial = std::function<void(const Denial&)>;

    // figures: of the team, or of an earlier one of the same processes; empty: what was tried came
    // to nothing; none: nothing is measured.
    Tuner(Clock& clock, const Tuning& untried, const TuningLimits& limits,
          const std::optional<Figures>& figures, OnDenial on_denial = {})
        : clock_(clock),
          meter_(clock, untried, limits),
          measures_(figures),
          figures_(figures.value_or(Figures{})),
          has_single_(limits.has_single),
          may_choose_(limits.has_single && !limits.is_always_single),
          on_denial_(std::move(on_denial)) {}

    // Before a long call: whether it is time to look, or to compare what a contest of such calls
    // has found. Counts those that all ranks count alike.
    bool is_due(const Team& team, const Call& call) {
        // Ranks may differ in whether these are long (Team::tolerates).
        if (has_rooted_blocks(call.collective)) return false;
        if (phase_ != Phase::kResting) return false;  // a call of the look itself
        looks_ = pace_.is_time(call, measures_ && figures_.barrier_ns == 0);
        compares_ = may_try(team, call) && contest_.compares(call);
        return looks_ || compares_;
    }
    // The givers say how a gather or scatter goes: each offers what others may read, or withholds
    // it. They follow, and need not count these calls as a giver does, whose sizes may be others.
    [[nodiscard]] bool lets_givers_choose(const Team& team, const Call& call) const {
        return has_rooted_blocks(call.collective) && may_try(team, call);
    }
    // Single copy can be chosen, and nobody waits for a processor. All ranks know this alike.
    [[nodiscard]] bool may_try(const Team& team) const {
        return may_choose_ && team.single_copy.peers && team.tuning.has_cores;
    }
    // The call itself: whether as a single copy. tuned: what the tuning says. Of a gather or
    // scatter the givers alone ask.
    bool enter(Team& team, const Call& call, bool tuned);
    // The same of a call whose result may go past this rank's caches: whether it does.
    bool enter_result(Team& team, const Call& call, bool tuned);
    // Of the blocks that this rank gives in a vector form, so many bytes together: whether the
    // others read them in place. They follow, as in a scatter.
    bool enter_blocks(Team& team, const Call& call, uint64_t bytes, bool tuned);
    void end_timed() { (contest_.is_timed() ? contest_ : caches_).ended(clock_.now_ns()); }
    [[nodiscard]] bool prefers_single(const Team& team, const Call& call, bool tuned) const {
        return may_try(team, call) ? contest_.prefers_second(call, tuned) : tuned;
    }
    // named: the algorithm that is to run the call then; nullptr: as the tuning says.
    void begin(const Call& call, const Algorithm* named) {
        TUTTI_ASSERT(phase_ == Phase::kResting, "one look at a time");
        named_ = named;
        compared_ = call;
        phase_ = Phase::kBegun;
    }
    Step step(Team& team) {
        TUTTI_ASSERT(phase_ != Phase::kResting, "a look that has begun");
        const Step step = go_on(team);
        if (step == Step::kDone) phase_ = Phase::kResting;
        return step;
    }
    [[nodiscard]] const Algorithm* named() const { return named_; }
    // The call in flight.
    [[nodiscard]] Op& op() { return phase_ == Phase::kMeasuring ? meter_.op() : op_; }
    [[nodiscard]] const Figures& figures() const { return figures_; }
    // Nothing was denied since the team was made.
    [[nodiscard]] bool may_read() const { return denial_.failure == 0; }
    // So often the figures are new since the first ones.
    [[nodiscard]] uint32_t again() const { return again_; }

  private:
    enum class Phase { kResting, kBegun, kComparing, kAsking, kMeasuring };

    [[nodiscard]] bool may_try(const Team& team, const Call& call) const {
        return may_try(team) && Contest::is_about(call, team.size);
    }

    bool enter(Contest& contest, Team& team, const Call& call, bool tuned);
    bool enter_alone(Contest& contest, Team& team, const Call& call, bool tuned);
    void compare(Team& team);
    void ask(Team& team);
    void hear(Team& team);
    Step go_on(Team& team);
    Step measure(Team& team);

    Clock& clock_;
    Meter meter_;
    // Rings or single copy.
    Contest contest_;
    // Where results go. Later than the other's, so that their calls differ by one thing alone.
    Contest caches_{3 * Contest::kFirst, false};
    Contest::Times times_{};  // of the contest that members compare
    Call compared_;           // a call of its kind
    bool measures_;
    Figures figures_;
    bool has_single_;
    bool may_choose_;  // between rings and single copy
    bool looks_ = false;
    bool compares_ = false;
    OnDenial on_denial_;
    uint32_t again_ = 0;
    const Algorithm* named_ = nullptr;
    Phase phase_ = Phase::kResting;
    Denial denial_;
    Op op_;
    LookPace pace_;
};

}  // namespace tutti::node
