// SPDX-License-Identifier: BSD-3-Clause
// A call that one rank's MPI rejects for its arguments, under MPI_ERRORS_RETURN, is no call: nobody
// has heard of it, the rank makes it again with right arguments, and all go on. At each place among
// a communicator's first calls, on each rank, of each collective.
//
// The rank that makes the wrong call tells the others by a message that it is back: they begin the
// right one only then, so a wrong call that waits for them hangs.
#include "support.h"

enum { kPlaces = 9, kCallsBehind = 6, kCounts = 5 };

static const char* const kNames[] = {"bcast",
                                     "reduce",
                                     "allreduce",
                                     "gather",
                                     "scatter",
                                     "allgather",
                                     "reduce_scatter_block",
                                     "alltoall",
                                     "scan",
                                     "exscan",
                                     "gatherv",
                                     "scatterv",
                                     "allgatherv",
                                     "alltoallv",
                                     "alltoallw",
                                     "reduce_scatter"};
enum { kKinds = sizeof kNames / sizeof *kNames };

static int rank, size;

// Whatever the root and the turn: each call has results of its own.
static int value_of(int who, int turn, int i) { return 1000 * turn + 10 * who + i; }

static int sum_of(int turn, int i) {
    int sum = 0;
    for (int who = 0; who < size; ++who) sum += value_of(who, turn, i);
    return sum;
}

// As many counts, and as many of each block.
typedef struct Vectors {
    int counts[64], offsets[64], bytes[64];
    MPI_Datatype types[64];
} Vectors;

static Vectors vectors_of(int count) {
    Vectors v;
    for (int i = 0; i < 64; ++i) {
        v.counts[i] = count;
        v.offsets[i] = i * kCounts;
        v.bytes[i] = v.offsets[i] * (int)sizeof(int);
        v.types[i] = MPI_INT;
    }
    return v;
}

static int call_vectors(int kind, int root, const int* in, int* out, int count, MPI_Op op,
                        MPI_Comm comm) {
    const Vectors v = vectors_of(count);
    switch (kind) {
        case 10:
            return MPI_Gatherv(in, count, MPI_INT, out, v.counts, v.offsets, MPI_INT, root, comm);
        case 11:
            return MPI_Scatterv(in, v.counts, v.offsets, MPI_INT, out, count, MPI_INT, root, comm);
        case 12:
            return MPI_Allgatherv(in, count, MPI_INT, out, v.counts, v.offsets, MPI_INT, comm);
        case 13:
            return MPI_Alltoallv(in, v.counts, v.offsets, MPI_INT, out, v.counts, v.offsets,
                                 MPI_INT, comm);
        case 14:
            return MPI_Alltoallw(in, v.counts, v.bytes, v.types, out, v.counts, v.bytes, v.types,
                                 comm);
        default:
            return MPI_Reduce_scatter(in, out, v.counts, MPI_INT, op, comm);
    }
}

// What stands first in the block of `who` that comes to this rank.
static void see_vectors(int kind, int root, int turn, const int* out) {
    const int gets_all = kind != 11 && kind != 15;
    for (int who = 0; gets_all && who < size; ++who) {
        if (kind == 10 && rank != root) break;
        const int place = kind >= 13 ? rank * kCounts : 0;
        expect(out[who * kCounts] == value_of(who, turn, place), "%s %d of %d", kNames[kind], turn,
               who);
    }
    if (kind == 11) expect(out[0] == value_of(root, turn, rank * kCounts), "scatterv %d", turn);
    if (kind == 15) expect(out[2] == sum_of(turn, rank * kCounts + 2), "reduce_scatter %d", turn);
}

static void call_rightly(int kind, int root, int turn, MPI_Comm comm) {
    int in[kCounts * 64], out[kCounts * 64], status = 0;
    for (int i = 0; i < kCounts * size; ++i) in[i] = value_of(rank, turn, i), out[i] = -1;
    if (kind == 0) {
        status = MPI_Bcast(in, kCounts, MPI_INT, root, comm);
        expect(in[1] == value_of(root, turn, 1), "bcast %d", turn);
    } else if (kind == 1) {
        status = MPI_Reduce(in, out, kCounts, MPI_INT, MPI_SUM, root, comm);
        if (rank == root) expect(out[1] == sum_of(turn, 1), "reduce %d", turn);
    } else if (kind == 2) {
        status = MPI_Allreduce(in, out, kCounts, MPI_INT, MPI_SUM, comm);
        expect(out[4] == sum_of(turn, 4), "allreduce %d", turn);
    } else if (kind == 3) {
        status = MPI_Gather(in, kCounts, MPI_INT, out, kCounts, MPI_INT, root, comm);
        for (int who = 0; rank == root && who < size; ++who) {
            expect(out[who * kCounts] == value_of(who, turn, 0), "gather %d of %d", turn, who);
        }
    } else if (kind == 4) {
        status = MPI_Scatter(in, kCounts, MPI_INT, out, kCounts, MPI_INT, root, comm);
        expect(out[0] == value_of(root, turn, rank * kCounts), "scatter %d", turn);
    } else if (kind == 5) {
        status = MPI_Allgather(in, kCounts, MPI_INT, out, kCounts, MPI_INT, comm);
        for (int who = 0; who < size; ++who) {
            expect(out[who * kCounts] == value_of(who, turn, 0), "allgather %d of %d", turn, who);
        }
    } else if (kind == 6) {
        status = MPI_Reduce_scatter_block(in, out, kCounts, MPI_INT, MPI_SUM, comm);
        expect(out[2] == sum_of(turn, rank * kCounts + 2), "reduce_scatter_block %d", turn);
    } else if (kind == 7) {
        status = MPI_Alltoall(in, kCounts, MPI_INT, out, kCounts, MPI_INT, comm);
        for (int who = 0; who < size; ++who) {
            expect(out[who * kCounts] == value_of(who, turn, rank * kCounts), "alltoall %d of %d",
                   turn, who);
        }
    } else if (kind >= 10) {
        status = call_vectors(kind, root, in, out, kCounts, MPI_SUM, comm);
        see_vectors(kind, root, turn, out);
    } else {
        const int is_scan = kind == 8, end = is_scan ? rank + 1 : rank;
        int sum = 0;
        for (int who = 0; who < end; ++who) sum += value_of(who, turn, 3);
        status = is_scan ? MPI_Scan(in, out, kCounts, MPI_INT, MPI_SUM, comm)
                         : MPI_Exscan(in, out, kCounts, MPI_INT, MPI_SUM, comm);
        expect(end == 0 || out[3] == sum, "%s %d", kNames[kind], turn);
    }
    expect(status == MPI_SUCCESS, "%s %d: an error", kNames[kind], turn);
}

static void call_wrongly(int kind, int root, MPI_Comm comm) {
    int in[kCounts * 64] = {0}, out[kCounts * 64] = {0}, status = 0;
    switch (kind) {
        case 0:
            status = MPI_Bcast(in, -1, MPI_INT, root, comm);
            break;
        case 1:
            status = MPI_Reduce(in, out, kCounts, MPI_INT, MPI_OP_NULL, root, comm);
            break;
        case 2:
            status = MPI_Allreduce(in, out, kCounts, MPI_INT, MPI_OP_NULL, comm);
            break;
        case 3:
            status = MPI_Gather(in, -1, MPI_INT, out, -1, MPI_INT, root, comm);
            break;
        case 4:
            status = MPI_Scatter(in, -1, MPI_INT, out, -1, MPI_INT, root, comm);
            break;
        case 5:
            status = MPI_Allgather(in, -1, MPI_INT, out, -1, MPI_INT, comm);
            break;
        case 6:
            status = MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_OP_NULL, comm);
            break;
        case 7:
            status = MPI_Alltoall(in, -1, MPI_INT, out, -1, MPI_INT, comm);
            break;
        case 8:
            status = MPI_Scan(in, out, 1, MPI_INT, MPI_OP_NULL, comm);
            break;
        case 9:
            status = MPI_Exscan(in, out, 1, MPI_INT, MPI_OP_NULL, comm);
            break;
        case 15:
            status = call_vectors(kind, root, in, out, 1, MPI_OP_NULL, comm);
            break;
        default:
            status = call_vectors(kind, root, in, out, -1, MPI_SUM, comm);
    }
    expect(status != MPI_SUCCESS, "%s: no error", kNames[kind]);
}

// As MPICH's own test of it does (coll/noalias): refused by all but Open MPI's allreduce.
static void call_with_aliased_buffers(MPI_Comm comm) {
    int in[kCounts] = {0};
    expect(MPI_Reduce(in, in, kCounts, MPI_INT, MPI_SUM, rank, comm) != MPI_SUCCESS, "no error");
}

static void all_wait_for(int who) {
    if (rank != who) {
        MPI_Recv(NULL, 0, MPI_INT, who, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    for (int peer = 0; peer < size; ++peer) {
        if (peer != who) MPI_Send(NULL, 0, MPI_INT, peer, 99, MPI_COMM_WORLD);
    }
}

static void go(int kind, int place, int who, int is_aliased) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    const int root = (who + place) % size;
    for (int turn = 0; turn < place; ++turn) {
        call_rightly((kind + turn) % kKinds, turn % size, turn, comm);
    }
    for (int again = 0; again <= place % 3 && rank == who; ++again) {
        if (is_aliased) {
            call_with_aliased_buffers(comm);
        } else {
            call_wrongly(kind, root, comm);
        }
    }
    all_wait_for(who);
    // What an MPI numbers on a communicator is not shifted either.
    MPI_Comm copy;
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_free(&copy);
    for (int turn = place; turn < place + kCallsBehind; ++turn) {
        call_rightly((kind + turn - place) % kKinds, root, turn, comm);
        MPI_Request request;
        MPI_Ibarrier(comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int place = 0; place < kPlaces; ++place) {
        for (int who = 0; who < size; ++who) {
            for (int kind = 0; kind < kKinds; ++kind) go(kind, place, who, 0);
            go(1, place, who, 1);
        }
    }
    return finish();
}
