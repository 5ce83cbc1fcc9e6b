// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/inter_node.h"

#include <algorithm>
#include <utility>

namespace tutti::engine {
namespace {

// Measuring messages takes some 50 of them, of which the long ones are 4 MB at most each way and
// some 50 ms where links are slow. It comes after 256 calls of a few bytes, or 16 of 1 MiB, so the
// job has spent several times as much on its calls by then.
constexpr uint64_t kPricedCallBytes = 64u << 10;
constexpr Demand kSpeedDemand(kPricedCallBytes, 256 * kPricedCallBytes);
}  // namespace

InterNode::InterNode(Context& context, topo::Placement placement, uint32_t rank,
                     const tutti_p2p& p2p, std::vector<uint32_t> peers, transport::TagLease tags)
    : context_(context),
      placement_(std::move(placement)),
      rank_(rank),
      peers_(std::move(peers)),
      tags_(std::move(tags)),
      messages_(p2p, tags_.first_tag(), peers_, tags_.kinds()),
      networks_(messages_, context.networks(), context.settings(), placement_, rank_),
      notes_(p2p, tags_.note_tag(), peers_, rank, tags_.token()),
      notice_(notes_, placement_, rank_),
      multicast_(context.process_multicast(), placement_, rank_, context.settings().mcast.thread,
                 [this](uint32_t node) { return host_text(node); }),
      speed_demand_(kSpeedDemand),
      plans_(context_.grounds(), placement_, rank_),
      is_told_(placement_.ranks()) {
    const FaultPlan& faults = context_.settings().faults;
    if (faults.reorder == 0) return;
    faulty_ = std::make_unique<transport::Faulty>(
        networks_.routes(), transport::Faults{faults.seed + rank_, faults.reorder, 0});
}

void InterNode::attach(node::Team* node) {
    node_ = node;
    executor_ = std::make_unique<exec::Executor>(node, transport(), multicast_.route());
    executor_->set_clock(context_.clock());
    context_.process_multicast().enroll(*this);
}

void InterNode::tell(std::vector<FactRow>& rows, const std::string& name) const {
    const Whose whose{name, rank_, placement_.ranks(), placement_.nodes()};
    networks_.tell(rows, whose);
    rows.push_back(multicast::facts_of(multicast_.story(message_speed()), whose));
}

Result<Done> InterNode::reserve(select::Plan& plan) {
    if (plan.is_reserved) return Done{};
    auto reserved = executor_->reserve(plan.program->extent(), context_.settings().scratch_bytes);
    plan.is_reserved = static_cast<bool>(reserved);
    return reserved;
}

// Multicast comes in the midst of a team's calls, and goes when it fails. The order of operands
// changes then, so where that shows, multicast is used only by the user's word.
bool InterNode::may_multicast(const sched::Shape& shape) const {
    const Settings& settings = context_.settings();
    return shape.is_exact || settings.mcast.choice == McastChoice::kOn ||
           settings.tune == TuneChoice::kLiveAll || plans_.is_forced(shape.collective);
}

// With what was agreed when the team was made.
sched::Shape InterNode::agreed(sched::Shape shape) const {
    shape.is_computed_once =
        context_.settings().heterogeneous && shape.collective == TUTTI_ALLREDUCE;
    shape.networks = networks_.in_use();
    shape.has_multicast = multicast_.team() != nullptr && may_multicast(shape);
    shape.message_speed = message_speed();
    if (!shape.has_multicast) return shape;
    shape.gives_back = networks_.routes().can_withdraw_receives();
    const multicast::AgreedMulticast& facts = multicast_.team()->agreed();
    shape.multicast_speed = {facts.latency_ns, facts.bytes_per_s * 8 / 1'000'000};
    return shape;
}

// A team that has tried multicast has measured that beside it.
sched::Speed InterNode::message_speed() const {
    if (!multicast_.team()) return speed_;
    const sched::Speed& beside = multicast_.team()->agreed().message;
    return beside.mbit != 0 ? beside : speed_;
}

// All members count alike. Of a gather or scatter some may have more room than is sent, and do not
// know that when they begin it (receive_capacity.cpp).
void InterNode::count_wish(const select::Plan& plan) {
    const bool is_alike = !has_rooted_blocks(plan.shape.collective);
    if (plan.awaits_price && is_alike) speed_demand_.count(plan.shape.bytes);
    if (plan.would_multicast) multicast_.ask(plan.shape.bytes);
}

bool InterNode::is_speed_due() const {
    if (!speed_demand_.is_awaited() || multicast_.team()) return false;
    return speed_demand_.is_enough() || context_.settings().price == PriceChoice::kOn;
}

Result<Done> InterNode::adopt_multicast(multicast::MulticastOutcome made) {
    if (made.route) executor_->set_route(&made.route->route());
    multicast_.adopt(std::move(made));
    return multicast_.team() ? plan_helpers(0) : Result<Done>(Done{});
}

void InterNode::drop_multicast(std::string obstacle) {
    const multicast::MulticastOutcome dropped = multicast_.give_up(std::move(obstacle));
    if (!dropped.route) return;
    executor_->set_route(nullptr);
    dropped.route->drop();
}

Result<select::Plan*> InterNode::plan(const sched::Shape& shape, uint32_t way) {
    select::Circumstances now = circumstances(shape);
    now.way = way;
    sched::Shape wanted = agreed(shape);
    auto found = plans_.find(wanted, now);
    if (!found || !found.value()->multicasts() || multicast_.is_there_at(call() + 1)) {
        return found;
    }
    wanted.has_multicast = false;
    return plans_.find(wanted, now);
}

select::Circumstances InterNode::circumstances(const sched::Shape& shape) const {
    const bool may = may_multicast(shape);
    return {may && multicast_.is_awaited(), may && multicast_.team() != nullptr,
            multicast_.obstacle(), speed_demand_.is_awaited()};
}

Result<Done> InterNode::force(const sched::Shape& shape, const std::string& algorithm) {
    const auto before = plans_.force(shape.collective, algorithm);
    if (!before) return before.error();
    const auto planned = plan(shape);
    if (planned) return Done{};
    plans_.restore(shape.collective, before.value());
    return planned.error();
}

Result<Done> InterNode::plan_plain(select::Plan& plan, tutti_collective collective, size_t bytes) {
    auto made = plans_.make_plain(collective, bytes);
    if (!made) return made.error();
    plan = std::move(made.value());
    return reserve(plan);
}

Result<Done> InterNode::plan_helpers(size_t card_bytes) {
    if (card_bytes > 0) {
        auto planned = plan_plain(helpers_.check, TUTTI_ALLGATHER, card_bytes);
        if (!planned) return planned;
    }
    return helpers_.barrier.program ? Result<Done>(Done{})
                                    : plan_plain(helpers_.barrier, TUTTI_BARRIER, 0);
}

// Without a thread nobody repairs what others miss once this rank has left the call, and the
// embedder's own messages may then wait for theirs. So a call with multicasts ends when all that
// was sent is with everybody, and everybody knows: a barrier of the embedder's messages, which it
// moves by itself.
Step InterNode::step_multicast() {
    const auto held = hold();
    return step_under_lock();
}

Step InterNode::step_under_lock() {
    transport::carrier::Route& route = *multicast_.route();
    // Others may miss what this rank sent.
    if (route.has_failed()) static_cast<void>(route.step());
    if (!multicast_.polls()) return executor_->step();
    multicast_.team()->poll();
    if (wake_ == Wake::kDelivery) {
        if (!multicast_.team()->is_delivered()) return Step::kBlocked;
        wake_ = Wake::kBarrier;
        const transport::CallWord word = sign(TUTTI_BARRIER, 0, 0);
        executor_->start(*helpers_.barrier.program, call(), {}, word);
        return Step::kAdvanced;
    }
    const Step step = executor_->step();
    if (step != Step::kDone) return step;
    if (wake_ == Wake::kNone && plans_.running()->extent().multicasts > 0) {
        wake_ = Wake::kDelivery;
        multicast_.team()->hasten();
        return Step::kAdvanced;
    }
    wake_ = Wake::kNone;
    return Step::kDone;
}

bool InterNode::is_undecided(const select::Plan& plan) const {
    return plan.multicasts() && multicast_.route()->is_undecided();
}

void InterNode::attend() {
    notice_.go_on();
    multicast_.attend();
}

void InterNode::take_on(select::Plan& plan) {
    TUTTI_ASSERT(!is_under_way_, "one call at a time");
    capacity_.is_spare = false;
    capacity_.is_given_up = false;
    capacity_.less = 0;
    // A plan for a team without: the group has failed, and in this call all do without it.
    if (!plan.shape.has_multicast && !is_helper(plan)) multicast_.went_without();
    count_wish(plan);
    begin(plan);
}

void InterNode::begin(select::Plan& plan) {
    TUTTI_ASSERT(plan.is_reserved, "a call begins with its memory");
    plans_.started(plan);
    shape_ = plan.shape;
    word_ = sign(plan.shape.collective, plan.shape.root, plan.shape.bytes);
    if (multicast_.team()) multicast_.route()->begin_call(call());
    is_under_way_ = true;
}

void InterNode::start(const exec::Arguments& arguments, bool has_spare_capacity) {
    TUTTI_ASSERT(is_under_way_, "a call is taken on first");
    capacity_.is_spare = has_spare_capacity;
    exec::Arguments buffers = arguments;
    buffers.input_bytes = shape_.input_bytes(rank_);
    buffers.output_bytes = shape_.output_bytes(rank_);
    executor_->start(*plans_.running(), call(), buffers, word_);
}

void InterNode::leave_to_host(const select::Plan& plan) {
    count_wish(plan);
    sign(node::kLeftToHost, 0, 0);
}

// The next call is this one, for messages and the node alike.
transport::CallWord InterNode::sign(tutti_collective collective, uint32_t root, uint64_t bytes) {
    const transport::CallWord word = log_.add(collective, root, bytes);
    if (node_) node::take_part(*node_, word.call, word.before);
    return word;
}

void InterNode::tell_calls() {
    if (!notes_.is_on()) return;
    notes::Note note;
    note.kind = notes::Note::Kind::kCalls;
    note.call = call();
    note.calls = log_.tell();
    const auto tell = [&](uint32_t rank) {
        if (!is_told_[rank] && rank != rank_) is_told_[rank] = notes_.send(rank, note);
    };
    for (const uint32_t rank : executor_->waits_for()) tell(rank);
    // It alone knows for sure what a scatter sends.
    if (capacity_.is_spare) tell(shape_.root);
    const node::Op* op = node_op();
    if (!op) return;
    // On the node, whoever comes next; or its leader, on whom most depends.
    const auto members = placement_.members(placement_.node_of(rank_));
    tell(members[op->awaited != node::kNoRank ? op->awaited : 0]);
}

std::string InterNode::host_text(uint32_t node) const {
    if (node < host_names_.size()) return host_names_[node];
    return "the host of rank " + std::to_string(placement_.members(node)[0]);
}

std::string InterNode::rank_text(uint32_t rank) const {
    const std::string text = "rank " + std::to_string(rank);
    const uint32_t node = placement_.node_of(rank);
    return node < host_names_.size() ? text + " (on " + host_names_[node] + ")" : text;
}

}  // namespace tutti::engine
