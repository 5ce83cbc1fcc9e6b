// SPDX-License-Identifier: BSD-3-Clause
// The cluster's parameters that --parameters gives: a preset's name, or a rules file that has some.
#pragma once

#include <string_view>

#include "base/result.h"
#include "cli/command_line.h"
#include "plan/price/cluster_parameters.h"

namespace tutti::cli {

inline constexpr OptionDoc kParametersOption{
    "--parameters", "NAME|FILE",
    "Times of messages: a preset, such as infiniband-100g, or a file "
    "(docs/formats/parameters.md)"};

// assumed: where it is not there.
Result<price::ClusterParameters> read_parameters(const CommandLine& command_line,
                                                 const price::ClusterParameters& assumed);

}  // namespace tutti::cli
