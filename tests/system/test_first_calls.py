# SPDX-License-Identifier: BSD-3-Clause
"""What a program sees of the first calls on a communicator, which go to the MPI below: nothing."""
import pytest

from harness import BARE

ON_HOSTS = [[], ["--hosts=2"]]


@pytest.mark.parametrize("options", [*ON_HOSTS, ["--hosts=2", "--mcast=on"], ["--check=1"]])
@pytest.mark.check
def test_a_rejected_call_is_no_call(mpi, options):
    """An error that one rank alone gets for its arguments ends nothing and shifts no count."""
    outcome = mpi.launch("rejected", 2, options=options).passed()
    assert not outcome.lines(), str(outcome)


@pytest.mark.parametrize("options", [*ON_HOSTS, ["--hosts=3", "--mcast=on"], ["--tune=live"],
                                     ["--hosts=3", "--tune=live"]])
def test_the_same_call_has_the_same_bits(mpi, options):
    """A reduction of floating point has one order of operands from the first call on. (The rules
    leave some to the MPI below across hosts, and MPICH 5 changes its own order with the fourth.)"""
    if mpi.name == "pypi-mpich":
        options = [*options, "--reduce=binomial"]
    outcome = mpi.launch("same_bits", 3, 20, 100, 5000, options=options).passed()
    if not BARE:
        first = {row["collective"] for row in outcome.report.rows
                 if row["run_by"] == "host" and "first calls" in row["reason"]}
        assert not first & {"reduce", "allreduce", "reduce_scatter_block", "scan", "exscan"}, outcome.report.rows
