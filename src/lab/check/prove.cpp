// SPDX-License-Identifier: BSD-3-Clause
#include "lab/check/prove.h"

#include <algorithm>

#include "lab/check/abstract_run.h"
#include "lab/check/form.h"
#include "lab/check/meet_tree.h"
#include "lab/check/memory.h"
#include "lab/check/symbolic_values.h"

namespace tutti::check {

using sched::Incoming;

namespace {

// Values and races.
class Prover final : public Interpreter {
  public:
    Prover(const Shape& shape, std::span<const std::unique_ptr<Program>> programs,
           const Demands& demands, const PairBlocks* blocks, bool is_in_place,
           std::vector<std::string>& faults)
        : shape_(shape),
          demands_(demands),
          blocks_(blocks),
          prefix_(is_in_place ? "in place: " : ""),
          faults_(faults),
          terms_(shape.ranks) {
        memories_.reserve(programs.size());
        for (Rank r = 0; r < programs.size(); ++r) {
            memories_.emplace_back(shape, r, programs[r]->extent(), terms_, is_in_place, blocks);
        }
    }

    void match(LiveOperation& send, LiveOperation& recv) override;
    void local(LiveOperation& live) override;
    void node(std::span<LiveOperation* const> members) override;
    void multicast(std::span<LiveOperation* const> ends) override;
    void meet(std::span<const Meeter> all) override;
    uint64_t initial(Rank rank) override { return is_barrier() ? sets().range(rank, rank) : 0; }
    uint64_t join(uint64_t a, uint64_t b) override {
        if (a == b) return a;
        return sets().unite(static_cast<uint32_t>(a), static_cast<uint32_t>(b)).id;
    }
    // Everything is complete.
    void check_end(Run& run);
    void add(const std::string& line) {
        if (faults_.size() < kFaultLinesMax) faults_.push_back(prefix_ + line);
    }

  private:
    RankSets& sets() { return terms_.sets(); }
    [[nodiscard]] bool is_barrier() const { return shape_.collective == TUTTI_BARRIER; }
    void fault(const LiveOperation& live, const std::string& what) {
        add(label(live) + ": " + what);
    }

    Pieces read(const LiveOperation& live, const Block& block);
    // Of a node operation that moves parts: where the root's own part begins in its block.
    void note(const LiveOperation& live, bool is_root, uint64_t own_part = 0);
    void check_apart(const LiveOperation& live, const Touched& blocks, uint64_t own_part);
    Pieces fold(const LiveOperation& live, const Pieces& left, const Pieces& right);
    Value fold_one(const LiveOperation& live, const Value& left, const Value& right, uint64_t at);
    bool agree(std::span<LiveOperation* const> members);
    LiveOperation* sender_of(std::span<LiveOperation* const> ends);
    void move(std::span<LiveOperation* const> members);
    void fold_members(std::span<LiveOperation* const> members, const sched::OperationRow& row);
    void check_output(Rank rank);
    std::string misplaced(Rank rank, const Piece& piece);
    std::string amiss(Rank rank, const Piece& piece);
    void check_left_fold(Rank rank, const Pieces& pieces);
    void check_same_order(Rank rank, const Pieces& pieces);

    const Shape& shape_;
    const Demands& demands_;
    const PairBlocks* blocks_;  // nullptr: as the shape says
    std::string prefix_;
    std::vector<std::string>& faults_;
    SymbolicValues terms_;
    std::vector<RankMemory> memories_;
    Pieces first_output_;  // rank 0's, of an allreduce
};

Pieces Prover::read(const LiveOperation& live, const Block& block) {
    Pieces pieces = memories_[live.rank].read(live, block);
    for (const Piece& piece : pieces) {
        if (piece.value.term != SymbolicValues::kNothing) continue;
        fault(live, "it reads " + range_text(piece.from, piece.to) +
                        " of a block before they are written");
        break;
    }
    return pieces;
}

// Two operations that touch the same bytes, one of them writing, must be ordered.
void Prover::note(const LiveOperation& live, bool is_root, uint64_t own_part) {
    const Touched blocks = touched(live.op, is_root);
    RankMemory& memory = memories_[live.rank];
    // A block is copied onto itself in place: nothing to do.
    if (is_copy(live.op) && memory.is_same(live.op.to, live.op.left)) return;
    check_apart(live, blocks, own_part);
    std::optional<Position> rival;
    const auto touch = [&](const Block& block, bool is_write) {
        const std::optional<Position> found = memory.note(live, block, is_write);
        if (!rival) rival = found;
    };
    touch(blocks.reads[0], false);
    touch(blocks.reads[1], false);
    touch(blocks.landing, true);
    touch(blocks.to, true);
    if (!rival) return;
    fault(live, "nothing orders it and operation " + std::to_string(rival->index) + " of lane " +
                    std::to_string(rival->lane) + ", round " + std::to_string(rival->round) +
                    ", which touches the same bytes");
}

// Within one operation, blocks are the same or apart; what is received hides no operand.
void Prover::check_apart(const LiveOperation& live, const Touched& blocks, uint64_t own_part) {
    const RankMemory& memory = memories_[live.rank];
    const sched::OperationRow& row = sched::row_of(live.op);
    const bool is_gather = !sched::is_from_root(row);
    for (const Block& block : {blocks.reads[0], blocks.reads[1], blocks.landing}) {
        if (!memory.overlap(block, blocks.to) || memory.is_same(block, blocks.to)) continue;
        if (sched::moves_parts(row)) {
            // In place the root's own part stands where the operation would put it.
            Block part = is_gather ? blocks.to : block;
            const Block& own = is_gather ? block : blocks.to;
            part.offset += own_part;
            part.bytes = own.bytes;
            if (memory.is_same(part, own)) continue;
        }
        fault(live, "its blocks overlap");
    }
    for (const Block& block : blocks.reads) {
        if (memory.overlap(block, blocks.landing)) {
            fault(live, "the message hides its operand");
        }
    }
}

void Prover::match(LiveOperation& send, LiveOperation& recv) {
    if (is_barrier()) {
        send.behind = send.before;
        recv.behind = join(recv.before, send.before);
    }
    note(send, false);
    note(recv, false);
    const Touched blocks = touched(recv.op, false);
    const bool folds = sched::row_of(recv.op).folds;
    const Block& landing = folds ? blocks.landing : blocks.to;
    if (send.op.left.bytes != landing.bytes) {
        return fault(recv, "rank " + std::to_string(send.rank) + " sends " +
                               std::to_string(send.op.left.bytes) + " bytes in round " +
                               std::to_string(send.position.round));
    }
    const Pieces pieces = read(send, send.op.left);
    RankMemory& memory = memories_[recv.rank];
    memory.write(recv, landing, pieces);
    if (!folds) return;
    const Pieces own = read(recv, blocks.reads[0]);
    const bool is_left = recv.op.incoming == Incoming::kLeft;
    memory.write(recv, recv.op.to, is_left ? fold(recv, pieces, own) : fold(recv, own, pieces));
}

void Prover::local(LiveOperation& live) {
    if (is_barrier()) live.behind = live.before;
    note(live, false);
    Pieces pieces = read(live, live.op.left);
    if (sched::row_of(live.op).folds) pieces = fold(live, pieces, read(live, live.op.right));
    memories_[live.rank].write(live, live.op.to, pieces);
}

// Piece by piece, where both have the same value throughout.
Pieces Prover::fold(const LiveOperation& live, const Pieces& left, const Pieces& right) {
    Pieces folded;
    size_t l = 0;
    size_t r = 0;
    while (l < left.size() && r < right.size()) {
        const uint64_t from = std::max(left[l].from, right[r].from);
        const uint64_t to = std::min(left[l].to, right[r].to);
        folded.push_back({from, to, fold_one(live, left[l].value, right[r].value, from)});
        if (left[l].to == to) ++l;
        if (right[r].to == to) ++r;
    }
    return folded;
}

Value Prover::fold_one(const LiveOperation& live, const Value& left, const Value& right,
                       uint64_t at) {
    // That one is not written has been said.
    if (left.term == SymbolicValues::kNothing || right.term == SymbolicValues::kNothing) return {};
    if (left.shift != right.shift) {
        fault(live, "it folds byte " + std::to_string(at + left.shift) +
                        " of the vector with byte " + std::to_string(at + right.shift));
        return left;
    }
    const RankSets::Id a = terms_.ranks_in(left.term);
    const RankSets::Id b = terms_.ranks_in(right.term);
    const RankSets::Union both = sets().unite(a, b);
    if (!both.is_disjoint) {
        fault(live, "it folds the contribution of rank " + std::to_string(sets().common(a, b)) +
                        " in twice");
        return left;
    }
    const auto& x = sets().ranges(a);
    const auto& y = sets().ranges(b);
    if (!shape_.is_commutative &&
        (x.size() != 1 || y.size() != 1 || x[0].last + uint64_t{1} != y[0].first)) {
        fault(live, "it folds ranks " + sets().text(a) + " with ranks " + sets().text(b) +
                        " to their right, and the operator does not commute");
        return left;
    }
    return {terms_.fold(left.term, right.term, both.id), left.shift};
}

bool Prover::agree(std::span<LiveOperation* const> members) {
    const Operation& first = members[0]->op;
    const sched::OperationRow& row = sched::row_of(first);
    for (const LiveOperation* member : members) {
        const Operation& op = member->op;
        const bool fits = node_bytes(op) == node_bytes(first) || sched::has_unequal_parts(row);
        if (op.kind != first.kind || op.peer != first.peer || !fits) {
            fault(*member, "it does not agree with " + label(*members[0]));
            return false;
        }
    }
    const LiveOperation& root = *members[first.peer];
    if (sched::has_no_blocks(first.kind) || sched::runs_along(row)) return true;
    if (sched::is_bundles(row)) return true;
    const auto moved = node_bytes(members.first(sched::moves_parts(row) ? members.size() : 1));
    if (root_block(root.op).bytes == moved) return true;
    fault(root, "the root's blocks do not fit " + std::to_string(moved) + " bytes from or to " +
                    std::to_string(members.size()) + " ranks");
    return false;
}

void Prover::node(std::span<LiveOperation* const> members) {
    const Operation& first = members[0]->op;
    const uint64_t own_part = node_bytes(members.first(first.peer));
    for (LiveOperation* member : members) {
        memories_[member->rank].note_node(*member);
        note(*member, member == members[first.peer], own_part);
    }
    if (agree(members)) move(members);
    if (!is_barrier()) return;
    const bool from_all = !sched::is_from_root(sched::row_of(first.kind));
    uint64_t known = members[first.peer]->before;
    if (from_all) {
        for (const LiveOperation* member : members) known = join(known, member->before);
    }
    for (LiveOperation* member : members) {
        const bool hears = is_meeting(first) && (!from_all || member == members[first.peer]);
        member->behind = hears ? join(member->before, known) : member->before;
    }
}

void Prover::move(std::span<LiveOperation* const> members) {
    const LiveOperation& root = *members[members[0]->op.peer];
    const sched::OperationRow& row = sched::row_of(root.op);
    if (sched::has_no_blocks(root.op.kind) || sched::is_bundles(row)) return;
    const auto part = [&](size_t i) {
        Block block = root_block(root.op);
        block.bytes = node_bytes(members[i]->op);
        if (sched::moves_parts(row)) block.offset += node_bytes(members.first(i));
        return block;
    };
    if (row.folds) return fold_members(members, row);
    Pieces whole;
    if (!sched::moves_parts(row)) whole = read(root, part(0));
    for (size_t i = 0; i < members.size(); ++i) {
        const LiveOperation& member = *members[i];
        RankMemory& memory = memories_[member.rank];
        if (!sched::moves_parts(row)) {
            if (&member != &root) memory.write(member, member.op.to, whole);
        } else if (sched::is_from_root(row)) {
            memory.write(member, member.op.to, read(root, part(i)));
        } else {
            memories_[root.rank].write(root, part(i), read(member, member.op.left));
        }
    }
}

// In the order of ranks. Of a scan each gets what is up to it, or before it, else the root all.
void Prover::fold_members(std::span<LiveOperation* const> members, const sched::OperationRow& row) {
    Pieces all;
    for (const LiveOperation* member : members) {
        const Pieces own = read(*member, member->op.left);
        const Pieces up_to_own = member == members[0] ? own : fold(*member, all, own);
        if (sched::runs_along(row) && member->op.to.bytes > 0) {
            const Pieces& result = row.collective == TUTTI_SCAN ? up_to_own : all;
            memories_[member->rank].write(*member, member->op.to, result);
        }
        all = up_to_own;
    }
    const LiveOperation& root = *members[members[0]->op.peer];
    if (!sched::runs_along(row)) memories_[root.rank].write(root, root.op.to, all);
}

void Prover::multicast(std::span<LiveOperation* const> ends) {
    for (LiveOperation* end : ends) {
        note(*end, false);
        if (is_barrier()) end->behind = end->before;
    }
    const LiveOperation* sender = sender_of(ends);
    if (sender == nullptr) return;
    const Pieces pieces = read(*sender, sender->op.left);
    for (LiveOperation* end : ends) {
        if (end == sender) continue;
        if (end->op.peer != sender->rank) {
            fault(*end, "rank " + std::to_string(sender->rank) + " sends it");
        } else if (end->op.to.bytes != sender->op.left.bytes) {
            fault(*end, "rank " + std::to_string(sender->rank) + " sends " +
                            std::to_string(sender->op.left.bytes) + " bytes in round " +
                            std::to_string(sender->position.round));
        } else {
            memories_[end->rank].write(*end, end->op.to, pieces);
            if (is_barrier()) end->behind = join(end->before, sender->before);
        }
    }
}

// The one rank that sends; null, and a fault, where there is not exactly one.
LiveOperation* Prover::sender_of(std::span<LiveOperation* const> ends) {
    LiveOperation* sender = nullptr;
    for (LiveOperation* end : ends) {
        if (!is_multicast_send(end->op)) continue;
        if (sender != nullptr) {
            fault(*end, "rank " + std::to_string(sender->rank) + " sends one of this order too");
            return nullptr;
        }
        sender = end;
    }
    if (sender == nullptr) fault(*ends[0], "nobody sends it");
    return sender;
}

// In whatever order it comes about, all get the same fold of all, and its operands are intervals of
// the tree's walk (tests/unit/run/adapt): so what a fold from below has stands for every one.
void Prover::meet(std::span<const Meeter> all) {
    uint64_t known = all[0].meet->before;
    for (const Meeter& one : all) {
        for (LiveOperation* with : one.with) note(*with, false);
        note(*one.meet, false);
        if (is_barrier()) known = join(known, one.meet->before);
    }
    const MeetTree tree(all);
    if (tree.faulty() != nullptr) return fault(*tree.faulty(), tree.fault());
    if (const LiveOperation* other = otherwise_told(all, tree, memories_.size()))
        return fault(*other, "not all ranks are told of it alike");
    std::vector<Pieces> folded(all.size());
    for (const uint32_t i : tree.upwards()) {
        const LiveOperation& own = *all[i].meet;
        if (own.op.left.bytes == 0 && is_feed(own.op)) continue;
        folded[i] = read(own, own.op.left);
        for (const LiveOperation* with : all[i].with) {
            if (with->op.incoming == Incoming::kLeft || is_feed(own.op)) continue;
            folded[i] = fold(own, folded[i], folded[tree.index_of(with->op.peer)]);
        }
    }
    for (const Meeter& one : all) {
        RankMemory& memory = memories_[one.meet->rank];
        const auto spoil = [&](const LiveOperation& live, const Block& message_buffer) {
            memory.write(live, message_buffer, {{0, message_buffer.bytes, {}}});
        };
        for (const LiveOperation* with : one.with) spoil(*with, with->op.to);
        if (!is_feed(one.meet->op)) spoil(*one.meet, one.meet->op.right);
        if (is_feed(one.meet->op) && one.meet->op.to.bytes == 0) continue;
        memory.write(*one.meet, one.meet->op.to, folded[tree.top()]);
        if (!is_barrier()) continue;
        one.meet->behind = known;
        for (LiveOperation* with : one.with) with->behind = with->before;
    }
}

void Prover::check_end(Run& run) {
    if (is_barrier()) {
        const RankSets::Id all = sets().range(0, shape_.ranks - 1);
        for (Rank r = 0; r < shape_.ranks; ++r) {
            const auto known = static_cast<RankSets::Id>(run.at_end(r));
            if (known == all) continue;
            add("rank " + std::to_string(r) + " leaves the barrier when it knows only of ranks " +
                sets().text(known));
        }
        return;
    }
    for (Rank r = 0; r < shape_.ranks; ++r) check_output(r);
}

void Prover::check_output(Rank rank) {
    if (blocks_) {
        const std::string wrong = wrong_blocks(memories_[rank], *blocks_, rank);
        if (!wrong.empty()) add("rank " + std::to_string(rank) + ": " + wrong);
        return;
    }
    const uint64_t bytes = shape_.output_bytes(rank);
    const Pieces pieces = memories_[rank].output(bytes);
    for (const Piece& piece : pieces) {
        const std::string what = amiss(rank, piece);
        if (what.empty()) continue;
        return add("rank " + std::to_string(rank) + ": " + range_text(piece.from, piece.to) +
                   " of its output " + what);
    }
    if (!is_reduction(shape_.collective) || bytes == 0) return;
    if (demands_.left_fold) check_left_fold(rank, pieces);
    // Blocks and prefixes are each rank's own.
    const bool is_of_all = facts(shape_.collective).from == From::kAll;
    if (is_of_all && is_vector(shape_.collective)) check_same_order(rank, pieces);
}

std::string Prover::misplaced(Rank rank, const Piece& piece) {
    for (uint64_t from = piece.from; from < piece.to;) {
        const Place right = right_place(shape_, rank, from);
        if (piece.value.shift != right.shift) {
            const std::string whole =
                is_vector(shape_.collective) ? " of the vector" : " of all ranks' blocks";
            return "hold byte " + std::to_string(from + piece.value.shift) + whole +
                   " and what follows, not byte " + std::to_string(from + right.shift);
        }
        from = right.end;
    }
    return {};
}

std::string Prover::amiss(Rank rank, const Piece& piece) {
    const Value& value = piece.value;
    if (value.term == SymbolicValues::kNothing) return "are never written";
    if (const std::string where = misplaced(rank, piece); !where.empty()) return where;
    if (!is_reduction(shape_.collective)) return {};
    const Origin from = origin(shape_.collective, rank, shape_.root, shape_.ranks, 0);
    const RankSets::Id there = terms_.ranks_in(value.term);
    if (there == sets().range(from.first, from.last)) return {};
    return "hold the contributions of ranks " + sets().text(there) + " only";
}

void Prover::check_left_fold(Rank rank, const Pieces& pieces) {
    const Rank last = origin(shape_.collective, rank, shape_.root, shape_.ranks, 0).last;
    const SymbolicValues::Id canonical = terms_.left_fold(last);
    for (const Piece& piece : pieces) {
        if (piece.value.term == canonical) continue;
        return add("rank " + std::to_string(rank) + ": " + range_text(piece.from, piece.to) +
                   " of its output are not folded as ((r0 + r1) + r2) + ...");
    }
}

// All ranks get the same bits only if all fold in the same order, operand by operand.
void Prover::check_same_order(Rank rank, const Pieces& pieces) {
    if (first_output_.empty()) {
        first_output_ = pieces;
        return;
    }
    size_t i = 0;
    for (const Piece& piece : pieces) {
        for (; i < first_output_.size() && first_output_[i].from < piece.to; ++i) {
            const Piece& first = first_output_[i];
            if (first.value.term != piece.value.term) {
                return add(
                    "rank " + std::to_string(rank) + ": " +
                    range_text(std::max(first.from, piece.from), std::min(first.to, piece.to)) +
                    " of its output are folded in another order than on rank 0");
            }
            if (first.to > piece.to) break;
        }
    }
}

void prove(const Shape& shape, const topo::Placement& placement,
           std::span<const std::unique_ptr<Program>> programs, const Demands& demands,
           const PairBlocks* blocks, bool is_in_place, std::vector<std::string>& faults) {
    Prover prover(shape, programs, demands, blocks, is_in_place, faults);
    Run run(placement, programs, prover);
    if (!run.go()) {
        for (const std::string& line : run.stuck(kFaultLinesMax)) prover.add(line);
        return;
    }
    if (faults.empty()) prover.check_end(run);
}

}  // namespace

Faults prove(const Shape& shape, const topo::Placement& placement,
             std::span<const std::unique_ptr<Program>> programs, const Demands& demands,
             const PairBlocks* blocks) {
    TUTTI_ASSERT(programs.size() == shape.ranks, "a Program a rank");
    TUTTI_ASSERT(placement.ranks() == shape.ranks, "a place for every rank");
    Faults faults;
    for (Rank r = 0; blocks && r < shape.ranks; ++r) programs[r]->set_blocks(blocks->of(r));
    check_form(shape, placement, programs, blocks, kFaultLinesMax, faults.lines);
    if (!faults.lines.empty()) return faults;
    prove(shape, placement, programs, demands, blocks, false, faults.lines);
    const InPlace in_place = facts(shape.collective).in_place;
    const bool may_be_inside =
        in_place == InPlace::kInputInOutput || in_place == InPlace::kOutputInInput;
    if (!faults.lines.empty() || !may_be_inside) return faults;
    prove(shape, placement, programs, demands, blocks, true, faults.lines);
    return faults;
}

}  // namespace tutti::check
