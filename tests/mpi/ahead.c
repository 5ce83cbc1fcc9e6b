// SPDX-License-Identifier: BSD-3-Clause
// A rank that waits for nobody in a small rooted call runs ahead: the others make their first call
// when it has made all of its own, which a file tells them.
//
//   ahead PREFIX CALLS INTS   of the files' names
#include <fcntl.h>
#include <unistd.h>

#include "support.h"

static int rank, size;

static void tell(const char* path) {
    const int file = open(path, O_CREAT | O_WRONLY, 0600);
    if (expect(file >= 0, "cannot make %s", path)) close(file);
}

static void await(const char* path) {
    while (access(path, F_OK) != 0) usleep(1000);
}

static int value(int call, int from, int i) { return call * 1000 + from * 100 + i % 100; }

// One call with what each rank gives in it; checks what came.
static void make_call(const char* what, int call, int ints, int* sent, int* received) {
    const int parts = !strcmp(what, "scatter") ? size : 1;
    for (int i = 0; i < parts * ints; ++i) sent[i] = value(call, rank + i / ints, i % ints);
    int wanted = 0, blocks = 0;
    if (!strcmp(what, "bcast")) {
        if (rank == 0) memcpy(received, sent, (size_t)ints * sizeof(int));
        MPI_Bcast(received, ints, MPI_INT, 0, MPI_COMM_WORLD);
        wanted = value(call, 0, 0), blocks = 1;
    } else if (!strcmp(what, "scatter")) {
        MPI_Scatter(sent, ints, MPI_INT, received, ints, MPI_INT, 0, MPI_COMM_WORLD);
        wanted = value(call, rank, 0), blocks = 1;
    } else if (!strcmp(what, "gather")) {
        MPI_Gather(sent, ints, MPI_INT, received, ints, MPI_INT, 0, MPI_COMM_WORLD);
        wanted = value(call, 0, 0), blocks = rank == 0 ? size : 0;
    } else {
        MPI_Reduce(sent, received, ints, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
        wanted = value(call, size - 1, 0), blocks = rank == 0;
    }
    for (int b = 0; b < blocks; ++b) {
        const int got = received[b * ints];
        expect(got == wanted + 100 * b, "%s %d, block %d: %d", what, call, b, got);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int calls = argc > 3 ? atoi(argv[2]) : 64, ints = argc > 3 ? atoi(argv[3]) : 2;
    const char* const kinds[] = {"bcast", "scatter", "gather", "reduce"};
    int* sent = malloc(sizeof(int) * (size_t)(ints * size));
    int* received = malloc(sizeof(int) * (size_t)(ints * size));
    for (int kind = 0; kind < 4; ++kind) {
        char path[4096];
        snprintf(path, sizeof path, "%s.%d", argv[1], kind);
        // The root of what it sends, a leaf of what it gives.
        const int ahead = kind < 2 ? 0 : size - 1;
        for (int call = 0; call < 3; ++call) MPI_Barrier(MPI_COMM_WORLD);
        if (rank != ahead) await(path);
        for (int call = 0; call < calls; ++call) {
            make_call(kinds[kind], call, ints, sent, received);
        }
        if (rank == ahead) tell(path);
    }
    free(sent);
    free(received);
    return finish();
}
