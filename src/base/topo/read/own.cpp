// SPDX-License-Identifier: BSD-3-Clause
// Our own format: docs/formats/topology.md.
#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "base/config/toml_reading.h"
#include "base/text.h"
#include "base/topo/read/hostlist.h"
#include "base/topo/read/read.h"

namespace tutti::topo {
namespace {

using config::Trouble;

constexpr auto kFileKeys =
    std::to_array<std::string_view>({"rate", "latency", "switch", "link", "host"});
// Of a tuned file (docs/formats/tuned.md) these, too: they are for others.
constexpr auto kTunedFileKeys = std::to_array<std::string_view>(
    {"rate", "latency", "switch", "link", "host", "tuned", "parameters", "rule", "built_in"});
constexpr auto kSwitchKeys = std::to_array<std::string_view>(
    {"name", "hosts", "switches", "links", "rate", "latency", "rack", "chassis"});
constexpr auto kLinkKeys =
    std::to_array<std::string_view>({"from", "to", "count", "rate", "latency"});
constexpr auto kHostKeys = std::to_array<std::string_view>({"name", "adapters"});

uint32_t line_at(const toml::node& node) { return static_cast<uint32_t>(node.source().begin.line); }

Trouble read_names(const toml::node& node, std::string_view key, std::vector<std::string>& names) {
    std::vector<std::string> lists;
    if (auto wrong = config::read_strings(node, key, lists)) return wrong;
    for (const std::string& list : lists) {
        const auto found = expand_hostlist(list, kHostsMax);
        if (!found) {
            return config::trouble(node, std::string(key) + ": " + found.error().message);
        }
        names.insert(names.end(), found.value().begin(), found.value().end());
        if (names.size() > kHostsMax) {
            return config::trouble(
                node, std::string(key) + ": more than " + std::to_string(kHostsMax) + " names");
        }
    }
    return std::nullopt;
}

// Not cut as read_text does it: what is no name is refused.
Trouble read_name(const toml::node& node, std::string_view key, std::string& name) {
    if (auto wrong = config::read_text(node, key, name)) return wrong;
    name = node.as_string()->get();
    const auto is_letter = [](char letter) { return letter >= 0x20 && letter <= 0x7e; };
    if (name.size() <= kNameBytesMax && std::ranges::all_of(name, is_letter)) return std::nullopt;
    return config::trouble(node, std::string(key) + ": expected at most " +
                                     std::to_string(kNameBytesMax) + " letters, ASCII all");
}

Trouble read_number(const toml::node& node, std::string_view key, uint32_t high, uint32_t& target) {
    const auto* number = node.as_integer();
    if (!number || number->get() < 1 || number->get() > high) {
        return config::trouble(node, std::string(key) + " = " + config::shown(node) +
                                         ": expected a number from 1 to " + std::to_string(high));
    }
    target = static_cast<uint32_t>(number->get());
    return std::nullopt;
}

// What `rate` and `latency` say of links.
Trouble read_speed(const toml::node& node, std::string_view key, Topology::Link& link) {
    const auto* text = node.as_string();
    const bool is_rate = key == "rate";
    const auto value = !text     ? std::nullopt
                       : is_rate ? parse_rate(text->get())
                                 : parse_duration(text->get());
    if (!value || *value == 0) {
        return config::trouble(node, std::string(key) + " = " + config::shown(node) +
                                         (is_rate ? ": expected a rate such as \"100Gbit\""
                                                  : ": expected a time such as \"500ns\""));
    }
    (is_rate ? link.bits_per_s : link.latency_ns) = *value;
    return std::nullopt;
}

class OwnReader {
  public:
    explicit OwnReader(const std::string& file_name) : file_name_(file_name), made_(file_name) {}

    Result<Topology> read(const toml::table& table);

  private:
    // The tables of [[switch]], [[link]] or [[host]].
    Result<Done> for_each_table(const toml::table& table, std::string_view key, const auto& visit);
    Result<Done> add_switch(const toml::table& table);
    Result<Done> add_hosts(const toml::table& table);
    Result<Done> add_links_of_switch(const toml::table& table);
    Result<Done> add_links(const toml::table& table);
    Result<Done> add_adapters(const toml::table& table);
    Result<Done> link_all(const toml::node& at, std::string_view from,
                          const std::vector<std::string>& to, Topology::Link link);
    [[nodiscard]] Error place(const config::Complaint& complaint) const {
        return config::located(file_name_, complaint.at, complaint.what);
    }
    [[nodiscard]] Error place(const toml::node& node, std::string what) const {
        return place(*config::trouble(node, std::move(what)));
    }

    const std::string& file_name_;
    TopologyBuilder made_;
    uint64_t named_ = 0;    // hosts by switches
    Topology::Link usual_;  // what links are like that say nothing else
};

Result<Topology> OwnReader::read(const toml::table& table) {
    const std::span<const std::string_view> known =
        table.contains("tuned") ? std::span<const std::string_view>(kTunedFileKeys) : kFileKeys;
    for (const auto& [key, node] : config::in_order(table)) {
        Trouble wrong;
        if (key->str() == "rate" || key->str() == "latency") {
            wrong = read_speed(*node, key->str(), usual_);
        } else if (std::ranges::find(known, key->str()) == known.end()) {
            wrong = config::unknown_key(*key, known);
        }
        if (wrong) return place(*wrong);
    }
    // What is named must be there, wherever it stands.
    using Step = Result<Done> (OwnReader::*)(const toml::table&);
    constexpr auto kSteps = std::to_array<std::pair<std::string_view, Step>>(
        {{"switch", &OwnReader::add_switch},
         {"host", &OwnReader::add_adapters},
         {"switch", &OwnReader::add_hosts},
         {"switch", &OwnReader::add_links_of_switch},
         {"link", &OwnReader::add_links}});
    for (const auto& [key, step] : kSteps) {
        const auto visit = [this, step = step](const toml::table& one) {
            return (this->*step)(one);
        };
        if (const auto done = for_each_table(table, key, visit); !done) return done.error();
    }
    return made_.finish();
}

Result<Done> OwnReader::for_each_table(const toml::table& table, std::string_view key,
                                       const auto& visit) {
    const toml::node* node = table.get(key);
    if (!node) return Done{};
    const std::string expected = std::string(key) + ": written as [[" + std::string(key) + "]]";
    const auto* list = node->as_array();
    if (!list) return place(*node, expected);
    for (const toml::node& one : *list) {
        const auto* entry = one.as_table();
        if (!entry) return place(one, expected);
        if (const auto done = visit(*entry); !done) return done.error();
    }
    return Done{};
}

Result<Done> OwnReader::add_switch(const toml::table& table) {
    std::string name;
    std::string chassis;
    std::string rack;
    for (const auto& [key, node] : config::in_order(table)) {
        const std::string_view word = key->str();
        Trouble wrong;
        if (word == "name") wrong = read_name(*node, word, name);
        if (word == "chassis") wrong = read_name(*node, word, chassis);
        if (word == "rack") wrong = read_name(*node, word, rack);
        if (std::find(kSwitchKeys.begin(), kSwitchKeys.end(), word) == kSwitchKeys.end()) {
            wrong = config::unknown_key(*key, kSwitchKeys);
        }
        if (wrong) return place(*wrong);
    }
    if (name.empty()) return place(table, "a switch names itself: name = \"leaf0\"");
    const auto number = made_.add_switch(name, line_at(table));
    if (!number) return number.error();
    made_.at_switch(number.value()).chassis = chassis;
    made_.at_switch(number.value()).rack = rack;
    return Done{};
}

// A host is there as soon as a switch names it; a second one that does is another way to it.
Result<Done> OwnReader::add_hosts(const toml::table& table) {
    const toml::node* node = table.get("hosts");
    if (!node) return Done{};
    std::vector<std::string> names;
    if (auto wrong = read_names(*node, "hosts", names)) return place(*wrong);
    // A link each. A short file could name many hosts many times.
    named_ += names.size();
    if (named_ > kLinksMax) {
        return place(*node, "hosts: more than " + std::to_string(kLinksMax) + " on all switches");
    }
    for (const std::string& name : names) {
        const auto* end = made_.find(name);
        if (end && end->is_host) continue;
        if (const auto added = made_.add_host(name, line_at(*node)); !added) return added.error();
    }
    return Done{};
}

// These come first, so a host that is there already has been named by another of them.
Result<Done> OwnReader::add_adapters(const toml::table& table) {
    std::vector<std::string> names;
    uint32_t adapters = 0;
    for (const auto& [key, node] : config::in_order(table)) {
        Trouble wrong;
        if (key->str() == "name") {
            wrong = read_names(*node, "name", names);
        } else if (key->str() == "adapters") {
            wrong = read_number(*node, "adapters", kAdaptersMax, adapters);
        } else {
            wrong = config::unknown_key(*key, kHostKeys);
        }
        if (wrong) return place(*wrong);
    }
    if (names.empty()) return place(table, "a host names itself: name = \"n0\"");
    for (const std::string& name : names) {
        const auto added = made_.add_host(name, line_at(table));
        if (!added) return added.error();
        made_.host(added.value()).adapters = adapters;
    }
    return Done{};
}

Result<Done> OwnReader::add_links_of_switch(const toml::table& table) {
    Topology::Link link = usual_;
    uint32_t parallel = 1;
    for (const auto& [key, node] : config::in_order(table)) {
        const std::string_view word = key->str();
        Trouble wrong;
        if (word == "rate" || word == "latency") wrong = read_speed(*node, word, link);
        if (word == "links") wrong = read_number(*node, word, kParallelMax, parallel);
        if (wrong) return place(*wrong);
    }
    for (const std::string_view word : {"links", "rate", "latency"}) {
        const bool is_heeded = table.get("switches") || (word != "links" && table.get("hosts"));
        const toml::node* node = table.get(word);
        if (!node || is_heeded) continue;
        return place(*node, std::string(word) + ": of which links? There are no switches here");
    }
    const std::string name = table.get("name")->value_or(std::string());
    for (const std::string_view word : {"hosts", "switches"}) {
        const toml::node* node = table.get(word);
        if (!node) continue;
        std::vector<std::string> names;
        if (auto wrong = read_names(*node, word, names)) return place(*wrong);
        link.line = line_at(*node);
        link.count = word == "hosts" ? 1 : parallel;
        for (const std::string& one : names) {
            const auto* end = made_.find(one);
            if (word == "switches" && end && end->is_host) {
                return place(*node, printable(one) + " is a host; see hosts");
            }
        }
        if (const auto done = link_all(*node, name, names, link); !done) return done.error();
    }
    return Done{};
}

Result<Done> OwnReader::add_links(const toml::table& table) {
    Topology::Link link = usual_;
    link.line = line_at(table);
    std::string from;
    std::vector<std::string> to;
    for (const auto& [key, node] : config::in_order(table)) {
        const std::string_view word = key->str();
        Trouble wrong;
        if (word == "from") {
            wrong = read_name(*node, word, from);
        } else if (word == "to") {
            wrong = read_names(*node, word, to);
        } else if (word == "count") {
            wrong = read_number(*node, word, kParallelMax, link.count);
        } else if (word == "rate" || word == "latency") {
            wrong = read_speed(*node, word, link);
        } else {
            wrong = config::unknown_key(*key, kLinkKeys);
        }
        if (wrong) return place(*wrong);
    }
    if (from.empty() || to.empty()) return place(table, "a link names its ends: from and to");
    return link_all(table, from, to, link);
}

Result<Done> OwnReader::link_all(const toml::node& at, std::string_view from,
                                 const std::vector<std::string>& to, Topology::Link link) {
    const auto* one = made_.find(from);
    if (!one) return place(at, "there is no " + printable(from));
    std::vector<std::string_view> seen(to.begin(), to.end());
    std::sort(seen.begin(), seen.end());
    const auto twice = std::adjacent_find(seen.begin(), seen.end());
    if (twice != seen.end()) return place(at, printable(*twice) + " is named twice here");
    for (const std::string& name : to) {
        const auto* other = made_.find(name);
        if (!other) return place(at, "there is no " + printable(name));
        if (const auto done = made_.add_link(*one, *other, link); !done) return done.error();
    }
    return Done{};
}

}  // namespace

Result<Topology> read_own(std::string_view text, const std::string& file_name) {
    const auto parsed = config::parse_toml(text, file_name);
    if (!parsed) return parsed.error();
    if (const auto at = config::foreign_letter(text)) {
        return config::located(file_name, *at, "a letter that is not ASCII");
    }
    return OwnReader(file_name).read(parsed.value());
}

}  // namespace tutti::topo
