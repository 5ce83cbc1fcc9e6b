// SPDX-License-Identifier: BSD-3-Clause
// Calls whose results another run of them may legally find in other bits, and calls of 77 elements,
// which the stand-in host (wrong_host.c) answers wrongly. What Tutti returns is always checked.
//
//   verify [vectors]
#include <float.h>
#include <math.h>

#include "support.h"

enum { kMarked = 77, kRounds = 6 };

static int rank, size;

// 1e16, 1, -1e16 and so on: the order of operands decides what is left.
static void cancel(MPI_Datatype type, int is_float) {
    double in[64], out[64];
    float in_f[64], out_f[64];
    const double values[] = {1e16, 1, -1e16, 3};
    for (int i = 0; i < 64; ++i) in_f[i] = (float)(in[i] = values[(rank + i) % 4] / (i + 1));
    MPI_Allreduce(is_float ? (void*)in_f : in, is_float ? (void*)out_f : out, 64, type, MPI_SUM,
                  MPI_COMM_WORLD);
    expect(isfinite(is_float ? out_f[0] : out[0]), "a finite sum");
}

// Overflow in some orders, infinities, NaN.
static void extremes(void) {
    const double values[] = {DBL_MAX, DBL_MAX, -DBL_MAX, -DBL_MAX};
    double in[4] = {values[rank % 4], rank == 0 ? INFINITY : 1, rank == 1 ? NAN : 1, 1e-300};
    double out[4];
    MPI_Allreduce(in, out, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(isinf(out[1]) && isnan(out[2]), "%g %g", out[1], out[2]);
    MPI_Allreduce(in, out, 4, MPI_DOUBLE, MPI_PROD, MPI_COMM_WORLD);
    MPI_Allreduce(in, out, 4, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    expect(isinf(out[1]), "%g", out[1]);
}

// Sums of bytes that wrap: some hosts let them saturate.
static void narrow(void) {
    unsigned char in[100], out[100];
    memset(in, 200, sizeof in);
    MPI_Allreduce(in, out, 100, MPI_UINT8_T, MPI_SUM, MPI_COMM_WORLD);
    expect(out[99] == (unsigned char)(200 * size), "%d", out[99]);
    MPI_Reduce(in, out, 100, MPI_UINT8_T, MPI_MAX, 0, MPI_COMM_WORLD);
    expect(rank != 0 || out[3] == 200, "%d", out[3]);
}

// Not associative in floating point, as a user's operator may be.
static void add(void* left, void* inout, int* count, MPI_Datatype* type) {
    (void)type;
    for (int i = 0; i < *count; ++i) ((double*)inout)[i] += ((double*)left)[i];
}

static void user_operator(void) {
    const double values[] = {1e16, 1, -1e16, 3};
    double in[8], out[8];
    for (int i = 0; i < 8; ++i) in[i] = values[(rank + i) % 4];
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(in, out, 8, MPI_DOUBLE, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    expect(isfinite(out[0]), "%g", out[0]);
}

static void marked(void) {
    const int root = size - 1;
    int in[kMarked], out[kMarked], *all = malloc(sizeof in * (size_t)size);
    int* back = malloc(sizeof in * (size_t)size);
    double din[kMarked], dout[kMarked];
    for (int i = 0; i < kMarked; ++i) din[i] = in[i] = rank + i;
    MPI_Allreduce(din, dout, kMarked, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(dout[5] == size * (size - 1) / 2 + 5 * size, "%g", dout[5]);
    MPI_Reduce(in, out, kMarked, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
    expect(rank != root || out[5] == root + 5, "%d", out[5]);
    memcpy(out, in, sizeof in);
    MPI_Bcast(out, kMarked, MPI_INT, root, MPI_COMM_WORLD);
    expect(out[5] == root + 5, "%d", out[5]);
    MPI_Gather(in, kMarked, MPI_INT, all, kMarked, MPI_INT, root, MPI_COMM_WORLD);
    expect(rank != root || all[5] == 5, "%d", all[5]);
    MPI_Allgather(in, kMarked, MPI_INT, all, kMarked, MPI_INT, MPI_COMM_WORLD);
    expect(all[5] == 5, "%d", all[5]);
    MPI_Reduce_scatter_block(all, out, kMarked, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    expect(out[5] == rank + 5, "%d", out[5]);
    MPI_Scatter(all, kMarked, MPI_INT, out, kMarked, MPI_INT, root, MPI_COMM_WORLD);
    expect(out[5] == rank + 5, "%d", out[5]);
    MPI_Alltoall(all, kMarked, MPI_INT, back, kMarked, MPI_INT, MPI_COMM_WORLD);
    expect(back[(size - 1) * kMarked + 5] == rank + 5, "%d", back[5]);
    MPI_Scan(din, dout, kMarked, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(dout[5] == rank * (rank + 1) / 2 + 5 * (rank + 1), "%g", dout[5]);
    MPI_Exscan(in, out, kMarked, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    expect(rank == 0 || out[5] == rank - 1 + 5, "%d", out[5]);
    free(back);
    free(all);
}

// All blocks are alike, but those of the reduce_scatter, of which rank 0 has all.
static void marked_vectors(void) {
    enum { kRanksMax = 64 };
    const int root = size - 1, block = kMarked * (int)sizeof(int);
    int counts[kRanksMax], offsets[kRanksMax], bytes[kRanksMax], firsts[kRanksMax] = {kMarked};
    MPI_Datatype types[kRanksMax];
    int in[kMarked], out[kMarked], *all = malloc(sizeof in * (size_t)size);
    int* back = malloc(sizeof in * (size_t)size);
    for (int i = 0; i < kMarked; ++i) in[i] = rank + i;
    for (int r = 0; r < size; ++r) {
        counts[r] = kMarked;
        offsets[r] = r * kMarked;
        bytes[r] = r * block;
        types[r] = MPI_INT;
    }
    const MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Gatherv(in, kMarked, MPI_INT, all, counts, offsets, MPI_INT, root, comm);
    expect(rank != root || all[5] == 5, "%d", all[5]);
    MPI_Allgatherv(in, kMarked, MPI_INT, all, counts, offsets, MPI_INT, comm);
    expect(all[5] == 5, "%d", all[5]);
    MPI_Scatterv(all, counts, offsets, MPI_INT, out, kMarked, MPI_INT, root, comm);
    expect(out[5] == rank + 5, "%d", out[5]);
    MPI_Alltoallv(all, counts, offsets, MPI_INT, back, counts, offsets, MPI_INT, comm);
    expect(back[5] == rank + 5, "%d", back[5]);
    MPI_Alltoallw(all, counts, bytes, types, back, counts, bytes, types, comm);
    expect(back[5] == rank + 5, "%d", back[5]);
    MPI_Reduce_scatter(in, out, firsts, MPI_INT, MPI_MAX, comm);
    expect(rank != 0 || out[5] == size - 1 + 5, "%d", out[5]);
    free(back);
    free(all);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int call = 0; call < 3; ++call) MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < kRounds; ++round) {
        if (argc > 1) {
            marked_vectors();
            continue;
        }
        cancel(MPI_DOUBLE, 0);
        cancel(MPI_FLOAT, 1);
        extremes();
        narrow();
        user_operator();
        marked();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish();
}
