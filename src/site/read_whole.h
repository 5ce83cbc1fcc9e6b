// SPDX-License-Identifier: BSD-3-Clause
// A file's text. Inside site/ only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tutti::site {

// What is left to read of it; of a longer one bytes_max + 1, so that it is seen to be longer. Waits
// for nobody where the file was opened so. Nothing where it cannot be read; errno says why.
std::optional<std::string> read_whole(int file, size_t bytes_max);

}  // namespace tutti::site
