// SPDX-License-Identifier: BSD-3-Clause
#include "lab/check/symbolic_values.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::check {
namespace {

constexpr size_t kRangesInTextMax = 8;

uint64_t pair_key(uint32_t a, uint32_t b) { return uint64_t{a} << 32 | b; }

}  // namespace

size_t RankSets::Hash::operator()(const std::vector<RankRange>& ranges) const {
    // Fowler, Noll, Vo: 64 bits, FNV-1a, a number at a time.
    uint64_t hash = 0xcbf29ce484222325u;
    for (const RankRange& range : ranges) {
        hash = (hash ^ pair_key(range.first, range.last)) * 0x100000001b3u;
        hash ^= hash >> 29;
    }
    return hash;
}

RankSets::RankSets() { number({}); }

RankSets::Id RankSets::number(std::vector<RankRange> ranges) {
    const auto found = numbers_.find(ranges);
    if (found != numbers_.end()) return found->second;
    const Id id = static_cast<Id>(sets_.size());
    numbers_.emplace(ranges, id);
    sets_.push_back(std::move(ranges));
    return id;
}

RankSets::Id RankSets::range(Rank first, Rank last) { return number({{first, last}}); }

RankSets::Union RankSets::unite(Id a, Id b) {
    if (a > b) std::swap(a, b);
    if (a == empty()) return {b, true};
    const auto known = unions_.find(pair_key(a, b));
    if (known != unions_.end()) return known->second;
    std::vector<RankRange> all;
    all.reserve(sets_[a].size() + sets_[b].size());
    std::merge(sets_[a].begin(), sets_[a].end(), sets_[b].begin(), sets_[b].end(),
               std::back_inserter(all),
               [](const RankRange& x, const RankRange& y) { return x.first < y.first; });
    Union result;
    std::vector<RankRange> joined;
    for (const RankRange& range : all) {
        if (joined.empty() || range.first > joined.back().last + uint64_t{1}) {
            joined.push_back(range);
            continue;
        }
        if (range.first <= joined.back().last) result.is_disjoint = false;
        joined.back().last = std::max(joined.back().last, range.last);
    }
    result.id = number(std::move(joined));
    unions_.emplace(pair_key(a, b), result);
    return result;
}

Rank RankSets::common(Id a, Id b) const {
    for (const RankRange& x : sets_[a]) {
        for (const RankRange& y : sets_[b]) {
            const Rank first = std::max(x.first, y.first);
            if (first <= std::min(x.last, y.last)) return first;
        }
    }
    return 0;
}

std::string RankSets::text(Id id) const {
    std::string text;
    for (size_t i = 0; i < sets_[id].size(); ++i) {
        if (i != 0) text += ", ";
        if (i == kRangesInTextMax) return text + "...";
        const RankRange& range = sets_[id][i];
        text += std::to_string(range.first);
        if (range.last != range.first) text += "-" + std::to_string(range.last);
    }
    return text;
}

SymbolicValues::SymbolicValues(Rank ranks) {
    terms_ = {sets_.empty(), sets_.empty()};
    for (Rank r = 0; r < ranks; ++r) terms_.push_back(sets_.range(r, r));
}

SymbolicValues::Id SymbolicValues::fold(Id left, Id right, RankSets::Id both) {
    const auto [place, is_new] =
        folds_.try_emplace(pair_key(left, right), static_cast<Id>(terms_.size()));
    if (is_new) terms_.push_back(both);
    return place->second;
}

SymbolicValues::Id SymbolicValues::left_fold(Rank last) {
    if (left_folds_.empty()) left_folds_.push_back(contribution(0));
    for (auto r = static_cast<Rank>(left_folds_.size()); r <= last; ++r) {
        left_folds_.push_back(fold(left_folds_.back(), contribution(r), sets_.range(0, r)));
    }
    return left_folds_[last];
}

}  // namespace tutti::check
