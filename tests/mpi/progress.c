// SPDX-License-Identifier: BSD-3-Clause
// A rank that waits in a collective lets the host MPI progress: a large MPI_Isend that was posted
// before the collective completes while its receiver receives before it enters the collective.
#include <unistd.h>

#include "support.h"

enum { kBytes = 4 << 20, kCollectives = 7 };

static void collective(int which, int root) {
    static char many[64 * 64];
    char one[64] = {0};
    double sum, mine = 1;
    switch (which) {
        case 0:
            MPI_Barrier(MPI_COMM_WORLD);
            break;
        case 1:
            MPI_Bcast(one, 64, MPI_BYTE, root, MPI_COMM_WORLD);
            break;
        case 2:
            MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            break;
        case 3:
            MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
            break;
        case 4:
            MPI_Gather(one, 64, MPI_BYTE, many, 64, MPI_BYTE, root, MPI_COMM_WORLD);
            break;
        case 5:
            MPI_Scatter(many, 64, MPI_BYTE, one, 64, MPI_BYTE, root, MPI_COMM_WORLD);
            break;
        default:
            MPI_Allgather(one, 64, MPI_BYTE, many, 64, MPI_BYTE, MPI_COMM_WORLD);
    }
}

// The root is the late receiver, so that the sender must wait inside whatever the collective is
// (gather and reduce let the sender go; its MPI_Wait then progresses).
static void exchange(int which, int sender, int receiver, int rank) {
    char* data = malloc(kBytes);
    if (rank == sender) {
        MPI_Request request;
        fill(data, kBytes, (uint64_t)which);
        MPI_Isend(data, kBytes, MPI_BYTE, receiver, which, MPI_COMM_WORLD, &request);
        collective(which, receiver);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == receiver) {
        usleep(20000);
        MPI_Recv(data, kBytes, MPI_BYTE, sender, which, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(differs(data, kBytes, (uint64_t)which) < 0, "collective %d: message", which);
        collective(which, receiver);
    } else {
        collective(which, receiver);
    }
    free(data);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int call = 0; call < 4; ++call) MPI_Barrier(MPI_COMM_WORLD);
    for (int which = 0; which < kCollectives; ++which) {
        exchange(which, 0, size - 1, rank);
        exchange(which, size - 1, 0, rank);
    }
    return finish();
}
