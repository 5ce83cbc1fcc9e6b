// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/watches.h"

#include <cstdio>
#include <cstring>
#include <string>

#include "mpi/front.h"

namespace tutti::mpi {

namespace {

void add_one(std::atomic<uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

// Of other mistakes a team hears by the same status, and says something else.
bool is_mismatch(const CommState& state, tutti_status status) {
    constexpr const char* kBegins = "mismatch on ";
    return status == TUTTI_ERR_MISMATCH &&
           strncmp(tutti_team_message(state.team), kBegins, strlen(kBegins)) == 0;
}

}  // namespace

// Ranks compare a call before anything else of it happens. A team that has broken down compares
// nothing any more; of the call in which it does, nobody knows how far all have come.
void note_compared(const CommState& state, tutti_status status) {
    if (!front.asked.check || state.rank != 0) return;
    const bool is_different = is_mismatch(state, status);
    const bool is_alike =
        status == TUTTI_OK || status == TUTTI_HOST || status == TUTTI_ERR_ALGORITHM;
    if (is_different || is_alike) add_one(front.counts.watched.compared);
    if (is_different) add_one(front.counts.watched.different);
}

void note_watched(const CommState& state, tutti_status status, uint64_t nanoseconds) {
    note_compared(state, status);
    if (front.asked.stall_s == 0 || status == TUTTI_HOST) return;
    WatchCounters& watched = front.counts.watched;
    if (state.rank == 0) add_one(watched.calls);
    if (static_cast<double>(nanoseconds) * 1e-9 >= front.asked.stall_s) add_one(watched.stalls);
    uint64_t longest = watched.longest_ns.load(std::memory_order_relaxed);
    while (longest < nanoseconds && !watched.longest_ns.compare_exchange_weak(
                                        longest, nanoseconds, std::memory_order_relaxed)) {
    }
}

WatchTotals gather_watches() {
    const VerifyCounters& v = front.verify.counters;
    const WatchCounters& w = front.counts.watched;
    const uint64_t mine[] = {w.compared, w.different, w.calls,     w.stalls,  v.calls,
                             v.equal,    v.different, v.undecided, v.skipped, v.failed};
    constexpr int kCount = sizeof mine / sizeof *mine;
    uint64_t all[kCount] = {};
    uint64_t longest_ns = 0;
    // With fault tolerance all calls are the host's, and ranks may be gone.
    if (!front.host.has_fault_tolerance) {
        const abi::Comm comm =
            front.world.size > 1 ? front.own.p2p_comm : front.host.handles.comm_self;
        const abi::Datatype type = front.host.handles.type[abi::kTypeUint64];
        const uint64_t own_ns = w.longest_ns;
        front.host.reduce(mine, all, kCount, type, front.host.handles.op[abi::kOpSum], 0, comm);
        front.host.reduce(&own_ns, &longest_ns, 1, type, front.host.handles.op[abi::kOpMax], 0,
                          comm);
    }
    WatchTotals totals;
    totals.ranks = static_cast<uint32_t>(front.world.size);
    totals.check = {front.asked.check, all[0], all[1]};
    totals.stall = {front.asked.stall_s, all[2], all[3], longest_ns};
    totals.verify = {
        front.verify.share, front.verify.seed, all[4], all[5], all[6], all[7], all[8], all[9]};
    return totals;
}

void tell_watches(const WatchTotals& totals) {
    if (front.world.rank != 0) return;
    const std::string text = watch_text(totals);
    fwrite(text.data(), 1, text.size(), stderr);
    fflush(stderr);
}

}  // namespace tutti::mpi
