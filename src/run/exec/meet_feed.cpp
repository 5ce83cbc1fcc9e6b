// SPDX-License-Identifier: BSD-3-Clause
// Those who are fed, and the middle that feeds them (run/adapt/feeding.h). The middle has posted a
// receive for each other one's word that it is there; each other one has posted one for the
// middle's word, which names its source and whom it is to feed, and another one until it has had
// the last. Pieces pass between these: so every receive knows its sender.
//
// A kMeetWith's buffer is for the message that comes and for the one that goes, in this order.
// Words pass by a slot of their own, since those of the middle and its pieces may be posted in
// another order at one end than at the other. In the middle the kFeed looks after its pieces,
// elsewhere the one kMeetWith does: there the kFeed is done when all have come, and what stands
// behind it need not wait for what is handed on.
#include <algorithm>
#include <cstring>

#include "run/exec/state.h"

namespace tutti::exec {
namespace {

using sched::Operation;
using sched::Rank;

constexpr uint32_t kFromTheMiddle = UINT32_MAX;
static_assert(adapt::kFedMax == sched::kFedMax);

// Of one who is there: all zero. Of the middle, with ranks of the team.
struct Word {
    uint32_t source = 0;  // or kFromTheMiddle
    uint16_t fed = 0;
    uint16_t is_last = 0;
    std::array<uint32_t, sched::kFedMax> whom{};
};
static_assert(sizeof(Word) == sched::kFeedMessageBytes);

}  // namespace

bool Executor::State::feeds(Ref ref) { return sched::feeds(window_of(ref).round); }

transport::MessageId Executor::State::word_id(Ref with, uint32_t number) const {
    const auto lane = static_cast<uint32_t>(context.slots.slot_of(with).lane);
    return {context.number, lane, with.slot + uint32_t{1}, number, context.word};
}

// Behind its neighbours, whose receives are posted.
void Executor::State::begin_feed(Ref ref) {
    Slot& slot = slot_of(ref);
    const Operation& operation = operation_of(ref);
    TUTTI_ASSERT(ref.index == slot.meet.neighbours, "it comes behind its neighbours");
    TUTTI_ASSERT(context.slots.lanes_in_flight() == 1, "words have a slot of their own");
    Feed& feed = slot.feed;
    feed.is_middle = operation.left.bytes > 0;
    feed.words = 0;
    feed.has_last = false;
    feed.flow.restart(sched::fed_pieces(operation), !feed.is_middle);
    if (feed.is_middle) {
        feed.feeder.restart(slot.meet.neighbours, operation.message);
        messages.add(ref);
        return;
    }
    TUTTI_ASSERT(slot.meet.neighbours == 1, "it knows the middle alone");
    const Word there;
    say({ref.slot, ref.window, 0}, &there, 0);
}

// To a neighbour.
void Executor::State::say(Ref with, const void* what, uint32_t number) {
    Slot& slot = slot_of(with);
    const Operation& operation = operation_of(with);
    std::byte* out = at(with, operation.to) + sizeof(Word);
    std::memcpy(out, what, sizeof(Word));
    context.network.send(operation.peer, word_id(with, number), out, sizeof(Word),
                         slot.meet.sent[with.index]);
}

// Of a kMeetWith.
transport::State Executor::State::test_fed(Ref with) {
    Slot& slot = slot_of(with);
    Feed& feed = slot.feed;
    const transport::State state = feed.is_middle ? test_one_fed(with) : test_being_fed(with);
    if (context.has_failed) return transport::State::kFailed;
    if (state != transport::State::kDone) return state;
    return context.network.test(slot.meet.sent[with.index]);
}

// In the middle: it has said that it is there, and has had the last word.
transport::State Executor::State::test_one_fed(Ref with) {
    Slot& slot = slot_of(with);
    Meet& meet = slot.meet;
    const uint64_t bit = sched::after_op(with.index);
    if ((meet.heard & bit) == 0) {
        const transport::State state = context.network.test(task_of(with).ticket);
        if (state != transport::State::kDone) return state;
        hear_there(with);
    }
    // One word at a time.
    transport::Ticket& sent = meet.sent[with.index];
    if ((meet.told & bit) != 0) {
        const transport::State state = context.network.test(sent);
        if (state != transport::State::kDone) return state;
    }
    tell_next(with);
    return slot.feed.feeder.is_done(with.index) ? transport::State::kDone
                                                : transport::State::kPending;
}

void Executor::State::hear_there(Ref with) {
    Slot& slot = slot_of(with);
    context.is_untouched = false;
    context.has_stirred = true;
    slot.meet.heard |= sched::after_op(with.index);
    slot.feed.said[with.index] = 0;
    if (slot.feed.feeder.hear(with.index)) return;
    context.fail("a message that nobody who is fed sends");
}

// If there is anything.
void Executor::State::tell_next(Ref with) {
    Slot& slot = slot_of(with);
    const auto next = slot.feed.feeder.word(with.index);
    if (!next) return;
    const sched::Round& round = window_of(with).round;
    Word answer;
    answer.source = next->source ? round[*next->source].peer : kFromTheMiddle;
    answer.fed = static_cast<uint16_t>(next->fed);
    answer.is_last = next->is_last ? 1 : 0;
    for (uint32_t i = 0; i < next->fed; ++i) answer.whom[i] = round[next->whom[i]].peer;
    slot.meet.told |= sched::after_op(with.index);
    context.has_stirred = true;
    say(with, &answer, slot.feed.said[with.index]++);
}

// Elsewhere: it has had the last word, and all that it is to hand on has left.
transport::State Executor::State::test_being_fed(Ref with) {
    Slot& slot = slot_of(with);
    Feed& feed = slot.feed;
    if (!feed.has_last) {
        const transport::State state = context.network.test(task_of(with).ticket);
        if (state == transport::State::kFailed) return state;
        if (state == transport::State::kDone) hear_middle(with);
        if (context.has_failed || feed.words == 0) return transport::State::kPending;
    }
    const Ref own{with.slot, with.window, static_cast<uint8_t>(slot.meet.neighbours)};
    const transport::State moved = move_pieces(own);
    const bool is_done = (window_of(own).done & sched::after_op(own.index)) != 0;
    if (feed.flow.has_all() && !is_done) complete(own);
    const bool may_grow = moved == transport::State::kDone && !feed.has_last;
    return may_grow ? transport::State::kPending : moved;
}

void Executor::State::hear_middle(Ref with) {
    Slot& slot = slot_of(with);
    Feed& feed = slot.feed;
    const Operation& operation = operation_of(with);
    context.is_untouched = false;
    context.has_stirred = true;
    slot.meet.heard |= sched::after_op(with.index);
    Word answer;
    std::memcpy(&answer, at(with, operation.to), sizeof answer);
    const Operation& own = window_of(with).round[slot.meet.neighbours];
    const uint32_t before = feed.flow.fed();
    if (before + answer.fed > own.message) {
        context.fail("a message that nobody who feeds sends");
        return;
    }
    feed.source = answer.source == kFromTheMiddle ? operation.peer : answer.source;
    std::copy_n(answer.whom.begin(), answer.fed, feed.whom.begin() + before);
    feed.flow.add(answer.fed);
    feed.has_last = answer.is_last != 0;
    ++feed.words;
    if (feed.has_last) return;
    context.network.recv(operation.peer, word_id(with, feed.words), at(with, operation.to),
                         sizeof(Word), task_of(with).ticket);
}

// Of the kFeed in the middle.
transport::State Executor::State::test_feed(Ref ref) {
    Feed& feed = slot_of(ref).feed;
    feed_more(ref);
    const transport::State moved = move_pieces(ref);
    if (moved != transport::State::kDone) return moved;
    // Whoever else has come is fed together with those who are known to be there.
    const uint32_t asked = feed.feeder.is_open() ? 0 : slot_of(ref).meet.neighbours;
    for (uint8_t i = 0; i < asked; ++i) {
        const Ref with{ref.slot, ref.window, i};
        const bool is_heard = (slot_of(ref).meet.heard & sched::after_op(i)) != 0;
        if (!is_heard && context.network.test(task_of(with).ticket) == transport::State::kDone) {
            hear_there(with);
        }
    }
    if (context.has_failed) return transport::State::kFailed;
    feed.flow.restart(sched::fed_pieces(operation_of(ref)), false);
    feed.feeder.go_on();
    feed_more(ref);
    if (feed.flow.is_over()) {
        return feed.feeder.has_all() ? transport::State::kDone : transport::State::kPending;
    }
    context.has_stirred = true;
    return transport::State::kPending;
}

// Those whom the middle is to feed itself; pieces wait for who has not had its word yet.
void Executor::State::feed_more(Ref ref) {
    Feed& feed = slot_of(ref).feed;
    const adapt::Feeder::Word more = feed.feeder.root_word();
    for (uint32_t i = 0; i < more.fed; ++i) {
        feed.whom[feed.flow.fed() + i] = window_of(ref).round[more.whom[i]].peer;
    }
    feed.flow.add(more.fed);
}

// ---- pieces ------------------------------------------------------------------------------------

// Of a kFeed. Once through, so that a step ends even if each piece comes at once; done when none is
// left.
transport::State Executor::State::move_pieces(Ref ref) {
    Feed& feed = slot_of(ref).feed;
    adapt::Flow& flow = feed.flow;
    bool has_failed_one = false;
    const auto is_done = [&](transport::Ticket& ticket) {
        const transport::State state = context.network.test(ticket);
        has_failed_one = has_failed_one || state == transport::State::kFailed;
        return state == transport::State::kDone;
    };
    while (flow.awaits() && is_done(feed.coming[flow.come() % adapt::kPiecesAhead])) {
        flow.came();
        context.has_stirred = true;
    }
    for (uint32_t fed = 0; fed < flow.fed(); ++fed) {
        auto& tickets = feed.leaving[fed];
        while (flow.awaits(fed) && is_done(tickets[flow.left_for(fed) % adapt::kPiecesAhead])) {
            flow.left(fed);
            context.has_stirred = true;
        }
    }
    if (has_failed_one) return transport::State::kFailed;
    while (const auto post = flow.next()) post_piece(ref, *post);
    return flow.is_over() ? transport::State::kDone : transport::State::kPending;
}

void Executor::State::post_piece(Ref ref, const adapt::Flow::Post& post) {
    const Operation& operation = operation_of(ref);
    const sched::Block& block = sched::fed_block(operation);
    const uint64_t offset = post.piece * operation.right.bytes;
    const uint64_t bytes = std::min(operation.right.bytes, block.bytes - offset);
    std::byte* piece = at(ref, block) + offset;
    transport::MessageId id = id_of(ref);
    id.message = static_cast<uint32_t>(post.piece);
    Feed& feed = slot_of(ref).feed;
    const size_t turn = post.piece % adapt::kPiecesAhead;
    if (post.fed) {
        context.network.send(feed.whom[*post.fed], id, piece, bytes, feed.leaving[*post.fed][turn]);
    } else {
        context.network.recv(feed.source, id, piece, bytes, feed.coming[turn]);
    }
}

// ---- questions ---------------------------------------------------------------------------------

// Of any operation of a round that feeds, as far as it looks after it.
void Executor::State::add_fed_waits(Ref ref, std::vector<Rank>& ranks) {
    const Slot& slot = slot_of(ref);
    const Feed& feed = slot.feed;
    const bool is_with = sched::is_neighbour(operation_of(ref));
    const uint64_t bit = sched::after_op(ref.index);
    if (is_with) {
        const bool is_heard = (slot.meet.heard & bit) != 0;
        const bool is_taken = slot.meet.sent[ref.index].state == transport::State::kDone;
        const bool is_all = feed.is_middle ? is_taken : feed.has_last || !feed.flow.is_over();
        if (!is_heard || !is_all) ranks.push_back(operation_of(ref).peer);
    }
    if (is_with == feed.is_middle) return;
    if (feed.flow.awaits()) ranks.push_back(feed.source);
    for (uint32_t fed = 0; fed < feed.flow.fed(); ++fed) {
        if (feed.flow.awaits(fed)) ranks.push_back(feed.whom[fed]);
    }
}

void Executor::State::cancel_pieces(Ref ref) {
    Feed& feed = slot_of(ref).feed;
    if (sched::is_neighbour(operation_of(ref)) == feed.is_middle) return;
    for (transport::Ticket& ticket : feed.coming) {
        if (ticket.state == transport::State::kPending) context.network.cancel(ticket);
    }
    for (auto& tickets : feed.leaving) {
        for (transport::Ticket& ticket : tickets) {
            if (ticket.state == transport::State::kPending) context.network.cancel(ticket);
        }
    }
}

}  // namespace tutti::exec
