// SPDX-License-Identifier: BSD-3-Clause
// Every interleaving of the steps of a few ranks: a depth-first search over the states of a team,
// its memory and its buffers. A state that was seen before is not entered again.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lab/simulate/node_simulator.h"
#include "run/node/detail.h"
#include "sim/script.h"

namespace tutti::test {

class Explorer {
  public:
    // teams: by call, which lean team runs it; empty: there is one team.
    Explorer(const simulate::SimTeam& team, const std::vector<Spec>& script,
             std::vector<uint32_t> teams = {});
    Explorer(const Explorer&) = delete;
    Explorer& operator=(const Explorer&) = delete;

    // Of every state: what is wrong in it; empty: nothing.
    void demand(std::function<std::string(const node::Slice&)> look) { look_ = std::move(look); }
    // Empty where every path ends with the right results, else what went wrong and by which path.
    std::string explore(size_t states_max);
    [[nodiscard]] size_t states() const { return seen_.size(); }
    [[nodiscard]] size_t ends() const { return ends_; }

  private:
    static constexpr size_t kBlockBytes = 1024;
    struct Block {
        std::array<std::byte, kBlockBytes> bytes;
        uint64_t hash;
    };
    // Blocks that did not change are shared between states.
    struct State {
        std::vector<std::shared_ptr<const Block>> blocks;
        uint64_t hash = 0;
    };
    static constexpr uint32_t kTeamsMax = 2;
    struct Counters {
        node::Bases bases;
        node::Known known;
        uint32_t doubts;
    };
    // What of a rank is neither slice nor buffer.
    struct Local {
        node::Op op;
        Counters counters[kTeamsMax];
        uint32_t team;  // of the call under way
        size_t next_call;
        bool is_finished;
    };
    static_assert(std::is_trivially_copyable_v<Local>);
    struct Frame {
        State state;
        uint32_t next_rank = 0;
    };

    void collect_memory();
    void begin_next(uint32_t rank);
    void pack(uint32_t rank);
    void unpack(uint32_t rank);
    void load(const State& state);
    State save(const State& before);
    bool move(uint32_t rank);
    bool all_finished() const;
    std::string wrong_result() const;
    std::string path_to_here() const;

    simulate::SimTeam team_;
    simulate::SimSlice memory_;
    uint32_t team_count_;
    std::vector<std::vector<node::Team>> teams_;  // by rank
    std::vector<uint32_t> team_of_call_;
    std::vector<Local> locals_;
    std::vector<std::unique_ptr<Exchange>> script_;
    std::vector<std::span<std::byte>> places_;  // of at most a block each
    State loaded_;
    std::vector<Frame> stack_;
    std::function<std::string(const node::Slice&)> look_;
    std::unordered_set<uint64_t> seen_;
    size_t ends_ = 0;
};

}  // namespace tutti::test
