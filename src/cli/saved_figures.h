// SPDX-License-Identifier: BSD-3-Clause
// Times that ranks of a node once measured, read from a report (docs/node.md, "In the report").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/command_line.h"
#include "lab/explain/node_level.h"

namespace tutti::cli {

inline constexpr OptionDoc kNodeFiguresOption = {
    "--node-figures", "FILE", "Times that the ranks of a host measured: the JSON of a report"};

// The text of a report's file. An error says what the file is instead.
Result<std::string> read_report(const std::string& name);
// Of the first set that measured; of those, one of so many ranks goes before.
Result<explain::MeasuredNode> parse_node_figures(std::string_view text, uint32_t ranks);

// Nothing where the option is not there. An error is one line.
Result<std::optional<explain::MeasuredNode>> read_node_figures(const CommandLine& command_line,
                                                               uint32_t ranks);

}  // namespace tutti::cli
