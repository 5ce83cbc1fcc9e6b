// SPDX-License-Identifier: BSD-3-Clause
// Values of the symbolic run: sets of ranks, and the order in which a value was folded. Equal sets
// have equal numbers, and so have equal terms.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/sched/shape.h"

namespace tutti::check {

using sched::Rank;

// Ranks from first to last, both in it.
struct RankRange {
    Rank first = 0;
    Rank last = 0;
    bool operator==(const RankRange&) const = default;
};

// Sets of ranks as ascending ranges.
class RankSets {
  public:
    using Id = uint32_t;
    struct Union {
        Id id = 0;
        bool is_disjoint = true;
    };

    RankSets();
    [[nodiscard]] Id empty() const { return 0; }
    Id range(Rank first, Rank last);
    Union unite(Id a, Id b);
    // A rank that is in both sets, which are not disjoint.
    [[nodiscard]] Rank common(Id a, Id b) const;
    [[nodiscard]] const std::vector<RankRange>& ranges(Id id) const { return sets_[id]; }
    // "0-3, 5"; long ones end in "...".
    [[nodiscard]] std::string text(Id id) const;

  private:
    struct Hash {
        size_t operator()(const std::vector<RankRange>& ranges) const;
    };
    Id number(std::vector<RankRange> ranges);

    std::vector<std::vector<RankRange>> sets_;
    std::unordered_map<std::vector<RankRange>, Id, Hash> numbers_;
    std::unordered_map<uint64_t, Union> unions_;
};

// A contribution, or the fold of two terms, left and right.
class SymbolicValues {
  public:
    using Id = uint32_t;
    static constexpr Id kNothing = 0;  // not written yet
    static constexpr Id kData = 1;     // bytes that are moved and never folded

    explicit SymbolicValues(Rank ranks);
    [[nodiscard]] Id contribution(Rank rank) const { return 2 + rank; }
    // The sets are disjoint.
    Id fold(Id left, Id right, RankSets::Id both);
    // ((r0 + r1) + r2) + ... last.
    Id left_fold(Rank last);
    [[nodiscard]] RankSets::Id ranks_in(Id term) const { return terms_[term]; }
    RankSets& sets() { return sets_; }

  private:
    RankSets sets_;
    std::vector<RankSets::Id> terms_;  // by term
    std::unordered_map<uint64_t, Id> folds_;
    std::vector<Id> left_folds_;  // of the ranks up to each, as far as asked for
};

}  // namespace tutti::check
