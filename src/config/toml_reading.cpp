// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml_reading.h"

#include <algorithm>

#include "base/text.h"

namespace tutti::config {
namespace {

// toml++ 3.3 runs into undefined behaviour at some letters beyond ASCII where a word begins
// (is_non_ascii_horizontal_whitespace, U+00A1 to U+0499), and into an assertion of its own at a
// form feed behind a bracket. No key or value of ours has such letters; in a comment nobody misses
// them, in `why` they are shown as question marks.
std::string plain(std::string_view text) {
    std::string result(text);
    std::ranges::replace_if(
        result,
        [](char letter) {
            const bool is_blank = letter == '\t' || letter == '\n' || letter == '\r';
            return !is_blank && (letter < 0x20 || letter > 0x7e);
        },
        '?');
    return result;
}

}  // namespace

Trouble trouble(const toml::node& node, std::string what) {
    return Complaint{node.source().begin, std::move(what)};
}

std::string shown(const toml::node& node) {
    if (const auto* text = node.as_string()) return '"' + printable(text->get()) + '"';
    if (const auto* number = node.as_integer()) return std::to_string(number->get());
    if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
    if (node.is_array()) return "a list";
    return node.is_table() ? "a table" : "this value";
}

std::vector<std::pair<const toml::key*, const toml::node*>> in_order(const toml::table& table) {
    std::vector<std::pair<const toml::key*, const toml::node*>> entries;
    for (const auto& [key, node] : table) entries.emplace_back(&key, &node);
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
        const auto& one = a.first->source().begin;
        const auto& other = b.first->source().begin;
        return std::pair(one.line, one.column) < std::pair(other.line, other.column);
    });
    return entries;
}

Trouble unknown_key(const toml::key& key, std::span<const std::string_view> known) {
    std::string what = "unknown key " + printable(key.str());
    if (const auto close = nearest(key.str(), known)) {
        what += "; did you mean " + std::string(*close) + "?";
    }
    return Complaint{key.source().begin, std::move(what)};
}

Trouble read_words(const toml::node& node, std::string_view key, std::vector<std::string>& words) {
    const std::string expected =
        std::string(key) + ": expected a word or a list of words, not " + shown(node);
    if (const auto* text = node.as_string()) {
        words.push_back(text->get());
        return std::nullopt;
    }
    const auto* list = node.as_array();
    if (!list || list->empty()) return trouble(node, expected);
    for (const toml::node& one : *list) {
        const auto* text = one.as_string();
        if (!text) return trouble(one, expected);
        words.push_back(text->get());
    }
    return std::nullopt;
}

Trouble read_switch(const toml::node& node, std::string_view key, bool& target) {
    const auto* truth = node.as_boolean();
    if (!truth) {
        return trouble(node, std::string(key) + ": expected true or false, not " + shown(node));
    }
    target = truth->get();
    return std::nullopt;
}

Trouble read_text(const toml::node& node, std::string_view key, std::string& target) {
    const auto* text = node.as_string();
    if (!text || text->get().empty()) {
        return trouble(node, std::string(key) + ": expected a text, not " + shown(node));
    }
    target = printable(text->get());
    return std::nullopt;
}

Error located(const std::string& file_name, const toml::source_position& at,
              const std::string& what) {
    return {ErrorCode::kArgument, printable(file_name) + ":" + std::to_string(at.line) + ":" +
                                      std::to_string(at.column) + ": " + what};
}

Result<toml::table> parse_toml(std::string_view text, const std::string& file_name) {
    toml::parse_result parsed = toml::parse(plain(text));
    if (parsed) return std::move(parsed).table();
    const toml::parse_error& error = parsed.error();
    return located(file_name, error.source().begin, printable(error.description()));
}

}  // namespace tutti::config
