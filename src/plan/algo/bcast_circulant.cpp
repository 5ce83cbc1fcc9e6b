// SPDX-License-Identifier: BSD-3-Clause
// Broadcast on a circulant graph, n blocks in n - 1 + ceil(log2 p) rounds.
//
// Source and letters: plan/algo/circulant.h. Blocks stand where they belong, the root's too.
//
// In each round a rank sends one block and receives one, each but the root n in all. With n =
// sqrt((q - 1) m β / α) blocks m bytes take (sqrt(m β) + sqrt((q - 1) α))^2, which a chain
// approaches only for m far beyond p α / β.
//
// Example, p = 5, root 0, 2 blocks: rounds of skips 3, 1, 2, 3
//   0->3 block 0;  0->1 1, 3->4 0;  0->2 1, 4->1 0;  0->3 1, 1->4 1, 4->2 0
//
// Tuning::segment_bytes cuts blocks, otherwise CirculantCut.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a rank sends only blocks that it has received in an earlier round
//   I2  a block comes to each rank but the root once
#include "plan/algo/circulant.h"

namespace tutti::algo {
namespace {

class BcastCirculant final : public Program {
  public:
    BcastCirculant(const Shape& shape, Rank rank, const Tuning& tuning)
        : skips_(shape.ranks),
          cut_(std::max<uint64_t>(1, shape.bytes), shape.element_bytes, skips_, tuning),
          blocks_(skips_, (rank + shape.ranks - shape.root) % shape.ranks, cut_.blocks()),
          rank_(rank),
          is_empty_(shape.bytes == 0 || shape.ranks == 1) {}

    static constexpr std::string_view kName = "circulant";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        return {1, 1, is_empty_ ? 0 : blocks_.end() - blocks_.begin(), 0};
    }
    void read(uint64_t, uint64_t t, sched::Round& out) const override {
        out.clear();
        const uint64_t round = blocks_.begin() + t;
        const auto message = static_cast<uint32_t>(t);
        if (const auto coming = blocks_.received(round)) {
            out.add(sched::recv(circulant_previous(skips_, rank_, round), message, place(*coming),
                                sched::kAfterNone));
        }
        if (const auto going = blocks_.sent(round)) {
            const bool is_new = t > 0 && blocks_.received(round - 1) == going;
            out.add(sched::send(circulant_next(skips_, rank_, round), message, place(*going),
                                is_new ? sched::after_op(0) : sched::kAfterNone));
        }
    }

  private:
    [[nodiscard]] sched::Block place(uint64_t i) const {
        return sched::output(cut_[i].offset, cut_[i].bytes);
    }

    CirculantSkips skips_;
    CirculantCut cut_;
    CirculantBlocks blocks_;
    Rank rank_;
    bool is_empty_;
};

}  // namespace

Algorithm bcast_circulant() {
    return {.name = BcastCirculant::kName,
            .collective = TUTTI_BCAST,
            .summary = "n blocks around a circle at q distances by turns: n - 1 + q rounds",
            .make = make<BcastCirculant>,
            .steps = circulant_steps,
            .reaches_far = true,
            .has_pieces = true};
}

}  // namespace tutti::algo
