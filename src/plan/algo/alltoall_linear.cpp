// SPDX-License-Identifier: BSD-3-Clause
// Alltoall in which every rank sends each block straight to the rank that it is for, a bounded
// number of them at a time.
//
// Source: Thakur, Rabenseifner, Gropp 2005, "Optimization of collective communication operations in
// MPICH", doi:10.1177/1094342005051521, section "All-to-all", messages of medium size. Letters: p
// ranks, r own rank, n bytes of a block, f messages a round each way, i the distance between two
// ranks.
//
// Differs from the paper: there all messages are posted at once, here f of them.
//
// At distance i, r sends to r + i and receives from r - i, modulo p. So no two ranks send to one
// rank at the same distance: a receiver's link is shared only by ranks that are ahead or behind.
// Every rank sends and receives p - 1 blocks, the least, and its own one is copied.
//
// Example, p = 5, f = 2, what rank 3 does:
//   round 0: copy own, recv 2, recv 1, send 4, send 0;  round 1: recv 0, recv 4, send 1, send 2
//
// Tuning::fan_in is f (otherwise 31): two rounds are open at a time, so at most 2 f messages are
// under way each way. Blocks longer than Tuning::segment_bytes (otherwise 1 GiB) go in pieces: the
// first pieces of all blocks, then the second ones.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  no operation depends on another, so that nobody waits for a rank that is late but for its
//       own blocks, and those of the two rounds
//   I2  a round has at most kRoundOpsMax operations, however large fan_in is
#include "plan/algo/alltoall_pieces.h"

namespace tutti::algo {
namespace {

// A send and a receive for each distance, and the copy.
constexpr uint32_t kAtOnce = (sched::kRoundOpsMax - 1) / 2;

uint32_t at_once(const Tuning& tuning) {
    return std::min(tuning.fan_in == 0 ? kAtOnce : tuning.fan_in, kAtOnce);
}
uint64_t rounds_of_piece(uint64_t p, uint64_t f) { return (p - 1 + f - 1) / f; }

class AlltoallLinear final : public Program {
  public:
    AlltoallLinear(const Shape& shape, Rank rank, const Tuning& tuning)
        : n_(shape.bytes),
          p_(shape.ranks),
          r_(rank),
          f_(at_once(tuning)),
          pieces_(shape, rank, tuning) {}

    static constexpr std::string_view kName = "linear";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        return {1, 1, std::max<uint64_t>(1, pieces_.count() * rounds_of_piece(p_, f_)), 0};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (round == 0) out.add(pieces_.copy_own());
        if (p_ == 1) return;
        const uint64_t piece = round / rounds_of_piece(p_, f_);
        const uint64_t first = 1 + round % rounds_of_piece(p_, f_) * f_;
        const uint64_t end = std::min<uint64_t>(first + f_, p_);
        const auto message = static_cast<uint32_t>(piece);
        for (uint64_t i = first; i < end; ++i) {
            const auto from = static_cast<Rank>((r_ + p_ - i) % p_);
            const Stretch part = pieces_.piece(from, piece);
            if (part.bytes == 0) continue;
            out.add(sched::recv(from, message, sched::output(part.offset, part.bytes),
                                sched::kAfterNone));
        }
        for (uint64_t i = first; i < end; ++i) {
            const auto to = static_cast<Rank>((r_ + i) % p_);
            const Stretch part = pieces_.piece(to, piece);
            if (part.bytes == 0) continue;
            out.add(
                sched::send(to, message, sched::input(part.offset, part.bytes), sched::kAfterNone));
        }
    }

  private:
    uint64_t n_;
    uint64_t p_;
    Rank r_;
    uint32_t f_;
    AlltoallPieces pieces_;
};

}  // namespace

Algorithm alltoall_linear() {
    return {.name = AlltoallLinear::kName,
            .collective = TUTTI_ALLTOALL,
            .summary = "every block straight to its rank, some at a time",
            .make = make<AlltoallLinear>,
            .steps = [](const Shape& shape, const Tuning& tuning) -> uint64_t {
                const uint64_t rounds = rounds_of_piece(shape.ranks, at_once(tuning));
                return std::max<uint64_t>((rounds + 1) / 2, 1);  // two are open at a time
            },
            .has_single_blocks = true,
            .has_fan_in = true,
            .has_pieces = true};
}

}  // namespace tutti::algo
