// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/queue.h"

#include <string>

#include "base/assert.h"
#include "run/engine/messages.h"

namespace tutti::engine {

void Queue::push(Request& request) {
    TUTTI_ASSERT(request.stage == Request::Stage::kIdle, "a request is started once at a time");
    TUTTI_ASSERT(!back_ || back_->stage != Request::Stage::kChosen, "a chosen call goes on first");
    request.stage = Request::Stage::kQueued;
    request.status = TUTTI_PENDING;
    request.was_chosen = false;
    request.next = nullptr;
    (back_ ? back_->next : front_) = &request;
    back_ = &request;
    if (front_ == &request) begin(request);
}

void Queue::put_in_front(Request& request) {
    TUTTI_ASSERT(is_idle(), "no other request is under way");
    TUTTI_ASSERT(request.stage == Request::Stage::kIdle, "a request is started once at a time");
    request.stage = Request::Stage::kRunning;
    request.status = TUTTI_PENDING;
    request.next = nullptr;
    front_ = back_ = &request;
}

void Queue::begin(Request& request) {
    TUTTI_ASSERT(&request == front_ && request.stage == Request::Stage::kQueued,
                 "the one in front begins, once");
    if (members_.is_broken()) {
        control_->notify_remaining();
        return finish(request, members_.broken);
    }
    if (!checks()) return begin_main(request);
    request.stage = Request::Stage::kChecking;
    runner_->begin_cards(request.card, cards_);
}

void Queue::begin_main(Request& request) {
    request.stage = Request::Stage::kRunning;
    const bool is_foreign = checks() && request.card.label[0] != '\0';
    if (is_foreign) return finish(request, TUTTI_OK);
    begun(request, runner_->begin(request));
}

void Queue::start_chosen() {
    TUTTI_ASSERT(front_ && front_->stage == Request::Stage::kChosen, "buffers are for that");
    front_->status = TUTTI_PENDING;
    front_->stage = Request::Stage::kRunning;
    begun(*front_, runner_->start_chosen(*front_));
}

void Queue::begun(Request& request, Runner::Begun begun) {
    switch (begun) {
        case Runner::Begun::kRuns:
            return;
        case Runner::Begun::kUndecided:
            request.stage = Request::Stage::kDeciding;
            return;
        case Runner::Begun::kChosen:
            request.stage = Request::Stage::kChosen;
            request.status = TUTTI_CHOSEN;
            request.was_chosen = true;
            return;
        case Runner::Begun::kDone:
            return finish(request, TUTTI_OK);
        case Runner::Begun::kHost:
            return finish(request, TUTTI_HOST);
        case Runner::Begun::kFailed:
            return fail_front();
    }
}

// Whether the card of `rank` goes with all others, as each member finds alike: equal to the root's,
// or of a gather that sends less than its root has room for, or of a scatter that sends less than
// its receivers have.
bool Queue::is_tolerable(uint32_t rank) const {
    const CallCard& card = cards_[rank];
    const CallCard& root = cards_[cards_[0].root < members_.size ? cards_[0].root : 0];
    CallCard same = card;
    if (card.dtype == TUTTI_BYTE || root.dtype == TUTTI_BYTE) same.dtype = root.dtype;
    if (same == root) return true;
    same.bytes = root.bytes;
    if (!runner_->tolerates() || !(same == root)) return false;
    if (card.collective == TUTTI_GATHER) return card.bytes < root.bytes;
    return card.collective == TUTTI_SCATTER && card.bytes > root.bytes;
}

void Queue::compare_cards(Request& request) {
    for (uint32_t rank = 0; rank < cards_.size(); ++rank) {
        if (is_tolerable(rank)) continue;
        // Assigned, so that the memory stays that break_down() needs.
        const std::string line = mismatch_message(members_.name, runner_->calls(), cards_);
        members_.message.assign(line);
        return finish(request, TUTTI_ERR_MISMATCH);
    }
    begin_main(request);
}

void Queue::finish(Request& request, tutti_status status) {
    TUTTI_ASSERT(&request == front_ && status != TUTTI_PENDING,
                 "requests end in the order of their start");
    if (members_.is_broken()) runner_->cancel();
    request.status = status;
    request.stage = Request::Stage::kIdle;
    front_ = request.next;
    if (!front_) back_ = nullptr;
    // One that ends as it begins comes back to here.
    if (is_beginning_) return;
    is_beginning_ = true;
    while (front_ && front_->stage == Request::Stage::kQueued) begin(*front_);
    is_beginning_ = false;
}

// The call in front is done: on to what follows it.
void Queue::finish_front() {
    const bool is_checking = front_->stage == Request::Stage::kChecking;
    if (!is_checking && front_->stage != Request::Stage::kDeciding) {
        return finish(*front_, TUTTI_OK);
    }
    if (members_.is_broken()) return finish(*front_, members_.broken);
    if (is_checking) return compare_cards(*front_);
    Request& decided = *front_;
    begin_main(decided);
    TUTTI_ASSERT(decided.status != TUTTI_HOST,
                 "what multicasts is not the host's without them either");
}

// The error of a plan that cannot be made is the same on all ranks; what is this rank's own, the
// others hear of.
void Queue::fail_front() {
    const Failure failure = runner_->failure();
    if (!failure.is_alike) {
        if (!members_.is_broken()) control_->break_off(failure.status, failure.text);
        return finish(*front_, members_.broken);
    }
    members_.message.assign(members_.name).append(": ").append(failure.text);
    finish(*front_, failure.status);
}

bool Queue::advance() {
    if (!front_ || front_->stage == Request::Stage::kChosen) return false;
    TUTTI_ASSERT(front_->stage > Request::Stage::kQueued, "the one in front has begun");
    switch (runner_->step()) {
        case Step::kBlocked:
            return false;
        case Step::kAdvanced:
            break;
        case Step::kDone:
            finish_front();
            break;
        case Step::kFailed:
            fail_front();
            break;
    }
    return true;
}

}  // namespace tutti::engine
