// SPDX-License-Identifier: BSD-3-Clause
// The words COLLECTIVE:BYTES of the MPI programs beside this.
#pragma once

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
