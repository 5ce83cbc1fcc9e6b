/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that may have MPI or not, and asks by weak symbols; as some libraries do. With
 * no_profiling.c's MPI, or with a real one by dlopen. */
#include <dlfcn.h>
#include <stdio.h>

#pragma weak MPI_Init
#pragma weak MPI_Initialized
#pragma weak MPI_Finalized
#pragma weak PMPI_Initialized
#pragma weak PMPI_Finalized
#pragma weak MPI_Finalize
#pragma weak MPI_Comm_rank
int MPI_Init(int*, char***);
int MPI_Finalize(void);
int MPI_Initialized(int*);
int MPI_Finalized(int*);
int PMPI_Initialized(int*);
int PMPI_Finalized(int*);
int MPI_Comm_rank(int, int*);

static void ask(const char* when) {
    int flags[4] = {-1, -1, -1, -1};
    if (MPI_Init) {
        MPI_Initialized(&flags[0]);
        MPI_Finalized(&flags[1]);
        PMPI_Initialized(&flags[2]);
        PMPI_Finalized(&flags[3]);
    }
    printf("%s: %d %d %d %d\n", when, flags[0], flags[1], flags[2], flags[3]);
}

/* weak [LIBRARY]: loads that MPI after a first look. */
int main(int argc, char** argv) {
    ask("before");
    ask("again");
    if (argc > 1 && !dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) {
        puts(dlerror());
        return 2;
    }
    if (argc > 1) ask("loaded");
    int has_mpi = 0;
    if (MPI_Init && (argc > 1 || MPI_Comm_rank)) {
        has_mpi = 1;
        MPI_Init(&argc, &argv);
        ask("running");
        MPI_Finalize();
        ask("ended");
    }
    printf("has MPI: %d\n", has_mpi);
    return 0;
}
