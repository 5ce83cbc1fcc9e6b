// SPDX-License-Identifier: BSD-3-Clause
// How long collectives take in SimGrid's SMPI: scale_bench NS_PER_KIB COLLECTIVE:BYTES...
//
// Plain MPI but for three calls of SMPI's own: all ranks begin a call at the same moment of virtual
// time, as those of a replay do (nanosleep); buffers are shared by all ranks and hold nothing
// sensible, so that a thousand of them fit into memory (SMPI_SHARED_MALLOC); folding costs
// NS_PER_KIB nanoseconds a KiB (smpi_execute_flops on a host of 10^9 flops a second), where SMPI's
// own operators cost nothing. A figure is the time from there until the last rank is done, of one
// call, since virtual time is the same on every run. Rank 0 prints `COLLECTIVE BYTES SECONDS` for
// each, and the root is rank 0.
//
// Collectives and BYTES are those of collective_cell.h, but for the lengths of vector forms: all
// blocks are equally long, as in the schedules of `tutti explain`.
#include <math.h>
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collective_cell.h"

struct cell {
    enum collective collective;
    int words;  // of 8 bytes
};

static int usage(const char* wrong) {
    fprintf(stderr, "scale_bench: %s; usage: scale_bench NS_PER_KIB COLLECTIVE:BYTES...\n", wrong);
    return 2;
}

// Set once, before ranks are there, and alike on all of them.
static double fold_ns_per_word;

static void fold(void* in, void* inout, int* words, MPI_Datatype* type) {
    (void)in;
    (void)inout;
    (void)type;
    const double ns = floor(*words * fold_ns_per_word);
    if (ns > 0) smpi_execute_flops(ns);
}

// From the common beginning until the last rank is done; at rank 0.
static double measure(const struct cell* cell, int rank, int ranks, MPI_Op op) {
    struct layout layout;
    if (!open_layout(&layout, cell->collective, cell->words, rank, ranks, 0)) {
        fprintf(stderr, "scale_bench: no memory, or blocks too long for an int\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    void* send = SMPI_SHARED_MALLOC(layout.send.total * 8 + 8);
    void* recv = SMPI_SHARED_MALLOC(layout.recv.total * 8 + 8);
    MPI_Barrier(MPI_COMM_WORLD);
    const double here = MPI_Wtime();
    double latest = 0;
    MPI_Allreduce(&here, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    // Far enough that everybody has heard of it.
    const double begin = latest + 1.0;
    const double rest = begin - MPI_Wtime();
    struct timespec time = {0, lround(rest * 1e9)};
    if (time.tv_nsec >= 1000000000) time = (struct timespec){1, time.tv_nsec - 1000000000};
    nanosleep(&time, NULL);  // SMPI's
    call_collective(&layout, send, recv, op, 0);
    const double took = MPI_Wtime() - begin;
    double longest = 0;
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    SMPI_SHARED_FREE(send);
    SMPI_SHARED_FREE(recv);
    close_layout(&layout);
    return longest;
}

// False where it is none that this program has: schedules have no skewed lengths.
static int parse(const char* text, struct cell* cell) {
    return parse_cell(text, &cell->collective, &cell->words) &&
           kFacts[cell->collective].lengths != SKEWED;
}

// What SMPI does once, in the first call that asks who shares a host: a ring of all ranks. cells:
// the words that name them.
static void warm_up(char** cells, int count, int rank, int ranks, MPI_Op op) {
    int is_warm[COLLECTIVES] = {0};
    for (int i = 0; i < count; ++i) {
        struct cell cell;
        if (!parse(cells[i], &cell) || is_warm[cell.collective]++) continue;
        cell.words = 1;
        measure(&cell, rank, ranks, op);
    }
}

// Before ranks are there; the word that is wrong, or NULL.
static const char* parse_words(int argc, char** argv) {
    if (argc < 3) return "too few words";
    char* end = NULL;
    const double ns_per_kib = strtod(argv[1], &end);
    // Not where it is no number, either.
    if (end == argv[1] || *end || !(ns_per_kib >= 0 && ns_per_kib <= 1e9)) return argv[1];
    fold_ns_per_word = ns_per_kib * 8 / 1024;
    for (int i = 2; i < argc; ++i) {
        struct cell cell;
        if (!parse(argv[i], &cell)) return argv[i];
    }
    return NULL;
}

int main(int argc, char** argv) {
    const char* wrong = parse_words(argc, argv);
    if (wrong) return usage(wrong);
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Op op;
    MPI_Op_create(fold, 1, &op);
    warm_up(argv + 2, argc - 2, rank, ranks, op);
    for (int i = 2; i < argc; ++i) {
        struct cell cell;
        if (!parse(argv[i], &cell)) continue;  // not so: parse_words() has
        const double seconds = measure(&cell, rank, ranks, op);
        if (rank != 0) continue;
        printf("%s %d %.9f\n", kFacts[cell.collective].name, cell.words * 8, seconds);
        fflush(stdout);
    }
    MPI_Op_free(&op);
    MPI_Finalize();
    return 0;
}
