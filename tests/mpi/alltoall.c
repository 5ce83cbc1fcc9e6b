// SPDX-License-Identifier: BSD-3-Clause
// Alltoall: every byte of every block, by all of its names, in place and not, at every size, from
// and to odd addresses, with unlike datatypes of one signature on the two sides; in place from
// garbage where arguments are not significant. layouts.c has the datatypes with gaps.
//
//   alltoall [large]
#include "support.h"

static uint64_t block_key(uint64_t key, const Group* g, int from, int to) {
    return key * 1000003 + (uint64_t)(from * g->size + to);
}

static int call(uint64_t way, const void* send, int send_count, MPI_Datatype send_type, void* recv,
                int recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    if (way % 3 == 2) {
        return MPI_Alltoall_c(send, send_count, send_type, recv, recv_count, recv_type, comm);
    }
#endif
    if (way % 3 == 1) {
        return PMPI_Alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
    }
    return MPI_Alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
}

// As bytes, or in one datatype for all; never less than a block.
typedef struct View {
    int count;
    MPI_Datatype type;
} View;

static View view_of(uint64_t which, size_t bytes) {
    View view = {(int)bytes, MPI_BYTE};
    if (which % 3 == 1 && bytes % 8 == 0) view = (View){(int)(bytes / 8), MPI_DOUBLE};
    if (which % 3 == 2 && bytes > 0) {
        MPI_Type_contiguous((int)bytes, MPI_BYTE, &view.type);
        MPI_Type_commit(&view.type);
        view.count = 1;
    }
    return view;
}

static void drop_view(View* view) {
    if (view->type != MPI_BYTE && view->type != MPI_DOUBLE) MPI_Type_free(&view->type);
}

static void try_one(const Group* g, size_t bytes, int in_place, uint64_t key) {
    const size_t all = bytes * (size_t)g->size;
    Buffer send = make_buffer(all, key % 8), recv = make_buffer(all, (key / 3) % 8);
    unsigned char* given = in_place ? recv.data : send.data;
    for (int to = 0; to < g->size; ++to) {
        fill(given + bytes * (size_t)to, bytes, block_key(key, g, g->rank, to));
    }
    // Signatures may differ as far as bytes go: doubles meet doubles.
    const uint64_t which = bytes % 8 == 0 && key % 2 ? 1 : 0;
    View from = view_of(which ? 1 : key / 2 % 2 * 2, bytes);
    View to = view_of(which ? 1 : (key + (uint64_t)g->rank) % 2 * 2, bytes);
    // With MPI_IN_PLACE the count and type of the send side are ignored.
    call(key, in_place ? MPI_IN_PLACE : send.data, in_place ? -3 : from.count,
         in_place ? MPI_DATATYPE_NULL : from.type, recv.data, to.count, to.type, g->comm);
    for (int r = 0; r < g->size; ++r) {
        const long long at =
            differs(recv.data + bytes * (size_t)r, bytes, block_key(key, g, r, g->rank));
        if (!expect(at < 0, "%zu bytes on %s, in place %d: the block of %d differs at %lld", bytes,
                    g->name, in_place, r, at))
            break;
    }
    for (int r = 0; r < g->size && !in_place; ++r) {
        expect(differs(send.data + bytes * (size_t)r, bytes, block_key(key, g, g->rank, r)) < 0,
               "%zu bytes on %s: the input changed", bytes, g->name);
    }
    drop_view(&from);
    drop_view(&to);
    drop_buffer(&recv, "alltoall");
    drop_buffer(&send, "alltoall's input");
}

static void try_group(const Group* g, const size_t* sizes, size_t many, uint64_t* random) {
    for (size_t at = 0; at < many; ++at) {
        for (int in_place = 0; in_place < 2; ++in_place) {
            const uint64_t key = draw(random);
            // The size itself, and one near it.
            try_one(g, sizes[at], in_place, key);
            try_one(g, sizes[at] + key % 17, in_place, key + 1);
        }
        call(at, NULL, 0, MPI_INT, NULL, 0, MPI_DOUBLE, g->comm);
        call(at, MPI_IN_PLACE, 7, MPI_INT, NULL, 0, MPI_INT, g->comm);
        MPI_Barrier(g->comm);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    static const size_t sizes[] = {0,    1,    7,    8,     31,    32,    55,
                                   56,   57,   64,   120,   256,   511,   1000,
                                   1024, 4096, 8191, 16384, 32768, 65536, 200000};
    static const size_t large[] = {4u << 20, 7000003};
    Group groups[kGroupsMax];
    const int count = make_groups(groups);
    uint64_t random = 43;
    if (argc > 1) {
        try_group(&groups[0], large, 2, &random);
    } else {
        for (int i = 0; i < count; ++i) {
            // Those who stand outside draw as much: the keys are alike on all.
            uint64_t own = mix(random + (uint64_t)i);
            if (groups[i].comm != MPI_COMM_NULL)
                try_group(&groups[i], sizes, i == 0 ? 21 : 16, &own);
        }
    }
    free_groups(groups, count);
    return finish();
}
