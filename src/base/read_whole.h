// SPDX-License-Identifier: BSD-3-Clause
// Files that people name: rules, topologies, a site's settings.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tutti {

// A file's text; of a longer one bytes_max + 1, so that it is seen to be longer. Nothing where it
// cannot be read; errno says why. Waits for nobody: a pipe is refused (ENOTSUP), since whoever is
// to write to it may never come.
std::optional<std::string> read_whole(const std::string& path, size_t bytes_max);

}  // namespace tutti
