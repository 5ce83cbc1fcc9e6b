// SPDX-License-Identifier: BSD-3-Clause
// What a tuned file was measured with, and whether it fits this job: docs/formats/tuned.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tutti::select {

struct Fingerprint {
    std::string mpi;        // mpi_of()
    std::string hosts;      // hosts_of()
    std::string processor;  // processor_of(); empty: not known
    bool operator==(const Fingerprint&) const = default;
};

// All of them are printable ASCII, so that they come back from a file as they went.

// The first line of MPI_Get_library_version() up to its first comma: "Open MPI v4.1.4".
std::string mpi_of(std::string_view library_version);
// "n[0-15].cluster" and "login1" are "login#, n#": the kinds of names, each once, sorted.
std::string hosts_of(std::span<const std::string> names);
// Of topo::processor_name().
std::string processor_of(std::string_view name);

// What differs, as a message goes on behind the file's name: "it is for Open MPI v4.1.4, this is
// Open MPI v4.1.6". Empty: nothing. `here` has the hosts of the job, or one of them: a job on some
// of the cluster's hosts is on this cluster. A processor that one does not know differs from none.
std::string difference(const Fingerprint& tuned, const Fingerprint& here);

}  // namespace tutti::select
