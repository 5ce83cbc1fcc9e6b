// SPDX-License-Identifier: BSD-3-Clause
// Names of algorithms and their options as people write them, in rules and in variables. Inside
// select/ only. Every function returns what is wrong, or nothing.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "plan/algo/registry.h"

namespace tutti::select {

using Fault = std::optional<std::string>;

inline constexpr std::array<std::string_view, 6> kTuningKeys = {"segment", "lanes", "leaders",
                                                                "fan_in",  "flat",  "order"};

// "unknown algorithm rnig of allreduce; did you mean ring?" What runs is an algorithm of the
// registry, "host" or "node".
Fault unknown_algorithm(tutti_collective collective, std::string_view name);
// The same of the node level's own, which are written node:small.
Fault unknown_node_algorithm(tutti_collective collective, std::string_view name);

// One option; without a value only a switch ("flat") may stand.
Fault set_tuning(algo::Tuning& tuning, std::string_view key, std::optional<std::string_view> value);

// Options that this algorithm would not heed, or that contradict each other.
Fault tuning_fault(tutti_collective collective, std::string_view algorithm,
                   const algo::Tuning& tuning);

}  // namespace tutti::select
