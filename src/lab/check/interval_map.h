// SPDX-License-Identifier: BSD-3-Clause
// A map from intervals of bytes to values, kept as runs of equal values: what a buffer holds costs
// as many entries as it has pieces, whatever their length.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace tutti::check {

template <class T>
class IntervalMap {
  public:
    // Everything has the value T{} at first.
    IntervalMap() { runs_.emplace(0, T{}); }

    // Calls f(T&) for every run in [begin, end), which is cut out of longer runs first.
    template <class F>
    void change(uint64_t begin, uint64_t end, F f) {
        if (begin >= end) return;
        const auto first = cut(begin);
        const auto last = cut(end);
        for (auto run = first; run != last; ++run) f(run->second);
        auto before = first == runs_.begin() ? first : std::prev(first);
        for (auto run = std::next(before); run != runs_.end() && run->first <= end;) {
            if (run->second == before->second) {
                run = runs_.erase(run);
            } else {
                before = run++;
            }
        }
    }
    void set(uint64_t begin, uint64_t end, const T& value) {
        change(begin, end, [&](T& run) { run = value; });
    }

    // Calls f(begin, end, const T&) for every run in [begin, end), ends cut off.
    template <class F>
    void visit(uint64_t begin, uint64_t end, F f) const {
        if (begin >= end) return;
        for (auto run = std::prev(runs_.upper_bound(begin)); run != runs_.end(); ++run) {
            if (run->first >= end) return;
            const auto next = std::next(run);
            const uint64_t from = run->first < begin ? begin : run->first;
            const uint64_t to = next == runs_.end() || next->first > end ? end : next->first;
            f(from, to, run->second);
        }
    }
    void clear() {
        runs_.clear();
        runs_.emplace(0, T{});
    }
    [[nodiscard]] size_t runs() const { return runs_.size(); }

  private:
    using Runs = std::map<uint64_t, T>;  // by where a run begins; it ends where the next begins

    typename Runs::iterator cut(uint64_t at) {
        const auto run = std::prev(runs_.upper_bound(at));
        if (run->first == at) return run;
        return runs_.emplace_hint(std::next(run), at, run->second);
    }

    Runs runs_;
};

}  // namespace tutti::check
