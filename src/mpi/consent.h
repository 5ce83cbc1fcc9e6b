// SPDX-License-Identifier: BSD-3-Clause
// Whether all ranks of a communicator are ready to make its team.
//
// The team is made inside a call that each rank counts by itself, and an error on one rank alone
// may shift its count: MPI does not say whether the others are in that call. So a rank that had an
// error among the first calls must neither wait for the others nor keep them waiting. Each rank
// votes exactly once on a communicator, by a non-blocking allreduce: with its consent where it
// comes to the call that makes the team, and then it waits for the votes of all; or without, at its
// first error, and then it goes on. So whatever the counts are, all votes meet, and all ranks learn
// the same. Where one did not consent the host runs that communicator's calls.
#pragma once

#include "mpi/abi/abi.h"

namespace tutti::mpi {

inline constexpr const char* kNoConsent = "host: a rank had an error in the first calls";

// This rank's vote for a team; waits for the others. False where one has voted against it, or the
// host cannot do it.
bool all_consent(abi::Comm comm);
// Its vote against it; waits for nobody.
void refuse_consent(abi::Comm comm);
// Before the communicator is freed: false where its vote is still out, as Open MPI's progress looks
// at the communicator of a pending collective. It must stay then, until the process's MPI ends.
bool may_free(abi::Comm comm);
// At the end of the process's MPI: lets votes go that nobody has waited for.
void end_consents();

}  // namespace tutti::mpi
