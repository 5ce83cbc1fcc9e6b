// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/node_choice.h"

#include <algorithm>
#include <utility>

#include "run/node/node_algorithms.h"

namespace tutti::select {
namespace {

bool may_fit(const Rule& rule, const char* host_mpi, uint32_t ranks) {
    const auto& mpis = rule.mpis;
    const bool says_something = rule.node_algorithm || (rule.algorithm == kHostMpi && host_mpi);
    return says_something && (!rule.hosts || rule.hosts->contains(1)) &&
           (!rule.ranks || rule.ranks->contains(ranks)) &&
           (mpis.empty() ||
            (host_mpi && std::find(mpis.begin(), mpis.end(), host_mpi) != mpis.end()));
}

void widen(std::optional<Range>& range, const Range& by) {
    if (!range) range = by;
    range->low = std::min(range->low, by.low);
    range->high = std::max(range->high, by.high);
}

size_t place_of(const sched::Shape& shape, uint64_t all_bytes, size_t places) {
    const uint64_t mixed = ((shape.bytes + all_bytes) * 8 + shape.collective) * 0x9e3779b97f4a7c15u;
    return (mixed >> 32) % places;
}

}  // namespace

NodeChoice::NodeChoice(const Grounds& grounds, uint32_t ranks)
    : grounds_(grounds), placement_(topo::Placement::blocks(ranks, 1)) {}

void NodeChoice::add(const Grounds& grounds, const Rules& rules, uint32_t ranks, Ranges& said) {
    for (const Rule& rule : rules.rules()) {
        if (!may_fit(rule, grounds.host_mpi, ranks)) continue;
        for (size_t i = 0; i < said.size(); ++i) {
            if (rule.collectives[i]) widen(said[i], rule.bytes.value_or(Range{}));
        }
    }
}

// Of forced algorithms only these count on one node.
void NodeChoice::add_forced(const Grounds& grounds, tutti_collective collective,
                            const Forced& forced, Ranges& said) {
    const bool is_node = forced.algorithm == kNodeLevel;
    const bool is_host = forced.algorithm == kHostMpi;
    if (is_node || (is_host && grounds.host_mpi)) said[collective] = Range{};
}

std::unique_ptr<NodeChoice> NodeChoice::create_silent(const Grounds& grounds, uint32_t ranks) {
    return std::unique_ptr<NodeChoice>(new NodeChoice(grounds, ranks));
}

std::unique_ptr<NodeChoice> NodeChoice::create(const Grounds& grounds, uint32_t ranks) {
    const Rules& rules = grounds.rules;
    Ranges said;
    add(grounds, rules, ranks, said);
    if (rules.has_built_in_after()) add(grounds, Rules::built_in(), ranks, said);
    for (size_t i = 0; i < said.size(); ++i) {
        const auto collective = static_cast<tutti_collective>(i);
        const Forced* forced = rules.forced(collective);
        if (forced) add_forced(grounds, collective, *forced, said);
    }
    const auto is_there = [](const auto& range) { return range.has_value(); };
    if (std::none_of(said.begin(), said.end(), is_there)) return nullptr;
    auto made = create_silent(grounds, ranks);
    made->by_rules_ = made->said_ = said;
    return made;
}

// forced: by force(); nothing: what settings and rules say.
Result<Choice> NodeChoice::choose(const sched::Shape& shape, const NodeCall& on_node,
                                  const std::optional<Forced>& forced) const {
    const char* host = grounds_.host_mpi;
    return select::choose({.rules = grounds_.rules,
                           .settings = grounds_.settings,
                           .shape = shape,
                           .placement = placement_,
                           .host_mpi = host ? host : "",
                           .forced = forced ? &*forced : grounds_.rules.forced(shape.collective),
                           .on_node = &on_node});
}

const NodeChoice::Answer& NodeChoice::answer(sched::Shape shape, const NodeCall& on_node) {
    shape.root = 0;
    // On one host their sum and the longest say all, and answers outlive lengths.
    const uint64_t all_bytes = shape.lengths.are_there() ? shape.all_blocks_bytes() : 0;
    shape.lengths = {};
    const bool is_user_op = on_node.call.reducer.user_fn != nullptr;
    Answer& answer = answers_[place_of(shape, all_bytes, kAnswers)];
    const bool is_alike = answer.shape == shape && answer.all_bytes == all_bytes;
    if (answer.is_known && is_alike && answer.is_user_op == is_user_op) return answer;
    const auto choice = choose(shape, on_node, forced_[shape.collective]);
    answer = {shape, all_bytes, is_user_op, true, {}, choice ? "" : choice.error().message};
    if (!choice) return answer;
    answer.said.is_host = choice.value().runs == Runs::kHost;
    answer.said.is_users = choice.value().is_users;
    // A rank by itself copies, whatever is named.
    if (placement_.ranks() > 1) answer.said.algorithm = choice.value().node_algorithm;
    return answer;
}

Result<NodeAnswer> NodeChoice::says(const sched::Shape& shape, const NodeCall& on_node) {
    const Answer& found = answer(shape, on_node);
    if (!found.error.empty()) return Error{ErrorCode::kArgument, found.error};
    return found.said;
}

Result<Done> NodeChoice::force(const sched::Shape& shape, const NodeCall& on_node,
                               const std::string& algorithm) {
    std::optional<Forced> forced;
    if (!algorithm.empty()) {
        auto parsed = parse_forced(shape.collective, algorithm);
        if (!parsed) return parsed.error();
        const std::string& name = parsed.value().algorithm;
        if (name != kHostMpi && name != kNodeLevel) {
            return Error{ErrorCode::kArgument,
                         "all ranks are on one host, where shared memory runs every call"};
        }
        forced = std::move(parsed.value());
    }
    const auto choice = choose(shape, on_node, forced);
    if (!choice) return choice.error();
    forced_[shape.collective] = std::move(forced);
    answers_.fill({});
    said_ = by_rules_;
    for (size_t i = 0; i < forced_.size(); ++i) {
        const auto collective = static_cast<tutti_collective>(i);
        if (forced_[i]) add_forced(grounds_, collective, *forced_[i], said_);
    }
    return Done{};
}

}  // namespace tutti::select
