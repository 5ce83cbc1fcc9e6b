/* SPDX-License-Identifier: BSD-3-Clause */
/* denied CALL ERROR RANK PROGRAM...: runs a program in which a system call fails, on one rank or,
   as rank -1, on all. Calls and errors are numbers. */
#include "denied.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
    const char* names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};
    const char* own = NULL;
    if (argc < 5) return 2;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !own; ++i) own = getenv(names[i]);
    if (!own) {
        fprintf(stderr, "denied: no launcher says which rank this is\n");
        return 2;
    }
    const int rank = atoi(argv[3]);
    if ((rank < 0 || rank == atoi(own)) && deny_call(atoi(argv[1]), atoi(argv[2])) != 0) {
        perror("denied");
        return 2;
    }
    execvp(argv[4], &argv[4]);
    perror(argv[4]);
    return 2;
}
