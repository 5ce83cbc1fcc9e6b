// SPDX-License-Identifier: BSD-3-Clause
// What collectives cost across hosts with RDMA devices, in time and in what can be counted:
// wire_bench SECONDS BYTES[,BYTES...] COLLECTIVE...
//
// For each collective of collective_cell.h and so many bytes it makes calls for about so many
// seconds, and rank 0 prints one line of JSON:
//   calls     how many
//   us        the median over ten batches of what a call took the slowest rank
//   wakeups   voluntary context switches a call, all ranks
//   packets   that the RDMA devices of rank 0's machine sent for a call (soft-RoCE's sent_pkts);
//   null
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

#include "collective_cell.h"

enum { kBatches = 10, kCallsMin = 2 * kBatches, kCallsMax = 200000 };

static int rank, size;

// Of a call whose elements are the rank + 1 everywhere: what the last one received is to be, or 0
// where there is none on this rank.
static double expected(enum collective what, int root) {
    if (kFacts[what].is_root_s && rank != root) return 0;
    switch (kFacts[what].from) {
        case ROOT:
            return root + 1;
        case IN_TURN:
            return size;
        case EVERYBODY:
            return size * (size + 1) / 2.0;
        case UP_TO_OWN:
            return (rank + 1) * (rank + 2) / 2.0;
        case BELOW_OWN:
            return rank * (rank + 1) / 2.0;
        case NOBODY:
            break;
    }
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

static int measure(enum collective what, int words, double seconds) {
    struct layout layout;
    if (!open_layout(&layout, what, words, rank, size, 1)) MPI_Abort(MPI_COMM_WORLD, 1);
    const size_t words_sent = layout.send.total, words_got = layout.recv.total;
    double* send = malloc((words_sent + 1) * sizeof(double));
    double* recv = malloc((words_got + 1) * sizeof(double));
    if (!send || !recv) MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < words_sent; ++i) send[i] = rank + 1;
    for (size_t i = 0; i < words_got; ++i) recv[i] = rank + 1;
    int wrong = 0;
    double begin = MPI_Wtime();
    for (int i = 0; i < kCallsMin; ++i) {
        const double right = words_got > 0 ? expected(what, i % size) : 0;
        // A broadcast sends it.
        if (words_got > 0) recv[words_got - 1] = what == BCAST ? rank + 1 : -1;
        call_collective(&layout, send, recv, MPI_SUM, i % size);
        wrong += right > 0 && recv[words_got - 1] != right;
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
        for (int i = 0; i < calls / kBatches; ++i) {
            call_collective(&layout, send, recv, MPI_SUM, i % size);
        }
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
        printf("{\"collective\": \"%s\", \"bytes\": %d, \"calls\": %d, \"us\": %.2f",
               kFacts[what].name, words * (int)sizeof(double), calls,
               (us[kBatches / 2 - 1] + us[kBatches / 2]) / 2);
        printf(", \"wakeups\": %.2f", sleeps / calls);
        if (packets < 0 || packets_after < 0) {
            printf(", \"packets\": null");
        } else {
            printf(", \"packets\": %.2f", (packets_after - packets) / calls);
        }
        printf(", \"wrong\": %d}\n", wrong);
        fflush(stdout);
    }
    free(send);
    free(recv);
    close_layout(&layout);
    return wrong;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int wrong = 0;
    for (int i = 3; i < argc; ++i) {
        for (char* at = argv[2]; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
            char text[64];
            enum collective what = COLLECTIVES;
            int words = 0;
            snprintf(text, sizeof text, "%s:%.*s", argv[i], (int)strcspn(at, ","), at);
            if (!parse_cell(text, &what, &words)) {
                fprintf(stderr, "wire_bench: '%s': no collective of this program, or bytes\n",
                        text);
                MPI_Abort(MPI_COMM_WORLD, 2);
            }
            wrong += measure(what, what == BARRIER ? 0 : words, atof(argv[1]));
            if (what == BARRIER) break;
        }
    }
    MPI_Finalize();
    return wrong != 0;
}
