// SPDX-License-Identifier: BSD-3-Clause
// How many bytes a collective that Tutti does not take over moves, as far as this rank knows: for
// the report. Of the arguments only those are read that are significant on this rank. On all ranks
// the same, but where depends_on_rank(). Those of a non-blocking or persistent one are those of the
// blocking one.
#pragma once

#include <cstdint>

#include "mpi/front.h"
#include "mpi/host_calls.h"
#include "mpi/report.h"
#include "mpi/run_call.h"

namespace tutti::mpi {

// How many bytes the call moves, from the arguments that it has in MPI; once for int counts and
// once for large ones. What may be wrong counts as none: it is the host that judges it.
template <Kind kKind>
struct PassedBytes;

namespace passed {

inline constexpr uint32_t kNone = UINT32_MAX;

// Elements of one datatype; a negative count is none.
inline uint64_t bytes(Count count, Datatype type) { return bytes_of(count, type); }
// The same, but none between groups.
inline uint64_t within(const Members& members, Count count, Datatype type) {
    return members.is_inter ? 0 : bytes(count, type);
}
// All that are counted in an array, or in Numbers, but for one place of it.
template <class Counts>
uint64_t sum(const Counts& counts, uint32_t ranks, Datatype type, uint32_t but = kNone) {
    uint64_t elements = 0;
    for (uint32_t i = 0; counts != nullptr && i < ranks; ++i) {
        if (i != but && counts[i] > 0) elements += static_cast<uint64_t>(counts[i]);
    }
    return bytes(static_cast<Count>(elements), type);
}
// The datatype at this place of a program's array.
Datatype type_at(const void* types, uint32_t index);
bool is_in_place(const void* buffer);
bool is_root(const Members& members, int root);
// A root's own block that stays in place does not move, and its count may hold anything.
inline uint32_t unmoved(const Members& members, const void* own) {
    return is_in_place(own) ? members.rank : kNone;
}
// In a call with a root between groups, a rank may have no part.
bool has_part(const Members& members, int root);

}  // namespace passed

// Between groups it takes more than a rank to know which arguments of these are significant: they
// count as none there.
template <>
struct PassedBytes<kBarrier> {
    const Members& members;
    uint64_t operator()(Comm) const { return 0; }
};

template <>
struct PassedBytes<kBcast> {
    const Members& members;
    uint64_t operator()(const void*, Count count, Datatype type, int, Comm) const {
        return passed::within(members, count, type);
    }
};

template <>
struct PassedBytes<kReduce> {
    const Members& members;
    uint64_t operator()(const void*, const void*, Count count, Datatype type, Op, int, Comm) const {
        return passed::within(members, count, type);
    }
};

template <>
struct PassedBytes<kAllreduce> {
    const Members& members;
    uint64_t operator()(const void*, const void*, Count count, Datatype type, Op, Comm) const {
        return passed::within(members, count, type);
    }
};
template <>
struct PassedBytes<kReduceScatterBlock> : PassedBytes<kAllreduce> {};
template <>
struct PassedBytes<kScan> : PassedBytes<kAllreduce> {};
template <>
struct PassedBytes<kExscan> : PassedBytes<kAllreduce> {};

template <>
struct PassedBytes<kGather> {
    const Members& members;
    uint64_t operator()(const void*, Count send_count, Datatype send_type, const void*,
                        Count recv_count, Datatype recv_type, int root, Comm) const {
        return passed::is_root(members, root) ? passed::within(members, recv_count, recv_type)
                                              : passed::within(members, send_count, send_type);
    }
};

template <>
struct PassedBytes<kScatter> {
    const Members& members;
    uint64_t operator()(const void*, Count send_count, Datatype send_type, const void*,
                        Count recv_count, Datatype recv_type, int root, Comm) const {
        return passed::is_root(members, root) ? passed::within(members, send_count, send_type)
                                              : passed::within(members, recv_count, recv_type);
    }
};

template <>
struct PassedBytes<kAllgather> {
    const Members& members;
    uint64_t operator()(const void*, Count, Datatype, const void*, Count recv_count,
                        Datatype recv_type, Comm) const {
        return passed::within(members, recv_count, recv_type);
    }
};

template <>
struct PassedBytes<kAlltoall> {
    const Members& members;
    uint64_t operator()(const void* send, Count send_count, Datatype send_type, const void*,
                        Count recv_count, Datatype recv_type, Comm) const {
        const bool is_in_place = passed::is_in_place(send);
        return members.peers * (is_in_place ? passed::bytes(recv_count, recv_type)
                                            : passed::bytes(send_count, send_type));
    }
};

template <>
struct PassedBytes<kAllgatherv> {
    const Members& members;
    template <class Number, class Counts, class Offsets>
    uint64_t operator()(const void*, Number, Datatype, const void*, Counts recv_counts, Offsets,
                        Datatype recv_type, Comm) const {
        return passed::sum(recv_counts, members.peers, recv_type);
    }
};

template <>
struct PassedBytes<kGatherv> {
    const Members& members;
    template <class Number, class Counts, class Offsets>
    uint64_t operator()(const void* send, Number send_count, Datatype send_type, const void*,
                        Counts recv_counts, Offsets, Datatype recv_type, int root, Comm) const {
        if (passed::is_root(members, root)) {
            return passed::sum(recv_counts, members.peers, recv_type,
                               passed::unmoved(members, send));
        }
        return passed::has_part(members, root) ? passed::bytes(send_count, send_type) : 0;
    }
};

template <>
struct PassedBytes<kScatterv> {
    const Members& members;
    template <class Number, class Counts, class Offsets>
    uint64_t operator()(const void*, Counts send_counts, Offsets, Datatype send_type,
                        const void* recv, Number recv_count, Datatype recv_type, int root,
                        Comm) const {
        if (passed::is_root(members, root)) {
            return passed::sum(send_counts, members.peers, send_type,
                               passed::unmoved(members, recv));
        }
        return passed::has_part(members, root) ? passed::bytes(recv_count, recv_type) : 0;
    }
};

template <>
struct PassedBytes<kAlltoallv> {
    const Members& members;
    // In place a rank sends as much as it receives.
    template <class Counts, class Offsets>
    uint64_t operator()(const void* send, Counts send_counts, Offsets, Datatype send_type,
                        const void*, Counts recv_counts, Offsets, Datatype recv_type, Comm) const {
        return passed::is_in_place(send) ? passed::sum(recv_counts, members.peers, recv_type)
                                         : passed::sum(send_counts, members.peers, send_type);
    }
};

template <>
struct PassedBytes<kAlltoallw> {
    const Members& members;
    template <class Counts, class Offsets>
    uint64_t operator()(const void* send, Counts send_counts, Offsets, const void* send_types,
                        const void*, Counts recv_counts, Offsets, const void* recv_types,
                        Comm) const {
        const bool is_in_place = passed::is_in_place(send);
        const Counts counts = is_in_place ? recv_counts : send_counts;
        const void* types = is_in_place ? recv_types : send_types;
        if (counts == nullptr || types == nullptr) return 0;
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < members.peers; ++i) {
            if (counts[i] > 0) bytes += passed::bytes(counts[i], passed::type_at(types, i));
        }
        return bytes;
    }
};

template <>
struct PassedBytes<kReduceScatter> {
    const Members& members;
    // A block for each rank of the own group, between groups too.
    template <class Counts>
    uint64_t operator()(const void*, const void*, Counts recv_counts, Datatype type, Op,
                        Comm) const {
        return passed::sum(recv_counts, members.size, type);
    }
};

// Among neighbours: `members.peers` is how many this rank sends to.
template <>
struct PassedBytes<kNeighborAllgather> {
    const Members& members;
    uint64_t operator()(const void*, Count send_count, Datatype send_type, const void*, Count,
                        Datatype, Comm) const {
        return passed::bytes(send_count, send_type);
    }
};

template <>
struct PassedBytes<kNeighborAllgatherv> {
    const Members& members;
    template <class Number, class Offset>
    uint64_t operator()(const void*, Number send_count, Datatype send_type, const void*,
                        const Number*, const Offset*, Datatype, Comm) const {
        return passed::bytes(send_count, send_type);
    }
};

template <>
struct PassedBytes<kNeighborAlltoall> : PassedBytes<kAlltoall> {};
template <>
struct PassedBytes<kNeighborAlltoallv> : PassedBytes<kAlltoallv> {};
template <>
struct PassedBytes<kNeighborAlltoallw> : PassedBytes<kAlltoallw> {};

}  // namespace tutti::mpi
