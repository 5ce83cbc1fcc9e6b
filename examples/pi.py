#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pi by the area under 4 / (1 + x^2), with mpi4py: an ordinary program that knows nothing of Tutti.

    mpirun -n 2 python3 examples/pi.py                  with the MPI's own collectives
    tutti run -- mpirun -n 2 python3 examples/pi.py     with Tutti's
"""
import sys
from array import array

from mpi4py import MPI


def main():
    world = MPI.COMM_WORLD
    rank, size = world.Get_rank(), world.Get_size()

    # How fine the strips are: what rank 0 was told holds for all.
    strips = array("i", [int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000])
    world.Bcast(strips)
    count, width = strips[0], 1.0 / strips[0]

    # Every rank takes each size-th strip.
    part = width * sum(4.0 / (1.0 + ((i + 0.5) * width) ** 2) for i in range(rank, count, size))
    pi, parts = array("d", [0.0]), array("d", [0.0] * size)
    world.Allreduce(array("d", [part]), pi)
    world.Gather(array("d", [part]), parts)

    if rank == 0:
        print(f"pi is about {pi[0]:.9f}; the ranks' parts add up to {sum(parts):.9f}")


if __name__ == "__main__":
    main()
