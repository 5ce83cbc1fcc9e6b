# SPDX-License-Identifier: BSD-3-Clause
"""The NAS kernels IS and FT (bench/nas_*.c), which verify their results."""
import json

import pytest

KERNELS = {"nas_is": [], "nas_ft": ["-lm"]}


@pytest.mark.parametrize("late", [0, 2000])
@pytest.mark.parametrize("hosts", [[], ["--hosts=2"]])
@pytest.mark.parametrize("kernel", KERNELS)
def test_nas(mpi, kernel, hosts, late):
    program = mpi.compile(kernel, flags=KERNELS[kernel])
    outcome = mpi.launch(program, 4, "S", late, options=hosts)
    assert outcome.status == 0, outcome
    # UCX may print behind it.
    found = json.loads(next(line for line in outcome.out.splitlines() if line.startswith("{")))
    assert found["verified"] and found["ranks"] == 4 and found["late_us"] == late, found


def test_nas_bad_input(openmpi):
    for arguments in (["X"], [], ["S", "1", "2"]):
        outcome = openmpi.launch("nas_is", 1, *arguments, tutti=False)
        assert outcome.status == 2 and "usage: nas_is S|W|A [MICROSECONDS]" in outcome.err, outcome
    program = openmpi.compile("nas_ft", flags=["-lm"])
    outcome = openmpi.launch(program, 3, "S", tutti=False)
    assert outcome.status == 2 and "3 ranks do not divide 64 and 64" in outcome.err, outcome
