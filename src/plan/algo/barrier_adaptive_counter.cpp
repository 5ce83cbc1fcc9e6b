// SPDX-License-Identifier: BSD-3-Clause
// Barrier that whoever comes last releases by one multicast, as it is told by the word to which all
// add when they come (plan/sched/program.h, run/adapt/roll_call.h). Where there is no such word,
// that of barrier_adaptive_multicast.cpp: see plan/algo/meeting_round.h.
//
// Example, N = 4, 2 is late:  0, 1 and 3 add and are told of 0, 1 and 2 others;  2 adds and is told
// of all;  2 -> all
#include "plan/algo/meeting_round.h"

namespace tutti::algo {
namespace {

constexpr std::string_view kName = "adaptive_counter";

class RollCallProgram final : public Program {
  public:
    RollCallProgram(const Shape& shape, Rank rank, const Tuning& tuning)
        : meeting_(shape, rank, tuning) {}

    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override { return meeting_.extent(); }
    void read(uint64_t lane, uint64_t round, sched::Round& out) const override {
        meeting_.read(lane, round, out);
        if (out.size() > 0) out[out.size() - 1].is_counted = true;
    }

  private:
    MeetingProgram<Releases::kByMulticast> meeting_;
};

}  // namespace

Algorithm barrier_adaptive_counter() {
    Algorithm record = meeting_record<Releases::kByMulticast>(TUTTI_BARRIER);
    record.name = kName;
    record.summary = "adds to one word; the last to add multicasts";
    record.make = make<RollCallProgram>;
    record.obstacle = unless_met_by_multicast;
    record.is_only_named = true;
    return record;
}

}  // namespace tutti::algo
