// SPDX-License-Identifier: BSD-3-Clause
// Requests of a team: queue, wait loop, TUTTI_CHECK and stall reports.
#include "engine/team.h"

#include <cstring>
#include <vector>

#include "engine/messages.h"

namespace tutti::engine {
namespace {

// Calls that never waited still let the embedder progress now and then: a program that only calls
// collectives in a loop must not starve a message under way. At 150 ns a call, 1 in 128 costs 1 ns.
constexpr uint32_t kCallsPerProgress = 128;

bool is_rooted(tutti_collective collective) {
    return collective == TUTTI_BCAST || collective == TUTTI_REDUCE ||
           collective == TUTTI_GATHER || collective == TUTTI_SCATTER;
}

Result<node::Reducer> reducer_of(const tutti_call& call, node::Isa isa) {
    node::Reducer reducer;
    if (call.op == TUTTI_OP_USER) {
        if (!call.reduce || call.element_bytes == 0) {
            return Error{ErrorCode::kArgument, "a user operator without function or element"};
        }
        if (call.element_bytes > TUTTI_ELEMENT_BYTES_MAX) {
            return Error{ErrorCode::kArgument, "an element larger than TUTTI_ELEMENT_BYTES_MAX"};
        }
        reducer.user_fn = call.reduce;
        reducer.user = call.reduce_user;
        reducer.element_bytes = static_cast<uint32_t>(call.element_bytes);
    } else {
        reducer.kernel = node::find_kernel(call.dtype, call.op, isa);
        if (!reducer.kernel) {
            return Error{ErrorCode::kArgument, "this operator is not defined for this type"};
        }
        reducer.element_bytes = static_cast<uint32_t>(node::dtype_bytes(call.dtype));
    }
    if (call.bytes % reducer.element_bytes != 0) {
        return Error{ErrorCode::kArgument, "bytes is not a multiple of the element"};
    }
    return reducer;
}

}  // namespace

Team::~Team() {
    if (!mapping_) return;
    node_.slice.header().detached.fetch_add(1, std::memory_order_release);
}

Result<Done> Team::describe(const tutti_call& call, Request& request) const {
    if (call.collective < 0 || call.collective >= TUTTI_COLLECTIVE_COUNT) {
        return Error{ErrorCode::kArgument, "no such collective"};
    }
    request.team = const_cast<Team*>(this);
    request.call = node::Call{};
    node::Call& target = request.call;
    target.collective = call.collective;
    if (is_rooted(call.collective)) {
        if (call.root >= node_.size) return Error{ErrorCode::kArgument, "root outside the team"};
        target.root = call.root;
    }
    target.bytes = call.collective == TUTTI_BARRIER ? 0 : call.bytes;
    if (call.send != TUTTI_IN_PLACE) target.send = static_cast<const std::byte*>(call.send);
    if (call.recv != TUTTI_IN_PLACE) target.recv = static_cast<std::byte*>(call.recv);
    const bool reduces =
        call.collective == TUTTI_REDUCE || call.collective == TUTTI_ALLREDUCE;
    if (reduces) {
        auto reducer = reducer_of(call, context_->isa());
        if (!reducer) return reducer.error();
        target.reducer = reducer.value();
    }
    if (context_->settings().check) {
        request.card = CallCard{};
        request.card.collective = call.collective;
        request.card.root = target.root;
        request.card.op = reduces ? call.op : 0;
        request.card.bytes = target.bytes;
    }
    return Done{};
}

void Team::start(Request& request) {
    TUTTI_ASSERT(request.stage == Request::Stage::kIdle, "a request is started once at a time");
    request.stage = Request::Stage::kQueued;
    request.status = TUTTI_PENDING;
    request.next = nullptr;
    if (tail_) {
        tail_->next = &request;
        tail_ = &request;
        return;
    }
    head_ = tail_ = &request;
    begin(request);
}

void Team::begin(Request& request) {
    if (!context_->settings().check || node_.size == 1) return begin_main(request);
    request.stage = Request::Stage::kChecking;
    node::Call exchange;
    exchange.collective = TUTTI_ALLGATHER;
    exchange.bytes = sizeof(CallCard);
    exchange.send = reinterpret_cast<const std::byte*>(&request.card);
    exchange.recv = reinterpret_cast<std::byte*>(cards_.data());
    node::start(node_, request.op, exchange);
}

void Team::begin_main(Request& request) {
    request.stage = Request::Stage::kRunning;
    const bool is_foreign = request.card.label[0] != '\0';
    const bool is_empty = request.call.bytes == 0 && request.call.collective != TUTTI_BARRIER;
    if (is_foreign || is_empty) return finish(request, TUTTI_OK);
    node::start(node_, request.op, request.call);
}

void Team::compare_cards(Request& request) {
    for (const CallCard& card : cards_) {
        if (card == request.card) continue;
        message_ = mismatch_message(name_, request.op.number, cards_);
        return finish(request, TUTTI_ERR_MISMATCH);
    }
    begin_main(request);
}

void Team::finish(Request& request, tutti_status status) {
    request.status = status;
    request.stage = Request::Stage::kIdle;
    head_ = request.next;
    if (!head_) {
        tail_ = nullptr;
    } else {
        begin(*head_);
    }
}

bool Team::advance() {
    if (!head_) return false;
    Request& request = *head_;
    const node::Step step = node::step(node_, request.op);
    if (step == node::Step::kBlocked) return false;
    if (step == node::Step::kAdvanced) return true;
    if (request.stage == Request::Stage::kChecking) {
        compare_cards(request);
    } else {
        finish(request, TUTTI_OK);
    }
    return true;
}

tutti_status Team::wait(Request& request) {
    Waiter waiter(policy_, context_->clock());
    while (request.stage != Request::Stage::kIdle) {
        if (advance()) {
            waiter.reset();
            continue;
        }
        switch (waiter.turn()) {
            case Waiter::Advice::kPoll:
                break;
            case Waiter::Advice::kProgress:
                context_->progress();
                calls_since_progress_ = 0;
                break;
            case Waiter::Advice::kAnnounce:
                node::announce(node_, head_->op);
                break;
            case Waiter::Advice::kReport:
                context_->log(TUTTI_LOG_WARN,
                              stall_message(name_, node_, *head_, waiter.waited_ns()));
                break;
        }
    }
    if (++calls_since_progress_ >= kCallsPerProgress) {
        calls_since_progress_ = 0;
        context_->progress();
    }
    return request.status;
}

}  // namespace tutti::engine
