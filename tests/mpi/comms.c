// SPDX-License-Identifier: BSD-3-Clause
// A thousand communicators made, used beyond the warm-up and freed leave memory where it was: the
// same number of maps and open files, and no growth of the resident set or of private data.
//
// comms [COUNT]
//
// Prints "maps A B", "shared A B" (memory files), "files A B", "kilobytes A B" (resident),
// "data A B" (private, kilobytes too): after a tenth of the communicators, and at the end.
#include <dirent.h>

#include "support.h"

typedef struct Usage {
    long maps, shared, files, kilobytes, data;
} Usage;

static Usage usage(void) {
    Usage u = {0, 0, 0, 0, 0};
    char line[512];
    FILE* maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        u.maps += strchr(line, '\n') != NULL;
        u.shared += strstr(line, "memfd:") != NULL;
    }
    if (maps) fclose(maps);
    DIR* files = opendir("/proc/self/fd");
    while (files && readdir(files)) ++u.files;
    if (files) closedir(files);
    FILE* status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) {
        if (sscanf(line, "VmRSS: %ld", &u.kilobytes) == 1) continue;
        if (sscanf(line, "VmData: %ld", &u.data) == 1) break;
    }
    if (status) fclose(status);
    return u;
}

static void use(MPI_Comm comm, int round) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int call = 0; call < 4; ++call) {
        long sum = 0, mine = rank + round;
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
        expect(sum == (long)size * round + (long)size * (size - 1) / 2, "round %d: sum", round);
        double block[300];
        for (int i = 0; i < 300; ++i) block[i] = rank == round % size ? round + i : -1;
        MPI_Bcast(block, 300, MPI_DOUBLE, round % size, comm);
        expect(block[0] == round && block[299] == round + 299, "round %d: broadcast", round);
        MPI_Barrier(comm);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int count = argc > 1 ? atoi(argv[1]) : 1000;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    use(MPI_COMM_WORLD, 1);
    Usage before = {0, 0, 0, 0, 0};
    MPI_Comm kept = MPI_COMM_NULL;
    for (int round = 0; round < count; ++round) {
        MPI_Comm comm;
        if (round % 3 == 0) MPI_Comm_split(MPI_COMM_WORLD, round % 2 * (rank % 2), -rank, &comm);
        if (round % 3 != 0) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        use(comm, round);
        // Every seventh lives on beyond the next few, so that they are not freed in order only.
        if (round % 7 == 0) {
            if (kept != MPI_COMM_NULL) MPI_Comm_free(&kept);
            kept = comm;
        } else {
            MPI_Comm_free(&comm);
        }
        if (round == count / 10) before = usage();
    }
    if (kept != MPI_COMM_NULL) MPI_Comm_free(&kept);
    const Usage after = usage();
    if (rank == 0) {
        printf("maps %ld %ld\nshared %ld %ld\nfiles %ld %ld\n", before.maps, after.maps,
               before.shared, after.shared, before.files, after.files);
        printf("kilobytes %ld %ld\ndata %ld %ld\n", before.kilobytes, after.kilobytes, before.data,
               after.data);
    }
    return finish();
}
