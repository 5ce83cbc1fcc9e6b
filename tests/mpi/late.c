// SPDX-License-Identifier: BSD-3-Clause
// One rank comes late to most of its collectives; all results are right.
//
// late CALLS RANK MICROSECONDS [SECONDS RANKS]
//
// With SECONDS the clock of each rank from RANKS on shows so much more, as on another host: in a
// time namespace of its own (77: may not have one).
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support.h"

// Before MPI_Init, as a launcher starts it.
static int rank_by_launcher(void) {
    const char* const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        if (getenv(names[i])) return atoi(getenv(names[i]));
    }
    return -1;
}

static int write_text(const char* path, const char* text) {
    const int fd = open(path, O_WRONLY);
    if (fd < 0) return -1;
    const ssize_t written = write(fd, text, strlen(text));
    return close(fd) == 0 && written == (ssize_t)strlen(text) ? 0 : -1;
}

static int shift_clock(long seconds) {
    enum { kNewTime = 0x80 };  // CLONE_NEWTIME
    char offset[64];
    snprintf(offset, sizeof offset, "monotonic %ld 0\n", seconds);
    if (unshare(kNewTime) != 0 || write_text("/proc/self/timens_offsets", offset) != 0) return -1;
    const int fd = open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
    return fd >= 0 && syscall(SYS_setns, fd, kNewTime) == 0 ? close(fd) : -1;
}

int main(int argc, char** argv) {
    if (argc != 4 && argc != 6) return 2;
    const int calls = atoi(argv[1]), late = atoi(argv[2]);
    const useconds_t by = (useconds_t)atoi(argv[3]);
    if (argc == 6 && rank_by_launcher() >= atoi(argv[5]) && shift_clock(atol(argv[4])) != 0) {
        perror("late: a time namespace");
        return 77;
    }
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm halves;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &halves);
    for (int i = 0; i < calls; ++i) {
        if (rank == late) usleep(by);
        int sum = 0;
        const int one = 1;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(sum == size, "call %d: %d", i, sum);
        int word = rank == 0 ? i : -1;
        if (i % 3 == 0) MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
        expect(i % 3 != 0 || word == i, "bcast %d: %d", i, word);
        if (i % 2 == 0) MPI_Barrier(halves);
    }
    MPI_Comm_free(&halves);
    return finish();
}
