// SPDX-License-Identifier: BSD-3-Clause
// Hosts and switches with virtual time: what a simulated message passes, and how long that takes.
//
// Switches form a tree and hosts hang on switches. Every link is two one-way links, each carrying
// one message at a time, in the order in which they come to it. Messages cut through: the head goes
// on as soon as it has a link, and no link passes the tail before the one behind it has. Switches
// hold whatever must wait. So alone between two hosts on one switch a message takes
//     latency_ns + bytes * 8 / (the least rate on its way).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::transport::sim {

inline constexpr uint32_t kNoSwitch = UINT32_MAX;
// Levels of switches, one above the other.
inline constexpr uint32_t kDepthMax = 7;
inline constexpr uint32_t kHopsMax = 2 * kDepthMax;

struct Network {
    std::vector<uint32_t> parent_of_switch;  // kNoSwitch at the root
    std::vector<uint32_t> switch_of_host;
    uint64_t host_bits_per_s = 100'000'000'000;   // of each link between a host and its switch
    uint64_t trunk_bits_per_s = 100'000'000'000;  // of each link between switches
    // From a host to another on the same switch; a link takes half of it.
    uint64_t latency_ns = 1000;
    // What each posted message costs the processor that posts it.
    uint64_t overhead_ns = 0;
    // Longer messages wait for their receive before they set out (rendezvous): a request and its
    // answer pass first, without load. Sends of shorter ones are complete when they have left.
    size_t eager_bytes_max = 65536;
    // Messages between ranks of one host, which do not load each other.
    uint64_t memory_ns = 300;
    uint64_t memory_bytes_per_s = 8'000'000'000;

    // A multicast sets out when all members have the one of so many numbers before: the slots of a
    // node's ring.
    uint32_t multicast_slots = 64;

    static Network one_switch(uint32_t hosts);
    // hosts_of_leaf[i] hosts on leaf i, ascending; above several leaves one switch.
    static Network leaves(std::span<const uint32_t> hosts_of_leaf);

    [[nodiscard]] uint32_t hosts() const { return static_cast<uint32_t>(switch_of_host.size()); }
    [[nodiscard]] uint32_t switches() const {
        return static_cast<uint32_t>(parent_of_switch.size());
    }
    // One-way links: up and down of every host, then up and down of every switch.
    [[nodiscard]] uint32_t links() const { return 2 * (hosts() + switches()); }
    [[nodiscard]] uint64_t link_bits_per_s(uint32_t link) const {
        return link < 2 * hosts() ? host_bits_per_s : trunk_bits_per_s;
    }
    // Rates above zero, times long enough that a message never comes when it leaves, and switches
    // that form one tree of at most kDepthMax levels.
    [[nodiscard]] bool is_valid() const;
};

// The links from one host to another, in order.
class Route {
  public:
    [[nodiscard]] uint32_t hops() const { return hops_; }
    uint32_t operator[](uint32_t hop) const { return links_[hop]; }
    void add(uint32_t link) { links_[hops_++] = link; }

  private:
    std::array<uint32_t, kHopsMax> links_{};
    uint32_t hops_ = 0;
};
Route route(const Network& network, uint32_t from_host, uint32_t to_host);

// Nanoseconds for so many, rounded up. In three steps of a thousand, since in one the product would
// be too large from 18 GB on, which a node may well copy. At most 2^54 a second.
constexpr uint64_t amount_ns(uint64_t amount, uint64_t amount_per_s) {
    uint64_t ns = amount / amount_per_s;
    uint64_t rest = amount % amount_per_s;
    for (int step = 0; step < 3; ++step) {
        rest *= 1000;
        ns = ns * 1000 + rest / amount_per_s;
        rest %= amount_per_s;
    }
    return rest == 0 ? ns : ns + 1;
}
constexpr uint64_t bits_ns(size_t bytes, uint64_t bits_per_s) {
    return amount_ns(uint64_t{bytes} * 8, bits_per_s);
}
constexpr uint64_t bytes_ns(size_t bytes, uint64_t bytes_per_s) {
    return amount_ns(bytes, bytes_per_s);
}

}  // namespace tutti::transport::sim
