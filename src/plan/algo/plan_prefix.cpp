// SPDX-License-Identifier: BSD-3-Clause
// Rounds of a lane: the node's scan; of the leader of an exscan the fold with its own vector; the
// inner rounds of the leader; behind or beside the last of them the node's bcast of P; at the end
// the fold of P with S.
#include "plan/algo/plan_prefix.h"

#include <algorithm>

#include "plan/algo/plan_inner.h"
#include "plan/sched/operation_kinds.h"

namespace tutti::algo {
namespace {

using sched::Block;
using sched::Buffer;
using sched::Operation;
using sched::Round;

class PrefixProgram final : public Program {
  public:
    PrefixProgram(std::string_view name, const Layout& layout, Rank rank)
        : layout_(layout),
          name_(name),
          node_(layout.placement->node_of(rank)),
          index_(layout.placement->index_on_node(rank)),
          members_(static_cast<uint32_t>(layout.placement->members(node_).size())) {
        if (is_leader()) {
            full_ = make_inner(layout_.segment_bytes);
            const uint64_t last_bytes = layout_.bytes_of(layout_.lanes - 1);
            if (last_bytes != layout_.segment_bytes) last_ = make_inner(last_bytes);
        }
        extent_.lanes = layout_.lanes;
        extent_.lanes_in_flight = layout_.lanes_in_flight;
        extent_.rounds = std::max(rounds_of(lane_at(0)), rounds_of(lane_at(layout_.lanes - 1)));
        const uint64_t inner_scratch =
            std::max(full_.extent.scratch_bytes, last_.extent.scratch_bytes);
        extent_.scratch_bytes = own_scratch() + inner_scratch;
    }

    [[nodiscard]] std::string_view name() const override { return name_; }
    [[nodiscard]] sched::Extent extent() const override { return extent_; }
    void read(uint64_t number, uint64_t round, Round& out) const override {
        out.clear();
        const Lane lane = lane_at(number);
        const uint64_t begin = opening_rounds();
        if (round < begin) return add_opening(lane, round, out);
        if (is_leader() && round - begin < lane.inner->extent.rounds) {
            add_inner(lane, round - begin, out);
        }
        if (has_closing() && round == closing_round(lane)) out.add(closing(lane));
        if (has_last() && round + 1 == rounds_of(lane)) out.add(last(lane));
    }

  private:
    struct Lane {
        uint64_t number = 0;
        uint64_t offset = 0;
        uint64_t bytes = 0;
        const Inner* inner = nullptr;  // the leader's
    };

    [[nodiscard]] bool is_exclusive() const { return layout_.shape.collective == TUTTI_EXSCAN; }
    [[nodiscard]] bool is_alone() const { return members_ == 1; }
    [[nodiscard]] bool is_leader() const { return index_ + 1 == members_; }
    [[nodiscard]] bool has_before() const { return node_ > 0; }
    [[nodiscard]] bool has_closing() const { return has_before() && !is_alone(); }
    // P is the result of an exscan.
    [[nodiscard]] bool gets_result() const { return is_exclusive() && index_ == 0; }
    // S is the result of the first node's ranks, but stands elsewhere.
    [[nodiscard]] bool has_last() const {
        if (has_before()) return !gets_result();
        return is_leader() && is_exclusive() != is_alone();
    }
    // The leader of an exscan keeps S apart.
    [[nodiscard]] bool keeps_apart() const { return is_exclusive() && is_leader() && !is_alone(); }

    [[nodiscard]] Inner make_inner(uint64_t bytes) const {
        return {layout_.algorithm->make(layout_.inner(bytes), node_, layout_.tuning), false};
    }
    [[nodiscard]] Lane lane_at(uint64_t number) const {
        Lane lane{number, number * layout_.segment_bytes, layout_.bytes_of(number), nullptr};
        const bool is_last = last_.program != nullptr && number + 1 == layout_.lanes;
        if (is_leader()) lane.inner = is_last ? &last_ : &full_;
        return lane;
    }

    [[nodiscard]] uint64_t opening_rounds() const {
        if (is_alone()) return 0;
        return keeps_apart() ? 2 : 1;
    }
    [[nodiscard]] uint64_t closing_round(const Lane& lane) const {
        return opening_rounds() + (is_leader() ? lane.inner->closing_round : 0);
    }
    [[nodiscard]] uint64_t rounds_of(const Lane& lane) const {
        uint64_t end = opening_rounds() + (is_leader() ? lane.inner->extent.rounds : 0);
        if (has_closing()) end = std::max(end, closing_round(lane) + 1);
        return end + (has_last() ? 1 : 0);
    }

    // ---- blocks --------------------------------------------------------------------------------

    [[nodiscard]] uint64_t area() const { return align_up(layout_.segment_bytes); }
    [[nodiscard]] uint64_t own_scratch() const {
        const bool has_area = is_leader() || has_before();
        if (gets_result() || !has_area) return 0;
        return keeps_apart() ? 2 * area() : area();
    }
    [[nodiscard]] static Block own(const Lane& lane) {
        return sched::input(lane.offset, lane.bytes);
    }
    [[nodiscard]] static Block result(const Lane& lane) {
        return sched::output(lane.offset, lane.bytes);
    }
    [[nodiscard]] Block before(const Lane& lane) const {  // P
        return gets_result() ? result(lane) : sched::scratch(0, lane.bytes);
    }
    [[nodiscard]] Block of_node(const Lane& lane) const {  // S
        if (is_alone()) return own(lane);
        return keeps_apart() ? sched::scratch(area(), lane.bytes) : result(lane);
    }
    [[nodiscard]] Block whole_node(const Lane& lane) const {  // T
        return is_alone() ? own(lane) : result(lane);
    }

    // ---- operations ----------------------------------------------------------------------------

    [[nodiscard]] NodeTurns turns() const {
        return {layout_.lanes, layout_.lanes_in_flight, is_alone() ? 0u : 1u,
                has_closing() ? 1u : 0u};
    }
    void add_opening(const Lane& lane, uint64_t round, Round& out) const {
        if (round == 1) {
            out.add(sched::reduce(whole_node(lane), of_node(lane), own(lane)));
            return;
        }
        Operation scan = sched::node_operation(*layout_.node->opening.kind, 0, sched::kAfterAll,
                                               turns().opening(lane.number));
        scan.left = own(lane);
        if (!gets_result()) scan.to = of_node(lane);
        out.add(scan);
    }
    void add_inner(const Lane& lane, uint64_t round, Round& out) const {
        const Block from = whole_node(lane);
        const Block to = before(lane);
        const InnerPlace place{.lane = lane.number,
                               .input = {from.buffer, from.offset},
                               .output = {to.buffer, to.offset},
                               .scratch_offset = own_scratch(),
                               .follows_opening = !is_alone(),
                               .lands_apart = true};
        read_inner(*lane.inner, round, layout_, place, out);
    }
    [[nodiscard]] Operation closing(const Lane& lane) const {
        const uint64_t after = is_leader() ? lane.inner->closing_after : sched::kAfterAll;
        Operation bcast = sched::node_operation(*layout_.node->closing.kind, members_ - 1, after,
                                                turns().closing(lane.number));
        bcast.to = before(lane);
        return bcast;
    }
    // Output may hold T, which inner rounds send: this waits for all of them.
    [[nodiscard]] Operation last(const Lane& lane) const {
        if (!has_before()) return sched::copy(result(lane), of_node(lane));
        return sched::reduce(result(lane), before(lane), of_node(lane));
    }

    Layout layout_;
    std::string_view name_;
    uint32_t node_;
    uint32_t index_;
    uint32_t members_;
    Inner full_;
    Inner last_;  // of a shorter last segment
    sched::Extent extent_;
};

}  // namespace

std::unique_ptr<Program> make_prefix_plan(std::string_view name, const Layout& layout, Rank rank) {
    TUTTI_ASSERT(!layout.is_flat, "nodes take part");
    return std::make_unique<PrefixProgram>(name, layout, rank);
}

}  // namespace tutti::algo
