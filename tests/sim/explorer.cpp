// SPDX-License-Identifier: BSD-3-Clause
#include "sim/explorer.h"

#include <algorithm>

namespace tutti::test {
namespace {

uint64_t hash_bytes(const std::byte* bytes, size_t count, uint64_t hash) {
    for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, bytes + at, std::min(sizeof(word), count - at));
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

}  // namespace

Explorer::Explorer(const simulate::SimTeam& team, const std::vector<Spec>& script,
                   std::vector<uint32_t> teams)
    : team_(team),
      memory_(team.ranks, team.chunk_bytes, team.lean),
      team_count_(team.lean ? team.lean->teams : 1),
      teams_(team.ranks),
      team_of_call_(std::move(teams)),
      locals_(team.ranks) {
    TUTTI_ASSERT(team_count_ <= kTeamsMax, "teams of an exploration");
    team_of_call_.resize(script.size(), 0);
    for (const Spec& spec : script) {
        script_.push_back(std::make_unique<Exchange>(spec, team.ranks));
    }
    for (uint32_t rank = 0; rank < team.ranks; ++rank) {
        for (uint32_t number = 0; number < team_count_; ++number) {
            teams_[rank].push_back(simulate::sim_rank(team, memory_, rank, number));
        }
        // Padding takes part in the hash.
        std::memset(static_cast<void*>(&locals_[rank]), 0, sizeof(Local));
    }
    for (uint32_t rank = 0; rank < team.ranks; ++rank) {
        begin_next(rank);
        pack(rank);
    }
    collect_memory();
}

void Explorer::collect_memory() {
    std::vector<std::span<std::byte>> regions = {memory_.bytes(),
                                                 std::as_writable_bytes(std::span(locals_))};
    for (uint32_t rank = 0; rank < team_.ranks; ++rank) {
        for (node::Team& team : teams_[rank]) {
            // Of the scratch memory, folding's part lives within a step only, but for what a scan
            // has folded so far.
            regions.emplace_back(node::payload_space(team), 2 * node::kInlineBytesMax);
            regions.emplace_back(node::fold_space(team), node::kInlineBytesMax);
            regions.emplace_back(std::as_writable_bytes(std::span(team.single_copy.by_ring)));
            regions.emplace_back(std::as_writable_bytes(std::span(&team.block_ring, 1)));
            regions.emplace_back(std::as_writable_bytes(std::span(&team.blocks, 1)));
            if (!team.lean.pool) continue;
            regions.emplace_back(std::as_writable_bytes(std::span(&team.lean.part->placed, 1)));
            regions.emplace_back(
                std::as_writable_bytes(std::span(&team.lean.part->consumed_known, 1)));
        }
        if (const auto pool = memory_.pool(rank)) {
            regions.push_back(std::as_writable_bytes(pool->state()));
            regions.push_back(std::as_writable_bytes(std::span(pool->places())));
        }
        for (const auto& exchange : script_) regions.emplace_back(exchange->recv_memory(rank));
    }
    for (std::span<std::byte> region : regions) {
        while (!region.empty()) {
            const size_t bytes = std::min(kBlockBytes, region.size());
            places_.push_back(region.first(bytes));
            region = region.subspan(bytes);
        }
    }
}

void Explorer::begin_next(uint32_t rank) {
    Local& local = locals_[rank];
    if (local.next_call == script_.size()) {
        local.is_finished = true;
        return;
    }
    local.team = team_of_call_[local.next_call];
    simulate::sim_start(team_, teams_[rank][local.team], local.op,
                        script_[local.next_call++]->node_call(rank));
}

void Explorer::pack(uint32_t rank) {
    for (uint32_t number = 0; number < team_count_; ++number) {
        const node::Team& team = teams_[rank][number];
        Counters& counters = locals_[rank].counters[number];
        counters.bases = team.bases;
        counters.known = team.known;
        counters.doubts = team.single_copy.doubts;
    }
}

void Explorer::unpack(uint32_t rank) {
    for (uint32_t number = 0; number < team_count_; ++number) {
        node::Team& team = teams_[rank][number];
        const Counters& counters = locals_[rank].counters[number];
        team.bases = counters.bases;
        team.known = counters.known;
        team.single_copy.doubts = counters.doubts;
    }
}

void Explorer::load(const State& state) {
    for (size_t i = 0; i < places_.size(); ++i) {
        if (loaded_.blocks[i] == state.blocks[i]) continue;
        std::memcpy(places_[i].data(), state.blocks[i]->bytes.data(), places_[i].size());
    }
    loaded_ = state;
    for (uint32_t rank = 0; rank < team_.ranks; ++rank) unpack(rank);
}

Explorer::State Explorer::save(const State& before) {
    State state = before;
    state.blocks.resize(places_.size());
    for (size_t i = 0; i < places_.size(); ++i) {
        auto& block = state.blocks[i];
        const std::span<const std::byte> place = places_[i];
        if (block && std::memcmp(block->bytes.data(), place.data(), place.size()) == 0) continue;
        auto changed = std::make_shared<Block>();
        std::memcpy(changed->bytes.data(), place.data(), place.size());
        changed->hash = hash_bytes(place.data(), place.size(), i + 1);
        if (block) state.hash ^= block->hash;
        state.hash ^= changed->hash;
        block = std::move(changed);
    }
    loaded_ = state;
    return state;
}

// One step of a rank; where that ends its call, it begins the next.
bool Explorer::move(uint32_t rank) {
    Local& local = locals_[rank];
    if (local.is_finished) return false;
    if (node::step(teams_[rank][local.team], local.op) == Step::kDone) begin_next(rank);
    pack(rank);
    return true;
}

bool Explorer::all_finished() const {
    return std::all_of(locals_.begin(), locals_.end(),
                       [](const Local& local) { return local.is_finished; });
}

std::string Explorer::wrong_result() const {
    for (const auto& exchange : script_) {
        std::string wrong = exchange->check();
        if (!wrong.empty()) return wrong;
    }
    return "";
}

// The ranks in the order in which they moved.
std::string Explorer::path_to_here() const {
    std::string path = "; path: ";
    for (const Frame& frame : stack_) path += std::to_string(frame.next_rank - 1);
    return path;
}

std::string Explorer::explore(size_t states_max) {
    stack_.push_back({save(State{})});
    seen_.insert(stack_.back().state.hash);
    // Whether a state has a successor other than itself; by depth.
    std::vector<bool> has_way = {false};
    while (!stack_.empty()) {
        Frame& frame = stack_.back();
        if (frame.next_rank == team_.ranks) {
            load(frame.state);
            if (!has_way.back() && !all_finished()) return "deadlock" + path_to_here();
            stack_.pop_back();
            has_way.pop_back();
            continue;
        }
        const uint32_t rank = frame.next_rank++;
        load(frame.state);
        if (!move(rank)) continue;
        State after = save(frame.state);
        if (after.hash == frame.state.hash) continue;
        has_way.back() = true;
        if (!seen_.insert(after.hash).second) continue;
        if (look_) {
            const std::string wrong = look_(memory_.slice());
            if (!wrong.empty()) return wrong + path_to_here();
        }
        if (seen_.size() > states_max) return "more than " + std::to_string(states_max) + " states";
        if (all_finished()) {
            ++ends_;
            const std::string wrong = wrong_result();
            if (!wrong.empty()) return wrong + path_to_here();
            continue;
        }
        stack_.push_back({std::move(after)});
        has_way.push_back(false);
    }
    return "";
}

}  // namespace tutti::test
