# SPDX-License-Identifier: BSD-3-Clause
"""Functions of the program that the MPI calls about attributes, in which collectives run."""
import pytest

from harness import BARE, expect_taken_over

pytestmark = pytest.mark.each_kind
# By messages (harness.py), Intel MPI deletes attributes late if a message for the communicator came
# before MPI_Comm_free, also without Tutti: a rank that looks for messages until then
# (MPI_Iprobe on another communicator), while one in its delete function sends, hangs.
INTEL_BY_MEMORY = {"I_MPI_COLL_INTRANODE": "shm"}


@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.parametrize("what", ["free", "disconnect", "error", "copy", "replace"])
@pytest.mark.sampled
def test_collectives_in_attribute_functions(mpi, what, hosts):
    """On the communicator that is freed or copied, and on others; ranks set their attributes before
    the first call or after it, as they like, so these go in another order."""
    outcome = mpi.launch("attributes", 3, what, options=[f"--hosts={hosts}"],
                         env=INTEL_BY_MEMORY).passed()
    expect_taken_over(outcome.report, 3, ("allreduce", "bcast"))


@pytest.mark.parametrize("hosts", [1, 2])
def test_functions_that_finalize_calls(mpi, hosts):
    """They make communicators, and talk to ranks that come to MPI_Finalize only afterwards."""
    outcome = mpi.launch("attributes", 3, "finalize", options=[f"--hosts={hosts}"],
                         env=INTEL_BY_MEMORY).passed()
    if BARE:
        return
    # Of rank 0, two in each: before the end 3 on the world and 3 on a communicator that is never
    # freed; then, about MPI_COMM_SELF, 3 on the world and 3 times 3 on copies of it.
    rows = [row for row in outcome.report.rows
            if row["collective"] == "allreduce" and row["ranks"] == 3]
    assert sum(row["calls"] for row in rows) == 2 * (3 + 3 + 3 + 9), outcome.report.rows
