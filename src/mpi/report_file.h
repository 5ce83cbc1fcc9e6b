// SPDX-License-Identifier: BSD-3-Clause
// The file of a report. Knows no MPI.
#pragma once

#include <string>

namespace tutti::mpi {

// Of `tutti run`, from TUTTI_REPORT_MARK: what tells its run from others, as the report's "run";
// and its process, for %j. Both are empty where there is none.
struct RunOfMark {
    std::string name;
    std::string process;
};
RunOfMark run_of_mark(const char* mark);

// The name of TUTTI_REPORT with its codes filled in, for rank 0 of a job.
std::string report_name(const char* setting, const RunOfMark& run);

// Writes a report. A file that this run has written already, for another program of it, stays: the
// name gets a number, and `name` is what it has become. Empty, or why not.
std::string write_report(std::string& name, const RunOfMark& run, const std::string& text);

}  // namespace tutti::mpi
