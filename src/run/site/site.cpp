// SPDX-License-Identifier: BSD-3-Clause
#include "run/site/site.h"

#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <iterator>

#include "base/config/toml_reading.h"
#include "base/read_whole.h"
#include "base/settings.h"
#include "base/text.h"
#include "plan/select/rules.h"

namespace tutti::site {
namespace {

using config::Trouble;

constexpr size_t kDenialsMax = 1000;
constexpr auto kTopKeys = std::to_array<std::string_view>({"enabled", "why", "deny", "settings"});

// What only one run or one process can know.
constexpr auto kNotForSites = std::to_array<std::string_view>(
    {"TUTTI_REPORT_MARK", "TUTTI_MPI_LIBRARY", "TUTTI_RULES_TEXT", "TUTTI_SITE_NAMES",
     "TUTTI_SITE_OFF", "TUTTI_START_WAIT", "TUTTI_TUNED_NAME", "TUTTI_TUNED_TEXT"});

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

// A value as the variable would have it; empty where it is of another kind.
std::string value_text(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* truth = node.as_boolean()) return truth->get() ? "1" : "0";
    if (const auto* number = node.as_integer()) return std::to_string(number->get());
    if (const auto* number = node.as_floating_point()) {
        char digits[64];
        const auto end = std::to_chars(digits, digits + sizeof digits, number->get());
        return {digits, end.ptr};
    }
    return {};
}

// What is wrong with these together; empty where nothing is.
std::string fault_of(std::span<const std::string> entries) {
    const auto settings = parse_settings(entries);
    if (!settings) return settings.error().message;
    const auto rules = select::load_rules(settings.value());
    return rules ? std::string() : rules.error().message;
}

Trouble read_default(const toml::key& key, const toml::node& node, Site& site) {
    const std::string name(key.str());
    std::vector<std::string_view> known;
    for (const SettingDoc& doc : setting_docs()) {
        if (std::ranges::find(kNotForSites, doc.variable) == kNotForSites.end()) {
            known.push_back(doc.variable);
        }
    }
    if (std::ranges::find(known, name) == known.end()) return config::unknown_key(key, known);
    const std::string value = value_text(node);
    if (value.empty()) {
        return config::trouble(node, name + ": expected a text, a number or true or false, not " +
                                         config::shown(node));
    }
    if (value.find_first_of(std::string_view("\n\0", 2)) != std::string::npos) {
        return config::trouble(node, name + ": a value has one line");
    }
    const std::string entry = name + "=" + value;
    if (const auto parsed = parse_settings(std::span(&entry, 1)); !parsed) {
        return config::trouble(node, parsed.error().message);
    }
    site.defaults.push_back({entry, static_cast<uint32_t>(node.source().begin.line)});
    return std::nullopt;
}

Trouble read_defaults(const toml::node& node, Site& site) {
    const auto* table = node.as_table();
    if (!table) return config::trouble(node, "settings are written below [settings]");
    for (const auto& [key, value] : config::in_order(*table)) {
        if (auto wrong = read_default(*key, *value, site)) return wrong;
    }
    // What they say together, and of algorithms and rules.
    std::vector<std::string> entries;
    for (const Default& one : site.defaults) entries.push_back(one.entry);
    const std::string fault = fault_of(entries);
    if (!fault.empty()) return config::trouble(node, fault);
    return std::nullopt;
}

Trouble read_denials(const toml::node& node, Site& site) {
    const std::string expected = "deny: expected a list of names or paths of programs";
    const auto* list = node.as_array();
    if (!list) return config::trouble(node, expected + ", not " + config::shown(node));
    if (list->size() > kDenialsMax) {
        return config::trouble(node, "deny: more than " + std::to_string(kDenialsMax));
    }
    for (const toml::node& one : *list) {
        const auto* text = one.as_string();
        if (!text || text->get().empty() || text->get().find('\n') != std::string::npos) {
            return config::trouble(one, expected);
        }
        site.denials.push_back({text->get(), static_cast<uint32_t>(one.source().begin.line)});
    }
    return std::nullopt;
}

Trouble read_entry(const toml::key& key, const toml::node& node, Site& site) {
    const std::string_view word = key.str();
    if (word == "why") return config::read_text(node, word, site.why);
    if (word == "deny") return read_denials(node, site);
    if (word == "settings") return read_defaults(node, site);
    if (word != "enabled") return config::unknown_key(key, kTopKeys);
    site.enabled_line = static_cast<uint32_t>(node.source().begin.line);
    return config::read_switch(node, word, site.enabled);
}

// A pattern with a slash means the whole path, in which * passes slashes; else the last name of it.
bool matches(const std::string& pattern, const std::string& program) {
    const bool is_path = pattern.find('/') != std::string::npos;
    const std::string name = is_path ? program : program.substr(program.rfind('/') + 1);
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// Those of the defaults that go with the job's own variables, each with those before it. What is
// wrong with the job's own is the user's to mend: then all are kept.
std::vector<Default> fitting(const Site& site, std::vector<Default> defaults,
                             std::vector<std::string> own, std::string& left_out) {
    std::vector<std::string> all = own;
    for (const Default& one : defaults) all.push_back(one.entry);
    if (fault_of(all).empty() || !fault_of(own).empty()) return defaults;
    std::erase_if(defaults, [&](const Default& one) {
        own.push_back(one.entry);
        const std::string fault = fault_of(own);
        if (fault.empty()) return false;
        own.pop_back();
        left_out += (left_out.empty() ? "" : "; ") + printable(site.file) + ":" +
                    std::to_string(one.line) + ": " + printable(one.entry) +
                    " is left out of this job (" + fault + ")";
        return true;
    });
    return defaults;
}

Error cannot_read(const std::string& file) {
    return {ErrorCode::kArgument, file + ": " + std::strerror(errno)};
}

}  // namespace

Result<Site> Site::parse(std::string_view text, std::string file_name) {
    if (text.size() > kFileBytesMax) {
        return Error{ErrorCode::kArgument, printable(file_name) + ":1:1: more than " +
                                               format_bytes(kFileBytesMax) + " of settings"};
    }
    const auto parsed = config::parse_toml(text, file_name);
    if (!parsed) return parsed.error();
    Site site;
    for (const auto& [key, node] : config::in_order(parsed.value())) {
        if (auto wrong = read_entry(*key, *node, site)) {
            return config::located(file_name, wrong->at, wrong->what);
        }
    }
    site.file = std::move(file_name);
    return site;
}

std::string Site::denial(std::string_view program) const {
    const auto told = [&](uint32_t line, const std::string& what) {
        return "switched off " + what + " by " + file + ":" + std::to_string(line) +
               (why.empty() ? "" : " (" + why + ")");
    };
    if (!enabled) return told(enabled_line, "for all programs");
    const std::string path(program);
    for (const Denial& one : denials) {
        if (!path.empty() && matches(one.pattern, path)) {
            return told(one.line, "for " + printable(path));
        }
    }
    return {};
}

const Default* Site::find(std::string_view variable) const {
    const auto found = std::ranges::find_if(
        defaults, [&](const Default& one) { return name_of(one.entry) == variable; });
    return found == defaults.end() ? nullptr : &*found;
}

std::string_view site_file() { return TUTTI_SITE_FILE; }

Result<Site> read_site() {
    const std::string name(site_file());
    const auto text = read_whole(name, kFileBytesMax);
    if (!text && (errno == ENOENT || errno == ENOTDIR)) return Site{};
    if (!text) return cannot_read(name);
    return Site::parse(*text, name);
}

Merged merge(const Result<Site>& site, std::string_view program, std::span<const std::string> own) {
    Merged result;
    result.is_broken = !site;
    result.off = site ? site.value().denial(program) : site.error().message;
    std::vector<std::string> kept;
    // Nobody but the site's file says what the site says. What modules set says nothing.
    std::ranges::copy_if(own, std::back_inserter(kept), [](const std::string& entry) {
        return !entry.starts_with("TUTTI_SITE_") && !is_of_modules(name_of(entry));
    });
    std::vector<Default> defaults;
    if (result.off.empty()) defaults = site.value().defaults;
    std::erase_if(defaults, [&](const Default& one) {
        return std::ranges::any_of(own, [&](const std::string& entry) {
            return name_of(entry) == name_of(one.entry) && name_of(entry).size() + 1 < entry.size();
        });
    });
    if (!defaults.empty()) {
        defaults = fitting(site.value(), std::move(defaults), kept, result.left_out);
    }
    std::string names;
    for (const Default& one : defaults) {
        result.entries.push_back(one.entry);
        names += (names.empty() ? "" : ",") + std::string(name_of(one.entry));
    }
    std::ranges::move(kept, std::back_inserter(result.entries));
    if (!names.empty()) result.entries.push_back("TUTTI_SITE_NAMES=" + names);
    if (!result.off.empty()) result.entries.push_back("TUTTI_SITE_OFF=" + result.off);
    return result;
}

std::string own_program() {
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

}  // namespace tutti::site
