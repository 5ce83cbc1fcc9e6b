// SPDX-License-Identifier: BSD-3-Clause
#include "select/select.h"

#include <algorithm>

#include "algo/plan.h"
#include "base/text.h"
#include "select/predict.h"

namespace tutti::select {
namespace {

// The call in question, for the functions below.
struct Call {
    const Settings& settings;
    const sched::Shape& shape;
    const topo::Placement& placement;
    std::string_view host_mpi;
    std::string_view no_multicast;
    std::string_view forced_by;
    const NodeCall* on_node;

    [[nodiscard]] bool is_on_one_host() const { return placement.nodes() == 1; }
    [[nodiscard]] bool is_reproducible() const {
        return settings.reproducible && is_reduction(shape.collective);
    }
};

Choice plan_choice(const algo::Algorithm* algorithm, const algo::Tuning& tuning,
                   std::string reason) {
    return {
        .runs = Runs::kPlan, .algorithm = algorithm, .tuning = tuning, .reason = std::move(reason)};
}

bool fits(const std::optional<Range>& range, uint64_t value) {
    return !range || range->contains(value);
}

bool fits(const Rule& rule, const Call& call) {
    if (!rule.collectives[call.shape.collective]) return false;
    if (!fits(rule.bytes, call.shape.bytes) || !fits(rule.ranks, call.placement.ranks()) ||
        !fits(rule.hosts, call.placement.nodes()) ||
        !fits(rule.ranks_per_host, call.placement.members_min()) ||
        !fits(rule.ranks_per_host, call.placement.members_max())) {
        return false;
    }
    if (!rule.mpis.empty() &&
        std::find(rule.mpis.begin(), rule.mpis.end(), call.host_mpi) == rule.mpis.end()) {
        return false;
    }
    if (rule.commutative && *rule.commutative != call.shape.is_commutative) return false;
    if (rule.multicast && *rule.multicast != call.shape.has_multicast) return false;
    if (!fits(rule.multicast_mbit, call.shape.multicast_speed.mbit)) return false;
    // On one host no message is sent, so rules about messages say nothing there.
    const bool is_network = rule.algorithm != kHostMpi && rule.algorithm != kNodeLevel;
    return call.is_on_one_host() ? !is_network : rule.algorithm != kNodeLevel;
}

// Why this cannot run the call, or an empty text.
std::string obstacle(const algo::Algorithm& algorithm, const algo::Tuning& tuning,
                     const Call& call) {
    const auto name = std::string(algorithm.name);
    const std::string_view what =
        algo::plan_obstacle(algorithm, call.shape, call.placement, tuning);
    if (algorithm.has_multicast && !call.shape.has_multicast && !call.no_multicast.empty()) {
        return name + " " + std::string(what) + ": " + std::string(call.no_multicast);
    }
    if (!what.empty()) return name + " " + std::string(what);
    const uint64_t bytes = algo::plan_scratch_bytes(algorithm, call.shape, call.placement, tuning);
    if (bytes <= call.settings.scratch_bytes) return {};
    return name + " takes " + format_bytes(bytes) + " of scratch, and TUTTI_SCRATCH is " +
           format_bytes(call.settings.scratch_bytes);
}

// The same of the node level's.
std::string obstacle(const node::Algorithm& algorithm, const Call& call) {
    if (!call.is_on_one_host()) return "node algorithms run teams on one host, this one has more";
    if (call.placement.ranks() == 1 || !call.on_node) return {};
    const std::string_view what = algorithm.obstacle(call.on_node->team, call.on_node->call);
    return what.empty() ? std::string() : std::string(algorithm.name) + " " + std::string(what);
}

Choice node_choice(const node::Algorithm* algorithm, std::string reason) {
    return {.runs = Runs::kNode, .reason = std::move(reason), .node_algorithm = algorithm};
}

// Why the host MPI cannot have the call, or an empty text.
std::string host_obstacle(const Call& call) {
    if (call.host_mpi.empty()) return "there is no host MPI";
    if (call.is_reproducible()) return "the host MPI is not TUTTI_REPRODUCIBLE";
    return {};
}

// Why a rule may not hand the call to the host MPI, which nobody watches, or an empty text.
std::string handing_back_obstacle(const Call& call) {
    if (call.settings.check) return "TUTTI_CHECK compares what Tutti runs";
    if (call.settings.stall_s > 0) return "TUTTI_STALL watches what Tutti runs";
    return host_obstacle(call);
}

// The same of this rule in particular, for now.
std::string size_obstacle(const Rule& rule, const Call& call) {
    const bool is_split = rule.bytes && !call.is_on_one_host();
    if (!is_split || call.shape.sizes_are_compared) return {};
    return "sizes are compared in the first " + std::to_string(kComparedCalls) + " calls";
}

Result<Choice> forced_choice(const Forced& forced, const Call& call) {
    const std::string by(call.forced_by.empty() ? forced_variable(call.shape.collective)
                                                : call.forced_by);
    const std::string given = by + "=" + forced.algorithm +
                              (forced.node_algorithm.empty() ? "" : ":") + forced.node_algorithm;
    const auto cannot = [&](const std::string& why) {
        return Error{ErrorCode::kArgument, given + ": cannot run this call: " + why};
    };
    if (forced.algorithm == kHostMpi) {
        if (auto why = host_obstacle(call); !why.empty()) return cannot(why);
        return Choice{.runs = Runs::kHost, .reason = "forced by " + by};
    }
    if (forced.algorithm == kNodeLevel) {
        const auto* one = node::find(call.shape.collective, forced.node_algorithm);
        TUTTI_ASSERT(one != nullptr, "parse_forced knows the table");
        if (auto why = obstacle(*one, call); !why.empty()) return cannot(why);
        return node_choice(one, "forced by " + by);
    }
    const auto* algorithm = algo::find(call.shape.collective, forced.algorithm);
    TUTTI_ASSERT(algorithm != nullptr, "parse_forced knows the registry");
    algo::Tuning tuning = forced.tuning;
    if (call.is_reproducible()) {
        const std::string_view needed = algo::left_fold(call.shape.collective).name;
        if (forced.algorithm != needed) {
            return cannot("TUTTI_REPRODUCIBLE needs " + std::string(needed));
        }
        tuning.flat = true;
    }
    if (auto why = obstacle(*algorithm, tuning, call); !why.empty()) return cannot(why);
    return plan_choice(algorithm, tuning, "forced by " + by);
}

// One left fold over all ranks, whatever their hosts.
Result<Choice> reproducible_choice(const Call& call) {
    const algo::Algorithm& fold = algo::left_fold(call.shape.collective);
    algo::Tuning tuning;
    tuning.flat = true;
    if (auto why = obstacle(fold, tuning, call); !why.empty()) {
        return Error{ErrorCode::kArgument, "TUTTI_REPRODUCIBLE: cannot run this call: " + why};
    }
    return plan_choice(&fold, tuning, "TUTTI_REPRODUCIBLE: one left fold in the order of ranks");
}

bool are_built_in(const Rules& rules) {
    return &rules == &Rules::built_in() || rules.source() == Rules::built_in().source();
}

std::string name_of(const Rules& rules, const Rule& rule) {
    const std::string number = "rule " + std::to_string(rule.number);
    if (are_built_in(rules)) return "built-in " + number;
    return number + " of " + printable(rules.source());
}

// The next rule that Tutti would run by messages.
const Rule* next_by_messages(std::span<const Rule> rules, const Call& call) {
    for (const Rule& rule : rules) {
        const algo::Algorithm* algorithm = algo::find(call.shape.collective, rule.algorithm);
        if (!algorithm || algorithm->has_multicast || !fits(rule, call)) continue;
        if (obstacle(*algorithm, rule.tuning, call).empty()) return &rule;
    }
    return nullptr;
}

std::string speed_text(const sched::Speed& speed) {
    return format_duration(speed.latency_ns) + " and " + std::to_string(speed.mbit) + " Mbit/s";
}

// The built-in rules about multicast were measured where multicasts and messages share the wires,
// and hold as long as messages are not clearly faster: by half, more than such a prediction is
// wrong by. Why a rule does not hold here, or an empty text; rest: the rules behind it.
std::string slower_than_messages(const Rule& rule, const algo::Algorithm& algorithm,
                                 std::span<const Rule> rest, const Call& call) {
    const sched::Shape& shape = call.shape;
    if (!algorithm.has_multicast || shape.message_speed.mbit == 0 ||
        shape.multicast_speed.mbit == 0 || call.settings.mcast.choice == McastChoice::kOn) {
        return {};
    }
    const Rule* other = next_by_messages(rest, call);
    if (!other) return {};
    const algo::Algorithm& plain = *algo::find(shape.collective, other->algorithm);
    const uint64_t multicast_ns = predicted_ns(algorithm, shape, call.placement, rule.tuning);
    const uint64_t message_ns = predicted_ns(plain, shape, call.placement, other->tuning);
    if (multicast_ns * 2 <= message_ns * 3) return {};
    return std::string(algorithm.name) + " is predicted to take " + format_duration(multicast_ns) +
           ", " + std::string(plain.name) + " " + format_duration(message_ns) + " (multicasts " +
           speed_text(shape.multicast_speed) + ", messages " + speed_text(shape.message_speed) +
           ")";
}

// The rules that fit and cannot run.
struct Passed {
    std::string text;
    bool is_for_now = false;  // one of them is to count later
};

// The first rule that fits and can run.
std::optional<Choice> first_rule(const Rules& rules, const Call& call, Passed& passed) {
    for (const Rule& rule : rules.rules()) {
        if (!fits(rule, call)) continue;
        const bool is_host = rule.algorithm == kHostMpi;
        const algo::Algorithm* algorithm = algo::find(call.shape.collective, rule.algorithm);
        const node::Algorithm* on_node =
            rule.node_algorithm ? node::find(call.shape.collective, *rule.node_algorithm) : nullptr;
        std::string why = is_host     ? handing_back_obstacle(call)
                          : algorithm ? obstacle(*algorithm, rule.tuning, call)
                          : on_node   ? obstacle(*on_node, call)
                                      : std::string();
        if (why.empty() && is_host) {
            why = size_obstacle(rule, call);
            passed.is_for_now |= !why.empty();
        }
        if (why.empty() && algorithm && are_built_in(rules)) {
            const auto rest = rules.rules().subspan(&rule - rules.rules().data() + 1);
            why = slower_than_messages(rule, *algorithm, rest, call);
        }
        if (!why.empty()) {
            passed.text += "; " + name_of(rules, rule) + " passed over: " + why;
            continue;
        }
        std::string reason = name_of(rules, rule) + " (" + describe(rule) + ")";
        if (!rule.why.empty()) reason += ": " + rule.why;
        reason += passed.text;
        const Runs runs = is_host ? Runs::kHost : algorithm ? Runs::kPlan : Runs::kNode;
        return Choice{runs, algorithm, rule.tuning, std::move(reason), on_node, passed.is_for_now};
    }
    return std::nullopt;
}

}  // namespace

Result<Choice> choose(const Rules& rules, const Settings& settings, const sched::Shape& shape,
                      const topo::Placement& placement, std::string_view host_mpi,
                      std::string_view no_multicast, std::string_view forced_by,
                      const NodeCall* on_node) {
    TUTTI_ASSERT(shape.ranks == placement.ranks(), "the shape is that of the whole team");
    const Call call{settings, shape, placement, host_mpi, no_multicast, forced_by, on_node};
    if (const std::string& text = settings.forced[shape.collective]; !text.empty()) {
        const auto forced = parse_forced(shape.collective, text);
        if (!forced) return forced.error();
        const std::string& name = forced.value().algorithm;
        if (!call.is_on_one_host() || name == kHostMpi || name == kNodeLevel) {
            return forced_choice(forced.value(), call);
        }
    }
    if (call.is_reproducible() && !call.is_on_one_host()) return reproducible_choice(call);
    Passed passed;
    if (auto choice = first_rule(rules, call, passed)) return std::move(*choice);
    if (rules.has_built_in_after()) {
        if (auto choice = first_rule(Rules::built_in(), call, passed)) return std::move(*choice);
    }
    if (call.is_on_one_host()) {
        return node_choice(nullptr, "one host: shared memory" + passed.text);
    }
    if (auto why = host_obstacle(call); !why.empty()) {
        return Error{ErrorCode::kArgument, "no rule can run this " +
                                               std::string(collective_name(shape.collective)) +
                                               ", and " + why + passed.text};
    }
    return Choice{.runs = Runs::kHost, .reason = "no rule fits" + passed.text};
}

}  // namespace tutti::select
