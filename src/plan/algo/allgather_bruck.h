// SPDX-License-Identifier: BSD-3-Clause
// Allgather and allgatherv on a circulant graph: ceil(log2 p) rounds for any p, a message a rank
// and round.
//
// Source: Bruck, Ho, Kipnis, Upfal, Weathersby 1997, "Efficient algorithms for all-to-all
// communications in multiport message-passing systems", doi:10.1109/71.642949, the concatenation
// algorithm for one port. Letters: p ranks (there n), r own rank, q = ceil(log2 p), k the round,
// m = 2^(q - 1), n bytes of a block (there b).
//
// Before round k a rank holds the blocks of r, r + 1, ... r + 2^k - 1, modulo p. It sends them to
// r - 2^k and receives as many from r + 2^k; in the last round only the p - m that are missing.
//
// Differs from the paper: there all blocks are collected in the order r, r + 1, ... and rotated in
// the end. Here only one of two parts is: the first m blocks, or those of the last round. The other
// one has no end of the output inside, so it is received where it belongs. (Writing all of them
// there would take two messages in each round whose blocks go over the end: short blocks, for which
// this is, are copied for less than a message's start-up.)
//
// Example, p = 5, q = 3, what rank 3 holds:  3;  3 4;  3 4 0 1;  3 4 0 1 2
//   it sends to and receives from            2, 4;  1, 0;  4, 2 (one block)
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  what a round sends stands in one piece: in the first m blocks, whichever buffer has them
//   I2  what is copied to its place was received in an earlier round, and nobody reads that place
#pragma once

#include "plan/algo/algorithms.h"

namespace tutti::algo {

class AllgatherBruck final : public Program {
  public:
    AllgatherBruck(const Shape& shape, Rank rank)
        : shape_(shape),
          p_(shape.ranks),
          r_(rank),
          q_(ceil_log2(p_)),
          m_(q_ == 0 ? 1 : uint64_t{1} << (q_ - 1)) {}

    static constexpr std::string_view kName = "bruck";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0};
        // What the last round brings over the end is copied behind it.
        return {1, 1, std::max<uint64_t>(1, q_ + (is_last_over_end() ? 1 : 0)), scratch_bytes()};
    }
    void read(uint64_t, uint64_t k, sched::Round& out) const override {
        out.clear();
        if (k < q_) exchange(k, out);
        if (k == 0) {
            out.add(sched::copy(output(0, 1), own()));
            if (is_first_over_end()) out.add(sched::copy(held(0, 1), own()));
        }
        // The first m blocks are there when round q - 2 is over.
        if (k + 1 == q_ && is_first_over_end()) {
            turn(
                1, m_, [&](uint64_t from, uint64_t to) { return held(from, to); }, out);
        }
        if (k == q_ && is_last_over_end()) {
            turn(
                m_, p_, [&](uint64_t from, uint64_t to) { return last(from, to); }, out);
        }
    }

    // Bytes of the blocks r + from, ... r + to - 1.
    [[nodiscard]] uint64_t bytes_of(uint64_t from, uint64_t to) const { return at(to) - at(from); }
    [[nodiscard]] uint64_t longest_message() const {
        return std::max(bytes_of(0, m_ / 2), bytes_of(0, p_ - m_));
    }
    [[nodiscard]] uint64_t scratch_bytes() const {
        if (is_first_over_end()) return align_up(bytes_of(0, m_));
        return is_last_over_end() ? align_up(bytes_of(m_, p_)) : 0;
    }

  private:
    // Where block r + i begins if block r begins at 0.
    [[nodiscard]] uint64_t at(uint64_t i) const {
        const uint64_t own = shape_.block_offset(r_);
        if (r_ + i <= p_) return shape_.block_offset(static_cast<Rank>(r_ + i)) - own;
        return shape_.all_blocks_bytes() - own +
               shape_.block_offset(static_cast<Rank>(r_ + i - p_));
    }
    // The first m blocks have the end of the output inside, or the others have; not both.
    [[nodiscard]] bool is_first_over_end() const { return r_ + m_ > p_; }
    [[nodiscard]] bool is_last_over_end() const { return r_ > 0 && r_ + m_ < p_; }

    [[nodiscard]] sched::Block own() const { return sched::input(0, bytes_of(0, 1)); }
    // Blocks r + from, ... in their places; they have no end inside.
    [[nodiscard]] sched::Block output(uint64_t from, uint64_t to) const {
        const auto first = static_cast<Rank>((r_ + from) % p_);
        return sched::output(shape_.block_offset(first), bytes_of(from, to));
    }
    // Those of the first m, where they are received.
    [[nodiscard]] sched::Block held(uint64_t from, uint64_t to) const {
        if (!is_first_over_end()) return output(from, to);
        return sched::scratch(at(from), bytes_of(from, to));
    }
    // Those of the last round.
    [[nodiscard]] sched::Block last(uint64_t from, uint64_t to) const {
        if (!is_last_over_end()) return output(from, to);
        return sched::scratch(at(from) - at(m_), bytes_of(from, to));
    }

    void exchange(uint64_t k, sched::Round& out) const {
        const uint64_t distance = uint64_t{1} << k;
        const bool is_last = k + 1 == q_;
        const uint64_t count = is_last ? p_ - m_ : distance;
        const auto to = static_cast<Rank>((r_ + p_ - distance) % p_);
        const auto from = static_cast<Rank>((r_ + distance) % p_);
        const auto message = static_cast<uint32_t>(k);
        out.add(sched::recv(from, message,
                            is_last ? last(m_, p_) : held(distance, distance + count),
                            sched::kAfterNone));
        // The first round sends what is still to be copied; the second one waits for that copy too.
        const uint64_t copied = k == 1 ? sched::after_op(is_first_over_end() ? 3 : 2) : 0;
        out.add(
            sched::send(to, message, k == 0 ? own() : held(0, count), sched::after_op(0) | copied));
    }

    // Blocks r + from, ... go to their places: those up to the end, and those from the start.
    template <class Where>
    void turn(uint64_t from, uint64_t to, Where where, sched::Round& out) const {
        const uint64_t end = std::clamp<uint64_t>(p_ - r_, from, to);
        const uint64_t after = sched::after_op(0);
        if (end > from) out.add(sched::copy(output(from, end), where(from, end), after));
        if (to > end) out.add(sched::copy(output(end, to), where(end, to), after));
    }

    Shape shape_;
    uint64_t p_;
    Rank r_;
    uint32_t q_;
    uint64_t m_;
};

// The most over all ranks, which differ only where nodes or lengths do.
template <class Bytes>
uint64_t most_of_bruck(const Shape& shape, Bytes bytes) {
    uint64_t result = 0;
    for (Rank r = 0; r < shape.ranks; ++r) {
        result = std::max(result, bytes(AllgatherBruck(shape, r)));
    }
    return result;
}

inline Algorithm allgather_bruck_of(tutti_collective collective) {
    return {.name = AllgatherBruck::kName,
            .collective = collective,
            .summary = "all blocks held so far, around a circle at doubling distances",
            .obstacle = [](const Shape& shape) -> std::string_view {
                const uint64_t longest = most_of_bruck(
                    shape, [](const AllgatherBruck& one) { return one.longest_message(); });
                return longest > sched::kBlockBytesMax ? kTooLong : std::string_view();
            },
            .make = make<AllgatherBruck>,
            .scratch_bytes = [](const Shape& shape, const Tuning&) -> uint64_t {
                return most_of_bruck(shape,
                                     [](const AllgatherBruck& one) { return one.scratch_bytes(); });
            },
            .reaches_far = true};
}

}  // namespace tutti::algo
