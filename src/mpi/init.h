// SPDX-License-Identifier: BSD-3-Clause
// The beginning and the end of Tutti in an MPI program.
#pragma once

namespace tutti::mpi {

// Around the host's own; the status is the host's.
int init(int* argc, char*** argv);
int init_thread(int* argc, char*** argv, int required, int* provided);
int finalize();

}  // namespace tutti::mpi
