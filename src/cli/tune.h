// SPDX-License-Identifier: BSD-3-Clause
// `tutti tune`: measures a cluster and its MPI, and writes the tuned file (docs/tune.md).
#pragma once

namespace tutti::cli {

// argv[0] is the word "tune". Starts jobs of itself, with --job, in which it is an MPI
// program. Returns the exit status.
int tune_main(int argc, char** argv);

}  // namespace tutti::cli
