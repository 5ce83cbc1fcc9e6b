// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/ring_fold.h"

namespace tutti::algo {

void add_ring_fold(const Shape& shape, Rank rank, uint64_t s, sched::Round& out) {
    const uint64_t p = shape.ranks;
    const Stretch coming = piece(shape, (rank + 2 * p - s - 2) % p);
    const Stretch going = piece(shape, (rank + 2 * p - s - 1) % p);
    const auto message = static_cast<uint32_t>(s);
    if (coming.bytes > 0) {
        const uint64_t area = s % 2 == 0 ? 0 : align_up(piece(shape, 0).bytes);
        out.add(sched::recv_reduce_left(
            static_cast<Rank>((rank + p - 1) % p), message,
            sched::output(coming.offset, coming.bytes), sched::scratch(area, coming.bytes),
            sched::input(coming.offset, coming.bytes), sched::kAfterNone));
    }
    if (going.bytes == 0) return;
    const auto source = s == 0 ? sched::Buffer::kInput : sched::Buffer::kOutput;
    out.add(sched::send(static_cast<Rank>((rank + 1) % p), message,
                        {source, going.offset, going.bytes},
                        s == 0 ? sched::kAfterNone : sched::after_op(0)));
}

}  // namespace tutti::algo
