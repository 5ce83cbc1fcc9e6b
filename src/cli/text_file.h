// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace tutti::cli {

// A whole file, which has no more than so many bytes.
Result<std::string> read_text_file(const std::string& name, uint64_t bytes_max);

}  // namespace tutti::cli
