// SPDX-License-Identifier: BSD-3-Clause
// Barrier, Bcast, Gather, Scatter and Allgather of bytes: every root, sizes at every edge, odd
// addresses, MPI_IN_PLACE, zero counts, and garbage in every argument that is not significant.
//
// moves edges | large
#include "support.h"

typedef struct Case {
    Group group;
    size_t bytes;  // of one block
    int root;
    uint64_t key;
    int in_place;
    size_t shift;
    MPI_Datatype type;
    int count;
} Case;

static uint64_t block_key(const Case* c, int rank) { return c->key * 1000003 + (uint64_t)rank; }

static void expect_block(const Case* c, const char* what, const void* data, int from) {
    const long long at = differs(data, c->bytes, block_key(c, from));
    expect(at < 0,
           "%s on %s: %zu bytes, root %d, in place %d, shift %zu: block of %d differs at %lld",
           what, c->group.name, c->bytes, c->root, c->in_place, c->shift, from, at);
}

static void try_bcast(const Case* c) {
    Buffer buffer = make_buffer(c->bytes, c->shift);
    if (c->group.rank == c->root) fill(buffer.data, c->bytes, block_key(c, c->root));
    MPI_Bcast(buffer.data, c->count, c->type, c->root, c->group.comm);
    expect_block(c, "Bcast", buffer.data, c->root);
    drop_buffer(&buffer, "Bcast");
}

static void try_gather(const Case* c) {
    const Group* g = &c->group;
    Buffer send = make_buffer(c->bytes, c->shift);
    fill(send.data, c->bytes, block_key(c, g->rank));
    if (g->rank == c->root) {
        Buffer all = make_buffer(c->bytes * (size_t)g->size, (c->shift + 1) % 8);
        const void* from = send.data;
        if (c->in_place) {
            fill(all.data + c->bytes * (size_t)g->rank, c->bytes, block_key(c, g->rank));
            from = MPI_IN_PLACE;
        }
        // With MPI_IN_PLACE the count and type of the send side are ignored.
        MPI_Gather(from, c->in_place ? -3 : c->count, c->in_place ? MPI_DATATYPE_NULL : c->type,
                   all.data, c->count, c->type, c->root, g->comm);
        for (int r = 0; r < g->size; ++r) {
            expect_block(c, "Gather", all.data + c->bytes * (size_t)r, r);
        }
        drop_buffer(&all, "Gather");
    } else {
        MPI_Gather(send.data, c->count, c->type, (void*)16, -7, MPI_DATATYPE_NULL, c->root,
                   g->comm);
    }
    expect_block(c, "Gather's input", send.data, g->rank);
    drop_buffer(&send, "Gather");
}

static void try_scatter(const Case* c) {
    const Group* g = &c->group;
    Buffer own = make_buffer(c->bytes, c->shift);
    if (g->rank == c->root) {
        Buffer all = make_buffer(c->bytes * (size_t)g->size, (c->shift + 3) % 8);
        for (int r = 0; r < g->size; ++r) {
            fill(all.data + c->bytes * (size_t)r, c->bytes, block_key(c, r));
        }
        void* to = c->in_place ? MPI_IN_PLACE : (void*)own.data;
        MPI_Scatter(all.data, c->count, c->type, to, c->in_place ? -3 : c->count,
                    c->in_place ? MPI_DATATYPE_NULL : c->type, c->root, g->comm);
        for (int r = 0; r < g->size; ++r) {
            expect_block(c, "Scatter's input", all.data + c->bytes * (size_t)r, r);
        }
        drop_buffer(&all, "Scatter");
        if (c->in_place) {
            expect(is_poison(&own), "Scatter in place wrote to a buffer it was not given");
        } else {
            expect_block(c, "Scatter", own.data, g->rank);
        }
    } else {
        MPI_Scatter((void*)16, -7, MPI_DATATYPE_NULL, own.data, c->count, c->type, c->root,
                    g->comm);
        expect_block(c, "Scatter", own.data, g->rank);
    }
    drop_buffer(&own, "Scatter");
}

static void try_allgather(const Case* c) {
    const Group* g = &c->group;
    Buffer send = make_buffer(c->bytes, c->shift);
    Buffer all = make_buffer(c->bytes * (size_t)g->size, (c->shift + 5) % 8);
    fill(send.data, c->bytes, block_key(c, g->rank));
    if (c->in_place) {
        fill(all.data + c->bytes * (size_t)g->rank, c->bytes, block_key(c, g->rank));
        MPI_Allgather(MPI_IN_PLACE, -3, MPI_DATATYPE_NULL, all.data, c->count, c->type, g->comm);
    } else {
        MPI_Allgather(send.data, c->count, c->type, all.data, c->count, c->type, g->comm);
    }
    for (int r = 0; r < g->size; ++r) {
        expect_block(c, "Allgather", all.data + c->bytes * (size_t)r, r);
    }
    expect_block(c, "Allgather's input", send.data, g->rank);
    drop_buffer(&all, "Allgather");
    drop_buffer(&send, "Allgather");
}

static void try_all(Case* c) {
    try_bcast(c);
    try_gather(c);
    try_scatter(c);
    try_allgather(c);
}

static void choose_type(Case* c) {
    const int wide = c->bytes % 8 == 0 && c->key % 2;
    c->type = wide ? MPI_DOUBLE : MPI_BYTE;
    c->count = (int)(wide ? c->bytes / 8 : c->bytes);
}

static void edges_on(const Group* group, uint64_t round) {
    static const size_t sizes[] = {0,     1,     7,     8,     9,     31,     32,     33,    55,
                                   56,    57,    63,    64,    65,    119,    120,    121,   255,
                                   256,   257,   511,   512,   513,   1023,   1024,   1025,  4095,
                                   4096,  4097,  8191,  8192,  8193,  16383,  16384,  16385, 32767,
                                   32768, 32769, 65535, 65536, 65537, 131073, 1048577};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        // Small sizes see every root, large ones one root each, in turn.
        const int roots = sizes[s] <= 4097 && group->size <= 4 ? group->size : 1;
        for (int k = 0; k < roots; ++k) {
            const uint64_t n = ++round;
            Case c = {.group = *group, .bytes = sizes[s], .key = n};
            c.root = (int)((n + (uint64_t)k) % (uint64_t)group->size);
            c.in_place = (int)(n / 2 % 2);
            c.shift = sizes[s] % 8 ? n % 8 : 0;
            choose_type(&c);
            try_all(&c);
        }
        MPI_Barrier(group->comm);
    }
}

// Blocks so large that all of them together make 64 MiB, once for each collective.
static void large_on(const Group* group) {
    const size_t all = 64u << 20;
    Case c = {.group = *group, .key = 77, .type = MPI_BYTE, .root = group->size - 1};
    c.bytes = all;
    c.count = (int)all;
    try_bcast(&c);
    c.bytes = all / (size_t)group->size;
    c.count = (int)c.bytes;
    try_gather(&c);
    try_scatter(&c);
    try_allgather(&c);
}

// Zero counts with null pointers are legal and touch nothing.
static void try_null_buffers(const Group* group) {
    MPI_Bcast(NULL, 0, MPI_INT, 0, group->comm);
    MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, group->comm);
    MPI_Scatter(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, group->comm);
    MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, group->comm);
    MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, 0, group->comm);
    MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, group->comm);
    expect(1, "zero counts on %s", group->name);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int large = argc > 1 && !strcmp(argv[1], "large");
    Group groups[kGroupsMax];
    const int count = make_groups(groups);
    for (int i = 0; i < count; ++i) {
        if (groups[i].comm == MPI_COMM_NULL) continue;
        if (large) {
            for (int call = 0; call < 4; ++call) MPI_Barrier(groups[i].comm);
            if (i == 0) large_on(&groups[i]);
        } else {
            edges_on(&groups[i], (uint64_t)i * 10000);
            try_null_buffers(&groups[i]);
        }
    }
    free_groups(groups, count);
    return finish();
}
