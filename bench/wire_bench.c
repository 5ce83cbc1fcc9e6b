// SPDX-License-Identifier: BSD-3-Clause
// What collectives cost across hosts with RDMA devices, in time and in what can be counted:
// wire_bench SECONDS BYTES[,BYTES...] COLLECTIVE...
//
// For each collective (barrier bcast reduce allreduce allgather) and block of so many bytes it makes
// calls for about so many seconds, and rank 0 prints one line of JSON:
//   calls     how many
//   us        the median over ten batches of what a call took the slowest rank
//   wakeups   voluntary context switches a call, all ranks
//   packets   that the RDMA devices of rank 0's machine sent for a call (soft-RoCE's sent_pkts); null
//             where none counts them
//   wrong     wrong results
// Plain MPI, to be run bare and through Tutti.
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { kBatches = 10, kCallsMin = 2 * kBatches, kCallsMax = 200000 };

static int rank, size;

static void run_call(const char* kind, int root, double* mine, double* all, int words) {
    const MPI_Comm comm = MPI_COMM_WORLD;
    if (strcmp(kind, "barrier") == 0) MPI_Barrier(comm);
    if (strcmp(kind, "bcast") == 0) MPI_Bcast(mine, words, MPI_DOUBLE, root, comm);
    if (strcmp(kind, "reduce") == 0) {
        MPI_Reduce(mine, all, words, MPI_DOUBLE, MPI_SUM, root, comm);
    }
    if (strcmp(kind, "allreduce") == 0) {
        MPI_Allreduce(mine, all, words, MPI_DOUBLE, MPI_SUM, comm);
    }
    if (strcmp(kind, "allgather") == 0) {
        MPI_Allgather(mine, words, MPI_DOUBLE, all, words, MPI_DOUBLE, comm);
    }
}

// Of a call whose elements are the rank + 1 everywhere: whether the last one is wrong here.
static int is_wrong(const char* kind, int root, const double* mine, const double* all, int words) {
    const double sum = size * (size + 1) / 2.0;
    if (strcmp(kind, "bcast") == 0) return mine[words - 1] != root + 1;
    if (strcmp(kind, "reduce") == 0) return rank == root && all[words - 1] != sum;
    if (strcmp(kind, "allreduce") == 0) return all[words - 1] != sum;
    if (strcmp(kind, "allgather") == 0) return all[(size_t)size * (size_t)words - 1] != size;
    return 0;
}

// Sum over all devices here; -1: there are none that count. The kernel counts anew each 10 ms.
static double packets_sent(void) {
    if (rank != 0) return -1;
    usleep(50000);
    DIR* folder = opendir("/sys/class/infiniband");
    if (!folder) return -1;
    double sum = -1;
    for (struct dirent* at; (at = readdir(folder)) != NULL;) {
        char path[512];
        snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/hw_counters/sent_pkts",
                 at->d_name);
        FILE* file = fopen(path, "r");
        unsigned long long value;
        if (!file) continue;
        if (fscanf(file, "%llu", &value) == 1) sum = (sum < 0 ? 0 : sum) + (double)value;
        fclose(file);
    }
    closedir(folder);
    return sum;
}

static double switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_nvcsw;
}

static int by_value(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static int measure(const char* kind, int bytes, double seconds) {
    const int words = bytes / (int)sizeof(double);
    double* mine = malloc((size_t)(words + 1) * sizeof(double));
    double* all = malloc((size_t)size * (size_t)(words + 1) * sizeof(double));
    if (!mine || !all) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i <= words; ++i) mine[i] = rank + 1;
    int wrong = 0;
    double begin = MPI_Wtime();
    for (int i = 0; i < kCallsMin; ++i) {
        mine[words > 0 ? words - 1 : 0] = rank + 1;
        run_call(kind, i % size, mine, all, words);
        wrong += words > 0 && is_wrong(kind, i % size, mine, all, words);
    }
    double one = (MPI_Wtime() - begin) / kCallsMin;
    MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    const double wanted = seconds / one;
    int calls = wanted > kCallsMax ? kCallsMax : (int)wanted;
    calls = calls < kCallsMin ? kCallsMin : calls / kBatches * kBatches;

    double us[kBatches];
    MPI_Barrier(MPI_COMM_WORLD);
    const double packets = packets_sent();
    MPI_Barrier(MPI_COMM_WORLD);
    double sleeps = switches();
    for (int batch = 0; batch < kBatches; ++batch) {
        begin = MPI_Wtime();
        for (int i = 0; i < calls / kBatches; ++i) run_call(kind, i % size, mine, all, words);
        us[batch] = (MPI_Wtime() - begin) * 1e6 / (calls / kBatches);
    }
    sleeps = switches() - sleeps;
    MPI_Barrier(MPI_COMM_WORLD);
    const double packets_after = packets_sent();

    for (int i = 0; i < kBatches; ++i) {
        MPI_Allreduce(MPI_IN_PLACE, &us[i], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    qsort(us, kBatches, sizeof us[0], by_value);
    MPI_Allreduce(MPI_IN_PLACE, &sleeps, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("{\"collective\": \"%s\", \"bytes\": %d, \"calls\": %d, \"us\": %.2f", kind, bytes,
               calls, (us[kBatches / 2 - 1] + us[kBatches / 2]) / 2);
        printf(", \"wakeups\": %.2f", sleeps / calls);
        if (packets < 0 || packets_after < 0) {
            printf(", \"packets\": null");
        } else {
            printf(", \"packets\": %.2f", (packets_after - packets) / calls);
        }
        printf(", \"wrong\": %d}\n", wrong);
        fflush(stdout);
    }
    free(mine);
    free(all);
    return wrong;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int wrong = 0;
    for (int i = 3; i < argc; ++i) {
        for (char* at = argv[2]; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
            const int is_barrier = strcmp(argv[i], "barrier") == 0;
            wrong += measure(argv[i], is_barrier ? 0 : atoi(at), atof(argv[1]));
            if (is_barrier) break;
        }
    }
    MPI_Finalize();
    return wrong != 0;
}
