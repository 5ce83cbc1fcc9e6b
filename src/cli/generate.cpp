// SPDX-License-Identifier: BSD-3-Clause
#include "cli/generate.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "base/files/whole_file.h"
#include "base/text.h"
#include "base/topo/placement.h"
#include "base/topo/read/hostlist.h"
#include "cli/command_line.h"
#include "cli/fabric_file.h"
#include "cli/job_options.h"
#include "lab/generate/allreduce.h"

namespace tutti::cli {
namespace {

constexpr uint64_t kRanksPerHostMax = 1u << 12;
// What a file of some MB lists.
constexpr uint64_t kRingRanksMax = 1u << 20;

constexpr auto kGenerateOptions = std::to_array<OptionDoc>({
    {"--fabric", "FILE", "The cluster's description, as tutti fabric reads it"},
    {"--hosts", "N|LIST",
     "The job's hosts in the order of its ranks, as n[0-7],login, or the first N (default: all)"},
    {"--ranks-per-host", "N", "Ranks on each of them (default: 1)"},
    {"--placement", "WORD",
     "block: neighbours share a host (default); round-robin; random:SEED; or a host for each rank"},
    {"--name", "NAME",
     "The function is tutti_allreduce_NAME (default: after the description's file)"},
    {"-o", "FILE", "Write to FILE, not to standard output"},
});

constexpr std::string_view kGenerateSummary =
    "Writes an allreduce for long vectors that is made for one cluster: a C file that needs an MPI "
    "and\n"
    "nothing else. Its ranks form a ring that follows the tree of switches, so that no two\n"
    "messages of a step share a link of it. -DSELFTEST adds a program that compares it with\n"
    "MPI_Allreduce. Without --fabric the description is found as tutti fabric finds it.";

// What the words ask for, apart from the cluster.
struct Request {
    uint64_t ranks_per_host = 1;
    std::string name;  // empty: after the file
};

Result<Request> read_request(const CommandLine& command_line) {
    Request request;
    const auto ranks = command_line.count("--ranks-per-host", 1, 1, kRanksPerHostMax);
    if (!ranks) return ranks.error();
    request.ranks_per_host = ranks.value();
    if (const std::string* name = command_line.find("--name")) {
        constexpr size_t kNameMax = 64;
        if (generate::identifier_of(*name) != *name || name->size() > kNameMax) {
            return wrong_value("--name", *name, "letters, digits and _, at most 64");
        }
        request.name = *name;
    }
    return request;
}

std::string name_of_file(const std::string& source) {
    const std::string file = std::filesystem::path(source).filename().string();
    const std::string name = generate::identifier_of(file.substr(0, file.find('.')));
    return name.empty() ? "cluster" : name;
}

// Of a job that is told of in words.
struct Job {
    std::shared_ptr<const topo::Topology> topology;
    explain::FabricView view;            // of that
    std::vector<uint64_t> host_of_rank;  // numbers of the view's hosts
    std::string ranks;                   // who is where, for people
};

bool is_listed(const CommandLine& command_line) {
    const std::string* word = command_line.find("--placement");
    return word && !is_way_of_placing(*word);
}

Result<uint64_t> hosts_told(const CommandLine& command_line, const topo::Topology& topology) {
    const std::string* list = command_line.find("--hosts");
    if (!list) return topology.hosts.size();
    const auto names = is_number(*list)
                           ? first_hosts(command_line, "--hosts", topology, topology.hosts.size())
                           : read_host_names("--hosts", *list);
    if (!names) return names.error();
    return names.value().size();
}

Result<uint32_t> ranks_told(const CommandLine& command_line, const topo::Topology& topology,
                            uint64_t ranks_per_host) {
    if (is_listed(command_line)) {
        if (command_line.has("--ranks-per-host")) {
            return wrong("--ranks-per-host: --placement tells the host of each rank");
        }
        const auto names =
            topo::expand_hostlist(*command_line.find("--placement"), topo::kHostsMax);
        // What is no list is told by whoever reads it.
        return names ? static_cast<uint32_t>(names.value().size()) : 1;
    }
    const auto hosts = hosts_told(command_line, topology);
    if (!hosts) return hosts.error();
    const uint64_t count = hosts.value() * ranks_per_host;
    if (count > kRingRanksMax) {
        return wrong(fmt::format("generate: {} ranks on each of {} hosts are more than {}",
                                 ranks_per_host, hosts.value(), kRingRanksMax));
    }
    return static_cast<uint32_t>(count);
}

std::string ranks_text(const CommandLine& command_line, const JobHosts& job,
                       uint64_t ranks_per_host) {
    const std::string hosts = explain::counted(job.hosts, "host", "hosts");
    if (is_listed(command_line)) return fmt::format("N = {} on {}, as listed", job.ranks, hosts);
    std::string dealt = job.placed.empty() ? "block by block" : job.placed;
    if (ranks_per_host == 1 && !job.placed.starts_with("random")) dealt = "rank after rank";
    if (job.hosts == 1 && ranks_per_host > 1) dealt.clear();
    return fmt::format("{} on each of {} in this order{}{}; N = {}", ranks_per_host, hosts,
                       dealt.empty() ? "" : ", ", dealt, job.ranks);
}

Result<Job> read_job(const CommandLine& command_line, const Request& request) {
    auto topology =
        read_named_topology("generate", command_line, std::span(command_line.others()).subspan(1));
    if (!topology) return topology.error();
    auto tree = topo::make_switch_tree(topology.value());
    if (!tree) return tree.error();
    const auto ranks = ranks_told(command_line, topology.value(), request.ranks_per_host);
    if (!ranks) return ranks.error();
    const auto hosts = read_job_hosts(
        command_line, ranks.value(),
        DescribedCluster{std::make_shared<const topo::Topology>(std::move(topology.value())),
                         std::move(tree.value())});
    if (!hosts) return hosts.error();
    const DescribedCluster& cluster = *hosts.value().cluster;
    Job job{
        cluster.topology,
        explain::view_at(*cluster.topology, cluster.tree, hosts.value().names, hosts.value().found),
        {},
        ranks_text(command_line, hosts.value(), request.ranks_per_host)};
    const topo::Placement placement = hosts.value().placement();
    for (uint32_t rank = 0; rank < ranks.value(); ++rank) {
        job.host_of_rank.push_back(placement.node_of(rank));
    }
    return job;
}

generate::Labels labels_of(const Job& job, const Request& request, const CommandLine& command_line,
                           std::span<const std::string> arguments) {
    const explain::FabricView& view = job.view;
    generate::Labels labels;
    labels.name = request.name.empty() ? name_of_file(view.topology.source) : request.name;
    const std::string* file = command_line.find("-o");
    labels.file = file ? std::filesystem::path(*file).filename().string() : labels.name + ".c";
    labels.command = {"tutti", "generate"};
    labels.command.insert(labels.command.end(), arguments.begin(), arguments.end());
    labels.origin = {"Cluster: " + view.topology.source,
                     fmt::format("Hosts:   {}", topo::fold_hostlist(view.names)),
                     "Ranks:   " + job.ranks};
    labels.hosts = view.names;
    for (uint32_t node = 0; node < view.tree.nodes.size(); ++node) {
        labels.nodes.push_back(explain::name_of_node(view, node));
    }
    return labels;
}

Result<std::string> source_of(const CommandLine& command_line,
                              std::span<const std::string> arguments) {
    const auto request = read_request(command_line);
    if (!request) return request.error();
    const auto job = read_job(command_line, request.value());
    if (!job) return job.error();
    const auto ring = generate::make_ring(job.value().view.tree, job.value().host_of_rank);
    return generate::allreduce_source(
        job.value().view.tree, ring,
        labels_of(job.value(), request.value(), command_line, arguments));
}

Result<Done> generate_file(const CommandLine& command_line,
                           std::span<const std::string> arguments) {
    if (command_line.others().empty())
        return wrong("generate: which collective? There is allreduce");
    if (command_line.others().front() != "allreduce") {
        return wrong(fmt::format("generate: unknown collective {}; there is allreduce",
                                 printable(command_line.others().front())));
    }
    const auto text = source_of(command_line, arguments);
    if (!text) return text.error();
    const std::string* file = command_line.find("-o");
    if (!file) {
        fmt::print("{}", text.value());
        return Done{};
    }
    const auto problem = files::write_whole(*file, text.value());
    if (problem.empty()) return Done{};
    return wrong(fmt::format("-o: {}: {}", printable(*file), problem));
}

}  // namespace

int generate_main(std::span<const std::string> arguments) {
    const auto command_line = CommandLine::parse("generate", arguments, kGenerateOptions);
    if (command_line && command_line.value().wants_help()) {
        fmt::print("{}", help_text(kGenerateSummary, "tutti generate allreduce [options]",
                                   kGenerateOptions));
        return 0;
    }
    const auto done = command_line ? generate_file(command_line.value(), arguments)
                                   : Result<Done>(command_line.error());
    if (done) return 0;
    fmt::print(stderr, "tutti: {}\n", done.error().message);
    return 2;
}

}  // namespace tutti::cli
