// SPDX-License-Identifier: BSD-3-Clause
// Collectives with spawned processes that are not preloaded: all must go to the host alike.
#include <unistd.h>

#include "support.h"

static void use(MPI_Comm comm) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int call = 0; call < 10; ++call) {
        int mine = rank + call, all = 0;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, comm);
        expect(all == size * call + size * (size - 1) / 2, "sum of call %d is %d", call, all);
        MPI_Barrier(comm);
    }
}

static int child(MPI_Comm parent) {
    MPI_Comm merged;
    MPI_Intercomm_merge(parent, 1, &merged);
    use(merged);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return checks_failed != 0;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm other, merged;
    MPI_Comm_get_parent(&other);
    if (other != MPI_COMM_NULL) return child(other);
    char self[4096] = {0};
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    char* words[] = {"-u", "LD_PRELOAD", self, NULL};
    MPI_Comm_spawn("env", words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(other, 0, &merged);
    use(merged);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&other);
    use(MPI_COMM_WORLD);
    return finish();
}
