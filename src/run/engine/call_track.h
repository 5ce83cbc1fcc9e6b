// SPDX-License-Identifier: BSD-3-Clause
// The calls of a team across hosts, one after the other: the executor that runs them, and what is
// known of the one under way. A call is taken on by its plan, gets its number so, and starts once
// its buffers are ready.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bell.h"
#include "base/result.h"
#include "plan/sched/shape.h"
#include "plan/select/plans.h"
#include "run/engine/call_planner.h"
#include "run/engine/context.h"
#include "run/exec/executor.h"
#include "run/multicast/multicast_life.h"
#include "run/networks/team_networks.h"
#include "run/node/node_team.h"
#include "run/notes/call_log.h"
#include "run/transport/p2p/p2p.h"
#include "run/transport/transport.h"

namespace tutti::engine {

class CallTrack {
  public:
    // What the team has, which outlives this.
    struct Means {
        Context& context;
        uint32_t rank;
        networks::TeamNetworks& networks;
        transport::P2p& messages;  // the embedder's
        multicast::MulticastLife& multicast;
        CallPlanner& planner;
        notes::CallLog& log;
    };
    explicit CallTrack(const Means& means) : means_(means) {}
    CallTrack(const CallTrack&) = delete;
    CallTrack& operator=(const CallTrack&) = delete;

    // Once, when the node's part is there; it stays where it is. nullptr where every node has one
    // rank. network: by which its messages go. is_faulty: on the way they are held back, so no
    // receive can be withdrawn.
    void attach(node::Team* node, transport::Transport& network, bool is_faulty);
    // No call comes any more.
    void detach() { executor_.reset(); }
    // Of the team's multicast, or none any more; between calls.
    void set_route(transport::Multicast* route) { executor_->set_route(route); }

    // ---- the next call; under MulticastLife::hold() ----
    // Makes the memory that a plan needs, before its first call.
    Result<Done> reserve(select::Plan& plan);
    // The next call runs by this plan, which has its memory: it has its number now, and stays with
    // the plan, whatever fails from here on. No other is under way.
    void take_on(select::Plan& plan);
    // Starts that call, once its buffers are ready.
    // has_spare_capacity: it may become one of fewer bytes, where this rank has room for more than
    // others send it.
    void start(const exec::Arguments& arguments, bool has_spare_capacity = false);
    // See take_less(): the call that was withdrawn is taken on again as one of what is sent.
    void take_on_again(select::Plan& plan);
    // A call of no bytes, and one that is the embedder's: nothing is sent, but it has its number,
    // so that ranks that disagree find out.
    void pass(const node::Call& call) { sign(call.collective, call.root, 0); }
    void leave_to_host(const select::Plan& plan);

    // ---- the call under way; not under hold(), as what follows ----
    Step step();
    // It has failed.
    void cancel();
    // From take_on() to the end.
    [[nodiscard]] bool is_under_way() const { return is_under_way_; }
    [[nodiscard]] uint32_t root() const { return shape_.root; }
    [[nodiscard]] const exec::Executor& executor() const { return *executor_; }
    // As the executor's, to check whether the ranks agree.
    [[nodiscard]] node::Op* node_op() { return executor_->node_op(); }

    // ---- this rank has more room than is sent (receive_capacity.cpp) ----
    // Others run the call under way as this one, of fewer bytes, and so shall this rank: false
    // where that cannot be. Where it is true, less() is what they send until take_on_again().
    bool take_less(const node::CallNote& theirs);
    [[nodiscard]] bool may_take_less() const;
    [[nodiscard]] bool has_spare_capacity() const { return capacity_.is_spare; }
    [[nodiscard]] uint64_t less() const { return capacity_.less; }
    // The root's memory for blocks of that size.
    [[nodiscard]] std::byte* make_blocks(uint64_t bytes, uint32_t ranks);
    [[nodiscard]] const std::byte* blocks() const { return capacity_.blocks.get(); }
    void drop_blocks() { capacity_.blocks.reset(); }
    transport::State retract();
    // In a long wait: looks among messages that nobody has asked for. How another rank runs this
    // call, where it shows that, and the call cannot go on so.
    transport::Disagreement look_for_unexpected();

    // ---- sleeping for what the call under way waits for ----
    // The service of multicasts will bring it.
    [[nodiscard]] bool waits_for_service() const;
    // Rung whenever something has changed for a rank that waits for the service.
    [[nodiscard]] Bell& service_bell() { return means_.multicast.team()->bell(); }
    void sleep_for_service(Sleeper& sleeper, uint64_t end_ns) {
        means_.multicast.team()->sleep(sleeper, end_ns);
    }
    // It will come as messages that one can sleep for; beside them, on the rank that carries
    // multicasts, by the service.
    [[nodiscard]] bool waits_for_fabric();
    [[nodiscard]] Bell& fabric_bell() {
        return means_.multicast.carries() ? service_bell() : silent_;
    }
    void sleep_for_fabric(Sleeper& sleeper, uint64_t end_ns);
    // Other ranks of this node will do it.
    [[nodiscard]] bool waits_for_node() const;

  private:
    // Of a call in which this rank may have room for more than is sent to it.
    struct Capacity {
        bool is_spare = false;
        uint64_t less = 0;                    // what it would get then
        bool is_given_up = false;             // it takes that
        transport::CallWord word;             // and this was that of what it had room for
        std::unique_ptr<std::byte[]> blocks;  // all of a gather, then
    };
    // What still happens to a call with multicasts, where no thread serves them.
    enum class Wake { kNone, kDelivery, kBarrier };

    transport::CallWord sign(tutti_collective collective, uint32_t root, uint64_t bytes);
    void begin(select::Plan& plan);
    Step step_multicast();
    Step step_by_polling();

    Means means_;
    transport::Transport* network_ = nullptr;
    bool is_faulty_ = false;
    std::unique_ptr<exec::Executor> executor_;
    node::Team* node_ = nullptr;
    Bell silent_;  // of the fabric, which does not ring
    // Of the call under way.
    bool is_under_way_ = false;
    sched::Shape shape_;
    transport::CallWord word_;
    Capacity capacity_;
    Wake wake_ = Wake::kNone;
};

}  // namespace tutti::engine
