// SPDX-License-Identifier: BSD-3-Clause
// A library that the program loads, and that ends MPI when it goes.
#define TESTS_MPI_EXITS_LIBRARY
#include "exits.c"
