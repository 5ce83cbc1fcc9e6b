// SPDX-License-Identifier: BSD-3-Clause
// Reads topologies from descriptions of a cluster. Each reader is a function of a text; an error is
// one line that begins `FILE:LINE: `. The formats: docs/formats/topology.md and the pages it names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/topo/topology.h"

namespace tutti::topo {

// A file of more is a mistake: 65,536 hosts take some 20 MB of ibnetdiscover's output.
inline constexpr size_t kTopologyBytesMax = size_t{256} << 20;

// Our own: docs/formats/topology.md.
Result<Topology> read_own(std::string_view text, const std::string& file_name);
// What read_own reads as the same topology, but for the order of hosts and links.
std::string print_own(const Topology& topology);

// Slurm's topology.conf and topology.yaml: docs/formats/slurm.md.
Result<Topology> read_slurm_conf(std::string_view text, const std::string& file_name);
bool has_name_of_yaml(std::string_view file_name);
// By its name, and not what others print.
bool is_yaml(std::string_view text, const std::string& file_name);
Result<Topology> read_slurm_yaml(std::string_view text, const std::string& file_name);

// What tools/lab notes: docs/formats/lab_state.md.
Result<Topology> read_lab_state(std::string_view text, const std::string& file_name);

// What ibnetdiscover prints, and what it writes with --cache: docs/formats/ibnetdiscover.md.
bool is_ib_text(std::string_view text);
Result<Topology> read_ib_text(std::string_view text, const std::string& file_name);
bool is_ib_cache(std::string_view text);
Result<Topology> read_ib_cache(std::string_view text, const std::string& file_name);

// By what the file is called and how it begins. A process that is not ours to fill reads all but
// YAML, whose parser comes from a library.
Result<Topology> read_topology(std::string_view text, const std::string& file_name);
Result<Topology> read_plain_topology(std::string_view text, const std::string& file_name);

}  // namespace tutti::topo
