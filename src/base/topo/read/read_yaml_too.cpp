// SPDX-License-Identifier: BSD-3-Clause
// Apart from the other readers, so that a library which does not call this has no YAML parser.
#include "base/topo/read/read.h"

namespace tutti::topo {

Result<Topology> read_topology(std::string_view text, const std::string& file_name) {
    const bool is_slurms = text.size() <= kTopologyBytesMax && is_yaml(text, file_name);
    return is_slurms ? read_slurm_yaml(text, file_name) : read_plain_topology(text, file_name);
}

}  // namespace tutti::topo
