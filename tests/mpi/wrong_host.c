// SPDX-License-Identifier: BSD-3-Clause
// A host MPI whose results are wrong, preloaded beside Tutti: it has the real one's functions,
// since it needs that library, but for these, which damage element 5 of results of 77 elements (or
// of as many ints, as bytes). Only MPICH's family can be stood in for: Open MPI's handles are
// objects of its own library.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

enum { kMarked = 77, kElement = 5 };

// Behind Tutti in the search order or in front of it, the real one is where MPI_Comm_rank is.
static void* real(const char* name) {
    static void* library = NULL;
    Dl_info place;
    if (!library && dladdr((void*)MPI_Comm_rank, &place)) {
        library = dlopen(place.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
    }
    return dlsym(library, name);
}
#define REAL(name) ((__typeof__(&name))real(#name))

static int is_marked(int count, MPI_Datatype type) {
    return type == MPI_BYTE ? count == kMarked * (int)sizeof(int) : count == kMarked;
}

static void damage(void* data, MPI_Datatype type) {
    if (type == MPI_DOUBLE) {
        ((double*)data)[kElement] += 0.5;
    } else {
        ((int*)data)[kElement] += 1000;
    }
}

// By which Tutti knows the host: a tool has MPI's functions, but not its objects.
int MPIR_Dup_fn(MPI_Comm comm, int key, void* state, void* in, void* out, int* is_copied) {
    return REAL(MPIR_Dup_fn)(comm, key, state, in, out, is_copied);
}

int PMPI_Init(int* argc, char*** argv) { return REAL(PMPI_Init)(argc, argv); }

int PMPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm) {
    const int status = REAL(PMPI_Allreduce)(in, out, count, type, op, comm);
    if (is_marked(count, type)) damage(out, type);
    return status;
}

int PMPI_Reduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm) {
    int rank;
    const int status = REAL(PMPI_Reduce)(in, out, count, type, op, root, comm);
    MPI_Comm_rank(comm, &rank);
    if (is_marked(count, type) && rank == root) damage(out, type);
    return status;
}

int PMPI_Reduce_scatter_block(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm) {
    const int status = REAL(PMPI_Reduce_scatter_block)(in, out, count, type, op, comm);
    if (is_marked(count, type)) damage(out, type);
    return status;
}

int PMPI_Alltoall(const void* in, int count, MPI_Datatype type, void* out, int out_count,
                  MPI_Datatype out_type, MPI_Comm comm) {
    const int status = REAL(PMPI_Alltoall)(in, count, type, out, out_count, out_type, comm);
    if (is_marked(count, type)) damage(out, out_type);
    return status;
}

int PMPI_Scan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    const int status = REAL(PMPI_Scan)(in, out, count, type, op, comm);
    if (is_marked(count, type)) damage(out, type);
    return status;
}

int PMPI_Exscan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    const int status = REAL(PMPI_Exscan)(in, out, count, type, op, comm);
    if (is_marked(count, type)) damage(out, type);
    return status;
}

int PMPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    const int status = REAL(PMPI_Bcast)(data, count, type, root, comm);
    if (is_marked(count, type)) damage(data, type);
    return status;
}

int PMPI_Gather(const void* in, int count, MPI_Datatype type, void* out, int out_count,
                MPI_Datatype out_type, int root, MPI_Comm comm) {
    int rank;
    const int status = REAL(PMPI_Gather)(in, count, type, out, out_count, out_type, root, comm);
    MPI_Comm_rank(comm, &rank);
    if (is_marked(count, type) && rank == root) damage(out, out_type);
    return status;
}

int PMPI_Allgather(const void* in, int count, MPI_Datatype type, void* out, int out_count,
                   MPI_Datatype out_type, MPI_Comm comm) {
    const int status = REAL(PMPI_Allgather)(in, count, type, out, out_count, out_type, comm);
    if (is_marked(count, type)) damage(out, out_type);
    return status;
}

int PMPI_Scatter(const void* in, int count, MPI_Datatype type, void* out, int out_count,
                 MPI_Datatype out_type, int root, MPI_Comm comm) {
    const int status = REAL(PMPI_Scatter)(in, count, type, out, out_count, out_type, root, comm);
    if (is_marked(out_count, out_type)) damage(out, out_type);
    return status;
}

int PMPI_Gatherv(const void* in, int count, MPI_Datatype type, void* out, const int* counts,
                 const int* offsets, MPI_Datatype out_type, int root, MPI_Comm comm) {
    int rank;
    const int status =
        REAL(PMPI_Gatherv)(in, count, type, out, counts, offsets, out_type, root, comm);
    MPI_Comm_rank(comm, &rank);
    if (is_marked(count, type) && rank == root) damage(out, out_type);
    return status;
}

int PMPI_Allgatherv(const void* in, int count, MPI_Datatype type, void* out, const int* counts,
                    const int* offsets, MPI_Datatype out_type, MPI_Comm comm) {
    const int status = REAL(PMPI_Allgatherv)(in, count, type, out, counts, offsets, out_type, comm);
    if (is_marked(count, type)) damage(out, out_type);
    return status;
}

int PMPI_Scatterv(const void* in, const int* counts, const int* offsets, MPI_Datatype type,
                  void* out, int out_count, MPI_Datatype out_type, int root, MPI_Comm comm) {
    const int status =
        REAL(PMPI_Scatterv)(in, counts, offsets, type, out, out_count, out_type, root, comm);
    if (is_marked(out_count, out_type)) damage(out, out_type);
    return status;
}

int PMPI_Alltoallv(const void* in, const int* counts, const int* offsets, MPI_Datatype type,
                   void* out, const int* out_counts, const int* out_offsets, MPI_Datatype out_type,
                   MPI_Comm comm) {
    const int status = REAL(PMPI_Alltoallv)(in, counts, offsets, type, out, out_counts, out_offsets,
                                            out_type, comm);
    if (is_marked(out_counts[0], out_type)) damage(out, out_type);
    return status;
}
