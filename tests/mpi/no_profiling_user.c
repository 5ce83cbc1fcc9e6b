/* SPDX-License-Identifier: BSD-3-Clause */
/* A program for the MPI of no_profiling.c. */
#include <stdio.h>

int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Barrier(int comm);
int MPI_Allreduce(const void *send, void *recv, int count, int type, int op, int comm);

int main(int argc, char **argv) {
    int mine = 7, sum = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 5; ++i) {
        MPI_Barrier(0);
        MPI_Allreduce(&mine, &sum, 1, 0, 0, 0);
    }
    MPI_Finalize();
    printf("sum %d\n", sum);
    return sum == 7 ? 0 : 1;
}
