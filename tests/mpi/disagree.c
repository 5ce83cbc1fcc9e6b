// SPDX-License-Identifier: BSD-3-Clause
// One rank makes another call than the others, under MPI_ERRORS_RETURN: every result that comes
// without an error must be right, nobody waits for ever, and the calls of all ranks end in errors.
//
//   disagree barrier|bcast-root|reduce-root|bcast-count|reduce-count|allreduce-count|pieces|empty N
//       N: ints. What the last rank does is a barrier; of another root; of more ints, of so many
//       more that its pieces are equal; of none.
//
// Says "errors N": how many ranks were told.
#include "support.h"

enum { kCallsAfter = 2 };

static int rank, size, is_odd;

static int* ints(int count, int first) {
    int* memory = malloc(sizeof(int) * (size_t)(count > 0 ? count : 1));
    for (int i = 0; i < count; ++i) memory[i] = first + i;
    return memory;
}

static int are(const int* data, int count, int factor, int first) {
    for (int i = 0; i < count; ++i)
        if (data[i] != factor * i + first) return 0;
    return 1;
}

// What a call that failed was given may still be under way, so it is not given back.
static int bcast(int count, int root) {
    int* data = ints(count, rank == root ? 5 : -1000);
    const int status = MPI_Bcast(data, count, MPI_INT, root, MPI_COMM_WORLD);
    if (status == MPI_SUCCESS) expect(are(data, count, 1, 5), "bcast begins with %d", data[0]);
    if (status == MPI_SUCCESS) free(data);
    return status;
}

static int reduce(int count, int root) {
    int *in = ints(count, rank), *out = ints(count, -1000);
    const int status = MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    if (status == MPI_SUCCESS && rank == root) {
        expect(are(out, count, size, size * (size - 1) / 2), "reduce begins with %d", out[0]);
    }
    if (status == MPI_SUCCESS) free(in), free(out);
    return status;
}

static int allreduce(int count) {
    int *in = ints(count, rank), *out = ints(count, -1000);
    const int status = MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (status == MPI_SUCCESS) {
        expect(are(out, count, size, size * (size - 1) / 2), "allreduce begins with %d", out[0]);
    }
    if (status == MPI_SUCCESS) free(in), free(out);
    return status;
}

static int differ(const char* what, int count) {
    const int more = is_odd ? 2 * count : count, root = is_odd ? size - 1 : 0;
    if (!strcmp(what, "barrier")) return is_odd ? MPI_Barrier(MPI_COMM_WORLD) : bcast(count, 0);
    if (!strcmp(what, "bcast-root")) return bcast(count, root);
    if (!strcmp(what, "reduce-root")) return reduce(count, root);
    if (!strcmp(what, "bcast-count") || !strcmp(what, "pieces")) return bcast(more, 0);
    if (!strcmp(what, "reduce-count")) return reduce(more, 0);
    if (!strcmp(what, "allreduce-count")) return allreduce(more);
    if (!strcmp(what, "empty")) return allreduce(is_odd ? 0 : count);
    expect(0, "no such case: %s", what);
    return MPI_SUCCESS;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const char* what = argc > 1 ? argv[1] : "barrier";
    const int count = argc > 2 ? atoi(argv[2]) : 4;
    is_odd = rank == size - 1;
    for (int turn = 0; turn < 5; ++turn) MPI_Barrier(MPI_COMM_WORLD);
    expect(size > 1, "at least two ranks, or nobody differs");
    // A rank whose call has failed makes no further one: the others are to find out by themselves.
    int status = differ(what, count);
    for (int turn = 0; turn < kCallsAfter && status == MPI_SUCCESS; ++turn) {
        status = turn % 2 ? MPI_Barrier(MPI_COMM_WORLD) : allreduce(count);
    }
    print_errors(status != MPI_SUCCESS);
    return finish();
}
