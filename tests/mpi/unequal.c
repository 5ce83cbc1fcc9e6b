// SPDX-License-Identifier: BSD-3-Clause
// Wrong, but tolerated: the sides of a gather or scatter differ in size where the sender has less
// than the receiver has room for. Bare hosts run these. What was sent must stand at the beginning
// of its block, the rest of the block must be as it was, and the calls that follow must be right.
//
//   unequal gather-root|gather-all|gather-leaf|gather-none|gather-over|scatter-room|scatter-root|
//           scatter-one|scatter-over|allgather|alltoall|alltoall-all|vector-gather|vector-scatter|
//           vector-allgather|vector-alltoall|bcast|alias N
//       N: the ints that are sent; the room is for twice as many. over: the other way round
//
// Under MPI_ERRORS_RETURN. Says "errors N": how many calls failed, on all ranks.
#include "support.h"

enum { kTurns = 12, kUntouched = 7 };

static int rank, size, errors;

static int* ints(int count) {
    int* memory = malloc(sizeof(int) * (size_t)(count > 0 ? count : 1));
    for (int i = 0; i < count; ++i) memory[i] = kUntouched;
    return memory;
}

static int value(int from, int turn, int i) { return 1000 * from + 100000 * turn + i; }

static void write_ints(int* out, int count, int from, int turn) {
    for (int i = 0; i < count; ++i) out[i] = value(from, turn, i);
}

// A block of `room` ints of which the first `count` have come.
static void expect_block(const int* block, int count, int room, int from, int turn,
                         const char* what) {
    int right = 1;
    for (int i = 0; i < room; ++i)
        right &= block[i] == (i < count ? value(from, turn, i) : kUntouched);
    expect(right, "%s turn %d: the block of %d begins with %d", what, turn, from, block[0]);
}

static int failed(int status) {
    if (status != MPI_SUCCESS) ++errors;
    return status != MPI_SUCCESS;
}

static int sent_by(const char* what, int who, int root, int count) {
    if (!strcmp(what, "gather-root")) return who == root ? count : 2 * count;
    if (!strcmp(what, "gather-none")) return who == (root + 1) % size ? 0 : 2 * count;
    if (!strcmp(what, "gather-over")) return who == root ? count : 2 * count;
    if (!strcmp(what, "gather-leaf")) return who == (root + 1) % size ? count : 2 * count;
    return count;
}

static void gather(const char* what, int count, int root, int turn) {
    const int room = strcmp(what, "gather-over") ? 2 * count : count;
    const int mine = sent_by(what, rank, root, count);
    int *in = ints(mine), *out = ints(rank == root ? room * size : 0);
    write_ints(in, mine, rank, turn);
    const int status = MPI_Gather(in, mine, MPI_INT, out, room, MPI_INT, root, MPI_COMM_WORLD);
    if (!failed(status) && rank == root) {
        for (int from = 0; from < size; ++from) {
            expect_block(out + from * room, sent_by(what, from, root, count), room, from, turn,
                         what);
        }
    }
    free(in), free(out);
}

static void scatter(const char* what, int count, int root, int turn) {
    const int is_over = !strcmp(what, "scatter-over"), is_one = !strcmp(what, "scatter-one");
    const int has_little = is_over || !strcmp(what, "scatter-root");
    const int has_more = is_one ? rank == (root + 1) % size : !has_little || rank == root;
    const int room = has_more ? 2 * count : count;
    if (is_over) count *= 2;
    int *in = ints(rank == root ? count * size : 0), *out = ints(room);
    for (int to = 0; rank == root && to < size; ++to) write_ints(in + to * count, count, to, turn);
    const int status = MPI_Scatter(in, count, MPI_INT, out, room, MPI_INT, root, MPI_COMM_WORLD);
    if (!failed(status)) expect_block(out, count, room, rank, turn, what);
    free(in), free(out);
}

// One rank sends less of its own block than it receives of each: to the others it is not to be told
// what they get of the rest.
static void allgather(int count, int turn) {
    const int room = 2 * count, mine = rank == 1 ? count : room;
    int *in = ints(mine), *out = ints(room * size);
    write_ints(in, mine, rank, turn);
    if (!failed(MPI_Allgather(in, mine, MPI_INT, out, room, MPI_INT, MPI_COMM_WORLD))) {
        for (int from = 0; from < size; ++from) {
            const int known = from == 1 ? count : room;
            int right = 1;
            for (int i = 0; i < known; ++i) right &= out[from * room + i] == value(from, turn, i);
            expect(right, "allgather turn %d: block of %d", turn, from);
        }
    }
    free(in), free(out);
}

// As above: rank 1 has less for each of the others than they have room for; or all have.
static void alltoall(int is_one, int count, int turn) {
    const int room = 2 * count, mine = rank == 1 || !is_one ? count : room;
    int *in = ints(mine * size), *out = ints(room * size);
    for (int to = 0; to < size; ++to) write_ints(in + to * mine, mine, rank * size + to, turn);
    if (!failed(MPI_Alltoall(in, mine, MPI_INT, out, room, MPI_INT, MPI_COMM_WORLD))) {
        for (int from = 0; from < size; ++from) {
            const int known = from == 1 || !is_one ? count : room;
            expect_block(out + from * room, known, room, from * size + rank, turn, "alltoall");
        }
    }
    free(in), free(out);
}

// Vector forms: each has room for twice as many as come; of an allgatherv the own block alone.
static void vector(const char* what, int count, int root, int turn) {
    const int room = 2 * count, is_root = rank == root;
    int counts[64], rooms[64], sent[64], got[64];
    for (int i = 0; i < size; ++i) {
        counts[i] = count, rooms[i] = room;
        sent[i] = i * count, got[i] = i * room;
    }
    int *in = ints(count * size), *out = ints(room * size);
    const MPI_Comm comm = MPI_COMM_WORLD;
    if (!strcmp(what, "vector-scatter")) {
        for (int to = 0; is_root && to < size; ++to) write_ints(in + to * count, count, to, turn);
        const int status = MPI_Scatterv(in, counts, sent, MPI_INT, out, room, MPI_INT, root, comm);
        if (!failed(status)) expect_block(out, count, room, rank, turn, what);
    } else if (!strcmp(what, "vector-gather")) {
        write_ints(in, count, rank, turn);
        const int status = MPI_Gatherv(in, count, MPI_INT, out, rooms, got, MPI_INT, root, comm);
        for (int from = 0; !failed(status) && is_root && from < size; ++from) {
            expect_block(out + from * room, count, room, from, turn, what);
        }
    } else if (!strcmp(what, "vector-allgather")) {
        const int mine = is_root ? count : room;
        free(in), in = ints(room);
        write_ints(in, mine, rank, turn);
        const int status = MPI_Allgatherv(in, mine, MPI_INT, out, rooms, got, MPI_INT, comm);
        for (int from = 0; !failed(status) && from < size; ++from) {
            const int known = from == root ? count : room;
            int right = 1;
            for (int i = 0; i < known; ++i) right &= out[from * room + i] == value(from, turn, i);
            expect(right, "%s turn %d: block of %d", what, turn, from);
        }
    } else {
        for (int to = 0; to < size; ++to) {
            write_ints(in + to * count, count, rank * size + to, turn);
        }
        const int status = MPI_Alltoallv(in, counts, sent, MPI_INT, out, rooms, got, MPI_INT, comm);
        for (int from = 0; !failed(status) && from < size; ++from) {
            expect_block(out + from * room, count, room, from * size + rank, turn, what);
        }
    }
    free(in), free(out);
}

static void bcast(int count, int root, int turn) {
    const int room = rank == root ? count : 2 * count;
    int* data = ints(room);
    if (rank == root) write_ints(data, count, root, turn);
    if (!failed(MPI_Bcast(data, room, MPI_INT, root, MPI_COMM_WORLD))) {
        expect_block(data, count, room, root, turn, "bcast");
    }
    free(data);
}

// The root's buffers are one, as hosts that do not look allow.
static void alias(int count, int root, int turn) {
    int *in = ints(count), *out = ints(count);
    for (int i = 0; i < count; ++i) in[i] = rank + turn + i;
    void* to = rank == root ? in : out;
    if (!failed(MPI_Reduce(in, to, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD)) &&
        rank == root) {
        int right = 1;
        for (int i = 0; i < count; ++i) {
            right &= in[i] == size * (size - 1) / 2 + size * (turn + i);
        }
        expect(right, "reduce turn %d begins with %d", turn, in[0]);
    }
    free(in), free(out);
}

static void follow(int turn) {
    int word = rank == turn % size ? 4 * turn : -1, sum = -1, mine = rank + turn;
    if (!failed(MPI_Bcast(&word, 1, MPI_INT, turn % size, MPI_COMM_WORLD))) {
        expect(word == 4 * turn, "bcast after turn %d is %d", turn, word);
    }
    if (!failed(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD))) {
        expect(sum == size * (size - 1) / 2 + turn * size, "sum after turn %d is %d", turn, sum);
    }
    enum { kLarge = 3000 };
    int *in = ints(kLarge), *out = ints(kLarge * size);
    write_ints(in, kLarge, rank, turn);
    if (!failed(MPI_Allgather(in, kLarge, MPI_INT, out, kLarge, MPI_INT, MPI_COMM_WORLD))) {
        for (int from = 0; from < size; ++from) {
            expect_block(out + from * kLarge, kLarge, kLarge, from, turn, "allgather after");
        }
    }
    free(in), free(out);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const char* what = argc > 1 ? argv[1] : "gather-root";
    const int count = argc > 2 ? atoi(argv[2]) : 4;
    for (int turn = 0; turn < 5; ++turn) MPI_Barrier(MPI_COMM_WORLD);
    expect(size > 1, "at least two ranks, or nobody differs");
    // A rank whose call has failed makes no further one: the others are to find out by themselves.
    for (int turn = 0; turn < kTurns && errors == 0; ++turn) {
        const int root = turn / 3 % size;
        if (!strncmp(what, "gather", 6))
            gather(what, count, root, turn);
        else if (!strncmp(what, "scatter", 7))
            scatter(what, count, root, turn);
        else if (!strcmp(what, "allgather"))
            allgather(count, turn);
        else if (!strncmp(what, "alltoall", 8))
            alltoall(!strcmp(what, "alltoall"), count, turn);
        else if (!strncmp(what, "vector", 6))
            vector(what, count, root, turn);
        else if (!strcmp(what, "bcast"))
            bcast(count, root, turn);
        else if (!strcmp(what, "alias"))
            alias(count, root, turn);
        else
            expect(0, "no such case: %s", what);
        if (turn % 2 && errors == 0) follow(turn);
    }
    print_errors(errors);
    return finish();
}
