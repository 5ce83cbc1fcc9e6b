// SPDX-License-Identifier: BSD-3-Clause
// A fabric: hosts, the switches that they hang on, and the links between them with their rates. One
// description for all uses: the simulated network runs on it, prices are counted on it.
//
// Switches form a tree and hosts hang on switches, each by one link; between two switches there may
// be several, side by side. Every link is two one-way links.
//
// Of parallel links a message takes the one whose number is the receiving host's (number_of_host)
// modulo their number: static routing by destination, as InfiniBand's subnet managers fill their
// tables in the order of hosts. So two messages may meet on one link while another is idle, as they
// do there.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/topo/trunk.h"

namespace tutti::topo {

inline constexpr uint32_t kNoSwitch = UINT32_MAX;
// Levels of switches, one above the other. Real clusters have three or four; descriptions of a
// cluster may be chains.
inline constexpr uint32_t kSwitchLevelsMax = 16;
inline constexpr uint32_t kHopsMax = 2 * kSwitchLevelsMax;
// One-way links of a fabric: what is counted by link still fits into memory.
inline constexpr uint64_t kFabricLinksMax = uint64_t{1} << 24;

class Fabric {
  public:
    std::vector<uint32_t> parent_of_switch;  // kNoSwitch at the root
    std::vector<uint32_t> switch_of_host;
    // By host: its number where tables of routes are made, which is not that in a job; empty: that
    // one.
    std::vector<uint32_t> number_of_host;
    // Of links of which nothing else is said below.
    uint64_t host_bits_per_s = 100'000'000'000;   // of each link between a host and its switch
    uint64_t trunk_bits_per_s = 100'000'000'000;  // of each link between switches
    // From a host to another on the same switch; a link takes half of it.
    uint64_t latency_ns = 1000;
    // Of each link between switches, one way; 0: half of that, too.
    uint64_t trunk_latency_ns = 0;

    static Fabric one_switch(uint32_t hosts);
    // hosts_of_leaf[i] hosts on leaf i, ascending; above several leaves one switch.
    static Fabric leaves(std::span<const uint32_t> hosts_of_leaf);

    // Links of rates and latencies of their own, those that are 0 being as above: one by host, and
    // one by switch to the switch above it, the root's without meaning. A host has one link,
    // between switches there is at least one. When all hosts and switches are there.
    void set_host_links(std::vector<Trunk> links);
    void set_switch_links(std::vector<Trunk> links);

    [[nodiscard]] uint32_t number_of(uint32_t host) const {
        return number_of_host.empty() ? host : number_of_host[host];
    }
    [[nodiscard]] uint32_t hosts() const { return static_cast<uint32_t>(switch_of_host.size()); }
    [[nodiscard]] uint32_t switches() const {
        return static_cast<uint32_t>(parent_of_switch.size());
    }
    // By switch: how many hosts hang on it.
    [[nodiscard]] std::vector<uint32_t> hosts_of_switch() const;
    // Parallel links from a switch to the one above it.
    [[nodiscard]] uint32_t links_up(uint32_t at) const {
        return switch_links_.empty() ? 1 : switch_links_[at].links;
    }

    // One-way links: up and down of every host, then of every link above every switch. Up is even,
    // down of the same link one more. The root has a link's numbers, too, that nothing takes.
    [[nodiscard]] uint32_t links() const { return first_link(switches()); }
    [[nodiscard]] bool is_host_link(uint32_t link) const { return link < 2 * hosts(); }
    // The first way up from a switch; its parallel links follow.
    [[nodiscard]] uint32_t first_link(uint32_t at) const {
        return 2 * (hosts() + (links_before_.empty() ? at : links_before_[at]));
    }
    // Of a link between switches: the one below it, and its number among the parallel ones.
    [[nodiscard]] uint32_t switch_below(uint32_t link) const;
    [[nodiscard]] uint32_t number_of_parallel(uint32_t link) const {
        return (link - first_link(switch_below(link))) / 2;
    }
    [[nodiscard]] uint64_t link_bits_per_s(uint32_t link) const;
    // An odd latency's last nanosecond belongs to the ways down.
    [[nodiscard]] uint64_t link_latency_ns(uint32_t link) const;
    // All links have the same, but for that.
    [[nodiscard]] bool has_one_latency() const;

    // Rates above zero, times long enough that a message never comes when it leaves, and switches
    // that form one tree of at most kSwitchLevelsMax levels.
    [[nodiscard]] bool is_valid() const;

  private:
    [[nodiscard]] const Trunk* own_link(uint32_t link) const;

    std::vector<Trunk> host_links_;       // by host; or none
    std::vector<Trunk> switch_links_;     // by switch; or none
    std::vector<uint32_t> links_before_;  // by switch, and one more: links above those before it
};

// The links from one host to another, in order.
class LinkRoute {
  public:
    [[nodiscard]] uint32_t hops() const { return hops_; }
    uint32_t operator[](uint32_t hop) const { return links_[hop]; }
    void add(uint32_t link) { links_[hops_++] = link; }

  private:
    std::array<uint32_t, kHopsMax> links_{};
    uint32_t hops_ = 0;
};
LinkRoute link_route(const Fabric& fabric, uint32_t from_host, uint32_t to_host);
// What the way takes without load, beside what the bytes take.
uint64_t route_latency_ns(const Fabric& fabric, const LinkRoute& route);

}  // namespace tutti::topo
