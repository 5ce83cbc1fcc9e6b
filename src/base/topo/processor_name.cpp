// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/topo/node_topology.h"

namespace tutti::topo {

std::string processor_name(const std::string& root) {
    const Fd file(open((root + "/proc/cpuinfo").c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return {};
    // The first processor's lines are enough; the kernel makes no more of them than are read.
    char block[4096];
    const ssize_t bytes = read(file.get(), block, sizeof block);
    if (bytes <= 0) return {};
    for (const std::string_view line : split({block, static_cast<size_t>(bytes)}, '\n')) {
        // "model name\t: AMD EPYC ..."; on POWER "cpu\t\t: POWER9, ...".
        const bool is_wanted = line.starts_with("model name\t") || line.starts_with("cpu\t");
        const size_t colon = line.find(": ");
        if (is_wanted && colon != std::string_view::npos)
            return std::string(line.substr(colon + 2));
    }
    return {};
}

}  // namespace tutti::topo
