// SPDX-License-Identifier: BSD-3-Clause
// Functions that the program hung on communicators call collectives, on the communicator in hand
// and on others, while the MPI deletes or copies their attributes.
//
// attributes free|disconnect|error|copy|replace|finalize [CYCLES]
#include "support.h"

enum { kMarksMax = 20 };

static int in_callbacks = 0;  // calls that callbacks have made
static int fails_next = 0;    // a delete function returns an error, once

static void use(MPI_Comm comm, int number, const char* where) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int sizes[] = {1, 700};
    for (int i = 0; i < 2; ++i) {
        int mine[700], all[700];
        for (int k = 0; k < sizes[i]; ++k) mine[k] = rank + number + k;
        MPI_Allreduce(mine, all, sizes[i], MPI_INT, MPI_SUM, comm);
        const int last = sizes[i] - 1;
        const int sum = size * (size - 1) / 2 + size * number;
        expect(all[0] == sum && all[last] == sum + size * last, "%s %d: sum %d, not %d", where,
               number, all[0], sum);
    }
    int root = rank == number % size ? number : -1;
    MPI_Bcast(&root, 1, MPI_INT, number % size, comm);
    expect(root == number, "%s %d: broadcast %d", where, number, root);
}

static void use_often(MPI_Comm comm, int number, int calls, const char* where) {
    for (int call = 0; call < calls; ++call) use(comm, number + call, where);
}

// The value of an attribute is the number of its communicator.
static int number_of(void* value) { return (int)(intptr_t)value; }

static int delete_calls(MPI_Comm comm, int key, void* value, void* extra) {
    (void)key, (void)extra;
    ++in_callbacks;
    if (fails_next) {
        fails_next = 0;
        return MPI_ERR_OTHER;
    }
    const int number = number_of(value);
    use_often(comm, number, 1 + number % 4, "its delete function");
    if (number % 3 == 0) use(MPI_COMM_WORLD, number, "world in a delete function");
    if (number % 5 == 0) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        use_often(copy, number, 3, "a copy in a delete function");
        MPI_Comm_free(&copy);
    }
    return MPI_SUCCESS;
}

static int copy_calls(MPI_Comm comm, int key, void* extra, void* value, void* copied, int* flag) {
    (void)key, (void)extra;
    ++in_callbacks;
    use(comm, number_of(value), "its copy function");
    *(void**)copied = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int make_key(void) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_calls, &key, NULL);
    return key;
}

static MPI_Comm make_comm(int number) {
    MPI_Comm comm;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (number % 3 == 0) MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
    if (number % 3 == 1) MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    if (number % 3 == 2) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    return comm;
}

// Ranks set their attribute before the first call or after it, as they like.
static void try_free(int cycles, int disconnects) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int key = make_key();
    for (int cycle = 0; cycle < cycles; ++cycle) {
        MPI_Comm comm = make_comm(cycle);
        const int early = cycle % 4 == 0 || (cycle % 4 == 1 && rank % 2 == 0);
        if (early) MPI_Comm_set_attr(comm, key, (void*)(intptr_t)cycle);
        use_often(comm, cycle, cycle % 5, "before");
        if (!early) MPI_Comm_set_attr(comm, key, (void*)(intptr_t)cycle);
        // The key's own number goes; it lives on while attributes have it.
        if (cycle % 7 == 6) {
            MPI_Comm_free_keyval(&key);
            key = make_key();
        }
        if (disconnects) {
            MPI_Comm_disconnect(&comm);
        } else {
            MPI_Comm_free(&comm);
        }
        expect(comm == MPI_COMM_NULL, "cycle %d: the handle stays", cycle);
        expect(in_callbacks == cycle + 1, "cycle %d: %d callbacks", cycle, in_callbacks);
    }
    MPI_Comm_free_keyval(&key);
}

// A communicator that could not be freed is used on.
static void try_error(int cycles) {
    const int key = make_key();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int cycle = 0; cycle < cycles; ++cycle) {
        MPI_Comm comm = make_comm(cycle);
        use_often(comm, cycle, cycle % 5, "before");
        MPI_Comm_set_attr(comm, key, (void*)(intptr_t)cycle);
        fails_next = 1;
        MPI_Comm same = comm;
        if (MPI_Comm_free(&comm) == MPI_SUCCESS) continue;
        use_often(same, cycle, 4, "after an error");
    }
}

static void try_copy(int cycles) {
    int key, marks[kMarksMax];
    MPI_Comm_create_keyval(copy_calls, delete_calls, &key, NULL);
    for (int i = 0; i < kMarksMax; ++i)
        MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &marks[i], NULL);
    for (int cycle = 0; cycle < cycles; ++cycle) {
        MPI_Comm comm = make_comm(cycle), copy, again;
        MPI_Comm_set_attr(comm, key, (void*)(intptr_t)cycle);
        // Beside 13 of the program's, a further one makes Open MPI's list of them grow.
        const int count = cycle % 4 == 0 ? 11 + cycle / 4 % 8 : cycle % 5;
        for (int i = 0; i < count; ++i) MPI_Comm_set_attr(comm, marks[i], &marks[i]);
        use_often(comm, cycle, cycle % 4, "before");
        MPI_Comm_dup(comm, &copy);
        use_often(copy, cycle, 1 + cycle % 3, "a copy");
        if (cycle % 2) MPI_Comm_free(&comm);
        if (cycle % 3 == 0) {
            MPI_Request request;
            MPI_Comm_idup(copy, &again, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Comm_dup(copy, &again);
        }
        for (int i = 0; i < count; ++i) {
            void* value = NULL;
            int found = 0;
            MPI_Comm_get_attr(again, marks[i], &value, &found);
            expect(found && value == &marks[i], "cycle %d: mark %d of a copy", cycle, i);
        }
        use_often(again, cycle, 4, "a copy's copy");
        MPI_Comm_free(&copy);
        if (cycle % 2 == 0) MPI_Comm_free(&comm);
        MPI_Comm_free(&again);
    }
}

// What a rank does by itself; other communicators have to be found anew afterwards.
static void use_own(int number) {
    MPI_Comm own;
    MPI_Comm_dup(MPI_COMM_SELF, &own);
    use(own, number, "own");
    MPI_Comm_free(&own);
}

// Values that are replaced, and attributes that are deleted one by one.
static void try_replace(int cycles) {
    const int keys[] = {make_key(), make_key(), make_key()};
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int cycle = 0; cycle < cycles; ++cycle) {
        MPI_Comm comm = make_comm(cycle);
        for (int i = 0; i < 3; ++i) MPI_Comm_set_attr(comm, keys[i], (void*)(intptr_t)(cycle + i));
        use_often(comm, cycle, cycle % 3, "before");
        if (cycle % 2) MPI_Comm_set_attr(comm, keys[cycle % 3], (void*)(intptr_t)(cycle + 5));
        MPI_Comm_delete_attr(comm, keys[2 - cycle % 3]);
        for (int i = 0; i < 3; ++i) {
            void* value;
            int found = 0;
            MPI_Comm_get_attr(comm, keys[i], &value, &found);
            expect(!found == (i == 2 - cycle % 3), "cycle %d: attribute %d", cycle, i);
        }
        if ((cycle + rank) % 2) use_own(cycle);
        use_often(comm, cycle, 4, "after");
        MPI_Comm_free(&comm);
        use(MPI_COMM_WORLD, cycle, "world");
    }
}

// What was hung on MPI_COMM_SELF first is called last: it tells what became of the checks.
static int tell(MPI_Comm comm, int key, void* value, void* extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    expect(in_callbacks == 3, "%d callbacks at the end", in_callbacks);
    tell_checks();
    return MPI_SUCCESS;
}

// Rank 0 is told inside MPI_Finalize what the others say before they call it.
static int hear_all(MPI_Comm comm, int key, void* value, void* extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int peer = 1; rank == 0 && peer < size; ++peer) {
        int word = 1;
        MPI_Send(&word, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
    }
    return MPI_SUCCESS;
}

static void try_finalize(void) {
    int key, rank, first;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, tell, &first, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, first, NULL);
    for (int i = 0; i < 3; ++i) {
        key = make_key();
        MPI_Comm_set_attr(MPI_COMM_SELF, key, (void*)(intptr_t)(15 * i));
    }
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, hear_all, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    use_often(MPI_COMM_WORLD, 3, 3, "before the end");
    MPI_Comm leaked = make_comm(1);
    use_often(leaked, 3, 3, "leaked");
    if (rank != 0) {
        int word = 0;
        MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(word == 1, "word %d", word);
    }
    MPI_Finalize();
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const char* what = argc > 1 ? argv[1] : "";
    const int cycles = argc > 2 ? atoi(argv[2]) : 12;
    if (!strcmp(what, "finalize")) {
        try_finalize();
        return checks_failed != 0;
    }
    if (!strcmp(what, "free")) try_free(cycles, 0);
    if (!strcmp(what, "disconnect")) try_free(cycles, 1);
    if (!strcmp(what, "error")) try_error(cycles);
    if (!strcmp(what, "copy")) try_copy(cycles);
    if (!strcmp(what, "replace")) try_replace(cycles);
    use_often(MPI_COMM_WORLD, 1, 3, "world at the end");
    return finish();
}
