// SPDX-License-Identifier: BSD-3-Clause
// What TOML files that people write have in common. The only way to toml++, which is
// compiled without exceptions.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
// toml++ 3.3 asserts that a key begins behind "[", and reports the error itself a few lines later:
// a user's mistake must not end the process.
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tutti::config {

// What is wrong, and where.
struct Complaint {
    toml::source_position at;
    std::string what;
};
using Trouble = std::optional<Complaint>;

Trouble trouble(const toml::node& node, std::string what);

// The value as a message shows it.
std::string shown(const toml::node& node);
// The entries of a table in the order of the file, so that the first fault is told.
std::vector<std::pair<const toml::key*, const toml::node*>> in_order(const toml::table& table);
Trouble unknown_key(const toml::key& key, std::span<const std::string_view> known);
// A string, or a list of strings.
Trouble read_strings(const toml::node& node, std::string_view key, std::vector<std::string>& words);
// true, or what a switch among the settings takes: 1, "on" and the like.
std::optional<bool> switch_of(const toml::node& node);
Trouble read_switch(const toml::node& node, std::string_view key, bool& target);
Trouble read_text(const toml::node& node, std::string_view key, std::string& target);

// "FILE:LINE:COLUMN: what"
Error located(const std::string& file_name, const toml::source_position& at,
              const std::string& what);
// A letter that is not ASCII becomes a question mark.
Result<toml::table> parse_toml(std::string_view text, const std::string& file_name);
// The first such letter of a text that parse_toml took, comments apart.
std::optional<toml::source_position> foreign_letter(std::string_view text);

}  // namespace tutti::config
