// SPDX-License-Identifier: BSD-3-Clause
// A communicator of a session may outlive MPI_Finalize: it is used and freed after it.
#include "support.h"

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
static void sum(MPI_Comm comm, int calls) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int call = 0; call < calls; ++call) {
        int mine = rank + call, all = 0;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, comm);
        expect(all == size * call + size * (size - 1) / 2, "sum of call %d is %d", call, all);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "tutti-test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    sum(comm, 10);
    sum(MPI_COMM_WORLD, 10);
    const int status = finish();
    sum(comm, 10);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return status || checks_failed != 0;
}
#else
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    expect(1, "there are no sessions before MPI-4");
    return finish();
}
#endif
