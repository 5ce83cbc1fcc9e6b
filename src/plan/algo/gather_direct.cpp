// SPDX-License-Identifier: BSD-3-Clause
// Gather in which every rank sends its block straight to the root.
//
// Source: the flat tree of Kini 2003, section 3.2, with a block of its own for every rank.
// Letters: p ranks, f messages a round.
//
// The root receives p - 1 messages, rank after rank beginning behind itself; each block crosses the
// network once, and the root's link is busy with nothing else. Start-up costs are linear in p.
//
// Example, p = 5, root 3, f = 2:  root: round 0 copy own, recv 4, recv 0;  round 1 recv 1, recv 2
//
// Tuning::fan_in is f (otherwise 32): two rounds are open at a time, so at most 2 f receives are.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a round has at most kRoundOpsMax operations, however large fan_in is
#include "plan/algo/algorithms.h"

namespace tutti::algo {
namespace {

constexpr uint32_t kFanInDefault = 32;

class GatherDirect final : public Program {
  public:
    GatherDirect(const Shape& shape, Rank rank, const Tuning& tuning)
        : shape_(shape),
          rank_(rank),
          f_(std::min(tuning.fan_in == 0 ? kFanInDefault : tuning.fan_in,
                      sched::kRoundOpsMax - 1)) {}

    static constexpr std::string_view kName = "direct";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0};
        if (rank_ != shape_.root || shape_.ranks == 1) return {1, 1, 1, 0};
        return {1, 1, (shape_.ranks - 1 + f_ - 1) / f_, 0};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        const sched::Block own = sched::input(0, shape_.block_bytes(rank_));
        if (rank_ != shape_.root) {
            out.add(sched::send(shape_.root, 0, own));
            return;
        }
        if (round == 0) out.add(sched::copy(block(rank_), own));
        const uint64_t first = 1 + round * f_;
        for (uint64_t i = first; i < std::min<uint64_t>(first + f_, shape_.ranks); ++i) {
            const auto peer = static_cast<Rank>((rank_ + i) % shape_.ranks);
            out.add(sched::recv(peer, 0, block(peer), sched::kAfterNone));
        }
    }

  private:
    [[nodiscard]] sched::Block block(Rank i) const {
        return sched::output(shape_.block_offset(i), shape_.block_bytes(i));
    }

    Shape shape_;
    Rank rank_;
    uint32_t f_;
};

}  // namespace

Algorithm gather_direct() {
    return {.name = GatherDirect::kName,
            .collective = TUTTI_GATHER,
            .summary = "every rank sends to the root",
            .obstacle = if_block_too_long,
            .make = make<GatherDirect>,
            .steps = one_step,
            .has_single_blocks = true,
            .has_fan_in = true};
}

}  // namespace tutti::algo
