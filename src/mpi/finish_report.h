// SPDX-License-Identifier: BSD-3-Clause
// The end of the report: gathered over the world, printed or written by rank 0.
#pragma once

#include "mpi/report_table.h"

namespace tutti::mpi {

// Collective over the world, before the host's MPI_Finalize. `target` is "1" for a table on
// standard error, "full" for one with all there is, or the name of a JSON file. Leaves the mark.
void finish_report(const char* target, const WatchTotals& watches);

// Tells `tutti run`, if it is on this host, that Tutti was there, and has said what there is to
// say.
void leave_mark();

}  // namespace tutti::mpi
