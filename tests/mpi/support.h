// SPDX-License-Identifier: BSD-3-Clause
// What the test programs share: counted checks, guarded buffers, repeatable data, communicators.
//
// The programs use the MPI standard only, so each of them also runs (and must pass) without Tutti.
// Totals travel by point-to-point messages, since collectives are what is being tested.
#ifndef TESTS_MPI_SUPPORT_H
#define TESTS_MPI_SUPPORT_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kGuardBytes = 64, kGuardValue = 0xA5, kPoison = 0x5A, kFailuresShown = 10 };

static long long checks_made = 0;
static long long checks_failed = 0;

// Threads may check at once, so the counters are atomic.
static inline int expect(int holds, const char* format, ...) {
    __atomic_add_fetch(&checks_made, 1, __ATOMIC_RELAXED);
    if (holds) return 1;
    if (__atomic_fetch_add(&checks_failed, 1, __ATOMIC_RELAXED) >= kFailuresShown) return 0;
    char line[512];
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "FAIL rank %d: %s\n", rank, line);
    return 0;
}

// Rank 0 prints "errors N", of all ranks. By messages: collectives are what may no longer work.
static inline void print_errors(int errors) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != 0) MPI_Send(&errors, 1, MPI_INT, 0, 4712, MPI_COMM_WORLD);
    for (int peer = 1; rank == 0 && peer < size; ++peer) {
        int theirs = 0;
        MPI_Recv(&theirs, 1, MPI_INT, peer, 4712, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        errors += theirs;
    }
    if (rank == 0) printf("errors %d\n", errors);
}

// Rank 0 prints "ok N" with the number of checks made by all ranks, or "failed N". Nonzero where
// this rank, or on rank 0 any, has failed.
static inline int tell_checks(void) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long long mine[2] = {checks_made, checks_failed};
    if (rank == 0) {
        for (int peer = 1; peer < size; ++peer) {
            long long theirs[2];
            MPI_Recv(theirs, 2, MPI_LONG_LONG, peer, 4711, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            mine[0] += theirs[0];
            mine[1] += theirs[1];
        }
        if (mine[1]) {
            printf("failed %lld of %lld\n", mine[1], mine[0]);
        } else {
            printf("ok %lld\n", mine[0]);
        }
        fflush(stdout);
    } else {
        MPI_Send(mine, 2, MPI_LONG_LONG, 0, 4711, MPI_COMM_WORLD);
    }
    return mine[1] != 0;
}

// Ends the program with its checks told.
static inline int finish(void) {
    const int failed = tell_checks();
    MPI_Finalize();
    return failed;
}

// splitmix64: all ranks derive the same choices from the same seed.
static inline uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static inline uint64_t draw(uint64_t* state) { return mix(++*state); }

static inline unsigned char pattern(uint64_t key, size_t index) {
    return (unsigned char)(key + index * 131 + (index >> 8) * 17 + (index >> 16) * 29);
}

static inline void fill(void* data, size_t bytes, uint64_t key) {
    const uint64_t start = mix(key);
    for (size_t i = 0; i < bytes; ++i) ((unsigned char*)data)[i] = pattern(start, i);
}

// The first differing index, or -1.
static inline long long differs(const void* data, size_t bytes, uint64_t key) {
    const uint64_t start = mix(key);
    for (size_t i = 0; i < bytes; ++i) {
        if (((const unsigned char*)data)[i] != pattern(start, i)) return (long long)i;
    }
    return -1;
}

// A buffer between two guards, `shift` bytes off its natural alignment, full of poison.
typedef struct Buffer {
    unsigned char* base;
    unsigned char* data;
    size_t bytes;
} Buffer;

static inline Buffer make_buffer(size_t bytes, size_t shift) {
    Buffer buffer;
    buffer.bytes = bytes;
    buffer.base = (unsigned char*)malloc(bytes + 2 * kGuardBytes + shift);
    if (!buffer.base) {
        fprintf(stderr, "no memory for a test buffer of %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 3);
        exit(3);
    }
    buffer.data = buffer.base + kGuardBytes + shift;
    memset(buffer.base, kGuardValue, kGuardBytes + shift);
    memset(buffer.data, kPoison, bytes);
    memset(buffer.data + bytes, kGuardValue, kGuardBytes);
    return buffer;
}

static inline void drop_buffer(Buffer* buffer, const char* what) {
    int intact = 1;
    for (unsigned char* p = buffer->base; p < buffer->data; ++p) intact &= *p == kGuardValue;
    for (int i = 0; i < kGuardBytes; ++i) intact &= buffer->data[buffer->bytes + i] == kGuardValue;
    expect(intact, "%s: wrote outside the buffer of %zu bytes", what, buffer->bytes);
    free(buffer->base);
    buffer->base = NULL;
}

static inline int is_poison(const Buffer* buffer) {
    for (size_t i = 0; i < buffer->bytes; ++i) {
        if (buffer->data[i] != kPoison) return 0;
    }
    return 1;
}

// Communicators over which everything is tried; this rank may stand outside of some (comm is null).
typedef struct Group {
    MPI_Comm comm;
    const char* name;
    int rank;
    int size;
} Group;

enum { kGroupsMax = 8 };

static inline Group describe(MPI_Comm comm, const char* name) {
    Group group = {comm, name, -1, 0};
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_rank(comm, &group.rank);
        MPI_Comm_size(comm, &group.size);
    }
    return group;
}

// World, a duplicate, halves, reversed, all but the first, all but the last (these overlap), self.
static inline int make_groups(Group* groups) {
    int rank, size, count = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm comm;
    groups[count++] = describe(MPI_COMM_WORLD, "world");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    groups[count++] = describe(comm, "dup");
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    groups[count++] = describe(comm, "split");
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comm);
    groups[count++] = describe(comm, "reversed");
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, rank, &comm);
    groups[count++] = describe(comm, "all but first");
    MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1 ? MPI_UNDEFINED : 0, rank, &comm);
    groups[count++] = describe(comm, "all but last");
    groups[count++] = describe(MPI_COMM_SELF, "self");
    return count;
}

static inline void free_groups(Group* groups, int count) {
    for (int i = 0; i < count; ++i) {
        MPI_Comm comm = groups[i].comm;
        if (comm == MPI_COMM_NULL || comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF) continue;
        MPI_Comm_free(&groups[i].comm);
    }
}

#endif
