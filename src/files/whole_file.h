// SPDX-License-Identifier: BSD-3-Clause
// Writes a file whole or not at all: reports, drawings, measurements.
#pragma once

#include <string>
#include <string_view>

namespace tutti::files {

// Empty, or why not. A regular file is replaced in one step, through symbolic links, and keeps its
// permissions; whoever reads it meanwhile sees the old one or the new one. What is no regular file
// (a device, a pipe, /dev/stdout) is written to as it is.
std::string write_whole(const std::string& path, std::string_view text);

// What will keep write_whole from working, as far as can be told without writing, or empty.
std::string obstacle(const std::string& path);

}  // namespace tutti::files
