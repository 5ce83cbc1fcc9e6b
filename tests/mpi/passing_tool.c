// SPDX-License-Identifier: BSD-3-Clause
// A tool that hands calls on by looking the next function up, as Recorder, THAPI, Darshan and DMTCP
// do. It counts calls by both families of names and prints the counts at the end.
//
// WITH_MPI, WITH_PMPI: which names it defines. BY: how it hands on.
//   NEXT     the same name by dlsym(RTLD_NEXT)
//   PROFILE  the PMPI_ name by dlsym(RTLD_NEXT)
//   OPENED   the PMPI_ name of the MPI's library, opened by its file name
//   LINKED   MPI_ names call the linked PMPI_ name; PMPI_ names as NEXT
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEXT, PROFILE, OPENED, LINKED };

static void* mpi_library(void) {
    static const char* const kNames[] = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12"};
    for (int i = 0; i < 3; ++i) {
        void* library = dlopen(kNames[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library) return library;
    }
    return NULL;
}

// `name` is the PMPI_ one.
static void* behind(const char* name, int is_profiling) {
    void* found = NULL;
    if (BY == OPENED) {
        void* library = mpi_library();
        if (library) found = dlsym(library, name);
    } else {
        found = dlsym(RTLD_NEXT, name + (BY == PROFILE || is_profiling ? 0 : 1));
    }
    if (found) return found;
    fprintf(stderr, "tool: no %s behind it\n", name);
    abort();
}

#ifdef WITH_MPI
#define MPI_FORM(Name, parameters, arguments)              \
    int MPI_##Name parameters {                            \
        int(*next) parameters = PMPI_##Name;               \
        ++calls_##Name[0];                                 \
        if (BY != LINKED) next = behind("PMPI_" #Name, 0); \
        return next arguments;                             \
    }
#else
#define MPI_FORM(Name, parameters, arguments)
#endif
#ifdef WITH_PMPI
#define PMPI_FORM(Name, parameters, arguments)            \
    int PMPI_##Name parameters {                          \
        int(*next) parameters = behind("PMPI_" #Name, 1); \
        ++calls_##Name[1];                                \
        return next arguments;                            \
    }
#else
#define PMPI_FORM(Name, parameters, arguments)
#endif
#define WRAP(Name, parameters, arguments)  \
    static int calls_##Name[2];            \
    PMPI_FORM(Name, parameters, arguments) \
    MPI_FORM(Name, parameters, arguments)

WRAP(Init, (int* argc, char*** argv), (argc, argv))
WRAP(Barrier, (MPI_Comm comm), (comm))
WRAP(Bcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm),
     (data, count, type, root, comm))
WRAP(Reduce,
     (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
     (in, out, count, type, op, root, comm))
WRAP(Allreduce, (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (in, out, count, type, op, comm))
WRAP(Gather,
     (const void* in, int count, MPI_Datatype type, void* out, int out_count, MPI_Datatype out_type,
      int root, MPI_Comm comm),
     (in, count, type, out, out_count, out_type, root, comm))
WRAP(Scatter,
     (const void* in, int count, MPI_Datatype type, void* out, int out_count, MPI_Datatype out_type,
      int root, MPI_Comm comm),
     (in, count, type, out, out_count, out_type, root, comm))
WRAP(Allgather,
     (const void* in, int count, MPI_Datatype type, void* out, int out_count, MPI_Datatype out_type,
      MPI_Comm comm),
     (in, count, type, out, out_count, out_type, comm))
WRAP(Reduce_scatter,
     (const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (in, out, counts, type, op, comm))
WRAP(Finalize, (void), ())

// Whatever became of MPI_Finalize.
__attribute__((destructor)) static void print_counts(void) {
    const char* rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    if (!rank || strcmp(rank, "0") != 0) return;
    printf("tool");
    for (int i = 0; i < 2; ++i) {
        printf(" %d %d %d %d %d %d %d %d %d %d", calls_Init[i], calls_Barrier[i], calls_Bcast[i],
               calls_Reduce[i], calls_Allreduce[i], calls_Gather[i], calls_Scatter[i],
               calls_Allgather[i], calls_Reduce_scatter[i], calls_Finalize[i]);
    }
    printf("\n");
    fflush(stdout);
}
