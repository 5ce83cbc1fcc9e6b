// SPDX-License-Identifier: BSD-3-Clause
// Runs the calls of a team on one node: state machines in shared memory.
#pragma once

#include <memory>
#include <string>

#include "engine/members.h"
#include "engine/runner.h"
#include "select/node_choice.h"

namespace tutti::engine {

class NodeRunner final : public Runner {
  public:
    NodeRunner(Members& members, std::unique_ptr<select::NodeChoice> choice);

    // Calls are asked about before they begin, so none goes the short way.
    [[nodiscard]] bool names_algorithms() const { return choice_ && choice_->names_algorithms(); }
    // The short way, for a call of which nobody but its caller knows.
    [[nodiscard]] Begun begin(node::Op& op);
    // Goes on with a call of the short way.
    void resume(node::Op& op) { op_ = &op; }
    // After a call. Where all waited for all, the first to leave has woken everybody, and it had no
    // need to sleep itself; whoever was woken need not wake the others again.
    void ring_done(const node::Op& op);

    Begun begin(Request& request) override;
    void begin_cards(const CallCard& mine, std::span<CallCard> all) override;
    exec::Step step() override;
    Failure failure() override { return failure_; }
    void cancel() override { op_ = nullptr; }
    void announce() override;
    Bell& bell(Waiter::From from) override;
    void sleep(Sleeper& sleeper, Waiter::From from, uint64_t end_ns) override;
    [[nodiscard]] node::Op* node_op() override { return op_; }
    void pass(const node::Call& call) override { node::pass(node_, call); }
    [[nodiscard]] uint32_t calls() const override { return static_cast<uint32_t>(node_.call); }
    [[nodiscard]] bool has_host_rules() const override { return choice_ != nullptr; }
    [[nodiscard]] bool is_ruled(tutti_collective collective, uint64_t bytes) const override;
    Result<bool> is_host(const Request& request) override;
    const char* algorithm(const Request& request) override;
    Result<Done> force(const Request& request, const std::string& algorithm) override;
    [[nodiscard]] bool tolerates() const override { return node_.tolerates; }

  private:
    // nullptr: nothing is named for this call.
    Result<const node::Algorithm*> named_algorithm(const Request& request);

    Members& members_;
    node::Team& node_;
    std::unique_ptr<select::NodeChoice> choice_;  // where rules say something
    node::Op* op_ = nullptr;                      // under way
    node::Op exchange_;                           // of the cards
    bool has_slept_ = false;                      // in the call under way
    Failure failure_;
    std::string error_;  // alike on all members
    Why why_;            // of this rank's own
};

inline Runner::Begun NodeRunner::begin(node::Op& op) {
    if (op.call.is_empty_for_all()) {
        node::pass(node_, op.call);
        return Begun::kDone;
    }
    node::start(node_, op);
    return Begun::kRuns;
}

}  // namespace tutti::engine
