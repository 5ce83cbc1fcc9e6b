// SPDX-License-Identifier: BSD-3-Clause
// What Tutti wants of messages (tests/conformance), from this MPI's own.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support.h"
#include "tutti/tutti.h"

int run_conformance(const tutti_p2p* p2p, uint32_t rank);

static MPI_Comm comm;

static void* to_handle(MPI_Request request) {
    void* handle = NULL;
    memcpy(&handle, &request, sizeof request);
    return handle;
}

static int send_bytes(void* user, const void* data, size_t bytes, uint32_t peer, uint32_t tag,
                      void** handle) {
    (void)user;
    // An MPI may take a message at once or keep it until it is received, each as it likes.
    static unsigned sent;
    const int is_kept = sent++ % 2 == 0;
    MPI_Request request;
    const int status =
        is_kept ? MPI_Issend(data, (int)bytes, MPI_BYTE, (int)peer, (int)tag, comm, &request)
                : MPI_Isend(data, (int)bytes, MPI_BYTE, (int)peer, (int)tag, comm, &request);
    *handle = to_handle(request);
    return status;
}

static int recv_bytes(void* user, void* data, size_t bytes, uint32_t peer, uint32_t tag,
                      void** handle) {
    (void)user;
    MPI_Request request;
    const int status = MPI_Irecv(data, (int)bytes, MPI_BYTE, (int)peer, (int)tag, comm, &request);
    *handle = to_handle(request);
    return status;
}

static int test_message(void* user, void** handle, int* done) {
    (void)user;
    MPI_Request request;
    memcpy(&request, handle, sizeof request);
    const int status = MPI_Test(&request, done, MPI_STATUS_IGNORE);
    *handle = to_handle(request);
    return status;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    // MPICH 4.0 and Intel MPI take errors of MPI_Test to the handlers of these.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    tutti_p2p p2p = {0};
    p2p.struct_bytes = sizeof p2p;
    p2p.tag_max = 32767;
    p2p.send = send_bytes;
    p2p.recv = recv_bytes;
    p2p.test = test_message;
    // What the suite says goes to the error output, apart from what finish() says.
    const int out = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    const int passed = run_conformance(&p2p, (uint32_t)rank);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    expect(passed > 0, "the suite failed");
    for (int i = 1; i < passed; ++i) expect(1, "");
    return finish();
}
