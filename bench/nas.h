// SPDX-License-Identifier: BSD-3-Clause
// What both NAS kernels share: the generator of the specification (D. Bailey et al., The NAS
// Parallel Benchmarks, RNR-94-007, section 2.3), and ranks that come late.
#pragma once

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// x(k + 1) = 5^13 x(k) modulo 2^46; a number is x(k) / 2^46.
static const uint64_t kNasFactor = 1220703125u, kNasModulus = (uint64_t)1 << 46;
static const uint64_t kNasSeed = 314159265u;

static uint64_t nas_times(uint64_t a, uint64_t b) {
    return (uint64_t)(((unsigned __int128)a * b) & (kNasModulus - 1));
}

// x(k) for x(0) = seed.
static uint64_t nas_skip(uint64_t seed, uint64_t k) {
    uint64_t power = kNasFactor;
    for (; k > 0; k /= 2) {
        if (k % 2 == 1) seed = nas_times(seed, power);
        power = nas_times(power, power);
    }
    return seed;
}

// The next number.
static double nas_next(uint64_t* x) {
    *x = nas_times(*x, kNasFactor);
    return (double)*x / (double)kNasModulus;
}

// In each iteration one rank, in turn, comes so much later.
static void nas_come_late(int iteration, int rank, int size, long microseconds) {
    if (microseconds == 0 || iteration % size != rank) return;
    const struct timespec pause = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&pause, NULL);
}

// One line of JSON by rank 0, with the time of the slowest rank. Returns what main() does.
static int nas_report(const char* kernel, char class, int size, long late_us, double seconds,
                      int is_right) {
    int rank, all_right = 0;
    double slowest = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&is_right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("{\"kernel\": \"%s\", \"class\": \"%c\", \"ranks\": %d, \"late_us\": %ld, "
               "\"seconds\": %.6f, \"verified\": %s}\n",
               kernel, class, size, late_us, slowest, all_right ? "true" : "false");
    }
    MPI_Finalize();
    return all_right ? 0 : 1;
}

// "KERNEL S|W|A [MICROSECONDS]". Ends the program where it is anything else.
static void nas_arguments(int argc, char** argv, const char* kernel, char* class, long* late_us) {
    const int is_well = (argc == 2 || argc == 3) && strlen(argv[1]) == 1 && strchr("SWA", *argv[1]);
    if (!is_well) {
        fprintf(stderr, "usage: %s S|W|A [MICROSECONDS]\n", kernel);
        exit(2);
    }
    *class = *argv[1];
    *late_us = argc == 3 ? atol(argv[2]) : 0;
}
