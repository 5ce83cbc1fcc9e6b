// SPDX-License-Identifier: BSD-3-Clause
// Tutti's messages between nodes by the host's own Isend, Irecv and Test, on one private
// communicator of the whole world. Teams are told apart by tag; peers are ranks of the world.
#pragma once

#include "tutti/tutti.h"

namespace tutti::mpi {

// Collective over the world. False where the host gives out no communicator.
bool create_p2p_comm();
tutti_p2p p2p_callbacks();

}  // namespace tutti::mpi
