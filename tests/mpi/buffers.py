# SPDX-License-Identifier: BSD-3-Clause
"""The seven collectives through mpi4py: buffers of numpy arrays, and pickled objects."""
import sys

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
checks = 0


def expect(holds, what):
    global checks
    checks += 1
    if not holds:
        print(f"FAIL rank {rank}: {what}", file=sys.stderr, flush=True)
        comm.Abort(1)


def buffers(kind, count, root):
    mine = numpy.arange(count).astype(kind) + rank
    total = numpy.zeros(count, kind)
    for peer in range(size):
        total += numpy.arange(count).astype(kind) + peer
    comm.Barrier()
    data = mine.copy()
    comm.Bcast(data, root)
    expect((data == numpy.arange(count).astype(kind) + root).all(), "Bcast")
    result = numpy.zeros(count, kind)
    comm.Reduce(mine, result if rank == root else None, MPI.SUM, root)
    expect(rank != root or (result == total).all(), "Reduce")
    data = mine.copy()
    comm.Allreduce(MPI.IN_PLACE, data, MPI.SUM)
    expect((data == total).all(), "Allreduce")
    everything = numpy.stack([numpy.arange(count).astype(kind) + r for r in range(size)])
    gathered = numpy.zeros((size, count), kind)
    comm.Gather(mine, gathered if rank == root else None, root)
    expect(rank != root or (gathered == everything).all(), "Gather")
    comm.Scatter(everything if rank == root else None, result, root)
    expect((result == mine).all(), "Scatter")
    gathered[:] = 0
    comm.Allgather(mine, gathered)
    expect((gathered == everything).all(), "Allgather")


def strided(root):
    """One column of a matrix against a plain vector: the same signature, another layout."""
    matrix = numpy.full((50, 7), -1.0)
    column = MPI.DOUBLE.Create_vector(50, 1, 7).Commit()
    if rank == root:
        matrix[:, 0] = numpy.arange(50)
    plain = numpy.zeros(50)
    comm.Bcast([matrix, 1, column] if rank == root else plain, root)
    expect(rank == root or (plain == numpy.arange(50)).all(), "column")
    column.Free()


def objects(root):
    thing = {"rank": rank, "words": ["a"] * rank, "nested": (1, 2.5, None)}
    expect(comm.bcast(thing, root)["rank"] == root, "bcast of an object")
    expect(comm.allreduce(rank) == size * (size - 1) // 2, "allreduce of objects")
    expect(comm.allreduce("xyz"[rank % 3]) == "".join("xyz"[r % 3] for r in range(size)), "strings")
    expect([t["rank"] for t in comm.allgather(thing)] == list(range(size)), "allgather of objects")
    gathered = comm.gather(thing, root)
    expect(rank != root or [t["rank"] for t in gathered] == list(range(size)), "gather of objects")
    mine = comm.scatter([{"to": r} for r in range(size)], root)
    expect(mine == {"to": rank}, "scatter of objects")


for turn in range(4):
    for kind in ("i4", "f8", "c16", "i8"):
        for count in (1, 7, 300, 20000):
            buffers(kind, count, turn % size)
    strided(turn % size)
    objects(turn % size)
if rank == 0:
    print("ok", checks)
