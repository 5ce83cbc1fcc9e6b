// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/meet_roll_call.h"

#include <bit>

namespace tutti::exec {
namespace {

// Of each who waits, a request to rank 0's adapter so often.
constexpr uint64_t kLookAgainNs = 500'000'000;

uint64_t mark_of(const transport::CallWord& word) { return word.call ^ std::rotl(word.before, 32); }

}  // namespace

// A rank alone has nobody to tell.
bool MeetRollCall::may_call(const sched::Round& round) const {
    return sched::meets_by_multicast(round) && round[round.size() - 1].is_counted &&
           round.size() > 1 && call_.network.adders() > 1 &&
           call_.network.adders() <= adapt::RollCall::kMembersMax;
}

void MeetRollCall::begin(sched::Rank own) {
    TUTTI_ASSERT(!awaits_any(), "one answer at a time");
    answer_ = Answer::kOwn;
    looked_ns_ = call_.clock ? call_.clock->now_ns() : 0;
    const uint64_t amount = roll_.arrive(call_.network.adders(), own, mark_of(call_.word));
    call_.network.fetch_add(amount, adding_);
}

MeetRollCall::Known MeetRollCall::step(bool looks) {
    if (answer_ == Answer::kNone) {
        if (looks) look();
        return awaits_any() ? Known::kNotYet : Known::kSome;
    }
    const transport::State state = call_.network.test(adding_);
    if (state == transport::State::kPending) return Known::kNotYet;
    if (state == transport::State::kFailed) {
        call_.fail(call_.network.error());
        return Known::kNotYet;
    }
    const bool is_own = awaits_own();
    answer_ = Answer::kNone;
    call_.is_untouched = false;
    if (!is_own) {
        roll_.look(adding_.number);
        return Known::kSome;
    }
    const auto found = roll_.take(adding_.number);
    if (found == adapt::RollCall::Found::kDisagree) {
        call_.has_miscounted = true;
        call_.fail("a rank that was counted runs another call");
        return Known::kNotYet;
    }
    return found == adapt::RollCall::Found::kLast ? Known::kLast : Known::kSome;
}

void MeetRollCall::look() {
    if (!call_.clock || roll_.missing() == 0) return;
    const uint64_t now_ns = call_.clock->now_ns();
    if (now_ns - looked_ns_ < kLookAgainNs) return;
    looked_ns_ = now_ns;
    answer_ = Answer::kLook;
    call_.network.fetch_add(0, adding_);
}

void MeetRollCall::add_missing(bool is_released, std::vector<sched::Rank>& ranks) const {
    if (awaits_own()) return ranks.push_back(0);
    if (is_released) return;
    for (uint64_t rest = roll_.missing(); rest != 0; rest &= rest - 1) {
        ranks.push_back(static_cast<sched::Rank>(std::countr_zero(rest)));
    }
}

void MeetRollCall::call_off() {
    if (awaits_any()) call_.network.cancel(adding_);
    answer_ = Answer::kNone;
}

}  // namespace tutti::exec
