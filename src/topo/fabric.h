// SPDX-License-Identifier: BSD-3-Clause
// A fabric: hosts, the switches that they hang on, and the links between them with their rates. One
// description for all who ask: the simulated network runs on it, prices are counted on it.
//
// Switches form a tree and hosts hang on switches. Every link is two one-way links.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::topo {

inline constexpr uint32_t kNoSwitch = UINT32_MAX;
// Levels of switches, one above the other.
inline constexpr uint32_t kSwitchLevelsMax = 7;
inline constexpr uint32_t kHopsMax = 2 * kSwitchLevelsMax;

struct Fabric {
    std::vector<uint32_t> parent_of_switch;  // kNoSwitch at the root
    std::vector<uint32_t> switch_of_host;
    uint64_t host_bits_per_s = 100'000'000'000;   // of each link between a host and its switch
    uint64_t trunk_bits_per_s = 100'000'000'000;  // of each link between switches
    // From a host to another on the same switch; a link takes half of it.
    uint64_t latency_ns = 1000;

    static Fabric one_switch(uint32_t hosts);
    // hosts_of_leaf[i] hosts on leaf i, ascending; above several leaves one switch.
    static Fabric leaves(std::span<const uint32_t> hosts_of_leaf);

    [[nodiscard]] uint32_t hosts() const { return static_cast<uint32_t>(switch_of_host.size()); }
    [[nodiscard]] uint32_t switches() const {
        return static_cast<uint32_t>(parent_of_switch.size());
    }
    // By switch: how many hosts hang on it.
    [[nodiscard]] std::vector<uint32_t> hosts_of_switch() const;
    // One-way links: up and down of every host, then up and down of every switch.
    [[nodiscard]] uint32_t links() const { return 2 * (hosts() + switches()); }
    [[nodiscard]] uint64_t link_bits_per_s(uint32_t link) const {
        return link < 2 * hosts() ? host_bits_per_s : trunk_bits_per_s;
    }
    // Rates above zero, times long enough that a message never comes when it leaves, and switches
    // that form one tree of at most kSwitchLevelsMax levels.
    [[nodiscard]] bool is_valid() const;
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

}  // namespace tutti::topo
