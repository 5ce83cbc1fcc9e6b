# SPDX-License-Identifier: BSD-3-Clause
"""Programs call MPI on threads and fibres with little stack. Tutti takes at most 16 KiB more of it than
the MPI by itself, also in the calls that make a team and plan, and where it makes its report."""
import pytest

import harness

MORE_BYTES_MAX = 16 << 10


def stacks(outcome):
    """Bytes by what took them."""
    outcome.passed()
    words = [line.split() for line in outcome.out.splitlines() if line]
    return {name: int(next(line[1] for line in words if line[0] == name))
            for name in ("calls", "finalize")}


@pytest.mark.skipif(harness.BARE, reason="SYSTEST_BARE: there is nothing to compare with")
@pytest.mark.parametrize("options", [["--hosts=1"], ["--hosts=2"],
                                     ["--hosts=3", "--mcast=on", "--mcast-if=lo"],
                                     ["--hosts=3", "--tune=live"]],
                         ids=["one-host", "hosts", "multicast", "live"])
def test_little_stack(mpi, options):
    bare = stacks(mpi.launch("stacks", 3, tutti=False))
    outcome = mpi.launch("stacks", 3, options=options)
    assert outcome.report.calls("tutti", "allreduce") > 0, outcome.report.rows
    for what, taken in stacks(outcome).items():
        assert taken <= bare[what] + MORE_BYTES_MAX, f"{what}: bare {bare}\n{outcome}"
