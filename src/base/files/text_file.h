// SPDX-License-Identifier: BSD-3-Clause
// Reads a file whole, such as one that a person has named.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace tutti::files {

// An error is one line that begins with the name; also of a file that has more bytes.
Result<std::string> read_text_file(const std::string& name, uint64_t bytes_max);

}  // namespace tutti::files
