// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/large_calls.h"

#include <cstddef>
#include <memory>
#include <new>

#include "mpi/buffers.h"
#include "mpi/front.h"

namespace tutti::mpi {

Role role_in(Comm comm, int root) {
    int is_inter = 0, rank = 0;
    front.host.comm_test_inter(comm, &is_inter);
    // MPI_PROC_NULL and MPI_ROOT are negative.
    if (is_inter != 0) return {root == front.abi.root, root >= 0};
    front.host.comm_rank(comm, &rank);
    return {rank == root, true};
}

int refuse_count(Comm comm) {
    front.host.comm_call_errhandler(comm, front.abi.err_count);
    return front.abi.err_count;
}

namespace large {

namespace {

// The ranks that this one exchanges blocks with.
size_t peers_of(Comm comm) {
    int is_inter = 0, size = 0;
    front.host.comm_test_inter(comm, &is_inter);
    if (is_inter != 0) {
        front.host.comm_remote_size(comm, &size);
    } else {
        front.host.comm_size(comm, &size);
    }
    return static_cast<size_t>(size);
}

// The counts and offsets of one call as ints. What is not significant on this rank may hold
// anything, and is not looked at.
class Ints {
  public:
    int number(Count count, bool is_significant) {
        if (!is_significant) return 0;
        fit_ = fit_ && fits_an_int(count);
        return static_cast<int>(count);
    }
    template <class Number>
    const int* array(const Number* numbers, size_t count, bool is_significant) {
        if (!is_significant || numbers == nullptr) return nullptr;
        std::unique_ptr<int[]>& ints = arrays_[used_++];
        ints.reset(new (std::nothrow) int[count + 1]);
        has_memory_ = has_memory_ && ints != nullptr;
        for (size_t i = 0; i < count && ints != nullptr; ++i) ints[i] = number(numbers[i], true);
        return ints.get();
    }
    template <class Call>
    int run(Comm comm, Call call) {
        if (!fit_) return refuse_count(comm);
        if (has_memory_) return call();
        front.host.comm_call_errhandler(comm, front.abi.err_no_mem);
        return front.abi.err_no_mem;
    }

  private:
    std::unique_ptr<int[]> arrays_[4];
    size_t used_ = 0;
    bool fit_ = true;
    bool has_memory_ = true;
};

// One count, significant on all ranks.
template <class Call>
int with_int(Comm comm, Count count, Call call) {
    return fits_an_int(count) ? call(static_cast<int>(count)) : refuse_count(comm);
}

}  // namespace

int gatherv_c(const void* send, Count send_count, Datatype send_type, void* recv,
              const Count* recv_counts, const Aint* recv_offsets, Datatype recv_type, int root,
              Comm comm) {
    if (front.host.gatherv_c) {
        return front.host.gatherv_c(send, send_count, send_type, recv, recv_counts, recv_offsets,
                                    recv_type, root, comm);
    }
    const Role role = role_in(comm, root);
    const size_t ranks = role.is_root ? peers_of(comm) : 0;
    Ints ints;
    const int count = ints.number(send_count, role.has_one && !is_in_place(send));
    const int* counts = ints.array(recv_counts, ranks, role.is_root);
    const int* offsets = ints.array(recv_offsets, ranks, role.is_root);
    return ints.run(comm, [&] {
        return front.host.gatherv(send, count, send_type, recv, counts, offsets, recv_type, root,
                                  comm);
    });
}

int scatterv_c(const void* send, const Count* send_counts, const Aint* send_offsets,
               Datatype send_type, void* recv, Count recv_count, Datatype recv_type, int root,
               Comm comm) {
    if (front.host.scatterv_c) {
        return front.host.scatterv_c(send, send_counts, send_offsets, send_type, recv, recv_count,
                                     recv_type, root, comm);
    }
    const Role role = role_in(comm, root);
    const size_t ranks = role.is_root ? peers_of(comm) : 0;
    Ints ints;
    const int* counts = ints.array(send_counts, ranks, role.is_root);
    const int* offsets = ints.array(send_offsets, ranks, role.is_root);
    const int count = ints.number(recv_count, role.has_one && !is_in_place(recv));
    return ints.run(comm, [&] {
        return front.host.scatterv(send, counts, offsets, send_type, recv, count, recv_type, root,
                                   comm);
    });
}

int allgatherv_c(const void* send, Count send_count, Datatype send_type, void* recv,
                 const Count* recv_counts, const Aint* recv_offsets, Datatype recv_type,
                 Comm comm) {
    if (front.host.allgatherv_c) {
        return front.host.allgatherv_c(send, send_count, send_type, recv, recv_counts, recv_offsets,
                                       recv_type, comm);
    }
    const size_t ranks = peers_of(comm);
    Ints ints;
    const int count = ints.number(send_count, !is_in_place(send));
    const int* counts = ints.array(recv_counts, ranks, true);
    const int* offsets = ints.array(recv_offsets, ranks, true);
    return ints.run(comm, [&] {
        return front.host.allgatherv(send, count, send_type, recv, counts, offsets, recv_type,
                                     comm);
    });
}

int alltoall_c(const void* send, Count send_count, Datatype send_type, void* recv, Count recv_count,
               Datatype recv_type, Comm comm) {
    if (front.host.alltoall_c) {
        return front.host.alltoall_c(send, send_count, send_type, recv, recv_count, recv_type,
                                     comm);
    }
    Ints ints;
    const int sent = ints.number(send_count, !is_in_place(send));
    const int received = ints.number(recv_count, true);
    return ints.run(comm, [&] {
        return front.host.alltoall(send, sent, send_type, recv, received, recv_type, comm);
    });
}

int alltoallv_c(const void* send, const Count* send_counts, const Aint* send_offsets,
                Datatype send_type, void* recv, const Count* recv_counts, const Aint* recv_offsets,
                Datatype recv_type, Comm comm) {
    if (front.host.alltoallv_c) {
        return front.host.alltoallv_c(send, send_counts, send_offsets, send_type, recv, recv_counts,
                                      recv_offsets, recv_type, comm);
    }
    const size_t ranks = peers_of(comm);
    const bool sends = !is_in_place(send);
    Ints ints;
    const int* sent = ints.array(send_counts, ranks, sends);
    const int* sent_at = ints.array(send_offsets, ranks, sends);
    const int* received = ints.array(recv_counts, ranks, true);
    const int* received_at = ints.array(recv_offsets, ranks, true);
    return ints.run(comm, [&] {
        return front.host.alltoallv(send, sent, sent_at, send_type, recv, received, received_at,
                                    recv_type, comm);
    });
}

int alltoallw_c(const void* send, const Count* send_counts, const Aint* send_offsets,
                const void* send_types, void* recv, const Count* recv_counts,
                const Aint* recv_offsets, const void* recv_types, Comm comm) {
    if (front.host.alltoallw_c) {
        return front.host.alltoallw_c(send, send_counts, send_offsets, send_types, recv,
                                      recv_counts, recv_offsets, recv_types, comm);
    }
    const size_t ranks = peers_of(comm);
    const bool sends = !is_in_place(send);
    Ints ints;
    const int* sent = ints.array(send_counts, ranks, sends);
    const int* sent_at = ints.array(send_offsets, ranks, sends);
    const int* received = ints.array(recv_counts, ranks, true);
    const int* received_at = ints.array(recv_offsets, ranks, true);
    return ints.run(comm, [&] {
        return front.host.alltoallw(send, sent, sent_at, send_types, recv, received, received_at,
                                    recv_types, comm);
    });
}

int reduce_scatter_c(const void* send, void* recv, const Count* recv_counts, Datatype type, Op op,
                     Comm comm) {
    if (front.host.reduce_scatter_c) {
        return front.host.reduce_scatter_c(send, recv, recv_counts, type, op, comm);
    }
    int size = 0;
    front.host.comm_size(comm, &size);
    Ints ints;
    const int* counts = ints.array(recv_counts, static_cast<size_t>(size), true);
    return ints.run(comm,
                    [&] { return front.host.reduce_scatter(send, recv, counts, type, op, comm); });
}

int scan_c(const void* send, void* recv, Count count, Datatype type, Op op, Comm comm) {
    const abi::Host& host = front.host;
    if (host.scan_c) return host.scan_c(send, recv, count, type, op, comm);
    return with_int(comm, count, [&](int n) { return host.scan(send, recv, n, type, op, comm); });
}

int exscan_c(const void* send, void* recv, Count count, Datatype type, Op op, Comm comm) {
    const abi::Host& host = front.host;
    if (host.exscan_c) return host.exscan_c(send, recv, count, type, op, comm);
    return with_int(comm, count, [&](int n) { return host.exscan(send, recv, n, type, op, comm); });
}

}  // namespace large
}  // namespace tutti::mpi
