// SPDX-License-Identifier: BSD-3-Clause
// Lies where hwloc looks for plug-ins, and leaves a mark when it is loaded; see closed_test.cpp.
#define _GNU_SOURCE
#include <stdlib.h>

__attribute__((constructor)) static void tell(void) { setenv("TUTTI_TEST_INTRUDER", "loaded", 1); }
