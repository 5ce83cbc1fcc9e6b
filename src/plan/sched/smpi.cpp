// SPDX-License-Identifier: BSD-3-Clause
// Why a trace hangs only where the schedules do: let every action have the times of time_actions().
// A rank begins its actions in the order of ready_ns, and waits before an action for nothing that
// is done later than that. Let a rank wait, before an action that is ready at R, for a message that
// the other end's rank has not begun. There the message is ready before it is done, so before R;
// and that rank waits before that message or before an action that comes earlier, which is ready
// before R, too. Whoever waits at the smallest R therefore waits for nobody; at a trace's end all
// is begun.
#include "plan/sched/smpi.h"

#include <algorithm>
#include <tuple>

#include "plan/sched/smpi_actions.h"

namespace tutti::sched {
namespace {

class TraceWriter {
  public:
    TraceWriter(const ActionGraph& graph, const ActionTimes& times)
        : graph_(graph), times_(times), is_waited_for_(graph.size()) {}

    std::string write(Rank rank) {
        text_.clear();
        line(rank, "init");
        std::vector<uint32_t> order;
        for (uint32_t i = graph_.first_of(rank); i < graph_.end_of(rank); ++i) {
            if (graph_[i].kind != ActionKind::kJoint) order.push_back(i);
        }
        // Messages begin before the rank computes.
        std::ranges::sort(order, {}, [&](uint32_t i) {
            return std::tuple(times_.ready_ns[i], graph_[i].kind == ActionKind::kCompute, i);
        });
        for (const uint32_t action : order) {
            graph_.for_needs(action, [&](uint32_t need) { todo_.push_back(need); });
            if (times_.behind[action] != kNoAction) todo_.push_back(times_.behind[action]);
            wait_for_todo(rank);
            begin(rank, action);
        }
        todo_ = std::move(order);
        wait_for_todo(rank);
        line(rank, "finalize");
        return std::move(text_);
    }

  private:
    // And for what it stands for, in the order in which it is done.
    void wait_for_todo(Rank rank) {
        std::vector<uint32_t> messages;
        while (!todo_.empty()) {
            const uint32_t action = todo_.back();
            todo_.pop_back();
            if (is_waited_for_[action]) continue;
            is_waited_for_[action] = true;
            const ActionKind kind = graph_[action].kind;
            if (kind == ActionKind::kJoint) {
                graph_.for_needs(action, [&](uint32_t need) { todo_.push_back(need); });
            } else if (kind != ActionKind::kCompute) {
                messages.push_back(action);
            }
        }
        std::ranges::sort(messages, {},
                          [&](uint32_t i) { return std::pair(times_.done_ns[i], i); });
        for (const uint32_t message : messages) wait(rank, message);
    }

    void begin(Rank rank, uint32_t action) {
        const Action& one = graph_[action];
        if (one.kind == ActionKind::kCompute) {
            line(rank, "compute " + std::to_string(one.amount));
            return;
        }
        line(rank, (one.kind == ActionKind::kSend ? "isend " : "irecv ") +
                       std::to_string(one.peer) + " " + std::to_string(one.tag) + " " +
                       std::to_string(one.amount));
    }

    // A request is named by sender, receiver and tag.
    void wait(Rank rank, uint32_t action) {
        const Action& one = graph_[action];
        const bool is_send = one.kind == ActionKind::kSend;
        line(rank, "wait " + std::to_string(is_send ? rank : one.peer) + " " +
                       std::to_string(is_send ? one.peer : rank) + " " + std::to_string(one.tag));
    }

    void line(Rank rank, const std::string& what) {
        text_ += std::to_string(rank) + " " + what + "\n";
    }

    const ActionGraph& graph_;
    const ActionTimes& times_;
    std::vector<bool> is_waited_for_;
    std::vector<uint32_t> todo_;
    std::string text_;
};

}  // namespace

Result<std::vector<std::string>> print_smpi(std::span<const std::unique_ptr<Program>> programs,
                                            const topo::Placement& placement,
                                            const TraceCosts& costs, uint32_t actions_max) {
    const auto graph = make_actions(programs, placement, costs, actions_max);
    if (!graph) return graph.error();
    const auto times = time_actions(graph.value(), placement, costs);
    if (!times) return times.error();
    TraceWriter writer(graph.value(), times.value());
    std::vector<std::string> traces;
    for (Rank rank = 0; rank < programs.size(); ++rank) traces.push_back(writer.write(rank));
    return traces;
}

}  // namespace tutti::sched
