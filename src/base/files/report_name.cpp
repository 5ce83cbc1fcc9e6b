// SPDX-License-Identifier: BSD-3-Clause
#include "base/files/report_name.h"

namespace tutti::files {

namespace {

constexpr std::string_view kEnding = ".json";

// Replaces each code by code(letter), and all else by literal(character).
template <class Code, class Literal>
std::string replace_codes(std::string_view pattern, Code code, Literal literal) {
    std::string name;
    for (size_t i = 0; i < pattern.size(); ++i) {
        const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
        if (next == 'j' || next == 'p' || next == 'h') {
            name += code(next);
        } else {
            name += literal(pattern[i]);
        }
        if (next == 'j' || next == 'p' || next == 'h' || next == '%') ++i;
    }
    return name;
}

std::string with_number(std::string name, const std::string& number) {
    const size_t at = name.ends_with(kEnding) ? name.size() - kEnding.size() : name.size();
    return name.insert(at, "." + number);
}

}  // namespace

std::string fill_name(std::string_view pattern, const NameParts& parts) {
    const auto code = [&](char letter) -> const std::string& {
        return letter == 'j' ? parts.job : letter == 'p' ? parts.process : parts.host;
    };
    return replace_codes(pattern, code, [](char character) { return std::string(1, character); });
}

std::string numbered_name(const std::string& name, int number) {
    return with_number(name, std::to_string(number));
}

NamePatterns name_patterns(std::string_view pattern) {
    const auto literal = [](char character) {
        const bool is_special = std::string_view("*?[]\\").find(character) != std::string::npos;
        return (is_special ? "\\" : "") + std::string(1, character);
    };
    const std::string first = replace_codes(
        pattern, [](char) { return "*"; }, literal);
    return {first, with_number(first, "[0-9]*")};
}

}  // namespace tutti::files
