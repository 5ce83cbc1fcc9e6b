// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/local_work.h"

#include <algorithm>
#include <cstring>

namespace tutti::exec {

// Does the next piece and gives its bytes.
uint64_t LocalWork::do_piece(Ref ref, uint64_t bytes_max) {
    const sched::Operation& operation = call_.slots.operation_of(ref);
    uint64_t& from = call_.slots.task_of(ref).worked_bytes;
    TUTTI_ASSERT(from <= operation.to.bytes, "no more than there is");
    uint64_t bytes = operation.to.bytes - from;
    if (bytes == 0) return 0;
    std::byte* to = call_.at(ref, operation.to) + from;
    const std::byte* left = call_.at(ref, operation.left) + from;
    if (sched::is_copy(operation)) {
        if (to == left) {
            from = operation.to.bytes;
            return 0;
        }
        bytes = std::min(bytes, bytes_max);
        std::memcpy(to, left, bytes);
        call_.totals.copied_bytes += bytes;
    } else {
        const node::Reducer& reducer = call_.buffers.reducer();
        // A user's operator may cost much to call, so it gets the whole vector where it can.
        const bool is_user = reducer.kernel == nullptr;
        const uint64_t limit = is_user ? (to == left ? kUserBytes : bytes) : bytes_max;
        const uint64_t element = reducer.element_bytes;
        bytes = std::min(bytes, std::max(limit / element, uint64_t{1}) * element);
        call_.buffers.fold(to, left, call_.at(ref, operation.right) + from, bytes);
        call_.totals.reduced_bytes += bytes;
    }
    from += bytes;
    return bytes;
}

std::optional<Ref> LocalWork::step(uint64_t& bytes_left) {
    while (bytes_left > 0 && !is_empty()) {
        const Ref ref = refs_[head_ % refs_.size()];
        bytes_left -= std::min(bytes_left, do_piece(ref, bytes_left));
        const bool is_over =
            call_.slots.task_of(ref).worked_bytes == call_.slots.operation_of(ref).to.bytes;
        if (!is_over) continue;
        ++head_;
        return ref;
    }
    return {};
}

}  // namespace tutti::exec
