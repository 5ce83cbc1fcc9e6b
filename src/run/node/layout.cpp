// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/layout.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.h"

namespace tutti::node {
namespace {

void seat_groups(Layout& layout, std::span<const Rank> groups) {
    const auto ranks = static_cast<Rank>(groups.size());
    layout.grouped.resize(ranks);
    std::iota(layout.grouped.begin(), layout.grouped.end(), 0);
    std::stable_sort(layout.grouped.begin(), layout.grouped.end(),
                     [&](Rank a, Rank b) { return groups[a] < groups[b]; });
    layout.seats.resize(ranks);
    for (Rank first = 0, end = 0; first < ranks; first = end) {
        const Rank group = groups[layout.grouped[first]];
        while (end < ranks && groups[layout.grouped[end]] == group) ++end;
        for (Rank at = first; at < end; ++at) {
            layout.seats[layout.grouped[at]] = {first, end - first, at - first};
        }
    }
}

uint32_t busiest_load(const Layout& layout, Rank turns) {
    uint32_t most = 0;
    for (Rank rank = 0; rank < layout.parent.size(); ++rank) {
        uint32_t load = 0;
        for (Rank turn = 0; turn < turns; ++turn) {
            const auto& children = layout.children[role_of(layout, rank, turn, turns)];
            load += static_cast<uint32_t>(children.size()) + (children.empty() ? 0 : 1);
        }
        most = std::max(most, load);
    }
    return most;
}

void weigh_ranks(Layout& layout) {
    const auto ranks = static_cast<Rank>(layout.parent.size());
    for (Rank rank = 0; rank < ranks; ++rank) {
        uint32_t depth = 0;
        for (Rank at = rank; at != layout.root; at = layout.parent[at]) {
            ++depth;
            TUTTI_ASSERT(depth < ranks, "a tree has no circle");
        }
        layout.depth = std::max(layout.depth, depth);
        layout.children_max =
            std::max(layout.children_max, static_cast<Rank>(layout.children[rank].size()));
    }
    layout.load_alone = layout.load_turns = busiest_load(layout, 1);
    // A leader among its children, or among as many others.
    for (const Rank turns : {layout.children_max + 1, layout.children_max}) {
        if (turns < 2) continue;
        const uint32_t load = busiest_load(layout, turns);
        if (load * layout.turns_max >= layout.load_turns * turns) continue;
        layout.turns_max = turns;
        layout.load_turns = load;
    }
}

}  // namespace

Tree tree_from(std::vector<Rank> parent) {
    Tree tree{.parent = std::move(parent), .children = {}};
    tree.children.resize(tree.parent.size());
    for (Rank rank = 0; rank < tree.parent.size(); ++rank) {
        if (tree.parent[rank] != kNoRank) tree.children[tree.parent[rank]].push_back(rank);
    }
    return tree;
}

Layout make_tree(std::span<const Rank> parents, std::span<const Rank> groups) {
    TUTTI_ASSERT(parents.size() == groups.size(), "a group for every rank");
    Layout layout;
    layout.flat = false;
    static_cast<Tree&>(layout) = tree_from({parents.begin(), parents.end()});
    const auto root = std::find(parents.begin(), parents.end(), kNoRank);
    if (root != parents.end()) layout.root = static_cast<Rank>(root - parents.begin());
    seat_groups(layout, groups);
    weigh_ranks(layout);
    return layout;
}

void set_distances(Layout& layout, std::span<const uint32_t> distances) {
    TUTTI_ASSERT(!distances.empty(), "one for every rank");
    layout.distance.assign(distances.begin(), distances.end());
    const auto farthest = std::max_element(distances.begin(), distances.end());
    const bool is_alone = std::count(distances.begin(), distances.end(), *farthest) == 1;
    layout.bridge =
        is_alone && *farthest > 0 ? static_cast<Rank>(farthest - distances.begin()) : kNoRank;
}

namespace {

Rank moved(const Layout::Seat& seat, Rank turn, Rank turns) { return turn * seat.count / turns; }

}  // namespace

Rank actor_of(const Layout& layout, Rank role, Rank turn, Rank turns) {
    const Layout::Seat& seat = layout.seats[role];
    const Rank index = seat.index + moved(seat, turn, turns);
    return layout.grouped[seat.first + (index < seat.count ? index : index - seat.count)];
}

Rank role_of(const Layout& layout, Rank rank, Rank turn, Rank turns) {
    const Layout::Seat& seat = layout.seats[rank];
    const Rank back = moved(seat, turn, turns);
    const Rank index = seat.index >= back ? seat.index - back : seat.index + seat.count - back;
    return layout.grouped[seat.first + index];
}

}  // namespace tutti::node
