// SPDX-License-Identifier: BSD-3-Clause
// The part of a team across nodes beside its node's shared memory: the placement, the transport to
// other nodes, and the plans of the calls that it has seen.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bell.h"
#include "base/demand.h"
#include "base/facts.h"
#include "base/result.h"
#include "base/topo/placement.h"
#include "plan/sched/shape.h"
#include "plan/select/plans.h"
#include "run/engine/context.h"
#include "run/exec/executor.h"
#include "run/multicast/multicast_life.h"
#include "run/networks/team_networks.h"
#include "run/node/node_team.h"
#include "run/notes/broadcast.h"
#include "run/notes/call_log.h"
#include "run/notes/notes.h"
#include "run/transport/faulty/faulty.h"
#include "run/transport/p2p/p2p.h"
#include "run/transport/p2p/tags.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class InterNode final : public Retired, private multicast::RecoveryClient {
  public:
    InterNode(Context& context, topo::Placement placement, uint32_t rank, const tutti_p2p& p2p,
              std::vector<uint32_t> peers, transport::TagLease tags);
    ~InterNode() override;
    // See MulticastLife::hold().
    [[nodiscard]] std::unique_lock<std::mutex> hold() { return multicast_.hold(); }
    // The team is gone. False where this must be kept: until is_over(), attend() goes on with what
    // it still owes to others. Not sound: messages may still write into its memory.
    [[nodiscard]] bool retire(bool is_sound);
    bool is_over() override;
    // To all other nodes.
    [[nodiscard]] notes::Broadcast& notice() { return notice_; }

    [[nodiscard]] const topo::Placement& placement() const { return placement_; }
    [[nodiscard]] transport::Transport& transport() {
        if (faulty_) return *faulty_;
        return networks_.routes();
    }
    [[nodiscard]] notes::Notes& notes() { return notes_; }
    // The names of the nodes, for messages; may be left away.
    void set_host_names(std::vector<std::string> names) { host_names_ = std::move(names); }
    // "HOST".
    [[nodiscard]] std::string host_text(uint32_t node) const;
    // By which messages go. Made before attach().
    [[nodiscard]] networks::TeamNetworks& networks() { return networks_; }
    // Facts about the networks of the team of this name. hold() while it runs.
    void tell(std::vector<FactRow>& rows, const std::string& name) const;
    // The life of the team's multicast; this class decides which calls use it.
    [[nodiscard]] multicast::MulticastLife& multicast() { return multicast_; }
    // How fast messages between hosts are is measured, after attach(), once calls that could run
    // otherwise by it come often.
    void await_speed() { speed_demand_.await(); }
    // Between two calls all members know that alike, since they count the same calls.
    [[nodiscard]] bool is_speed_due() const;
    // Alike on all members, between two calls; 0: it is not known, nor measured any more.
    void adopt_speed(const sched::Speed& speed) {
        const auto held = hold();
        speed_demand_.end();
        speed_ = speed;
    }
    [[nodiscard]] sched::Speed message_speed() const;
    // What a try has brought, alike on all members: calls may use it.
    Result<Done> adopt_multicast(multicast::MulticastOutcome made);
    // Not for any call to use, after all: the group goes at once, on all members alike.
    void drop_multicast(std::string obstacle);
    // Once, when the node's part is there; it stays where it is. nullptr where every node has one
    // rank.
    void attach(node::Team* node);
    // Plans that no rule and no setting touches: for the comparison of calls, if its cards have
    // bytes; and a barrier, for members that meet before they try multicast, and for what follows a
    // call with multicasts where no thread serves them.
    Result<Done> plan_helpers(size_t card_bytes);

    // From here to start(), where not said otherwise, under hold().
    //
    // The plan of the next call, of this shape, made where it is new. An error is the same on all
    // ranks, unless memory ran out. Valid until the next one is asked for, or while it runs. Where
    // it is the embedder's, it stays so when multicast fails: a rank may learn of that later than
    // another, and must not wait in the embedder's call for one that waits in ours.
    // way: live tuning's (Request::way).
    Result<select::Plan*> plan(const sched::Shape& shape, uint32_t way = 0);
    // Calls of the shape's collective run by this algorithm from now on, whatever the settings say;
    // empty: by settings and rules again. All ranks alike, between calls. An error says why this
    // shape cannot, and changes nothing.
    Result<Done> force(const sched::Shape& shape, const std::string& algorithm);
    // See Runner::ways().
    [[nodiscard]] std::vector<select::Way> ways(const sched::Shape& shape, bool has_stragglers) {
        return plans_.ways(agreed(shape), circumstances(shape), has_stragglers);
    }
    // See select::Plans::follows_from().
    [[nodiscard]] std::optional<uint64_t> follows_from(const sched::Shape& shape) const {
        return plans_.follows_from(agreed(shape), circumstances(shape));
    }
    [[nodiscard]] select::Plan& check_plan() { return helpers_.check; }
    [[nodiscard]] select::Plan& barrier_plan() { return helpers_.barrier; }
    // An allreduce of one element of so many bytes, likewise.
    Result<Done> plan_comparison(size_t bytes) {
        return plan_plain(helpers_.comparison, TUTTI_ALLREDUCE, bytes);
    }
    [[nodiscard]] select::Plan& comparison_plan() { return helpers_.comparison; }

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
    // Calls in which nothing is sent, but those for whom they are other calls will notice: one of
    // no bytes, and one that is the embedder's.
    void pass(const node::Call& call) { sign(call.collective, call.root, 0); }
    void leave_to_host(const select::Plan& plan);

    // Not under hold(), these and what follows.
    // The call under way has failed.
    void cancel() {
        const auto held = hold();
        executor_->cancel();
        is_under_way_ = false;
    }
    Step step() {
        const Step step = multicast_.team() ? step_multicast() : executor_->step();
        if (step == Step::kDone) is_under_way_ = false;
        return step;
    }
    // From take_on() to the end.
    [[nodiscard]] bool is_under_way() const { return is_under_way_; }
    // ---- this rank has more room than is sent (receive_capacity.cpp) ----
    // Others run the call under way as this one, of fewer bytes, and so shall this rank: false
    // where that cannot be. Where it is true, less() is what they send until restart().
    bool take_less(const node::CallNote& theirs);
    [[nodiscard]] bool may_take_less() const;
    [[nodiscard]] uint64_t less() const { return capacity_.less; }
    [[nodiscard]] uint32_t root() const { return shape_.root; }
    // The root's memory for blocks of that size.
    [[nodiscard]] std::byte* make_blocks(uint64_t bytes);
    [[nodiscard]] const std::byte* blocks() const { return capacity_.blocks.get(); }
    void drop_blocks() { capacity_.blocks.reset(); }
    transport::State retract();
    // In a long wait: looks among messages that nobody has asked for. How another rank runs this
    // call, where it shows that, and the call cannot go on so.
    transport::Disagreement look_for_unexpected();

    // What the call under way waits for, the service of multicasts will bring.
    [[nodiscard]] bool waits_for_service() const {
        return multicast_.team() && !multicast_.polls() && executor_->waits_for_multicasts();
    }
    // Rung whenever something has changed for a rank that waits for the service.
    [[nodiscard]] Bell& service_bell() { return multicast_.team()->bell(); }
    void sleep_for_service(Sleeper& sleeper, uint64_t end_ns) {
        multicast_.team()->sleep(sleeper, end_ns);
    }
    // What the call under way waits for will come as messages that one can sleep for; beside them,
    // on the rank that carries multicasts, by the service.
    [[nodiscard]] bool waits_for_fabric();
    [[nodiscard]] Bell& fabric_bell() { return multicast_.carries() ? service_bell() : silent_; }
    void sleep_for_fabric(Sleeper& sleeper, uint64_t end_ns);
    // What the call under way waits for, other ranks of this node will do.
    [[nodiscard]] bool waits_for_node() const {
        return !multicast_.polls() && executor_->waits_for_node();
    }
    // Under hold(). Multicast has failed, as far as this rank knows, and the ranks have not agreed
    // yet from which call on they do without: whether the next one goes by this plan is not known
    // before MulticastLife::decide() has gone on. A plan without multicasts stands, whatever they
    // agree on.
    [[nodiscard]] bool is_undecided(const select::Plan& plan) const;
    // The number of the call under way, of this team; from 1.
    [[nodiscard]] uint32_t call() const { return log_.number(); }
    [[nodiscard]] const notes::CallLog& log() const { return log_; }
    // Tells those that the call under way waits for the last calls of this rank; not again before
    // they have answered, which ranks do that wait themselves.
    void tell_calls();
    void calls_heard(uint32_t rank) { is_told_[rank] = false; }
    // What was told may have been lost since.
    void forget_told() { is_told_.assign(is_told_.size(), false); }
    [[nodiscard]] const exec::Executor& executor() const { return *executor_; }
    // As the executor's, to check whether the ranks agree.
    [[nodiscard]] node::Op* node_op() { return executor_->node_op(); }
    // "rank 3 (on HOST)".
    [[nodiscard]] std::string rank_text(uint32_t rank) const;

  private:
    // See plan_helpers() and plan_comparison().
    struct Helpers {
        select::Plan check;
        select::Plan barrier;
        select::Plan comparison;
    };
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
    void attend() override;
    void withdraw();
    [[nodiscard]] bool must_keep_messages();
    void give_up_memory();
    void settle_messages();
    void watch_for_others(bool is_wanted) override { multicast_.watch_for_others(is_wanted); }
    Step step_under_lock();
    transport::CallWord sign(tutti_collective collective, uint32_t root, uint64_t bytes);
    void begin(select::Plan& plan);
    // Never by multicast, and no call of the embedder's.
    [[nodiscard]] bool is_helper(const select::Plan& plan) const {
        return &plan == &helpers_.check || &plan == &helpers_.barrier ||
               &plan == &helpers_.comparison;
    }
    [[nodiscard]] bool stays_with(uint64_t bytes) const;
    void count_wish(const select::Plan& plan);
    [[nodiscard]] bool may_multicast(const sched::Shape& shape) const;
    [[nodiscard]] select::Circumstances circumstances(const sched::Shape& shape) const;
    [[nodiscard]] sched::Shape agreed(sched::Shape shape) const;
    Result<Done> plan_plain(select::Plan& plan, tutti_collective collective, size_t bytes);
    Step step_multicast();

    Context& context_;
    topo::Placement placement_;
    uint32_t rank_;
    std::vector<uint32_t> peers_;
    transport::TagLease tags_;
    transport::P2p messages_;
    networks::TeamNetworks networks_;
    Bell silent_;                                // of the fabric, which does not ring
    std::unique_ptr<transport::Faulty> faulty_;  // TUTTI_FAULTS
    notes::Notes notes_;
    notes::Broadcast notice_;
    bool is_sound_ = true;  // no call has failed
    multicast::MulticastLife multicast_;
    Demand speed_demand_;  // of calls that could run otherwise by it
    sched::Speed speed_;   // as measured without multicast
    select::Plans plans_;
    std::unique_ptr<exec::Executor> executor_;
    node::Team* node_ = nullptr;
    std::vector<std::string> host_names_;
    Helpers helpers_;
    Wake wake_ = Wake::kNone;
    notes::CallLog log_;
    std::vector<bool> is_told_;  // by rank, the last calls
    // Of the call under way.
    Capacity capacity_;
    sched::Shape shape_;
    transport::CallWord word_;
    bool is_under_way_ = false;
};

}  // namespace tutti::engine
