// SPDX-License-Identifier: BSD-3-Clause
// Rules as TOML.
#include <algorithm>
#include <utility>

#include "base/config/toml_reading.h"
#include "base/text.h"
#include "plan/select/option_words.h"
#include "plan/select/overlap.h"
#include "plan/select/parameters_table.h"
#include "plan/select/rules.h"

namespace tutti::select {
namespace {

using config::in_order;
using config::located;
using config::parse_toml;
using config::read_strings;
using config::read_switch;
using config::read_text;
using config::shown;
using config::trouble;
using config::Trouble;
using config::unknown_key;

constexpr uint32_t kRulesMax = 1000;

constexpr auto kTopKeys = std::to_array<std::string_view>({"built_in", "parameters", "rule"});
// Of a tuned file these, too; the topology is read by who wants it (topo/read).
constexpr auto kTunedTopKeys = std::to_array<std::string_view>(
    {"built_in", "parameters", "rule", "tuned", "rate", "latency", "switch", "link", "host"});
constexpr auto kTunedKeys =
    std::to_array<std::string_view>({"mpi", "hosts", "processor", "on", "about"});
constexpr auto kRuleKeys = std::to_array<std::string_view>(
    {"collective",       "bytes",          "ranks",     "hosts",       "ranks_per_host", "switches",
     "hosts_per_switch", "contiguous",     "mpi",       "commutative",
#define TUTTI_NETWORK(name, title, group, variable, option, text) #name,
#include "base/networks.inc"
#undef TUTTI_NETWORK
     "multicast",        "multicast_mbit", "algorithm", "segment",     "lanes",          "leaders",
     "fan_in",           "flat",           "order",     "why"});

Trouble read_collectives(const toml::node& node, Rule& rule) {
    std::vector<std::string> words;
    if (auto wrong = read_strings(node, "collective", words)) return wrong;
    for (const std::string& word : words) {
        const auto collective = find_collective(word);
        if (!collective) {
            const auto close = nearest(word, kCollectiveNames);
            return trouble(node, "unknown collective " + printable(word) +
                                     (close ? "; did you mean " + std::string(*close) + "?" : ""));
        }
        rule.collectives[*collective] = true;
    }
    return std::nullopt;
}

Trouble read_mpis(const toml::node& node, Rule& rule) {
    if (auto wrong = read_strings(node, "mpi", rule.mpis)) return wrong;
    for (const std::string& word : rule.mpis) {
        if (std::find(kHostMpiNames.begin(), kHostMpiNames.end(), word) != kHostMpiNames.end()) {
            continue;
        }
        return trouble(node, "unknown mpi " + printable(word) + ": openmpi, mpich or impi");
    }
    return std::nullopt;
}

Trouble read_range(const toml::node& node, std::string_view key, std::optional<Range>& range) {
    if (const auto* number = node.as_integer(); number && number->get() >= 0) {
        const auto value = static_cast<uint64_t>(number->get());
        range = Range{value, value};
    } else if (const auto* text = node.as_string()) {
        range = parse_range(text->get(), key == "bytes");
    }
    if (range) return std::nullopt;
    return trouble(node, std::string(key) + " = " + shown(node) + ": expected a number or a range" +
                             (key == "bytes" ? " such as \"..4K\" or \"64K..1M\""
                                             : " such as \"2..\" or \"4..16\""));
}

Trouble read_option(const toml::node& node, std::string_view key, algo::Tuning& tuning) {
    std::string text;
    const auto* word = node.as_string();
    if (word && (key == "segment" || key == "order")) {
        text = word->get();
    } else if (const auto* number = node.as_integer()) {
        text = std::to_string(number->get());
    } else {
        return trouble(node, std::string(key) + ": expected a number, not " + shown(node));
    }
    if (auto fault = set_tuning(tuning, key, text)) return trouble(node, std::move(*fault));
    return std::nullopt;
}

// "node:small" is two.
Trouble read_algorithm(const toml::node& node, std::string_view word, Rule& rule) {
    if (auto wrong = read_text(node, word, rule.algorithm)) return wrong;
    const std::string own = std::string(kNodeLevel) + ":";
    rule.algorithm = std::string(algo::name_here(rule.algorithm));
    if (!rule.algorithm.starts_with(own)) return std::nullopt;
    rule.node_algorithm = rule.algorithm.substr(own.size());
    rule.algorithm = kNodeLevel;
    return std::nullopt;
}

Trouble read_condition(const toml::node& node, std::string_view word, std::optional<bool>& target) {
    bool value = false;
    auto wrong = read_switch(node, word, value);
    target = value;
    return wrong;
}

Trouble read_entry(const toml::key& key, const toml::node& node, Rule& rule) {
    const std::string_view word = key.str();
    if (word == "collective") return read_collectives(node, rule);
    if (word == "bytes") return read_range(node, word, rule.bytes);
    if (word == "ranks") return read_range(node, word, rule.ranks);
    if (word == "hosts") return read_range(node, word, rule.hosts);
    if (word == "multicast_mbit") return read_range(node, word, rule.multicast_mbit);
    if (word == "ranks_per_host") return read_range(node, word, rule.ranks_per_host);
    if (word == "mpi") return read_mpis(node, rule);
    if (word == "algorithm") return read_algorithm(node, word, rule);
    if (word == "why") return read_text(node, word, rule.why);
    if (word == "flat") return read_switch(node, word, rule.tuning.flat);
    if (word == "switches") return read_range(node, word, rule.switches);
    if (word == "hosts_per_switch") return read_range(node, word, rule.hosts_per_switch);
    if (word == "contiguous") return read_condition(node, word, rule.contiguous);
    if (word == "commutative") return read_condition(node, word, rule.commutative);
    if (const size_t network = network_number(word); network < kNetworks.size()) {
        return read_condition(node, word, rule.networks[network]);
    }
    if (word == "multicast") return read_condition(node, word, rule.multicast);
    const bool is_option =
        std::find(kTuningKeys.begin(), kTuningKeys.end(), word) != kTuningKeys.end();
    return is_option ? read_option(node, word, rule.tuning) : unknown_key(key, kRuleKeys);
}

// What the parts of a rule have to say about each other.
Fault rule_fault(const toml::table& table, const Rule& rule, std::span<const Rule> earlier) {
    if (!table.contains("collective")) return "a rule names its collective";
    if (rule.algorithm.empty()) return "a rule names its algorithm";
    for (int one = 0; one < TUTTI_COLLECTIVE_COUNT; ++one) {
        const auto collective = static_cast<tutti_collective>(one);
        if (!rule.collectives[collective]) continue;
        if (auto fault = unknown_algorithm(collective, rule.algorithm)) return fault;
        if (auto fault = tuning_fault(collective, rule.algorithm, rule.tuning)) return fault;
        if (rule.algorithm != kNodeLevel || !rule.node_algorithm) continue;
        if (auto fault = unknown_node_algorithm(collective, *rule.node_algorithm)) return fault;
    }
    if (auto fault = never_fits(rule)) return fault;
    return hidden_by(rule, earlier);
}

Trouble read_rule(const toml::table& table, std::vector<Rule>& rules) {
    Rule rule;
    rule.number = static_cast<uint32_t>(rules.size()) + 1;
    rule.line = table.source().begin.line;
    for (const auto& [key, node] : in_order(table)) {
        if (auto wrong = read_entry(*key, *node, rule)) return wrong;
    }
    if (auto fault = rule_fault(table, rule, rules)) {
        // Where the algorithm stands, if it is about that, is as good a place as any.
        const toml::node* at = table.get("algorithm");
        return trouble(at ? *at : static_cast<const toml::node&>(table), std::move(*fault));
    }
    rules.push_back(std::move(rule));
    return std::nullopt;
}

Trouble read_rules(const toml::node& node, std::vector<Rule>& rules) {
    const std::string expected = "rules are written as [[rule]]";
    const auto* list = node.as_array();
    if (!list) return trouble(node, expected);
    if (list->size() > kRulesMax) {
        return trouble(node, "more than " + std::to_string(kRulesMax) + " rules");
    }
    for (const toml::node& one : *list) {
        const auto* table = one.as_table();
        if (!table) return trouble(one, expected);
        if (auto wrong = read_rule(*table, rules)) return wrong;
    }
    return std::nullopt;
}

Trouble read_fingerprint(const toml::node& node, Fingerprint& tuned) {
    const auto* table = node.as_table();
    if (!table) return trouble(node, "what was tuned is written as [tuned]");
    for (const auto& [key, value] : in_order(*table)) {
        const std::string_view word = key->str();
        const bool is_known = std::ranges::find(kTunedKeys, word) != kTunedKeys.end();
        if (!is_known) return unknown_key(*key, kTunedKeys);
        const auto* text = value->as_string();
        const bool is_needed = word == "mpi" || word == "hosts";
        if (!text || (is_needed && text->get().empty())) {
            return trouble(*value, std::string(word) + ": expected a text, not " + shown(*value));
        }
        if (word == "mpi") tuned.mpi = text->get();
        if (word == "hosts") tuned.hosts = text->get();
        if (word == "processor") tuned.processor = text->get();
    }
    for (const std::string_view word : {"mpi", "hosts"}) {
        if (table->contains(word)) continue;
        return trouble(node,
                       std::string(word) + " is missing: a tuned file names its MPI and hosts");
    }
    return std::nullopt;
}

// What a topology file says; `tuned` where the file has that table.
Trouble read_other(const toml::key& key, bool is_tuned, bool& has_fabric) {
    if (!is_tuned) return unknown_key(key, kTopKeys);
    if (std::ranges::find(kTunedTopKeys, key.str()) == kTunedTopKeys.end()) {
        return unknown_key(key, kTunedTopKeys);
    }
    has_fabric = has_fabric || key.str() == "switch" || key.str() == "host";
    return std::nullopt;
}

}  // namespace

Result<Rules> Rules::parse(std::string_view text, std::string file_name) {
    if (text.size() > kRulesTextBytesMax) {
        return Error{ErrorCode::kArgument, printable(file_name) + ":1:1: more than " +
                                               format_bytes(kRulesTextBytesMax) + " of rules"};
    }
    Rules rules;
    rules.source_ = std::move(file_name);
    const auto parsed = parse_toml(text, rules.source_);
    if (!parsed) return parsed.error();
    rules.has_built_in_after_ = true;
    for (const auto& [key, node] : in_order(parsed.value())) {
        Trouble wrong;
        if (key->str() == "built_in") {
            wrong = read_switch(*node, key->str(), rules.has_built_in_after_);
        } else if (key->str() == "parameters") {
            wrong = read_parameters(*node, rules.parameters_.emplace());
            if (const auto* name = node->as_string()) rules.preset_ = name->get();
        } else if (key->str() == "rule") {
            wrong = read_rules(*node, rules.rules_);
        } else if (key->str() == "tuned") {
            wrong = read_fingerprint(*node, rules.tuned_.emplace());
        } else {
            wrong = read_other(*key, parsed.value().contains("tuned"), rules.has_fabric_);
        }
        if (wrong) return located(rules.source_, wrong->at, wrong->what);
    }
    return rules;
}

}  // namespace tutti::select
