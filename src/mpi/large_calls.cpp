// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/large_calls.h"

#include <new>
#include <string>

#include "mpi/buffers.h"
#include "mpi/comm_state.h"
#include "mpi/counted.h"
#include "mpi/front.h"

namespace tutti::mpi {

Role role_in(Comm comm, int root) {
    int is_inter = 0, rank = 0;
    front.host.comm_test_inter(comm, &is_inter);
    // MPI_PROC_NULL and MPI_ROOT are negative.
    if (is_inter != 0) return {root == front.host.abi.root, root >= 0};
    front.host.comm_rank(comm, &rank);
    return {rank == root, true};
}

int refuse_count(Comm comm) {
    front.host.comm_call_errhandler(comm, front.host.abi.err_count);
    return front.host.abi.err_count;
}

int refuse_absent(Comm comm, const char* name) {
    if (front.world.rank == 0) print_line((std::string("this MPI has no MPI_") + name).c_str());
    front.host.comm_call_errhandler(comm, front.host.abi.err_other);
    return front.host.abi.err_other;
}

namespace large {

namespace {

// The ranks that this one exchanges blocks with.
size_t peers_of(Comm comm) { return members_of(comm).peers; }

}  // namespace

Sides sides_of(Kind kind, Comm comm, const void* send, const void* recv, int root) {
    switch (kind) {
        case kGather:
        case kGatherv: {
            const Role role = role_in(comm, root);
            return {{role.has_one && !is_in_place(send), 1},
                    {role.is_root, role.is_root ? peers_of(comm) : 0}};
        }
        case kScatter:
        case kScatterv: {
            const Role role = role_in(comm, root);
            return {{role.is_root, role.is_root ? peers_of(comm) : 0},
                    {role.has_one && !is_in_place(recv), 1}};
        }
        case kAllgather:
        case kAllgatherv:
        case kAlltoall:
        case kAlltoallv:
        case kAlltoallw: {
            const size_t peers = peers_of(comm);
            return {{!is_in_place(send), peers}, {true, peers}};
        }
        case kNeighborAllgather:
        case kNeighborAllgatherv:
        case kNeighborAlltoall:
        case kNeighborAlltoallv:
        case kNeighborAlltoallw: {
            const Neighbors neighbors = neighbors_of(members_of(comm));
            return {{true, neighbors.to}, {true, neighbors.from}};
        }
        default:
            return {{true, 1}, {true, kind == kReduceScatter ? members_of(comm).size : 1}};
    }
}

int Ints::problem() const {
    if (!fit_) return front.host.abi.err_count;
    return has_memory_ ? abi::kSuccess : front.host.abi.err_no_mem;
}

int Ints::number(Count count) {
    if (!side_->is_significant) return 0;
    fit_ = fit_ && fits_an_int(count);
    return static_cast<int>(count);
}

const int* Ints::array(const Count* numbers) {
    if (!side_->is_significant || numbers == nullptr) return nullptr;
    std::unique_ptr<int[]>& ints = arrays_[used_++];
    ints.reset(new (std::nothrow) int[side_->blocks + 1]);
    has_memory_ = has_memory_ && ints != nullptr;
    for (size_t i = 0; i < side_->blocks && ints != nullptr; ++i) ints[i] = number(numbers[i]);
    return ints.get();
}

}  // namespace large
}  // namespace tutti::mpi
