// SPDX-License-Identifier: BSD-3-Clause
#include "lab/check/form.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plan/sched/bundle_rules.h"
#include "plan/sched/program_text.h"

namespace tutti::check {

using sched::Extent;
using sched::Incoming;
using sched::kAfterAll;
using sched::kBlockBytesMax;
using sched::kLanesInFlightMax;
using sched::kMulticastBytesMax;
using sched::kRoundOpsMax;
using sched::Lengths;
using sched::Position;
using sched::Round;
using sched::Use;

namespace {

bool ends_meet(const Operation& op) { return is_meet(op.kind) && !is_neighbour(op); }

// More is a slip of whoever wrote the extent, and would be read for hours.
constexpr uint64_t kLaneRoundsMax = uint64_t{1} << 32;
constexpr uint64_t kLanesMax = uint64_t{1} << 32;  // transport::MessageId::lane

// Of one rank.
class Form {
  public:
    Form(const Shape& shape, const topo::Placement& placement, const Program& program, Rank rank,
         const PairBlocks* blocks, size_t lines_max, std::vector<std::string>& faults)
        : shape_(shape),
          placement_(placement),
          program_(program),
          extent_(program.extent()),
          rank_(rank),
          input_bytes_(blocks ? blocks->input_bytes(rank) : shape.input_bytes(rank)),
          output_bytes_(blocks ? blocks->output_bytes(rank) : shape.output_bytes(rank)),
          lines_max_(lines_max),
          faults_(faults) {}

    void check() {
        if (!check_extent()) return;
        Round round;
        for (uint64_t lane = 0; lane < extent_.lanes; ++lane) {
            last_message_.clear();
            meets_ = 0;
            counted_ = {};
            has_bundled_ = false;
            uint32_t earlier_count = 0;
            for (uint64_t k = 0; k < extent_.rounds; ++k) {
                program_.read(lane, k, round);
                for (uint32_t i = 0; i < round.size(); ++i) {
                    if (faults_.size() >= lines_max_) return;
                    here_ = {lane, k, i};
                    op_ = &round[i];
                    check_operation();
                    if (k != 0) check_after(earlier_count);
                    if (is_message(op_->kind)) check_message(round);
                    check_counted();
                    check_bundled();
                    if (is_meet(op_->kind)) check_meet(round);
                    if (is_multicast(op_->kind) && !is_multicast_send(*op_)) check_peer();
                }
                counted_.end_round();
                earlier_count = round.size();
            }
            if (has_bundled_) fault("no node_bundles stands behind bundled messages");
        }
        if (has_letters_ && !orders_.empty()) fault("letters and node operations");
        check_orders(orders_, "node operation");
        check_orders(multicasts_, "multicast");
        check_multicasts();
    }
    // Leaves letters for others of its node, behind check().
    [[nodiscard]] bool has_letters() const { return has_letters_; }

  private:
    void fault(const std::string& what) {
        if (faults_.size() >= lines_max_) return;
        faults_.push_back(label(rank_, here_, *op_) + ": " + what);
    }

    bool check_extent() {
        std::string what;
        if (extent_.lanes_in_flight == 0 || extent_.lanes_in_flight > kLanesInFlightMax) {
            what = std::to_string(extent_.lanes_in_flight) + " lanes in flight; 1 to " +
                   std::to_string(kLanesInFlightMax) + " are possible";
        } else if (extent_.lanes == 0 || extent_.lanes > kLanesMax) {
            what = std::to_string(extent_.lanes) + " lanes; 1 to " + std::to_string(kLanesMax) +
                   " are possible";
        } else if (extent_.rounds > kLaneRoundsMax / extent_.lanes) {
            what = std::to_string(extent_.rounds) + " rounds in each of " +
                   std::to_string(extent_.lanes) + " lanes are too many";
        }
        if (what.empty()) return true;
        faults_.push_back("rank " + std::to_string(rank_) + ": " + what);
        return false;
    }

    void check_operation() {
        if (is_node(op_->kind)) {
            ++orders_[op_->order];
            const auto members = placement_.members(placement_.node_of(rank_));
            if (op_->peer >= members.size()) {
                return fault("its root is none of the " + std::to_string(members.size()) +
                             " ranks of the node");
            }
        }
        if (is_multicast(op_->kind)) ++multicasts_[op_->order];
        const bool folds =
            sched::row_of(op_->kind).folds && (!is_meet(op_->kind) || op_->to.bytes != 0);
        if (folds && !is_reduction(shape_.collective)) {
            return fault(std::string(tutti_collective_label()) + " folds nothing");
        }
        const bool is_root = op_->peer == placement_.index_on_node(rank_);
        const Touched blocks = touched(*op_, is_root);
        check_block(blocks.reads[0], false);
        check_block(blocks.reads[1], false);
        check_block(blocks.landing, true);
        check_block(blocks.to, true);
        check_lengths();
        check_prefix();
    }

    [[nodiscard]] const char* tutti_collective_label() const {
        return shape_.collective == TUTTI_BARRIER ? "a barrier" : "a collective that only moves";
    }

    [[nodiscard]] uint64_t bytes_of(Buffer buffer) const {
        if (buffer == Buffer::kScratch) return extent_.scratch_bytes;
        return buffer == Buffer::kInput ? input_bytes_ : output_bytes_;
    }

    void check_block(const Block& block, bool is_written) {
        if (block.buffer == Buffer::kNone) {
            if (block.bytes != 0) fault("a block of no buffer has bytes");
            return;
        }
        if (is_written && block.buffer == Buffer::kInput) fault("input is never written");
        const uint64_t limit = bytes_of(block.buffer);
        if (block.bytes > limit || block.offset > limit - block.bytes) {
            fault("a block reaches beyond its buffer of " + std::to_string(limit) + " bytes");
        }
        if (is_message(op_->kind) && block.bytes > kBlockBytesMax) {
            fault("a message is longer than " + std::to_string(kBlockBytesMax) + " bytes");
        }
        if (is_multicast(op_->kind) && block.bytes > kMulticastBytesMax) {
            fault("a multicast is longer than " + std::to_string(kMulticastBytesMax) + " bytes");
        }
        // Scratch has no elements of its own: areas there may begin at cache lines.
        const uint64_t offset = block.buffer == Buffer::kScratch ? 0 : block.offset;
        const bool is_message_buffer = is_meet(op_->kind) && block.buffer == Buffer::kScratch;
        if (is_reduction(shape_.collective) && !is_message_buffer &&
            (offset % shape_.element_bytes != 0 || block.bytes % shape_.element_bytes != 0)) {
            fault("a block is cut within an element of " + std::to_string(shape_.element_bytes) +
                  " bytes");
        }
    }

    void check_lengths() {
        const Lengths lengths = sched::row_of(op_->kind).to_is;
        if ((lengths != Lengths::kAny && op_->to.bytes != op_->left.bytes) ||
            (lengths == Lengths::kLikeBoth && op_->to.bytes != op_->right.bytes)) {
            fault("its blocks differ in length");
        }
    }

    void check_prefix() {
        if (!sched::runs_along(sched::row_of(op_->kind))) return;
        if (op_->to.bytes == sched::prefix_bytes(*op_, placement_.index_on_node(rank_))) return;
        fault("its result has another length");
    }

    // `after` speaks of the round before; all bits together mean all there are.
    void check_after(uint32_t earlier_count) {
        if (op_->after == kAfterAll || earlier_count >= kRoundOpsMax) return;
        const uint64_t beyond = op_->after >> earlier_count;
        if (beyond != 0) {
            fault("it waits for an operation that the round before does not have; it has " +
                  std::to_string(earlier_count));
        }
    }

    bool check_peer() {
        if (op_->peer < shape_.ranks && op_->peer != rank_) return true;
        fault(op_->peer == rank_ ? "a rank sends nothing to itself" : "there is no such rank");
        return false;
    }

    void check_message(const Round& round) {
        if (!check_peer()) return;
        const bool sends = is_send(*op_);
        const auto [last, is_first] =
            last_message_.try_emplace({op_->peer, sends}, LastMessage{op_->message, here_});
        if (is_first) return;
        if (op_->message <= last->second.message) {
            fault("message " + std::to_string(last->second.message) +
                  " between the two stands before it; their numbers ascend");
        }
        const Position& earlier = last->second.position;
        if (earlier.round == here_.round && round[earlier.index].after != op_->after) {
            fault("another message between the two in this round waits for other operations");
        }
        last->second = {op_->message, here_};
    }

    // Counted receives are complete together: all of the rank come before whatever depends on one.
    void check_counted() {
        const bool is_receive = op_->is_counted && is_recv(*op_);
        if (op_->is_counted) {
            const bool has_bytes = op_->left.bytes + op_->to.bytes != 0;
            const bool may_be = sched::row_of(op_->kind).may_be_counted;
            if (has_bytes || !may_be) return fault("only messages of no bytes are counted");
            if (extent_.lanes > 1) return fault("messages are counted in one lane");
        }
        if (is_receive) {
            counted_.here |= sched::after_op(here_.index);
            if (counted_.is_awaited) fault("something waits for counted messages and not for this");
            return;
        }
        // That this is posted sooner nobody sees.
        const bool only_receives =
            is_recv(*op_) || (is_multicast(op_->kind) && !is_multicast_send(*op_));
        if (only_receives && op_->to.bytes == 0) return;
        const uint64_t awaited = counted_.before & op_->after;
        if (!counted_.has_older && awaited == 0) return;
        counted_.is_awaited = true;
        if (awaited != counted_.before || counted_.here != 0) {
            fault("it waits for some counted messages and not for all");
        }
    }

    // Of a rank to another one in one lane, in front of the kNodeBundles that waits for them.
    void check_bundled() {
        if (is_bundles(sched::row_of(*op_))) {
            if (bundles_++ > 0) fault("there is one node_bundles at most");
            if (op_->after != kAfterAll) fault("it waits for all bundled messages");
            has_bundled_ = false;
        }
        if (!op_->is_bundled) return;
        if (!sched::row_of(*op_).may_be_bundled) return fault("only messages are bundled");
        has_bundled_ = true;
        if (bundles_ > 0) fault("node_bundles stands in front of it");
        if (op_->peer >= shape_.ranks || placement_.node_of(op_->peer) == placement_.node_of(rank_))
            return;
        const uint64_t most = sched::bundled_bytes_max(placement_);
        if (sched::moved_bytes(*op_) <= most && op_->message == 0) return;
        fault("a bundle takes one message to a rank, of " + std::to_string(most) +
              " bytes at most");
    }

    // The round holds one for each neighbour, the parent in front, then the participant's own.
    void check_meet(const Round& round) {
        const Operation& own = round[round.size() - 1];
        const Operation* before = here_.index > 0 ? &round[here_.index - 1] : nullptr;
        if (before != nullptr && !is_neighbour(*before)) {
            return fault("a round that meets does nothing else");
        }
        const uint64_t message_bytes =
            is_feed(own) ? sched::kFeedMessageBytes : sched::meet_message_bytes(own.left.bytes);
        if (ends_meet(*op_)) {
            if (meets_++ > 0) return fault("a lane meets once");
            if (here_.index + 1 != round.size()) fault("a round that meets does nothing else");
            if (is_meet_multicast(*op_)) check_meet_multicast();
            return is_feed(*op_) ? check_feed() : check_message_buffer(op_->right, message_bytes);
        }
        if (!check_peer()) return;
        if (!ends_meet(own)) return fault("the round has no meet at its end");
        if (own.after != op_->after) fault("its meet waits for other operations");
        if (before != nullptr && op_->incoming == Incoming::kLeft) fault("a parent is the first");
        check_message_buffer(op_->to, 2 * message_bytes);
        if (!sched::is_near(*op_)) return;
        has_letters_ = true;
        check_near(message_bytes);
        if (is_feed(own)) fault("a rank that is fed gets no letters");
    }

    void check_near(uint64_t bytes) {
        const auto members = placement_.members(placement_.node_of(rank_));
        const uint64_t index = op_->order - 1;
        if (index >= members.size() || members[index] != op_->peer) {
            fault("rank " + std::to_string(op_->peer) + " is not number " + std::to_string(index) +
                  " of the node");
        }
        if (extent_.lanes_in_flight != 1) fault("more than one lane is in flight");
        if (bytes <= sched::kLetterBytesMax) return;
        fault("a letter is longer than " + std::to_string(sched::kLetterBytesMax) + " bytes");
    }

    void check_feed() {
        if (extent_.lanes_in_flight != 1) fault("more than one lane is in flight");
        const Block& block = sched::fed_block(*op_);
        const Block& piece = op_->right;
        if (block.bytes == 0) return fault("it feeds nothing");
        if (piece.bytes == 0 || piece.bytes > std::min(block.bytes, kBlockBytesMax) ||
            piece.buffer != block.buffer || piece.offset != block.offset) {
            fault("its first piece is none of its block, or longer than a message");
        }
        if (op_->message == 0 || op_->message > sched::kFedMax || op_->order > op_->message) {
            fault("one feeds 1 to " + std::to_string(sched::kFedMax) + " others, no more than all");
        }
    }

    void check_meet_multicast() {
        ++multicasts_[op_->order];
        if (op_->peer != rank_) fault("it is another rank's");
        if (extent_.lanes_in_flight != 1) fault("more than one lane is in flight");
        if (sched::meet_multicast_bytes(op_->left.bytes) <= kMulticastBytesMax) return;
        fault("a multicast is longer than " + std::to_string(kMulticastBytesMax) + " bytes");
    }

    void check_message_buffer(const Block& message_buffer, uint64_t bytes) {
        if (message_buffer.bytes > 0 && message_buffer.buffer != Buffer::kScratch)
            fault("its message buffer is to be scratch");
        if (message_buffer.bytes == bytes) return;
        fault("its message buffer has " + std::to_string(message_buffer.bytes) +
              " bytes; it takes " + std::to_string(bytes));
    }

    void check_orders(const std::map<uint64_t, uint32_t>& orders, const std::string& what) {
        uint64_t expected = 0;
        for (const auto& [order, count] : orders) {
            if (faults_.size() >= lines_max_) return;
            if (order != expected || count != 1) {
                faults_.push_back("rank " + std::to_string(rank_) + ": " +
                                  (order != expected
                                       ? "no " + what + " has order " + std::to_string(expected)
                                       : std::to_string(count) + " " + what + "s have order " +
                                             std::to_string(order)));
                return;
            }
            ++expected;
        }
    }

    void check_multicasts() {
        if (multicasts_.size() == extent_.multicasts || faults_.size() >= lines_max_) return;
        faults_.push_back("rank " + std::to_string(rank_) + ": " +
                          std::to_string(multicasts_.size()) + " multicasts; its extent has " +
                          std::to_string(extent_.multicasts));
    }

    // Receives that are counted, of a lane.
    struct CountedReceives {
        uint64_t here = 0;        // of this round: their operations, by bits
        uint64_t before = 0;      // of the round before
        bool has_older = false;   // there are some in the rounds before that
        bool is_awaited = false;  // something begins behind them

        void end_round() {
            has_older |= before != 0;
            before = here;
            here = 0;
        }
    };
    struct LastMessage {
        uint32_t message;
        Position position;
    };
    const Shape& shape_;
    const topo::Placement& placement_;
    const Program& program_;
    Extent extent_;
    Rank rank_;
    uint64_t input_bytes_;
    uint64_t output_bytes_;
    size_t lines_max_;
    std::vector<std::string>& faults_;
    Position here_;
    const Operation* op_ = nullptr;
    std::map<std::pair<Rank, bool>, LastMessage> last_message_;  // of a lane, by peer and direction
    std::map<uint64_t, uint32_t> orders_;                        // how often each is there
    std::map<uint64_t, uint32_t> multicasts_;                    // the same, by their orders
    bool has_letters_ = false;
    uint32_t meets_ = 0;  // of a lane
    CountedReceives counted_;
    uint32_t bundles_ = 0;
    bool has_bundled_ = false;  // of a lane, and no kNodeBundles behind them yet
};

// Ranks agree in how lanes share slots, else their messages would meet in the wrong ones, and in
// the number of multicasts, with which those of the next call go on.
void compare_extents(std::span<const std::unique_ptr<Program>> programs,
                     std::vector<std::string>& faults) {
    const Extent first = programs[0]->extent();
    for (Rank r = 1; r < programs.size(); ++r) {
        const Extent other = programs[r]->extent();
        const bool are_lanes =
            other.lanes == first.lanes && other.lanes_in_flight == first.lanes_in_flight;
        if (are_lanes && other.multicasts == first.multicasts) continue;
        const auto text = [&](const Extent& extent) {
            if (are_lanes) return std::to_string(extent.multicasts) + " multicasts";
            return std::to_string(extent.lanes) + " lanes, " +
                   std::to_string(extent.lanes_in_flight) + " in flight";
        };
        faults.push_back("rank " + std::to_string(r) + ": " + text(other) + "; rank 0 has " +
                         text(first));
        return;
    }
}

// A call of letters is one of all of a node's ranks.
void compare_letters(const topo::Placement& placement, const std::vector<bool>& has_letters,
                     std::vector<std::string>& faults) {
    for (Rank r = 0; r < placement.ranks(); ++r) {
        const Rank first = placement.members(placement.node_of(r)).front();
        if (has_letters[r] == has_letters[first]) continue;
        const auto [with, without] = has_letters[r] ? std::pair(r, first) : std::pair(first, r);
        faults.push_back("rank " + std::to_string(with) + " has letters for its node, rank " +
                         std::to_string(without) + " has none");
        return;
    }
}

}  // namespace

Touched touched(const Operation& op, bool is_root) {
    const sched::OperationRow& row = sched::row_of(op.kind);
    Touched blocks;
    size_t reads = 0;
    const auto look = [&](Use use, const Block& block, bool is_left) {
        const bool is_landing = (op.incoming == sched::Incoming::kLeft) == is_left;
        const bool is_read = use == Use::kRead || (use == Use::kReadAtRoot && is_root) ||
                             (use == Use::kSpread && is_root) ||
                             (use == Use::kOperand && !is_landing);
        const bool is_written = use == Use::kWritten || (use == Use::kWrittenAtRoot && is_root) ||
                                (use == Use::kSpread && !is_root);
        if (is_read) blocks.reads[reads++] = block;
        if (is_written) blocks.to = block;
        if (use == Use::kRoom || (use == Use::kOperand && is_landing)) blocks.landing = block;
    };
    look(row.left, op.left, true);
    look(row.right, op.right, false);
    look(row.to, op.to, false);
    return blocks;
}

void check_form(const Shape& shape, const topo::Placement& placement,
                std::span<const std::unique_ptr<Program>> programs, const PairBlocks* blocks,
                size_t lines_max, std::vector<std::string>& faults) {
    std::vector<bool> has_letters(programs.size());
    for (Rank r = 0; r < programs.size() && faults.size() < lines_max; ++r) {
        Form form(shape, placement, *programs[r], r, blocks, lines_max, faults);
        form.check();
        has_letters[r] = form.has_letters();
    }
    if (faults.empty()) compare_extents(programs, faults);
    if (faults.empty()) compare_letters(placement, has_letters, faults);
}

}  // namespace tutti::check
