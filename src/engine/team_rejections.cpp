// SPDX-License-Identifier: BSD-3-Clause
// What a team does about calls that failed outside it: see rejections.h.
#include <cstdio>
#include <new>

#include "base/bell.h"
#include "engine/team.h"

namespace tutti::engine {

uint32_t Team::calls_begun() const {
    return network_ ? network_->call() : static_cast<uint32_t>(node_.call);
}

void Team::rejected() {
    const HeldTeam held(*this);
    if (broken_ != TUTTI_OK) return;
    rejections_.add();
    if (network_ && !network_->notes().is_on()) {
        give_up(TUTTI_ERR_MISMATCH, "a collective failed here, and others cannot be asked");
    }
}

void Team::begin_agreement(Request& request) {
    request.stage = Request::Stage::kAgreeing;
    const Mark mark = rejections_.begin(calls_begun() + 1);
    if (network_) return;
    node_.slice.done(node_.rank).rejections.store(mark.pack(), std::memory_order_release);
    node_.slice.header().bell.ring();
}

// All ranks are told that this one is out of step with that one, which had the error.
void Team::fall_out_of_step(uint32_t rank) {
    char why[96];
    std::snprintf(why, sizeof(why),
                  "out of step since a collective failed on rank %u, but not on all ranks", rank);
    break_off(TUTTI_ERR_MISMATCH, why);
}

Verdict Team::agree_on_node() {
    bool is_complete = true;
    for (node::Rank rank = 0; rank < node_.size; ++rank) {
        if (rank == node_.rank) continue;
        const node::DoneWords& words = node_.slice.done(rank);
        // In this order: a rank that is done with a call has compared before, if it ever did.
        const auto done = static_cast<uint32_t>(words.calls_done.load(std::memory_order_acquire));
        const Mark mark = Mark::unpack(words.rejections.load(std::memory_order_acquire));
        const Verdict verdict = rejections_.compare(mark);
        const bool has_begun = rejections_.mark().is_reached(done);
        if (verdict == Verdict::kOutOfStep || (verdict == Verdict::kNotYet && has_begun)) {
            return Verdict::kOutOfStep;
        }
        is_complete = is_complete && verdict == Verdict::kAgree;
    }
    return is_complete ? Verdict::kAgree : Verdict::kNotYet;
}

Verdict Team::agree_across() {
    while (uint64_t{1} << rejections_.step < size_) {
        const auto to = static_cast<uint32_t>((rank_ + (uint64_t{1} << rejections_.step)) % size_);
        if (!rejections_.is_sent) {
            Note note;
            note.kind = Note::Kind::kRejections;
            note.call = network_->call();
            note.count = rejections_.step;
            note.mark = rejections_.mark().pack();
            rejections_.is_sent = network_->notes().send(to, note);
        }
        try {
            hear_all();
        } catch (const std::bad_alloc&) {
            // As in listen().
        }
        const Verdict verdict = rejections_.is_sent ? rejections_.compare_step() : Verdict::kNotYet;
        if (verdict != Verdict::kAgree) return verdict;
        ++rejections_.step;
        rejections_.is_sent = false;
    }
    return Verdict::kAgree;
}

bool Team::advance_agreement() {
    const Verdict verdict = network_ ? agree_across() : agree_on_node();
    if (verdict == Verdict::kOutOfStep && broken_ == TUTTI_OK) fall_out_of_step(rank_);
    if (broken_ != TUTTI_OK) {
        finish(*head_, broken_);
        return true;
    }
    if (verdict == Verdict::kNotYet) return false;
    rejections_.end();
    begin_agreed(*head_);
    return true;
}

// For ranks that had no error, wherever they wait for one that had.
void Team::look_for_rejections() {
    uint32_t who = 0;
    if (network_) {
        if (rejections_.find_passed(calls_begun(), who)) fall_out_of_step(who);
        return;
    }
    for (node::Rank rank = 0; rank < node_.size; ++rank) {
        const uint64_t word = node_.slice.done(rank).rejections.load(std::memory_order_acquire);
        if (rejections_.is_passed(Mark::unpack(word), calls_begun())) {
            fall_out_of_step(rank);
            return;
        }
    }
}

void Team::wait_agreement_turn(Waiter& waiter) {
    move_others_on();
    switch (waiter.turn()) {
        case Waiter::Advice::kPoll:
        case Waiter::Advice::kAnnounce:
            break;
        case Waiter::Advice::kProgress:
            context_->progress();
            break;
        case Waiter::Advice::kListen:
            context_->progress();
            listen(nullptr);
            if (broken_ != TUTTI_OK) finish(*head_, broken_);
            break;
        case Waiter::Advice::kReport:
            context_->log(TUTTI_LOG_WARN, "rank " + std::to_string(rank_) + " of " + name_ +
                                              " waits for all ranks to report an error, as its "
                                              "own last call did");
            break;
        case Waiter::Advice::kSleep:
            if (node_.size > 1) Sleeper(node_.slice.header().bell).sleep(sleep_end_ns());
            break;
    }
}

}  // namespace tutti::engine
