// SPDX-License-Identifier: BSD-3-Clause
// Runs the calls of a track across nodes: schedules over its messages to other nodes.
#pragma once

#include <memory>
#include <string>

#include "run/engine/block_places.h"
#include "run/engine/disagreement.h"
#include "run/engine/inter_node.h"
#include "run/engine/members.h"
#include "run/engine/runner.h"

namespace tutti::engine {

class ProgramRunner final : public Runner {
  public:
    // node: the own node's part of the track. All outlive this.
    ProgramRunner(Members& members, node::Team& node, InterNode& inter_node, CallTrack& track)
        : members_(members), node_(node), inter_node_(inter_node), track_(track) {}

    Begun begin(Request& request) override;
    Begun start_chosen(Request& request) override;
    void begin_cards(const CallCard& mine, std::span<CallCard> all) override;
    void begin_meeting() override;
    void begin_comparison(const node::Call& call) override;
    void begin_settling() override { phase_ = Phase::kSettling; }
    Step step() override;
    void cancel() override;
    [[nodiscard]] Waiter::From awaited() const override;
    void serve_others() override { inter_node_.multicast().poll_carrier(); }
    void announce() override;
    void lengthen() override { track_.announce(true); }
    Bell& bell(Waiter::From from) override;
    void sleep(Sleeper& sleeper, Waiter::From from, uint64_t end_ns) override;
    [[nodiscard]] node::Op* node_op() override { return track_.executor().node_op(); }
    [[nodiscard]] uint32_t calls() const override { return track_.call(); }
    const char* algorithm(const Request& request) override;
    Result<Done> force(const Request& request, const std::string& algorithm) override;
    std::vector<select::Way> ways(const select::CallKind& kind, bool has_stragglers) override;
    [[nodiscard]] bool tolerates() const override { return true; }

  private:
    enum class Phase {
        kRunning,
        kDeciding,  // the call waits for what all ranks agree on after multicast failed
        kSettling,
        kWithdrawing  // others send less than there is room for: the call begins anew
    };
    void start();
    [[nodiscard]] exec::Arguments arguments_of(const node::Call& call) const;
    void run_helper(select::Plan& plan, const exec::Arguments& arguments);
    Step step_program();
    Step step_decision();
    Step step_settling();
    Step step_failure();
    bool finds_less();
    Step begin_withdrawal();
    Step step_withdrawal();
    Step begin_less();
    void place_blocks();
    Step fail_step(tutti_status status, const char* text);
    void tell_failure();

    Members& members_;
    node::Team& node_;
    InterNode& inter_node_;
    CallTrack& track_;
    Request* request_ = nullptr;  // of the call under way
    BlockPlaces places_;          // likewise
    Phase phase_ = Phase::kRunning;
    uint64_t ask_end_ns_ = 0;  // 0: nothing is asked
    Why why_;                  // the ranks disagree
};

}  // namespace tutti::engine
