// SPDX-License-Identifier: BSD-3-Clause
// A fabric as a platform of SimGrid 3.32: hosts, one-way links, and the route of every pair.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/topo/fabric.h"

namespace tutti::topo {

// The file has a route for every pair of hosts: 512 make some 50 MB of it.
inline constexpr uint32_t kSimgridHostsMax = 512;

struct SimgridHosts {
    uint32_t count = 0;  // the fabric's first
    uint32_t cores = 1;  // of each
    uint64_t flops_per_s = 1'000'000'000;
    // Between ranks of one host: a message, whatever else is under way.
    uint64_t memory_bytes_per_s = 8'000'000'000;
    uint64_t memory_latency_ns = 100;
    std::span<const std::string> names = {};  // or none
};

// "h3": names in platforms, since a name of a host may be that of a link or a zone, too.
std::string simgrid_host(uint32_t host);

// Routes are those of link_route(): by destination over parallel links. An error where there are
// too many hosts.
Result<std::string> print_simgrid(const Fabric& fabric, const SimgridHosts& hosts);

}  // namespace tutti::topo
