// SPDX-License-Identifier: BSD-3-Clause
#include "lab/check/count.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "lab/check/abstract_run.h"
#include "lab/check/form.h"
#include "lab/check/meet_tree.h"
#include "plan/sched/bundle_rules.h"
#include "plan/sched/operation_amounts.h"

namespace tutti::check {

namespace {

// What an operation leaves behind is the length of the longest chain of messages up to it.
class StepInterpreter final : public Interpreter {
  public:
    explicit StepInterpreter(const topo::Placement& placement) : placement_(placement) {}

    void match(LiveOperation& send, LiveOperation& recv) override {
        const uint64_t step = std::max(send.before, recv.before);
        if (send.op.is_bundled) return bundle(send, recv, step);
        send.behind = step + 1;
        recv.behind = step + 1;
        if (steps.size() <= step) steps.resize(step + 1);
        steps[step].push_back(
            {send.rank, recv.rank, send.op.left.bytes, send.position.lane, send.op.message});
    }
    void local(LiveOperation& live) override { live.behind = live.before; }
    void node(std::span<LiveOperation* const> members) override {
        uint64_t longest = 0;
        for (const LiveOperation* member : members) longest = std::max(longest, member->before);
        for (LiveOperation* member : members) {
            member->behind = is_meeting(member->op) ? longest : member->before;
            const bool is_carried = sched::is_bundles(sched::row_of(member->op));
            if (is_carried && placement_.nodes() > 1) member->behind = longest + 1;
        }
    }
    void multicast(std::span<LiveOperation* const> ends) override {
        uint64_t step = 0;
        for (const LiveOperation* end : ends) step = std::max(step, end->before);
        if (steps.size() <= step) steps.resize(step + 1);
        for (LiveOperation* end : ends) {
            end->behind = step + 1;
            if (!sched::is_multicast_send(end->op)) continue;
            steps[step].push_back(
                {end->rank, 0, end->op.left.bytes, end->position.lane, end->op.order, true});
        }
    }
    void meet(std::span<const Meeter> all) override {
        const MeetTree tree(all);
        if (tree.faulty() != nullptr) return;
        if (is_feed(all[tree.top()].meet->op)) return feed(all, tree);
        // As if all came at once: up to the top, and down from there.
        std::vector<uint64_t> known(all.size());
        for (uint32_t i = 0; i < all.size(); ++i) known[i] = all[i].meet->before;
        for (const uint32_t i : tree.upwards()) {
            if (i != tree.top()) pass(all, i, tree.parent(i), i, known);
        }
        if (sched::is_meet_multicast(all[0].meet->op)) {
            tell(*all[tree.top()].meet, known);
        } else {
            for (const uint32_t i : tree.downwards()) {
                if (i != tree.top()) pass(all, tree.parent(i), i, i, known);
            }
        }
        for (uint32_t i = 0; i < all.size(); ++i) {
            all[i].meet->behind = known[i];
            for (LiveOperation* with : all[i].with) with->behind = known[i];
        }
    }
    uint64_t initial(Rank) override { return 0; }
    uint64_t join(uint64_t a, uint64_t b) override { return std::max(a, b); }

    std::vector<std::vector<Passage>> steps;

  private:
    // A message that its leaders carry with others; or none within a node. What follows waits for
    // the kNodeBundles.
    void bundle(LiveOperation& send, LiveOperation& recv, uint64_t step) {
        const uint32_t from = placement_.node_of(send.rank);
        const uint32_t to = placement_.node_of(recv.rank);
        send.behind = send.before;
        recv.behind = recv.before;
        if (from == to) return;
        if (steps.size() <= step) steps.resize(step + 1);
        const auto [known, is_new] =
            bundles_.try_emplace({step, from, to, send.position.lane}, steps[step].size());
        if (is_new) {
            steps[step].push_back({sched::bundle_leader(placement_, from, to),
                                   sched::bundle_leader(placement_, to, from), 0,
                                   send.position.lane, 0});
        }
        steps[step][known->second].bytes += send.op.left.bytes;
    }
    // The middle hears all others and answers them; then pieces go from each to those whom it
    // feeds.
    void feed(std::span<const Meeter> all, const MeetTree& tree) {
        const std::vector<Fed> fed = fed_at_once(all, tree);
        if (fed.empty()) return;
        const LiveOperation& middle = *all[tree.top()].meet;
        const Operation& op = middle.op;
        uint64_t step = 0;
        for (const Meeter& one : all) step = std::max(step, one.meet->before);
        const auto say = [&](uint64_t at, Rank from, Rank to, uint64_t bytes, uint64_t message) {
            if (steps.size() <= at) steps.resize(at + 1);
            steps[at].push_back({from, to, bytes, middle.position.lane, message});
        };
        std::vector<uint64_t> known(all.size(), step + 2);
        for (const auto& [index, source] : fed) {
            if (index == source) continue;
            const Rank rank = all[index].meet->rank;
            say(step, rank, middle.rank, sched::kFeedMessageBytes, 0);
            say(step + 1, middle.rank, rank, sched::kFeedMessageBytes, 0);
            uint64_t left = op.left.bytes;
            for (uint64_t piece = 1; left > 0; ++piece) {
                const uint64_t bytes = std::min(left, op.right.bytes);
                say(known[source], all[source].meet->rank, rank, bytes, piece);
                left -= bytes;
            }
            known[index] = known[source] + 1;
        }
        for (uint32_t i = 0; i < all.size(); ++i) {
            all[i].meet->behind = all.size() > 1 ? known[i] : step;
            for (LiveOperation* with : all[i].with) with->behind = known[i];
        }
    }
    void tell(const LiveOperation& top, std::vector<uint64_t>& known) {
        const uint64_t step = *std::ranges::max_element(known);
        if (steps.size() <= step) steps.resize(step + 1);
        steps[step].push_back({top.rank, 0, sched::meet_multicast_bytes(top.op.left.bytes),
                               top.position.lane, top.op.order, true});
        known.assign(known.size(), step + 1);
    }
    // child: of the two. What goes by the node's memory costs no step.
    void pass(std::span<const Meeter> all, uint32_t from, uint32_t to, uint32_t child,
              std::vector<uint64_t>& known) {
        const uint64_t step = known[from];
        if (is_near(all[child].with.front()->op)) {
            known[to] = std::max(known[to], step);
            return;
        }
        if (steps.size() <= step) steps.resize(step + 1);
        const LiveOperation& sender = *all[from].meet;
        steps[step].push_back({sender.rank, all[to].meet->rank,
                               sched::meet_message_bytes(sender.op.left.bytes),
                               sender.position.lane, 0});
        known[to] = std::max(known[to], step + 1);
    }

    const topo::Placement& placement_;
    // By step, nodes and lane: where it stands in its step.
    std::map<std::tuple<uint64_t, uint32_t, uint32_t, uint64_t>, size_t> bundles_;
};

// The bundles that a rank carries for its node, as far as it has messages in them itself.
class CarriedBundles {
  public:
    explicit CarriedBundles(sched::BundledOn on) : on_(on) {}

    void add(const Operation& op) {
        const uint32_t own = on_.placement->node_of(on_.rank);
        const uint32_t other = on_.placement->node_of(op.peer);
        if (own == other) return;
        const bool sends = is_send(op);
        (sends ? bytes_sent_ : bytes_received_) += sched::moved_bytes(op);
        if (sched::bundle_leader(*on_.placement, own, other) != on_.rank) return;
        (sends ? to_ : from_).insert(other);
    }
    void count(Count& count) const {
        count.messages_sent += to_.size();
        count.messages_received += from_.size();
        count.bytes_sent += bytes_sent_;
        count.bytes_received += bytes_received_;
    }

  private:
    sched::BundledOn on_;
    std::set<uint32_t> to_;
    std::set<uint32_t> from_;
    uint64_t bytes_sent_ = 0;
    uint64_t bytes_received_ = 0;
};

void add(const Operation& op, bool feeds, Count& count) {
    const sched::Amounts one = sched::amounts_of(op);
    count.messages_sent += one.messages_sent;
    count.bytes_sent += one.bytes_sent;
    count.messages_received += one.messages_received;
    count.bytes_received += one.bytes_received;
    count.multicasts_sent += one.multicasts_sent;
    count.multicast_bytes_sent += one.multicast_bytes_sent;
    count.multicasts_received += one.multicasts_received;
    count.multicast_bytes_received += one.multicast_bytes_received;
    if (is_node(op.kind)) ++count.node_operations;
    // Those who meet fold a vector of each neighbour.
    if (!is_meet(op.kind)) count.reduced_bytes += one.folded_bytes;
    if (sched::is_neighbour(op) && !feeds) {
        count.reduced_bytes += sched::neighbour_vector_bytes(op);
    }
}

}  // namespace

Count count(const Program& program) {
    const Extent extent = program.extent();
    Count count;
    CarriedBundles bundles(program.bundled_on());
    const bool has_bundles = program.bundled_on().placement != nullptr;
    Round round;
    for (uint64_t lane = 0; lane < extent.lanes; ++lane) {
        for (uint64_t k = 0; k < extent.rounds; ++k) {
            program.read(lane, k, round);
            if (round.size() != 0) count.rounds = std::max(count.rounds, k + 1);
            const bool feeds = sched::feeds(round);
            for (const Operation& op : round) {
                if (op.is_bundled && has_bundles) {
                    bundles.add(op);
                } else {
                    add(op, feeds, count);
                }
            }
        }
    }
    bundles.count(count);
    return count;
}

Count maximum(std::span<const Count> counts) {
    Count most;
    for (const Count& one : counts) {
        most.rounds = std::max(most.rounds, one.rounds);
        most.messages_sent = std::max(most.messages_sent, one.messages_sent);
        most.bytes_sent = std::max(most.bytes_sent, one.bytes_sent);
        most.messages_received = std::max(most.messages_received, one.messages_received);
        most.bytes_received = std::max(most.bytes_received, one.bytes_received);
        most.node_operations = std::max(most.node_operations, one.node_operations);
        most.reduced_bytes = std::max(most.reduced_bytes, one.reduced_bytes);
        most.multicasts_sent = std::max(most.multicasts_sent, one.multicasts_sent);
        most.multicast_bytes_sent = std::max(most.multicast_bytes_sent, one.multicast_bytes_sent);
        most.multicasts_received = std::max(most.multicasts_received, one.multicasts_received);
        most.multicast_bytes_received =
            std::max(most.multicast_bytes_received, one.multicast_bytes_received);
    }
    return most;
}

std::vector<std::vector<Passage>> steps(const topo::Placement& placement,
                                        std::span<const std::unique_ptr<Program>> programs) {
    StepInterpreter interpreter(placement);
    Run(placement, programs, interpreter).go();
    for (std::vector<Passage>& step : interpreter.steps) {
        std::ranges::sort(step, {}, [](const Passage& one) {
            return std::tuple(one.sender, one.is_multicast, one.receiver, one.lane, one.message);
        });
    }
    return std::move(interpreter.steps);
}

uint64_t critical_rounds(const topo::Placement& placement,
                         std::span<const std::unique_ptr<Program>> programs) {
    StepInterpreter interpreter(placement);
    Run(placement, programs, interpreter).go();
    return interpreter.steps.size();
}

}  // namespace tutti::check
