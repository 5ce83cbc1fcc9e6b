// SPDX-License-Identifier: BSD-3-Clause
// Virtual time, and a scheduler that drives the real state machines of node/ in it: all ranks of a
// team in one thread, over private memory, interleaved and delayed by a seed. Whatever goes wrong
// goes wrong again with the same seed.
//
// Each rank has a script of calls and a virtual time at which it moves next. The rank whose time
// comes first makes one step; the seed decides how long that took it. A pace (even, slow ranks,
// pauses, bursts) is drawn for each run, so that ranks come to be far ahead of each other as well
// as close.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/prng.h"
#include "base/result.h"
#include "node/algorithms.h"
#include "node/team.h"

namespace tutti::simulate {

class SimClock final : public Clock {
  public:
    uint64_t now_ns() override { return now_ns_; }
    // Time does not run backwards: earlier times are ignored.
    void advance_to(uint64_t now_ns) { now_ns_ = now_ns > now_ns_ ? now_ns : now_ns_; }

  private:
    uint64_t now_ns_ = 1;
};

// Private memory laid out as a team's slice, all zero as a new segment is.
class SimSlice {
  public:
    SimSlice(uint32_t ranks, size_t chunk_bytes);
    [[nodiscard]] node::Slice slice() const { return {base_.get(), geometry_}; }
    [[nodiscard]] std::span<std::byte> bytes() const {
        return {base_.get(), geometry_.slice_bytes};
    }

  private:
    struct Free {
        void operator()(std::byte* memory) const;
    };
    node::Geometry geometry_;
    std::unique_ptr<std::byte, Free> base_;
};

struct SimTeam {
    uint32_t ranks = 2;
    size_t chunk_bytes = 4096;
    node::Layout layout;
    bool rank_order = false;
    // By collective: this one, where it has no obstacle; nullptr: as the node level chooses.
    std::array<const node::Algorithm*, TUTTI_COLLECTIVE_COUNT> named{};
    node::Tuning tuning{.pieces = {.bytes_max = 1u << 20}};
    // Of each rank; nullptr: no single copy.
    std::shared_ptr<node::PeerMemory> (*peers)(node::Rank rank) = nullptr;
    uint64_t patience_polls = 1;
};

// One rank's part of a team on a slice.
node::Team sim_rank(const SimTeam& team, const SimSlice& memory, node::Rank rank);
// A call of it, as the team names it.
void sim_start(const SimTeam& team, node::Team& rank, node::Op& op, const node::Call& call);

class NodeSimulator {
  public:
    NodeSimulator(const SimTeam& team, uint64_t seed);

    // The rank's next call. The calls of all ranks must agree as those of a real program.
    void add_call(node::Rank rank, const node::Call& call) { ranks_[rank].script.push_back(call); }
    // Runs all scripts to their end. An error names the seed and the ranks that are stuck. May be
    // called again after more calls were added.
    Result<Done> run();

    [[nodiscard]] SimClock& clock() { return clock_; }
    [[nodiscard]] uint64_t steps() const { return steps_; }
    [[nodiscard]] const node::Team& rank(node::Rank rank) const { return ranks_[rank].team; }

  private:
    struct RankState {
        node::Team team;
        node::Op op;
        std::vector<node::Call> script;
        size_t next_call = 0;
        bool is_running = false;
        bool is_blocked = false;  // in its last step, and nobody has moved since
        uint64_t due_ns = 0;
        uint64_t step_ns = 1;
        uint32_t burst = 0;  // steps left without a delay
    };
    enum class Pace { kEven, kSlowRank, kPauses, kBursts, kLockstep };

    void draw_pace();
    RankState* next_rank();
    uint64_t delay_of(RankState& rank);
    Step step(RankState& rank);
    [[nodiscard]] bool is_stuck();
    [[nodiscard]] Error stuck_error() const;

    uint64_t seed_;
    Prng prng_;
    SimClock clock_;
    SimSlice memory_;
    SimTeam team_;
    std::vector<RankState> ranks_;
    Pace pace_ = Pace::kEven;
    uint64_t steps_ = 0;
    std::vector<std::byte> seen_;  // the slice when all ranks were last found blocked
};

}  // namespace tutti::simulate
