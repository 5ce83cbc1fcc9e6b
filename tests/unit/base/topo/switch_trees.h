// SPDX-License-Identifier: BSD-3-Clause
// Trees of switches made up for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/prng.h"
#include "base/topo/switch_tree.h"

namespace tutti::topo::test {

// Any tree of so many switches, numbered depth first, with hosts anywhere on them.
inline SwitchTree random_switches(Prng& prng, uint32_t switches, uint32_t hosts) {
    SwitchTree tree;
    tree.nodes.emplace_back();
    for (uint32_t at = 1; at < switches; ++at) {
        // Some switch on the way from the last one up to the root.
        uint32_t parent = at - 1;
        while (tree.nodes[parent].parent != kNoNode && prng.below(3) != 0) {
            parent = tree.nodes[parent].parent;
        }
        const auto chassis = static_cast<uint32_t>(prng.below(6));
        tree.nodes.push_back(
            {parent, {1, 1'000'000'000, 0}, {at}, chassis < 3 ? chassis : kNoNode});
    }
    for (uint32_t host = 0; host < hosts; ++host) {
        tree.place_of_host.push_back({static_cast<uint32_t>(prng.below(switches)), {}});
    }
    return tree;
}

// Leaves under one switch.
inline SwitchTree two_levels(const std::vector<uint32_t>& leaf_of_host) {
    SwitchTree tree;
    tree.nodes.emplace_back();
    const uint32_t leaves = *std::max_element(leaf_of_host.begin(), leaf_of_host.end()) + 1;
    for (uint32_t leaf = 0; leaf < leaves; ++leaf)
        tree.nodes.push_back({0, {1, 0, 0}, {}, kNoNode});
    for (const uint32_t leaf : leaf_of_host) tree.place_of_host.push_back({leaf + 1, {}});
    return tree;
}

// Whether a switch is the other one or below it.
inline bool is_below(const SwitchTree& tree, uint32_t at, uint32_t top) {
    while (at != kNoNode && at != top) at = tree.nodes[at].parent;
    return at == top;
}

// Messages that pass the link above each switch: entry 2 i upwards from switch i, 2 i + 1 down to
// it. By brute force: whoever is below and whoever is not.
inline void add_message(const SwitchTree& tree, uint32_t from_host, uint32_t to_host,
                        std::vector<uint64_t>& passed) {
    passed.resize(2 * tree.nodes.size());
    const auto climb = [&](uint32_t from, uint32_t to, uint32_t way) {
        for (uint32_t at = from; !is_below(tree, to, at); at = tree.nodes[at].parent) {
            ++passed[2 * at + way];
        }
    };
    const uint32_t from = tree.place_of_host[from_host].node;
    const uint32_t to = tree.place_of_host[to_host].node;
    climb(from, to, 0);
    climb(to, from, 1);
}

}  // namespace tutti::topo::test
