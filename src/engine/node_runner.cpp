// SPDX-License-Identifier: BSD-3-Clause
#include "engine/node_runner.h"

#include <cstdio>
#include <utility>

#include "node/algorithms.h"

namespace tutti::engine {

NodeRunner::NodeRunner(Members& members, std::unique_ptr<select::NodeChoice> choice)
    : members_(members), node_(members.node), choice_(std::move(choice)) {}

Result<const node::Algorithm*> NodeRunner::named_algorithm(const Request& request) {
    const node::Call& call = request.op.call;
    if (!is_ruled(call.collective, call.bytes)) return nullptr;
    return choice_->algorithm(shape_of(request, members_.size), {node_, call});
}

// The error of an algorithm that cannot run a call is the same on all ranks, and the call has its
// number. Where ranks differ in the bytes of a gather or scatter it may be that of some: they have
// the error, and whoever waits for them finds out that they disagree.
Runner::Begun NodeRunner::begin(Request& request) {
    if (!names_algorithms() || request.op.call.is_empty_for_all()) {
        const Begun begun = begin(request.op);
        if (begun == Begun::kRuns) op_ = &request.op;
        return begun;
    }
    const auto named = members_.context.with_fund([&] { return named_algorithm(request); });
    if (!named) {
        if (named.error().code == ErrorCode::kMemory) {
            std::snprintf(why_.text, sizeof why_.text, "%s", named.error().message.c_str());
            failure_ = {TUTTI_ERR_MEMORY, why_.text, false};
            return Begun::kFailed;
        }
        error_ = named.error().message;
        failure_ = {TUTTI_ERR_ALGORITHM, error_.c_str(), true};
        node::pass(node_, request.op.call);
        return Begun::kFailed;
    }
    op_ = &request.op;
    named.value() ? node::start(node_, *op_, *named.value()) : node::start(node_, *op_);
    return Begun::kRuns;
}

void NodeRunner::begin_cards(const CallCard& mine, std::span<CallCard> all) {
    node::Call exchange;
    exchange.collective = TUTTI_ALLGATHER;
    exchange.bytes = sizeof(CallCard);
    exchange.send = reinterpret_cast<const std::byte*>(&mine);
    exchange.recv = reinterpret_cast<std::byte*>(all.data());
    node::start(node_, exchange_, exchange);
    op_ = &exchange_;
}

exec::Step NodeRunner::step() {
    const node::Step step = node::step(node_, *op_);
    if (step == node::Step::kBlocked) return exec::Step::kBlocked;
    if (step == node::Step::kAdvanced) return exec::Step::kAdvanced;
    if (members_.policy.sleeps) ring_done(*op_);
    op_ = nullptr;
    return exec::Step::kDone;
}

void NodeRunner::ring_done(const node::Op& op) {
    if (!has_slept_ || !node::waits_for_all(op)) node_.slice.header().bell.ring();
    has_slept_ = false;
}

void NodeRunner::announce() {
    if (op_) node::announce(node_, *op_);
}

// What this rank has done up to here may be what another one sleeps for.
Bell& NodeRunner::bell(Waiter::From) {
    Bell& bell = node_.slice.header().bell;
    if (!node::waits_for_all(*op_)) bell.ring();
    return bell;
}

void NodeRunner::sleep(Sleeper& sleeper, Waiter::From, uint64_t end_ns) {
    sleeper.sleep(end_ns);
    has_slept_ = true;
}

bool NodeRunner::is_ruled(tutti_collective collective, uint64_t bytes) const {
    return choice_ && choice_->is_about(collective, bytes);
}

Result<bool> NodeRunner::is_host(const Request& request) {
    return choice_->prefers_host(shape_of(request, members_.size), {node_, request.op.call});
}

const char* NodeRunner::algorithm(const Request& request) {
    const auto named = members_.context.with_fund([&] { return named_algorithm(request); });
    if (!named) return "none";
    return named.value() ? named.value()->name : node::algorithm_name(node_, request.op.call);
}

Result<Done> NodeRunner::force(const Request& request, const std::string& algorithm) {
    if (!choice_ && algorithm.empty()) return Done{};
    const bool is_first = !choice_;
    auto forced = members_.context.with_fund([&] {
        if (!choice_) {
            choice_ = select::NodeChoice::create_silent(members_.context.grounds(), members_.size);
        }
        return choice_->force(shape_of(request, members_.size), {node_, request.op.call},
                              algorithm);
    });
    if (!forced && is_first) choice_.reset();
    return forced;
}

}  // namespace tutti::engine
