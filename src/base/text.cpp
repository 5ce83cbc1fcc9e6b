// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace tutti {

namespace {

std::string lowered(std::string_view text) {
    std::string lower(text);
    for (char& letter : lower) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    return lower;
}

}  // namespace

std::optional<bool> parse_switch(std::string_view text) {
    constexpr std::string_view kOn[] = {"1", "on", "yes", "true"};
    constexpr std::string_view kOff[] = {"0", "off", "no", "false"};
    const std::string word = lowered(text);
    if (std::ranges::find(kOn, word) != std::end(kOn)) return true;
    if (std::ranges::find(kOff, word) != std::end(kOff)) return false;
    return std::nullopt;
}

std::optional<uint64_t> parse_count(std::string_view text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<uint64_t> parse_hex(std::string_view text) {
    if (!text.starts_with("0x")) return std::nullopt;
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<uint64_t> parse_bytes(std::string_view text) {
    uint64_t value = 0;
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc{}) return std::nullopt;
    std::string unit = lowered({end, static_cast<size_t>(last - end)});
    int shift = 0;
    constexpr std::string_view kUnits = "kmgt";
    const size_t which = unit.empty() ? kUnits.npos : kUnits.find(unit.front());
    if (which != kUnits.npos) {
        shift = 10 * static_cast<int>(which + 1);
        unit.erase(0, unit.ends_with("ib") ? 2 : 1);
    }
    if (!unit.empty() && unit != "b") return std::nullopt;
    if (value > (std::numeric_limits<uint64_t>::max() >> shift)) return std::nullopt;
    return value << shift;
}

std::optional<double> parse_decimal(std::string_view text) {
    if (text.empty() || text.front() == '-' || text.front() == '+') return std::nullopt;
    double value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    if (!(value >= 0 && value <= 1e12)) return std::nullopt;  // Also refuses nan and inf.
    return value;
}

namespace {

// Where the number in front of a unit ends.
size_t number_end(std::string_view text) {
    const size_t end = text.find_first_not_of("0123456789.");
    return end == std::string_view::npos ? text.size() : end;
}

// number * scale as a whole number from `low` to `high`.
std::optional<uint64_t> scaled(std::string_view number, double scale, double low, double high) {
    const auto value = parse_decimal(number);
    if (!value) return std::nullopt;
    const double rounded = std::round(*value * scale);
    if (!(rounded >= low && rounded <= high)) return std::nullopt;
    return static_cast<uint64_t>(rounded);
}

// Nanoseconds of a unit of time.
std::optional<double> unit_ns(std::string_view unit) {
    constexpr std::pair<std::string_view, double> kUnits[] = {
        {"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}};
    for (const auto& [word, scale] : kUnits) {
        if (unit == word) return scale;
    }
    return std::nullopt;
}

}  // namespace

std::optional<uint64_t> parse_rate(std::string_view text) {
    const size_t end = number_end(text);
    std::string_view unit = text.substr(end);
    for (const std::string_view per_second : {"/s", "ps"}) {
        if (!unit.ends_with(per_second)) continue;
        unit.remove_suffix(per_second.size());
        break;
    }
    constexpr std::pair<char, double> kScales[] = {{'k', 1e3}, {'m', 1e6}, {'g', 1e9}, {'t', 1e12}};
    double scale = 1;
    const std::string prefix = lowered(unit.substr(0, 1));
    for (const auto& [letter, factor] : kScales) {
        if (prefix.empty() || prefix.front() != letter) continue;
        scale = factor;
        unit.remove_prefix(1);
    }
    const bool is_bare = unit.empty() && scale > 1;
    if (!is_bare && unit != "b" && lowered(unit) != "bit") return std::nullopt;
    return scaled(text.substr(0, end), scale, 1, 1e15);
}

std::optional<uint64_t> parse_duration(std::string_view text) {
    const size_t end = number_end(text);
    const auto scale = unit_ns(text.substr(end));
    if (!scale) return std::nullopt;
    return scaled(text.substr(0, end), *scale, 0, 1e12);
}

std::optional<double> parse_seconds(std::string_view text) {
    const size_t end = number_end(text);
    const auto scale = unit_ns(end == text.size() ? "s" : text.substr(end));
    const auto value = parse_decimal(text.substr(0, end));
    if (!scale || !value) return std::nullopt;
    const double seconds = *value * (*scale / 1e9);
    if (seconds > 1e12) return std::nullopt;
    return seconds;
}

std::string format_duration(uint64_t ns) {
    constexpr std::string_view kUnits[] = {" ns", " us", " ms", " s"};
    auto value = static_cast<double>(ns);
    size_t unit = 0;
    // What would be printed as 1000 belongs to the next unit.
    while (unit < 3 && value >= 999.95) {
        value /= 1000;
        ++unit;
    }
    std::array<char, 32> digits{};
    const int precision = unit == 0 || value >= 999.95 ? 0
                          : value >= 99.995            ? 1
                          : value >= 9.9995            ? 2
                                                       : 3;
    auto [last, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                       std::chars_format::fixed, precision);
    if (precision > 0) {
        while (last[-1] == '0') --last;
        if (last[-1] == '.') --last;
    }
    return std::string(digits.data(), last).append(kUnits[unit]);
}

std::string bytes_word(uint64_t bytes) {
    constexpr std::string_view kUnits = "KMG";
    size_t unit = 0;
    for (; unit < kUnits.size() && bytes != 0 && bytes % 1024 == 0; ++unit) bytes /= 1024;
    return std::to_string(bytes) + std::string(kUnits.substr(unit == 0 ? 3 : unit - 1, 1));
}

std::string hex_word(uint64_t value) {
    std::array<char, 16> digits{};
    const auto [last, error] =
        std::to_chars(digits.data(), digits.data() + digits.size(), value, 16);
    const std::string_view shown(digits.data(), static_cast<size_t>(last - digits.data()));
    constexpr size_t kDigitsMin = 4;
    return "0x" + std::string(kDigitsMin - std::min(kDigitsMin, shown.size()), '0') +
           std::string(shown);
}

std::string format_bytes(uint64_t bytes) {
    constexpr std::string_view kUnits[] = {" B", " KiB", " MiB", " GiB"};
    size_t unit = 0;
    while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        ++unit;
    }
    return std::to_string(bytes).append(kUnits[unit]);
}

std::string printable(std::string_view text) {
    constexpr size_t kShownMax = 200;
    std::string shown;
    for (const char letter : text.substr(0, kShownMax)) {
        const auto code = static_cast<unsigned char>(letter);
        if (code >= 0x20 && code != 0x7f) {
            shown += letter;
        } else {
            constexpr std::string_view kDigits = "0123456789abcdef";
            shown += "\\x";
            shown += kDigits[code >> 4];
            shown += kDigits[code & 15];
        }
    }
    if (text.size() > kShownMax) shown += "...";
    return shown;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t above = row[j];
            const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({above + 1, row[j - 1] + 1, substitute});
            diagonal = above;
        }
    }
    return row[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) {
    std::optional<std::string_view> best;
    size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
    for (const std::string_view candidate : candidates) {
        const size_t distance = edit_distance(word, candidate);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

}  // namespace tutti
