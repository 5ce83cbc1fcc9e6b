// SPDX-License-Identifier: BSD-3-Clause
// A program whose last MPI calls, MPI_Finalize among them, come after main(): from a handler of
// exit() that is older than MPI_Init, from a destructor of the program or of a library that it
// loaded, or from another thread. On new communicators, of sizes and kinds not seen before.
//
// exits atexit|destructor|library FILE|thread|thread_early [used]
#include <dlfcn.h>
#include <pthread.h>

#include "support.h"

static void use(MPI_Comm comm, int count) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int* mine = calloc((size_t)count, sizeof *mine);
    int* all = calloc((size_t)count * (size_t)size, sizeof *all);
    for (int i = 0; i < count; ++i) mine[i] = rank + i;
    MPI_Allreduce(mine, all, count, MPI_INT, MPI_SUM, comm);
    const int last = size * (count - 1) + size * (size - 1) / 2;
    expect(all[count - 1] == last, "sum of %d: %d, not %d", count, all[count - 1], last);
    MPI_Allgather(mine, count, MPI_INT, all, count, MPI_INT, comm);
    expect(all[count * (size - 1)] == size - 1, "gathered %d", all[count * (size - 1)]);
    for (int i = 0; i < count; ++i) mine[i] = rank == 0 ? i : -1;
    MPI_Bcast(mine, count, MPI_INT, 0, comm);
    expect(mine[count - 1] == count - 1, "broadcast %d", mine[count - 1]);
    MPI_Barrier(comm);
    free(mine);
    free(all);
}

static void use_new_ones(void) {
    const int counts[] = {1, 3, 50, 3000, 40000};
    MPI_Comm copy, reversed;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 5; ++i) {
            use(copy, counts[i]);
            use(reversed, counts[i]);
            use(MPI_COMM_WORLD, counts[i] + 1);
        }
    }
    MPI_Comm_free(&copy);
}

void end_late(void);  // also for a library
void end_late(void) {
    use_new_ones();
    tell_checks();
    MPI_Finalize();
}

#ifndef TESTS_MPI_EXITS_LIBRARY
static const char* way = "";

static void at_exit(void) {
    if (!strcmp(way, "atexit")) end_late();
}

static void __attribute__((destructor)) destroy(void) {
    if (!strcmp(way, "destructor")) end_late();
}

static void* in_thread(void* finalizes) {
    use_new_ones();
    if (finalizes) {
        tell_checks();
        MPI_Finalize();
    }
    return NULL;
}

int main(int argc, char** argv) {
    way = argc > 1 ? argv[1] : "";
    atexit(at_exit);
    const int in_library = !strcmp(way, "library");
    if (in_library && !dlopen(argv[2], RTLD_NOW | RTLD_LOCAL)) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (argc > 2 + in_library) use_new_ones();
    const int with_thread = !strncmp(way, "thread", 6);
    if (with_thread && provided == MPI_THREAD_MULTIPLE) {
        pthread_t thread;
        pthread_create(&thread, NULL, in_thread, strcmp(way, "thread") ? NULL : (void*)way);
        pthread_join(thread, NULL);
        if (strcmp(way, "thread")) end_late();
    } else if (with_thread) {
        end_late();
    }
    return 0;
}
#else
static void __attribute__((destructor)) destroy(void) { end_late(); }
#endif
