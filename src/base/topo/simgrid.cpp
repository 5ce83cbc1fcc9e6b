// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/simgrid.h"

#include <string_view>
#include <vector>

#include "base/text.h"

namespace tutti::topo {
namespace {

// XML has no control characters, not even as numbers.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char letter : text) {
        switch (letter) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += printable(std::string_view(&letter, 1));
        }
    }
    return out;
}

std::string host_line(const SimgridHosts& hosts, uint32_t host) {
    std::string line = "    <host id=\"" + simgrid_host(host) + "\" speed=\"" +
                       std::to_string(hosts.flops_per_s) + "f\" core=\"" +
                       std::to_string(hosts.cores) + "\"";
    if (hosts.names.empty()) return line + "/>\n";
    return line + "><prop id=\"name\" value=\"" + escaped(hosts.names[host]) + "\"/></host>\n";
}

std::string link_line(const std::string& name, uint64_t bits_per_s, uint64_t latency_ns,
                      std::string_view policy) {
    return "    <link id=\"" + name + "\" bandwidth=\"" + std::to_string(bits_per_s) +
           "bps\" latency=\"" + std::to_string(latency_ns) + "ns\" sharing_policy=\"" +
           std::string(policy) + "\"/>\n";
}

std::string memory_name(uint32_t host) { return "memory-" + std::to_string(host); }
std::string link_name(uint32_t link) { return "l" + std::to_string(link); }

void add_route(const Fabric& fabric, uint32_t from, uint32_t to, std::vector<bool>& is_used,
               std::string& text) {
    text += "    <route src=\"" + simgrid_host(from) + "\" dst=\"" + simgrid_host(to) +
            "\" symmetrical=\"NO\">";
    if (from == to) {
        text += "<link_ctn id=\"" + memory_name(from) + "\"/>";
    } else {
        const LinkRoute route = link_route(fabric, from, to);
        for (uint32_t hop = 0; hop < route.hops(); ++hop) {
            is_used[route[hop]] = true;
            text += "<link_ctn id=\"" + link_name(route[hop]) + "\"/>";
        }
    }
    text += "</route>\n";
}

}  // namespace

std::string simgrid_host(uint32_t host) { return "h" + std::to_string(host); }

Result<std::string> print_simgrid(const Fabric& fabric, const SimgridHosts& hosts) {
    TUTTI_ASSERT(hosts.count <= fabric.hosts(), "hosts of the fabric");
    if (hosts.count > kSimgridHostsMax) {
        return Error{ErrorCode::kArgument,
                     std::to_string(hosts.count) + " hosts; a platform has a route for every " +
                         "pair, and at most " + std::to_string(kSimgridHostsMax) + " hosts here"};
    }
    std::vector<bool> is_used(fabric.links());
    std::string routes;
    for (uint32_t from = 0; from < hosts.count; ++from) {
        for (uint32_t to = 0; to < hosts.count; ++to) add_route(fabric, from, to, is_used, routes);
    }
    std::string text =
        "<?xml version='1.0'?>\n"
        "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<platform version=\"4.1\">\n"
        "  <zone id=\"fabric\" routing=\"Full\">\n";
    for (uint32_t host = 0; host < hosts.count; ++host) text += host_line(hosts, host);
    for (uint32_t host = 0; host < hosts.count; ++host) {
        text += link_line(memory_name(host), hosts.memory_bytes_per_s * 8, hosts.memory_latency_ns,
                          "FATPIPE");
    }
    for (uint32_t link = 0; link < fabric.links(); ++link) {
        if (!is_used[link]) continue;
        text += link_line(link_name(link), fabric.link_bits_per_s(link),
                          fabric.link_latency_ns(link), "SHARED");
    }
    return text + routes + "  </zone>\n</platform>\n";
}

}  // namespace tutti::topo
