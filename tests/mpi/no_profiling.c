/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI of one rank; MPI_ names only, but for those that PROFILED, STANDARD and KNOWN ask for. */
/* With BEHIND it is a layer over the MPI of that file, which it loads where nobody sees it. */
#include <dlfcn.h>
#include <string.h>

#ifdef BEHIND
__attribute__((constructor)) static void load_it(void) { dlopen(BEHIND, RTLD_NOW | RTLD_LOCAL); }
#endif

int MPI_Init(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    return 0;
}
int MPI_Finalize(void) { return 0; }
int MPI_Barrier(int comm) {
    (void)comm;
    return 0;
}
int MPI_Bcast(void *buffer, int count, int type, int root, int comm) {
    (void)buffer, (void)count, (void)type, (void)root, (void)comm;
    return 0;
}
int MPI_Allreduce(const void *send, void *recv, int count, int type, int op, int comm) {
    (void)type, (void)op, (void)comm;
    memcpy(recv, send, (size_t)count * sizeof(int));
    return 0;
}
#ifdef PROFILED
int PMPI_Init(int *argc, char ***argv) { return MPI_Init(argc, argv); }
int PMPI_Barrier(int comm) { return MPI_Barrier(comm); }
#endif
#ifdef STANDARD
int PMPI_Abi_get_version(int *major, int *minor) {
    *major = 1;
    *minor = 0;
    return 0;
}
#endif
#ifdef KNOWN
int PMPI_Get_library_version(char *version, int *length) {
    strcpy(version, "MPICH Version: 0");
    *length = (int)strlen(version);
    return 0;
}
#endif
