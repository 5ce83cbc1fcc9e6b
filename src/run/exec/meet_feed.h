// SPDX-License-Identifier: BSD-3-Clause
// The round that feeds (run/adapt/feeding.h): the middle's words to those that are there, and the
// pieces that follow along the tree of these words.
//
// The middle has posted a receive for each other one's word that it is there. Each other one has
// posted one for the middle's word, which names its source and whom it is to feed, and another one
// until it has had the last. Pieces pass between these: so every receive knows its sender.
//
// Words pass by a slot of their own, since those of the middle and its pieces may be posted in
// another order at one end than at the other; for that one lane is in flight. In the middle the
// kFeed looks after its pieces, elsewhere the one kMeetWith does: there the kFeed is done when all
// have come, and what stands behind it need not wait for what is handed on.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "run/adapt/feeding.h"
#include "run/exec/call_context.h"

namespace tutti::exec {

class Feeds {
  public:
    explicit Feeds(CallContext& call) : call_(call) {}
    // Whether an operation stands in a round that feeds; all others here are of such rounds.
    [[nodiscard]] bool is_fed(Ref ref) const { return sched::feeds(call_.slots.round_of(ref)); }

    // Posts the receive of a kMeetWith.
    void begin_neighbour(Ref with);
    // Of the kFeed, behind its neighbours. True: it is to be tested, as a message is.
    [[nodiscard]] bool begin(Ref ref);
    // Of a kMeetWith: whether all has come and left that is its part. It may set the kFeed done.
    transport::State hear(Ref with);
    // Behind that: whether the last word to the neighbour has left.
    transport::State test_sent(Ref with) {
        return call_.network.test(call_.slots.neighbours_of(with).sent[with.index]);
    }
    // Of the kFeed in the middle.
    transport::State test(Ref ref);

    // Ranks for which an operation waits, as far as it looks after them.
    void add_waits(Ref ref, std::vector<sched::Rank>& ranks) const;
    // The messages that an operation looks after.
    void cancel(Ref ref);

  private:
    [[nodiscard]] const sched::Operation& feed_of(Ref ref) const {
        return call_.slots.operation_of(ref.with(call_.slots.neighbours_of(ref).count));
    }
    [[nodiscard]] transport::MessageId word_id(Ref with, uint32_t number) const;
    void say(Ref with, const void* what, uint32_t number);
    transport::State test_one_fed(Ref with);
    void hear_there(Ref with);
    void tell_next(Ref with);
    transport::State test_being_fed(Ref with);
    void hear_middle(Ref with);
    void feed_more(Ref ref);
    transport::State move_pieces(Ref ref);
    void post_piece(Ref ref, const adapt::Flow::Post& post);

    CallContext& call_;
    bool is_middle_ = false;
    bool has_last_ = false;                             // elsewhere: of the middle's words
    uint32_t words_ = 0;                                // of the middle's, that have come
    std::array<uint32_t, sched::kRoundOpsMax> said_{};  // by neighbour: words to it
    adapt::Feeder feeder_{sched::kRoundOpsMax};
    adapt::Flow flow_;
    sched::Rank source_ = 0;
    std::array<sched::Rank, adapt::kFedMax> whom_{};
    // By piece modulo kPiecesAhead.
    std::array<transport::Ticket, adapt::kPiecesAhead> coming_;
    std::array<std::array<transport::Ticket, adapt::kPiecesAhead>, adapt::kFedMax> leaving_;
};

}  // namespace tutti::exec
