// SPDX-License-Identifier: BSD-3-Clause
#include "cli/job_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "cli/fabric_file.h"
#include "explain/fabric_text.h"
#include "topo/read/hostlist.h"

namespace tutti::cli {
namespace {

constexpr std::string_view kAtRandom = "random:";

// Hosts as they are told of, before ranks are on them.
struct ToldHosts {
    uint32_t count = 0;
    std::vector<std::string> names;  // none, or of all
};

struct Placing {
    std::vector<uint64_t> host_of_rank;  // numbers of ToldHosts; empty: in blocks
    std::string text;
};

bool is_number(std::string_view word) { return parse_count(word).has_value(); }

std::vector<std::string> names_of(const topo::Topology& topology, uint32_t count) {
    std::vector<std::string> names;
    for (uint32_t host = 0; host < count; ++host) names.push_back(topology.hosts[host].name);
    return names;
}

Error too_many_hosts(const std::string& text, size_t hosts, uint32_t ranks) {
    return wrong(fmt::format("--hosts={}: {} hosts for {} ranks", printable(text), hosts, ranks));
}

Error wrong_placement(const std::string& word) {
    return wrong_value("--placement", word,
                       "block, round-robin, random:SEED or the host of each rank");
}

// A list of a host for each rank; empty where the word is another way of placing them.
Result<std::vector<std::string>> listed_hosts(const Words& words, uint32_t ranks) {
    const std::string* word = words.find("--placement");
    if (!word || *word == "block" || *word == "round-robin" || word->starts_with(kAtRandom)) {
        return std::vector<std::string>{};
    }
    auto names = topo::expand_hostlist(*word, topo::kHostsMax);
    if (!names || names.value().size() != ranks) return wrong_placement(*word);
    return names;
}

// Without --hosts: those that the placement names, all of the cluster that ranks can be on, or one
// a rank.
ToldHosts usual_hosts(uint32_t ranks, const std::optional<DescribedCluster>& cluster,
                      const std::vector<std::string>& listed) {
    if (!listed.empty() && !std::all_of(listed.begin(), listed.end(), is_number)) {
        ToldHosts told;
        std::unordered_set<std::string_view> seen;
        for (const std::string& name : listed) {
            if (seen.insert(name).second) told.names.push_back(name);
        }
        told.count = static_cast<uint32_t>(told.names.size());
        return told;
    }
    if (!cluster) return {ranks, {}};
    const auto all = static_cast<uint32_t>(cluster->topology->hosts.size());
    // Numbers may be any of the file's.
    const uint32_t count = listed.empty() ? std::min(ranks, all) : all;
    return {count, names_of(*cluster->topology, count)};
}

Result<ToldHosts> told_hosts(const Words& words, uint32_t ranks,
                             const std::optional<DescribedCluster>& cluster,
                             const std::vector<std::string>& listed) {
    const std::string* text = words.find("--hosts");
    if (!text) return usual_hosts(ranks, cluster, listed);
    if (!is_number(*text)) {
        auto names = read_host_names("--hosts", *text);
        if (!names) return names.error();
        const size_t count = names.value().size();
        if (listed.empty() && count > ranks) return too_many_hosts(*text, count, ranks);
        return ToldHosts{static_cast<uint32_t>(count), std::move(names.value())};
    }
    const uint32_t most =
        cluster ? std::min(ranks, static_cast<uint32_t>(cluster->topology->hosts.size())) : ranks;
    const auto count = words.count("--hosts", most, 1, most);
    if (!count) return count.error();
    const auto hosts = static_cast<uint32_t>(count.value());
    if (!cluster) return ToldHosts{hosts, {}};
    return ToldHosts{hosts, names_of(*cluster->topology, hosts)};
}

Result<Placing> place_as_listed(const std::vector<std::string>& listed, const ToldHosts& hosts) {
    std::unordered_map<std::string_view, uint32_t> number_of;
    for (uint32_t host = 0; host < hosts.names.size(); ++host) {
        number_of.emplace(hosts.names[host], host);
    }
    Placing placing{{}, "as listed"};
    for (const std::string& name : listed) {
        const auto named = number_of.find(name);
        const auto number = parse_count(name);
        if (named != number_of.end()) {
            placing.host_of_rank.push_back(named->second);
        } else if (number && *number < hosts.count) {
            placing.host_of_rank.push_back(*number);
        } else {
            return wrong(fmt::format("--placement: {} is none of the {} hosts", printable(name),
                                     hosts.count));
        }
    }
    return placing;
}

Result<Placing> place_by_word(const Words& words, uint32_t ranks, const ToldHosts& hosts,
                              const std::vector<std::string>& listed) {
    if (!listed.empty()) return place_as_listed(listed, hosts);
    const std::string* word = words.find("--placement");
    if (!word || *word == "block") return Placing{};
    if (*word == "round-robin") {
        return Placing{topo::hosts_by_turns(ranks, hosts.count), *word};
    }
    const auto seed = parse_count(std::string_view(*word).substr(kAtRandom.size()));
    if (!seed) return wrong_placement(*word);
    return Placing{topo::hosts_at_random(ranks, hosts.count, *seed), *word};
}

// Numbers hosts by their lowest ranks, as a placement numbers its nodes.
void number_hosts(const ToldHosts& told, JobHosts& job) {
    if (job.host_of_rank.empty()) {
        job.hosts = told.count;
        job.order.resize(told.count);
        std::iota(job.order.begin(), job.order.end(), 0u);
        return;
    }
    std::vector<bool> has_rank(told.count);
    for (const uint64_t host : job.host_of_rank) {
        if (has_rank[host]) continue;
        has_rank[host] = true;
        job.order.push_back(static_cast<uint32_t>(host));
    }
    job.hosts = static_cast<uint32_t>(job.order.size());
    for (uint32_t host = 0; host < told.count; ++host) {
        if (!has_rank[host]) job.order.push_back(host);
    }
}

}  // namespace

std::optional<topo::SwitchTree> JobHosts::tree() const {
    if (!cluster) return std::nullopt;
    return topo::restrict_tree(cluster->tree, found);
}

Result<std::optional<DescribedCluster>> read_cluster(const Words& words) {
    std::optional<DescribedCluster> none;
    const std::string* file = words.find("--fabric");
    if (!file) return none;
    auto topology = read_fabric_file(*file);
    if (!topology) return topology.error();
    auto tree = topo::make_switch_tree(topology.value());
    if (!tree) return tree.error();
    return std::optional(
        DescribedCluster{std::make_shared<const topo::Topology>(std::move(topology.value())),
                         std::move(tree.value())});
}

Result<std::vector<std::string>> read_host_names(std::string_view option, const std::string& list) {
    if (list.starts_with('-')) return wrong_value(option, list, "hosts, such as n[0-7]");
    auto names = topo::expand_hostlist(list, topo::kHostsMax);
    if (!names) return wrong(fmt::format("{}: {}", option, names.error().message));
    std::unordered_set<std::string_view> seen;
    for (const std::string& name : names.value()) {
        if (seen.insert(name).second) continue;
        return wrong(fmt::format("{}: {} is named twice", option, printable(name)));
    }
    return names;
}

Result<JobHosts> read_job_hosts(const Words& words, uint32_t ranks,
                                std::optional<DescribedCluster> cluster) {
    const auto listed = listed_hosts(words, ranks);
    if (!listed) return listed.error();
    const auto told = told_hosts(words, ranks, cluster, listed.value());
    if (!told) return told.error();
    auto placing = place_by_word(words, ranks, told.value(), listed.value());
    if (!placing) return placing.error();
    JobHosts job;
    job.ranks = ranks;
    job.host_of_rank = std::move(placing.value().host_of_rank);
    job.placed = std::move(placing.value().text);
    number_hosts(told.value(), job);
    if (told.value().names.empty()) return job;
    for (uint32_t host = 0; host < job.hosts; ++host) {
        job.names.push_back(told.value().names[job.order[host]]);
    }
    if (!cluster) return job;
    // It tells which two names are one host.
    std::vector<std::string> unknown;
    const auto view = explain::view_of(*cluster->topology, cluster->tree, job.names, unknown);
    if (!view) return wrong(fmt::format("--hosts: {}", view.error().message));
    warn_of_unknown_hosts(*cluster->topology, unknown);
    job.found = topo::find_hosts(*cluster->topology, job.names);
    job.cluster = std::move(cluster);
    return job;
}

}  // namespace tutti::cli
