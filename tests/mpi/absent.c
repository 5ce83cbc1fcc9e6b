// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are away when others need them:
//
//   absent computing FILE      every root computes after its broadcast until all have received
//                              it; FILE is where they say so, since a root that calls MPI would
//                              not be away
//   absent stopped [SECONDS]   rank 1 is stopped amid collectives for so long that it seems dead
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

enum { kBytes = 40000, kPatienceSeconds = 60 };

static int rank, size;

static void broadcast(uint64_t key, int root) {
    Buffer buffer = make_buffer(kBytes, 0);
    if (rank == root) fill(buffer.data, kBytes, key);
    MPI_Bcast(buffer.data, kBytes, MPI_BYTE, root, MPI_COMM_WORLD);
    const long long wrong = differs(buffer.data, kBytes, key);
    expect(wrong < 0, "broadcast %llu differs at %lld", (unsigned long long)key, wrong);
    drop_buffer(&buffer, "broadcast");
}

static void computing(const char* path) {
    int file = -1;
    if (rank == 0) {
        file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (ftruncate(file, sizeof(atomic_int)) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) file = open(path, O_RDWR);
    atomic_int* arrived =
        mmap(NULL, sizeof(atomic_int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (arrived == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 3);
    for (int i = 0; i < 40; ++i) {
        const int root = i % size;
        broadcast(1000 + (uint64_t)i, root);
        atomic_fetch_add(arrived, 1);
        if (rank != root) continue;
        const time_t end = time(NULL) + kPatienceSeconds;
        while (atomic_load(arrived) < (i + 1) * size && time(NULL) < end) usleep(100);
        expect(atomic_load(arrived) >= (i + 1) * size, "broadcast %d waits for its root", i);
    }
    close(file);
}

// Somebody else has to wake who is stopped.
static void stop(unsigned seconds) {
    const pid_t self = getpid();
    const pid_t child = fork();
    if (child == 0) {
        sleep(seconds);
        kill(self, SIGCONT);
        _exit(0);
    }
    raise(SIGSTOP);
    waitpid(child, NULL, 0);
}

static void stopped(unsigned seconds) {
    for (int i = 0; i < 300; ++i) {
        if (i == 100 && rank == 1) stop(seconds);
        broadcast(2000 + (uint64_t)i, i % size);
        int sum = 0;
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(sum == i * size, "sum %d of call %d", sum, i);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int call = 0; call < 10; ++call) MPI_Barrier(MPI_COMM_WORLD);
    if (argc == 3 && !strcmp(argv[1], "computing")) {
        computing(argv[2]);
    } else if ((argc == 2 || argc == 3) && !strcmp(argv[1], "stopped")) {
        stopped(argc == 3 ? (unsigned)atoi(argv[2]) : 7);
    } else {
        fprintf(stderr, "absent computing FILE | stopped [SECONDS]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return finish();
}
