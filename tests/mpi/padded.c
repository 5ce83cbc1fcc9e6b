// SPDX-License-Identifier: BSD-3-Clause
// User operators that assign whole C structs of which the datatype names a part: the first fields,
// or a later one with a lower bound before it. What an operator is given must have room for them,
// and nothing may be written beside the program's buffers. `padded 1`: the first fields alone.
#include <stddef.h>

#include "support.h"

typedef struct Head {
    int named[2];
    char rest[20000];
} Head;

typedef struct Tail {
    char first[48];
    int named;
    char rest[12000];
} Tail;

enum { kHead, kTail, kShapes };

static size_t struct_bytes(int shape) { return shape == kHead ? sizeof(Head) : sizeof(Tail); }

static void join_heads(void* in, void* inout, int* count, MPI_Datatype* type) {
    (void)type;
    const Head* left = in;
    Head* right = inout;
    for (int i = 0; i < *count; ++i) {
        Head made;
        memset(&made, 0x33, sizeof made);
        made.named[0] = left[i].named[0] + right[i].named[0];
        made.named[1] = right[i].named[1] > left[i].named[1] ? right[i].named[1] : left[i].named[1];
        right[i] = made;
    }
}

// Elements begin at `named`, the struct before it.
static void join_tails(void* in, void* inout, int* count, MPI_Datatype* type) {
    (void)type;
    const Tail* left = (const Tail*)((const char*)in - offsetof(Tail, named));
    Tail* right = (Tail*)((char*)inout - offsetof(Tail, named));
    for (int i = 0; i < *count; ++i) {
        Tail made;
        memset(&made, 0x33, sizeof made);
        made.named = left[i].named + right[i].named;
        right[i] = made;
    }
}

static MPI_Datatype make_type(int shape) {
    MPI_Datatype plain, type;
    MPI_Type_contiguous(shape == kHead ? 2 : 1, MPI_INT, &plain);
    const MPI_Aint low = shape == kHead ? 0 : -(MPI_Aint)offsetof(Tail, named);
    MPI_Type_create_resized(plain, low, (MPI_Aint)struct_bytes(shape), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&plain);
    return type;
}

// The first named int of element i.
static int* named(const Buffer* buffer, int shape, int i) {
    const size_t at =
        (size_t)i * struct_bytes(shape) + (shape == kTail ? offsetof(Tail, named) : 0);
    return (int*)(void*)(buffer->data + at);
}

static int given(int rank, int i) { return (rank + 1) * 1000 + i; }

static void try_shape(const Group* g, int shape, MPI_Op op, int count, int root, int in_place) {
    MPI_Datatype type = make_type(shape);
    const size_t bytes = (size_t)count * struct_bytes(shape);
    Buffer in = make_buffer(bytes, 0), out = make_buffer(bytes, 0);
    const int receives = root < 0 || g->rank == root;
    Buffer* const source = in_place && receives ? &out : &in;
    for (int i = 0; i < count; ++i) {
        for (int k = 0; k < (shape == kHead ? 2 : 1); ++k) {
            named(source, shape, i)[k] = given(g->rank, i);
        }
    }
    const void* send = source == &out ? MPI_IN_PLACE : named(&in, shape, 0);
    void* recv = receives ? named(&out, shape, 0) : NULL;
    if (root < 0) {
        MPI_Allreduce(send, recv, count, type, op, g->comm);
    } else {
        MPI_Reduce(send, recv, count, type, op, root, g->comm);
    }
    for (int i = 0; i < count && receives; ++i) {
        int sum = 0;
        for (int r = 0; r < g->size; ++r) sum += given(r, i);
        const int* got = named(&out, shape, i);
        const int most = given(g->size - 1, i);
        if (!expect(got[0] == sum && (shape == kTail || got[1] == most),
                    "element %d of %d of shape %d, root %d: %d, not %d", i, count, shape, root,
                    got[0], sum)) {
            break;
        }
    }
    drop_buffer(&out, "what is received");
    drop_buffer(&in, "what is sent");
    MPI_Type_free(&type);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const Group world = describe(MPI_COMM_WORLD, "world");
    static const int counts[] = {1, 2, 3, 7, 20};
    MPI_Op ops[kShapes];
    MPI_Op_create(join_heads, 1, &ops[kHead]);
    MPI_Op_create(join_tails, 0, &ops[kTail]);
    const int shapes = argc > 1 ? atoi(argv[1]) : kShapes;
    for (int shape = 0; shape < shapes; ++shape) {
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; ++c) {
            for (int root = -1; root < world.size; ++root) {
                try_shape(&world, shape, ops[shape], counts[c], root, 0);
                try_shape(&world, shape, ops[shape], counts[c], root, 1);
            }
        }
    }
    MPI_Op_free(&ops[kHead]);
    MPI_Op_free(&ops[kTail]);
    return finish();
}
