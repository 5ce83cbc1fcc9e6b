// SPDX-License-Identifier: BSD-3-Clause
// The collectives with their arguments as one value, whether they came with int counts or
// with MPI-4's large ones, and the way to hand them to the host unchanged.
#pragma once

#include <cstddef>

#include "mpi/abi/abi.h"

namespace tutti::mpi {

using abi::Comm;
using abi::Count;
using abi::Datatype;
using abi::Op;

// Counts or displacements of all ranks: a program's ints, or MPI-4's large ones.
class Numbers {
  public:
    Numbers() = default;
    explicit Numbers(const int* ints) : ints_(ints) {}
    explicit Numbers(const Count* large) : large_(large) {}
    [[nodiscard]] Count operator[](size_t i) const {
        return large_ != nullptr ? large_[i] : ints_[i];
    }
    [[nodiscard]] const int* ints() const { return ints_; }
    [[nodiscard]] const Count* large() const { return large_; }
    // The same array.
    bool operator==(const Numbers&) const = default;
    // No array.
    bool operator==(std::nullptr_t) const { return ints_ == nullptr && large_ == nullptr; }

  private:
    const int* ints_ = nullptr;
    const Count* large_ = nullptr;
};

struct BarrierArgs {
    Comm comm;
};

struct BcastArgs {
    void* buffer;
    Count count;
    Datatype type;
    int root;
    Comm comm;
    bool large;  // called by the _c name
};

// Reductions; the root is significant in a reduce only.
struct ReduceArgs {
    const void* send;
    void* recv;
    Count count;
    Datatype type;
    Op op;
    int root;
    Comm comm;
    bool large;
    Numbers counts{};  // of a reduce_scatter, in place of `count`
};

// Gather, scatter, allgather and alltoall; the root is not significant in the last two.
struct BlocksArgs {
    const void* send;
    Count send_count;
    Datatype send_type;
    void* recv;
    Count recv_count;
    Datatype recv_type;
    int root;
    Comm comm;
    bool large;
};

// One side of a vector form: a block of `count` elements, or a block for each rank.
struct VectorSide {
    const void* buffer;
    Count count;
    Datatype type;
    Numbers counts;
    Numbers offsets;    // in extents of the type; of an alltoallw in bytes
    const void* types;  // of an alltoallw: the program's array, in place of `type`
};
inline VectorSide one_block(const void* buffer, Count count, Datatype type) {
    return {buffer, count, type, {}, {}, nullptr};
}
template <class Number, class Offset>
VectorSide blocks_each(const void* buffer, const Number* counts, const Offset* offsets,
                       Datatype type) {
    return {buffer, 0, type, Numbers(counts), Numbers(offsets), nullptr};
}
template <class Number, class Offset>
VectorSide typed_blocks(const void* buffer, const Number* counts, const Offset* offsets,
                        const void* types) {
    return {buffer, 0, {}, Numbers(counts), Numbers(offsets), types};
}

// Gatherv, scatterv, allgatherv, alltoallv and alltoallw; the root is significant in the first two.
struct VectorArgs {
    VectorSide send;
    VectorSide recv;
    int root;
    Comm comm;
    bool large;
    [[nodiscard]] void* received() const { return const_cast<void*>(recv.buffer); }
};

// A host without large counts gets the int form if the counts fit, and otherwise MPI_ERR_COUNT is
// raised on the communicator.
int host_barrier(const BarrierArgs& a);
int host_bcast(const BcastArgs& a);
int host_reduce(const ReduceArgs& a);
int host_allreduce(const ReduceArgs& a);
int host_reduce_scatter_block(const ReduceArgs& a);
int host_gather(const BlocksArgs& a);
int host_scatter(const BlocksArgs& a);
int host_allgather(const BlocksArgs& a);
int host_alltoall(const BlocksArgs& a);
int host_scan(const ReduceArgs& a);
int host_exscan(const ReduceArgs& a);
int host_gatherv(const VectorArgs& a);
int host_scatterv(const VectorArgs& a);
int host_allgatherv(const VectorArgs& a);
int host_alltoallv(const VectorArgs& a);
int host_alltoallw(const VectorArgs& a);
int host_reduce_scatter(const ReduceArgs& a);

// Whether the host looks at arguments at all: it can be told not to. Asked with a broadcast of
// nothing, whose root is out of range, on a copy of MPI_COMM_SELF.
bool host_checks_arguments();
// This rank's own block, of a collective of that kind, from where it is sent to where it is
// received, by the host, on that copy: a.send and a.recv name one block each. The host's status,
// which is an error where the block is cut.
int host_moves_own(const BlocksArgs& a, int (*host)(const BlocksArgs&));

}  // namespace tutti::mpi
