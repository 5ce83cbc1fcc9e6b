// SPDX-License-Identifier: BSD-3-Clause
// Scan and exclusive scan up and down a binary tree in the order of ranks; the lanes make the
// pipeline.
//
// Source: Sanders, Träff 2006, "Parallel prefix (scan) algorithms for MPI",
// doi:10.1007/11846802_15, the pipelined binary tree. Letters: p ranks, v own rank, [b, e) the
// ranks of the subtree of v, S lanes. L and R are the folds of its left and right subtree, X its
// own vector, P the fold of all ranks before b.
//
// The tree is in order: the root of [b, e) is v = (b + e) / 2, its left subtree [b, v), its right
// one [v + 1, e). On the way up v sends (L X) R to its parent, on the way down it gets P. Its
// result is P (L X), or without X, P L. It sends P to its left child and P (L X) to its right
// child. So the order of ranks is kept for any operator.
//   A subtree with e = p sends nothing up, since no rank is behind it; one with b = 0 gets no P.
// Differs from the paper: there a rank sends and receives at a time in an order laid down for all
// lanes. Here each lane goes on by itself.
// Each rank sends at most 3 vectors and receives 3. Of a lane 2 floor(log2 p) - 1 messages follow
// each other, for p a power of two, so that lanes in flight bound the pipeline.
//
// Example, p = 7, root 3, children 1 and 5:
//   up    0->1 (L), 2->1 (R), 1->3 (L);  4->5 (L)
//   down  3->5;  5->4, 5->6;  1->2
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  what goes up is the fold of [b, e), what comes down that of [0, b)
//   I2  nothing is written to output before the own vector has left or is folded: in place it
//       stands there
#pragma once

#include "plan/algo/algorithms.h"

namespace tutti::algo {

class ScanTree final : public Program {
  public:
    ScanTree(const Shape& shape, Rank rank, bool is_exclusive)
        : p_(shape.ranks), v_(rank), n_(shape.bytes), is_exclusive_(is_exclusive), e_(shape.ranks) {
        for (Rank root = middle(b_, e_); root != v_; root = middle(b_, e_)) {
            parent_ = root;
            if (v_ < root) {
                e_ = root;
            } else {
                b_ = root + 1;
            }
        }
    }

    static constexpr std::string_view kName = "tree";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        return {1, 1, 5, p_ == 1 ? 0 : areas(is_exclusive_) * align_up(n_)};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (round == 0) gather(out);
        if (round == 1 && has_right() && sends_up()) {
            out.add(sched::reduce(right(), left_and_own(), right()));
        }
        if (round == 2) climb(out);
        if (round == 3) descend(out);
        if (round == 4) finish(out);
    }

    static uint64_t areas(bool is_exclusive) { return is_exclusive ? 4 : 2; }

  private:
    static Rank middle(Rank begin, Rank end) { return begin + (end - begin) / 2; }
    [[nodiscard]] bool has_left() const { return b_ < v_; }
    [[nodiscard]] bool has_right() const { return v_ + 1 < e_; }
    [[nodiscard]] bool sends_up() const { return e_ < p_; }
    [[nodiscard]] bool hears_down() const { return b_ > 0; }
    [[nodiscard]] Rank left_child() const { return middle(b_, v_); }
    [[nodiscard]] Rank right_child() const { return middle(v_ + 1, e_); }

    [[nodiscard]] sched::Block area(uint64_t i) const {
        return sched::scratch(i * align_up(n_), n_);
    }
    [[nodiscard]] sched::Block own() const { return sched::input(0, n_); }
    [[nodiscard]] sched::Block result() const { return sched::output(0, n_); }
    // L; and P, which an inclusive scan receives when L has been folded.
    [[nodiscard]] sched::Block left() const { return area(0); }
    [[nodiscard]] sched::Block before() const { return area(is_exclusive_ ? 3 : 0); }
    // R, and then (L X) R.
    [[nodiscard]] sched::Block right() const { return area(1); }
    // Where folds with the own vector go, which are results of an inclusive scan.
    [[nodiscard]] sched::Block folded() const { return is_exclusive_ ? area(2) : result(); }
    // L X, and with P before it what the right child gets.
    [[nodiscard]] sched::Block left_and_own() const { return has_left() ? folded() : own(); }
    [[nodiscard]] sched::Block up_to_own() const {
        return hears_down() ? folded() : left_and_own();
    }

    // P comes, and is folded with L X.
    [[nodiscard]] bool folds_before() const {
        return hears_down() && (has_right() || !is_exclusive_);
    }

    void gather(sched::Round& out) const {
        const bool is_last = v_ + 1 == p_;
        if (has_left() && is_exclusive_ && is_last) {
            out.add(sched::recv(left_child(), 0, left()));
        } else if (has_left()) {
            out.add(sched::recv_reduce_left(left_child(), 0, folded(), left(), own()));
        }
        if (has_right() && sends_up()) out.add(sched::recv(right_child(), 0, right()));
    }
    void climb(sched::Round& out) const {
        if (hears_down()) out.add(sched::recv(parent_, 0, before(), sched::kAfterNone));
        if (sends_up()) out.add(sched::send(parent_, 0, has_right() ? right() : left_and_own()));
    }
    void descend(sched::Round& out) const {
        if (!hears_down()) {
            if (v_ == 0 && !is_exclusive_) out.add(sched::copy(result(), own()));
            return;
        }
        if (has_left()) out.add(sched::send(left_child(), 0, before(), sched::after_op(0)));
        if (!folds_before()) return;
        // What has left may be what this overwrites.
        const uint64_t after = has_right() ? sched::after_op(0) : sched::kAfterAll;
        out.add(sched::reduce(folded(), before(), left_and_own(), after));
    }
    // Nothing here waits for the send to the left child.
    void finish(sched::Round& out) const {
        const uint64_t fold = sched::after_op(has_left() ? 1 : 0);
        const uint64_t after = folds_before() ? fold : sched::kAfterNone;
        if (has_right()) out.add(sched::send(right_child(), 0, up_to_own(), after));
        if (!is_exclusive_ || v_ == 0) return;
        if (hears_down() && has_left()) {
            out.add(sched::reduce(result(), before(), left(), after));
        } else {
            out.add(sched::copy(result(), hears_down() ? before() : left(), after));
        }
    }

    Rank p_;
    Rank v_;
    uint64_t n_;
    bool is_exclusive_;
    Rank b_ = 0;
    Rank e_;
    Rank parent_ = 0;
};

// From the deepest rank before the root up to that, and down to the deepest one behind it.
inline uint64_t scan_tree_steps(const Shape& shape, const Tuning&) {
    if (shape.ranks == 1) return 0;
    const uint64_t before = shape.ranks / 2;
    const uint64_t behind = shape.ranks - 1 - before;
    return floor_log2(before) + 1 + (behind == 0 ? 0 : floor_log2(behind) + 1);
}

}  // namespace tutti::algo
