// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/read/hostlist.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/topo/topology.h"

namespace tutti::topo {
namespace {

constexpr size_t kDigitsMax = 18;

Error unreadable(std::string what) { return {ErrorCode::kArgument, std::move(what)}; }

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string padded(uint64_t number, size_t width) {
    std::string text = std::to_string(number);
    if (text.size() < width) text.insert(0, width - text.size(), '0');
    return text;
}

struct Numbers {
    uint64_t low = 0;
    uint64_t high = 0;
    size_t width = 0;
};

std::optional<Numbers> parse_numbers(std::string_view text) {
    const size_t dash = text.find('-');
    const std::string_view low = text.substr(0, dash);
    const std::string_view high = dash == std::string_view::npos ? low : text.substr(dash + 1);
    const auto is_number = [](std::string_view word) {
        return !word.empty() && word.size() <= kDigitsMax &&
               std::all_of(word.begin(), word.end(), is_digit);
    };
    if (!is_number(low) || !is_number(high)) return std::nullopt;
    const Numbers found{*parse_count(low), *parse_count(high), low.size()};
    if (found.low > found.high) return std::nullopt;
    return found;
}

// A name is texts and lists of numbers in turn; `before[i]` stands in front of `inside[i]`.
struct Pattern {
    std::vector<std::string_view> before;
    std::vector<std::vector<Numbers>> inside;
    std::string_view rest;
    uint64_t names = 1;
    uint64_t bytes = 0;  // of the longest of them
};

Result<Pattern> parse_pattern(std::string_view text, uint64_t names_max) {
    Pattern pattern;
    size_t at = 0;
    for (;;) {
        const size_t open = text.find('[', at);
        if (open == std::string_view::npos) break;
        const size_t close = text.find(']', open);
        if (close == std::string_view::npos) {
            return unreadable("a ] is missing in " + printable(text));
        }
        pattern.before.push_back(text.substr(at, open - at));
        auto& inside = pattern.inside.emplace_back();
        uint64_t count = 0;
        size_t width = 0;
        for (const std::string_view part : split(text.substr(open + 1, close - open - 1), ',')) {
            const auto numbers = parse_numbers(trimmed(part));
            if (!numbers) {
                return unreadable("not a range of numbers: " + printable(part) + " in " +
                                  printable(text));
            }
            inside.push_back(*numbers);
            // Neither can overflow: both are below 10^18.
            width = std::max(width, padded(numbers->high, numbers->width).size());
            count = std::min(names_max + 1, count + (numbers->high - numbers->low) + 1);
        }
        pattern.bytes += (open - at) + width;
        pattern.names = std::min(names_max + 1, pattern.names * count);
        at = close + 1;
    }
    pattern.rest = text.substr(at);
    pattern.bytes += pattern.rest.size();
    const auto is_bad = [](std::string_view piece) { return piece.find(']') != piece.npos; };
    if (is_bad(pattern.rest) || std::any_of(pattern.before.begin(), pattern.before.end(), is_bad)) {
        return unreadable("a [ is missing in " + printable(text));
    }
    return pattern;
}

void expand(const Pattern& pattern, size_t part, const std::string& begun,
            std::vector<std::string>& names) {
    if (part == pattern.inside.size()) {
        names.push_back(begun + std::string(pattern.rest));
        return;
    }
    for (const Numbers& numbers : pattern.inside[part]) {
        for (uint64_t n = numbers.low; n <= numbers.high; ++n) {
            expand(pattern, part + 1,
                   begun + std::string(pattern.before[part]) + padded(n, numbers.width), names);
        }
    }
}

// A name around its last number.
struct Split {
    std::string_view before;
    std::string_view digits;
    std::string_view behind;
};

Split split_name(std::string_view name) {
    size_t end = name.size();
    while (end > 0 && !is_digit(name[end - 1])) --end;
    size_t begin = end;
    while (begin > 0 && is_digit(name[begin - 1]) && end - begin < kDigitsMax) --begin;
    return {name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text, uint32_t names_max) {
    // Commas inside brackets do not part names.
    std::vector<std::string_view> parts;
    size_t begin = 0;
    uint32_t depth = 0;
    uint32_t brackets = 0;
    for (size_t at = 0; at <= text.size(); ++at) {
        const char letter = at < text.size() ? text[at] : ',';
        if (letter == '[') {
            ++depth;
            ++brackets;
        }
        if (letter == ']' && depth > 0) --depth;
        if (depth > 1) return unreadable("brackets in brackets in " + printable(text));
        if (letter == ',' && (depth == 0 || at == text.size())) {
            parts.push_back(trimmed(text.substr(begin, at - begin)));
            begin = at + 1;
            // Each takes a step of a recursion.
            if (brackets > 8) return unreadable("more than 8 brackets in " + printable(text));
            brackets = 0;
        }
    }
    std::vector<std::string> names;
    for (const std::string_view part : parts) {
        if (part.empty()) return unreadable("a name is missing in " + printable(text));
        const auto pattern = parse_pattern(part, names_max);
        if (!pattern) return pattern.error();
        // Before it is made: what a few bytes ask for could take gigabytes.
        if (pattern.value().bytes > kNameBytesMax) {
            return unreadable("a name of more than " + std::to_string(kNameBytesMax) +
                              " bytes: " + printable(part));
        }
        if (pattern.value().names > names_max - names.size()) {
            return unreadable("more than " + std::to_string(names_max) + " names");
        }
        expand(pattern.value(), 0, "", names);
    }
    return names;
}

std::string fold_hostlist(std::span<const std::string> names) {
    std::string text;
    for (size_t first = 0; first < names.size();) {
        const Split head = split_name(names[first]);
        const auto is_kin = [&](const Split& other) {
            return !other.digits.empty() && other.before == head.before &&
                   other.behind == head.behind;
        };
        size_t end = first + 1;
        while (!head.digits.empty() && end < names.size() && is_kin(split_name(names[end]))) ++end;
        if (!text.empty()) text += ',';
        if (end == first + 1) {
            text += names[first];
            first = end;
            continue;
        }
        text.append(head.before).append("[");
        for (size_t at = first; at < end;) {
            const std::string_view low = split_name(names[at]).digits;
            const uint64_t number = *parse_count(low);
            size_t last = at + 1;
            while (last < end &&
                   split_name(names[last]).digits == padded(number + (last - at), low.size())) {
                ++last;
            }
            if (at > first) text += ',';
            text.append(low);
            if (last > at + 1) text.append("-").append(split_name(names[last - 1]).digits);
            at = last;
        }
        text.append("]").append(head.behind);
        first = end;
    }
    return text;
}

bool is_name_before(std::string_view one, std::string_view other) {
    // Takes a number without leading zeros, or a letter.
    const auto take = [](std::string_view& rest) {
        size_t end = 1;
        if (is_digit(rest[0])) {
            while (end < rest.size() && is_digit(rest[end])) ++end;
        }
        std::string_view word = rest.substr(0, end);
        rest.remove_prefix(end);
        while (word.size() > 1 && word[0] == '0') word.remove_prefix(1);
        return word;
    };
    const std::pair whole(one, other);
    while (!one.empty() && !other.empty()) {
        const std::string_view a = take(one);
        const std::string_view b = take(other);
        if (a == b) continue;
        const bool are_numbers = is_digit(a[0]) && is_digit(b[0]);
        return are_numbers && a.size() != b.size() ? a.size() < b.size() : a < b;
    }
    if (one.empty() != other.empty()) return one.empty();
    return whole.first < whole.second;
}

}  // namespace tutti::topo
