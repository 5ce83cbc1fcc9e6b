// SPDX-License-Identifier: BSD-3-Clause
// How a rank's Program is put together, round by round of a lane: the opening operation, the inner
// rounds of the leader, the closing operation, as node_layout.cpp has them for each collective.
//
// Where the inner rounds multicast there is no closing: the node's other members have inner rounds
// too, in which they receive into output what the leader multicasts or receives by multicast.
#include "plan/algo/plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/algo/plan_inner.h"
#include "plan/algo/plan_layout.h"
#include "plan/algo/plan_orders.h"
#include "plan/algo/plan_prefix.h"
#include "plan/algo/plan_stream.h"
#include "plan/sched/operation_kinds.h"

namespace tutti::algo {
namespace {

using sched::Block;
using sched::Buffer;
using sched::Operation;
using sched::OperationKind;
using sched::Round;
using topo::Placement;

class TeamProgram final : public Program {
  public:
    TeamProgram(const Algorithm& algorithm, const Layout& layout, Rank rank);

    [[nodiscard]] std::string_view name() const override { return name_; }
    [[nodiscard]] sched::Extent extent() const override { return extent_; }
    void set_blocks(const sched::CallBlocks& blocks) override;
    [[nodiscard]] std::span<const uint64_t> node_lengths() const override {
        return members_ > 1 ? layout_.node_lengths(node_) : std::span<const uint64_t>();
    }
    void read(uint64_t lane, uint64_t round, Round& out) const override;

  private:
    struct Lane {
        uint64_t number = 0;
        uint64_t offset = 0;  // of the segment
        uint64_t bytes = 0;   // of the segment, or of a rank's block
        Rank leader = 0;
        bool is_leader = false;
        // The leader's, and every member's of a streamed allgather or where there are multicasts.
        const Inner* inner = nullptr;
    };

    void make_inner(const Algorithm& algorithm);
    void make_extent();
    [[nodiscard]] Lane lane_at(uint64_t number) const;
    [[nodiscard]] bool leads_any_lane() const;

    [[nodiscard]] uint64_t opening_rounds(const Lane& lane) const;
    [[nodiscard]] uint64_t closing_round(const Lane& lane) const;
    [[nodiscard]] uint64_t unpacking_round(const Lane& lane) const;
    [[nodiscard]] uint64_t rounds_of(const Lane& lane) const;

    [[nodiscard]] Spot spot_of(const Spots& spots) const;
    [[nodiscard]] Mapped place_of(Spot spot, const Lane& lane) const;
    [[nodiscard]] Block part(Spot spot, Amount amount, const Lane& lane) const;
    [[nodiscard]] Block block_at(Mapped place, uint64_t offset, uint64_t bytes) const {
        return {place.buffer, place.offset + offset, bytes};
    }

    // What the leader has of the opening, and for the closing. Sorted, it is the other way round:
    // the algorithm reads what was sorted.
    [[nodiscard]] bool sorts(const Lane& lane) const {
        return row().sorts && has_opening_ && lane.is_leader;
    }
    [[nodiscard]] Block opened(const Lane& lane) const {
        return part(row().sorts ? output_ : input_, row().opening.leader, lane);
    }
    [[nodiscard]] Block closed(const Lane& lane) const {
        return part(row().sorts ? input_ : output_, row().closing.leader, lane);
    }

    // Which operation that is, of a part that has one.
    [[nodiscard]] OperationKind kind_of(const NodePart& part) const {
        const bool is_even = !layout_.shape.lengths.are_there();
        return is_even ? *part.kind : sched::with_unequal_parts(*part.kind);
    }
    void add_inner(const Lane& lane, uint64_t round, Round& out) const;
    void add_heard(const Lane& lane, uint64_t round, Round& out) const;
    void add_streamed(const Lane& lane, uint64_t round, Round& out) const;
    [[nodiscard]] Operation opening(const Lane& lane) const;
    [[nodiscard]] Operation closing(const Lane& lane) const;
    [[nodiscard]] NodeTurns turns() const {
        return {layout_.lanes, layout_.lanes_in_flight, has_opening_ ? 1u : 0u, closings_};
    }

    [[nodiscard]] const Placement& placement() const { return *layout_.placement; }
    [[nodiscard]] const NodeLayout& row() const { return *layout_.node; }
    // Its members get something else than its leader has.
    [[nodiscard]] bool closes_with_parts() const {
        return row().closing.kind && sched::moves_parts(sched::row_of(*row().closing.kind));
    }
    [[nodiscard]] bool is_root() const {
        return has_root(layout_.shape.collective) && rank_ == layout_.shape.root;
    }

    Layout layout_;
    std::string_view name_;
    Rank rank_;
    uint32_t node_ = 0;
    uint64_t members_ = 1;      // of the own node; 1 where flat
    Spot input_ = Spot::kNone;  // of the inner rounds
    Spot output_ = Spot::kNone;
    bool packs_ = false;
    bool unpacks_ = false;
    bool has_opening_ = false;
    bool has_closing_ = false;
    bool is_told_ = false;  // by multicasts; may lead or not
    Inner full_;
    Inner last_;  // of a shorter last segment
    uint64_t own_scratch_ = 0;
    uint64_t ahead_ = 0;  // where Spot::kScratch is in it, and Spot::kBehind
    uint64_t behind_ = 0;
    sched::Extent extent_;
    std::optional<Stream> stream_;  // where what comes is handed on round by round
    uint64_t closings_ = 0;         // node operations of a lane that close it
};

TeamProgram::TeamProgram(const Algorithm& algorithm, const Layout& layout, Rank rank)
    : layout_(layout), name_(algorithm.name), rank_(rank) {
    node_ = placement().node_of(rank);
    if (!layout_.is_flat) members_ = placement().members(node_).size();
    const bool is_shared = members_ > 1;
    input_ = spot_of(row().input);
    output_ = spot_of(row().output);
    has_opening_ = is_shared && row().opening.kind;
    is_told_ = is_shared && layout_.has_multicast;
    // What is multicast is the same for all members.
    TUTTI_ASSERT(!is_told_ || !closes_with_parts(), "all get it");
    has_closing_ = is_shared && !is_told_ && row().closing.kind;
    const Collective& what = facts(layout_.shape.collective);
    const auto packs = [&](Packing packing, On on) {
        return layout_.is_packed && row().packing == packing &&
               is_on(on, rank_, layout_.shape.root);
    };
    packs_ = packs(Packing::kBefore, what.input.on);
    unpacks_ = packs(Packing::kBehind, what.output.on);
    make_inner(algorithm);
    if (row().streams && has_closing_ && !layout_.is_packed) {
        stream_ = Stream::plan(full_, layout_.shape.all_blocks_bytes(), placement().nodes());
    }
    closings_ = stream_ ? stream_->count() : has_closing_;
    // The other members' view of their leader's Program is needed for these only.
    if (!stream_ && !is_told_ && !leads_any_lane()) full_ = Inner{};
    make_extent();
}

bool TeamProgram::leads_any_lane() const {
    if (layout_.is_flat) return true;
    for (uint64_t lane = 0; lane < layout_.turns(members_); ++lane) {
        if (layout_.leader(node_, lane) == rank_) return true;
    }
    return false;
}

void TeamProgram::make_inner(const Algorithm& algorithm) {
    const Rank participant = layout_.is_flat ? rank_ : node_;
    const auto make = [&](uint64_t bytes) {
        auto program = algorithm.make(layout_.inner(bytes), participant, layout_.tuning);
        return Inner(std::move(program), is_told_);
    };
    if (!leads_any_lane() && !is_told_ && !row().streams) return;
    full_ = make(layout_.segment_bytes);
    const uint64_t last_bytes = layout_.bytes_of(layout_.lanes - 1);
    if (last_bytes != layout_.segment_bytes) last_ = make(last_bytes);
}

void TeamProgram::make_extent() {
    if (packs_ || unpacks_) own_scratch_ = align_up(layout_.shape.all_blocks_bytes());
    if (members_ > 1 && !is_root() && full_.program && row().scratch != Amount::kNothing) {
        const auto amount = [&](Amount of) {
            return align_up(layout_.amount_of(rank_, of, layout_.segment_bytes));
        };
        ahead_ = own_scratch_;
        behind_ = ahead_ + amount(row().scratch);
        own_scratch_ = behind_ + amount(row().behind);
    }
    extent_.lanes = layout_.lanes;
    extent_.lanes_in_flight = layout_.lanes_in_flight;
    const uint64_t inner_scratch = std::max(full_.extent.scratch_bytes, last_.extent.scratch_bytes);
    extent_.scratch_bytes = own_scratch_ + (leads_any_lane() ? inner_scratch : 0);
    const uint64_t last_multicasts =
        last_.program ? last_.extent.multicasts : full_.extent.multicasts;
    extent_.multicasts = (layout_.lanes - 1) * full_.extent.multicasts + last_multicasts;
    // Lanes differ by their leader and by the length of the last one.
    extent_.rounds = rounds_of(lane_at(layout_.lanes - 1));
    for (uint64_t lane = 0; lane < layout_.turns(members_); ++lane) {
        extent_.rounds = std::max(extent_.rounds, rounds_of(lane_at(lane)));
    }
}

// Each rank is a participant, in one lane.
void TeamProgram::set_blocks(const sched::CallBlocks& blocks) {
    TUTTI_ASSERT(full_.program && members_ == 1, "no node level has blocks of such lengths");
    full_.program->set_blocks(blocks);
    full_.extent = full_.program->extent();
    make_extent();
}

TeamProgram::Lane TeamProgram::lane_at(uint64_t number) const {
    Lane lane;
    lane.number = number;
    lane.offset = number * layout_.segment_bytes;
    lane.bytes = layout_.bytes_of(number);
    lane.leader = layout_.is_flat ? rank_ : layout_.leader(node_, number);
    lane.is_leader = lane.leader == rank_;
    const bool is_last = last_.program != nullptr && number + 1 == layout_.lanes;
    if (lane.is_leader || stream_ || is_told_) lane.inner = is_last ? &last_ : &full_;
    return lane;
}

// ---- rounds ------------------------------------------------------------------------------------

uint64_t TeamProgram::opening_rounds(const Lane& lane) const {
    if (sorts(lane)) return 1 + Sorting(layout_, node_).rounds_out();
    return (packs_ ? layout_.packing_rounds() : 0) + (has_opening_ ? 1 : 0);
}

uint64_t TeamProgram::closing_round(const Lane& lane) const {
    const uint64_t opening_end = opening_rounds(lane);
    if (stream_) return opening_end + full_.extent.rounds;
    if (sorts(lane)) {
        return opening_end + lane.inner->extent.rounds + Sorting(layout_, node_).rounds_in();
    }
    return opening_end + (lane.is_leader ? lane.inner->closing_round : 0);
}

// The first round behind everything else.
uint64_t TeamProgram::unpacking_round(const Lane& lane) const {
    uint64_t end = opening_rounds(lane);
    if (lane.is_leader) end += lane.inner->extent.rounds;
    if (!lane.is_leader && is_told_) end += lane.inner->extent.rounds - lane.inner->telling_round;
    return has_closing_ ? std::max(end, closing_round(lane) + 1) : end;
}

uint64_t TeamProgram::rounds_of(const Lane& lane) const {
    return unpacking_round(lane) + (unpacks_ ? layout_.packing_rounds() : 0);
}

void TeamProgram::read(uint64_t number, uint64_t round, Round& out) const {
    out.clear();
    const Lane lane = lane_at(number);
    const uint64_t opening_end = opening_rounds(lane);
    if (round < opening_end) {
        const uint64_t packed_end = packs_ ? layout_.packing_rounds() : 0;
        if (round < packed_end) {
            add_packing(layout_, round, true, out);
        } else if (round == packed_end) {
            out.add(opening(lane));
        } else {
            Sorting(layout_, node_).add_out(round - 1, opened(lane), closed(lane), out);
        }
        return;
    }
    if (round >= unpacking_round(lane)) {
        if (round < rounds_of(lane)) {
            add_packing(layout_, round - unpacking_round(lane), false, out);
        }
        return;
    }
    if (lane.is_leader && round - opening_end < lane.inner->extent.rounds) {
        add_inner(lane, round - opening_end, out);
    } else if (sorts(lane) && round < closing_round(lane)) {
        Sorting(layout_, node_)
            .add_in(round - opening_end - lane.inner->extent.rounds, opened(lane), closed(lane),
                    out);
    } else if (is_told_) {
        add_heard(lane, round - opening_end, out);
    }
    if (stream_) {
        add_streamed(lane, round - opening_end, out);
    } else if (has_closing_ && round == closing_round(lane)) {
        out.add(closing(lane));
    }
}

// ---- what the rounds hold ----------------------------------------------------------------------

Spot TeamProgram::spot_of(const Spots& spots) const {
    if (members_ == 1) return spots.alone;
    return is_root() ? spots.at_root : spots.elsewhere;
}

Mapped TeamProgram::place_of(Spot spot, const Lane& lane) const {
    const uint64_t node_offset = layout_.node_offset(node_);
    const auto packed_or = [&](Buffer buffer) {
        return layout_.is_packed ? Buffer::kScratch : buffer;
    };
    switch (spot) {
        case Spot::kInput:
            return {Buffer::kInput, lane.offset};
        case Spot::kOutput:
            return {Buffer::kOutput, lane.offset};
        case Spot::kScratch:
            return {Buffer::kScratch, ahead_};
        case Spot::kBehind:
            return {Buffer::kScratch, behind_};
        case Spot::kAllIn:
            return {packed_or(Buffer::kInput), 0};
        case Spot::kAllOut:
            return {packed_or(Buffer::kOutput), 0};
        case Spot::kNodeIn:
            return {packed_or(Buffer::kInput), node_offset};
        case Spot::kNodeOut:
            return {packed_or(Buffer::kOutput), node_offset};
        case Spot::kNone:
            break;
    }
    return {};
}

Block TeamProgram::part(Spot spot, Amount amount, const Lane& lane) const {
    if (amount == Amount::kNothing) return {};
    return block_at(place_of(spot, lane), 0, layout_.amount_of(rank_, amount, lane.bytes));
}

void TeamProgram::add_inner(const Lane& lane, uint64_t round, Round& out) const {
    const InnerPlace place{.lane = lane.number,
                           .input = place_of(input_, lane),
                           .output = place_of(output_, lane),
                           .scratch_offset = own_scratch_,
                           .multicasts_before = lane.number * full_.extent.multicasts,
                           .follows_opening = opening_rounds(lane) > 0,
                           .lands_apart = row().lands_apart};
    read_inner(*lane.inner, round, layout_, place, out);
}

// A member's part of its leader's inner rounds from the first that tells on. Blocks stand at the
// same place on all ranks; nothing of its own is under way that a message from another rank could
// overtake but the opening.
void TeamProgram::add_heard(const Lane& lane, uint64_t round, Round& out) const {
    Round leaders;
    lane.inner->program->read(0, lane.inner->telling_round + round, leaders);
    const uint64_t after = round == 0 ? sched::kAfterAll : sched::kAfterNone;
    for (const Operation& operation : leaders) {
        if (!sched::is_multicast(operation.kind)) continue;
        const bool is_leaders = sched::is_multicast_send(operation);
        const Block& block = is_leaders ? operation.left : operation.to;
        TUTTI_ASSERT(block.bytes == 0 || block.buffer == Buffer::kOutput, "results are multicast");
        const Rank sender = is_leaders ? lane.leader : layout_.rank_of(operation.peer, lane.number);
        const uint64_t order = operation.order + lane.number * full_.extent.multicasts;
        const Mapped place = block.bytes == 0 ? Mapped{} : place_of(output_, lane);
        out.add(sched::recv_multicast(sender, order, block_at(place, block.offset, block.bytes),
                                      after));
    }
}

Operation TeamProgram::opening(const Lane& lane) const {
    Operation operation =
        sched::node_operation(kind_of(row().opening), placement().index_on_node(lane.leader),
                              sched::kAfterAll, turns().opening(lane.number));
    operation.left = part(packs_ ? Spot::kAllIn : Spot::kInput, row().opening.member, lane);
    if (lane.is_leader) operation.to = opened(lane);
    return operation;
}

Operation TeamProgram::closing(const Lane& lane) const {
    const bool goes_on = lane.is_leader && !sorts(lane);
    const uint64_t after = goes_on ? lane.inner->closing_after : sched::kAfterAll;
    const NodePart& what = row().closing;
    Operation operation = sched::node_operation(
        kind_of(what), placement().index_on_node(lane.leader), after, turns().closing(lane.number));
    if (closes_with_parts()) {
        operation.to = part(Spot::kOutput, what.member, lane);
        if (lane.is_leader) operation.left = closed(lane);
    } else {
        operation.to = part(output_, what.member, lane);
    }
    return operation;
}

// The node bcasts of a streamed allgather that belong into inner round `round`: what the round
// before brought, at first the own node's blocks.
void TeamProgram::add_streamed(const Lane& lane, uint64_t round, Round& out) const {
    const uint32_t root = placement().index_on_node(lane.leader);
    uint64_t order = turns().closing(lane.number);
    const auto add = [&](Block block, uint64_t after) {
        Operation operation =
            sched::node_operation(OperationKind::kNodeBcast, root, after, order++);
        operation.to = block;
        out.add(operation);
    };
    if (round == 0) {
        const uint64_t bytes = layout_.node_bytes(node_);
        add(sched::output(layout_.node_offset(node_), bytes), sched::kAfterAll);
        return;
    }
    order += stream_->first_of(round - 1);
    Round before;
    full_.program->read(0, round - 1, before);
    for (uint32_t i = 0; i < before.size(); ++i) {
        const Operation& operation = before[i];
        if (!sched::is_recv(operation)) continue;
        add(operation.to, lane.is_leader ? sched::after_op(i) : sched::kAfterNone);
    }
}

}  // namespace

std::unique_ptr<Program> make_plan(const Algorithm& algorithm, const Shape& shape,
                                   const Placement& placement, Rank rank, const Tuning& tuning) {
    const Layout layout(algorithm, shape, placement, tuning);
    const bool is_plain = layout.is_flat && layout.lanes == 1;
    if (is_plain) return algorithm.make(layout.inner(shape.bytes), rank, tuning);
    if (!layout.is_flat && is_prefix(shape.collective)) {
        return make_prefix_plan(algorithm.name, layout, rank);
    }
    return std::make_unique<TeamProgram>(algorithm, layout, rank);
}

Programs make_plans(const Algorithm& algorithm, const Shape& shape, const Placement& placement,
                    const Tuning& tuning) {
    Programs programs;
    programs.reserve(placement.ranks());
    for (Rank rank = 0; rank < placement.ranks(); ++rank) {
        programs.push_back(make_plan(algorithm, shape, placement, rank, tuning));
    }
    return programs;
}

}  // namespace tutti::algo
