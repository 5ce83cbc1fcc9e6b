// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/node_runner.h"

#include <utility>

#include "run/node/node_algorithms.h"

namespace tutti::engine {
namespace {

// Way::force of the two there are on one node.
constexpr uint32_t kHostWay = 1;
constexpr uint32_t kNodeWay = 2;

// Of a vector form; its two ranks say so.
constexpr const char* kTooLong =
    "a block takes more than 2^26 rounds through a chunk; a larger TUTTI_CHUNK takes fewer";

}  // namespace

NodeRunner::NodeRunner(Members& members, node::Team& node,
                       std::unique_ptr<select::NodeChoice> choice)
    : members_(members), node_(node), choice_(std::move(choice)) {}

Result<select::NodeAnswer> NodeRunner::ask(const Request& request) {
    const node::Call& call = request.op.call;
    if (call.is_empty()) return select::NodeAnswer{};
    const bool is_forced = choice_ && choice_->is_forced(call.collective);
    if (request.way != 0 && !is_forced) {
        return select::NodeAnswer{.is_host = request.way == kHostWay};
    }
    if (!is_ruled(call)) return select::NodeAnswer{};
    return members_.context.fund().with([&] {
        return choice_->says(shape_of(request, members_.size), {node_, call});
    });
}

// The node level's own choice and the host MPI.
std::vector<select::Way> NodeRunner::ways(const select::CallKind& kind, bool) {
    node::Call call;
    call.collective = kind.collective;
    call.bytes = kind.bytes;
    call.reducer.element_bytes = kind.element_bytes;
    Result<select::NodeAnswer> said = select::NodeAnswer{};
    if (is_ruled(call)) said = choice_->says(kind.shape(members_.size), {node_, call});
    const bool is_host = said && said.value().is_host;
    const bool has_named = said && said.value().algorithm;
    std::vector<select::Way> ways;
    ways.push_back({0, std::string(is_host     ? select::kHostMpi
                                   : has_named ? said.value().algorithm->name
                                               : select::kNodeLevel)});
    if (!said || said.value().is_users) return ways;
    const bool may_hand_back = select::may_hand_back(members_.context.grounds(), kind.collective);
    if (!is_host && may_hand_back) ways.push_back({kHostWay, std::string(select::kHostMpi)});
    if (is_host || has_named) ways.push_back({kNodeWay, std::string(select::kNodeLevel)});
    return ways;
}

// The error of an algorithm that cannot run a call is the same on all ranks, and the call has its
// number. Where ranks differ in the bytes of a gather or scatter it may be that of some: they have
// the error, and whoever waits for them finds out that they disagree.
Runner::Begun NodeRunner::begin(Request& request) {
    const auto answer = ask(request);
    if (!answer) {
        if (answer.error().code != ErrorCode::kMemory) node::pass(node_, request.op.call);
        return fail(answer.error());
    }
    if (answer.value().is_host) {
        leave_to_host(request);
        return Begun::kHost;
    }
    chosen_ = answer.value().algorithm;
    if (chosen_) request.ran = chosen_->name;
    return request.awaits_buffers() ? Begun::kChosen : start_chosen(request);
}

Runner::Begun NodeRunner::start_chosen(Request& request) {
    if (!chosen_) {
        const Begun begun = begin(request.op);
        if (begun == Begun::kRuns) op_ = &request.op;
        return begun;
    }
    op_ = &request.op;
    node::start(node_, *op_, *chosen_);
    return Begun::kRuns;
}

void NodeRunner::leave_to_host(Request& request) {
    node::Call left;
    left.collective = node::kLeftToHost;
    node::pass(node_, left);
    request.ran = select::kHostMpi.data();
}

bool NodeRunner::leaves_to_host(Request& request) {
    const auto answer = ask(request);
    if (!answer || !answer.value().is_host) return false;
    leave_to_host(request);
    return true;
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

void NodeRunner::begin_comparison(const node::Call& call) {
    node::start(node_, exchange_, call);
    op_ = &exchange_;
}

Step NodeRunner::step() {
    const Step step = node::step(node_, *op_);
    if (step == Step::kFailed) static_cast<void>(fail(TUTTI_ERR_MEMORY, kTooLong));
    if (step != Step::kDone) return step;
    if (members_.policy.sleeps) ring_done(*op_);
    op_ = nullptr;
    return Step::kDone;
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

const char* NodeRunner::algorithm(const Request& request) {
    const auto answer = ask(request);
    if (!answer) return "none";
    if (answer.value().is_host) return select::kHostMpi.data();
    const node::Algorithm* named = answer.value().algorithm;
    return named ? named->name : node::algorithm_name(node_, request.op.call);
}

Result<Done> NodeRunner::force(const Request& request, const std::string& algorithm) {
    if (!choice_ && algorithm.empty()) return Done{};
    const bool is_first = !choice_;
    auto forced = members_.context.fund().with([&] {
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
