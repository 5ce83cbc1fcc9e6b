// SPDX-License-Identifier: BSD-3-Clause
// `tutti bench`: an MPI program that is linked to no MPI and measures the one it was started by.
#pragma once

namespace tutti::cli {

// argv[0] is the word "bench". Returns the exit status: 0, 1 for a wrong result or a failure while
// measuring, 2 for a malformed command line or where no MPI is found.
int bench_main(int argc, char** argv);

}  // namespace tutti::cli
