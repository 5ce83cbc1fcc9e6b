// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by recursive halving (reduce-scatter), then recursive doubling (allgather).
//
// Source: Rabenseifner 2004, "Optimization of collective reduction operations",
// doi:10.1007/978-3-540-24685-5_1 (recursive halving and doubling); powers of two and guests as in
// algo/pairs.h. Letters:
//   p ranks, p' the largest power of two up to p, q = log2 p', v a rank's number among these p',
//   n bytes, m the step.
// Differs from the paper: step m pairs v with v xor 2^m, the nearest first, so that the longest
// messages stay among near ranks, and partial results cover intervals of ranks: the order of
// ranks is kept and any operator will do. A guest hands over its whole vector, not halves.
//
// Reduce-scatter: the stretch that a pair shares is cut in two; the one whose bit m of v is 0 folds
// the first half, its partner the second; each sends the half that it does not fold. After q steps
// v holds the whole result of its stretch. Allgather: the same pairs in reverse exchange what they
// have. log2 p' steps each way; 2 (p' - 1) / p' n bytes a rank, and n each way for guests.
//
// Example, p = 4, elements 0-7:
//   step 0: 0<->1, 2<->3: v = 0, 2 keep 0-3; 1, 3 keep 4-7
//   step 1: 0<->2, 1<->3: v = 0 keeps 0-1, 2 keeps 2-3, 1 keeps 4-5, 3 keeps 6-7
//   step 1: 0<->2, 1<->3 exchange results;   step 0: 0<->1, 2<->3 exchange results
//
// Invariants (checked in check/prove.cpp and the property test):
//   I1  before step m both of a pair share their stretch and hold folds of 2^m neighbouring numbers
//   I2  what is sent in a step and what is folded do not overlap
//   I3  empty stretches (fewer elements than ranks) are not sent
#include <array>

#include "algo/algorithms.h"
#include "algo/pairs.h"

namespace tutti::algo {
namespace {

class AllreduceRabenseifner final : public Program {
  public:
    AllreduceRabenseifner(const Shape& shape, Rank rank)
        : pairs_(shape.ranks, rank),
          p_(shape.ranks),
          rank_(rank),
          q_(floor_log2(shape.ranks)),
          n_(shape.bytes),
          guests_(pairs_.has_guest ? 1 : 0) {
        uint64_t begin = 0;
        uint64_t end = n_ / shape.element_bytes;
        for (uint32_t m = 0; m < q_; ++m) {
            const uint64_t middle = begin + (end - begin + 1) / 2;
            const bool is_first = (pairs_.v >> m & 1) == 0;
            kept_[m] = stretch(is_first ? begin : middle, is_first ? middle : end, shape);
            given_[m] = stretch(is_first ? middle : begin, is_first ? end : middle, shape);
            (is_first ? end : begin) = middle;
        }
    }

    static constexpr std::string_view kName = "rabenseifner";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        if (p_ == 1) return {1, 1, 1, 0};
        if (pairs_.is_outside) return {1, 1, 2, 0};
        const uint64_t landing = guests_ > 0 ? n_ : kept_[0].bytes;
        return {1, 1, 2 * q_ + 2 * guests_, align_up(landing)};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        const sched::Block own = sched::input(0, n_);
        const sched::Block result = sched::output(0, n_);
        const uint64_t last = 2 * q_ + 2 * guests_ - 1;
        if (p_ == 1) {
            out.add(sched::copy(result, own));
        } else if (pairs_.is_outside) {
            // In place, the result may come only when the own vector has left.
            out.add(round == 0 ? sched::send(rank_ - 1, 0, own)
                               : sched::recv(rank_ - 1, 0, result));
        } else if (guests_ > 0 && round == 0) {
            out.add(sched::recv_reduce_right(rank_ + 1, 0, result, own, sched::scratch(0, n_)));
        } else if (guests_ > 0 && round == last) {
            out.add(sched::send(rank_ + 1, 0, result));
        } else if (round - guests_ < q_) {
            halve(static_cast<uint32_t>(round - guests_), out);
        } else {
            gather(static_cast<uint32_t>(2 * q_ - 1 - (round - guests_)), out);
        }
    }

  private:
    [[nodiscard]] static Stretch stretch(uint64_t begin, uint64_t end, const Shape& shape) {
        return {begin * shape.element_bytes, (end - begin) * shape.element_bytes};
    }
    [[nodiscard]] Rank peer(uint32_t m) const { return pairs_.rank_of(pairs_.v ^ (Rank{1} << m)); }

    // Step m of the reduce-scatter. Everything waits for the fold of the round before.
    void halve(uint32_t m, sched::Round& out) const {
        const auto source = m == 0 && guests_ == 0 ? sched::Buffer::kInput : sched::Buffer::kOutput;
        const Stretch& kept = kept_[m];
        const Stretch& given = given_[m];
        const sched::Block to = sched::output(kept.offset, kept.bytes);
        const sched::Block own = {source, kept.offset, kept.bytes};
        const sched::Block landing = sched::scratch(0, kept.bytes);
        const bool is_lower = (pairs_.v >> m & 1) == 0;
        const uint64_t after = sched::after_op(0);
        if (kept.bytes > 0) {
            out.add(is_lower ? sched::recv_reduce_right(peer(m), 0, to, own, landing, after)
                             : sched::recv_reduce_left(peer(m), 0, to, landing, own, after));
        }
        if (given.bytes == 0) return;
        out.add(sched::send(peer(m), 0, {source, given.offset, given.bytes}, after));
    }
    // Step m of the allgather: what was given away returns as result. A send waits for what the
    // round before received, which stands first there.
    void gather(uint32_t m, sched::Round& out) const {
        const Stretch& kept = kept_[m];
        const Stretch& given = given_[m];
        if (given.bytes > 0) {
            // The first one's block may still be on its way out.
            out.add(sched::recv(peer(m), 1, sched::output(given.offset, given.bytes),
                                m + 1 == q_ ? sched::kAfterAll : sched::kAfterNone));
        }
        if (kept.bytes == 0) return;
        out.add(
            sched::send(peer(m), 1, sched::output(kept.offset, kept.bytes), sched::after_op(0)));
    }

    Pairs pairs_;
    Rank p_;
    Rank rank_;
    uint32_t q_;
    uint64_t n_;
    uint64_t guests_;
    // By step: the half of the shared stretch that this rank folds, and the other.
    std::array<Stretch, 32> kept_;
    std::array<Stretch, 32> given_;
};

}  // namespace

Algorithm allreduce_rabenseifner() {
    return {.name = AllreduceRabenseifner::kName,
            .collective = TUTTI_ALLREDUCE,
            .summary = "halves between pairs, there and back",
            .make = make<AllreduceRabenseifner>,
            .scratch_bytes = [](const Shape& shape, const Tuning&) -> uint64_t {
                if (shape.ranks == 1) return 0;
                if (!std::has_single_bit(shape.ranks)) return align_up(shape.bytes);
                const uint64_t elements = shape.bytes / shape.element_bytes;
                return align_up((elements + 1) / 2 * shape.element_bytes);
            },
            .steps =
                [](const Shape& shape, const Tuning& tuning) {
                    return pair_steps(shape, tuning) + floor_log2(shape.ranks);
                }};
}

}  // namespace tutti::algo
