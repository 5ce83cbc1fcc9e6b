/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands for a libmpi; only its name matters. */
int fake_mpi(void);
__attribute__((visibility("default"))) int fake_mpi(void) { return 0; }
