// SPDX-License-Identifier: BSD-3-Clause
// What `tutti bench --algorithm` asks of the preloaded library, which it finds by name.
#pragma once

#include <cstddef>
#include <cstdint>

// Calls of this collective (a tutti_collective) on `comm`, the bits of an MPI_Comm, run by this
// algorithm from now on; nullptr: by settings and rules again. Collective; plans them for all
// roots. 0 where blocks of `bytes` doubles can run so; else `message` says why not, and nothing has
// changed.
extern "C" [[gnu::visibility("default")]] int tutti_bench_force(uintptr_t comm, int collective,
                                                                uint64_t bytes,
                                                                const char* algorithm,
                                                                char* message,
                                                                size_t message_bytes);

// On `comm`, which has seen no collective yet, each rank counts as a host of its own. Collective.
extern "C" [[gnu::visibility("default")]] void tutti_bench_apart(uintptr_t comm);

// The host that this process is on, as the cluster's description would name it: the real one, or
// that which TUTTI_HOSTS pretends. Empty where Tutti is off.
extern "C" [[gnu::visibility("default")]] void tutti_bench_host(char* name, size_t name_bytes);
