// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/pair_fold.h"

namespace tutti::algo {

PairFold::PairFold(const Shape& shape, Rank rank, Rank root, sched::Buffer folds)
    : pairs_(shape.ranks, rank, root),
      steps_(floor_log2(shape.ranks)),
      n_(shape.bytes),
      folds_(folds) {
    const uint64_t element = shape.element_bytes;
    uint64_t begin = 0;
    uint64_t end = n_ / element;
    for (uint32_t m = 0; m < steps_; ++m) {
        const uint64_t middle = begin + (end - begin + 1) / 2;
        const Stretch first = {begin * element, (middle - begin) * element};
        const Stretch second = {middle * element, (end - middle) * element};
        const bool is_first = (pairs_.v >> m & 1) == 0;
        kept_[m] = is_first ? first : second;
        given_[m] = is_first ? second : first;
        (is_first ? end : begin) = middle;
    }
}

sched::Block PairFold::folded(const Stretch& stretch) const {
    if (folds_ == sched::Buffer::kOutput) return sched::output(stretch.offset, stretch.bytes);
    // Behind the landing area.
    const uint64_t begin = align_up(held().bytes);
    return sched::scratch(begin + (stretch.offset - held().offset), stretch.bytes);
}

uint64_t PairFold::scratch_bytes() const {
    if (pairs_.is_outside) return 0;
    return align_up(held().bytes) * (folds_ == sched::Buffer::kOutput ? 1 : 2);
}

uint64_t PairFold::scratch_bytes_max(const Shape& shape) {
    if (!std::has_single_bit(shape.ranks)) return align_up(shape.bytes);
    const uint64_t elements = shape.bytes / shape.element_bytes;
    return align_up((elements + 1) / 2 * shape.element_bytes);
}

void PairFold::read(uint64_t round, sched::Round& out) const {
    if (pairs_.is_outside) {
        out.add(sched::send(pairs_.neighbour, 0, sched::input(0, n_)));
    } else if (round < guests()) {
        serve(out);
    } else {
        halve(static_cast<uint32_t>(round - guests()), out);
    }
}

void PairFold::serve(sched::Round& out) const {
    const Stretch whole = {0, n_};
    const sched::Block own = sched::input(0, n_);
    const sched::Block landing = sched::scratch(0, n_);
    const Rank guest = pairs_.neighbour;
    out.add(guest % 2 == 1 ? sched::recv_reduce_right(guest, 0, folded(whole), own, landing)
                           : sched::recv_reduce_left(guest, 0, folded(whole), landing, own));
}

// Everything waits for the fold of the round before.
void PairFold::halve(uint32_t m, sched::Round& out) const {
    const bool is_own = m == 0 && !pairs_.has_guest;
    const auto partial = [&](const Stretch& stretch) {
        return is_own ? sched::input(stretch.offset, stretch.bytes) : folded(stretch);
    };
    const Stretch& kept = kept_[m];
    const Stretch& given = given_[m];
    const sched::Block landing = sched::scratch(0, kept.bytes);
    const bool is_lower = (pairs_.v >> m & 1) == 0;
    const uint64_t after = sched::after_op(0);
    if (kept.bytes > 0) {
        const sched::Block to = folded(kept);
        out.add(is_lower ? sched::recv_reduce_right(peer(m), 0, to, partial(kept), landing, after)
                         : sched::recv_reduce_left(peer(m), 0, to, landing, partial(kept), after));
    }
    if (given.bytes > 0) out.add(sched::send(peer(m), 0, partial(given), after));
}

}  // namespace tutti::algo
