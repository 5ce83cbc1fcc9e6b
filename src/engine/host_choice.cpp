// SPDX-License-Identifier: BSD-3-Clause
#include "engine/host_choice.h"

#include <algorithm>

#include "select/select.h"

namespace tutti::engine {
namespace {

bool may_fit(const select::Rule& rule, std::string_view host_mpi, uint32_t ranks) {
    const auto& mpis = rule.mpis;
    return rule.algorithm == select::kHostMpi && (!rule.hosts || rule.hosts->contains(1)) &&
           (!rule.ranks || rule.ranks->contains(ranks)) &&
           (mpis.empty() || std::find(mpis.begin(), mpis.end(), host_mpi) != mpis.end());
}

void widen(std::optional<select::Range>& range, const select::Range& by) {
    if (!range) range = by;
    range->low = std::min(range->low, by.low);
    range->high = std::max(range->high, by.high);
}

size_t place_of(const sched::Shape& shape, size_t places) {
    const uint64_t mixed = (shape.bytes * 8 + shape.collective) * 0x9e3779b97f4a7c15u;
    return (mixed >> 32) % places;
}

}  // namespace

void HostChoice::add_ranges(const select::Rules& rules, const Context& context, uint32_t ranks,
                            Ranges& ranges) {
    for (const select::Rule& rule : rules.rules()) {
        if (!may_fit(rule, context.params().host_mpi, ranks)) continue;
        for (size_t i = 0; i < ranges.size(); ++i) {
            if (rule.collectives[i]) widen(ranges[i], rule.bytes.value_or(select::Range{}));
        }
    }
}

HostChoice::HostChoice(const Context& context, uint32_t ranks, const Ranges& ranges)
    : context_(context), placement_(topo::Placement::blocks(ranks, 1)), ranges_(ranges) {}

std::unique_ptr<HostChoice> HostChoice::create(const Context& context, uint32_t ranks) {
    if (!context.params().host_mpi) return nullptr;
    Ranges ranges;
    const select::Rules& rules = context.rules();
    add_ranges(rules, context, ranks, ranges);
    if (rules.has_built_in_after()) add_ranges(select::Rules::built_in(), context, ranks, ranges);
    for (size_t i = 0; i < ranges.size(); ++i) {
        // Of forced algorithms only this one counts on one node.
        if (context.settings().forced[i] == select::kHostMpi) ranges[i] = select::Range{};
    }
    const auto is_there = [](const auto& range) { return range.has_value(); };
    if (std::none_of(ranges.begin(), ranges.end(), is_there)) return nullptr;
    return std::unique_ptr<HostChoice>(new HostChoice(context, ranks, ranges));
}

bool HostChoice::prefers_host(sched::Shape shape) {
    shape.root = 0;
    Answer& answer = answers_[place_of(shape, kAnswers)];
    if (answer.is_known && answer.shape == shape) return answer.is_host;
    const auto choice = select::choose(context_.rules(), context_.settings(), shape, placement_,
                                       context_.params().host_mpi);
    // A choice that fails is for algorithms across hosts, of which there is none here.
    answer = {shape, true, choice && choice.value().runs == select::Runs::kHost};
    return answer.is_host;
}

}  // namespace tutti::engine
