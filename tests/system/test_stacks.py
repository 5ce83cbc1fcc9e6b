# SPDX-License-Identifier: BSD-3-Clause
"""Programs call MPI on threads and fibres with little stack. Tutti takes at most 16 KiB more of it than
the MPI by itself, also in the calls that make a team and plan."""
import pytest

import harness

MORE_BYTES_MAX = 16 << 10


def stack(outcome):
    outcome.passed()
    return next(int(line.split()[1]) for line in outcome.out.splitlines()
                if line.startswith("stack "))


@pytest.mark.skipif(harness.BARE, reason="SYSTEST_BARE: there is nothing to compare with")
@pytest.mark.parametrize("options", [["--hosts=1"], ["--hosts=2"],
                                     ["--hosts=3", "--mcast=on", "--mcast-if=lo"],
                                     ["--hosts=3", "--tune=live"]],
                         ids=["one-host", "hosts", "multicast", "live"])
def test_little_stack(mpi, options):
    bare = stack(mpi.launch("stacks", 3, tutti=False))
    outcome = mpi.launch("stacks", 3, options=options)
    assert outcome.report.calls("tutti", "allreduce") > 0, outcome.report.rows
    assert stack(outcome) <= bare + MORE_BYTES_MAX, f"bare {bare}\n{outcome}"
