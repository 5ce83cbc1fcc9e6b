// SPDX-License-Identifier: BSD-3-Clause
// What TUTTI_CHECK and TUTTI_STALL find, counted while the program runs; and what they and
// TUTTI_VERIFY say at the end.
#pragma once

#include <cstdint>

#include "mpi/comm_state.h"
#include "mpi/watch_table.h"

namespace tutti::mpi {

// A call that ended so has been compared, or not: see there. By each of its ranks; the
// communicator's first one counts.
void note_compared(const CommState& state, tutti_status status);
// A call of Tutti's that this rank was in for so long. By each of its ranks.
void note_watched(const CommState& state, tutti_status status, uint64_t nanoseconds);

// Collective over the world, in MPI_Finalize.
WatchTotals gather_watches();
// At rank 0, a line each, on standard error.
void tell_watches(const WatchTotals& totals);

}  // namespace tutti::mpi
