// SPDX-License-Identifier: BSD-3-Clause
#include "run/notes/inquiry.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::notes {

void Inquiry::begin(uint32_t call, uint64_t end_ns) {
    count_ = told_ = 0;
    call_ = call;
    end_ns_ = end_ns;
    is_open_ = true;
}

void Inquiry::add(std::span<const uint32_t> ranks, uint32_t self) {
    for (const uint32_t rank : ranks) {
        const auto end = asked_.begin() + count_;
        const bool is_known =
            std::any_of(asked_.begin(), end, [&](const Asked& one) { return one.rank == rank; });
        if (is_known || rank == self || count_ == kAskedMax) continue;
        asked_[count_++] = {rank, State::kSilent};
    }
    TUTTI_ASSERT(told_ <= count_, "a rank is asked that was not added");
}

bool Inquiry::next(uint32_t& rank) {
    if (!is_open_ || told_ == count_) return false;
    TUTTI_ASSERT(told_ < count_, "a rank is asked that was not added");
    rank = asked_[told_++].rank;
    return true;
}

void Inquiry::answered(uint32_t from, uint32_t asked, uint32_t its_call) {
    if (!is_open_ || asked != call_) return;
    for (uint32_t i = 0; i < count_; ++i) {
        if (asked_[i].rank != from) continue;
        asked_[i].state = its_call == call_ ? State::kWaiting : State::kElsewhere;
    }
}

// Also once all have answered.
bool Inquiry::is_over(uint64_t now_ns) const {
    const bool is_complete =
        std::none_of(asked_.begin(), asked_.begin() + count_,
                     [](const Asked& one) { return one.state == State::kSilent; });
    return is_open_ && (is_complete || now_ns >= end_ns_);
}

std::vector<uint32_t> Inquiry::those(State state) const {
    std::vector<uint32_t> ranks;
    for (uint32_t i = 0; i < count_; ++i) {
        if (asked_[i].state == state) ranks.push_back(asked_[i].rank);
    }
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

}  // namespace tutti::notes
