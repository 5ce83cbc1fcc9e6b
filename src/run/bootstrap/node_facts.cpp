// SPDX-License-Identifier: BSD-3-Clause
#include "run/bootstrap/node_facts.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "run/bootstrap/node_shape.h"
#include "run/engine/wait.h"
#include "run/node/quick_tree.h"
#include "run/node/tuner.h"

namespace tutti::bootstrap {
namespace {

using engine::NodeFacts;

std::shared_ptr<arena::ProcessMemory> by_process(std::span<const NodeMember> members) {
    std::vector<pid_t> pids;
    for (const NodeMember& member : members) {
        pids.push_back(static_cast<pid_t>(member.process.pid));
    }
    return std::make_shared<arena::ProcessMemory>(std::move(pids));
}

// Through XPMEM where that was asked for and is there; what it cannot read goes to `otherwise`.
std::shared_ptr<node::PeerMemory> best_memory(engine::Context& context,
                                              std::span<const NodeMember> members,
                                              std::shared_ptr<node::PeerMemory> otherwise) {
    if (!context.machine().xpmem) return otherwise;
    std::vector<uint64_t> segments;
    for (const NodeMember& member : members) segments.push_back(member.segment);
    return std::make_shared<arena::XpmemMemory>(context.machine().xpmem, std::move(segments),
                                                std::move(otherwise));
}

// Steps until done, as a rank in a collective waits: its host's messages go on meanwhile, since
// another member may still be on its way here.
template <class Stepping>
void wait_for(engine::Context& context, Stepping step_once) {
    engine::WaitPolicy policy;
    policy.spin_ns = context.settings().node.spin_us * 1000;
    engine::Waiter waiter(policy, context.clock());
    for (Step step = step_once(); step != Step::kDone; step = step_once()) {
        if (step == Step::kAdvanced) {
            waiter.reset();
        } else if (waiter.turn() != engine::Waiter::Advice::kPoll) {
            context.progress();
        }
    }
}

// What every member says, by rank.
template <class T>
void exchange(engine::Context& context, node::Team& team, const T& mine, std::vector<T>& all) {
    static_assert(sizeof(T) <= node::kInlineBytesMax);
    node::Call call;
    call.collective = TUTTI_ALLGATHER;
    call.bytes = sizeof(T);
    call.send = reinterpret_cast<const std::byte*>(&mine);
    call.recv = reinterpret_cast<std::byte*>(all.data());
    node::Op op;
    node::start(team, op, call);
    wait_for(context, [&] { return node::step(team, op); });
}

std::string reading_obstacle(const Settings& settings, std::span<const NodeMember> members) {
    if (settings.node.single_copy == SingleCopyChoice::kOff) return "TUTTI_SINGLE_COPY=off";
    if (members.size() > node::kReadersMax) return "more ranks than an offer counts";
    const uint64_t space = members[0].process.pid_space;
    const bool share_it = std::all_of(members.begin(), members.end(), [&](const NodeMember& one) {
        return one.process.pid_space == space;
    });
    return share_it ? "" : "the ranks are in different pid namespaces";
}

// So that no trip waits for a page of a ring: the own one and those of the next ranks, as many as
// are used together in a team that is not large.
void map_rings(const node::Team& team) {
    constexpr uint32_t kRingsMax = 8;
    constexpr size_t kStride = 4096;
    const node::Geometry& geometry = team.slice.geometry;
    for (uint32_t i = 0; i < std::min(team.size, kRingsMax); ++i) {
        const volatile std::byte* ring = team.slice.chunk((team.rank + i) % team.size, 0);
        for (size_t at = 0; at < geometry.ring_bytes; at += kStride) static_cast<void>(ring[at]);
    }
}

void forbid_reading(NodeFacts& facts, const node::Denial& denial, const Settings& settings) {
    std::array<char, 64> read{};
    std::snprintf(read.data(), read.size(), "rank %u cannot read rank %u's memory", denial.reader,
                  denial.of);
    facts.can_read = false;
    arena::tell_denial(facts.no_single_copy, read.data(), denial.failure,
                       settings.node.single_copy == SingleCopyChoice::kAllow);
}

node::TuningLimits tuning_limits(const Settings& settings, bool can_read) {
    return {.piece_bytes_max = piece_bytes_max(settings),
            .has_single = can_read,
            .is_always_single = settings.node.single_copy == SingleCopyChoice::kOn};
}

node::TuningLimits tuning_limits(const Settings& settings, bool can_read, const node::Team& team) {
    node::TuningLimits limits = tuning_limits(settings, can_read);
    limits.has_long_rings = has_long_rings(team.slice.geometry);
    limits.ranks = team.size;
    limits.is_flat = team.layout.flat;
    return limits;
}

}  // namespace

// A number of this rank, and where it stands in its memory.
struct FactFinder::Place {
    uint64_t address = 0;
    uint64_t token = 0;
};

// Whom this rank cannot read, and what it has measured by itself.
struct FactFinder::Verdict {
    node::Denial denial;
    node::Times once;
};

FactFinder::FactFinder(engine::Context& context, const node::Team& team,
                       std::span<const NodeMember> members, bool is_crowded)
    : context_(context),
      by_process_(by_process(members)),
      memory_(best_memory(context, members, by_process_)),
      obstacle_(reading_obstacle(context.settings(), members)),
      places_(team.size),
      verdicts_(team.size) {
    team_.rank = team.rank;
    team_.size = team.size;
    team_.slice = team.slice;
    team_.layout = team.layout;
    node::prepare(team_);
    const Settings& settings = context.settings();
    if (is_crowded) {
        const bool is_wanted = settings.node.single_copy != SingleCopyChoice::kOn;
        if (obstacle_.empty() && is_wanted && !context.findings().once()) once_.emplace();
        return;
    }
    map_rings(team_);
    meter_.emplace(context.clock(), default_tuning(settings, team.size),
                   tuning_limits(settings, true, team_));
}

FactFinder::~FactFinder() = default;

// By a random number in this function's own memory.
void FactFinder::try_reading(NodeFacts& facts) {
    if (context_.settings().node.single_copy == SingleCopyChoice::kAllow) arena::allow_readers();
    const uint64_t token = arena::random_token();
    exchange(context_, team_, Place{reinterpret_cast<uint64_t>(&token), token}, places_);
    Verdict mine;
    for (uint32_t rank = 0; rank < team_.size && mine.denial.failure == 0; ++rank) {
        uint64_t read = 0;
        auto* out = reinterpret_cast<std::byte*>(&read);
        if (!memory_->read(rank, out, places_[rank].address, sizeof(read))) {
            mine.denial = {by_process_->failure(), team_.rank, rank};
        } else if (read != places_[rank].token) {
            mine.denial = {EFAULT, team_.rank, rank};
        }
    }
    engine::Findings& findings = context_.findings();
    if (once_ && mine.denial.failure == 0) {
        findings.keep_once(once_->measure(*memory_, team_.rank, context_.clock()));
    }
    mine.once = findings.once().value_or(node::Times{});
    exchange(context_, team_, mine, verdicts_);
    for (const Verdict& verdict : verdicts_) {
        if (verdict.denial.failure == 0) continue;
        forbid_reading(facts, verdict.denial, context_.settings());
        return;
    }
    facts.figures.once = verdicts_[0].once;
    for (const Verdict& verdict : verdicts_) node::take_most(facts.figures.once, verdict.once);
    facts.can_read = true;
    team_.single_copy.peers = memory_;
}

NodeFacts FactFinder::run() {
    NodeFacts facts;
    facts.is_known = true;
    if (obstacle_.empty()) {
        try_reading(facts);
    } else {
        std::snprintf(facts.no_single_copy, sizeof(facts.no_single_copy), "%s", obstacle_.c_str());
    }
    if (!meter_) return facts;
    facts.is_tried = true;
    meter_->begin();
    wait_for(context_, [&] { return meter_->step(team_); });
    facts.figures = meter_->figures();
    return facts;
}

bool wants_facts(const Settings& settings, bool is_crowded) {
    return !is_crowded || settings.node.single_copy != SingleCopyChoice::kOff;
}

node::Tuning tuning_of(const NodeFacts& facts, const Settings& settings, uint32_t ranks) {
    node::TuningLimits limits = tuning_limits(settings, facts.can_read);
    limits.ranks = ranks;
    return node::tune(facts.figures, default_tuning(settings, ranks), limits);
}

void apply(const NodeFacts& facts, engine::Context& context, std::span<const NodeMember> members,
           node::Team& team) {
    if (facts.is_known) context.findings().note_no_single_copy(facts.no_single_copy);
    const Settings& settings = context.settings();
    const node::Tuning untried = default_tuning(settings, team.size);
    const auto limits = tuning_limits(settings, facts.can_read, team);
    team.tuning = node::tune(facts.figures, untried, limits);
    node::follow_flags(team.layout, facts.figures);
    team.local.fold_buffer = context.fold_buffer();
    team.copying.past_caches_bytes_min = past_caches_bytes_min();
    team.copying.ahead = node::find_copy_ahead(node::best_isa(settings.node.isa));
    if (facts.can_read) team.single_copy.peers = best_memory(context, members, by_process(members));
    // Lean teams have no ring of their own to measure with.
    const bool looks = facts.is_tried || (facts.can_read && limits.is_always_single);
    if (team.slice.geometry.is_lean || !looks) return;
    const auto take_back = [&context, processes = set_hash(members)](const node::Denial& denial) {
        NodeFacts now = context.findings().facts_of(processes);
        forbid_reading(now, denial, context.settings());
        context.findings().note_no_single_copy(now.no_single_copy);
        if (now.is_known) context.findings().change_facts(processes, now);
    };
    team.tuner = std::make_shared<node::Tuner>(
        context.clock(), untried, limits,
        facts.is_tried ? std::optional(facts.figures) : std::nullopt, take_back);
}

uint64_t set_hash(std::span<const NodeMember> members) {
    uint64_t sum = 0;
    for (const NodeMember& member : members) sum += arena::hash_of(member.process);
    return sum;
}

}  // namespace tutti::bootstrap
