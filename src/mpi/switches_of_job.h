// SPDX-License-Identifier: BSD-3-Clause
// The job's knowledge of the cluster's switches (docs/formats/topology.md).
#pragma once

#include <string>
#include <vector>

namespace tutti::mpi {

// Collective over the world, in MPI_Init. Rank 0 finds the description of the cluster and reads it;
// all get the part that their hosts hang on. Where anything goes wrong, one rank says so in a line,
// and nobody has any. held: the settings that hold for all.
void share_fabric(const std::vector<std::string>& held);

}  // namespace tutti::mpi
