// SPDX-License-Identifier: BSD-3-Clause
// Runs the calls of a track on one node: state machines in shared memory.
#pragma once

#include <memory>
#include <string>

#include "plan/select/node_choice.h"
#include "run/engine/members.h"
#include "run/engine/runner.h"

namespace tutti::engine {

class NodeRunner final : public Runner {
  public:
    // node: the track's part of the memory.
    NodeRunner(Members& members, node::Team& node, std::unique_ptr<select::NodeChoice> choice);

    // False: no rule is about such a call, whatever else is said of it.
    [[nodiscard]] bool is_ruled(const node::Call& call) const {
        return choice_ && choice_->is_about(call.collective, call.bytes);
    }
    // True where a rule or live tuning leaves it to the embedder: it has its number, and is over
    // here.
    [[nodiscard]] bool leaves_to_host(Request& request);
    // The short way, for a call of which nobody but its caller knows, that no rule is about and
    // whose buffers are ready.
    [[nodiscard]] Begun begin(node::Op& op);
    // Goes on with a call of the short way.
    void resume(node::Op& op) { op_ = &op; }
    // After a call. Where all waited for all, the first to leave has woken everybody, and it had no
    // need to sleep itself; a rank that was woken need not wake the others again.
    void ring_done(const node::Op& op);

    Begun begin(Request& request) override;
    Begun start_chosen(Request& request) override;
    void begin_cards(const CallCard& mine, std::span<CallCard> all) override;
    void begin_comparison(const node::Call& call) override;
    Step step() override;
    void cancel() override { op_ = nullptr; }
    void announce() override;
    Bell& bell(Waiter::From from) override;
    void sleep(Sleeper& sleeper, Waiter::From from, uint64_t end_ns) override;
    void ring() override { node_.slice.header().bell.ring(); }
    [[nodiscard]] node::Op* node_op() override { return op_; }
    [[nodiscard]] uint32_t calls() const override {
        return static_cast<uint32_t>(node_.bases.call);
    }
    const char* algorithm(const Request& request) override;
    Result<Done> force(const Request& request, const std::string& algorithm) override;
    std::vector<select::Way> ways(const select::CallKind& kind, bool has_stragglers) override;
    [[nodiscard]] bool tolerates() const override { return node_.tolerates; }

  private:
    Result<select::NodeAnswer> ask(const Request& request);
    void leave_to_host(Request& request);

    Members& members_;
    node::Team& node_;
    std::unique_ptr<select::NodeChoice> choice_;  // where rules say something
    node::Op* op_ = nullptr;                      // under way
    const node::Algorithm* chosen_ = nullptr;     // for the next call; nullptr: the node level's
    node::Op exchange_;                           // of the cards, and of what is compared
    bool has_slept_ = false;                      // in the call under way
};

inline Runner::Begun NodeRunner::begin(node::Op& op) {
    if (op.call.is_empty_for_all()) {
        node::pass(node_, op.call);
        op.step = nullptr;
        return Begun::kDone;
    }
    node::start(node_, op);
    return Begun::kRuns;
}

}  // namespace tutti::engine
