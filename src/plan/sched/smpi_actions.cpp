// SPDX-License-Identifier: BSD-3-Clause
#include "plan/sched/smpi_actions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "plan/sched/operation_kinds.h"
#include "plan/sched/program_text.h"

namespace tutti::sched {
namespace {

// Up to so many bytes of all members together, and up to so many members, the root of a reduction
// on a node folds alone: what run/node/node_rows.cpp has as `direct`.
constexpr uint64_t kRootFoldsBytesMax = 32 * 1024;
constexpr size_t kRootFoldsMembersMax = 3;
// Messages of one node operation from one rank to another.
constexpr uint64_t kPartsOfNode = 2;
// At most, of all together: an action waits for two others in most schedules. It is ten in those of
// few actions whose rounds have many operations that all wait for those of the round before; 12
// bytes each.
constexpr uint64_t kNeedsOfAction = 4;

// One more than the highest number of a message of a lane, and than that of a node operation.
struct Numbers {
    uint64_t messages_of_lane = 1;
    uint64_t lanes = 1;
    uint64_t node_operations = 0;
    // Of node operations whose parts differ in length: each rank's part, by rank and order.
    std::vector<std::vector<uint64_t>> part_bytes = {};
};

Numbers numbers_of(std::span<const std::unique_ptr<Program>> programs) {
    Numbers most;
    Round round;
    for (const std::unique_ptr<Program>& program : programs) {
        const Extent extent = program->extent();
        std::vector<uint64_t>& parts = most.part_bytes.emplace_back();
        most.lanes = std::max(most.lanes, extent.lanes);
        for (uint64_t lane = 0; lane < extent.lanes; ++lane) {
            for (uint64_t k = 0; k < extent.rounds; ++k) {
                program->read(lane, k, round);
                for (const Operation& op : round) {
                    if (is_message(op.kind)) {
                        most.messages_of_lane =
                            std::max(most.messages_of_lane, op.message + uint64_t{1});
                    } else if (is_node(op.kind)) {
                        most.node_operations = std::max(most.node_operations, op.order + 1);
                        if (!has_unequal_parts(row_of(op))) continue;
                        parts.resize(std::max<size_t>(parts.size(), op.order + 1));
                        parts[op.order] = node_bytes(op);
                    }
                }
            }
        }
    }
    return most;
}

// Tags are numbers of C's `int`.
bool are_tags_small(const Numbers& numbers) {
    constexpr uint64_t kMax = std::numeric_limits<int32_t>::max();
    if (numbers.lanes > kMax / numbers.messages_of_lane) return false;
    const uint64_t left = kMax - numbers.lanes * numbers.messages_of_lane;
    return numbers.node_operations <= left / kPartsOfNode;
}

// The actions of one rank.
class RankActions {
  public:
    RankActions(ActionGraph& graph, const topo::Placement& placement, const TraceCosts& costs,
                const Numbers& numbers, uint32_t actions_max, Rank rank)
        : graph_(graph),
          costs_(costs),
          numbers_(numbers),
          actions_max_(actions_max),
          rank_(rank),
          members_(placement.members(placement.node_of(rank))),
          own_index_(placement.index_on_node(rank)),
          node_before_(numbers.node_operations, kNoAction),
          node_done_(numbers.node_operations, kNoAction) {}

    // False where a trace cannot say it; error() says what.
    bool add(const Program& program) {
        const Extent extent = program.extent();
        std::vector<uint32_t> last_joint(extent.lanes_in_flight, kNoAction);  // by slot
        Round round;
        for (uint64_t lane = 0; lane < extent.lanes; ++lane) {
            uint32_t& slot_joint = last_joint[lane % extent.lanes_in_flight];
            older_joint_ = slot_joint;
            joint_ = slot_joint;
            earlier_.clear();
            for (uint64_t k = 0; k < extent.rounds; ++k) {
                program.read(lane, k, round);
                if (!add_round(round, lane, k)) return false;
            }
            slot_joint = joint_;
        }
        // Node operations run in the order of their numbers, over all lanes.
        for (size_t i = 1; i < node_before_.size(); ++i) {
            if (node_before_[i] != kNoAction) graph_.require(node_before_[i], node_done_[i - 1]);
        }
        return true;
    }
    [[nodiscard]] const std::string& error() const { return error_; }

  private:
    bool add_round(const Round& round, uint64_t lane, uint64_t k) {
        std::vector<uint32_t> done;
        for (uint32_t i = 0; i < round.size(); ++i) {
            const Operation& op = round[i];
            if (is_multicast(op.kind)) {
                error_ = label(rank_, {lane, k, i}, op) + ": a trace has no multicasts";
                return false;
            }
            if (is_meet(op.kind)) {
                error_ = label(rank_, {lane, k, i}, op) +
                         ": a trace has no messages that follow arrivals";
                return false;
            }
            if (is_bundles(row_of(op))) {
                error_ = label(rank_, {lane, k, i}, op) +
                         ": a trace has no bundles; see the option flat";
                return false;
            }
            needs_.assign(1, older_joint_);
            for (size_t j = 0; j < earlier_.size(); ++j) {
                if ((op.after >> j & 1) != 0) needs_.push_back(earlier_[j]);
            }
            done.push_back(is_node(op.kind) ? add_node(op) : add_own(op, lane));
            // Before the next one: none has more parts than some for each rank of its host.
            if (is_too_long()) return false;
        }
        older_joint_ = joint_;
        if (!done.empty()) {
            const uint32_t joint = graph_.add(ActionKind::kJoint);
            graph_.require(joint, joint_);
            for (const uint32_t one : done) graph_.require(joint, one);
            joint_ = joint;
        }
        earlier_ = std::move(done);
        return true;
    }

    bool is_too_long() {
        if (graph_.size() > actions_max_) {
            error_ = "more than " + std::to_string(actions_max_) + " actions; no more are written";
        } else if (graph_.need_count() > kNeedsOfAction * actions_max_) {
            error_ = "actions wait for more than " + std::to_string(kNeedsOfAction * actions_max_) +
                     " others; no more are written";
        }
        return !error_.empty();
    }

    // What is complete when the operation is.
    uint32_t add_own(const Operation& op, uint64_t lane) {
        const OperationRow& row = row_of(op);
        if (row.among == Among::kItself) return compute_result(op);
        const auto tag = static_cast<uint32_t>(lane * numbers_.messages_of_lane + op.message);
        const ActionKind way = row.sends ? ActionKind::kSend : ActionKind::kRecv;
        const uint32_t came = message(way, op.peer, tag, moved_bytes(op));
        if (!row.folds) return came;
        needs_.assign(1, came);
        return compute_result(op);
    }
    uint32_t compute_result(const Operation& op) {
        const bool folds = row_of(op).folds;
        return compute(op.to.bytes, folds ? costs_.reduce_ns_per_byte : costs_.copy_ns_per_byte);
    }

    // Before it stands a joint, so that what orders node operations can be said of all its parts.
    uint32_t add_node(const Operation& op) {
        const uint32_t before = joint_of_needs();
        node_before_[op.order] = before;
        needs_.assign(1, before);
        parts_.assign(1, before);
        add_parts(op);
        needs_ = parts_;
        return node_done_[op.order] = joint_of_needs();
    }

    void add_parts(const Operation& op) {
        const OperationRow& row = row_of(op);
        const uint64_t bytes = node_bytes(op);
        if (runs_along(row)) return pass_prefix(op, bytes);
        const bool is_long =
            members_.size() > kRootFoldsMembersMax && bytes > kRootFoldsBytesMax / members_.size();
        if (row.folds && is_long) return reduce_in_slices(op);
        if (is_from_root(row)) {
            from_root(op);
        } else {
            to_root(op);
        }
        if (moves_parts(row) && own_index_ == op.peer) move_own_part(op);
    }

    // What goes from or to a member; one that moves nothing is a message all the same.
    uint64_t part_bytes(const Operation& op, uint32_t member) const {
        if (has_no_blocks(op.kind)) return 1;
        if (!has_unequal_parts(row_of(op))) return node_bytes(op);
        return numbers_.part_bytes[members_[member]][op.order];
    }

    // Of the root.
    void move_own_part(const Operation& op) {
        const Block& own = is_from_root(row_of(op)) ? op.to : op.left;
        Block place = root_block(op);
        place.bytes = own.bytes;
        for (uint32_t i = 0; i < own_index_; ++i) place.offset += part_bytes(op, i);
        if (own != place) copy(own.bytes);
    }

    // Empty ones are over at once, at both ends.
    void from_root(const Operation& op) {
        const uint32_t tag = node_tag(op, 0);
        for (uint32_t i = 0; i < members_.size(); ++i) {
            const bool is_receiver = i == own_index_;
            const uint64_t bytes = part_bytes(op, i);
            if (i == op.peer || bytes == 0) continue;
            if (own_index_ != op.peer && !is_receiver) continue;
            const ActionKind way = is_receiver ? ActionKind::kRecv : ActionKind::kSend;
            parts_.push_back(message(way, members_[is_receiver ? op.peer : i], tag, bytes));
        }
    }

    void to_root(const Operation& op) {
        const uint32_t tag = node_tag(op, 0);
        for (uint32_t i = 0; i < members_.size(); ++i) {
            const bool is_sender = i == own_index_;
            const uint64_t bytes = part_bytes(op, i);
            if (i == op.peer || bytes == 0) continue;
            if (is_sender) {
                parts_.push_back(message(ActionKind::kSend, members_[op.peer], tag, bytes));
            } else if (own_index_ == op.peer) {
                receive_part(i, tag, bytes, row_of(op).folds);
            }
        }
    }

    void receive_part(uint32_t from, uint32_t tag, uint64_t bytes, bool folds) {
        const uint32_t came = message(ActionKind::kRecv, members_[from], tag, bytes);
        parts_.push_back(came);
        if (!folds) return;
        const std::vector<uint32_t> needs = std::exchange(needs_, {came});
        parts_.push_back(compute(bytes, costs_.reduce_ns_per_byte));
        needs_ = needs;
    }

    // Along the members, each of which folds its own part onto it: run/node/scan.cpp.
    void pass_prefix(const Operation& op, uint64_t bytes) {
        if (bytes == 0) return;
        const uint32_t tag = node_tag(op, 0);
        if (own_index_ == 0) {
            if (op.to.bytes > 0) copy(bytes);
        } else {
            receive_part(own_index_ - 1, tag, bytes, true);
        }
        if (own_index_ + 1 == members_.size()) return;
        const std::vector<uint32_t> needs = std::exchange(needs_, parts_);
        parts_.push_back(message(ActionKind::kSend, members_[own_index_ + 1], tag, bytes));
        needs_ = needs;
    }

    // Everybody folds a slice of all, and the root collects them: run/node/split.cpp.
    void reduce_in_slices(const Operation& op) {
        const uint64_t count = members_.size();
        const auto bytes_of = [&](uint64_t i) {
            return op.left.bytes * (i + 1) / count - op.left.bytes * i / count;
        };
        for (uint32_t i = 0; i < count; ++i) {
            if (i == own_index_) continue;
            parts_.push_back(message(ActionKind::kSend, members_[i], node_tag(op, 0), bytes_of(i)));
            receive_part(i, node_tag(op, 0), bytes_of(own_index_), true);
        }
        needs_ = parts_;
        const uint32_t folded = joint_of_needs();
        needs_.assign(1, folded);
        if (own_index_ != op.peer) {
            parts_.push_back(message(ActionKind::kSend, members_[op.peer], node_tag(op, 1),
                                     bytes_of(own_index_)));
            return;
        }
        for (uint32_t i = 0; i < count; ++i) {
            if (i != own_index_) receive_part(i, node_tag(op, 1), bytes_of(i), false);
        }
    }

    void copy(uint64_t bytes) { parts_.push_back(compute(bytes, costs_.copy_ns_per_byte)); }

    uint32_t node_tag(const Operation& op, uint64_t part) const {
        return static_cast<uint32_t>(numbers_.lanes * numbers_.messages_of_lane +
                                     op.order * kPartsOfNode + part);
    }
    uint32_t with_needs(uint32_t action) {
        for (const uint32_t need : needs_) graph_.require(action, need);
        return action;
    }
    uint32_t joint_of_needs() { return with_needs(graph_.add(ActionKind::kJoint)); }
    uint32_t message(ActionKind kind, Rank peer, uint32_t tag, uint64_t bytes) {
        return with_needs(graph_.add_message(kind, peer, tag, bytes));
    }
    uint32_t compute(uint64_t bytes, double ns_per_byte) {
        const auto ns = static_cast<uint64_t>(std::floor(static_cast<double>(bytes) * ns_per_byte));
        return ns == 0 ? joint_of_needs() : with_needs(graph_.add(ActionKind::kCompute, ns));
    }

    ActionGraph& graph_;
    const TraceCosts& costs_;
    const Numbers& numbers_;
    uint32_t actions_max_;
    Rank rank_;
    std::span<const uint32_t> members_;
    uint32_t own_index_;
    uint32_t joint_ = kNoAction;         // of the rounds up to k - 1
    uint32_t older_joint_ = kNoAction;   // of the rounds up to k - 2
    std::vector<uint32_t> earlier_;      // what completes round k - 1, by operation
    std::vector<uint32_t> needs_;        // of what is added next
    std::vector<uint32_t> parts_;        // of the node operation
    std::vector<uint32_t> node_before_;  // by order
    std::vector<uint32_t> node_done_;    // likewise
    std::string error_;
};

}  // namespace

Rank ActionGraph::rank_of(uint32_t action) const {
    const auto next = std::upper_bound(first_of_rank_.begin(), first_of_rank_.end(), action);
    return static_cast<Rank>(next - first_of_rank_.begin()) - 1;
}

uint32_t ActionGraph::add(ActionKind kind, uint64_t amount) {
    Action action;
    TUTTI_ASSERT(actions_.size() < kNoAction, "an action has a number");
    action.kind = kind;
    action.amount = amount;
    actions_.push_back(action);
    return size() - 1;
}

uint32_t ActionGraph::add_message(ActionKind kind, Rank peer, uint32_t tag, uint64_t bytes) {
    const uint32_t added = add(kind, std::max<uint64_t>(bytes, 1));
    actions_[added].peer = peer;
    actions_[added].tag = tag;
    return added;
}

void ActionGraph::require(uint32_t later, uint32_t earlier) {
    if (earlier == kNoAction) return;
    TUTTI_ASSERT(needs_.size() < kNoAction, "a need has a number");
    needs_.push_back({earlier, actions_[later].first_need});
    actions_[later].first_need = static_cast<uint32_t>(needs_.size()) - 1;
}

bool ActionGraph::pair_messages(uint32_t& alone) {
    struct End {
        Rank sender, receiver;
        uint32_t tag, action;
    };
    std::vector<End> ends;
    for (Rank rank = 0; rank < ranks(); ++rank) {
        for (uint32_t i = first_of(rank); i < end_of(rank); ++i) {
            const Action& one = actions_[i];
            if (one.kind == ActionKind::kSend) ends.push_back({rank, one.peer, one.tag, i});
            if (one.kind == ActionKind::kRecv) ends.push_back({one.peer, rank, one.tag, i});
        }
    }
    const auto key = [](const End& end) { return std::tuple(end.sender, end.receiver, end.tag); };
    std::ranges::sort(ends, {}, key);
    for (size_t i = 0; i < ends.size(); i += 2) {
        alone = ends[i].action;
        if (i + 1 == ends.size() || key(ends[i]) != key(ends[i + 1])) return false;
        Action& one = actions_[ends[i].action];
        Action& other = actions_[ends[i + 1].action];
        if (one.kind == other.kind || one.amount != other.amount) return false;
        one.other = ends[i + 1].action;
        other.other = ends[i].action;
    }
    return true;
}

Result<ActionGraph> make_actions(std::span<const std::unique_ptr<Program>> programs,
                                 const topo::Placement& placement, const TraceCosts& costs,
                                 uint32_t actions_max) {
    TUTTI_ASSERT(programs.size() == placement.ranks(), "a Program for each rank");
    const Numbers numbers = numbers_of(programs);
    if (!are_tags_small(numbers)) {
        return Error{ErrorCode::kArgument, "more messages than a trace has numbers for"};
    }
    ActionGraph graph;
    for (Rank rank = 0; rank < programs.size(); ++rank) {
        graph.begin_rank();
        RankActions actions(graph, placement, costs, numbers, actions_max, rank);
        if (!actions.add(*programs[rank])) return Error{ErrorCode::kArgument, actions.error()};
    }
    uint32_t alone = kNoAction;
    if (graph.pair_messages(alone)) return graph;
    return Error{ErrorCode::kArgument, "a message of rank " + std::to_string(graph.rank_of(alone)) +
                                           " has one end only, or ends of different sizes"};
}

}  // namespace tutti::sched
