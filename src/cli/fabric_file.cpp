// SPDX-License-Identifier: BSD-3-Clause
#include "cli/fabric_file.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/text_file.h"
#include "site/fabric_search.h"
#include "topo/read/hostlist.h"
#include "topo/read/read.h"

namespace tutti::cli {
namespace {

Result<std::string> file_of(std::string_view command, const Words& words,
                            std::span<const std::string> others) {
    const std::string* option = words.find("--fabric");
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
    const auto text = read_text_file(name, topo::kTopologyBytesMax);
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

Result<topo::Topology> read_named_topology(std::string_view command, const Words& words,
                                           std::span<const std::string> others) {
    const auto name = file_of(command, words, others);
    if (!name) return name.error();
    return read_fabric_file(name.value());
}

Result<explain::FabricView> view_of_hosts(const topo::Topology& topology,
                                          const topo::SwitchTree& tree, const Words& words) {
    const std::string* list = words.find("--hosts");
    if (!list) return explain::whole_view(topology, tree);
    const auto hosts = topo::expand_hostlist(*list, topo::kHostsMax);
    if (!hosts) return wrong(fmt::format("--hosts: {}", hosts.error().message));
    std::vector<std::string> unknown;
    auto view = explain::view_of(topology, tree, hosts.value(), unknown);
    if (!view) return wrong(fmt::format("--hosts: {}", view.error().message));
    warn_of_unknown_hosts(topology, unknown);
    return view;
}

}  // namespace tutti::cli
