// SPDX-License-Identifier: BSD-3-Clause
// How the value of a setting is read from its text, false where it is malformed, and shown again.
// For settings.cpp alone.
#pragma once

#include <arpa/inet.h>

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/settings.h"
#include "base/text.h"

namespace tutti::setting_values {

struct Entry {
    SettingDoc doc;
    bool (*set)(Settings&, std::string_view);
    std::string (*text)(const Settings&);  // as it is in force; see setting_text()
    std::string_view range = {};           // for messages: "from 1 to 255"
};

template <class T>
bool assign(T& target, const std::optional<T>& parsed) {
    if (!parsed) return false;
    target = *parsed;
    return true;
}

template <class T>
std::optional<T> parse_word(std::string_view text,
                            std::initializer_list<std::pair<std::string_view, T>> words) {
    for (const auto& [word, value] : words) {
        if (text == word) return value;
    }
    return std::nullopt;
}

// Of an enumeration of kOn and kOff, and of others by these words.
template <class T>
std::optional<T> parse_on_off_or(std::string_view text,
                                 std::initializer_list<std::pair<std::string_view, T>> words) {
    if (const auto on = parse_switch(text)) return *on ? T::kOn : T::kOff;
    return parse_word<T>(text, words);
}
// Of an enumeration of kAuto, kOn and kOff, in this order.
template <class T>
std::optional<T> parse_auto_on_off(std::string_view text) {
    return parse_on_off_or<T>(text, {{"auto", T::kAuto}});
}
template <class T>
std::string shown_auto_on_off(T value) {
    constexpr const char* kNames[] = {"auto", "on", "off"};
    return kNames[static_cast<size_t>(value)];
}

inline bool within(uint64_t value, uint64_t low, uint64_t high) {
    return value >= low && value <= high;
}

inline bool set_bytes(uint64_t& target, std::string_view text, uint64_t low, uint64_t high) {
    const auto value = parse_bytes(text);
    return value && within(*value, low, high) && assign(target, value);
}

inline bool set_count(uint64_t& target, std::string_view text, uint64_t high) {
    const auto value = parse_count(text);
    return value && within(*value, 0, high) && assign(target, value);
}

inline bool set_text(std::string& target, std::string_view text) {
    target = text;
    return !text.empty();
}

// A file, or "off" for none.
inline bool set_file_or_off(std::string& target, std::string_view text) {
    return set_text(target, parse_switch(text) == false ? "off" : text);
}

// A file, "1" for none but a table, or nothing.
inline bool set_report(std::string& target, std::string_view text) {
    const auto on = parse_switch(text);
    target = !on ? text : *on ? "1" : "";
    return true;
}

// Microseconds where there is no unit.
inline bool set_microseconds(uint64_t& target, std::string_view text, uint64_t high) {
    if (set_count(target, text, high)) return true;
    const auto ns = parse_duration(text);
    return ns && *ns % 1000 == 0 && within(*ns / 1000, 0, high) &&
           assign(target, std::optional(*ns / 1000));
}

template <tutti_collective collective>
bool set_forced(Settings& settings, std::string_view text) {
    return set_text(settings.rules.forced[collective], text);
}

inline bool set_hosts(Settings& settings, std::string_view text) {
    constexpr std::string_view kInTurn = ":round-robin";
    settings.hosts_in_turn = text.ends_with(kInTurn);
    if (settings.hosts_in_turn) text.remove_suffix(kInTurn.size());
    return set_count(settings.hosts, text, 1u << 20) && settings.hosts > 0;
}

// Bits per second; 0 for "auto".
inline bool set_rate(uint64_t& target, std::string_view text) {
    target = 0;
    if (text == "auto") return true;
    // A full packet takes 12 ms at the lowest rate; slower ones would pass for lost.
    constexpr uint64_t kLowest = 1'000'000, kHighest = 1'000'000'000'000;
    const auto rate = parse_rate(text);
    return rate && within(*rate, kLowest, kHighest) && assign(target, rate);
}

// Addresses whose meaning an administrator of this network gives (RFC 2365), or IPv6 multicast that
// nobody has a claim to and that may leave a host (RFC 4291: transient, scopes 2 to e).
inline bool set_group_address(std::string& target, std::string_view text) {
    target = text;
    constexpr unsigned char kScoped4 = 239;
    constexpr unsigned char kMulticast6 = 0xff;
    unsigned char bytes[sizeof(in6_addr)] = {};
    if (inet_pton(AF_INET, target.c_str(), bytes) == 1) return bytes[0] == kScoped4;
    if (inet_pton(AF_INET6, target.c_str(), bytes) != 1 || bytes[0] != kMulticast6) return false;
    return bytes[1] >= 0x12 && bytes[1] <= 0x1e;
}

inline bool set_between(uint64_t& target, std::string_view text, uint64_t low, uint64_t high) {
    return set_count(target, text, high) && target >= low;
}

// Devices have few ports.
inline bool set_port(std::string& target, std::string_view text) {
    const size_t colon = text.find(':');
    if (colon != std::string_view::npos) {
        uint64_t port = 0;
        if (!set_between(port, text.substr(colon + 1), 1, 4)) return false;
    }
    const std::string_view device = text.substr(0, colon);
    return device.find('/') == std::string_view::npos && !device.empty() && set_text(target, text);
}

inline bool set_gid(std::optional<uint64_t>& target, std::string_view text) {
    target.reset();
    if (text == "auto") return true;
    uint64_t index = 0;
    if (!set_count(index, text, 255)) return false;
    target = index;
    return true;
}

// As others write it: with the bit that says how its port is a member, or without.
inline bool set_partition(std::optional<uint64_t>& target, std::string_view text) {
    target.reset();
    if (text == "auto") return true;
    constexpr uint64_t kMask = 0x7fff;
    const auto value = parse_hex(text);
    if (!value || *value > 0xffff || (*value & kMask) == 0) return false;
    target = value;
    return true;
}

// 0 for "off".
inline bool set_bytes_or_off(uint64_t& target, std::string_view text, uint64_t least,
                             uint64_t most) {
    target = 0;
    return text == "off" || set_bytes(target, text, least, most);
}

// Likewise; none for "auto".
inline bool set_direct(std::optional<uint64_t>& target, std::string_view text) {
    target = std::nullopt;
    if (text == "auto") return true;
    return set_bytes_or_off(target.emplace(), text, 4u << 10, 1u << 30);
}

inline bool set_faults(Settings& settings, std::string_view text) {
    return assign(settings.faults, parse_faults(text)) && set_text(settings.faults_text, text);
}

// "0.01", "1%", "1%:7".
inline bool set_verify(Settings& settings, std::string_view text) {
    const size_t colon = text.find(':');
    if (colon != std::string_view::npos) {
        const bool has_seed =
            set_count(settings.watch.verify_seed, text.substr(colon + 1), UINT64_MAX);
        if (!has_seed || settings.watch.verify_seed == 0) return false;
    }
    std::string_view share = text.substr(0, colon);
    const bool is_percentage = share.ends_with('%');
    if (is_percentage) share.remove_suffix(1);
    if (!assign(settings.watch.verify_share, parse_decimal(share))) return false;
    if (is_percentage) settings.watch.verify_share /= 100;
    return settings.watch.verify_share <= 1;
}

inline std::string shown(bool on) { return on ? "1" : "0"; }
inline std::string shown(uint64_t value) { return std::to_string(value); }
inline std::string shown(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.9g", value);
    return text;
}
inline std::string shown(const std::string& value) { return value; }
inline std::string shown(const char* value) { return value; }

inline std::string verify_text(const Settings& settings) {
    const std::string share = shown(settings.watch.verify_share);
    return settings.watch.verify_seed == 0 ? share
                                           : share + ":" + shown(settings.watch.verify_seed);
}
inline std::string hosts_text(const Settings& settings) {
    if (settings.hosts == 0) return {};
    return shown(settings.hosts) + (settings.hosts_in_turn ? ":round-robin" : "");
}

}  // namespace tutti::setting_values
