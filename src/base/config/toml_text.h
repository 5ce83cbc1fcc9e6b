// SPDX-License-Identifier: BSD-3-Clause
// TOML that is written.
#pragma once

#include <string>
#include <string_view>

namespace tutti::config {

// A basic string; `text` has no control characters.
inline std::string toml_string(std::string_view text) {
    std::string result = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') result += '\\';
        result += letter;
    }
    return result + '"';
}

}  // namespace tutti::config
