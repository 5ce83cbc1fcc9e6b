// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/meet_feed.h"

#include <algorithm>
#include <cstring>

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

transport::MessageId Feeds::word_id(Ref with, uint32_t number) const {
    const auto lane = static_cast<uint32_t>(call_.slots.slot_of(with).lane);
    return {call_.number, lane, with.slot + uint32_t{1}, number, call_.word};
}

void Feeds::begin_neighbour(Ref with) {
    const Operation& operation = call_.slots.operation_of(with);
    call_.slots.neighbours_of(with).begin(with.index);
    call_.network.recv(operation.peer, word_id(with, 0), call_.at(with, operation.to), sizeof(Word),
                       call_.slots.ticket_of(with));
}

bool Feeds::begin(Ref ref) {
    const Operation& operation = call_.slots.operation_of(ref);
    const uint32_t neighbours = call_.slots.neighbours_of(ref).count;
    TUTTI_ASSERT(ref.index == neighbours, "it comes behind its neighbours");
    TUTTI_ASSERT(call_.slots.lanes_in_flight() == 1, "words have a slot of their own");
    TUTTI_ASSERT(operation.message <= whom_.size(), "one feeds no more than there is room for");
    is_middle_ = operation.left.bytes > 0;
    words_ = 0;
    has_last_ = false;
    flow_.restart(sched::fed_pieces(operation), !is_middle_);
    if (is_middle_) {
        feeder_.restart(neighbours, operation.message);
        return true;
    }
    TUTTI_ASSERT(neighbours == 1, "it knows the middle alone");
    const Word there;
    say(ref.with(0), &there, 0);
    return false;
}

// To a neighbour.
void Feeds::say(Ref with, const void* what, uint32_t number) {
    Neighbours& neighbours = call_.slots.neighbours_of(with);
    const Operation& operation = call_.slots.operation_of(with);
    std::byte* out = call_.at(with, operation.to) + sizeof(Word);
    std::memcpy(out, what, sizeof(Word));
    call_.network.send(operation.peer, word_id(with, number), out, sizeof(Word),
                       neighbours.sent[with.index]);
}

transport::State Feeds::hear(Ref with) {
    const transport::State state = is_middle_ ? test_one_fed(with) : test_being_fed(with);
    return call_.has_failed ? transport::State::kFailed : state;
}

// In the middle: it has said that it is there, and has had the last word.
transport::State Feeds::test_one_fed(Ref with) {
    Neighbours& neighbours = call_.slots.neighbours_of(with);
    const uint64_t bit = with.bit();
    if ((neighbours.heard & bit) == 0) {
        const transport::State state = call_.network.test(call_.slots.ticket_of(with));
        if (state != transport::State::kDone) return state;
        hear_there(with);
    }
    // One word at a time.
    transport::Ticket& sent = neighbours.sent[with.index];
    if ((neighbours.told & bit) != 0) {
        const transport::State state = call_.network.test(sent);
        if (state != transport::State::kDone) return state;
    }
    tell_next(with);
    return feeder_.is_done(with.index) ? transport::State::kDone : transport::State::kPending;
}

void Feeds::hear_there(Ref with) {
    Neighbours& neighbours = call_.slots.neighbours_of(with);
    call_.is_untouched = false;
    call_.has_progressed = true;
    neighbours.heard |= with.bit();
    said_[with.index] = 0;
    if (feeder_.hear(with.index)) return;
    call_.fail("a message that no fed rank sends");
}

// If there is anything.
void Feeds::tell_next(Ref with) {
    Neighbours& neighbours = call_.slots.neighbours_of(with);
    const auto next = feeder_.word(with.index);
    if (!next) return;
    const sched::Round& round = call_.slots.round_of(with);
    Word answer;
    answer.source = next->source ? round[*next->source].peer : kFromTheMiddle;
    answer.fed = static_cast<uint16_t>(next->fed);
    answer.is_last = next->is_last ? 1 : 0;
    for (uint32_t i = 0; i < next->fed; ++i) answer.whom[i] = round[next->whom[i]].peer;
    neighbours.told |= with.bit();
    call_.has_progressed = true;
    say(with, &answer, said_[with.index]++);
}

// Elsewhere: it has had the last word, and all that it is to hand on has left.
transport::State Feeds::test_being_fed(Ref with) {
    if (!has_last_) {
        const transport::State state = call_.network.test(call_.slots.ticket_of(with));
        if (state == transport::State::kFailed) return state;
        if (state == transport::State::kDone) hear_middle(with);
        if (call_.has_failed || words_ == 0) return transport::State::kPending;
    }
    const Ref own = with.with(call_.slots.neighbours_of(with).count);
    const transport::State moved = move_pieces(own);
    if (flow_.has_all()) call_.slots.set_done(own);
    const bool may_grow = moved == transport::State::kDone && !has_last_;
    return may_grow ? transport::State::kPending : moved;
}

void Feeds::hear_middle(Ref with) {
    Neighbours& neighbours = call_.slots.neighbours_of(with);
    const Operation& operation = call_.slots.operation_of(with);
    call_.is_untouched = false;
    call_.has_progressed = true;
    neighbours.heard |= with.bit();
    Word answer;
    std::memcpy(&answer, call_.at(with, operation.to), sizeof answer);
    const uint32_t before = flow_.fed();
    if (before + answer.fed > feed_of(with).message) {
        call_.fail("a message that nobody who feeds sends");
        return;
    }
    source_ = answer.source == kFromTheMiddle ? operation.peer : answer.source;
    std::copy_n(answer.whom.begin(), answer.fed, whom_.begin() + before);
    flow_.add(answer.fed);
    has_last_ = answer.is_last != 0;
    ++words_;
    if (has_last_) return;
    call_.network.recv(operation.peer, word_id(with, words_), call_.at(with, operation.to),
                       sizeof(Word), call_.slots.ticket_of(with));
}

// Of the kFeed in the middle.
transport::State Feeds::test(Ref ref) {
    feed_more(ref);
    const transport::State moved = move_pieces(ref);
    if (moved != transport::State::kDone) return moved;
    // Whoever else has come is fed together with those who are known to be there.
    const Neighbours& neighbours = call_.slots.neighbours_of(ref);
    const uint32_t asked = feeder_.is_open() ? 0 : neighbours.count;
    for (uint32_t i = 0; i < asked; ++i) {
        const Ref with = ref.with(i);
        const bool is_heard = (neighbours.heard & with.bit()) != 0;
        if (!is_heard &&
            call_.network.test(call_.slots.ticket_of(with)) == transport::State::kDone) {
            hear_there(with);
        }
    }
    if (call_.has_failed) return transport::State::kFailed;
    flow_.restart(sched::fed_pieces(call_.slots.operation_of(ref)), false);
    feeder_.go_on();
    feed_more(ref);
    if (flow_.is_over()) {
        return feeder_.has_all() ? transport::State::kDone : transport::State::kPending;
    }
    call_.has_progressed = true;
    return transport::State::kPending;
}

// Those whom the middle is to feed itself; pieces wait for who has not had its word yet.
void Feeds::feed_more(Ref ref) {
    const adapt::Feeder::Word more = feeder_.root_word();
    for (uint32_t i = 0; i < more.fed; ++i) {
        whom_[flow_.fed() + i] = call_.slots.round_of(ref)[more.whom[i]].peer;
    }
    flow_.add(more.fed);
}

// ---- pieces ------------------------------------------------------------------------------------

// Of a kFeed. Once through, so that a step ends even if each piece comes at once; done when none is
// left.
transport::State Feeds::move_pieces(Ref ref) {
    adapt::Flow& flow = flow_;
    bool has_failed_one = false;
    const auto is_done = [&](transport::Ticket& ticket) {
        const transport::State state = call_.network.test(ticket);
        has_failed_one = has_failed_one || state == transport::State::kFailed;
        return state == transport::State::kDone;
    };
    while (flow.awaits() && is_done(coming_[flow.come() % adapt::kPiecesAhead])) {
        flow.came();
        call_.has_progressed = true;
    }
    for (uint32_t fed = 0; fed < flow.fed(); ++fed) {
        auto& tickets = leaving_[fed];
        while (flow.awaits(fed) && is_done(tickets[flow.left_for(fed) % adapt::kPiecesAhead])) {
            flow.left(fed);
            call_.has_progressed = true;
        }
    }
    if (has_failed_one) return transport::State::kFailed;
    while (const auto post = flow.next()) post_piece(ref, *post);
    return flow.is_over() ? transport::State::kDone : transport::State::kPending;
}

void Feeds::post_piece(Ref ref, const adapt::Flow::Post& post) {
    const Operation& operation = call_.slots.operation_of(ref);
    const sched::Block& block = sched::fed_block(operation);
    const uint64_t offset = post.piece * operation.right.bytes;
    const uint64_t bytes = std::min(operation.right.bytes, block.bytes - offset);
    std::byte* piece = call_.at(ref, block) + offset;
    transport::MessageId id = call_.id_of(ref);
    id.message = static_cast<uint32_t>(post.piece);
    const size_t turn = post.piece % adapt::kPiecesAhead;
    if (post.fed) {
        call_.network.send(whom_[*post.fed], id, piece, bytes, leaving_[*post.fed][turn]);
    } else {
        call_.network.recv(source_, id, piece, bytes, coming_[turn]);
    }
}

// ---- questions ---------------------------------------------------------------------------------

// Of any operation of a round that feeds, as far as it looks after it.
void Feeds::add_waits(Ref ref, std::vector<Rank>& ranks) const {
    const Neighbours& neighbours = call_.slots.neighbours_of(ref);
    const bool is_with = sched::is_neighbour(call_.slots.operation_of(ref));
    const uint64_t bit = ref.bit();
    if (is_with) {
        const bool is_heard = (neighbours.heard & bit) != 0;
        const bool is_taken = neighbours.sent[ref.index].state == transport::State::kDone;
        const bool is_all = is_middle_ ? is_taken : has_last_ || !flow_.is_over();
        if (!is_heard || !is_all) ranks.push_back(call_.slots.operation_of(ref).peer);
    }
    if (is_with == is_middle_) return;
    if (flow_.awaits()) ranks.push_back(source_);
    for (uint32_t fed = 0; fed < flow_.fed(); ++fed) {
        if (flow_.awaits(fed)) ranks.push_back(whom_[fed]);
    }
}

void Feeds::cancel(Ref ref) {
    const bool is_with = sched::is_neighbour(call_.slots.operation_of(ref));
    if (is_with) call_.network.cancel(call_.slots.ticket_of(ref));
    if (is_with == is_middle_) return;
    for (transport::Ticket& ticket : coming_) {
        if (ticket.state == transport::State::kPending) call_.network.cancel(ticket);
    }
    for (auto& tickets : leaving_) {
        for (transport::Ticket& ticket : tickets) {
            if (ticket.state == transport::State::kPending) call_.network.cancel(ticket);
        }
    }
}

}  // namespace tutti::exec
