// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/bench_curves.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/collectives.h"
#include "base/text.h"
#include "lab/explain/svg.h"

namespace tutti::bench {
namespace {

// Pixels.
constexpr int kPlotWidth = 420;
constexpr int kPlotHeight = 280;
constexpr int kPanelLeft = 64;    // for the numbers beside the plot
constexpr int kPanelRight = 240;  // for the names of the curves
constexpr int kPanelTop = 32;
constexpr int kPanelBottom = 40;
constexpr int kSheetTop = 36;
constexpr int kPanelHeight = kPanelTop + kPlotHeight + kPanelBottom;
constexpr int kSheetWidth = explain::Svg::kMargin * 2 + kPanelLeft + kPlotWidth + kPanelRight;
constexpr int kNameLine = 16;
constexpr double kRadius = 3.5;
// What is 0 by the clock; lower than any message.
constexpr double kLeastUs = 0.01;

struct Point {
    size_t level = 0;
    double us = 0;
    bool is_below_error = false;
};
struct Curve {
    std::string name;
    std::vector<Point> points;
};
struct Panel {
    std::string title;
    std::vector<Curve> curves;
};

void add(Panel& panel, const std::string& name, size_t level, double us, double error_us) {
    const auto is_it = [&](const Curve& curve) { return curve.name == name; };
    auto found = std::find_if(panel.curves.begin(), panel.curves.end(), is_it);
    if (found == panel.curves.end()) {
        found = panel.curves.insert(found, {name, {}});
    }
    found->points.push_back({level, std::max(us, kLeastUs), us < error_us});
}

void add(Panel& panel, const Cell& cell, size_t level) {
    const double error_us = cell.skew->error_us;
    add(panel, "host", level, cell.host.p50_us, error_us);
    if (cell.tutti) add(panel, "tutti (its choice)", level, cell.tutti->p50_us, error_us);
    for (const AlgorithmTimes& way : cell.algorithms) {
        if (way.refused.empty()) add(panel, way.name, level, way.times.p50_us, error_us);
    }
}

std::vector<Panel> panels_of(const BenchRun& run) {
    std::vector<Panel> panels;
    std::map<std::pair<tutti_collective, uint64_t>, size_t> panel_of;
    const std::vector<uint64_t>& levels = run.skew->most_ns;
    for (const Cell& cell : run.cells) {
        if (!cell.skew) continue;
        const auto [found, is_new] =
            panel_of.try_emplace({cell.collective, cell.bytes}, panels.size());
        if (is_new) {
            std::string title(collective_name(cell.collective));
            if (cell.bytes > 0) title += ", " + format_bytes(cell.bytes);
            panels.push_back({title, {}});
        }
        const auto level = std::find(levels.begin(), levels.end(), cell.skew->most_ns);
        add(panels[found->second], cell, static_cast<size_t>(level - levels.begin()));
    }
    return panels;
}

class Curves : explain::Svg {
  public:
    explicit Curves(const BenchRun& run) : levels_(run.skew->most_ns) {}

    std::string whole(const std::string& title, const std::vector<Panel>& panels) {
        begin(kSheetWidth, kSheetTop + static_cast<int>(panels.size()) * kPanelHeight, title);
        for (size_t i = 0; i < panels.size(); ++i) {
            top_ = kSheetTop + static_cast<int>(i) * kPanelHeight + kPanelTop;
            find_decades(panels[i]);
            put_axes(panels[i].title);
            for (size_t k = 0; k < panels[i].curves.size(); ++k) put_curve(panels[i].curves[k], k);
        }
        return end();
    }

  private:
    static constexpr int kLeft = kMargin + kPanelLeft;

    void find_decades(const Panel& panel) {
        double least = HUGE_VAL;
        double most = 0;
        for (const Curve& curve : panel.curves) {
            for (const Point& point : curve.points) {
                least = std::min(least, point.us);
                most = std::max(most, point.us);
            }
        }
        low_ = static_cast<int>(std::floor(std::log10(least)));
        high_ = std::max(low_ + 1, static_cast<int>(std::ceil(std::log10(most))));
    }

    // Levels stand side by side, however far apart: they tend to be a few of very different size.
    [[nodiscard]] double x_of(size_t level) const {
        return kLeft + kPlotWidth * (static_cast<double>(level) + 0.5) /
                           static_cast<double>(levels_.size());
    }
    [[nodiscard]] double y_of(double us) const {
        return top_ + kPlotHeight * (high_ - std::log10(us)) / (high_ - low_);
    }

    void put_axes(const std::string& title) {
        put(R"(<text x="{}" y="{}" font-size="12">{}</text>)", kLeft, top_ - 10,
            explain::escaped(title));
        put(R"(<rect x="{}" y="{}" width="{}" height="{}" fill="none" stroke="#444444"/>)", kLeft,
            top_, kPlotWidth, kPlotHeight);
        for (int decade = low_; decade <= high_; ++decade) {
            const double y = y_of(std::pow(10, decade));
            put(R"(<line x1="{0}" y1="{1:.1f}" x2="{2}" y2="{1:.1f}" stroke="#dddddd"/>)", kLeft, y,
                kLeft + kPlotWidth);
            put(R"(<text x="{}" y="{:.1f}" text-anchor="end">{:g} us</text>)", kLeft - 6, y + 4,
                std::pow(10, decade));
        }
        for (size_t level = 0; level < levels_.size(); ++level) {
            put(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", x_of(level),
                top_ + kPlotHeight + 16, most_text(levels_[level]));
        }
    }

    void put_curve(const Curve& curve, size_t number) {
        const std::string_view colour = explain::kColours[number % explain::kColours.size()];
        // Where there are more curves than colours.
        const bool is_dashed = number / explain::kColours.size() % 2 == 1;
        std::string way;
        for (const Point& point : curve.points) {
            way += fmt::format("{}{:.1f},{:.1f}", way.empty() ? "" : " ", x_of(point.level),
                               y_of(point.us));
        }
        put(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="1.5"{}/>)", way, colour,
            is_dashed ? R"( stroke-dasharray="5 3")" : "");
        for (const Point& point : curve.points) {
            put(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{}" stroke="{}" fill="{}">)"
                R"(<title>{}: {:.3g} us</title></circle>)",
                x_of(point.level), y_of(point.us), kRadius, colour,
                point.is_below_error ? "#ffffff" : colour, explain::escaped(curve.name), point.us);
        }
        const int x = kLeft + kPlotWidth + 16;
        const int y = top_ + 8 + static_cast<int>(number) * kNameLine;
        put(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}" stroke-width="1.5"{}/>)", x, y,
            x + 24, y, colour, is_dashed ? R"( stroke-dasharray="5 3")" : "");
        put(R"(<text x="{}" y="{}">{}</text>)", x + 30, y + 4, explain::escaped(curve.name));
    }

    const std::vector<uint64_t>& levels_;
    int top_ = 0;
    int low_ = 0;  // decades of microseconds
    int high_ = 1;
};

}  // namespace

std::string draw_curves(const BenchRun& run) {
    const std::string title =
        fmt::format("synchronization delay over MAX, skew {}, seed {}; {} ranks, {}",
                    adapt::skew_name(run.skew->skew), run.seed, run.ranks, run.library);
    return Curves(run).whole(explain::shortened(title, 96), panels_of(run));
}

}  // namespace tutti::bench
