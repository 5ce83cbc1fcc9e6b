// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/fabric_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/topo/read/hostlist.h"
#include "lab/explain/svg.h"

namespace tutti::explain {
namespace {

// More are lines side by side, not a drawing.
constexpr uint32_t kNodesDrawnMax = 256;
// Of hosts on a node these are named one by one, more as a list.
constexpr size_t kHostsNamedMax = 16;
constexpr size_t kLettersMax = 20;

// Pixels.
constexpr int kColumnWidth = 150;
constexpr int kBoxWidth = 138;
constexpr int kBoxHeight = 34;
constexpr int kLevelHeight = 92;
constexpr int kTitleRoom = 48;
constexpr int kRow = 14;

class FabricDrawing : Svg {
  public:
    explicit FabricDrawing(const FabricView& view)
        : view_(view),
          hosts_(view.tree.nodes.size()),
          ranks_(view.ranks.empty() ? 0 : view.tree.nodes.size()),
          x_(view.tree.nodes.size()) {
        for (size_t host = 0; host < view.names.size(); ++host) {
            const uint32_t node = view.tree.place_of_host[host].node;
            hosts_[node].push_back(view.names[host]);
            if (!view.ranks.empty()) ranks_[node].push_back(" (" + view.ranks[host] + ")");
        }
        for (uint32_t node = 0; node < view.tree.nodes.size(); ++node) {
            depth_.push_back(node == 0 ? 0 : depth_[view.tree.nodes[node].parent] + 1);
        }
        place();
    }

    std::string whole(const std::string& title) {
        const uint32_t deepest = *std::max_element(depth_.begin(), depth_.end());
        size_t rows = 1;
        for (const auto& names : hosts_) {
            rows = std::max(rows, std::min(names.size(), kHostsNamedMax));
        }
        const int width = std::max(2 * kMargin + static_cast<int>(columns_) * kColumnWidth,
                                   2 * kMargin + 8 * static_cast<int>(title.size()));
        const int height = y_of_level(deepest) + kBoxHeight + static_cast<int>(rows + 1) * kRow;
        begin(width, height, title);
        for (uint32_t node = 1; node < depth_.size(); ++node) put_link(node);
        for (uint32_t node = 0; node < depth_.size(); ++node) put_node(node);
        return end();
    }

  private:
    // A column for each node without others below it, and for each that has both others and hosts;
    // what is above stands in the middle of these.
    void place() {
        const auto& nodes = view_.tree.nodes;
        std::vector<std::pair<int, int>> span(nodes.size(), {-1, -1});
        const auto widen = [&](uint32_t node, int low, int high) {
            auto& [first, last] = span[node];
            first = first < 0 ? low : std::min(first, low);
            last = std::max(last, high);
        };
        std::vector<bool> is_inner(nodes.size());
        for (uint32_t node = 1; node < nodes.size(); ++node) is_inner[nodes[node].parent] = true;
        for (uint32_t node = 0; node < nodes.size(); ++node) {
            if (is_inner[node] && hosts_[node].empty()) continue;
            const int middle =
                kMargin + static_cast<int>(columns_++) * kColumnWidth + kColumnWidth / 2;
            widen(node, middle, middle);
        }
        for (auto node = static_cast<uint32_t>(nodes.size()); node-- > 0;) {
            const bool has_own_column = is_inner[node] && !hosts_[node].empty();
            x_[node] =
                has_own_column ? span[node].first : (span[node].first + span[node].second) / 2;
            if (node > 0) widen(nodes[node].parent, x_[node], x_[node]);
        }
    }

    static int y_of_level(uint32_t level) {
        return kTitleRoom + static_cast<int>(level) * kLevelHeight;
    }

    void put_link(uint32_t node) {
        const topo::SwitchTree::Node& one = view_.tree.nodes[node];
        const int from = y_of_level(depth_[node]);
        const int to = y_of_level(depth_[one.parent]) + kBoxHeight;
        put(R"(<path d="M{} {}L{} {}" stroke="#0072b2" stroke-width="{}"><title>{}</title></path>)",
            x_[node], from, x_[one.parent], to, one.up.links > 1 ? 2.5 : 1.0,
            escaped(text_of(one.up)));
        put(R"(<text x="{}" y="{}" text-anchor="middle" fill="#0072b2">{}</text>)", x_[node],
            from - 6, one.up.links);
    }

    void put_node(uint32_t node) {
        const size_t switches = view_.tree.nodes[node].switches.size();
        const int y = y_of_level(depth_[node]);
        const std::string name = name_of_node(view_, node);
        put(R"(<g><title>{}</title>)", escaped(name));
        put(R"(<rect x="{}" y="{}" width="{}" height="{}" rx="5" fill="#f0f0f0" stroke="#777777"/>)",
            x_[node] - kBoxWidth / 2, y, kBoxWidth, kBoxHeight);
        put(R"(<text x="{}" y="{}" text-anchor="middle">{}</text></g>)", x_[node], y + 15,
            escaped(shortened(name, kLettersMax)));
        if (switches > 1) {
            put(R"(<text x="{}" y="{}" text-anchor="middle" fill="#777777">{} switches</text>)",
                x_[node], y + 29, switches);
        }
        put_hosts(node, y + kBoxHeight + kRow);
    }

    void put_hosts(uint32_t node, int y) {
        std::vector<std::string> rows = hosts_[node];
        for (size_t i = 0; !ranks_.empty() && i < rows.size(); ++i) rows[i] += ranks_[node][i];
        if (rows.size() > kHostsNamedMax) {
            const std::string list = ranks_.empty() ? topo::fold_hostlist(hosts_[node])
                                                    : fmt::format("{}", fmt::join(rows, ", "));
            rows = {fmt::format("{} hosts", rows.size()), list};
        }
        // Beside the lines to what is below.
        for (const std::string& row : rows) {
            put(R"(<text x="{}" y="{}"><title>{}</title>{}</text>)", x_[node] - kBoxWidth / 2 + 4,
                y, escaped(row), escaped(shortened(row, kLettersMax)));
            y += kRow;
        }
    }

    const FabricView& view_;
    std::vector<std::vector<std::string>> hosts_;  // by node
    std::vector<std::vector<std::string>> ranks_;  // likewise; or none
    std::vector<int> x_;                           // by node: its middle
    std::vector<uint32_t> depth_;
    uint32_t columns_ = 0;
};

}  // namespace

Result<std::string> draw_fabric(const std::string& title, const FabricView& view) {
    if (view.tree.nodes.size() > kNodesDrawnMax) {
        return Error{ErrorCode::kArgument,
                     fmt::format("{} nodes; a drawing holds at most {}: see --hosts",
                                 view.tree.nodes.size(), kNodesDrawnMax)};
    }
    return FabricDrawing(view).whole(title);
}

}  // namespace tutti::explain
