// SPDX-License-Identifier: BSD-3-Clause
#include "plan/sched/goal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "plan/sched/operation_kinds.h"
#include "plan/sched/program_text.h"

namespace tutti::sched {
namespace {

// GOAL knows only "requires": one operation after another. The rule of program.h (all rounds up to
// k - 2) would take a line for each pair; instead every round gets a joint, a calc of no length
// that requires the round's operations and the joint before it.
class GoalWriter {
  public:
    GoalWriter(double reduce_ns_per_byte, double copy_ns_per_byte, uint64_t messages_of_lane)
        : reduce_ns_per_byte_(reduce_ns_per_byte),
          copy_ns_per_byte_(copy_ns_per_byte),
          messages_of_lane_(messages_of_lane) {}

    // False where GOAL cannot say it; error() says what.
    bool write(const Program& program, Rank rank, std::string& text) {
        const Extent extent = program.extent();
        text += "\nrank " + std::to_string(rank) + " {\n";
        next_label_ = 1;
        std::vector<uint64_t> last_joint(extent.lanes_in_flight, 0);  // of the slot; 0: none
        for (uint64_t lane = 0; lane < extent.lanes; ++lane) {
            uint64_t& slot_joint = last_joint[lane % extent.lanes_in_flight];
            older_joint_ = slot_joint;
            joint_ = slot_joint;
            earlier_.clear();
            for (uint64_t k = 0; k < extent.rounds; ++k) {
                program.read(lane, k, round_);
                if (!write_round(rank, lane, k, text)) return false;
            }
            slot_joint = joint_;
        }
        text += "}\n";
        return true;
    }
    [[nodiscard]] const std::string& error() const { return error_; }

  private:
    bool write_round(Rank rank, uint64_t lane, uint64_t k, std::string& text) {
        std::vector<uint64_t> labels;
        for (uint32_t i = 0; i < round_.size(); ++i) {
            const Operation& op = round_[i];
            if (!is_said(rank, {lane, k, i}, op)) return false;
            const uint64_t label = next_label_++;
            text += "l" + std::to_string(label) + ": " + first_part(lane, op) + "\n";
            require(label, older_joint_, text);
            for (size_t j = 0; j < earlier_.size(); ++j) {
                if ((op.after >> j & 1) != 0) require(label, earlier_[j], text);
            }
            labels.push_back(label);
            if (!is_message(op.kind) || !row_of(op).folds) continue;
            const uint64_t fold = next_label_++;
            text +=
                "l" + std::to_string(fold) + ": " + calc(op.to.bytes, reduce_ns_per_byte_) + "\n";
            require(fold, label, text);
            labels.back() = fold;
        }
        older_joint_ = joint_;
        if (!labels.empty()) {
            joint_ = next_label_++;
            text += "l" + std::to_string(joint_) + ": calc 0\n";
            require(joint_, older_joint_, text);
            for (const uint64_t label : labels) require(joint_, label, text);
        }
        earlier_ = std::move(labels);
        return true;
    }

    bool is_said(Rank rank, const Position& position, const Operation& op) {
        if (is_node(op.kind)) {
            error_ =
                label(rank, position, op) + ": GOAL has no node operations; see the option flat";
            return false;
        }
        if (is_multicast(op.kind)) {
            error_ = label(rank, position, op) + ": GOAL has no multicasts";
            return false;
        }
        if (is_meet(op.kind)) {
            error_ = label(rank, position, op) + ": GOAL has no messages that follow arrivals";
            return false;
        }
        // The highest 32 bits mean any tag.
        constexpr uint64_t tag_max = std::numeric_limits<uint32_t>::max() - uint64_t{1};
        if (!is_message(op.kind)) return true;
        if (op.message > tag_max || position.lane > (tag_max - op.message) / messages_of_lane_) {
            error_ = label(rank, position, op) + ": its tag is beyond 32 bits";
            return false;
        }
        return true;
    }

    [[nodiscard]] std::string first_part(uint64_t lane, const Operation& op) const {
        const OperationRow& row = row_of(op);
        if (row.among == Among::kItself) {
            return calc(op.to.bytes, row.folds ? reduce_ns_per_byte_ : copy_ns_per_byte_);
        }
        return (row.sends ? "send " : "recv ") + std::to_string(moved_bytes(op)) + "b " +
               (row.sends ? "to " : "from ") + std::to_string(op.peer) + " tag " +
               std::to_string(lane * messages_of_lane_ + op.message);
    }
    static std::string calc(uint64_t bytes, double ns_per_byte) {
        const double ns = std::floor(static_cast<double>(bytes) * ns_per_byte);
        return "calc " + std::to_string(static_cast<uint64_t>(ns));
    }
    static void require(uint64_t later, uint64_t earlier, std::string& text) {
        if (earlier == 0) return;
        text += "l" + std::to_string(later) + " requires l" + std::to_string(earlier) + "\n";
    }

    double reduce_ns_per_byte_;
    double copy_ns_per_byte_;
    uint64_t messages_of_lane_;
    Round round_;
    uint64_t next_label_ = 1;
    uint64_t joint_ = 0;             // of the rounds up to k - 1
    uint64_t older_joint_ = 0;       // of the rounds up to k - 2
    std::vector<uint64_t> earlier_;  // labels of round k - 1, by operation
    std::string error_;
};

// One more than the highest number of a message, so that lanes share no tag.
uint64_t messages_of_lane(std::span<const std::unique_ptr<Program>> programs) {
    uint64_t most = 1;
    Round round;
    for (const std::unique_ptr<Program>& program : programs) {
        const Extent extent = program->extent();
        for (uint64_t lane = 0; lane < extent.lanes; ++lane) {
            for (uint64_t k = 0; k < extent.rounds; ++k) {
                program->read(lane, k, round);
                for (const Operation& op : round) {
                    if (is_message(op.kind)) most = std::max(most, op.message + uint64_t{1});
                }
            }
        }
    }
    return most;
}

}  // namespace

Result<std::string> print_goal(std::span<const std::unique_ptr<Program>> programs,
                               double reduce_ns_per_byte, double copy_ns_per_byte) {
    std::string text = "num_ranks " + std::to_string(programs.size()) + "\n";
    GoalWriter writer(reduce_ns_per_byte, copy_ns_per_byte, messages_of_lane(programs));
    for (Rank r = 0; r < programs.size(); ++r) {
        if (!writer.write(*programs[r], r, text)) {
            return Error{ErrorCode::kArgument, writer.error()};
        }
    }
    return text;
}

}  // namespace tutti::sched
