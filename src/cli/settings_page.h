// SPDX-License-Identifier: BSD-3-Clause
// The table of settings for readers, on a terminal or as docs/settings.md.
#pragma once

#include <string>
#include <string_view>

namespace tutti::cli {

// Broken into lines, each behind the indent.
std::string wrapped(std::string_view text, std::string_view indent);

std::string settings_text();
std::string settings_markdown();

}  // namespace tutti::cli
