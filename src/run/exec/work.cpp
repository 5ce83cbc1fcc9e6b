// SPDX-License-Identifier: BSD-3-Clause
// Copies and folds.
#include <algorithm>
#include <cstring>

#include "run/exec/combine.h"
#include "run/exec/state.h"

namespace tutti::exec {
namespace {

using sched::Operation;

// Local work (copies, folds) of one step: 10 to 100 us, so that a waiting neighbour's message or
// the node's next chunk does not lie about for long.
constexpr size_t kStepBytes = 256 * 1024;

}  // namespace

// Does the next piece and gives its bytes.
uint64_t Executor::State::work_piece(Ref ref, uint64_t bytes_max) {
    const Operation& operation = operation_of(ref);
    uint64_t& from = task_of(ref).worked_bytes;
    uint64_t bytes = operation.to.bytes - from;
    if (bytes == 0) return 0;
    std::byte* to = at(ref, operation.to) + from;
    const std::byte* left = at(ref, operation.left) + from;
    if (sched::is_copy(operation)) {
        if (to == left) {
            from = operation.to.bytes;
            return 0;
        }
        bytes = std::min(bytes, bytes_max);
        std::memcpy(to, left, bytes);
        context.totals.copied_bytes += bytes;
    } else {
        const node::Reducer& reducer = context.buffers.reducer();
        // A user's operator may cost much to call, so it gets the whole vector where it can.
        const bool is_user = reducer.kernel == nullptr;
        const uint64_t limit = is_user ? (to == left ? kUserBytes : bytes) : bytes_max;
        const uint64_t element = reducer.element_bytes;
        bytes = std::min(bytes, std::max(limit / element, uint64_t{1}) * element);
        context.buffers.fold(to, left, at(ref, operation.right) + from, bytes);
        context.totals.reduced_bytes += bytes;
    }
    from += bytes;
    return bytes;
}

bool Executor::State::step_work() {
    if (work.is_empty()) return false;
    uint64_t left = kStepBytes;
    while (left > 0 && !work.is_empty()) {
        const Ref ref = work.front();
        const uint64_t bytes = work_piece(ref, left);
        left -= std::min(left, bytes);
        if (task_of(ref).worked_bytes < operation_of(ref).to.bytes) continue;
        work.pop();
        complete(ref);
    }
    return true;
}

}  // namespace tutti::exec
