// SPDX-License-Identifier: BSD-3-Clause
// Ranks that behave badly, or merely unusually, one way at a time:
//
//   misuse collective|root|operator|type|kind|bytes|vector|host|first|first-vector
//                     rank 1 calls something else (TUTTI_CHECK)
//   misuse legal      what looks different and is not: a vector against ints, in place, null
//   misuse late       rank 1 comes three seconds late (TUTTI_STALL)
//   misuse killed     rank 1 dies by SIGKILL amid collectives
#include <signal.h>
#include <unistd.h>

#include "support.h"

static int rank, size;

static void warm_up(void) {
    for (int call = 0; call < 10; ++call) MPI_Barrier(MPI_COMM_WORLD);
}

static void keep(void* in, void* inout, int* count, MPI_Datatype* type) {
    (void)in, (void)inout, (void)count, (void)type;
}

// Lengths of blocks that all know.
static void scatter_sums(const int* in, int* out) {
    int counts[64];
    for (int i = 0; i < size; ++i) counts[i] = 1;
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void mismatch(const char* what) {
    const int odd = rank == 1;
    int in[64 * 64] = {0}, out[64 * 64] = {0};
    MPI_Datatype large;
    MPI_Op of_large;
    MPI_Type_contiguous(64 * 64, MPI_INT, &large);
    MPI_Type_commit(&large);
    MPI_Op_create(keep, 1, &of_large);
    if (!strcmp(what, "collective")) {
        if (odd) MPI_Barrier(MPI_COMM_WORLD);
        if (!odd) MPI_Allreduce(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (!strcmp(what, "root")) {
        MPI_Bcast(in, 4, MPI_INT, odd, MPI_COMM_WORLD);
    } else if (!strcmp(what, "operator")) {
        MPI_Allreduce(in, out, 4, MPI_INT, odd ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    } else if (!strcmp(what, "type")) {
        MPI_Allreduce(in, out, 4, odd ? MPI_LONG : MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    } else if (!strcmp(what, "kind")) {
        MPI_Bcast(in, 4, odd ? MPI_UNSIGNED_LONG : MPI_DOUBLE, 0, MPI_COMM_WORLD);
    } else if (!strcmp(what, "bytes")) {
        MPI_Allreduce(in, out, odd ? 5 : 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (!strcmp(what, "vector")) {
        if (odd) scatter_sums(in, out);
        if (!odd) MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(what, "host")) {
        // A reduction that stays with the host for its operator.
        if (odd) MPI_Allreduce(in, out, 1, large, of_large, MPI_COMM_WORLD);
        if (!odd) MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(what, "first")) {
        if (odd) MPI_Barrier(MPI_COMM_WORLD);
        if (!odd) MPI_Bcast(in, 4, MPI_INT, 0, MPI_COMM_WORLD);
    } else if (!strcmp(what, "first-vector")) {
        if (odd) scatter_sums(in, out);
        if (!odd) MPI_Bcast(in, 4, MPI_INT, 0, MPI_COMM_WORLD);
    }
    // Reached only where the mismatch went unnoticed; the ranks are then out of step for good.
    fprintf(stderr, "the mismatch of %s was not noticed\n", what);
}

static void legal(void) {
    int plain[12], gaps[24];
    MPI_Datatype vector;
    MPI_Type_vector(12, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    for (int root = 0; root < size; ++root) {
        for (int i = 0; i < 12; ++i) plain[i] = gaps[2 * i] = rank == root ? i * root : -1;
        if (rank % 2) MPI_Bcast(gaps, 1, vector, root, MPI_COMM_WORLD);
        if (rank % 2 == 0) MPI_Bcast(plain, 12, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; i < 12; ++i) {
            expect((rank % 2 ? gaps[2 * i] : plain[i]) == i * root, "int %d from %d", i, root);
        }
        int sum = rank + 1;
        if (rank == root) {
            MPI_Reduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
            expect(sum == size * (size + 1) / 2, "sum at %d", root);
        } else {
            MPI_Reduce(&sum, NULL, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
        }
        MPI_Bcast(NULL, 0, rank % 2 ? vector : MPI_INT, root, MPI_COMM_WORLD);
        // Types that MPI lets meet, and some that programs do.
        MPI_Bcast(plain, 4, rank % 2 ? MPI_UNSIGNED : MPI_INT, root, MPI_COMM_WORLD);
        MPI_Bcast(plain, rank % 2 ? 16 : 4, rank % 2 ? MPI_BYTE : MPI_INT, root, MPI_COMM_WORLD);
        double pair[2] = {0};
        MPI_Bcast(pair, rank % 2 ? 2 : 1, rank % 2 ? MPI_DOUBLE : MPI_C_DOUBLE_COMPLEX, root,
                  MPI_COMM_WORLD);
        MPI_Bcast(pair, 1, rank % 2 ? MPI_LONG : MPI_INT64_T, root, MPI_COMM_WORLD);
        int all[64] = {0}, one[64] = {0};
        scatter_sums(one, all);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Type_free(&vector);
}

static void killed(void) {
    double in[500] = {0}, out[500];
    for (long call = 0;; ++call) {
        if (rank == 1 && call == 200) raise(SIGKILL);
        MPI_Allreduce(in, out, 500, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char* what = argc > 1 ? argv[1] : "legal";
    if (strncmp(what, "first", 5) != 0) warm_up();
    if (!strcmp(what, "legal")) {
        legal();
    } else if (!strcmp(what, "late")) {
        if (rank == 1) sleep(3);
        MPI_Barrier(MPI_COMM_WORLD);
        expect(1, "late");
    } else if (!strcmp(what, "killed")) {
        killed();
    } else {
        mismatch(what);
    }
    return finish();
}
