// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/circulant.h"

#include <algorithm>
#include <bit>

namespace tutti::algo {
namespace {

// The blocks that come to one participant in a phase. It is looked for one lap behind the root, at
// p + d, so that the root itself is one that blocks come from: then it is the base block.
class Search {
  public:
    Search(const CirculantSkips& skips, Rank d)
        : skips_(skips),
          q_(skips.levels()),
          target_(uint64_t{skips.ranks()} + d),
          base_(skips.base_block(d)),
          unused_((uint64_t{2} << q_) - 1 - (uint64_t{1} << base_)),
          last_(2 * uint64_t{skips.ranks()}) {
        go_on(0, q_);
        TUTTI_ASSERT(k_ == q_, "each round brings a block");
    }

    [[nodiscard]] const std::array<int8_t, 32>& found() const { return found_; }

  private:
    // Paths that begin by one to `at` and go on by this skip or shorter ones. Those that end
    // farthest, and not behind where the last block came from, are tried first. O(log p) in all.
    void go_on(uint64_t at, uint32_t longest) {
        uint64_t tried = (uint64_t{2} << longest) - 1;
        while (k_ < q_ && (tried & unused_) != 0) {
            const auto e = static_cast<uint32_t>(std::bit_width(tried & unused_)) - 1;
            tried = (uint64_t{1} << e) - 1;
            const uint64_t next = at + skips_[e];
            if (next > target_ - skips_[k_] || next >= last_) continue;
            if (next <= target_ - skips_[k_ + 1]) go_on(next, e);
            if (k_ == q_ || at > target_ - skips_[k_ + 1]) return;
            take(e, next);
        }
    }

    void take(uint32_t e, uint64_t from) {
        const uint32_t block = e == q_ ? base_ : e;
        found_[k_++] = static_cast<int8_t>(static_cast<int>(block) - (e == q_ ? 0 : int(q_)));
        unused_ &= ~(uint64_t{1} << e);
        last_ = from;
    }

    const CirculantSkips& skips_;
    uint32_t q_;
    uint64_t target_;
    uint32_t base_;
    uint64_t unused_;  // by block, q being the root itself
    uint64_t last_;
    uint32_t k_ = 0;
    std::array<int8_t, 32> found_{};
};

// floor(sqrt(value)).
uint64_t root_of(uint64_t value) {
    uint64_t low = 0;
    for (uint64_t bit = uint64_t{1} << 31; bit != 0; bit /= 2) {
        if ((low + bit) * (low + bit) <= value) low += bit;
    }
    return low;
}

}  // namespace

CirculantSkips::CirculantSkips(Rank p) : q_(ceil_log2(p)) {
    skip_[q_] = p;
    for (uint32_t k = q_; k-- > 0;) skip_[k] = (skip_[k + 1] + 1) / 2;
}

uint32_t CirculantSkips::base_block(Rank d) const {
    uint32_t base = q_;
    uint64_t left = d;
    for (uint32_t k = q_; k-- > 0;) {
        if (skip_[k] > left) continue;
        left -= skip_[k];
        base = k;
    }
    return base;
}

CirculantPhase::CirculantPhase(const CirculantSkips& skips, Rank d) {
    if (d != 0) received = Search(skips, d).found();
    for (uint32_t k = 0; k < skips.levels(); ++k) {
        const auto next = static_cast<Rank>((d + skips[k]) % skips.ranks());
        if (next != 0) sent[k] = Search(skips, next).found()[k];
    }
}

CirculantBlocks::CirculantBlocks(const CirculantSkips& skips, Rank d, uint64_t n)
    : phase_(skips, d),
      q_(skips.levels()),
      never_to_(q_),
      is_root_(d == 0),
      n_(n),
      x_(q_ == 0 ? 0 : (q_ - (n - 1) % q_) % q_) {
    for (uint32_t k = 0; k < q_; ++k) {
        if (d + skips[k] == skips.ranks()) never_to_ = k;
    }
}

// What goes beyond the last block is that one once more: to each it comes once.
std::optional<uint64_t> CirculantBlocks::block_of(int8_t relative, uint64_t round) const {
    if (round < begin() || round >= end()) return {};
    const int64_t block =
        static_cast<int64_t>(round / q_ * q_) + relative - static_cast<int64_t>(x_);
    if (block < 0) return {};
    return std::min(static_cast<uint64_t>(block), n_ - 1);
}

std::optional<uint64_t> CirculantBlocks::received(uint64_t round) const {
    if (is_root_) return {};
    return block_of(phase_.received[round % q_], round);
}

std::optional<uint64_t> CirculantBlocks::sent(uint64_t round) const {
    if (round % q_ == never_to_) return {};
    return block_of(phase_.sent[round % q_], round);
}

// A block is sent in the phase of its number and the one behind.
bool CirculantBlocks::sends_later(uint64_t round, uint64_t block) const {
    const uint64_t until = std::min(end(), round + 2 * uint64_t{q_});
    for (uint64_t later = round + 1; later < until; ++later) {
        if (sent(later) == block) return true;
    }
    return false;
}

CirculantCut::CirculantCut(uint64_t bytes, uint32_t element_bytes, const CirculantSkips& skips,
                           const Tuning& tuning)
    : bytes_(bytes) {
    constexpr uint64_t kStartUpBytes = uint64_t{16} << 10;
    const uint32_t q = skips.levels();
    uint64_t wanted = tuning.segment_bytes;
    if (wanted == 0) wanted = q < 2 ? bytes : root_of(bytes / (q - 1) * kStartUpBytes);
    wanted = std::clamp(wanted, uint64_t{1}, sched::kBlockBytesMax);
    // As many as that, of elements that differ by few.
    const uint64_t elements = (bytes + element_bytes - 1) / element_bytes;
    const uint64_t n = std::min((bytes + wanted - 1) / wanted, elements);
    block_bytes_ = (elements + n - 1) / n * element_bytes;
}

uint64_t circulant_steps(const Shape& shape, const Tuning& tuning) {
    if (shape.ranks == 1 || shape.bytes == 0) return 0;
    const CirculantSkips skips(shape.ranks);
    return CirculantCut(shape.bytes, shape.element_bytes, skips, tuning).blocks() - 1 +
           skips.levels();
}

}  // namespace tutti::algo
