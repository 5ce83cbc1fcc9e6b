// SPDX-License-Identifier: BSD-3-Clause
// The table of settings as a person reads it, on a terminal or as docs/settings.md.
#pragma once

#include <string>

namespace tutti::cli {

std::string settings_text();
std::string settings_markdown();

}  // namespace tutti::cli
