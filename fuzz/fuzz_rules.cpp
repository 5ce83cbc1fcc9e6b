// SPDX-License-Identifier: BSD-3-Clause
// Rules as anybody may write them: either they are accepted, and then a choice can be made by them
// for any call, or one line says where and what is wrong. The same for forced algorithms.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plan/select/select.h"

namespace {

using tutti::select::Rules;

void demand(bool condition) {
    if (!condition) std::abort();
}

void demand_one_line(const std::string& message) {
    demand(!message.empty());
    demand(message.find('\n') == std::string::npos);
}

void choose_by(const Rules& rules, tutti_collective collective, uint64_t bytes) {
    const auto placement = tutti::topo::Placement::blocks(6, 3);
    tutti::sched::Shape shape;
    shape.collective = collective;
    shape.ranks = placement.ranks();
    shape.bytes = bytes;
    const tutti::Settings settings;
    const auto choice = tutti::select::choose({.rules = rules,
                                               .settings = settings,
                                               .shape = shape,
                                               .placement = placement,
                                               .host_mpi = "openmpi"});
    demand(static_cast<bool>(choice));
    const bool is_plan = choice.value().runs == tutti::select::Runs::kPlan;
    demand((choice.value().algorithm != nullptr) == is_plan);
    demand_one_line(choice.value().reason);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
    if (bytes == 0) return 0;
    const auto collective = static_cast<tutti_collective>(data[0] % TUTTI_COLLECTIVE_COUNT);
    const std::string text(reinterpret_cast<const char*>(data + 1), bytes - 1);
    const auto rules = Rules::parse(text, "rules.toml");
    if (rules) {
        choose_by(rules.value(), collective, data[0]);
        choose_by(rules.value(), collective, 1u << 20);
        auto own = Rules::parse("", "own.toml");
        own.value().follow_with(rules.value());
        choose_by(own.value(), collective, data[0]);
    } else {
        demand_one_line(rules.error().message);
        demand(rules.error().message.starts_with("rules.toml:"));
    }
    const auto forced = tutti::select::parse_forced(collective, text);
    if (!forced) demand_one_line(forced.error().message);
    return 0;
}
