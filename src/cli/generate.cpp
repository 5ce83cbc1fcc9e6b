// SPDX-License-Identifier: BSD-3-Clause
#include "cli/generate.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <vector>

#include "base/text.h"
#include "cli/fabric_file.h"
#include "cli/words.h"
#include "files/whole_file.h"
#include "generate/allreduce.h"
#include "topo/placement.h"
#include "topo/read/hostlist.h"

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
    {"--placement", "WORD", "block: neighbours share a host (default); round-robin: they do not"},
    {"--name", "NAME",
     "The function is tutti_allreduce_NAME (default: after the description's file)"},
    {"-o", "FILE", "Write there, not to standard output"},
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
    bool is_round_robin = false;
    std::string name;  // empty: after the file
};

Result<Request> read_request(const Words& words) {
    Request request;
    const auto ranks = words.count("--ranks-per-host", 1, 1, kRanksPerHostMax);
    if (!ranks) return ranks.error();
    request.ranks_per_host = ranks.value();
    if (const std::string* word = words.find("--placement")) {
        if (*word != "block" && *word != "round-robin") {
            return wrong_value("--placement", *word, "block or round-robin");
        }
        request.is_round_robin = *word == "round-robin";
    }
    if (const std::string* name = words.find("--name")) {
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

generate::Labels labels_of(const explain::FabricView& view, const Request& request,
                           const Words& words, std::span<const std::string> arguments) {
    generate::Labels labels;
    labels.name = request.name.empty() ? name_of_file(view.topology.source) : request.name;
    const std::string* file = words.find("-o");
    labels.file = file ? std::filesystem::path(*file).filename().string() : labels.name + ".c";
    labels.command = {"tutti", "generate"};
    labels.command.insert(labels.command.end(), arguments.begin(), arguments.end());
    const uint64_t hosts = view.names.size();
    std::string ranks = hosts == 1               ? ""
                        : request.is_round_robin ? ", round-robin"
                                                 : ", block by block";
    if (request.ranks_per_host == 1) ranks = ", rank after rank";
    labels.origin = {"Cluster: " + view.topology.source,
                     fmt::format("Hosts:   {}", topo::fold_hostlist(view.names)),
                     fmt::format("Ranks:   {} on each of {} in this order{}; N = {}",
                                 request.ranks_per_host, explain::counted(hosts, "host", "hosts"),
                                 ranks, hosts * request.ranks_per_host)};
    labels.hosts = view.names;
    for (uint32_t node = 0; node < view.tree.nodes.size(); ++node) {
        labels.nodes.push_back(explain::name_of_node(view, node));
    }
    return labels;
}

Result<std::string> source_of(const Words& words, std::span<const std::string> arguments) {
    const auto request = read_request(words);
    if (!request) return request.error();
    const auto topology =
        read_named_topology("generate", words, std::span(words.others()).subspan(1));
    if (!topology) return topology.error();
    const auto tree = topo::make_switch_tree(topology.value());
    if (!tree) return tree.error();
    const auto view = view_of_hosts(topology.value(), tree.value(), words);
    if (!view) return view.error();
    const auto hosts = static_cast<uint32_t>(view.value().names.size());
    const uint64_t count = hosts * request.value().ranks_per_host;
    if (count > kRingRanksMax) {
        return wrong(fmt::format("generate: {} ranks on each of {} hosts are more than {}",
                                 request.value().ranks_per_host, hosts, kRingRanksMax));
    }
    const auto ranks = static_cast<uint32_t>(count);
    const auto ring = generate::make_ring(
        view.value().tree, request.value().is_round_robin ? topo::hosts_by_turns(ranks, hosts)
                                                          : topo::hosts_in_blocks(ranks, hosts));
    return generate::allreduce_source(view.value().tree, ring,
                                      labels_of(view.value(), request.value(), words, arguments));
}

Result<Done> generate_file(const Words& words, std::span<const std::string> arguments) {
    if (words.others().empty()) return wrong("generate: which collective? There is allreduce");
    if (words.others().front() != "allreduce") {
        return wrong(fmt::format("generate: unknown collective {}; there is allreduce",
                                 printable(words.others().front())));
    }
    const auto text = source_of(words, arguments);
    if (!text) return text.error();
    const std::string* file = words.find("-o");
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
    const auto words = Words::parse("generate", arguments, kGenerateOptions);
    if (words && words.value().wants_help()) {
        fmt::print("{}", help_text(kGenerateSummary, "tutti generate allreduce [options]",
                                   kGenerateOptions));
        return 0;
    }
    const auto done = words ? generate_file(words.value(), arguments) : Result<Done>(words.error());
    if (done) return 0;
    fmt::print(stderr, "tutti: {}\n", done.error().message);
    return 2;
}

}  // namespace tutti::cli
