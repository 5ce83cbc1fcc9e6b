// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts in which one rank is outside MPI until all others have the data: which they tell each
// other by files, so that nothing but the broadcast itself can help them.
//
// apart root RANK BYTES ROUNDS FOLDER  RANK broadcasts and computes; what was lost on the way must
//                                       be sent again meanwhile
// apart late RANK BYTES ROUNDS FOLDER  RANK comes to the broadcast of another only then
// apart idle SECONDS                   nobody does anything for so long: of the thread that
//                                       serves multicast, if there is one, nothing may be seen
//
// FOLDER is common to all hosts. Plain messages pass the first, too; the second only where no rank
// depends on RANK.
#include <dirent.h>
#include <unistd.h>

#include "support.h"

enum { kPathMax = 400, kPatienceSeconds = 30, kQuietTriesMax = 20, kWarmups = 4 };

static int world_rank, world_size;

static void path_of(char* path, const char* folder, int round, int rank) {
    snprintf(path, kPathMax, "%s/has-%d-%d", folder, round, rank);
}

static void tell(const char* folder, int round) {
    char path[kPathMax];
    path_of(path, folder, round, world_rank);
    FILE* file = fopen(path, "w");
    expect(file != NULL, "cannot write %s", path);
    if (file) fclose(file);
}

static int have_it(const char* folder, int round, int absent) {
    int count = 0;
    for (int rank = 0; rank < world_size; ++rank) {
        char path[kPathMax];
        path_of(path, folder, round, rank);
        if (rank != absent && access(path, F_OK) == 0) ++count;
    }
    return count;
}

// Computes, as far as MPI can see, until all others have the data.
static void stay_away(const char* folder, int round, int absent) {
    const double begin = MPI_Wtime();
    int count = 0;
    // Once it was in vain, it is not waited for again.
    while ((count = have_it(folder, round, absent)) < world_size - 1 && checks_failed == 0 &&
           MPI_Wtime() - begin < kPatienceSeconds) {
        usleep(1000);
    }
    expect(count == world_size - 1, "round %d: only %d of %d others got the data without rank %d",
           round, count, world_size - 1, absent);
}

static void broadcast(int root, size_t bytes, int round) {
    Buffer data = make_buffer(bytes, 0);
    if (world_rank == root) fill(data.data, bytes, (uint64_t)round);
    MPI_Bcast(data.data, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    expect(differs(data.data, bytes, (uint64_t)round) < 0, "round %d: the data", round);
    drop_buffer(&data, "broadcast");
}

static void absent_root(int absent, size_t bytes, int round, const char* folder) {
    broadcast(absent, bytes, round);
    if (world_rank == absent) {
        stay_away(folder, round, absent);
    } else {
        tell(folder, round);
    }
}

static void late(int absent, size_t bytes, int round, const char* folder) {
    const int root = (absent + world_size / 2) % world_size;
    if (world_rank == absent) stay_away(folder, round, absent);
    broadcast(root, bytes, round);
    if (world_rank != absent) tell(folder, round);
}

// How often the threads of that name were switched to so far; -1 without one.
static long switches(const char* name) {
    char path[kPathMax], line[128];
    long sum = -1;
    DIR* tasks = opendir("/proc/self/task");
    for (struct dirent* task = NULL; tasks && (task = readdir(tasks));) {
        snprintf(path, sizeof path, "/proc/self/task/%.20s/status", task->d_name);
        FILE* file = fopen(path, "r");
        long number = 0;
        int mine = 0;
        while (file && fgets(line, sizeof line, file)) {
            char found[32];
            if (sscanf(line, "Name: %31s", found) == 1) mine = !strcmp(found, name);
            if (mine && (sscanf(line, "voluntary_ctxt_switches: %ld", &number) == 1 ||
                         sscanf(line, "nonvoluntary_ctxt_switches: %ld", &number) == 1)) {
                sum = (sum < 0 ? 0 : sum) + number;
            }
        }
        if (file) fclose(file);
    }
    if (tasks) closedir(tasks);
    return sum;
}

// The first seconds may still see the end of what came before.
static void idle(unsigned seconds) {
    broadcast(0, 100000, 1);
    long before = 0, after = switches("tutti-mcast");
    int tries = 0;
    do {
        before = after;
        sleep(seconds);
        after = switches("tutti-mcast");
    } while (after != before && ++tries < kQuietTriesMax);
    expect(after == before, "the idle thread woke %ld times in %u s", after - before, seconds);
    printf("thread %s\n", after < 0 ? "none" : "idle");
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    for (int call = 0; call < kWarmups; ++call) MPI_Barrier(MPI_COMM_WORLD);
    if (argc == 3 && !strcmp(argv[1], "idle")) {
        idle((unsigned)atoi(argv[2]));
        return finish();
    }
    if (argc != 6 || (strcmp(argv[1], "root") != 0 && strcmp(argv[1], "late") != 0)) {
        fprintf(stderr, "apart root|late RANK BYTES ROUNDS FOLDER, or apart idle SECONDS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int round = 0; round < atoi(argv[4]); ++round) {
        (strcmp(argv[1], "root") == 0 ? absent_root : late)(atoi(argv[2]), (size_t)atol(argv[3]),
                                                            round, argv[5]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish();
}
