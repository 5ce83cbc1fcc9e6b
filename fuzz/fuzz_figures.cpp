// SPDX-License-Identifier: BSD-3-Clause
// A report as anybody may have changed it: either its figures are taken, and then they give rates,
// or arrivals, of all ranks in each call; or one line says what is wrong.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/saved_figures.h"
#include "cli/skew_options.h"
#include "plan/price/node_speed.h"

namespace {

void demand(bool condition) {
    if (!condition) std::abort();
}

void look_at_arrivals(std::string_view text) {
    const auto found = tutti::cli::parse_recorded(text);
    if (!found) return demand(found.error().message.find('\n') == std::string::npos);
    demand(!found.value().empty() && !found.value()[0].empty());
    for (const auto& call : found.value()) {
        demand(call.size() == found.value()[0].size());
        for (const uint64_t late_ns : call) demand(late_ns <= 60'000'000'000);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
    const std::string_view text(reinterpret_cast<const char*>(data), bytes);
    look_at_arrivals(text);
    const auto found = tutti::cli::parse_node_figures(text, 2);
    if (!found) {
        demand(found.error().message.find('\n') == std::string::npos);
        return 0;
    }
    const tutti::explain::MeasuredNode& node = found.value();
    demand(node.text().find('\n') == std::string::npos);
    const auto tuning = tutti::explain::tuning_of(node, {}, 2);
    const auto parameters = tutti::price::parameters_of(node.figures, tuning);
    demand(parameters.flag_ns > 0 && parameters.copy_bytes_per_s > 0);
    demand(tuning.readers_max > 0);
    const auto speeds = tutti::price::speeds_of(node.figures, tuning, node.ranks);
    demand(!speeds || (speeds->read_ns > 0 && speeds->fold_ns > 0));
    const auto single = tutti::price::single_speeds_of(node.figures, 1);
    demand(!single || single->fold_ns > single->read_ns);
    return 0;
}
