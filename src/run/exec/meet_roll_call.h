// SPDX-License-Identifier: BSD-3-Clause
// A meeting by one word to which all of the team can add (run/adapt/roll_call.h): this class adds
// to it when the rank comes, and learns by the answer which ranks came before. The rank that is
// told that it is the last releases all by multicast, and all others seek that. Neighbours tell
// each other nothing, unless the group fails before the release: then all meet along the tree, as
// if there were no word.
//
// No rank seeks before its own addition is told: else it would not know whether the release is its
// own to send. A rank that waits for long looks at the word now and then, to say who is late.
#pragma once

#include <cstdint>
#include <vector>

#include "run/adapt/roll_call.h"
#include "run/exec/call_context.h"

namespace tutti::exec {

class MeetRollCall {
  public:
    explicit MeetRollCall(CallContext& call) : call_(call) {}
    // Whether those who meet in a round do so by the word: all of them say it alike.
    [[nodiscard]] bool may_call(const sched::Round& round) const;
    // Adds the own arrival, in the place of a part. All of the team meet, so one at a time.
    void begin(sched::Rank own);

    enum class Known : uint8_t {
        kNotYet,  // an answer is awaited
        kSome,    // this rank was not the last, or knows already that it was
        kLast     // this rank is the last, as it learns now
    };
    // looks: nobody has released this rank yet, so it may look who is late.
    Known step(bool looks);
    [[nodiscard]] bool awaits_own() const { return answer_ == Answer::kOwn; }
    [[nodiscard]] bool awaits_any() const { return answer_ != Answer::kNone; }
    // Ranks that have not come, as far as this one knows; before that only who has the word.
    void add_missing(bool is_released, std::vector<sched::Rank>& ranks) const;
    // With the call: the word has the addition all the same.
    void call_off();

  private:
    // Which one is awaited.
    enum class Answer : uint8_t {
        kNone,
        kOwn,  // of the own arrival
        kLook  // about who has come since that was answered
    };
    void look();

    CallContext& call_;
    adapt::RollCall roll_;
    Answer answer_ = Answer::kNone;
    transport::Ticket adding_;
    uint64_t looked_ns_ = 0;  // at the word, or added to it
};

}  // namespace tutti::exec
