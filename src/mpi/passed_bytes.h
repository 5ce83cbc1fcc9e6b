// SPDX-License-Identifier: BSD-3-Clause
// How many bytes a collective that Tutti does not take over moves, as far as this rank knows: for
// the report. Of the arguments only those are read that are significant on this rank. On all ranks
// the same, but in gatherv, scatterv, alltoallv and alltoallw (depends_on_rank()).
#pragma once

#include <cstdint>

#include "mpi/comm_state.h"
#include "mpi/host_calls.h"
#include "mpi/report.h"

namespace tutti::mpi {

// How many bytes the call moves, from the arguments that it has in MPI; once for int counts and
// once for large ones. What may be wrong counts as none: it is the host that judges it.
template <Kind kKind>
struct PassedBytes;

namespace passed {

inline constexpr uint32_t kNone = UINT32_MAX;

// Elements of one datatype, and all that are counted in an array, but for one place of it; a
// negative count is none.
uint64_t bytes(Count count, Datatype type);
template <class Number>
uint64_t sum(const Number* counts, uint32_t ranks, Datatype type, uint32_t but = kNone) {
    uint64_t elements = 0;
    for (uint32_t i = 0; counts != nullptr && i < ranks; ++i) {
        if (i != but && counts[i] > 0) elements += static_cast<uint64_t>(counts[i]);
    }
    return bytes(static_cast<Count>(elements), type);
}
// The datatype at this place of a program's array.
Datatype type_at(const void* types, uint32_t index);
// Ranks that this one exchanges blocks with.
uint32_t peers(const CommState& state);
bool is_in_place(const void* buffer);
bool is_root(const CommState& state, int root);
// A root's own block that stays in place does not move, and its count may hold anything.
inline uint32_t unmoved(const CommState& state, const void* own) {
    return is_in_place(own) ? state.rank : kNone;
}
// In a call with a root between groups, a rank may have no part.
bool has_part(const CommState& state, int root);

}  // namespace passed

template <>
struct PassedBytes<kAlltoall> {
    const CommState& state;
    uint64_t operator()(const void* send, Count send_count, Datatype send_type, const void*,
                        Count recv_count, Datatype recv_type, Comm) const {
        const bool is_in_place = passed::is_in_place(send);
        return passed::peers(state) * (is_in_place ? passed::bytes(recv_count, recv_type)
                                                   : passed::bytes(send_count, send_type));
    }
};

template <>
struct PassedBytes<kAllgatherv> {
    const CommState& state;
    template <class Number, class Offset>
    uint64_t operator()(const void*, Number, Datatype, const void*, const Number* recv_counts,
                        const Offset*, Datatype recv_type, Comm) const {
        return passed::sum(recv_counts, passed::peers(state), recv_type);
    }
};

template <>
struct PassedBytes<kGatherv> {
    const CommState& state;
    template <class Number, class Offset>
    uint64_t operator()(const void* send, Number send_count, Datatype send_type, const void*,
                        const Number* recv_counts, const Offset*, Datatype recv_type, int root,
                        Comm) const {
        if (passed::is_root(state, root)) {
            return passed::sum(recv_counts, passed::peers(state), recv_type,
                               passed::unmoved(state, send));
        }
        return passed::has_part(state, root) ? passed::bytes(send_count, send_type) : 0;
    }
};

template <>
struct PassedBytes<kScatterv> {
    const CommState& state;
    template <class Number, class Offset>
    uint64_t operator()(const void*, const Number* send_counts, const Offset*, Datatype send_type,
                        const void* recv, Number recv_count, Datatype recv_type, int root,
                        Comm) const {
        if (passed::is_root(state, root)) {
            return passed::sum(send_counts, passed::peers(state), send_type,
                               passed::unmoved(state, recv));
        }
        return passed::has_part(state, root) ? passed::bytes(recv_count, recv_type) : 0;
    }
};

template <>
struct PassedBytes<kAlltoallv> {
    const CommState& state;
    // In place a rank sends as much as it receives.
    template <class Number, class Offset>
    uint64_t operator()(const void* send, const Number* send_counts, const Offset*,
                        Datatype send_type, const void*, const Number* recv_counts, const Offset*,
                        Datatype recv_type, Comm) const {
        const uint32_t ranks = passed::peers(state);
        return passed::is_in_place(send) ? passed::sum(recv_counts, ranks, recv_type)
                                         : passed::sum(send_counts, ranks, send_type);
    }
};

template <>
struct PassedBytes<kAlltoallw> {
    const CommState& state;
    template <class Number, class Offset>
    uint64_t operator()(const void* send, const Number* send_counts, const Offset*,
                        const void* send_types, const void*, const Number* recv_counts,
                        const Offset*, const void* recv_types, Comm) const {
        const bool is_in_place = passed::is_in_place(send);
        const Number* counts = is_in_place ? recv_counts : send_counts;
        const void* types = is_in_place ? recv_types : send_types;
        if (counts == nullptr || types == nullptr) return 0;
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < passed::peers(state); ++i) {
            if (counts[i] > 0) bytes += passed::bytes(counts[i], passed::type_at(types, i));
        }
        return bytes;
    }
};

template <>
struct PassedBytes<kReduceScatter> {
    const CommState& state;
    // A block for each rank of the own group, between groups too.
    template <class Number>
    uint64_t operator()(const void*, const void*, const Number* recv_counts, Datatype type, Op,
                        Comm) const {
        return passed::sum(recv_counts, state.size, type);
    }
};

template <>
struct PassedBytes<kScan> {
    const CommState& state;
    uint64_t operator()(const void*, const void*, Count count, Datatype type, Op, Comm) const {
        return passed::bytes(count, type);
    }
};

template <>
struct PassedBytes<kExscan> {
    const CommState& state;
    uint64_t operator()(const void*, const void*, Count count, Datatype type, Op, Comm) const {
        return passed::bytes(count, type);
    }
};

}  // namespace tutti::mpi
