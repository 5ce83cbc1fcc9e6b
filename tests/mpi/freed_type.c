// SPDX-License-Identifier: BSD-3-Clause
// A datatype that another thread frees while a call uses it, and whose memory others get at once.
#include <pthread.h>
#include <unistd.h>

#include "support.h"

enum { kElements = 500, kRounds = 6 };
static MPI_Datatype in_use;
static int is_in_call;

static void* free_it(void* unused) {
    (void)unused;
    while (!__atomic_load_n(&is_in_call, __ATOMIC_ACQUIRE)) usleep(100);
    usleep(20000);  // the call has begun by now, and waits for the other rank
    MPI_Type_free(&in_use);
    for (int i = 0; i < 50; ++i) {
        MPI_Datatype other;
        MPI_Type_vector(3 + i, 1, 5, MPI_DOUBLE, &other);
        MPI_Type_commit(&other);
        MPI_Type_free(&other);
    }
    int ready = 1;
    MPI_Send(&ready, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    return NULL;
}

// stride 1: in one piece; 3: with gaps.
static MPI_Datatype make(int stride) {
    MPI_Datatype type;
    MPI_Type_vector(kElements, 1, stride, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

int main(int argc, char** argv) {
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect(provided == MPI_THREAD_MULTIPLE, "the level is %d", provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(comm);
    int* data = malloc(3 * kElements * sizeof(int));
    for (int round = 0; round < kRounds; ++round) {
        const int stride = round % 2 ? 3 : 1;
        for (int i = 0; i < 3 * kElements; ++i) data[i] = rank == 0 ? i + round : -1;
        MPI_Datatype type = make(stride);
        if (rank == 0) {
            int ready = 0;
            MPI_Recv(&ready, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Bcast(data, 1, type, 0, comm);
            MPI_Type_free(&type);
            continue;
        }
        pthread_t thread;
        in_use = type;
        is_in_call = 0;
        if (pthread_create(&thread, NULL, free_it, NULL) != 0) return 3;
        __atomic_store_n(&is_in_call, 1, __ATOMIC_RELEASE);
        expect(MPI_Bcast(data, 1, type, 0, comm) == MPI_SUCCESS, "round %d", round);
        pthread_join(thread, NULL);
        int wrong = 0;
        for (int i = 0; i < stride * (kElements - 1) + 1; ++i) {
            wrong += data[i] != (i % stride == 0 ? i + round : -1);
        }
        expect(wrong == 0, "round %d: %d words are wrong", round, wrong);
    }
    free(data);
    MPI_Comm_free(&comm);
    return finish();
}
