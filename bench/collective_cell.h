// SPDX-License-Identifier: BSD-3-Clause
// The words COLLECTIVE:BYTES of the MPI programs beside this, and the calls that they name.
#pragma once

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum collective { BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, COLLECTIVES };
static const char* const kNames[COLLECTIVES] = {"barrier", "bcast",   "reduce",   "allreduce",
                                                "gather",  "scatter", "allgather"};

// words: of 8 bytes. False where the text is none, or its bytes are no multiple of 8 up to 256 MiB.
static int parse_cell(const char* text, enum collective* collective, int* words) {
    const char* colon = strchr(text, ':');
    if (!colon) return 0;
    for (int i = 0; i < COLLECTIVES; ++i) {
        if (strncmp(text, kNames[i], (size_t)(colon - text)) != 0 || kNames[i][colon - text]) {
            continue;
        }
        char* end = NULL;
        const long bytes = strtol(colon + 1, &end, 10);
        *collective = (enum collective)i;
        *words = (int)(bytes / 8);
        return end != colon + 1 && !*end && bytes >= 0 && bytes % 8 == 0 && bytes <= 1 << 28;
    }
    return 0;
}

// words: of a block, doubles. A broadcast is of recv.
static void call_collective(enum collective what, void* send, void* recv, int words, MPI_Op op,
                            int root) {
    const MPI_Comm world = MPI_COMM_WORLD;
    switch (what) {
        case BARRIER:
            MPI_Barrier(world);
            break;
        case BCAST:
            MPI_Bcast(recv, words, MPI_DOUBLE, root, world);
            break;
        case REDUCE:
            MPI_Reduce(send, recv, words, MPI_DOUBLE, op, root, world);
            break;
        case ALLREDUCE:
            MPI_Allreduce(send, recv, words, MPI_DOUBLE, op, world);
            break;
        case GATHER:
            MPI_Gather(send, words, MPI_DOUBLE, recv, words, MPI_DOUBLE, root, world);
            break;
        case SCATTER:
            MPI_Scatter(send, words, MPI_DOUBLE, recv, words, MPI_DOUBLE, root, world);
            break;
        case ALLGATHER:
            MPI_Allgather(send, words, MPI_DOUBLE, recv, words, MPI_DOUBLE, world);
            break;
        case COLLECTIVES:
            break;
    }
}
