// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/select.h"

#include <algorithm>

#include "base/text.h"
#include "plan/algo/plan.h"
#include "plan/select/by_price.h"
#include "plan/select/measured.h"
#include "plan/select/option_words.h"

namespace tutti::select {
namespace {

Choice plan_choice(const algo::Algorithm* algorithm, const algo::Tuning& tuning,
                   std::string reason) {
    return {
        .runs = Runs::kPlan, .algorithm = algorithm, .tuning = tuning, .reason = std::move(reason)};
}

bool fits(const std::optional<Range>& range, uint64_t value) {
    return !range || range->contains(value);
}

bool fits_switches(const Rule& rule, const topo::Placement& placement) {
    const bool is_known = placement.switch_count() != 0;
    const topo::OnSwitches* several = placement.switches();
    if (rule.switches || rule.hosts_per_switch) {
        if (!is_known || !fits(rule.switches, placement.switch_count())) return false;
        const uint32_t least = several ? several->order().nodes_min() : placement.nodes();
        const uint32_t most = several ? several->order().nodes_max() : placement.nodes();
        if (!fits(rule.hosts_per_switch, least) || !fits(rule.hosts_per_switch, most)) return false;
    }
    const topo::Placement& walked = several ? several->placement() : placement;
    return !rule.contiguous || *rule.contiguous == walked.is_contiguous();
}

bool fits(const Rule& rule, const Question& question) {
    if (!rule.collectives[question.shape.collective]) return false;
    // Where a shape has lengths for a simulation, they choose nothing either.
    const bool has_size = !has_private_lengths(question.shape.collective);
    if (!fits(rule.bytes, has_size ? question.shape.bytes : 0) ||
        !fits(rule.ranks, question.placement.ranks()) ||
        !fits(rule.hosts, question.placement.nodes()) ||
        !fits(rule.ranks_per_host, question.placement.members_min()) ||
        !fits(rule.ranks_per_host, question.placement.members_max())) {
        return false;
    }
    if (!fits_switches(rule, question.placement)) return false;
    if (!rule.mpis.empty() &&
        std::find(rule.mpis.begin(), rule.mpis.end(), question.host_mpi) == rule.mpis.end()) {
        return false;
    }
    if (rule.commutative && *rule.commutative != question.shape.is_commutative) return false;
    for (size_t i = 0; i < kNetworks.size(); ++i) {
        const auto& wanted = rule.networks[i];
        if (wanted && *wanted != question.shape.networks.has(i)) return false;
    }
    if (rule.multicast && *rule.multicast != question.shape.has_multicast) return false;
    if (!fits(rule.multicast_mbit, question.shape.multicast_speed.mbit)) return false;
    // On one host no message is sent, so rules about messages say nothing there.
    const bool is_network = rule.algorithm != kHostMpi && rule.algorithm != kNodeLevel;
    return question.is_on_one_host() ? !is_network : rule.algorithm != kNodeLevel;
}

constexpr std::string_view kOneHostOnly =
    "node algorithms run teams on one host, this one has more";

// Why this cannot run the call, or an empty text.
std::string obstacle(const algo::Algorithm& algorithm, const algo::Tuning& tuning,
                     const Question& question) {
    const auto name = std::string(algorithm.name);
    const std::string_view what =
        algo::plan_obstacle(algorithm, question.shape, question.placement, tuning);
    if (algorithm.has_multicast && !question.shape.has_multicast &&
        !question.no_multicast.empty()) {
        return name + " " + std::string(what) + ": " + std::string(question.no_multicast);
    }
    if (!what.empty()) return name + " " + std::string(what);
    const uint64_t bytes =
        algo::plan_scratch_bytes(algorithm, question.shape, question.placement, tuning);
    if (bytes <= question.settings.rules.scratch_bytes) return {};
    return name + " takes " + format_bytes(bytes) + " of scratch, and TUTTI_SCRATCH is " +
           format_bytes(question.settings.rules.scratch_bytes);
}

// The same of the node level's.
std::string obstacle(const node::Algorithm& algorithm, const Question& question) {
    if (!question.is_on_one_host()) {
        return std::string(kOneHostOnly);
    }
    if (question.placement.ranks() == 1 || !question.on_node) return {};
    const std::string_view what =
        algorithm.obstacle(question.on_node->team, question.on_node->call);
    return what.empty() ? std::string() : std::string(algorithm.name) + " " + std::string(what);
}

Choice node_choice(const node::Algorithm* algorithm, std::string reason) {
    return {.runs = Runs::kNode, .reason = std::move(reason), .node_algorithm = algorithm};
}

// Why the host MPI cannot have the call, or an empty text.
std::string host_obstacle(const Settings& settings, std::string_view host_mpi,
                          tutti_collective collective) {
    if (host_mpi.empty()) return "there is no MPI below Tutti";
    if (settings.results.reproducible && is_reduction(collective)) {
        return "your MPI is not TUTTI_REPRODUCIBLE";
    }
    if (settings.results.heterogeneous && collective == TUTTI_ALLREDUCE) {
        return "your MPI may compute on several hosts (TUTTI_HETEROGENEOUS)";
    }
    return {};
}
std::string host_obstacle(const Question& question) {
    return host_obstacle(question.settings, question.host_mpi, question.shape.collective);
}

// Why a rule may not hand the call to the host MPI, which nobody watches, or an empty text.
std::string handing_back_obstacle(const Question& question) {
    if (question.settings.watch.check) return "TUTTI_CHECK compares what Tutti runs";
    if (question.settings.watch.stall_s > 0) return "TUTTI_STALL watches what Tutti runs";
    return host_obstacle(question);
}

// The same of this rule in particular, for now.
std::string size_obstacle(const Rule& rule, const Question& question) {
    const bool is_split = rule.bytes && !question.is_on_one_host();
    if (!is_split || question.shape.sizes_are_compared) return {};
    return "sizes are compared in the first " + std::to_string(kComparedCalls) + " calls";
}

// What releases by multicast, where there is one that can run the call so; else what is named.
Forced meant_by(const Forced& named, const Question& question) {
    const tutti_collective collective = question.shape.collective;
    const bool may_release = question.is_by_variable && question.shape.has_multicast;
    if (!may_release || named.algorithm != "adaptive") return named;
    Forced meant = named;
    meant.algorithm = kFollowing;
    const auto* algorithm = algo::find(collective, meant.algorithm);
    const bool can_run = algorithm != nullptr &&
                         !tuning_fault(collective, meant.algorithm, meant.tuning) &&
                         obstacle(*algorithm, meant.tuning, question).empty();
    return can_run ? meant : named;
}

Result<Choice> forced_choice(const Forced& forced, const Question& question) {
    const std::string by(question.forced_by.empty() ? forced_variable(question.shape.collective)
                                                    : question.forced_by);
    const std::string given = by + "=" + forced.algorithm +
                              (forced.node_algorithm.empty() ? "" : ":") + forced.node_algorithm;
    const auto cannot = [&](const std::string& why) {
        return Error{ErrorCode::kArgument, given + ": cannot run this call: " + why};
    };
    if (forced.algorithm == kHostMpi) {
        if (auto why = host_obstacle(question); !why.empty()) return cannot(why);
        return Choice{.runs = Runs::kHost, .reason = "forced by " + by};
    }
    if (forced.algorithm == kNodeLevel && forced.node_algorithm.empty()) {
        if (!question.is_on_one_host()) return cannot(std::string(kOneHostOnly));
        return node_choice(nullptr, "forced by " + by);
    }
    if (forced.algorithm == kNodeLevel) {
        const auto* one = node::find(question.shape.collective, forced.node_algorithm);
        TUTTI_ASSERT(one != nullptr, "parse_forced knows the table");
        if (auto why = obstacle(*one, question); !why.empty()) return cannot(why);
        return node_choice(one, "forced by " + by);
    }
    const auto* algorithm = algo::find(question.shape.collective, forced.algorithm);
    TUTTI_ASSERT(algorithm != nullptr, "parse_forced knows the registry");
    algo::Tuning tuning = forced.tuning;
    if (question.is_reproducible()) {
        const std::string_view needed = algo::left_fold(question.shape.collective).name;
        if (forced.algorithm != needed) {
            return cannot("TUTTI_REPRODUCIBLE needs " + std::string(needed));
        }
        tuning.flat = true;
    }
    if (auto why = obstacle(*algorithm, tuning, question); !why.empty()) return cannot(why);
    return plan_choice(algorithm, tuning, "forced by " + by);
}

// One left fold over all ranks, whatever their hosts.
Result<Choice> reproducible_choice(const Question& question) {
    const algo::Algorithm& fold = algo::left_fold(question.shape.collective);
    algo::Tuning tuning;
    tuning.flat = true;
    if (auto why = obstacle(fold, tuning, question); !why.empty()) {
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
    return number + " of " + printable(rules.source_of(rule));
}

// The next rule that Tutti would run by messages.
const Rule* next_by_messages(std::span<const Rule> rules, const Question& question) {
    for (const Rule& rule : rules) {
        const algo::Algorithm* algorithm = algo::find(question.shape.collective, rule.algorithm);
        if (!algorithm || algorithm->has_multicast || !fits(rule, question)) continue;
        if (obstacle(*algorithm, rule.tuning, question).empty()) return &rule;
    }
    return nullptr;
}

// The built-in rules about multicast were measured where multicasts and messages share the wires,
// and hold as long as messages are not clearly faster: by half, more than such a prediction is
// wrong by. Why a rule does not hold here, or an empty text; rest: the rules behind it.
std::string slower_than_messages(const Rule& rule, const algo::Algorithm& algorithm,
                                 std::span<const Rule> rest, const Question& question) {
    const sched::Shape& shape = question.shape;
    if (!algorithm.has_multicast || shape.message_speed.mbit == 0 ||
        shape.multicast_speed.mbit == 0 || question.settings.mcast.choice == McastChoice::kOn) {
        return {};
    }
    const Rule* other = next_by_messages(rest, question);
    if (!other) return {};
    const algo::Algorithm& plain = *algo::find(shape.collective, other->algorithm);
    const uint64_t multicast_ns = predicted_ns(algorithm, shape, question.placement, rule.tuning);
    const uint64_t message_ns = predicted_ns(plain, shape, question.placement, other->tuning);
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
std::optional<Choice> first_rule(const Rules& rules, const Question& question, Passed& passed) {
    for (const Rule& rule : rules.rules()) {
        if (!fits(rule, question)) continue;
        const bool is_host = rule.algorithm == kHostMpi;
        const algo::Algorithm* algorithm = algo::find(question.shape.collective, rule.algorithm);
        const node::Algorithm* on_node =
            rule.node_algorithm ? node::find(question.shape.collective, *rule.node_algorithm)
                                : nullptr;
        std::string why = is_host     ? handing_back_obstacle(question)
                          : algorithm ? obstacle(*algorithm, rule.tuning, question)
                          : on_node   ? obstacle(*on_node, question)
                                      : std::string();
        if (why.empty() && is_host) {
            why = size_obstacle(rule, question);
            passed.is_for_now |= !why.empty();
        }
        if (why.empty() && algorithm && are_built_in(rules)) {
            const auto rest = rules.rules().subspan(&rule - rules.rules().data() + 1);
            why = slower_than_messages(rule, *algorithm, rest, question);
        }
        if (!why.empty()) {
            passed.text += "; " + name_of(rules, rule) + " passed over: " + why;
            continue;
        }
        std::string reason = name_of(rules, rule) + " (" + describe(rule) + ")";
        if (!rule.why.empty()) reason += ": " + rule.why;
        reason += passed.text;
        const Runs runs = is_host ? Runs::kHost : algorithm ? Runs::kPlan : Runs::kNode;
        Choice choice{runs, algorithm, rule.tuning, std::move(reason), on_node, passed.is_for_now};
        choice.is_users = !are_built_in(rules) && !rules.tuned() && rules.is_own(rule);
        return choice;
    }
    return std::nullopt;
}

// A size that stands for the question's.
std::string as_for(const sched::Shape& priced, const Question& question) {
    if (priced.bytes == question.shape.bytes) return {};
    return " as for " + format_bytes(priced.bytes);
}

std::optional<Choice> cheapest(const Question& question, Prices& prices, const Passed& passed) {
    const auto& [shape, priced, others, lengths] = prices.of(question.shape);
    for (const Priced& one : priced) {
        if (!obstacle(*one.algorithm, one.tuning, question).empty()) continue;
        Choice choice = plan_choice(one.algorithm, one.tuning,
                                    prices.about() + as_for(shape, question) + ": " +
                                        price_text(priced, one) + passed.text);
        choice.may_be_priced = true;
        return choice;
    }
    return std::nullopt;
}

// Of what a built-in rule would run by messages: another algorithm by messages, where its price is
// lower by a third at least. Nine prices in ten are off by less than that (docs/price.md), while
// the rules were measured, though elsewhere.
std::optional<Choice> clearly_cheaper(const Question& question, const Choice& by_rule) {
    const auto& [shape, priced, others, lengths] = question.measured->of(question.shape);
    const auto found = std::ranges::find_if(priced, [&](const Priced& one) {
        return !one.algorithm->has_multicast &&
               obstacle(*one.algorithm, one.tuning, question).empty();
    });
    if (found == priced.end()) return std::nullopt;
    const auto rule_ns =
        question.measured->price(question.shape, *by_rule.algorithm, by_rule.tuning);
    if (!rule_ns || found->ns * 3 > *rule_ns * 2) return std::nullopt;
    return plan_choice(found->algorithm, found->tuning,
                       question.measured->about() + as_for(shape, question) + ": " +
                           price_text(priced, *found) + "; not " +
                           std::string(by_rule.algorithm->name) + ", " + format_duration(*rule_ns) +
                           ", by " + by_rule.reason);
}

// By the built-in rules, or where these would send messages by what such were measured to take.
std::optional<Choice> built_in_choice(const Question& question, const Prices* leading,
                                      Passed& passed) {
    auto choice = first_rule(Rules::built_in(), question, passed);
    if (!choice || choice->runs != Runs::kPlan || choice->is_for_now) return choice;
    choice->may_be_priced = !choice->algorithm->has_multicast;
    const bool has_other = question.measured && question.measured != leading;
    if (!choice->may_be_priced || !has_other) return choice;
    auto cheaper = clearly_cheaper(question, *choice);
    return cheaper ? cheaper : choice;
}

Result<Choice> as_users(Result<Choice> choice) {
    if (choice) choice.value().is_users = true;
    return choice;
}

}  // namespace

bool may_hand_back(const Grounds& grounds, tutti_collective collective) {
    const std::string_view host = grounds.host_mpi ? grounds.host_mpi : "";
    return !grounds.settings.watch.watches_calls() &&
           host_obstacle(grounds.settings, host, collective).empty();
}

Result<Choice> choose(const Question& question) {
    const Rules& rules = question.rules;
    const sched::Shape& shape = question.shape;
    TUTTI_ASSERT(shape.ranks == question.placement.ranks(), "the shape is that of the whole team");
    const bool is_on_one_host = question.is_on_one_host();
    if (const Forced* forced = question.forced) {
        const std::string& name = forced->algorithm;
        if (!is_on_one_host || name == kHostMpi || name == kNodeLevel) {
            return as_users(forced_choice(meant_by(*forced, question), question));
        }
    }
    if (question.is_reproducible() && !is_on_one_host) {
        return as_users(reproducible_choice(question));
    }
    Passed passed;
    const bool is_built_in = are_built_in(rules);
    if (!is_built_in) {
        if (auto choice = first_rule(rules, question, passed)) return std::move(*choice);
    }
    if (is_built_in || rules.has_built_in_after()) {
        Prices* const leading =
            leading_prices(question.settings, rules, question.prices, question.measured);
        if (leading && !is_on_one_host) {
            if (auto choice = cheapest(question, *leading, passed)) return std::move(*choice);
        }
        if (auto choice = built_in_choice(question, leading, passed)) return std::move(*choice);
    }
    if (is_on_one_host) {
        return node_choice(nullptr, "one host: shared memory" + passed.text);
    }
    if (auto why = host_obstacle(question); !why.empty()) {
        return Error{ErrorCode::kArgument, "no rule can run this " +
                                               std::string(collective_name(shape.collective)) +
                                               ", and " + why + passed.text};
    }
    return Choice{.runs = Runs::kHost, .reason = "no rule fits" + passed.text};
}

}  // namespace tutti::select
