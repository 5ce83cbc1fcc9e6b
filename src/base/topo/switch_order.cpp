// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/switch_order.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.h"

namespace tutti::topo {

std::vector<uint32_t> SwitchOrder::make_groups(const SwitchTree& tree) {
    const auto add = [this](uint32_t parent) {
        const uint32_t depth = parent == kNoNode ? 0 : groups_[parent].depth + 1;
        groups_.push_back({parent, depth, 0, 0});
        return static_cast<uint32_t>(groups_.size()) - 1;
    };
    // By a switch and a chassis: how many of that hang on it, and their group.
    std::map<std::pair<uint32_t, uint32_t>, std::pair<uint32_t, uint32_t>> chassis;
    std::vector<uint32_t> below(tree.nodes.size());
    for (const SwitchTree::Node& node : tree.nodes) {
        if (node.parent == kNoNode) continue;
        ++below[node.parent];
        if (node.chassis != kNoNode) ++chassis[{node.parent, node.chassis}].first;
    }
    std::vector<uint32_t> group_of;
    for (const SwitchTree::Node& node : tree.nodes) {
        uint32_t above = node.parent == kNoNode ? kNoNode : group_of[node.parent];
        const auto shared = chassis.find({node.parent, node.chassis});
        if (shared != chassis.end()) {
            auto& [count, group] = shared->second;
            const bool is_some = count > 1 && count < below[node.parent];
            if (is_some && group == 0) group = add(above);  // 0 is the root's
            if (is_some) above = group;
        }
        group_of.push_back(add(above));
    }
    return group_of;
}

SwitchOrder::SwitchOrder(const SwitchTree& tree) {
    const auto count = static_cast<uint32_t>(tree.place_of_host.size());
    TUTTI_ASSERT(count > 0, "a team has nodes");
    const std::vector<uint32_t> group_of = make_groups(tree);
    const auto groups = static_cast<uint32_t>(groups_.size());
    // Of each group: the lowest node below it, how many nodes it has itself, and how many things
    // hang on it.
    std::vector<uint32_t> lowest(groups, kNoNode);
    std::vector<uint32_t> on(groups, 0);
    for (uint32_t node = count; node-- > 0;) {
        const uint32_t at = group_of[tree.place_of_host[node].node];
        lowest[at] = node;
        ++on[at];
    }
    std::vector<uint32_t> children(on);
    for (uint32_t at = groups; at-- > 1;) {
        const uint32_t parent = groups_[at].parent;
        if (lowest[at] == kNoNode) continue;
        lowest[parent] = std::min(lowest[parent], lowest[at]);
        ++children[parent];
    }
    for (uint32_t at = 0, next = 0; at < groups; ++at) {
        groups_[at].first = groups_[at].end = next;
        next += children[at];
    }
    // What it is: nodes, and from `count` on groups.
    std::vector<uint32_t> child(count + groups);
    for (uint32_t node = 0; node < count; ++node) {
        child[groups_[group_of[tree.place_of_host[node].node]].end++] = node;
    }
    for (uint32_t at = 1; at < groups; ++at) {
        if (lowest[at] != kNoNode) child[groups_[groups_[at].parent].end++] = count + at;
    }
    const auto first_of = [&](uint32_t one) { return one < count ? one : lowest[one - count]; };
    for (const Group& group : groups_) {
        std::sort(child.begin() + group.first, child.begin() + group.end,
                  [&](uint32_t a, uint32_t b) { return first_of(a) < first_of(b); });
    }
    // The walk itself: the group it is in, and the child that comes next.
    starts_.resize(child.size());
    nodes_.reserve(count);
    group_of_.reserve(count);
    std::vector<std::pair<uint32_t, uint32_t>> way{{0, groups_[0].first}};
    while (!way.empty()) {
        auto& [group, next] = way.back();
        if (next == groups_[group].end) {
            way.pop_back();
            continue;
        }
        const uint32_t here = next++;
        starts_[here] = static_cast<uint32_t>(nodes_.size());
        if (child[here] < count) {
            is_identity_ = is_identity_ && child[here] == nodes_.size();
            nodes_.push_back(child[here]);
            group_of_.push_back(group);
        } else {
            const uint32_t below = child[here] - count;
            way.emplace_back(below, groups_[below].first);
        }
    }
    TUTTI_ASSERT(nodes_.size() == count, "every node is met once");
    count_leaves(on);
}

SwitchOrder::SwitchOrder(const SwitchOrder& of_nodes, std::span<const uint32_t> sizes,
                         std::span<const uint32_t> things)
    : nodes_(things.begin(), things.end()), groups_(of_nodes.groups_) {
    TUTTI_ASSERT(sizes.size() == of_nodes.nodes_.size(), "a size for each node");
    std::vector<uint32_t> first;  // by position of a node
    std::vector<uint32_t> on(groups_.size(), 0);
    for (uint32_t position = 0, next = 0; position < sizes.size(); ++position) {
        TUTTI_ASSERT(sizes[position] > 0, "a node holds something");
        first.push_back(next);
        next += sizes[position];
    }
    for (const uint32_t start : of_nodes.starts_) starts_.push_back(first[start]);
    for (uint32_t position = 0; position < sizes.size(); ++position) {
        const uint32_t parent = of_nodes.group_of_[position];
        const auto group = static_cast<uint32_t>(groups_.size());
        const auto begin = static_cast<uint32_t>(starts_.size());
        groups_.push_back({parent, groups_[parent].depth + 1, begin, begin + sizes[position]});
        on.push_back(sizes[position]);
        for (uint32_t i = 0; i < sizes[position]; ++i) {
            starts_.push_back(first[position] + i);
            group_of_.push_back(group);
        }
    }
    TUTTI_ASSERT(group_of_.size() == nodes_.size(), "all that the nodes hold");
    is_identity_ = std::is_sorted(nodes_.begin(), nodes_.end());
    count_leaves(on);
}

void SwitchOrder::count_leaves(std::span<const uint32_t> nodes_of_group) {
    nodes_min_ = static_cast<uint32_t>(nodes_.size());
    for (const uint32_t nodes : nodes_of_group) {
        if (nodes == 0) continue;
        ++leaves_;
        nodes_max_ = std::max(nodes_max_, nodes);
        nodes_min_ = std::min(nodes_min_, nodes);
    }
}

uint32_t SwitchOrder::switch_of(uint32_t begin, uint32_t end) const {
    uint32_t low = group_of_[begin];
    uint32_t high = group_of_[end - 1];
    while (low != high) {
        uint32_t& deeper = groups_[low].depth >= groups_[high].depth ? low : high;
        deeper = groups_[deeper].parent;
    }
    return low;
}

uint32_t SwitchOrder::middle(uint32_t begin, uint32_t end) const {
    TUTTI_ASSERT(begin + 1 < end && end <= nodes_.size(), "something to cut");
    const Group& lowest = groups_[switch_of(begin, end)];
    const auto from = starts_.begin() + lowest.first;
    const auto to = starts_.begin() + lowest.end;
    const auto first = std::lower_bound(from, to, begin);
    const auto last = std::lower_bound(first, to, end);
    TUTTI_ASSERT(last - first > 1 && *first == begin, "what some children of one switch hold");
    const uint32_t half = begin + (end - begin + 1) / 2;
    const auto behind = std::lower_bound(first + 1, last, half);
    if (behind == last) return *(last - 1);
    if (behind == first + 1) return *behind;
    // Twice the middle may be odd.
    return *behind + *(behind - 1) > begin + end ? *(behind - 1) : *behind;
}

}  // namespace tutti::topo
