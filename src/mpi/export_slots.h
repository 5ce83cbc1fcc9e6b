// SPDX-License-Identifier: BSD-3-Clause
// Where each exported name leads. Until the first call of any of them that is pick_host(); then,
// for good, Tutti, a profiling tool, or the function that would have been called without Tutti.
#pragma once

#include <functional>

namespace tutti::mpi {

// By the whole name, "MPI_Bcast"; null where there is no such function.
using FindFunction = std::function<void*(const char* name)>;

// PMPI_ names to Tutti; MPI_ names to a tool's function where there is one, else to Tutti.
void lead_to_tutti(const FindFunction& find_tool);
// All names to what is behind this library.
void lead_beyond(const FindFunction& find);

}  // namespace tutti::mpi
