// SPDX-License-Identifier: BSD-3-Clause
#include "lab/simulate/node_simulator.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "run/engine/messages.h"

namespace tutti::simulate {

namespace {
constexpr size_t kLeanHeaderBytes = node::kEntryBytes;
static_assert(sizeof(node::SliceHeader) <= kLeanHeaderBytes);

size_t bytes_of(const node::Geometry& geometry, const std::optional<SimLean>& lean) {
    if (!lean) return geometry.slice_bytes;
    const size_t team_bytes = kLeanHeaderBytes + geometry.ranks * node::kEntryBytes;
    return node::whole_pages(lean->teams * team_bytes +
                             geometry.ranks * lean->places * geometry.chunk_bytes);
}
}  // namespace

SimSlice::SimSlice(uint32_t ranks, size_t chunk_bytes, const std::optional<SimLean>& lean,
                   uint64_t spare_count)
    : geometry_(lean ? node::Geometry::make_lean(ranks, chunk_bytes)
                     : node::Geometry::make(ranks, chunk_bytes, node::kChunkCountMin, spare_count)),
      lean_(lean),
      bytes_(bytes_of(geometry_, lean)),
      base_(static_cast<std::byte*>(std::aligned_alloc(node::kPageBytes, bytes_))) {
    TUTTI_ASSERT(base_ != nullptr, "memory for a simulated slice");
    std::memset(base_.get(), 0, bytes_);
    for (uint32_t team = 0; team < (lean ? lean->teams : 1); ++team) {
        const node::Slice part = slice(team);
        new (part.base()) node::SliceHeader{};
        for (node::Rank rank = 0; rank < ranks; ++rank) {
            new (&part.ready(rank)) node::ReadyWords{};
            new (&part.done(rank)) node::DoneWords{};
            new (&part.offer(rank)) node::OfferWords{};
        }
    }
    for (node::Rank rank = 0; lean && rank < ranks; ++rank) {
        pools_.push_back(std::make_shared<node::ChunkPool>(lean->places));
    }
}

std::byte* SimSlice::header(uint32_t team) const {
    return base_.get() + team * (kLeanHeaderBytes + geometry_.ranks * node::kEntryBytes);
}

node::Slice SimSlice::slice(uint32_t team) const {
    if (!lean_) return {base_.get(), geometry_};
    std::vector<std::byte*> entries;
    std::vector<std::byte*> chunks;
    for (node::Rank rank = 0; rank < geometry_.ranks; ++rank) {
        entries.push_back(header(team) + kLeanHeaderBytes + rank * node::kEntryBytes);
        chunks.push_back(pools() + rank * lean_->places * geometry_.chunk_bytes);
    }
    return {header(team), geometry_, std::move(entries), std::move(chunks)};
}

void SimSlice::Free::operator()(std::byte* memory) const { std::free(memory); }

node::Team sim_rank(const SimTeam& team, const SimSlice& memory, node::Rank rank, uint32_t number) {
    node::Team part;
    part.rank = rank;
    part.size = team.ranks;
    part.slice = memory.slice(number);
    part.lean.pool = memory.pool(rank);
    part.layout = team.layout;
    part.rank_order = team.rank_order;
    part.tuning = team.tuning;
    if (team.peers) part.single_copy.peers = team.peers(rank);
    part.single_copy.patience_polls = team.patience_polls;
    node::prepare(part);
    return part;
}

void sim_start(const SimTeam& team, node::Team& rank, node::Op& op, const node::Call& call) {
    const node::Algorithm* named = team.named[call.collective];
    const bool can_run = named && rank.size > 1 && named->obstacle(rank, call).empty();
    if (!can_run) return node::start(rank, op, call);
    op.call = call;
    node::start(rank, op, *named);
}

NodeSimulator::NodeSimulator(const SimTeam& team, uint64_t seed)
    : seed_(seed),
      prng_(seed),
      memory_(team.ranks, team.chunk_bytes, team.lean),
      team_(team),
      ranks_(team.ranks) {
    for (node::Rank rank = 0; rank < team.ranks; ++rank) {
        for (uint32_t number = 0; number < (team.lean ? team.lean->teams : 1); ++number) {
            ranks_[rank].teams.push_back(sim_rank(team, memory_, rank, number));
        }
    }
}

// Ranks differ by up to a factor of 64 where one of them is slow; that is far more than the ring of
// slots or of chunks is deep, so both ends of every ring are reached.
void NodeSimulator::draw_pace() {
    pace_ = static_cast<Pace>(prng_.below(5));
    for (RankState& rank : ranks_) {
        rank.step_ns = pace_ == Pace::kLockstep ? 100 : 50 + prng_.below(100);
        rank.due_ns = clock_.now_ns() + (pace_ == Pace::kLockstep ? 0 : prng_.below(2000));
        rank.burst = 0;
    }
    if (pace_ == Pace::kSlowRank) {
        ranks_[prng_.below(ranks_.size())].step_ns *= uint64_t{1} << (1 + prng_.below(6));
    }
}

uint64_t NodeSimulator::delay_of(RankState& rank) {
    switch (pace_) {
        case Pace::kLockstep:
            return rank.step_ns;
        case Pace::kPauses:
            // Now and then a rank is away for long: as by another process on its processor.
            if (prng_.below(16) == 0) return rank.step_ns << prng_.below(9);
            break;
        case Pace::kBursts:
            if (rank.burst > 0) {
                --rank.burst;
                return 1;
            }
            rank.burst = static_cast<uint32_t>(prng_.below(40));
            return rank.step_ns * (1 + prng_.below(30));
        default:
            break;
    }
    return rank.step_ns / 2 + prng_.below(rank.step_ns);
}

// Earliest first; among equals the seed chooses.
NodeSimulator::RankState* NodeSimulator::next_rank() {
    RankState* next = nullptr;
    uint64_t equals = 0;
    for (RankState& rank : ranks_) {
        if (!rank.is_running) continue;
        if (next && rank.due_ns > next->due_ns) continue;
        equals = next && rank.due_ns == next->due_ns ? equals + 1 : 1;
        if (equals == 1 || prng_.below(equals) == 0) next = &rank;
    }
    return next;
}

void NodeSimulator::start(RankState& rank, const ScriptedCall& next) const {
    rank.team = next.team;
    sim_start(team_, rank.teams[next.team], rank.op, next.call);
}

Step NodeSimulator::step(RankState& rank) {
    ++steps_;
    const Step result = node::step(rank.teams[rank.team], rank.op);
    if (result != Step::kDone) return result;
    if (rank.next_call == rank.script.size()) {
        rank.is_running = false;
    } else {
        start(rank, rank.script[rank.next_call++]);
    }
    return result;
}

// A step that ends blocked may still have written something, so one round in which all were blocked
// proves nothing; a second one over unchanged memory does.
bool NodeSimulator::is_stuck() {
    for (const RankState& rank : ranks_) {
        if (rank.is_running && !rank.is_blocked) return false;
    }
    for (RankState& rank : ranks_) rank.is_blocked = false;
    const std::span<const std::byte> now = memory_.bytes();
    const bool is_same = std::equal(now.begin(), now.end(), seen_.begin(), seen_.end());
    seen_.assign(now.begin(), now.end());
    return is_same;
}

Error NodeSimulator::stuck_error() const {
    std::vector<uint32_t> stuck;
    std::string where;
    for (node::Rank rank = 0; rank < ranks_.size(); ++rank) {
        if (!ranks_[rank].is_running) continue;
        stuck.push_back(rank);
        where += where.empty() ? "" : ", ";
        where += collective_name(ranks_[rank].op.call.collective);
        where += " (call " + std::to_string(ranks_[rank].op.number) + ")";
    }
    return {ErrorCode::kSystem, "seed " + std::to_string(seed_) + ": deadlock of " +
                                    engine::rank_list(stuck) + " in " + where};
}

Result<Done> NodeSimulator::run() {
    draw_pace();
    seen_.clear();
    for (RankState& rank : ranks_) {
        rank.is_blocked = false;
        rank.is_running = rank.next_call < rank.script.size();
        if (rank.is_running) {
            start(rank, rank.script[rank.next_call++]);
        }
    }
    while (RankState* rank = next_rank()) {
        clock_.advance_to(rank->due_ns);
        if (step(*rank) == Step::kBlocked) {
            rank->is_blocked = true;
            if (is_stuck()) return stuck_error();
        } else {
            for (RankState& other : ranks_) other.is_blocked = false;
            seen_.clear();
        }
        rank->due_ns = clock_.now_ns() + std::max<uint64_t>(1, delay_of(*rank));
    }
    return Done{};
}

}  // namespace tutti::simulate
