// SPDX-License-Identifier: BSD-3-Clause
// Barrier by gathering up a tree of settable fan-in and telling all down the same tree.
//
// Source: Kini 2003, section 4.1.3 (RGM, here without multicast). Letters:
//   N ranks, l the fan-in, at most l messages a level; base l + 1, level j.
//
// Rank i is a node of an (l+1)-nomial tree: with i written in base l + 1, its parent has the lowest
// digit that is not 0 replaced by 0, and its children are i + c (l+1)^j for c = 1 ... l and each
// level j below that digit. It waits for all its children, tells its parent, waits to be told and
// tells its children, the largest subtrees first. ceil(log_{l+1} N) levels up and as many down.
//
// Example, N = 8, l = 3:  up 1,2,3->0, 5,6,7->4;  4->0   down 0->4, 0->3,2,1, 4->7,6,5
//
// Tuning::fan_in is l (otherwise 7, which the source found best, section 4.4.2).
//
// Invariants (checked in sched/check.cpp and the property test):
//   I1  a rank tells its parent only when its whole subtree has arrived
//   I2  a round has at most kRoundOpsMax operations, however large fan_in is
#include "algo/algorithms.h"

namespace tutti::algo {
namespace {

constexpr uint32_t kFanInDefault = 7;

class BarrierTree final : public Program {
  public:
    BarrierTree(const Shape& shape, Rank rank, const Tuning& tuning)
        : n_(shape.ranks), i_(rank), l_(tuning.fan_in == 0 ? kFanInDefault : tuning.fan_in) {
        const uint64_t base = l_ + 1;
        uint64_t stride = 1;
        for (; stride < n_ && i_ / stride % base == 0; stride *= base) {
            children_ += children_at(stride);
        }
        parent_ = static_cast<Rank>(i_ - i_ / stride % base * stride);
        chunks_ = (children_ + sched::kRoundOpsMax - 1) / sched::kRoundOpsMax;
    }

    [[nodiscard]] std::string_view name() const override { return "tree"; }
    [[nodiscard]] sched::Extent extent() const override {
        return {1, 1, 2 * chunks_ + (i_ == 0 ? 0 : 2), 0};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (round < chunks_) {
            gather(round * sched::kRoundOpsMax, out);
            return;
        }
        uint64_t step = round - chunks_;
        if (i_ != 0) {
            if (step == 0) out.add(sched::send(parent_, 0, {}));
            if (step == 1) out.add(sched::recv(parent_, 0, {}, sched::kAfterNone));
            if (step < 2) return;
            step -= 2;
        }
        tell(step * sched::kRoundOpsMax, out);
    }

  private:
    // Children at the level of this stride that exist.
    [[nodiscard]] uint64_t children_at(uint64_t stride) const {
        return std::min<uint64_t>(l_, (n_ - 1 - i_) / stride);
    }
    // Child number c, the lowest level first.
    [[nodiscard]] Rank child(uint64_t c) const {
        uint64_t stride = 1;
        for (; c >= children_at(stride); stride *= l_ + 1) c -= children_at(stride);
        return static_cast<Rank>(i_ + (c + 1) * stride);
    }
    void gather(uint64_t first, sched::Round& out) const {
        for (uint64_t c = first; c < std::min(first + sched::kRoundOpsMax, children_); ++c) {
            out.add(sched::recv(child(c), 0, {}, sched::kAfterNone));
        }
    }
    void tell(uint64_t first, sched::Round& out) const {
        for (uint64_t c = first; c < std::min(first + sched::kRoundOpsMax, children_); ++c) {
            out.add(sched::send(child(children_ - 1 - c), 0, {}));
        }
    }

    uint64_t n_;
    uint64_t i_;
    uint64_t l_;
    uint64_t children_ = 0;
    uint64_t chunks_ = 0;  // rounds that hear, or tell, all children
    Rank parent_ = 0;
};

}  // namespace

std::unique_ptr<Program> barrier_tree(const Shape& shape, Rank rank, const Tuning& tuning) {
    return std::make_unique<BarrierTree>(shape, rank, tuning);
}

}  // namespace tutti::algo
