// SPDX-License-Identifier: BSD-3-Clause
// Parameters of a cluster as people write and read them. The format is docs/formats/parameters.md;
// the presets are presets.toml beside this.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "price/parameters.h"

namespace tutti::select {

inline constexpr size_t kParametersTextBytesMax = 64u << 10;

struct Preset {
    std::string name;
    std::string about;  // where the figures come from
    price::ClusterParameters parameters;
};

// A table [parameters]. An error is one line that begins `file_name:line:column: `.
Result<price::ClusterParameters> parse_parameters(std::string_view text,
                                                  const std::string& file_name);
std::span<const Preset> presets();
// nullptr where there is none of this name.
const Preset* find_preset(std::string_view name);
// As TOML.
std::string_view presets_text();

}  // namespace tutti::select
