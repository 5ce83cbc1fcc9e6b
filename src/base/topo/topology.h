// SPDX-License-Identifier: BSD-3-Clause
// A cluster as a file or tool describes it: hosts, switches and the links between them. Any
// connected graph; what algorithms want is a tree (base/topo/switch_tree.h). Readers are in
// src/base/topo/read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace tutti::topo {

// More is a mistake in a file: no cluster has as many. Lists make many names of a few letters, so
// the last one also bounds the memory that a short file takes, to some hundred MB.
inline constexpr uint32_t kHostsMax = 1u << 18;
inline constexpr uint32_t kSwitchesMax = 1u << 16;
inline constexpr size_t kNameBytesMax = 255;     // of a host or switch, and of a rack or chassis
inline constexpr uint32_t kAdaptersMax = 64;     // of a host
inline constexpr uint32_t kLinksMax = 1u << 21;  // parallel ones are one
// Parallel links of one rate and latency: what a file may say, so that what is printed can be read.
inline constexpr uint32_t kParallelMax = 1024;

struct Topology {
    struct Host {
        std::string name;
        uint32_t adapters = 1;  // a builder's 0: as many as it has links
        uint32_t line = 0;      // of the file, for messages; 0: none
        bool operator==(const Host&) const = default;
    };
    struct Switch {
        std::string name;
        // Where known; empty else.
        std::string chassis;
        std::string rack;
        uint32_t line = 0;
        bool operator==(const Switch&) const = default;
    };
    // `count` parallel links of one rate; a flow gets one of them. Ends are numbers of hosts, or
    // hosts.size() and the number of a switch; at least one end is a switch.
    struct Link {
        uint32_t one = 0;
        uint32_t other = 0;
        uint32_t count = 1;
        uint64_t bits_per_s = 0;  // of each, each way; 0: not known
        uint64_t latency_ns = 0;  // 0: not known
        uint32_t line = 0;
        bool operator==(const Link&) const = default;
    };
    std::string source;  // the file's name
    std::vector<Host> hosts;
    std::vector<Switch> switches;
    std::vector<Link> links;

    [[nodiscard]] uint32_t vertices() const {
        return static_cast<uint32_t>(hosts.size() + switches.size());
    }
    [[nodiscard]] bool is_host(uint32_t vertex) const { return vertex < hosts.size(); }
    [[nodiscard]] const std::string& name_of(uint32_t vertex) const {
        return is_host(vertex) ? hosts[vertex].name : switches[vertex - hosts.size()].name;
    }
    [[nodiscard]] uint32_t line_of(uint32_t vertex) const {
        return is_host(vertex) ? hosts[vertex].line : switches[vertex - hosts.size()].line;
    }
};

// "FILE:LINE: what", one line.
Error topology_error(const std::string& source, uint32_t line, const std::string& what);

// Makes a topology, name by name; what is wrong is told with its line. Limits are kept.
class TopologyBuilder {
  public:
    explicit TopologyBuilder(std::string source);

    // The number of a new host or switch. Its name must be new among those of its kind and of the
    // other.
    Result<uint32_t> add_host(std::string_view name, uint32_t line);
    Result<uint32_t> add_switch(std::string_view name, uint32_t line);
    // By numbers that were given out here, of hosts and switches.
    struct End {
        bool is_host = false;
        uint32_t number = 0;
    };
    // count > 0. Entries between the same two with the same rate and latency are one, which counts
    // them.
    Result<Done> add_link(End one, End other, Topology::Link link);

    [[nodiscard]] const End* find(std::string_view name) const;
    Topology::Host& host(uint32_t number) { return hosts_[number]; }
    Topology::Switch& at_switch(uint32_t number) { return switches_[number]; }
    [[nodiscard]] Error wrong(uint32_t line, const std::string& what) const;

    // Everything hangs together, and there is a host; the first that does not is named. Hosts that
    // hang on nothing are an error too, unless there is one host and nothing else.
    Result<Topology> finish();

  private:
    Result<Done> add_name(std::string_view name, uint32_t line, End end);
    [[nodiscard]] const std::string& name_of(End end) const;

    std::string source_;
    std::vector<Topology::Host> hosts_;
    std::vector<Topology::Switch> switches_;
    struct Wire {
        End one;
        End other;
        Topology::Link link;
    };
    std::vector<Wire> wires_;
    std::unordered_map<std::string, End> ends_;
    // What wires that are one have in common.
    struct WireKey {
        uint64_t ends = 0;
        uint64_t bits_per_s = 0;
        uint64_t latency_ns = 0;
        bool operator==(const WireKey&) const = default;
    };
    struct WireHash {
        size_t operator()(const WireKey& key) const;
    };
    std::unordered_map<WireKey, uint32_t, WireHash> wire_of_;
};

}  // namespace tutti::topo
