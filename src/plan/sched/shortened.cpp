// SPDX-License-Identifier: BSD-3-Clause
#include "plan/sched/shortened.h"

#include <vector>

namespace tutti::sched {
namespace {

class Shortened final : public Program {
  public:
    Shortened(const Program& whole, std::span<const Stretch> stretches,
              std::span<const uint64_t> kept)
        : whole_(whole), extent_(whole.extent()) {
        for (size_t i = 0; i < stretches.size(); ++i) {
            const uint64_t left_out = stretches[i].rounds - kept[i];
            const uint64_t from = stretches[i].first + kept[i] - left_out_;
            left_out_ += left_out;
            gaps_.push_back({from, left_out_});
        }
        extent_.rounds -= left_out_;
    }
    [[nodiscard]] std::string_view name() const override { return whole_.name(); }
    [[nodiscard]] sched::Extent extent() const override { return extent_; }
    [[nodiscard]] std::span<const uint64_t> node_lengths() const override {
        return whole_.node_lengths();
    }
    void read(uint64_t lane, uint64_t round, Round& out) const override {
        uint64_t skipped = 0;
        for (const Gap& gap : gaps_) {
            if (round >= gap.from) skipped = gap.left_out;
        }
        whole_.read(lane, round + skipped, out);
    }

  private:
    struct Gap {
        uint64_t from = 0;      // the first round behind it, as this program counts
        uint64_t left_out = 0;  // before that
    };
    const Program& whole_;
    sched::Extent extent_;
    uint64_t left_out_ = 0;
    std::vector<Gap> gaps_;
};

}  // namespace

std::unique_ptr<Program> shortened(const Program& program, std::span<const Stretch> stretches,
                                   std::span<const uint64_t> kept) {
    return std::make_unique<Shortened>(program, stretches, kept);
}

}  // namespace tutti::sched
