// SPDX-License-Identifier: BSD-3-Clause
// In which order a rank waits for what it has begun: that in which it would come.
#include <algorithm>
#include <cmath>
#include <queue>
#include <unordered_map>
#include <utility>

#include "plan/sched/smpi_actions.h"

namespace tutti::sched {
namespace {

class ActionClock {
  public:
    ActionClock(const ActionGraph& graph, const topo::Placement& placement, const TraceCosts& costs)
        : graph_(graph),
          placement_(placement),
          costs_(costs),
          missing_(graph.size()),
          first_successor_(size_t{graph.size()} + 1),
          successors_(graph.need_count()),
          is_posted_(graph.size()),
          rank_free_ns_(graph.ranks()),
          up_free_ns_(placement.nodes()),
          down_free_ns_(placement.nodes()) {
        times_.ready_ns.assign(graph.size(), 0);
        times_.done_ns.assign(graph.size(), 0);
        times_.behind.assign(graph.size(), kNoAction);
        list_successors();
    }

    Result<ActionTimes> go() {
        for (uint32_t i = 0; i < graph_.size(); ++i) {
            if (missing_[i] == 0) queue_.emplace(0, i);
        }
        uint32_t begun = 0;
        while (!queue_.empty()) {
            const uint32_t action = queue_.top().second;
            queue_.pop();
            ++begun;
            begin(action);
        }
        if (begun == graph_.size() && complete_ == begun) return std::move(times_);
        return Error{ErrorCode::kArgument, "these schedules wait for each other"};
    }

  private:
    void list_successors() {
        for (uint32_t i = 0; i < graph_.size(); ++i) {
            graph_.for_needs(i, [&](uint32_t need) {
                ++missing_[i];
                ++first_successor_[need + 1];
            });
        }
        for (uint32_t i = 0; i < graph_.size(); ++i) first_successor_[i + 1] += first_successor_[i];
        std::vector<uint32_t> next(first_successor_.begin(), first_successor_.end() - 1);
        for (uint32_t i = 0; i < graph_.size(); ++i) {
            graph_.for_needs(i, [&](uint32_t need) { successors_[next[need]++] = i; });
        }
    }

    // All that it needs is complete. Called in the order of these times.
    void begin(uint32_t action) {
        const Action& one = graph_[action];
        const uint64_t ready_ns = times_.ready_ns[action];
        if (one.kind == ActionKind::kJoint) return complete(action, ready_ns);
        if (one.kind == ActionKind::kCompute) {
            uint64_t& free_ns = rank_free_ns_[graph_.rank_of(action)];
            free_ns = std::max(free_ns, ready_ns) + one.amount;
            return complete(action, free_ns);
        }
        is_posted_[action] = true;
        if (!is_posted_[one.other]) return;
        const bool is_send = one.kind == ActionKind::kSend;
        const uint64_t done_ns =
            pass(is_send ? one.other : action, is_send ? action : one.other, ready_ns);
        complete(action, done_ns);
        complete(one.other, done_ns);
    }

    // When a message that may go from now on has come.
    uint64_t pass(uint32_t recv, uint32_t send, uint64_t now_ns) {
        const uint32_t from = placement_.node_of(graph_[recv].peer);
        const uint32_t to = placement_.node_of(graph_[send].peer);
        const auto bytes_ns = static_cast<uint64_t>(
            std::ceil(static_cast<double>(graph_[send].amount) *
                      (from == to ? costs_.memory_ns_per_byte : costs_.message_ns_per_byte)));
        if (from == to) return now_ns + std::max<uint64_t>(costs_.flag_ns + bytes_ns, 1);
        const uint64_t begins_ns =
            std::max({now_ns, up_free_ns_[from], down_free_ns_[to], after_earlier(send, bytes_ns)});
        up_free_ns_[from] = begins_ns + bytes_ns;
        down_free_ns_[to] = begins_ns + bytes_ns;
        return begins_ns + std::max<uint64_t>(costs_.message_ns + bytes_ns, 1);
    }

    // The link is full for most of the time without this one: with one message at a time it is idle
    // for the latency after each, with two each takes twice as long to pass a host.
    uint64_t after_earlier(uint32_t send, uint64_t bytes_ns) {
        const uint64_t pair = uint64_t{graph_[graph_[send].other].peer} << 32 | graph_[send].peer;
        std::vector<uint32_t>& earlier = sends_[pair];
        const uint64_t one_ns = std::max<uint64_t>(bytes_ns, 1);
        const uint64_t under_way =
            std::max<uint64_t>((2 * costs_.message_ns + one_ns - 1) / one_ns, 1);
        earlier.push_back(send);
        if (earlier.size() <= under_way) return 0;
        const uint32_t behind = earlier[earlier.size() - 1 - under_way];
        times_.behind[send] = behind;
        const uint64_t come_ns = times_.done_ns[behind];
        times_.ready_ns[send] = std::max(times_.ready_ns[send], come_ns);
        return come_ns;
    }

    void complete(uint32_t action, uint64_t done_ns) {
        ++complete_;
        times_.done_ns[action] = done_ns;
        for (uint32_t i = first_successor_[action]; i < first_successor_[action + 1]; ++i) {
            const uint32_t later = successors_[i];
            times_.ready_ns[later] = std::max(times_.ready_ns[later], done_ns);
            if (--missing_[later] == 0) queue_.emplace(times_.ready_ns[later], later);
        }
    }

    using Event = std::pair<uint64_t, uint32_t>;  // when all that the action needs is complete

    const ActionGraph& graph_;
    const topo::Placement& placement_;
    const TraceCosts& costs_;
    std::vector<uint32_t> missing_;
    std::vector<uint32_t> first_successor_;
    std::vector<uint32_t> successors_;
    std::vector<bool> is_posted_;
    std::vector<uint64_t> rank_free_ns_;
    std::vector<uint64_t> up_free_ns_;    // by node
    std::vector<uint64_t> down_free_ns_;  // likewise
    std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
    std::unordered_map<uint64_t, std::vector<uint32_t>> sends_;  // by ranks, in their order
    uint32_t complete_ = 0;
    ActionTimes times_;
};

}  // namespace

Result<ActionTimes> time_actions(const ActionGraph& graph, const topo::Placement& placement,
                                 const TraceCosts& costs) {
    return ActionClock(graph, placement, costs).go();
}

}  // namespace tutti::sched
