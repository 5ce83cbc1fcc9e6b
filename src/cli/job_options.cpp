// SPDX-License-Identifier: BSD-3-Clause
#include "cli/job_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "base/topo/read/hostlist.h"
#include "cli/fabric_file.h"
#include "lab/explain/fabric_text.h"

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

std::vector<std::string> names_of(const topo::Topology& topology, uint32_t count) {
    std::vector<std::string> names;
    for (uint32_t host = 0; host < count; ++host) names.push_back(topology.hosts[host].name);
    return names;
}

Error wrong_placement(const std::string& word, std::string_view hint = "") {
    return wrong_value(
        "--placement", word,
        fmt::format("block, round-robin, random:SEED or the host of each rank{}", hint));
}

Error misspelt_placement(const std::string& word) {
    constexpr auto kWords = std::to_array<std::string_view>({"block", "round-robin", "random"});
    const auto close = nearest(std::string_view(word).substr(0, word.find(':')), kWords);
    if (!close) return wrong_placement(word);
    return wrong_placement(
        word, fmt::format("; did you mean {}{}?", *close, *close == "random" ? ":SEED" : ""));
}

bool is_in_file(const std::string& name, const std::optional<DescribedCluster>& cluster) {
    return cluster &&
           topo::find_hosts(*cluster->topology, std::span(&name, 1)).front() != topo::kNoNode;
}

// A word alone may as well be a misspelt way of placing: it is a host only where somebody has said
// so.
bool is_host(const std::string& word, const CommandLine& command_line,
             const std::optional<DescribedCluster>& cluster) {
    if (is_number(word) || is_in_file(word, cluster)) return true;
    const std::string* list = command_line.find("--hosts");
    if (!list) return false;
    const auto names = topo::expand_hostlist(*list, topo::kHostsMax);
    return names && std::count(names.value().begin(), names.value().end(), word) > 0;
}

// A list of a host for each rank; empty where the word is another way of placing them.
Result<std::vector<std::string>> listed_hosts(const CommandLine& command_line, uint32_t ranks,
                                              const std::optional<DescribedCluster>& cluster) {
    const std::string* word = command_line.find("--placement");
    if (!word || is_way_of_placing(*word)) return std::vector<std::string>{};
    auto names = topo::expand_hostlist(*word, topo::kHostsMax);
    if (!names) return wrong_placement(*word);
    const size_t count = names.value().size();
    const bool is_alone = count == 1 && names.value().front() == *word;
    if (is_alone && !is_host(*word, command_line, cluster)) return misspelt_placement(*word);
    if (count == ranks) return names;
    return wrong(fmt::format("--placement: hosts of {}, where there are {}",
                             explain::counted(count, "rank", "ranks"), ranks));
}

// Those that a placement names, in its order.
Result<ToldHosts> hosts_of_list(const std::vector<std::string>& listed,
                                const std::optional<DescribedCluster>& cluster) {
    ToldHosts told;
    std::unordered_set<std::string_view> seen;
    for (const std::string& name : listed) {
        if (!seen.insert(name).second) continue;
        if (is_number(name) && !is_in_file(name, cluster)) {
            return wrong(fmt::format(
                "--placement: {} is a number and others are names; see --hosts", printable(name)));
        }
        told.names.push_back(name);
    }
    told.count = static_cast<uint32_t>(told.names.size());
    return told;
}

// Without --hosts: those that the placement names, all of the cluster that ranks can be on, or one
// a rank.
Result<ToldHosts> usual_hosts(uint32_t ranks, const std::optional<DescribedCluster>& cluster,
                              const std::vector<std::string>& listed) {
    if (!std::all_of(listed.begin(), listed.end(), is_number)) {
        return hosts_of_list(listed, cluster);
    }
    if (!cluster) return ToldHosts{ranks, {}};
    const auto all = static_cast<uint32_t>(cluster->topology->hosts.size());
    // Numbers may be any of the file's.
    const uint32_t count = listed.empty() ? std::min(ranks, all) : all;
    return ToldHosts{count, names_of(*cluster->topology, count)};
}

Result<ToldHosts> told_hosts(const CommandLine& command_line, uint32_t ranks,
                             const std::optional<DescribedCluster>& cluster,
                             const std::vector<std::string>& listed) {
    const std::string* text = command_line.find("--hosts");
    if (!text) return usual_hosts(ranks, cluster, listed);
    if (is_number(*text) && !cluster) {
        const auto count = command_line.count("--hosts", ranks, 1, ranks);
        if (!count) return count.error();
        return ToldHosts{static_cast<uint32_t>(count.value()), {}};
    }
    auto names = is_number(*text) ? first_hosts(command_line, "--hosts", *cluster->topology, ranks)
                                  : read_host_names("--hosts", *text);
    if (!names) return names.error();
    const auto count = static_cast<uint32_t>(names.value().size());
    return ToldHosts{count, std::move(names.value())};
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
        const bool is_index = number && *number < hosts.count;
        if (named != number_of.end() && is_index && *number != named->second) {
            return wrong(
                fmt::format("--placement: {} is the name of one host and the number of "
                            "another",
                            printable(name)));
        }
        if (named != number_of.end()) {
            placing.host_of_rank.push_back(named->second);
        } else if (is_index) {
            placing.host_of_rank.push_back(*number);
        } else {
            return wrong(fmt::format("--placement: {} is none of the {} hosts", printable(name),
                                     hosts.count));
        }
    }
    return placing;
}

Result<Placing> place_by_word(const CommandLine& command_line, uint32_t ranks,
                              const ToldHosts& told, const std::vector<std::string>& listed) {
    if (!listed.empty()) return place_as_listed(listed, told);
    const uint32_t hosts = std::min(told.count, ranks);
    const std::string* word = command_line.find("--placement");
    if (!word || *word == "block") return Placing{};
    if (*word == "round-robin") {
        return Placing{topo::hosts_by_turns(ranks, hosts), *word};
    }
    const auto seed = parse_count(std::string_view(*word).substr(kAtRandom.size()));
    if (!seed) return wrong_placement(*word);
    return Placing{topo::hosts_at_random(ranks, hosts, *seed), *word};
}

// Numbers hosts by their lowest ranks, as a placement numbers its nodes.
void number_hosts(const ToldHosts& told, JobHosts& job) {
    if (job.host_of_rank.empty()) {
        job.hosts = std::min(told.count, job.ranks);
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

// Of hosts that were named one by one.
void say_who_is_left_out(const CommandLine& command_line, const ToldHosts& told,
                         const JobHosts& job) {
    const std::string* text = command_line.find("--hosts");
    if (!text || is_number(*text) || job.hosts == told.count) return;
    std::vector<std::string> others;
    for (uint32_t host = job.hosts; host < told.count; ++host) {
        others.push_back(told.names[job.order[host]]);
    }
    fmt::print(stderr, "tutti: --hosts: left out, without a rank: {}\n",
               printable(topo::fold_hostlist(others)));
}

}  // namespace

bool is_way_of_placing(std::string_view word) {
    return word == "block" || word == "round-robin" || word.starts_with(kAtRandom);
}

std::optional<topo::SwitchTree> JobHosts::tree() const {
    if (!cluster) return std::nullopt;
    return topo::restrict_tree(cluster->tree, found);
}

Result<std::optional<DescribedCluster>> read_cluster(const CommandLine& command_line) {
    std::optional<DescribedCluster> none;
    const std::string* file = command_line.find("--fabric");
    if (!file) return none;
    auto topology = read_fabric_file(*file);
    if (!topology) return topology.error();
    auto tree = topo::make_switch_tree(topology.value());
    if (!tree) return tree.error();
    return std::optional(
        DescribedCluster{std::make_shared<const topo::Topology>(std::move(topology.value())),
                         std::move(tree.value())});
}

Result<JobHosts> read_job_hosts(const CommandLine& command_line, uint32_t ranks,
                                std::optional<DescribedCluster> cluster) {
    const auto listed = listed_hosts(command_line, ranks, cluster);
    if (!listed) return listed.error();
    const auto told = told_hosts(command_line, ranks, cluster, listed.value());
    if (!told) return told.error();
    auto placing = place_by_word(command_line, ranks, told.value(), listed.value());
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
    say_who_is_left_out(command_line, told.value(), job);
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
