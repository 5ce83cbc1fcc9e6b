// SPDX-License-Identifier: BSD-3-Clause
// How the calls of a team across nodes run: what was chosen for each shape of a call, once, and
// this rank's program for it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/topo/placement.h"
#include "plan/algo/registry.h"
#include "plan/sched/program.h"
#include "plan/sched/shape.h"
#include "plan/select/live.h"
#include "plan/select/rules.h"
#include "plan/select/select.h"
#include "tutti/tutti.h"

namespace tutti::select {

// How the calls of one shape run, on this rank.
struct Plan {
    sched::OwnLengths lengths;  // those of the shape, to which the program refers too
    sched::Shape shape;
    uint32_t force = 0;                       // see Plans::force()
    bool is_host = false;                     // the embedder's own collective is better
    bool would_multicast = false;             // if only there were one; where that is awaited
    bool awaits_price = false;                // may be another one once messages are measured
    bool is_for_now = false;                  // as Choice's
    const char* name = "host";                // of the algorithm
    std::unique_ptr<sched::Program> program;  // none where is_host
    bool is_reserved = false;                 // the executor has memory for it
    uint64_t used = 0;                        // when last looked up, in look-ups
    [[nodiscard]] bool multicasts() const { return program && program->extent().multicasts > 0; }
};

// What decides beside the shape of a call and what the team was made of; all members know it alike.
struct Circumstances {
    bool awaits_multicast = false;  // and may get it, once calls that would use it come often
    bool had_multicast = false;     // a shape without it is then one after a failure
    const std::string& obstacle;    // why there is none
    bool awaits_speed = false;      // of messages, which are measured when calls come often
    // That live tuning says, by the number that ways() told; or kFollows.
    uint32_t way = 0;
    // Calls of this track go without it, whatever the team has.
    bool never_multicasts = false;
};

// A way: a tree rooted at the last arriver, if it can run the call and the user has decided
// nothing.
inline constexpr uint32_t kFollows = UINT32_MAX;

class Plans {
  public:
    // All outlive this.
    Plans(const Grounds& grounds, const topo::Placement& placement, uint32_t rank);

    // Made where it is new. An error is the same on all ranks, unless memory ran out. Valid until
    // the next one is asked for, or while it runs.
    Result<Plan*> find(const sched::Shape& shape, const Circumstances& now);
    // The first algorithm that needs nothing, whatever rules and settings say.
    Result<Plan> make_plain(tutti_collective collective, size_t bytes) const;
    // No call comes any more.
    void forget();
    // A call of it begins.
    void started(const Plan& plan);
    // The last call that was started has not been.
    void withdrawn() { compared_[before_.first] = before_.second; }
    // Whether ranks that take a call for either of these would go the same way once sizes count as
    // compared: all to the embedder, or none.
    [[nodiscard]] bool go_together(sched::Shape one, sched::Shape other,
                                   const Circumstances& now) const;
    // The last that was started.
    [[nodiscard]] sched::Program* running() const { return running_; }

    // What live tuning may try for calls of this shape, with what rules say first: the host MPI's
    // own, two others by price, and where members come late (has_stragglers) those that follow
    // arrival. Only the first where the user has decided.
    std::vector<Way> ways(sched::Shape shape, const Circumstances& now, bool has_stragglers);

    // From which skew on kFollows pays, by price (plan/select/skew_threshold.h), beside what rules
    // say; kNoSkew: however late members are, as where the user has decided. None without prices.
    [[nodiscard]] std::optional<uint64_t> follows_from(sched::Shape shape,
                                                       const Circumstances& now) const;

    // Calls of the collective run by this algorithm from now on; empty: by settings and rules
    // again. What was in force before, for restore(). An error changes nothing.
    Result<uint32_t> force(tutti_collective collective, const std::string& algorithm);
    void restore(tutti_collective collective, uint32_t force) { force_[collective] = force; }
    // The user has named the algorithm of this collective.
    [[nodiscard]] bool is_forced(tutti_collective collective) const {
        return force_[collective] != 0 || grounds_.rules.forced(collective) != nullptr;
    }

  private:
    Plan* known(const sched::Shape& shape, uint32_t force);
    // What tutti_team_force() says, or live tuning; 0: nothing.
    [[nodiscard]] uint32_t force_of(const sched::Shape& shape, const Circumstances& now) const;
    Result<uint32_t> number_of(Forced forced);
    void add_way(const Forced& forced, const sched::Shape& shape, const Circumstances& now,
                 std::vector<Way>& ways);
    Result<Plan> make(const sched::Shape& shape, const Circumstances& now) const;
    [[nodiscard]] Result<Choice> choose(const sched::Shape& shape, const Circumstances& now) const;
    [[nodiscard]] Result<Choice> choose(const sched::Shape& shape, const Circumstances& now,
                                        uint32_t force) const;
    [[nodiscard]] Result<Choice> choose_following(const sched::Shape& shape,
                                                  const Circumstances& now) const;
    [[nodiscard]] Result<Choice> choose_forced(const sched::Shape& shape, const Circumstances& now,
                                               const Forced* forced) const;
    [[nodiscard]] Prices* prices_by_speed(const sched::Speed& speed) const;
    [[nodiscard]] Prices* measured_prices(const sched::Shape& shape) const;
    [[nodiscard]] bool would_multicast(sched::Shape shape, Circumstances now) const;
    [[nodiscard]] bool has_compared(tutti_collective collective) const;
    void fill(Plan& plan, const algo::Algorithm& algorithm, const algo::Tuning& tuning) const;

    Grounds grounds_;
    const topo::Placement& placement_;
    mutable std::optional<Prices> prices_;  // what a choice asks of them, they remember
    // By this speed of messages, as measured.
    mutable std::optional<Prices> measured_;
    mutable sched::Speed measured_speed_;
    uint32_t rank_;
    std::vector<Plan> plans_;
    Plan* last_ = nullptr;  // found last: calls of one shape come in rows
    // Algorithms that force() was asked for, so that plans of each are kept apart; and by
    // collective the one in force, counted from 1, or 0.
    std::vector<Forced> forces_;
    std::array<uint32_t, TUTTI_COLLECTIVE_COUNT> force_{};
    sched::Program* running_ = nullptr;
    // By collective, those that were started, up to kComparedCalls. Alike on all members.
    std::array<uint32_t, TUTTI_COLLECTIVE_COUNT> compared_{};
    // The collective that was started last, and its number before that.
    std::pair<tutti_collective, uint32_t> before_{};
    uint64_t look_ups_ = 0;
};

}  // namespace tutti::select
