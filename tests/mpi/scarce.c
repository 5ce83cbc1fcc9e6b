// SPDX-License-Identifier: BSD-3-Clause
// Preloaded behind Tutti into one rank: while that rank is in MPI_Init, some of the allocations
// that Tutti makes fail: number SCARCE_FROM (from 1) and those that follow it, SCARCE_COUNT in all.
// Those of the host MPI succeed. Afterwards it says how many Tutti made.
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

extern void* __libc_malloc(size_t);
int PMPI_Init(int*, char***);
int PMPI_Init_thread(int*, char***, int, int*);

static int is_armed, seen, from, count;

// In the library that has the first PMPI_Init.
static int is_tutti(const void* caller) {
    Dl_info ours, one;
    if (!dladdr((void*)PMPI_Init, &ours) || !dladdr(caller, &one)) return 0;
    return ours.dli_fbase == one.dli_fbase;
}

void* malloc(size_t bytes) {
    if (is_armed && is_tutti(__builtin_return_address(0))) {
        ++seen;
        if (seen >= from && seen < from + count) return NULL;
    }
    return __libc_malloc(bytes);
}

static void arm(void) {
    from = atoi(getenv("SCARCE_FROM"));
    count = atoi(getenv("SCARCE_COUNT"));
    is_armed = 1;
}

static void disarm(void) {
    is_armed = 0;
    fprintf(stderr, "allocations of Tutti in MPI_Init: %d\n", seen);
}

int MPI_Init(int* argc, char*** argv) {
    arm();
    const int status = PMPI_Init(argc, argv);
    disarm();
    return status;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    arm();
    const int status = PMPI_Init_thread(argc, argv, required, provided);
    disarm();
    return status;
}
