// SPDX-License-Identifier: BSD-3-Clause
// Numbers with units as people write them, and the nearest known word for a misspelt one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

// "8", "64K", "1M", "2G", also "64KiB"; powers of two. Nothing else, no sign, no overflow.
std::optional<uint64_t> parse_bytes(std::string_view text);
std::optional<uint64_t> parse_count(std::string_view text);
// Non-negative decimal number ("2", "0.5"); nothing else.
std::optional<double> parse_decimal(std::string_view text);
// 65536 -> "64 KiB", 1000 -> "1000 B": exact, never rounded.
std::string format_bytes(uint64_t bytes);
// Text of somebody else's for a message: one line whatever is in it, and not endless.
std::string printable(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
// The candidate with the smallest edit distance, if that is small enough to be a typing error.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates);

}  // namespace tutti
