// SPDX-License-Identifier: BSD-3-Clause
// What a replay of schedules consists of: messages, computing, and what waits for what, of all
// ranks together. The operations of a node are taken apart here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/topo/placement.h"
#include "plan/sched/program.h"
#include "plan/sched/smpi.h"

namespace tutti::sched {

inline constexpr uint32_t kNoAction = UINT32_MAX;

enum class ActionKind : uint8_t {
    kSend,
    kRecv,
    kCompute,
    kJoint  // takes no time: what it needs is complete
};

struct Action {
    ActionKind kind = ActionKind::kJoint;
    Rank peer = 0;               // messages
    uint32_t tag = 0;            // likewise; of two ranks each is used once
    uint32_t other = kNoAction;  // likewise: the action at the other end
    uint32_t first_need = kNoAction;
    uint64_t amount = 0;  // bytes, at least one; kCompute: nanoseconds
};

class ActionGraph {
  public:
    struct Need {
        uint32_t action = 0;
        uint32_t next = kNoAction;  // another need of the same action
    };

    // Actions of a rank are together, in the order of ranks.
    [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(actions_.size()); }
    [[nodiscard]] const Action& operator[](uint32_t i) const { return actions_[i]; }
    [[nodiscard]] Rank ranks() const { return static_cast<Rank>(first_of_rank_.size()); }
    [[nodiscard]] uint32_t first_of(Rank rank) const { return first_of_rank_[rank]; }
    [[nodiscard]] uint32_t end_of(Rank rank) const {
        return rank + 1 < ranks() ? first_of_rank_[rank + 1] : size();
    }
    [[nodiscard]] Rank rank_of(uint32_t action) const;
    template <class Visit>
    void for_needs(uint32_t action, Visit visit) const {
        for (uint32_t i = actions_[action].first_need; i != kNoAction; i = needs_[i].next) {
            visit(needs_[i].action);
        }
    }
    [[nodiscard]] size_t need_count() const { return needs_.size(); }

    // Those that follow are of the next rank.
    void begin_rank() { first_of_rank_.push_back(size()); }
    uint32_t add(ActionKind kind, uint64_t amount = 0);
    uint32_t add_message(ActionKind kind, Rank peer, uint32_t tag, uint64_t bytes);
    void require(uint32_t later, uint32_t earlier);  // kNoAction: nothing
    // Finds each message's other end. False, and the action that has none, where there is none.
    bool pair_messages(uint32_t& alone);

  private:
    std::vector<Action> actions_;
    std::vector<Need> needs_;
    std::vector<uint32_t> first_of_rank_;
};

// An error, too, where these are more than `actions_max`, or wait for many times as many.
Result<ActionGraph> make_actions(std::span<const std::unique_ptr<Program>> programs,
                                 const topo::Placement& placement, const TraceCosts& costs,
                                 uint32_t actions_max);

// When each action would begin if nobody else took its links, and be complete.
struct ActionTimes {
    std::vector<uint64_t> ready_ns;
    std::vector<uint64_t> done_ns;  // later than ready_ns, but for joints
    // Of a send: an earlier one from the same rank to the same rank on another host, which has come
    // by ready_ns. A connection sends one message after the other; a model of flows lets all that
    // are under way share the link, so that all come at the end. So no more are under way than keep
    // the link full for most of the time.
    std::vector<uint32_t> behind;
};
// Every host's link is taken by one message each way at a time, and every rank computes one thing
// at a time. An error where actions wait for each other.
Result<ActionTimes> time_actions(const ActionGraph& graph, const topo::Placement& placement,
                                 const TraceCosts& costs);

}  // namespace tutti::sched
