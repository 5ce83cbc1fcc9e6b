// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/read/read.h"

#include "base/text.h"

namespace tutti::topo {

bool has_name_of_yaml(std::string_view file_name) {
    return file_name.ends_with(".yaml") || file_name.ends_with(".yml");
}

bool is_yaml(std::string_view text, const std::string& file_name) {
    return has_name_of_yaml(file_name) && !is_ib_cache(text) && !is_ib_text(text);
}

Result<Topology> read_plain_topology(std::string_view text, const std::string& file_name) {
    if (text.size() > kTopologyBytesMax) {
        return topology_error(file_name, 1, "more than " + format_bytes(kTopologyBytesMax));
    }
    if (is_ib_cache(text)) return read_ib_cache(text, file_name);
    if (is_ib_text(text)) return read_ib_text(text, file_name);
    if (file_name.ends_with(".conf")) return read_slurm_conf(text, file_name);
    if (is_yaml(text, file_name)) {
        return topology_error(
            file_name, 1, "runs read no YAML; tutti fabric FILE --toml prints what they do read");
    }
    if (file_name.ends_with(".json")) return read_lab_state(text, file_name);
    return read_own(text, file_name);
}

}  // namespace tutti::topo
