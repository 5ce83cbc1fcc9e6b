// SPDX-License-Identifier: BSD-3-Clause
// Lists of hosts as Slurm writes them: "tux[0-3,7],login,rack[1-2]n[01-10]".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti::topo {

// All names, the last brackets of a name counting fastest. A number is as wide as the first of its
// range: "01-10" is 01 to 10, "8-10" is 8 to 10. The error says what is wrong, not where.
Result<std::vector<std::string>> expand_hostlist(std::string_view text, uint32_t names_max);
// A short list of the same names in the same order: what has brackets or commas must not be there.
std::string fold_hostlist(std::span<const std::string> names);

// The order of people: numbers in names by their value, n2 before n10.
bool is_name_before(std::string_view one, std::string_view other);

}  // namespace tutti::topo
