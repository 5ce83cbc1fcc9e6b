/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that needs the libmpi, for programs that do not. */
int fake_mpi(void);
int fake_solver(void);
__attribute__((visibility("default"))) int fake_solver(void) { return fake_mpi(); }
