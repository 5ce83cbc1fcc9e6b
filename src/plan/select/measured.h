// SPDX-License-Identifier: BSD-3-Clause
// Prices where messages between hosts were measured, and no file gives the cluster's parameters: a
// preset with the measured latency and rate.
#pragma once

#include <optional>
#include <string>

#include "base/settings.h"
#include "base/topo/placement.h"
#include "plan/price/cluster_parameters.h"
#include "plan/sched/shape.h"
#include "plan/select/by_price.h"
#include "plan/select/parameter_presets.h"
#include "plan/select/rules.h"

namespace tutti::select {

// "30 us and 25 Mbit/s"
std::string speed_text(const sched::Speed& speed);

// Whether prices by measured messages have a say: no file has parameters of its own, and the
// built-in rules, or a preset, come last.
bool admits_measured(const Settings& settings, const Rules& rules);
// And of this collective. What a run has measured does not change the order of operands, unless the
// user has allowed that.
bool admits_measured(const Settings& settings, const Rules& rules, tutti_collective collective);
// Which of these, each of which may be missing, go before the built-in rules altogether: what
// somebody told, or in its place, where the settings or a preset say so, what was measured.
Prices* leading_prices(const Settings& settings, const Rules& rules, Prices* told,
                       Prices* measured);

// Whether the built-in rules are for networks as fast as this, and so stand.
bool suits_built_in(const sched::Speed& speed);

// Whose rate and latency are nearest to these, by the product of both ratios.
const Preset& nearest_preset(const sched::Speed& speed);
// These with the rate as measured, and all that a message takes: latency, hop and the processors'
// time are in proportion. The rest stays.
price::ClusterParameters with_measured(const price::ClusterParameters& parameters,
                                       const sched::Speed& speed);

// Whether prices by the shape's message_speed have a say: something was measured, it is admitted,
// and the built-in rules are not for such a network.
bool measured_counts(const Settings& settings, const Rules& rules, const sched::Shape& shape,
                     const topo::Placement& placement);
// By the shape's message_speed: of the preset that the rules name, else of the nearest. None where
// nothing was measured, it has no say, or the built-in rules are for such a network. The placement
// outlives it.
std::optional<Prices> measured_prices(const Settings& settings, const Rules& rules,
                                      const sched::Shape& shape, const topo::Placement& placement);

// The same of this speed, whoever has a say; over several hosts.
Prices prices_by_speed(const Rules& rules, const sched::Speed& speed,
                       const topo::Placement& placement);

}  // namespace tutti::select
