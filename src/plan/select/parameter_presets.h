// SPDX-License-Identifier: BSD-3-Clause
// Parameters of clusters that were not measured: presets.toml beside this. Other ones stand in
// rules files (Rules::parameters). The format is docs/formats/parameters.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/price/cluster_parameters.h"

namespace tutti::select {

struct Preset {
    std::string name;
    std::string about;  // where the figures come from
    price::ClusterParameters parameters;
};

std::span<const Preset> presets();
// With commas, for messages.
std::string preset_names();
// nullptr where there is none of this name.
const Preset* find_preset(std::string_view name);
// As TOML.
std::string_view presets_text();

}  // namespace tutti::select
