// SPDX-License-Identifier: BSD-3-Clause
// Requests that Tutti knows: those of persistent collectives, whose starts are counted, and arrays
// that collectives under way may still read. A process without any pays a load and a branch where
// it starts or frees a request.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "mpi/front.h"
#include "mpi/report.h"

namespace tutti::mpi {

// Counts and offsets of a call that had to be narrowed (large_calls.h).
using IntArrays = std::array<std::unique_ptr<int[]>, 4>;

// What a start counts as.
struct Startable {
    Tally* tally = nullptr;  // null: nothing
    uint64_t bytes = 0;
};

// `request` is the program's variable that a persistent collective has just been written to.
void remember_start(const void* request, Startable start);
// Those of a persistent collective stay until its request is freed. Of non-blocking ones nobody
// says when they end, and those of the last 1,024 stay: an MPI reads them within the call as a
// rule.
void keep_arrays(Form form, const void* request, IntArrays arrays);

// MPI_Start, MPI_Startall, MPI_Request_free of the program's variables.
int start(void* request);
int start_all(int count, void* requests);
int free_request(void* request);

}  // namespace tutti::mpi
