# SPDX-License-Identifier: BSD-3-Clause
"""The blocking collectives that the benches know, as src/base/collectives.h has them.

BYTES of a cell are those of the vector of VECTORS; of one rank's block in the others."""

# Measured where nothing else is said, and the others.
USUAL = ["barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather"]
COLLECTIVES = USUAL + ["reduce_scatter_block", "alltoall", "scan", "exscan", "gatherv", "scatterv",
                       "allgatherv", "alltoallv", "alltoallw", "reduce_scatter"]
VECTORS = ["bcast", "reduce", "allreduce", "scan", "exscan"]
# Each rank has a block for each rank.
BETWEEN_ALL = ["alltoall", "alltoallv", "alltoallw"]
# Of these bench/collective_cell.h says how long each block is.
VECTOR_FORMS = ["gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw", "reduce_scatter"]
# An allgatherv in which the middle rank has BYTES and each other one 8: of bench/lab_bench.c alone.
SKEWED = "allgatherv_skewed"
