// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/halving.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "plan/algo/algorithms.h"

namespace tutti::algo {

// Cuts intervals as all ranks do alike.
class HalvingTree::Cutter {
  public:
    struct Part {
        Interval interval;
        uint32_t cuts = 0;        // that made it
        bool goes_along = false;  // the switches; what was once halved without them is halved on
        [[nodiscard]] sched::Rank size() const { return interval.end - interval.begin; }
    };
    // Of one group of levels.
    struct Parts {
        std::array<Part, 1u << kLevelsMax>
            parts;  // the farthest from the leader first, its own last
        uint32_t count = 0;
    };

    explicit Cutter(const topo::SwitchOrder* switches) : switches_(switches) {}

    [[nodiscard]] Parts group(const Part& top, uint32_t levels) const {
        Parts out;
        add(top, top, levels, out);
        return out;
    }

  private:
    [[nodiscard]] bool is_of(const Part& part, const Part& top) const {
        if (!part.goes_along) return true;
        const Interval& a = part.interval;
        const Interval& b = top.interval;
        return switches_->switch_of(a.begin, a.end) == switches_->switch_of(b.begin, b.end);
    }

    void add(const Part& part, const Part& top, uint32_t levels, Parts& out) const {
        const sched::Rank leader = top.interval.leader;
        const bool has_leader = part.interval.leader == leader;
        if (levels == 0 || part.size() == 1 || !(has_leader || is_of(part, top))) {
            out.parts[out.count++] = part;
            return;
        }
        auto [mine, other] = cut(part);
        // Of what is not the leader's the half that is nearer to it comes later.
        if (!has_leader && part.interval.begin < leader) std::swap(mine, other);
        add(other, top, levels - 1, out);
        add(mine, top, levels - 1, out);
    }

    // The leader's half, and the other one.
    [[nodiscard]] std::pair<Part, Part> cut(const Part& part) const {
        const Interval& now = part.interval;
        // As many cuts as halving takes are kept for it.
        const bool goes_along = part.goes_along && part.cuts + ceil_log2(part.size()) < kDepthMax;
        const sched::Rank middle =
            goes_along ? switches_->middle(now.begin, now.end) : now.begin + (part.size() + 1) / 2;
        Interval mine{now.begin, middle, now.leader};
        Interval other{middle, now.end, middle};
        if (now.leader >= middle) {
            mine = {middle, now.end, now.leader};
            other = {now.begin, middle, now.begin};
        }
        return {{mine, part.cuts + 1, goes_along}, {other, part.cuts + 1, goes_along}};
    }

    const topo::SwitchOrder* switches_;
};

HalvingTree::HalvingTree(sched::Rank p, sched::Rank root, sched::Rank rank,
                         const topo::SwitchOrder* switches, uint32_t levels)
    : own_{0, p, root}, parent_(root) {
    const Cutter cutter(switches);
    Cutter::Part now{own_, 0, switches != nullptr};
    uint32_t children = 0;  // of the one who leads it
    while (now.size() > 1) {
        // One by one where more would be too many children.
        const bool has_room = children + (1u << levels) + ceil_log2(now.size()) <= kDepthMax;
        const Cutter::Parts cut = cutter.group(now, has_room ? levels : 1);
        const sched::Rank leader = now.interval.leader;
        now = cut.parts[cut.count - 1];
        children += cut.count - 1;
        for (uint32_t i = 0; i + 1 < cut.count; ++i) {
            const Interval& other = cut.parts[i].interval;
            if (leader == rank) {
                TUTTI_ASSERT(children_ < kDepthMax, "see I2");
                child_[children_++] = other;
            }
            if (rank < other.begin || rank >= other.end) continue;
            // Only ever before this rank leads, so that it has no children yet.
            parent_ = leader;
            now = cut.parts[i];
            children = 0;
        }
        if (now.interval.leader == rank && children_ == 0) own_ = now.interval;
    }
}

uint64_t largest_subtree_bytes(const sched::Shape& shape, const Tuning& tuning) {
    // All subtrees lie within those of the root's children; who leads only itself holds nothing.
    const HalvingTree root(shape, shape.root, tuning);
    uint64_t bytes_max = 0;
    for (uint32_t j = 0; j < root.children(); ++j) {
        const Interval& child = root.child(j);
        if (child.end - child.begin == 1) continue;
        bytes_max = std::max(bytes_max, interval_bytes(shape, child));
    }
    return bytes_max;
}

std::string_view if_subtree_too_long(const sched::Shape& shape) {
    const HalvingTree root(shape, shape.root);
    for (uint32_t j = 0; j < root.children(); ++j) {
        if (interval_bytes(shape, root.child(j)) > sched::kBlockBytesMax) return kTooLong;
    }
    return {};
}

}  // namespace tutti::algo
