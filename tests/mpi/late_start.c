// SPDX-License-Identifier: BSD-3-Clause
// A host MPI whose start takes longer on this rank, preloaded behind Tutti: after the real
// MPI_Init it sleeps for LATE_START seconds. It has the real one's functions, since it needs that
// library.
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static void* real(const char* name) {
    Dl_info place;
    dladdr((void*)MPI_Comm_rank, &place);
    return dlsym(dlopen(place.dli_fname, RTLD_NOLOAD | RTLD_LAZY), name);
}

int PMPI_Init(int* argc, char*** argv) {
    const int status = ((int (*)(int*, char***))real("PMPI_Init"))(argc, argv);
    const double seconds = atof(getenv("LATE_START"));
    const struct timespec pause = {(time_t)seconds,
                                   (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&pause, NULL);
    return status;
}
