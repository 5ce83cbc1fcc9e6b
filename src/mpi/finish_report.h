// SPDX-License-Identifier: BSD-3-Clause
// The end of the report: gathered over the world, printed or written by rank 0.
#pragma once

namespace tutti::mpi {

// Collective over the world, before the host's MPI_Finalize. `target` is "1" for a table on
// standard error or the name of a JSON file; `mark`, if not null, names a file to touch when that
// is done.
void finish_report(const char* target, const char* mark);

}  // namespace tutti::mpi
