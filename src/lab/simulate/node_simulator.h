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
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/prng.h"
#include "base/result.h"
#include "run/node/node_algorithms.h"
#include "run/node/node_team.h"

namespace tutti::simulate {

class SimClock final : public Clock {
  public:
    uint64_t now_ns() override { return now_ns_; }
    // Time does not run backwards: earlier times are ignored.
    void advance_to(uint64_t now_ns) { now_ns_ = now_ns > now_ns_ ? now_ns : now_ns_; }

  private:
    uint64_t now_ns_ = 1;
};

// Lean teams of the same ranks, whose chunks come from one pool a rank.
struct SimLean {
    uint32_t teams = 1;
    size_t places = node::kChunksOut;  // chunks of a pool
};

// Fewer than real teams have: what happens when they are used again is seen sooner.
inline constexpr uint64_t kSimSpareCount = 16;

// Private memory laid out as a team's slice, or that of lean teams, all zero as a new segment is.
class SimSlice {
  public:
    SimSlice(uint32_t ranks, size_t chunk_bytes, const std::optional<SimLean>& lean = {},
             uint64_t spare_count = kSimSpareCount);
    // Of the team with this number.
    [[nodiscard]] node::Slice slice(uint32_t team = 0) const;
    // Of a rank's lean teams; else nullptr.
    [[nodiscard]] std::shared_ptr<node::ChunkPool> pool(node::Rank rank) const {
        return pools_.empty() ? nullptr : pools_[rank];
    }
    [[nodiscard]] std::span<std::byte> bytes() const { return {base_.get(), bytes_}; }

  private:
    struct Free {
        void operator()(std::byte* memory) const;
    };
    // Of a lean team's header and of the pools, which lie behind all headers and entries.
    [[nodiscard]] std::byte* header(uint32_t team) const;
    [[nodiscard]] std::byte* pools() const { return header(lean_->teams); }

    node::Geometry geometry_;
    std::optional<SimLean> lean_;
    size_t bytes_;
    std::unique_ptr<std::byte, Free> base_;
    std::vector<std::shared_ptr<node::ChunkPool>> pools_;
};

struct SimTeam {
    uint32_t ranks = 2;
    size_t chunk_bytes = 4096;
    node::Layout layout;
    bool rank_order = false;
    std::optional<SimLean> lean = {};  // nothing: it has a slice of its own
    // By collective: this one, where it has no obstacle; nullptr: as the node level chooses.
    std::array<const node::Algorithm*, TUTTI_COLLECTIVE_COUNT> named{};
    node::Tuning tuning{.pieces = {.bytes_max = 1u << 20}};
    // Of each rank; nullptr: no single copy.
    std::shared_ptr<node::PeerMemory> (*peers)(node::Rank rank) = nullptr;
    uint64_t patience_polls = 1;
};

// One rank's part of a team on a slice; of the lean team with this number.
node::Team sim_rank(const SimTeam& team, const SimSlice& memory, node::Rank rank,
                    uint32_t number = 0);
// A call of it, as the team names it.
void sim_start(const SimTeam& team, node::Team& rank, node::Op& op, const node::Call& call);

class NodeSimulator {
  public:
    NodeSimulator(const SimTeam& team, uint64_t seed);

    // The rank's next call, in the (lean) team with this number. The calls of all ranks must agree
    // as those of a real program.
    void add_call(node::Rank rank, const node::Call& call, uint32_t team = 0) {
        ranks_[rank].script.push_back({call, team});
    }
    // Runs all scripts to their end. An error names the seed and the ranks that are stuck. May be
    // called again after more calls were added.
    Result<Done> run();

    [[nodiscard]] SimClock& clock() { return clock_; }
    [[nodiscard]] uint64_t steps() const { return steps_; }
    [[nodiscard]] const node::Team& rank(node::Rank rank) const { return ranks_[rank].teams[0]; }

  private:
    struct ScriptedCall {
        node::Call call;
        uint32_t team = 0;
    };
    struct RankState {
        std::vector<node::Team> teams;
        uint32_t team = 0;  // of the call under way
        node::Op op;
        std::vector<ScriptedCall> script;
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

    void start(RankState& rank, const ScriptedCall& next) const;

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
