// SPDX-License-Identifier: BSD-3-Clause
#include "base/config/toml_reading.h"

#include <algorithm>

#include "base/text.h"

namespace tutti::config {
namespace {

bool is_foreign(char letter) {
    const bool is_blank = letter == '\t' || letter == '\n' || letter == '\r';
    return !is_blank && (letter < 0x20 || letter > 0x7e);
}

// toml++ 3.3 runs into undefined behaviour at some letters beyond ASCII where a word begins
// (is_non_ascii_horizontal_whitespace, U+00A1 to U+0499), and into an assertion of its own at a
// form feed behind a bracket. No key or value of ours has such letters; in a comment nobody misses
// them, in `why` they are shown as question marks.
std::string plain(std::string_view text) {
    std::string result(text);
    std::ranges::replace_if(result, is_foreign, '?');
    return result;
}

toml::source_position position_of(std::string_view text, size_t offset) {
    const std::string_view before = text.substr(0, offset);
    const auto lines = std::ranges::count(before, '\n');
    const size_t newline = before.rfind('\n');
    const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    return {static_cast<toml::source_index>(lines + 1),
            static_cast<toml::source_index>(offset - begin + 1)};
}

}  // namespace

std::optional<toml::source_position> foreign_letter(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        const char letter = text[at];
        if (letter == '#') {
            at = std::min(text.find('\n', at), text.size());
            continue;
        }
        if (letter != '"' && letter != '\'') {
            if (is_foreign(letter)) return position_of(text, at);
            ++at;
            continue;
        }
        const bool is_long = text.substr(at).starts_with(std::string(3, letter));
        const std::string_view quote = text.substr(at, is_long ? 3 : 1);
        at += quote.size();
        while (at < text.size() && !text.substr(at).starts_with(quote)) {
            if (is_foreign(text[at])) return position_of(text, at);
            at += letter == '"' && text[at] == '\\' ? 2 : 1;
        }
        at += quote.size();
        // Before its end a long text may have quotes of its own.
        while (is_long && at < text.size() && text[at] == letter) ++at;
    }
    return std::nullopt;
}

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

Trouble read_strings(const toml::node& node, std::string_view key,
                     std::vector<std::string>& words) {
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

std::optional<bool> switch_of(const toml::node& node) {
    if (const auto* truth = node.as_boolean()) return truth->get();
    if (const auto* number = node.as_integer()) return parse_switch(std::to_string(number->get()));
    if (const auto* text = node.as_string()) return parse_switch(text->get());
    return std::nullopt;
}

Trouble read_switch(const toml::node& node, std::string_view key, bool& target) {
    const auto value = switch_of(node);
    if (!value) {
        return trouble(node, std::string(key) + ": expected true or false, not " + shown(node));
    }
    target = *value;
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
