# SPDX-License-Identifier: BSD-3-Clause
"""Two buffers of one address: what counts is the bytes that the datatypes name."""
import pytest

from harness import BARE, expect_taken_over


@pytest.mark.parametrize("options", [[], ["--hosts=2"]], ids=["node", "hosts"])
def test_other_bytes_of_one_base(mpi, options):
    outcome = mpi.launch("one_base", 3, options=["--warmup=0", *options]).passed()
    if not options:
        expect_taken_over(outcome.report, 3, ("bcast", "reduce", "allreduce", "gather", "scatter",
                                              "allgather", "reduce_scatter_block", "scan",
                                              "exscan"))


def cases(outcome):
    """A line a case. Several ranks write them, so they come in any order."""
    return sorted(line for line in outcome.out.splitlines() if ": " in line)


@pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to compare with")
def test_the_same_bytes(mpi):
    """As the bare MPI has it. What it cannot be asked: Intel MPI waits for the root that errs, and
    takes other handles for a wrong datatype; the MPICH family stops in an assertion where handles of
    an own block differ."""
    level = 1 if mpi.name == "pypi-impi" else 3 if mpi.flavour == "ompi" else 2
    bare = mpi.launch("one_base", 3, "own", level, tutti=False).passed()
    through = mpi.launch("one_base", 3, "own", level, options=["--warmup=0"]).passed()
    assert len(cases(bare)) == {1: 26, 2: 36, 3: 51}[level], str(bare)
    # Tutti takes an alltoall into itself for one in place, where an MPI runs it as if it were not.
    wanted = [line.replace(": wrong", ": right") if line.startswith("alltoall") else line
              for line in cases(bare)]
    assert cases(through) == wanted, str(through)
