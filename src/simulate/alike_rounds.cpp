// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/alike_rounds.h"

#include <algorithm>

namespace tutti::simulate {
namespace {

using sched::Operation;
using sched::Program;
using sched::Round;

// Pieces of a vector differ by an element, of 16 bytes at most that are ours.
constexpr uint64_t kElementBytes = 16;

bool are_alike(uint64_t a, uint64_t b) { return std::max(a, b) - std::min(a, b) <= kElementBytes; }

bool are_alike(const Operation& a, const Operation& b) {
    return a.kind == b.kind && a.incoming == b.incoming && a.peer == b.peer &&
           a.after == b.after && a.order == b.order &&
           are_alike(a.to.bytes, b.to.bytes) && are_alike(a.left.bytes, b.left.bytes) &&
           are_alike(a.right.bytes, b.right.bytes);
}

bool are_alike(const Round& a, const Round& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Operation& one, const Operation& other) {
                          return are_alike(one, other);
                      });
}

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

std::vector<Stretch> alike_stretches(std::span<const std::unique_ptr<Program>> programs,
                                     uint64_t shortest) {
    const sched::Extent extent = programs.front()->extent();
    if (extent.rounds < shortest) return {};
    // Whether a round is as the one before, on all ranks so far.
    std::vector<bool> goes_on(extent.rounds, true);
    Round before;
    Round now;
    for (const auto& program : programs) {
        const sched::Extent own = program->extent();
        if (own.lanes != 1 || own.rounds != extent.rounds || own.multicasts != 0) return {};
        program->read(0, 0, before);
        for (uint64_t round = 1; round < own.rounds; ++round) {
            program->read(0, round, now);
            if (goes_on[round] && !are_alike(before, now)) goes_on[round] = false;
            std::swap(before, now);
        }
    }
    std::vector<Stretch> found;
    for (uint64_t first = 0; first < extent.rounds;) {
        uint64_t end = first + 1;
        while (end < extent.rounds && goes_on[end]) ++end;
        if (end - first >= shortest) found.push_back({first, end - first});
        first = end;
    }
    return found;
}

std::unique_ptr<Program> shortened(const Program& program, std::span<const Stretch> stretches,
                                   std::span<const uint64_t> kept) {
    return std::make_unique<Shortened>(program, stretches, kept);
}

}  // namespace tutti::simulate
