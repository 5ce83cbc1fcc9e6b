// SPDX-License-Identifier: BSD-3-Clause
// Derived datatypes: the same signature stands in memory in a different way on every rank (legal:
// one vector meets n ints). Each layout is described twice, once to MPI and once as plain byte
// offsets, and the data is placed and checked by the offsets. Bytes in the gaps must not change.
#include "support.h"

enum {
    kUnits = 4,
    kLayoutsMax = 16,
    kInterleaved = 5
};  // four ints make one element of every layout

// An element: where its four ints stand, relative to the buffer's address, and its extent.
typedef struct Layout {
    MPI_Datatype type;
    const char* name;
    long offset[kUnits];
    long extent;
} Layout;

static Layout finish_layout(MPI_Datatype type, const char* name, long extent, long a, long b,
                            long c, long d) {
    Layout layout = {type, name, {a, b, c, d}, extent};
    MPI_Aint low, real;
    MPI_Type_commit(&layout.type);
    MPI_Type_get_extent(type, &low, &real);
    expect(real == extent, "layout %s: extent %ld", name, (long)real);
    return layout;
}

static MPI_Datatype resized(MPI_Datatype type, long low, long extent) {
    MPI_Datatype result;
    MPI_Type_create_resized(type, low, extent, &result);
    return result;
}

static int make_simple(Layout* l) {
    int n = 0;
    MPI_Datatype t, pair;
    MPI_Type_contiguous(4, MPI_INT, &t);
    l[n++] = finish_layout(t, "contiguous", 16, 0, 4, 8, 12);
    MPI_Type_dup(t, &pair);
    l[n++] = finish_layout(pair, "duplicate", 16, 0, 4, 8, 12);
    MPI_Type_vector(2, 2, 3, MPI_INT, &t);
    l[n++] = finish_layout(t, "vector", 20, 0, 4, 12, 16);
    MPI_Type_vector(4, 1, 2, MPI_INT, &t);
    l[n++] = finish_layout(resized(t, 0, 64), "resized vector", 64, 0, 8, 16, 24);
    MPI_Type_contiguous(4, MPI_INT, &t);
    l[n++] = finish_layout(resized(t, -8, 40), "negative lower bound", 40, 0, 4, 8, 12);
    // Neighbouring elements interleave: the extent is smaller than the true extent.
    MPI_Type_vector(4, 1, 6, MPI_INT, &t);
    l[n++] = finish_layout(resized(t, 0, 4), "interleaved", 4, 0, 24, 48, 72);
    const int sizes[2] = {8, 8}, part[2] = {2, 2}, start[2] = {3, 5};
    MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_INT, &t);
    l[n++] = finish_layout(t, "subarray", 256, 116, 120, 148, 152);
    return n;
}

static int make_irregular(Layout* l) {
    int n = 0;
    MPI_Datatype t, pair;
    const int one[4] = {1, 1, 1, 1}, two[2] = {2, 2}, mixed[2] = {1, 3};
    const MPI_Aint backwards[4] = {36, 20, 8, 0};
    MPI_Type_create_hindexed(4, one, backwards, MPI_INT, &t);
    l[n++] = finish_layout(t, "hindexed backwards", 40, 36, 20, 8, 0);
    const MPI_Aint below[2] = {8, -12};
    MPI_Type_create_hindexed(2, two, below, MPI_INT, &t);
    l[n++] = finish_layout(resized(t, -16, 48), "hindexed below zero", 48, 8, 12, -12, -8);
    const int displacements[2] = {6, 1};
    MPI_Type_indexed(2, mixed, displacements, MPI_INT, &t);
    l[n++] = finish_layout(t, "indexed", 24, 24, 4, 8, 12);
    const int blocks[2] = {4, 0};
    MPI_Type_create_indexed_block(2, 2, blocks, MPI_INT, &t);
    l[n++] = finish_layout(t, "indexed block", 24, 16, 20, 0, 4);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    const MPI_Aint places[2] = {4, 20};
    const MPI_Datatype members[2] = {resized(pair, 0, 12), pair};
    const int each[2] = {1, 1};
    MPI_Type_create_struct(2, each, places, members, &t);
    l[n++] = finish_layout(resized(t, 0, 32), "struct", 32, 4, 8, 20, 24);
    MPI_Type_create_hvector(2, 1, 28, resized(pair, -4, 16), &t);
    l[n++] = finish_layout(resized(t, 0, 56), "hvector of resized", 56, 0, 4, 28, 32);
    return n;
}

static const Layout* layouts(int* count) {
    static Layout all[kLayoutsMax];
    static int made = 0;
    if (!made) {
        made = make_simple(all);
        made += make_irregular(all + made);
    }
    *count = made;
    return all;
}

// Memory for some elements of a layout. `at` is the address that MPI is given.
typedef struct Placed {
    const Layout* layout;
    int elements;
    long low;
    Buffer buffer;
    unsigned char* at;
} Placed;

static Placed place(const Layout* layout, int elements, int shift) {
    long low = 0, high = 0;
    for (int e = 0; e < elements; ++e) {
        for (int u = 0; u < kUnits; ++u) {
            const long offset = e * layout->extent + layout->offset[u];
            if (offset < low) low = offset;
            if (offset + 4 > high) high = offset + 4;
        }
    }
    Placed p = {layout, elements, low, make_buffer((size_t)(high - low), (size_t)shift), NULL};
    p.at = p.buffer.data - low;
    return p;
}

static unsigned char* unit(const Placed* p, int index) {
    return p->at + (index / kUnits) * p->layout->extent + p->layout->offset[index % kUnits];
}

static int unit_value(uint64_t key, int index) { return (int)mix(key * 65537 + (uint64_t)index); }

static void write_units(const Placed* p, int first, int count, uint64_t key) {
    for (int i = 0; i < count; ++i) {
        const int value = unit_value(key, i);
        memcpy(unit(p, first + i), &value, sizeof value);
    }
}

static void expect_units(const Placed* p, int first, int count, uint64_t key, const char* what) {
    for (int i = 0; i < count; ++i) {
        int got;
        memcpy(&got, unit(p, first + i), sizeof got);
        if (got == unit_value(key, i)) continue;
        expect(0, "%s: layout %s, %d elements: int %d of block at %d is wrong", what,
               p->layout->name, p->elements, i, first);
        return;
    }
    expect(1, "%s", what);
}

// Everything that belongs to no int is still poison.
static void drop_placed(Placed* p, const char* what) {
    for (int i = 0; i < p->elements * kUnits; ++i) memset(unit(p, i), kPoison, 4);
    expect(is_poison(&p->buffer), "%s: layout %s, %d elements: a gap was written to", what,
           p->layout->name, p->elements);
    drop_buffer(&p->buffer, what);
}

typedef struct Case {
    const Group* group;
    const Layout* send;
    const Layout* recv;
    int elements;  // of one block
    int root;
    uint64_t key;
} Case;

static uint64_t block_key(const Case* c, int rank) { return c->key * 1009 + (uint64_t)rank; }

static void try_bcast(const Case* c) {
    Placed p = place(c->send, c->elements, c->group->rank % 4);
    const int units = c->elements * kUnits;
    if (c->group->rank == c->root) write_units(&p, 0, units, block_key(c, 0));
    MPI_Bcast(p.at, c->elements, c->send->type, c->root, c->group->comm);
    expect_units(&p, 0, units, block_key(c, 0), "Bcast");
    drop_placed(&p, "Bcast");
}

static void try_gather(const Case* c) {
    const Group* g = c->group;
    const int units = c->elements * kUnits;
    const int in_place = g->rank == c->root && c->key % 3 == 0;
    Placed send = place(c->send, c->elements, 1);
    Placed all = place(c->recv, c->elements * g->size, 0);
    write_units(&send, 0, units, block_key(c, g->rank));
    if (in_place) write_units(&all, g->rank * units, units, block_key(c, g->rank));
    MPI_Gather(in_place ? MPI_IN_PLACE : send.at, c->elements, c->send->type, all.at, c->elements,
               c->recv->type, c->root, g->comm);
    if (g->rank == c->root) {
        for (int r = 0; r < g->size; ++r) {
            expect_units(&all, r * units, units, block_key(c, r), "Gather");
        }
    } else {
        expect(is_poison(&all.buffer), "Gather wrote at a rank that is not the root");
    }
    drop_placed(&all, "Gather");
    drop_placed(&send, "Gather's input");
}

static void try_scatter(const Case* c) {
    const Group* g = c->group;
    const int units = c->elements * kUnits;
    const int in_place = g->rank == c->root && c->key % 3 == 1;
    Placed own = place(c->recv, c->elements, 2);
    Placed all = place(c->send, c->elements * g->size, 0);
    for (int r = 0; r < g->size; ++r) write_units(&all, r * units, units, block_key(c, r));
    MPI_Scatter(all.at, c->elements, c->send->type, in_place ? MPI_IN_PLACE : own.at, c->elements,
                c->recv->type, c->root, g->comm);
    if (!in_place) expect_units(&own, 0, units, block_key(c, g->rank), "Scatter");
    drop_placed(&all, "Scatter's input");
    drop_placed(&own, "Scatter");
}

static void try_allgather(const Case* c) {
    const Group* g = c->group;
    const int units = c->elements * kUnits;
    const int in_place = c->key % 4 == 2;
    Placed send = place(c->send, c->elements, 3);
    Placed all = place(c->recv, c->elements * g->size, 1);
    write_units(&send, 0, units, block_key(c, g->rank));
    if (in_place) write_units(&all, g->rank * units, units, block_key(c, g->rank));
    MPI_Allgather(in_place ? MPI_IN_PLACE : send.at, c->elements, c->send->type, all.at,
                  c->elements, c->recv->type, g->comm);
    for (int r = 0; r < g->size; ++r) {
        expect_units(&all, r * units, units, block_key(c, r), "Allgather");
    }
    drop_placed(&all, "Allgather");
    drop_placed(&send, "Allgather's input");
}

static void try_alltoall(const Case* c) {
    const Group* g = c->group;
    const int units = c->elements * kUnits, in_place = c->key % 4 == 3;
    Placed send = place(c->send, c->elements * g->size, 2);
    Placed all = place(c->recv, c->elements * g->size, 3);
    for (int r = 0; r < g->size; ++r) {
        write_units(in_place ? &all : &send, r * units, units, block_key(c, g->rank * g->size + r));
    }
    MPI_Alltoall(in_place ? MPI_IN_PLACE : send.at, c->elements, c->send->type, all.at, c->elements,
                 c->recv->type, g->comm);
    for (int r = 0; r < g->size; ++r) {
        expect_units(&all, r * units, units, block_key(c, r * g->size + g->rank), "Alltoall");
    }
    drop_placed(&all, "Alltoall");
    drop_placed(&send, "Alltoall's input");
}

// One vector of the root meets plain ints of the others.
static void try_vector_meets_ints(const Group* g, int elements, int root) {
    int count;
    const Layout* vector = &layouts(&count)[2];
    Placed p = place(vector, elements, 0);
    Buffer plain = make_buffer((size_t)elements * kUnits * 4, 0);
    if (g->rank == root) {
        write_units(&p, 0, elements * kUnits, 99);
        MPI_Bcast(p.at, elements, vector->type, root, g->comm);
    } else {
        MPI_Bcast(plain.data, elements * kUnits, MPI_INT, root, g->comm);
        for (int i = 0; i < elements * kUnits; ++i) {
            expect(((int*)(void*)plain.data)[i] == unit_value(99, i), "ints from a vector: %d", i);
        }
    }
    drop_buffer(&plain, "Bcast of ints");
    drop_placed(&p, "Bcast of a vector");
}

static MPI_Datatype absolute(const Placed* p, int units) {
    MPI_Aint* where = malloc((size_t)units * sizeof *where);
    MPI_Datatype type;
    for (int i = 0; i < units; ++i) MPI_Get_address(unit(p, i), &where[i]);
    MPI_Type_create_hindexed_block(units, 1, where, MPI_INT, &type);
    MPI_Type_commit(&type);
    free(where);
    return type;
}

// Absolute addresses with MPI_BOTTOM on the even ranks, relative ones on the odd.
static void try_bottom(const Group* g, const Layout* layout, int elements, int root) {
    const int units = elements * kUnits;
    Placed p = place(layout, elements, 0), all = place(layout, elements * g->size, 0);
    MPI_Datatype mine = absolute(&p, units);
    const int bottom = g->rank % 2 == 0;
    if (g->rank == root) write_units(&p, 0, units, 5);
    MPI_Bcast(bottom ? MPI_BOTTOM : p.at, bottom ? 1 : elements, bottom ? mine : layout->type, root,
              g->comm);
    expect_units(&p, 0, units, 5, "Bcast from MPI_BOTTOM");
    write_units(&p, 0, units, (uint64_t)(1000 + g->rank));
    MPI_Allgather(bottom ? MPI_BOTTOM : p.at, bottom ? 1 : elements, bottom ? mine : layout->type,
                  all.at, elements, layout->type, g->comm);
    for (int r = 0; r < g->size; ++r) {
        expect_units(&all, r * units, units, (uint64_t)(1000 + r), "Allgather from MPI_BOTTOM");
    }
    memset(p.buffer.data, kPoison, p.buffer.bytes);
    MPI_Scatter(all.at, elements, layout->type, bottom ? MPI_BOTTOM : p.at, bottom ? 1 : elements,
                bottom ? mine : layout->type, root, g->comm);
    expect_units(&p, 0, units, (uint64_t)(1000 + g->rank), "Scatter to MPI_BOTTOM");
    MPI_Type_free(&mine);
    // Blocks at absolute addresses, one behind the other.
    MPI_Datatype first = absolute(&all, units);
    MPI_Datatype block = resized(first, 0, elements * layout->extent);
    MPI_Type_commit(&block);
    Placed out = place(layout, elements * g->size, 1);
    for (int r = 0; r < g->size; ++r) {
        write_units(&all, r * units, units, (uint64_t)(2000 + g->rank * g->size + r));
    }
    MPI_Alltoall(bottom ? MPI_BOTTOM : all.at, bottom ? 1 : elements, bottom ? block : layout->type,
                 out.at, elements, layout->type, g->comm);
    for (int r = 0; r < g->size; ++r) {
        expect_units(&out, r * units, units, (uint64_t)(2000 + r * g->size + g->rank),
                     "Alltoall from MPI_BOTTOM");
    }
    MPI_Type_free(&block);
    MPI_Type_free(&first);
    drop_placed(&out, "MPI_BOTTOM");
    drop_placed(&all, "MPI_BOTTOM");
    drop_placed(&p, "MPI_BOTTOM");
}

// A signature of several types: {int, char, double}, in C's layout, packed, and out of order.
static void try_records(const Group* g, int count, int root) {
    const MPI_Aint places[3][3] = {{0, 4, 8}, {0, 4, 5}, {16, 0, 8}};
    const long extents[3] = {16, 13, 24};
    const int one[3] = {1, 1, 1}, form = (g->rank + root) % 3;
    const MPI_Datatype parts[3] = {MPI_INT, MPI_CHAR, MPI_DOUBLE};
    MPI_Datatype plain;
    MPI_Type_create_struct(3, one, places[form], parts, &plain);
    MPI_Datatype type = resized(plain, 0, extents[form]);
    MPI_Type_commit(&type);
    Buffer b = make_buffer((size_t)(extents[form] * count), 0);
    for (int i = 0; i < count && g->rank == root; ++i) {
        unsigned char* record = b.data + i * extents[form];
        const int number = i * 3;
        const double real = i / 4.0;
        memcpy(record + places[form][0], &number, sizeof number);
        record[places[form][1]] = (unsigned char)i;
        memcpy(record + places[form][2], &real, sizeof real);
    }
    MPI_Bcast(b.data, count, type, root, g->comm);
    for (int i = 0; i < count; ++i) {
        const unsigned char* record = b.data + i * extents[form];
        int number;
        double real;
        memcpy(&number, record + places[form][0], sizeof number);
        memcpy(&real, record + places[form][2], sizeof real);
        expect(number == i * 3 && record[places[form][1]] == (unsigned char)i && real == i / 4.0,
               "record %d of %d in form %d on %s", i, count, form, g->name);
    }
    drop_buffer(&b, "records");
    MPI_Type_free(&type);
    MPI_Type_free(&plain);
}

static void try_group(const Group* g, const int* sizes, int size_count) {
    int count;
    const Layout* all = layouts(&count);
    const Layout* interleaved = &all[kInterleaved];
    uint64_t key = 0;
    for (int s = 0; s < size_count; ++s) {
        for (int i = 0; i < count; ++i) {
            ++key;
            const int mine = (i + g->rank * 5) % count, other = (i * 3 + g->rank * 7 + 1) % count;
            Case c = {g, &all[mine], &all[other], sizes[s], (int)(key % (uint64_t)g->size), key};
            // What is written may not overlap itself: more than six interleaved elements would.
            const int few = sizes[s] <= 6;
            if (c.send == interleaved && !few) c.send = &all[2];
            try_bcast(&c);
            if (c.recv == interleaved) c.recv = &all[0];
            if (c.send == interleaved) c.send = &all[2];
            try_gather(&c);
            try_scatter(&c);
            try_allgather(&c);
            try_alltoall(&c);
            if (i < 3) try_vector_meets_ints(g, sizes[s], c.root);
            if (&all[i] != interleaved) try_bottom(g, &all[i], sizes[s], c.root);
            try_records(g, sizes[s], c.root);
        }
        MPI_Barrier(g->comm);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int sizes[] = {1, 2, 3, 6, 100, 3001};
    Group groups[kGroupsMax];
    const int count = make_groups(groups);
    for (int i = 0; i < count; ++i) {
        if (groups[i].comm != MPI_COMM_NULL) try_group(&groups[i], sizes, i == 0 ? 6 : 4);
    }
    free_groups(groups, count);
    return finish();
}
