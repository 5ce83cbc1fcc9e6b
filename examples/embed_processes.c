/* SPDX-License-Identifier: BSD-3-Clause */
/* Tutti without MPI in a plain C program: the ranks are processes that were forked. They meet over
 * pipes through their parent, once; after that everything goes through shared memory.
 *
 * Usage: embed_processes [RANKS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tutti/tutti.h"

enum { RANKS_MAX = 64, ELEMENTS = 100000 };

struct seat {
    int to_parent;
    int from_parent;
    int size;
};

static int write_all(int fd, const void *data, size_t bytes) {
    const char *at = data;
    while (bytes > 0) {
        ssize_t now = write(fd, at, bytes);
        if (now <= 0) return -1;
        at += now;
        bytes -= (size_t)now;
    }
    return 0;
}

static int read_all(int fd, void *data, size_t bytes) {
    char *at = data;
    while (bytes > 0) {
        ssize_t now = read(fd, at, bytes);
        if (now <= 0) return -1;
        at += now;
        bytes -= (size_t)now;
    }
    return 0;
}

/* A child's side: its own part up, everybody's parts down. */
static int allgather(void *user, const void *in, void *out, size_t bytes) {
    const struct seat *seat = user;
    if (write_all(seat->to_parent, &bytes, sizeof bytes) != 0) return -1;
    if (write_all(seat->to_parent, in, bytes) != 0) return -1;
    return read_all(seat->from_parent, out, bytes * (size_t)seat->size);
}

/* The parent's side: serves allgathers until the children close their pipes. */
static int serve(int size, int from[], int to[]) {
    for (;;) {
        size_t bytes = 0;
        char *all = NULL;
        for (int rank = 0; rank < size; ++rank) {
            if (read_all(from[rank], &bytes, sizeof bytes) != 0) return rank == 0 ? 0 : -1;
            if (!all) all = malloc(bytes * (size_t)size);
            if (!all || read_all(from[rank], all + bytes * (size_t)rank, bytes) != 0) return -1;
        }
        for (int rank = 0; rank < size; ++rank) {
            if (write_all(to[rank], all, bytes * (size_t)size) != 0) return -1;
        }
        free(all);
    }
}

static int run_rank(uint32_t rank, uint32_t size, struct seat *seat) {
    char message[256];
    tutti_context_params context_params = {.struct_bytes = sizeof context_params,
                                           .ranks_on_node = size};
    tutti_context *context;
    if (tutti_context_create(&context_params, &context, message, sizeof message) != TUTTI_OK) {
        fprintf(stderr, "embed_processes: %s\n", message);
        return 1;
    }
    tutti_team_params params = {.struct_bytes = sizeof params,
                                .rank = rank,
                                .size = size,
                                .allgather = allgather,
                                .allgather_user = seat,
                                .name = "the processes",
                                .requests = 2};
    tutti_team *team;
    if (tutti_team_create(context, &params, &team, message, sizeof message) != TUTTI_OK) {
        fprintf(stderr, "embed_processes: %s\n", message);
        return 1;
    }
    /* Two requests under way at once, twice: a vector goes from rank 0 to all while all add up a
     * number. */
    static int32_t vector[ELEMENTS];
    int32_t mine = (int32_t)rank + 1, sum = 0;
    const tutti_call calls[2] = {
        {.collective = TUTTI_BCAST, .recv = vector, .bytes = sizeof vector},
        {.collective = TUTTI_ALLREDUCE, .send = &mine, .recv = &sum, .bytes = sizeof sum,
         .dtype = TUTTI_INT32, .op = TUTTI_SUM},
    };
    tutti_request requests[2];
    for (int i = 0; i < 2; ++i) {
        if (tutti_request_init(&requests[i], team, &calls[i]) != TUTTI_OK) return 1;
    }
    int wrong = 0;
    for (int32_t turn = 1; turn <= 2; ++turn) {
        if (rank == 0) {
            for (int i = 0; i < ELEMENTS; ++i) vector[i] = turn * i;
        }
        for (int i = 0; i < 2; ++i) {
            if (tutti_request_start(&requests[i]) != TUTTI_OK) return 1;
        }
        while (tutti_request_test(&requests[1]) == TUTTI_PENDING) {
            /* A program would compute here. */
        }
        if (tutti_request_wait(&requests[0]) != TUTTI_OK) return 1;
        for (int i = 0; i < ELEMENTS; ++i) wrong += vector[i] != turn * i;
        wrong += sum != (int32_t)(size * (size + 1) / 2);
    }
    tutti_team_destroy(team);
    tutti_context_destroy(context);
    return wrong != 0;
}

int main(int argc, char **argv) {
    const int size = argc > 1 ? atoi(argv[1]) : 4;
    if (size < 1 || size > RANKS_MAX) {
        fprintf(stderr, "embed_processes: RANKS is 1 to %d, not %s\n", RANKS_MAX, argv[1]);
        return 2;
    }
    int from[RANKS_MAX];
    int to[RANKS_MAX];
    for (int rank = 0; rank < size; ++rank) {
        int up[2];
        int down[2];
        if (pipe(up) != 0 || pipe(down) != 0) return 1;
        const pid_t child = fork();
        if (child < 0) return 1;
        if (child == 0) {
            /* Only this rank's own ends stay open, so that the parent sees who has left. */
            for (int other = 0; other < rank; ++other) {
                close(from[other]);
                close(to[other]);
            }
            close(up[0]);
            close(down[1]);
            struct seat seat = {up[1], down[0], size};
            return run_rank((uint32_t)rank, (uint32_t)size, &seat);
        }
        close(up[1]);
        close(down[0]);
        from[rank] = up[0];
        to[rank] = down[1];
    }
    int failed = serve(size, from, to) != 0;
    for (int rank = 0; rank < size; ++rank) {
        int status = 0;
        if (wait(&status) < 0 || status != 0) failed = 1;
    }
    if (failed) return 1;
    printf("%d processes: two broadcasts of %zu bytes are right on all of them\n", size,
           ELEMENTS * sizeof(int32_t));
    return 0;
}
