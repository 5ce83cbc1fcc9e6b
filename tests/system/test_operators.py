# SPDX-License-Identifier: BSD-3-Clause
"""What a user's operator may touch."""
import pytest

from harness import BARE, expect_taken_over


@pytest.mark.check
@pytest.mark.each_kind
def test_whole_structs(mpi):
    """An operator may assign structs of which the datatype names a part. Of the bare MPIs two have
    room for that, where the first fields are named."""
    if BARE and mpi.name not in ("debian-mpich", "pypi-impi"):
        pytest.skip(f"SYSTEST_BARE: {mpi.name} gives an operator too little room")
    shapes = [1] if BARE else []
    outcome = mpi.launch("padded", 3, *shapes, options=["--warmup=0"]).passed()
    expect_taken_over(outcome.report, 3, ("reduce", "allreduce"))
