/* SPDX-License-Identifier: BSD-3-Clause */
/* How much stack collectives take, the first on a communicator among them, and MPI_Finalize: a
   thread makes them on a stack of ours that was painted before. Rank 0 prints the most that
   collectives take on any rank, and what its own MPI_Finalize takes. */
#include <pthread.h>

#include "support.h"

enum { kStackBytes = 512 << 10, kRounds = 8 };
static const unsigned char kPaint = 0xC7;

static const int kCounts[] = {1, 100, 5000, 60000};
enum { kMost = 60000 };

struct data {
    unsigned char* stack;
    const char* top; /* of what the thread's own code takes */
    double *in, *out;
    int size;
};

static void sum(void* in, void* inout, int* count, MPI_Datatype* type) {
    (void)type;
    for (int i = 0; i < *count; ++i) ((double*)inout)[i] += ((double*)in)[i];
}

static void calls(struct data* data, MPI_Comm comm, MPI_Op own, int count) {
    const int part = (count + data->size - 1) / data->size;
    MPI_Barrier(comm);
    MPI_Bcast(data->out, count, MPI_DOUBLE, data->size - 1, comm);
    for (int i = 0; i < count; ++i) data->in[i] = i % 7;
    MPI_Allreduce(data->in, data->out, count, MPI_DOUBLE, MPI_SUM, comm);
    for (int i = 0; i < count; i += 97) {
        expect(data->out[i] == (i % 7) * data->size, "allreduce of %d, element %d", count, i);
    }
    MPI_Allreduce(data->in, data->out, count, MPI_DOUBLE, own, comm);
    MPI_Reduce(data->in, data->out, count, MPI_DOUBLE, MPI_MAX, 0, comm);
    MPI_Gather(data->in, part, MPI_DOUBLE, data->out, part, MPI_DOUBLE, 0, comm);
    MPI_Scatter(data->in, part, MPI_DOUBLE, data->out, part, MPI_DOUBLE, 0, comm);
    MPI_Allgather(data->in, part, MPI_DOUBLE, data->out, part, MPI_DOUBLE, comm);
    MPI_Alltoall(data->in, part, MPI_DOUBLE, data->out, part, MPI_DOUBLE, comm);
    MPI_Reduce_scatter_block(data->in, data->out, part, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Scan(data->in, data->out, count, MPI_DOUBLE, MPI_SUM, comm);
}

static void* body(void* user) {
    struct data* data = user;
    const char here = 0;
    MPI_Op own;
    data->top = &here;
    MPI_Op_create(sum, 1, &own);
    for (int round = 0; round < kRounds; ++round) {
        for (size_t i = 0; i < sizeof kCounts / sizeof kCounts[0]; ++i) {
            calls(data, MPI_COMM_WORLD, own, kCounts[i]);
        }
    }
    MPI_Op_free(&own);
    return NULL;
}

static void* finalize(void* user) {
    const char here = 0;
    ((struct data*)user)->top = &here;
    MPI_Finalize();
    return NULL;
}

/* Bytes of stack that `run` takes in a thread of its own; all of the stack where that was too
 * small. */
static long used_by(void* (*run)(void*), struct data* data) {
    pthread_attr_t attributes;
    pthread_t thread;
    memset(data->stack, kPaint, kStackBytes);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, data->stack, kStackBytes);
    pthread_create(&thread, &attributes, run, data);
    pthread_join(thread, NULL);
    const unsigned char* lowest = data->stack;
    while (*lowest == kPaint) ++lowest;
    return lowest > data->stack ? data->top - (const char*)lowest : kStackBytes;
}

int main(int argc, char** argv) {
    struct data data = {0};
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &data.size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    data.in = malloc((kMost + 64) * sizeof *data.in);
    data.out = malloc((kMost + 64) * sizeof *data.out);
    data.stack = aligned_alloc(4096, kStackBytes);
    for (int i = 0; i < kMost + 64; ++i) data.in[i] = data.out[i] = i % 7;
    long used = used_by(body, &data);
    expect(used < kStackBytes, "the stack is not large enough for the test");
    if (rank != 0) MPI_Send(&used, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);
    for (int peer = 1; rank == 0 && peer < data.size; ++peer) {
        long theirs;
        MPI_Recv(&theirs, 1, MPI_LONG, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (theirs > used) used = theirs;
    }
    if (rank == 0) printf("calls %ld\n", used);
    const int failed = tell_checks();
    const long of_finalize = used_by(finalize, &data);
    if (rank == 0) printf("finalize %ld\n", of_finalize);
    return failed || of_finalize == kStackBytes;
}
