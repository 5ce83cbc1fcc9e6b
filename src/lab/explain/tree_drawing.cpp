// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/tree_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "lab/check/link_load.h"
#include "lab/explain/schedule_cost.h"
#include "lab/explain/svg.h"
#include "plan/algo/plan.h"

namespace tutti::explain {
namespace {

// More are dots and lines, not a drawing.
constexpr size_t kStepsMax = 64;
constexpr size_t kTreeHostsMax = 128;
constexpr size_t kTreeNodesMax = 64;

// Pixels.
constexpr int kSheetWidth = 1600;  // as long as one tree is not wider
constexpr int kHostWidth = 24;
constexpr int kSwitchWidth = 84;
constexpr int kSwitchHeight = 20;
constexpr int kLevel = 74;
constexpr int kHostDrop = 46;  // from a switch's box down to its hosts
constexpr int kHostRadius = 4;
constexpr int kHostText = 18;  // below a host
constexpr int kBesideWay = 3;  // of the two ways of a link from its middle
constexpr int kSheetTop = 72;  // title and legend
constexpr int kStepTop = 30;   // a step's heading
constexpr int kGap = 28;       // between two trees
constexpr int kLetterWidth = 8;
constexpr size_t kSwitchLetters = 12;

// By pairs of ranks with messages on a link: none, one, two, more. Told apart by people who see few
// colours, too (Okabe, Ito 2008).
constexpr auto kLoadColours =
    std::to_array<std::string_view>({"#cccccc", "#0072b2", "#e69f00", "#d55e00"});

std::string_view load_colour(uint64_t pairs) {
    return kLoadColours[std::min<uint64_t>(pairs, kLoadColours.size() - 1)];
}

// One way of the links above a host or switch.
struct Way {
    uint64_t most = 0;  // pairs of ranks on one of the links side by side
    uint64_t messages = 0;
    uint64_t bytes = 0;
};

class TreeDrawing : Svg {
  public:
    TreeDrawing(const HostsOnFabric& hosts, const std::vector<std::vector<check::Passage>>& steps)
        : view_(hosts.view),
          fabric_(hosts.fabric),
          placement_(hosts.placement),
          steps_(steps),
          depth_(view_.tree.nodes.size()),
          x_of_node_(view_.tree.nodes.size()),
          x_of_host_(view_.names.size()),
          hosts_of_node_(view_.tree.nodes.size()),
          children_(view_.tree.nodes.size()) {
        for (uint32_t node = 1; node < depth_.size(); ++node) {
            const uint32_t parent = view_.tree.nodes[node].parent;
            depth_[node] = depth_[parent] + 1;
            children_[parent].push_back(node);
        }
        for (uint32_t host = 0; host < x_of_host_.size(); ++host) {
            hosts_of_node_[view_.tree.place_of_host[host].node].push_back(host);
        }
        width_ = place(0, 0);
        const uint32_t deepest = *std::max_element(depth_.begin(), depth_.end());
        height_ =
            kStepTop + static_cast<int>(deepest) * kLevel + kSwitchHeight + kHostDrop + kHostText;
    }

    std::string whole(const std::string& title) {
        const int fitting = std::max(1, kSheetWidth / (width_ + kGap));
        const int count = std::max(1, static_cast<int>(steps_.size()));
        const int columns = std::min(fitting, count);
        const int rows = (count + columns - 1) / columns;
        const int width = std::max(2 * kMargin + columns * (width_ + kGap),
                                   2 * kMargin + kLetterWidth * static_cast<int>(title.size()));
        begin(width, kSheetTop + rows * (height_ + kGap), title);
        put_legend();
        for (int step = 0; step < static_cast<int>(steps_.size()); ++step) {
            put_step(static_cast<size_t>(step), kMargin + step % columns * (width_ + kGap),
                     kSheetTop + step / columns * (height_ + kGap));
        }
        return end();
    }

  private:
    // Own hosts first, then what is below; returns the width. At most as deep as a fabric may be.
    int place(uint32_t node, int left) {
        int right = left;
        int first = -1;
        int last = 0;
        const auto add = [&](int middle) {
            if (first < 0) first = middle;
            last = middle;
        };
        for (const uint32_t host : hosts_of_node_[node]) {
            x_of_host_[host] = right + kHostWidth / 2;
            add(x_of_host_[host]);
            right += kHostWidth;
        }
        for (const uint32_t child : children_[node]) {
            right += place(child, right);
            add(x_of_node_[child]);
        }
        const int missing = std::max(0, kSwitchWidth + 8 - (right - left));
        shift(node, missing / 2);
        x_of_node_[node] =
            first < 0 ? left + kSwitchWidth / 2 + 4 : (first + last) / 2 + missing / 2;
        return right - left + missing;
    }

    // Moves what is below a node, whose box is wider than that.
    void shift(uint32_t node, int by) {
        if (by == 0) return;
        for (const uint32_t host : hosts_of_node_[node]) x_of_host_[host] += by;
        for (const uint32_t child : children_[node]) {
            x_of_node_[child] += by;
            shift(child, by);
        }
    }

    void put_legend() {
        int x = kMargin;
        const auto words = std::to_array<std::string_view>(
            {"no message", "one pair's", "two on one link", "more on one link"});
        for (size_t load = 0; load < words.size(); ++load) {
            put(R"(<path d="M{} 46h18" stroke="{}" stroke-width="3"/>)", x, kLoadColours[load]);
            put(R"(<text x="{}" y="50">{}</text>)", x + 24, words[load]);
            x += 134;
        }
        put(R"(<text x="{}" y="50" fill="#555555">left: up, right: down</text>)", x);
    }

    void put_step(size_t step, int left, int top) {
        load_ = check::step_load(fabric_, placement_, steps_[step]);
        uint64_t most = 0;
        for (const check::Load& one : load_) most = std::max(most, one.pairs);
        put(R"(<text x="{}" y="{}" font-weight="bold">step {}</text>)", left, top + 12, step);
        put(R"(<text x="{}" y="{}" fill="#555555">at most {} on a link</text>)", left + 48,
            top + 12, most);
        for (uint32_t node = 1; node < depth_.size(); ++node) put_trunk(node, left, top);
        for (uint32_t host = 0; host < x_of_host_.size(); ++host) put_host(host, left, top);
        for (uint32_t node = 0; node < depth_.size(); ++node) put_switch(node, left, top);
    }

    [[nodiscard]] int y_of(uint32_t node) const {
        return kStepTop + static_cast<int>(depth_[node]) * kLevel;
    }

    [[nodiscard]] Way way_of(uint32_t first_link, uint32_t links) const {
        Way way;
        for (uint32_t number = 0; number < links; ++number) {
            const check::Load& one = load_[first_link + 2 * number];
            way.most = std::max(way.most, one.pairs);
            way.messages += one.messages;
            way.bytes += one.bytes;
        }
        return way;
    }

    // One way of a link, from what is below to what is above, and how many messages go there.
    void put_way(const Way& way, std::string_view where, uint32_t links, std::array<int, 4> line,
                 int side) {
        std::string tip =
            fmt::format("{}: {}, {}", where, counted(way.messages, "message", "messages"),
                        format_bytes(way.bytes));
        if (links > 1) tip += fmt::format("; at most {} on one of {} links", way.most, links);
        put(R"(<path d="M{} {}L{} {}" stroke="{}" stroke-width="{}"><title>{}</title></path>)",
            line[0] + side, line[1], line[2] + side, line[3], load_colour(way.most),
            way.most > 0 ? 2.5 : 1.0, escaped(tip));
    }

    void put_trunk(uint32_t node, int left, int top) {
        const uint32_t links = fabric_.links_up(node);
        const uint32_t first = fabric_.first_link(node);
        const std::string name = name_of_node(view_, node);
        const Way up = way_of(first, links);
        const Way down = way_of(first + 1, links);
        const uint32_t parent = view_.tree.nodes[node].parent;
        const std::array<int, 4> line{left + x_of_node_[node], top + y_of(node),
                                      left + x_of_node_[parent],
                                      top + y_of(parent) + kSwitchHeight};
        put_way(up, "up from " + name, links, line, -kBesideWay);
        put_way(down, "down to " + name, links, line, kBesideWay);
        put_count(up, line, "end", -kBesideWay - 8);
        put_count(down, line, "start", kBesideWay + 8);
    }

    // Beside the lower end of a link.
    void put_count(const Way& way, const std::array<int, 4>& line, std::string_view anchor,
                   int side) {
        if (way.messages == 0) return;
        put(R"(<text x="{}" y="{}" font-size="9" text-anchor="{}">{}</text>)", line[0] + side,
            line[1] - 4, anchor, way.most);
    }

    void put_host(uint32_t host, int left, int top) {
        const uint32_t node = view_.tree.place_of_host[host].node;
        const int x = left + x_of_host_[host];
        const int box = top + y_of(node) + kSwitchHeight;
        const std::array<int, 4> line{x, box + kHostDrop, left + x_of_node_[node], box};
        put_way(way_of(2 * host, 1), "from " + view_.names[host], 1, line, -kBesideWay / 2);
        put_way(way_of(2 * host + 1, 1), "to " + view_.names[host], 1, line, kBesideWay / 2 + 1);
        const auto ranks = placement_.members(host);
        put(R"(<circle cx="{}" cy="{}" r="{}"><title>{}: rank {}</title></circle>)", x, line[1],
            kHostRadius, escaped(view_.names[host]), fmt::join(ranks, ", "));
        put(R"(<text x="{}" y="{}" font-size="9" text-anchor="middle">{}{}</text>)", x,
            line[1] + kHostText - 3, ranks.front(), ranks.size() > 1 ? "+" : "");
    }

    void put_switch(uint32_t node, int left, int top) {
        const std::string name = name_of_node(view_, node);
        const int x = left + x_of_node_[node];
        const int y = top + y_of(node);
        put(R"(<g><title>{}</title>)", escaped(name));
        put(R"(<rect x="{}" y="{}" width="{}" height="{}" rx="4" fill="#f0f0f0" stroke="#777777"/>)",
            x - kSwitchWidth / 2, y, kSwitchWidth, kSwitchHeight);
        put(R"(<text x="{}" y="{}" text-anchor="middle" font-size="10">{}</text></g>)", x, y + 14,
            escaped(shortened(name, kSwitchLetters)));
    }

    const FabricView& view_;
    const topo::Fabric& fabric_;
    const topo::Placement& placement_;
    const std::vector<std::vector<check::Passage>>& steps_;
    std::vector<uint32_t> depth_;
    // Middles, from a tree's left edge.
    std::vector<int> x_of_node_;
    std::vector<int> x_of_host_;
    std::vector<std::vector<uint32_t>> hosts_of_node_;
    std::vector<std::vector<uint32_t>> children_;
    std::vector<check::Load> load_;  // of the step that is drawn
    int width_ = 0;                  // of one tree
    int height_ = 0;
};

Result<Done> check_size(const FabricView& view, size_t steps) {
    const auto refuse = [](size_t count, std::string_view what, size_t most) {
        return Error{ErrorCode::kArgument,
                     fmt::format("{} {}; a drawing on a tree of switches holds at most {}", count,
                                 what, most)};
    };
    if (view.names.size() > kTreeHostsMax) return refuse(view.names.size(), "hosts", kTreeHostsMax);
    if (view.tree.nodes.size() > kTreeNodesMax) {
        return refuse(view.tree.nodes.size(), "switches", kTreeNodesMax);
    }
    if (steps > kStepsMax) return refuse(steps, "steps", kStepsMax);
    return Done{};
}

}  // namespace

Result<std::string> tree_drawing(const std::string& title, const HostsOnFabric& hosts,
                                 const std::vector<std::vector<check::Passage>>& steps) {
    if (const auto fits = check_size(hosts.view, steps.size()); !fits) return fits.error();
    return TreeDrawing(hosts, steps).whole(title);
}

Result<std::string> draw_on_tree(const std::string& title, const algo::Algorithm& algorithm,
                                 const sched::Shape& shape, const HostsOnFabric& hosts,
                                 const algo::Tuning& tuning) {
    // Before anything is unrolled.
    if (const auto fits = check_size(hosts.view, 0); !fits) return fits.error();
    const uint64_t operations = operations_about(algorithm, shape, hosts.placement, tuning);
    if (operations > kOperationsMax) {
        return Error{ErrorCode::kArgument,
                     fmt::format("about {} operations; at most {} are followed", operations,
                                 kOperationsMax)};
    }
    const algo::Programs programs = algo::make_plans(algorithm, shape, hosts.placement, tuning);
    const auto steps = check::steps(hosts.placement, programs);
    const uint64_t extra = check::link_load(hosts.fabric, hosts.placement, steps).extra;
    const std::string load =
        extra == 0 ? "no two pairs of ranks share a link in a step"
                   : fmt::format("{} pairs of ranks beyond the first on a link", extra);
    return tree_drawing(
        fmt::format("{} {}: {} steps, {}", algorithm.name, title, steps.size(), load), hosts,
        steps);
}

}  // namespace tutti::explain
