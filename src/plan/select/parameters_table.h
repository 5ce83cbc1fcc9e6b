// SPDX-License-Identifier: BSD-3-Clause
// The table [parameters] of a rules file, or the name of a preset. Inside select/ only.
#pragma once

#include "base/config/toml_reading.h"
#include "plan/price/cluster_parameters.h"

namespace tutti::select {

config::Trouble read_parameters(const toml::node& node, price::ClusterParameters& parameters);

}  // namespace tutti::select
