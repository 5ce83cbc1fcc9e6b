# SPDX-License-Identifier: BSD-3-Clause
"""A rank that waits for nobody in its calls goes on ahead of the others."""
import pytest


@pytest.mark.parametrize("ints", [2, 14])
@pytest.mark.check
def test_sixty_four_small_calls_ahead(mpi, tmp_path, ints):
    """Of up to 56 bytes: one line of a slot. Between hosts the MPI's buffers say how many. With a
    report, ranks wait for each other in some calls to compare when they came.
    """
    mpi.launch("ahead", 3, tmp_path / "done", 64, ints, options=["--warmup=0"],
               with_report=False).passed()
