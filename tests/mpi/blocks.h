// SPDX-License-Identifier: BSD-3-Clause
// Counts and offsets of vector collectives, as ints and as MPI-4's large ones.
#ifndef TESTS_MPI_BLOCKS_H
#define TESTS_MPI_BLOCKS_H

#include <mpi.h>

enum { kBlocksMax = 8 };

typedef struct Blocks {
    int counts[kBlocksMax], offsets[kBlocksMax];
    MPI_Count large_counts[kBlocksMax];
    MPI_Aint large_offsets[kBlocksMax];
    MPI_Datatype types[kBlocksMax];
} Blocks;

// Block i has first + i * more elements. alltoallw has its offsets in bytes.
static Blocks make_blocks(int first, int more, int unit) {
    Blocks blocks;
    int offset = 0;
    for (int i = 0; i < kBlocksMax; ++i) {
        blocks.large_counts[i] = blocks.counts[i] = first + i * more;
        blocks.large_offsets[i] = blocks.offsets[i] = offset * unit;
        blocks.types[i] = MPI_INT;
        offset += blocks.counts[i];
    }
    return blocks;
}

#endif
