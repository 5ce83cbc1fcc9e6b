// SPDX-License-Identifier: BSD-3-Clause
#include "engine/host_choice.h"

#include <algorithm>

#include "select/select.h"

namespace tutti::engine {
namespace {

bool may_leave(const select::Rules& rules, uint32_t ranks) {
    return std::any_of(rules.rules().begin(), rules.rules().end(), [&](const select::Rule& rule) {
        return rule.algorithm == select::kHostMpi && (!rule.hosts || rule.hosts->contains(1)) &&
               (!rule.ranks || rule.ranks->contains(ranks));
    });
}

bool is_forced(const Settings& settings) {
    return std::find(settings.forced.begin(), settings.forced.end(), select::kHostMpi) !=
           settings.forced.end();
}

size_t place_of(const sched::Shape& shape, size_t places) {
    uint64_t mixed = shape.bytes * 8 + shape.collective;
    mixed = (mixed ^ (uint64_t{shape.root} << 40)) * 0x9e3779b97f4a7c15u;
    return (mixed >> 32) % places;
}

}  // namespace

HostChoice::HostChoice(const Context& context, uint32_t ranks)
    : context_(context), placement_(topo::Placement::blocks(ranks, 1)) {}

std::unique_ptr<HostChoice> HostChoice::create(const Context& context, uint32_t ranks) {
    if (!context.params().host_mpi) return nullptr;
    const select::Rules& rules = context.rules();
    const bool has_rule = may_leave(rules, ranks) || (rules.has_built_in_after() &&
                                                      may_leave(select::Rules::built_in(), ranks));
    if (!has_rule && !is_forced(context.settings())) return nullptr;
    return std::make_unique<HostChoice>(context, ranks);
}

bool HostChoice::prefers_host(const sched::Shape& shape) {
    Answer& answer = answers_[place_of(shape, kAnswers)];
    if (answer.is_known && answer.shape == shape) return answer.is_host;
    const auto choice = select::choose(context_.rules(), context_.settings(), shape, placement_,
                                       context_.params().host_mpi);
    // A choice that fails is for algorithms across hosts, of which there is none here.
    answer = {shape, true, choice && choice.value().runs == select::Runs::kHost};
    return answer.is_host;
}

}  // namespace tutti::engine
