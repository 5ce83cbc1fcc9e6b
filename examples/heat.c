/* SPDX-License-Identifier: BSD-3-Clause */
/* Heat in a square plate: an ordinary MPI program that knows nothing of Tutti.
 *
 *     mpicc -O2 examples/heat.c -o heat -lm
 *     mpirun -n 2 ./heat                      with the MPI's own collectives
 *     tutti run -- mpirun -n 2 ./heat         with Tutti's
 *
 * The plate is cut into bands of rows, one for each rank. It conducts heat the better the hotter it
 * is, so the longest stable time step depends on the hottest spot anywhere: every step begins with
 * an MPI_Allreduce of that maximum and ends with one of the largest change, which says when to
 * stop. Neighbours swap their border rows by MPI_Sendrecv. MPI_Bcast spreads the parameters,
 * MPI_Reduce adds up the heat now and then, and MPI_Gather brings the plate to rank 0 in the end.
 *
 * A maximum is the same in whatever order it is taken, and so are all the temperatures: the
 * checksum does not depend on the number of ranks, on the MPI, or on Tutti.
 *
 * Arguments: [points on a side = 32] [steps at most = 20000]. The number of ranks divides the
 * points. */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int points; /* on a side, without the border */
    int rows;   /* of this rank */
    int rank, ranks;
    double *now, *next; /* rows + 2 lines of points + 2: with the border and the neighbours' rows */
} plate;

static double time_in_collectives;

/* The largest of all ranks' values. */
static double largest(double value) {
    double result;
    const double start = MPI_Wtime();
    MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    time_in_collectives += MPI_Wtime() - start;
    return result;
}

static double total(double value) {
    double result = 0;
    const double start = MPI_Wtime();
    MPI_Reduce(&value, &result, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    time_in_collectives += MPI_Wtime() - start;
    return result;
}

static double conductivity(double temperature) { return 0.1 + 0.9 * temperature; }

/* The upper edge of the plate is hot in the middle, the others are cold. */
static void start_cold(plate* p) {
    const size_t width = (size_t)p->points + 2;
    const size_t lines = (size_t)p->rows + 2;
    p->now = calloc(width * lines, sizeof(double));
    p->next = calloc(width * lines, sizeof(double));
    if (!p->now || !p->next) {
        fprintf(stderr, "heat: rank %d has no memory for its part of the plate\n", p->rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (p->rank != 0) return;
    for (int x = 1; x <= p->points; ++x) {
        const double heat = sin(3.14159265358979 * x / (p->points + 1));
        p->now[x] = p->next[x] = heat;
    }
}

/* Fetches the rows next to ours from the ranks that own them. */
static void swap_borders(plate* p) {
    const int width = p->points + 2;
    const int above = p->rank > 0 ? p->rank - 1 : MPI_PROC_NULL;
    const int below = p->rank + 1 < p->ranks ? p->rank + 1 : MPI_PROC_NULL;
    double* first = p->now + width;
    double* last = p->now + (size_t)p->rows * width;
    MPI_Sendrecv(first, width, MPI_DOUBLE, above, 1, last + width, width, MPI_DOUBLE, below, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(last, width, MPI_DOUBLE, below, 2, p->now, width, MPI_DOUBLE, above, 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Moves heat for the time dt; returns the largest change of this rank's points. */
static double step(plate* p, double dt) {
    const size_t width = (size_t)p->points + 2;
    double change = 0;
    for (int y = 1; y <= p->rows; ++y) {
        const double* here = p->now + (size_t)y * width;
        double* out = p->next + (size_t)y * width;
        for (int x = 1; x <= p->points; ++x) {
            const double around = here[x - 1] + here[x + 1] + here[x - width] + here[x + width];
            const double flow = conductivity(here[x]) * (around - 4 * here[x]);
            out[x] = here[x] + dt * flow;
            change = fmax(change, fabs(dt * flow));
        }
    }
    double* old = p->now;
    p->now = p->next;
    p->next = old;
    return change;
}

static double hottest(const plate* p) {
    const size_t count = ((size_t)p->rows + 2) * ((size_t)p->points + 2);
    double most = 0;
    for (size_t i = 0; i < count; ++i) most = fmax(most, p->now[i]);
    return most;
}

static double heat_of(const plate* p) {
    double sum = 0;
    for (int y = 1; y <= p->rows; ++y) {
        for (int x = 1; x <= p->points; ++x) sum += p->now[(size_t)y * (p->points + 2) + x];
    }
    return sum;
}

/* On rank 0, a checksum over the bits of the whole plate; elsewhere 0. */
static uint64_t checksum(const plate* p) {
    const int width = p->points + 2;
    const int count = p->rows * width;
    double* whole = NULL;
    uint64_t sum = 14695981039346656037u;
    if (p->rank == 0) whole = malloc((size_t)count * p->ranks * sizeof(double));
    MPI_Gather(p->now + width, count, MPI_DOUBLE, whole, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (p->rank != 0) return 0;
    for (size_t i = 0; i < (size_t)count * p->ranks; ++i) {
        uint64_t bits;
        memcpy(&bits, whole + i, sizeof bits);
        sum = (sum ^ bits) * 1099511628211u;
    }
    free(whole);
    return sum;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    plate p = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p.ranks);

    int parameters[2] = {32, 20000};
    if (p.rank == 0) {
        for (int i = 1; i < argc && i <= 2; ++i) parameters[i - 1] = atoi(argv[i]);
    }
    MPI_Bcast(parameters, 2, MPI_INT, 0, MPI_COMM_WORLD);
    p.points = parameters[0];
    if (p.points < 1 || parameters[1] < 1 || p.points % p.ranks != 0) {
        if (p.rank == 0) fprintf(stderr, "heat: points must be a multiple of the ranks\n");
        MPI_Finalize();
        return 2;
    }
    p.rows = p.points / p.ranks;
    start_cold(&p);

    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    double heat = 0;
    double change = 1;
    int steps = 0;
    while (steps < parameters[1] && change > 1e-9) {
        const double dt = 0.24 / conductivity(largest(hottest(&p)));
        swap_borders(&p);
        change = largest(step(&p, dt));
        if (++steps % 100 == 0) heat = total(heat_of(&p));
    }
    const double seconds = MPI_Wtime() - start;

    const uint64_t sum = checksum(&p);
    if (p.rank == 0) {
        printf("heat: %d ranks, %d steps, heat %.6f, checksum %016llx\n", p.ranks, steps, heat,
               (unsigned long long)sum);
        printf("heat: %.3f s, of which %.3f s in collectives\n", seconds, time_in_collectives);
    }
    free(p.now);
    free(p.next);
    MPI_Finalize();
    return 0;
}
