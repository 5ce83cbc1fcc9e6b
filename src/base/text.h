// SPDX-License-Identifier: BSD-3-Clause
// Switches and numbers with units as people write them, and the nearest known word for a misspelt
// one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

// "1", "on", "yes", "true", and "0", "off", "no", "false", in letters of any case.
std::optional<bool> parse_switch(std::string_view text);
// "8", "64K", "1M", "2G", "4T", also "64KB" and "64KiB", in letters of any case; powers of two.
// Nothing else, no sign, no overflow.
std::optional<uint64_t> parse_bytes(std::string_view text);
std::optional<uint64_t> parse_count(std::string_view text);
// "0x8001"; nothing else.
std::optional<uint64_t> parse_hex(std::string_view text);
// Non-negative decimal number ("2", "0.5"); nothing else.
std::optional<double> parse_decimal(std::string_view text);
// "100Gbit", "25mbit", "2.5Gbit/s", also "100G", "100Gb" and "100Gbps": bits per second, powers of
// ten. Above zero, at most 1,000 Tbit. Not "100GB", which would be bytes.
std::optional<uint64_t> parse_rate(std::string_view text);
// "300ns", "1us", "1.5ms", "2s", "5min": nanoseconds, rounded to the nearest. At most 1,000 s.
std::optional<uint64_t> parse_duration(std::string_view text);
// "10", "0.5", "10s", "100ms", "5min", "2h": seconds, at most 10^12.
std::optional<double> parse_seconds(std::string_view text);
// 1500 -> "1.5 us", 629145600 -> "629.1 ms": four digits, for people.
std::string format_duration(uint64_t ns);
// 65536 -> "64K", 1000 -> "1000": what parse_bytes() reads.
std::string bytes_word(uint64_t bytes);
// 65536 -> "64 KiB", 1000 -> "1000 B": exact, never rounded.
std::string format_bytes(uint64_t bytes);
// 32769 -> "0x8001": four digits at least.
std::string hex_word(uint64_t value);
// Text of others for a message: one line of bounded length, whatever is in it.
std::string printable(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
// The candidate with the smallest edit distance, if that is small enough to be a typing error.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates);

}  // namespace tutti
