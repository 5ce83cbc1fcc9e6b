// SPDX-License-Identifier: BSD-3-Clause
#include "engine/node_runner.h"

#include <utility>

namespace tutti::engine {

NodeRunner::NodeRunner(Members& members, std::unique_ptr<HostChoice> host_choice)
    : members_(members), node_(members.node), host_choice_(std::move(host_choice)) {}

Runner::Begun NodeRunner::begin(Request& request) {
    const Begun begun = begin(request.op);
    if (begun == Begun::kRuns) op_ = &request.op;
    return begun;
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

bool NodeRunner::may_be_host(tutti_collective collective, uint64_t bytes) const {
    return host_choice_ && host_choice_->may_leave(collective, bytes);
}

Result<bool> NodeRunner::is_host(const Request& request) {
    return host_choice_->prefers_host(shape_of(request, members_.size));
}

const char* NodeRunner::algorithm(const Request& request) {
    return node::algorithm_name(node_, request.op.call);
}

Result<Done> NodeRunner::force(const Request&, const std::string& algorithm) {
    if (algorithm.empty()) return Done{};
    return Error{ErrorCode::kArgument,
                 "all ranks are on one host, where shared memory runs every call"};
}

}  // namespace tutti::engine
