// SPDX-License-Identifier: BSD-3-Clause
// Round-optimal broadcast of n blocks on a circulant graph: who has which block in which round.
//
// Source: Träff 2024, "Optimal broadcast schedules in logarithmic time with applications to
// broadcast, all-broadcast, reduction and all-reduction", arXiv:2407.18004; Träff 2022,
// "(Poly)logarithmic time construction of round-optimal n-block broadcast schedules",
// arXiv:2205.10072. Letters: p participants, q = ceil(log2 p), k the round modulo q, d the distance
// from the root (there r), b the base block of d, n blocks, x rounds that are left out.
//
// skip[q] = p and skip[k] = ceil(skip[k + 1] / 2). In a round k each participant sends to the one
// skip[k] behind it, modulo p, and receives from the one skip[k] before it. So all do the same,
// whoever is the root, which takes turns with the blocks: block i leaves it in round i. After q
// rounds, a phase, each participant has received q blocks: those of the phase before but one, and
// the base block of this phase instead. That is the first skip on its path from the root, in which
// skips ascend. All n blocks are everywhere after n - 1 + q rounds, the fewest in which a
// participant sends and receives one block each.
//
// The farther a round's messages go, the more of them there are of few blocks: round k of the first
// phase doubles those who have something. Hence Algorithm::reaches_far.
//
// Which block comes in round k follows from a greedy search through the paths from the root, those
// that end farthest first: it must have been at least skip[k] before the participant, and no other
// round may bring it. What goes out in round k is what comes to the one skip[k] behind, so that is
// searched for each k.
// Differs from the papers: they find what goes out in O(log p), here it takes O(log^2 p).
//
// Example, p = 5, q = 3, skips 1 2 3: what comes and what goes out in rounds 0, 1, 2 of a phase,
// numbered from the phase's first block on; (r) would go to the root, and does not:
//   d          0         1         2         3         4
//   receives             0 -1 -2  -3  1 -1  -2 -3  2  -1 -2  0
//   sends      0  1  2  -3 -3  0  -2 -2  r  -1  r -2   r -1 -1
//
// Invariants (tests/unit/plan/algo/circulant_test.cpp; the papers' conditions):
//   I1  received(k) of d + skip[k] is sent(k) of d
//   I2  d > 0 receives {-1, ..., -q}, without b - q and with b
//   I3  the root sends block k in round k; d > 0 sends what it has received in this phase or, as
//       b - q, in the phase before
//   I4  d = 1 alone receives a new block in round 0, and sends that one in round q - 1
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "plan/algo/algorithms.h"

namespace tutti::algo {

// skip[0] ... skip[q].
class CirculantSkips {
  public:
    explicit CirculantSkips(Rank p);

    [[nodiscard]] Rank ranks() const { return static_cast<Rank>(skip_[q_]); }
    [[nodiscard]] uint32_t levels() const { return q_; }
    [[nodiscard]] uint64_t operator[](uint32_t k) const { return skip_[k]; }
    // Of d; q of the root.
    [[nodiscard]] uint32_t base_block(Rank d) const;

  private:
    uint32_t q_;
    std::array<uint64_t, 33> skip_{};
};

// Of one participant, for any number of blocks: one phase, blocks relative to it.
struct CirculantPhase {
    // O(log^2 p).
    CirculantPhase(const CirculantSkips& skips, Rank d);

    std::array<int8_t, 32> received{};  // not those of the root, which receives nothing
    std::array<int8_t, 32> sent{};      // to the root they are not sent
};

// Of one participant and n > 0 blocks from one root.
//
// Rounds are counted from the beginning of a phase, so that k is the round modulo q for all roots
// at once: they are begin() to end() - 1, and end() is a multiple of q. Nothing happens where there
// is no block.
class CirculantBlocks {
  public:
    CirculantBlocks(const CirculantSkips& skips, Rank d, uint64_t n);

    [[nodiscard]] uint64_t begin() const { return x_; }
    [[nodiscard]] uint64_t end() const { return x_ + n_ - 1 + q_; }
    [[nodiscard]] uint64_t blocks() const { return n_; }
    [[nodiscard]] std::optional<uint64_t> received(uint64_t round) const;
    [[nodiscard]] std::optional<uint64_t> sent(uint64_t round) const;
    // In a round behind this one.
    [[nodiscard]] bool sends_later(uint64_t round, uint64_t block) const;

  private:
    [[nodiscard]] std::optional<uint64_t> block_of(int8_t relative, uint64_t round) const;

    CirculantPhase phase_;
    uint32_t q_;
    uint32_t never_to_;  // k of the message that would go to the root; q where there is none
    bool is_root_;
    uint64_t n_;
    uint64_t x_;
};

// Who is at the other end of a round's messages.
inline Rank circulant_next(const CirculantSkips& skips, Rank rank, uint64_t round) {
    const uint64_t skip = skips[static_cast<uint32_t>(round % skips.levels())];
    return static_cast<Rank>((rank + skip) % skips.ranks());
}
inline Rank circulant_previous(const CirculantSkips& skips, Rank rank, uint64_t round) {
    const uint64_t skip = skips[static_cast<uint32_t>(round % skips.levels())];
    return static_cast<Rank>((rank + skips.ranks() - skip) % skips.ranks());
}

// How so many bytes > 0 are cut, whole elements: by Tuning::segment_bytes, or so that n blocks take
// the least time. (n - 1 + q) (α + β m / n) is least for n = sqrt((q - 1) m β / α). A message's
// start-up α takes as long as some 16 KiB on its way, over Ethernet (10 µs at 10 Gbit/s) and
// InfiniBand (1.3 µs at 100 Gbit/s) alike.
class CirculantCut {
  public:
    CirculantCut(uint64_t bytes, uint32_t element_bytes, const CirculantSkips& skips,
                 const Tuning& tuning);

    [[nodiscard]] uint64_t blocks() const { return (bytes_ + block_bytes_ - 1) / block_bytes_; }
    [[nodiscard]] uint64_t block_bytes() const { return block_bytes_; }
    [[nodiscard]] Stretch operator[](uint64_t i) const {
        return {i * block_bytes_, std::min(block_bytes_, bytes_ - i * block_bytes_)};
    }

  private:
    uint64_t bytes_;
    uint64_t block_bytes_;
};

// n - 1 + q.
uint64_t circulant_steps(const Shape& shape, const Tuning& tuning);

}  // namespace tutti::algo
