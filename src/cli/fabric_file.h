// SPDX-License-Identifier: BSD-3-Clause
// The description of a cluster that a command's arguments name, and the hosts that they pick.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/topo/topology.h"
#include "cli/command_line.h"
#include "lab/explain/fabric_text.h"

namespace tutti::cli {

// By the file's name.
Result<topo::Topology> read_fabric_file(const std::string& name);
// `others`: the words that are no options and may name the file. Where neither they nor --fabric
// do, the file is searched for (run/site/fabric_search.h). `command`: for messages.
Result<topo::Topology> read_named_topology(std::string_view command,
                                           const CommandLine& command_line,
                                           std::span<const std::string> others);

// Whether what stands behind an option is a number of hosts, not their names: all of it is digits,
// however many.
bool is_number(std::string_view word);
// Names of hosts behind an option, each once.
Result<std::vector<std::string>> read_host_names(std::string_view option, const std::string& list);
// The number of hosts behind an option is an error where a host has it for its name.
Result<Done> check_number(const CommandLine& command_line, std::string_view option,
                          const topo::Topology& topology);
// The names of the topology's first hosts, as many as the number behind an option says.
Result<std::vector<std::string>> first_hosts(const CommandLine& command_line,
                                             std::string_view option,
                                             const topo::Topology& topology, uint64_t most);

// Those of --hosts in that order, or all. Says on standard error which the topology does not have.
Result<explain::FabricView> view_of_hosts(const topo::Topology& topology,
                                          const topo::SwitchTree& tree,
                                          const CommandLine& command_line);

// One line on standard error, if there are any.
void warn_of_unknown_hosts(const topo::Topology& topology, const std::vector<std::string>& unknown);

}  // namespace tutti::cli
