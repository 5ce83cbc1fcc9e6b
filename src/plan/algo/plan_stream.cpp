// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/plan_stream.h"

#include "plan/sched/operation_kinds.h"

namespace tutti::algo {
namespace {

// Shorter node blocks of an allgather are handed on all at once at the end: a node bcast costs 0.2
// to 1 us however short it is, about as much as copying this.
constexpr uint64_t kStreamedBlockBytesMin = 8 * 1024;
// Rounds that are looked through when a streamed allgather is planned, at 10 to 30 ns each.
constexpr uint64_t kStreamedRoundsMax = 4096;

}  // namespace

std::optional<Stream> Stream::plan(const Inner& inner, uint64_t bytes, uint32_t nodes) {
    const uint64_t rounds = inner.extent.rounds;
    if (bytes < kStreamedBlockBytesMin * nodes || rounds > kStreamedRoundsMax) return {};
    Stream stream;
    bool is_even = true;
    sched::Round round;
    for (uint64_t k = 0; k < rounds; ++k) {
        stream.before_.push_back(static_cast<uint32_t>(stream.count_));
        inner.program->read(0, k, round);
        uint32_t brought = 0;
        for (const sched::Operation& operation : round) {
            if (!sched::is_recv(operation)) continue;
            if (operation.to.buffer != sched::Buffer::kOutput) return {};
            ++brought;
        }
        // Each may stand beside the operations of any round.
        if (brought + round.size() > sched::kRoundOpsMax / 2) return {};
        is_even = is_even && brought == 1;
        stream.count_ += brought;
    }
    if (!is_even && rounds > sched::kRoundOpsMax) return {};
    if (is_even) stream.before_.clear();
    return stream;
}

}  // namespace tutti::algo
