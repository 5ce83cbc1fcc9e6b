// SPDX-License-Identifier: BSD-3-Clause
// The MPI of this process, which runs what Tutti does not take over: what it is, what Tutti has
// made in it, and the job that it has started.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/abi/abi.h"
#include "mpi/abi/brands.h"
#include "mpi/ops.h"
#include "mpi/types.h"

namespace tutti::mpi {

// The host: its functions, and all that is known of it.
struct HostMpi : abi::Host {
    // From the first call on: see pick_host().
    bool is_picked = false;  // under Front::mutex
    abi::Abi abi{};
    const abi::Brand* brand = nullptr;
    abi::Handles handles{};
    void* library = nullptr;

    // From MPI_Init on.
    PredefinedTypes types;
    PredefinedOps ops;
    // It looks at the arguments of collectives, and returns an error where they are wrong.
    bool checks_arguments = true;
    // It goes on without ranks that have died (ULFM). A wait in shared memory cannot end as it
    // wants waits to end, so everything is the host's then, and nothing is said among ranks.
    bool has_fault_tolerance = false;

    std::atomic<bool> has_ended{false};  // teams outlive it, and must not call it any more
};

// What Tutti has made in the host for itself.
struct OwnObjects {
    int comm_key = 0;
    int type_key = 0;
    int end_key = 0;         // of MPI_COMM_SELF, whose attributes MPI_Finalize deletes first
    abi::Comm quiet_comm{};  // a copy of MPI_COMM_SELF whose errors are returned
    // A copy of MPI_COMM_WORLD for messages between nodes and for probes, whose errors are
    // returned; none in a world of one rank. Never freed, since teams outlive the host's
    // MPI_Finalize.
    abi::Comm p2p_comm{};
    uint32_t p2p_tag_max = 0;
    int probe_tag = 0;
};

// MPI_COMM_WORLD, which is the job.
struct World {
    int rank = 0;
    int size = 1;
    char fabric_file[512] = {};  // at rank 0: what all go by (switches_of_job.h); empty: by none
};

}  // namespace tutti::mpi
