// SPDX-License-Identifier: BSD-3-Clause
// Measures how data moves between the ranks of a team, by calls of the team itself, and tunes it:
// how the lines of the rings are best written, from which size on a single copy wins, and how many
// are to read one rank at a time.
//
// Rank 0 leads. Before each trip it broadcasts an order: the trial that is next, or the end with
// what follows for all. So every rank comes to the same tuning, and only rank 0 looks at the clock.
// A trip begins with a barrier. A trial is some trips, of which the quickest but the first counts.
// Where ranks are at several distances from rank 0, it measures one pair of each, too.
//
// A state machine like the calls: nothing waits inside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/step.h"
#include "run/node/kernels/kernels.h"
#include "run/node/node_team.h"
#include "run/node/tuning.h"

namespace tutti::node {

class Meter {
  public:
    // Of rank 0; a trip that has begun ends.
    static constexpr uint64_t kBudgetNs = 1'800'000;

    // untried: what holds where nothing is measured.
    Meter(Clock& clock, const Tuning& untried, const TuningLimits& limits)
        : clock_(clock), untried_(untried), limits_(limits) {}

    // No call of the team is in flight. known: measured earlier; the barrier alone is measured, and
    // all the rest only where that has changed (has_moved). The rest takes memory; without it on
    // any rank all measure nothing more.
    void begin(const Figures& known = {});
    // At its end team.tuning is what follows, and the ring of chunks is cut by it.
    Step step(Team& team);

    // From now on, on all ranks.
    void forbid_single() { limits_.has_single = false; }

    [[nodiscard]] const Figures& figures() const { return order_.figures; }
    // The call in flight.
    [[nodiscard]] Op& op() { return op_; }

  private:
    // From rank 0 to all.
    struct Order {
        enum class Kind : uint8_t { kTrip, kAsk, kEnd } kind = Kind::kTrip;
        Trial trial;
        Rank partner = kNoRank;  // rank 0's, of a pair
        Tuning tuning;           // at the end
        Figures figures;
    };
    static_assert(sizeof(Order) <= kInlineBytesMax);
    enum class Phase { kIdle, kOrdering, kAsking, kMeeting, kMoving, kParting };

    [[nodiscard]] size_t block_bytes_max(const Team& team) const;
    [[nodiscard]] bool make_room(const Team& team);
    void ask(Team& team);
    void order(Team& team);
    void find_partners(const Team& team);
    void decide(const Team& team);
    void obey(Team& team);
    void meet(Team& team, Phase phase);
    static void apply(Team& team, const Tuning& tuning);
    bool move_on(Team& team);  // false: the trip is over
    void record();
    void end(Team& team);

    Clock& clock_;
    Kernel sum_ = find_kernel(TUTTI_UINT64, TUTTI_SUM, best_isa(IsaChoice::kAuto));
    Tuning untried_;
    TuningLimits limits_;
    Figures known_;
    Order order_;
    // Rank 0's: by distance, the first rank that is so far from it; kNoRank: none is.
    std::array<Rank, kDistancesMax> partners_{};
    uint32_t distances_ = 0;  // of which there are pairs, a bit each
    Op op_;
    Phase phase_ = Phase::kIdle;
    bool has_asked_ = false;
    bool can_measure_ = false;           // all have memory for it
    std::unique_ptr<std::byte[]> room_;  // a block, and one of every rank
    std::shared_ptr<const Tree> quick_;  // the team's, meanwhile
    uint64_t began_ns_ = 0;
    uint64_t trip_began_ns_ = 0;
    uint32_t calls_ = 0;  // of the trip
    // Rank 0's, of the trial.
    struct Trips {
        uint32_t count = 0;
        uint64_t began_ns = 0;
        uint64_t best_ns = 0;
        uint64_t least_ns = 0;  // also of those that are not counted
    } trips_;
};

}  // namespace tutti::node
