// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "lab/check/count.h"
#include "lab/explain/svg.h"
#include "plan/algo/plan.h"

namespace tutti::explain {
namespace {

// More is a grey surface, not a drawing.
constexpr uint32_t kRanksDrawnMax = 128;
constexpr size_t kArrowsDrawnMax = 5000;
// With more the numbers of bytes stand on each other; they remain as tooltips.
constexpr size_t kArrowsLabelledMax = 400;

// Pixels.
constexpr int kColumn = 56;
constexpr int kStep = 48;
constexpr int kLeft = 64;
constexpr int kTop = 84;
constexpr int kSlope = 36;  // how far an arrow falls: less than a step
constexpr int kBeside = 4;
constexpr double kHead = 8;
constexpr int kPoint = 4;  // radius: less than a head, so that arrows that end there are seen
constexpr int kTitleLetter = 8;

using Steps = std::vector<std::vector<check::Passage>>;

size_t arrows(const topo::Placement& placement, const Steps& steps) {
    size_t count = 0;
    for (const auto& step : steps) {
        for (const check::Passage& one : step) {
            count += one.is_multicast ? placement.ranks() - 1 : 1;
        }
    }
    return count;
}

int column_x(uint32_t rank) { return kLeft + static_cast<int>(rank) * kColumn; }
int step_y(size_t step) { return kTop + static_cast<int>(step) * kStep; }

// Numbers beside an arrow are short: "64K".
std::string short_bytes(uint64_t bytes) {
    std::string text = format_bytes(bytes);
    if (text.ends_with(" B")) text.resize(text.size() - 2);
    if (text.ends_with("iB")) text.resize(text.size() - 2);
    std::erase(text, ' ');
    return text;
}

class Drawing : Svg {
  public:
    Drawing(const topo::Placement& placement, const Steps& steps)
        : placement_(placement),
          steps_(steps),
          has_labels_(arrows(placement, steps) <= kArrowsLabelledMax) {}

    std::string whole(const std::string& title) {
        const int width = std::max(column_x(placement_.ranks() - 1) + kLeft,
                                   2 * kMargin + static_cast<int>(title.size()) * kTitleLetter);
        const int height = step_y(steps_.size()) + 28;
        begin(width, height, title);
        put_hosts();
        put_ranks();
        for (size_t step = 0; step < steps_.size(); ++step) put_step(step);
        return end();
    }

  private:
    // Columns that stand beside each other and share a host share a background.
    void put_hosts() {
        if (placement_.nodes() == placement_.ranks()) return;
        for (uint32_t first = 0; first < placement_.ranks();) {
            uint32_t end = first + 1;
            const uint32_t node = placement_.node_of(first);
            while (end < placement_.ranks() && placement_.node_of(end) == node) ++end;
            const int x = column_x(first) - kColumn / 2 + 3;
            const int width = static_cast<int>(end - first) * kColumn - 6;
            put(R"(<rect x="{}" y="36" width="{}" height="{}" rx="5" fill="#f0f0f0"/>)", x, width,
                step_y(steps_.size()) - 28);
            put(R"(<text x="{}" y="52" fill="#555555">host {}</text>)", x + 5, node);
            first = end;
        }
    }

    void put_ranks() {
        for (uint32_t rank = 0; rank < placement_.ranks(); ++rank) {
            const int x = column_x(rank);
            put(R"(<text x="{}" y="70" text-anchor="middle">{}</text>)", x, rank);
            put(R"(<path d="M{} {}V{}" stroke="#bbbbbb"/>)", x, kTop - 8, step_y(steps_.size()));
        }
    }

    void put_step(size_t step) {
        const int y = step_y(step);
        put(R"(<text x="16" y="{}" fill="#777777">{}</text>)", y + 5, step);
        // Messages of several lanes between the same two would hide each other.
        int beside = 0;
        const check::Passage* before = nullptr;
        for (const check::Passage& one : steps_[step]) {
            const bool is_pair = before && before->sender == one.sender &&
                                 before->receiver == one.receiver &&
                                 before->is_multicast == one.is_multicast;
            beside = is_pair ? (beside + kBeside) % (kStep - kSlope) : 0;
            if (one.is_multicast) {
                put_multicast(one, y + beside);
            } else {
                put_message(one, y + beside);
            }
            before = &one;
        }
    }

    void put_message(const check::Passage& one, int y) {
        put_arrow(one, one.receiver, y,
                  fmt::format("{} to {}: {}, lane {}, message {}", one.sender, one.receiver,
                              format_bytes(one.bytes), one.lane, one.message));
        put_label(one, one.receiver, y);
    }

    // All arrows begin at one point, since the sender sends once.
    void put_multicast(const check::Passage& one, int y) {
        const std::string tip = fmt::format("{} to all: {}, lane {}, multicast {}", one.sender,
                                            format_bytes(one.bytes), one.lane, one.message);
        for (uint32_t rank = 0; rank < placement_.ranks(); ++rank) {
            if (rank != one.sender) put_arrow(one, rank, y, tip);
        }
        put(R"(<circle cx="{}" cy="{}" r="{}" fill="{}"/>)", column_x(one.sender), y, kPoint,
            colour_of(one));
        if (placement_.ranks() > 1) put_label(one, one.sender == 0 ? 1 : one.sender - 1, y);
    }

    static std::string_view colour_of(const check::Passage& one) {
        return kColours[one.lane % kColours.size()];
    }

    void put_arrow(const check::Passage& one, uint32_t receiver, int y, const std::string& tip) {
        const int from = column_x(one.sender);
        const int to = column_x(receiver);
        const std::string_view colour = colour_of(one);
        // The head is a triangle of its own, since markers do not take a line's colour everywhere.
        const double length = std::hypot(to - from, kSlope);
        const double along_x = (to - from) / length;
        const double along_y = kSlope / length;
        const auto corner = [&](double side) {
            return fmt::format("{:.0f} {:.0f}", to - kHead * (along_x + side * along_y),
                               y + kSlope - kHead * (along_y - side * along_x));
        };
        put(R"(<path d="M{} {}L{} {}L{}L{}L{} {}z" stroke="{}" fill="{}">)"
            R"(<title>{}</title></path>)",
            from, y, to, y + kSlope, corner(0.4), corner(-0.4), to, y + kSlope, colour, colour,
            tip);
    }

    void put_label(const check::Passage& one, uint32_t receiver, int y) {
        if (!has_labels_ || one.bytes == 0) return;
        const int from = column_x(one.sender);
        const int to = column_x(receiver);
        // A third of the way, where arrows that meet in one rank are still apart.
        put(R"(<text x="{}" y="{}" font-size="9" text-anchor="middle">{}</text>)",
            from + (to - from) / 3, y + kSlope / 3 - 3, short_bytes(one.bytes));
    }

    const topo::Placement& placement_;
    const Steps& steps_;
    bool has_labels_;
};

}  // namespace

std::string drawing(const std::string& title, const topo::Placement& placement,
                    const Steps& steps) {
    return Drawing(placement, steps).whole(title);
}

Result<std::string> draw(const std::string& title, const algo::Algorithm& algorithm,
                         const sched::Shape& shape, const topo::Placement& placement,
                         const algo::Tuning& tuning) {
    if (placement.ranks() > kRanksDrawnMax) {
        return Error{ErrorCode::kArgument,
                     fmt::format("a drawing holds at most {} ranks", kRanksDrawnMax)};
    }
    const algo::Programs programs = algo::make_plans(algorithm, shape, placement, tuning);
    const Steps steps = check::steps(placement, programs);
    if (const size_t count = arrows(placement, steps); count > kArrowsDrawnMax) {
        return Error{ErrorCode::kArgument, fmt::format("{} messages; a drawing holds at most {}",
                                                       count, kArrowsDrawnMax)};
    }
    const std::string heading =
        fmt::format("{} {}: {} rounds", algorithm.name, title, steps.size());
    return drawing(heading, placement, steps);
}

}  // namespace tutti::explain
