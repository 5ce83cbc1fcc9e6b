// SPDX-License-Identifier: BSD-3-Clause
#include "cli/fabric_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/files/text_file.h"
#include "base/text.h"
#include "base/topo/read/hostlist.h"
#include "base/topo/read/read.h"
#include "run/site/fabric_search.h"

namespace tutti::cli {
namespace {

Result<std::string> file_of(std::string_view command, const CommandLine& command_line,
                            std::span<const std::string> others) {
    const std::string* option = command_line.find("--fabric");
    const size_t named = others.size() + (option ? 1 : 0);
    if (named > 1) {
        return wrong(fmt::format("{}: unexpected word {}", command, printable(others.back())));
    }
    if (named == 1) return option ? *option : others.front();
    const auto search = site::own_fabric_search();
    if (!search) return search.error();
    const auto found = site::find_fabric(search.value());
    if (!found) return found.error();
    if (found.value().file.empty()) {
        return wrong(
            fmt::format("{}: no description of the cluster; name a file, set TUTTI_FABRIC, or see "
                        "tutti fabric --discover",
                        command));
    }
    return found.value().file;
}

}  // namespace

Result<topo::Topology> read_fabric_file(const std::string& name) {
    const auto text = files::read_text_file(name, topo::kTopologyBytesMax);
    if (!text) return text.error();
    return topo::read_topology(text.value(), name);
}

void warn_of_unknown_hosts(const topo::Topology& topology,
                           const std::vector<std::string>& unknown) {
    if (unknown.empty()) return;
    fmt::print(stderr, "tutti: {}: {} not there; on a leaf of {} own: {}\n",
               printable(topology.source), unknown.size() == 1 ? "a host is" : "hosts are",
               unknown.size() == 1 ? "its" : "their", printable(topo::fold_hostlist(unknown)));
}

Result<topo::Topology> read_named_topology(std::string_view command,
                                           const CommandLine& command_line,
                                           std::span<const std::string> others) {
    const auto name = file_of(command, command_line, others);
    if (!name) return name.error();
    return read_fabric_file(name.value());
}

bool is_number(std::string_view word) {
    return !word.empty() &&
           std::ranges::all_of(word, [](char letter) { return letter >= '0' && letter <= '9'; });
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

Result<Done> check_number(const CommandLine& command_line, std::string_view option,
                          const topo::Topology& topology) {
    const std::string* text = command_line.find(option);
    if (!text || topo::find_hosts(topology, std::span(text, 1)).front() == topo::kNoNode) {
        return Done{};
    }
    return wrong(fmt::format("{}={}: so many hosts, or the one of this name? [{}] is the one",
                             option, *text, *text));
}

Result<std::vector<std::string>> first_hosts(const CommandLine& command_line,
                                             std::string_view option,
                                             const topo::Topology& topology, uint64_t most) {
    most = std::min(most, uint64_t{topology.hosts.size()});
    const auto count = command_line.count(option, most, 1, most);
    if (!count) return count.error();
    if (const auto done = check_number(command_line, option, topology); !done) return done.error();
    std::vector<std::string> names;
    for (uint64_t host = 0; host < count.value(); ++host) {
        names.push_back(topology.hosts[host].name);
    }
    return names;
}

Result<explain::FabricView> view_of_hosts(const topo::Topology& topology,
                                          const topo::SwitchTree& tree,
                                          const CommandLine& command_line) {
    const std::string* list = command_line.find("--hosts");
    if (!list) return explain::whole_view(topology, tree);
    const auto hosts = is_number(*list)
                           ? first_hosts(command_line, "--hosts", topology, topology.hosts.size())
                           : read_host_names("--hosts", *list);
    if (!hosts) return hosts.error();
    std::vector<std::string> unknown;
    auto view = explain::view_of(topology, tree, hosts.value(), unknown);
    if (!view) return wrong(fmt::format("--hosts: {}", view.error().message));
    warn_of_unknown_hosts(topology, unknown);
    return view;
}

}  // namespace tutti::cli
