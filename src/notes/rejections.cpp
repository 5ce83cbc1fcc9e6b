// SPDX-License-Identifier: BSD-3-Clause
#include "notes/rejections.h"

namespace tutti::notes {
namespace {

// Numbers wrap around; two that are compared are close.
int16_t rounds_ahead(const Mark& a, const Mark& b) {
    return static_cast<int16_t>(a.round - b.round);
}

}  // namespace

Mark Rejections::begin(uint32_t next_call) {
    mark_ = {static_cast<uint16_t>(mark_.round + 1), count_, next_call};
    step = 0;
    is_sent = false;
    return mark_;
}

Verdict Rejections::compare(const Mark& other) const {
    const int16_t difference = rounds_ahead(other, mark_);
    if (difference < 0) return Verdict::kNotYet;
    // Who is further has compared this one's mark with its own.
    if (difference > 0) return Verdict::kAgree;
    return other == mark_ ? Verdict::kAgree : Verdict::kOutOfStep;
}

bool Rejections::is_passed(const Mark& other, uint32_t calls_begun) const {
    return rounds_ahead(other, mark_) > 0 && other.is_reached(calls_begun);
}

void Rejections::heard(uint32_t from, uint32_t its_step, const Mark& mark) {
    if (its_step < kStepsMax) heard_[mark.round % 2][its_step] = {from, mark};
}

Verdict Rejections::compare_step() const {
    const Mark& other = heard_[mark_.round % 2][step].mark;
    return other.round == mark_.round ? compare(other) : Verdict::kNotYet;
}

bool Rejections::find_passed(uint32_t calls_begun, uint32_t& rank) const {
    for (const auto& steps : heard_) {
        for (const Heard& one : steps) {
            if (!is_passed(one.mark, calls_begun)) continue;
            rank = one.from;
            return true;
        }
    }
    return false;
}

}  // namespace tutti::notes
