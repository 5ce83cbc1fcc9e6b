// SPDX-License-Identifier: BSD-3-Clause
// The tuned file (docs/formats/tuned.md): rank 0 finds it, and its text holds for all.
#pragma once

#include <string>
#include <vector>

#include "mpi/agreement.h"

namespace tutti::mpi {

// Adds what it says to the settings that are handed to all. On rank 0. Says which file is not used;
// that the one which is named cannot be is this rank's trouble.
void add_tuned(std::vector<std::string>& entries, Trouble& trouble);

}  // namespace tutti::mpi
