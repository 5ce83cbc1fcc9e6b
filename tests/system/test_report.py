# SPDX-License-Identifier: BSD-3-Clause
"""What TUTTI_REPORT says of real programs."""
import pytest

from harness import BARE

# By collective of `passed` on 3 ranks, of ints: calls, bytes of all of them (of a rank, on average),
# and the class of one.
EACH = (1000 + 2000 + 3000) * 4
PASSED = {
    "alltoall": (2, 2 * 3 * 100 * 4, "<= 16 KiB"),
    "allgatherv": (1, EACH, "<= 1 MiB"),
    # The root knows the sum; in place, that of the others' blocks.
    "gatherv": (2, (2 * (4000 + 12000) + EACH + (EACH - 8000)) // 3, "<= 16 KiB"),
    "scatterv": (1, (4000 + 12000 + EACH) // 3, "<= 16 KiB"),
    "alltoallv": (2, (3 * (10 + 20 + 30) + 3 * 3 * 10) * 4 // 3, "<= 256 B"),
    "alltoallw": (2, (3 * (10 + 20 + 30) + 3 * 3 * 10) * 4 // 3, "<= 256 B"),
    "reduce_scatter": (1, (1 + 2 + 3) * 8, "<= 256 B"),
    "scan": (1, 200, "<= 256 B"),
    "exscan": (1, 20000, "<= 1 MiB"),
}
needs_tutti = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no report")


def passed_on(report, ranks):
    return {row["collective"]: (row["calls"], row["bytes"], row["size_class"])
            for row in report.rows if row["ranks"] == ranks and row["run_by"] == "host"}


@pytest.mark.parametrize("form", ["int", "large"])
def test_bytes_of_what_passes_through(mpi, form):
    outcome = mpi.launch("passed", 3, form).passed()
    if BARE or "ok 1\n" in outcome.out:
        return
    found = passed_on(outcome.report, 3)
    assert {name: found.get(name) for name in PASSED} == PASSED, outcome.report.rows
    assert len(outcome.report.rows) == len(PASSED), outcome.report.rows


@needs_tutti
def test_bytes_between_groups(debian_mpi):
    """A communicator of one and two ranks: each rank counts what it sends or gets."""
    report = debian_mpi.launch("passed", 3, "int", "groups").passed().report
    assert passed_on(report, 1) == {
        "alltoall": (1, 800, "<= 16 KiB"), "gatherv": (1, 800, "<= 16 KiB"),
        "scatterv": (1, 800, "<= 16 KiB")}, report.rows
    assert passed_on(report, 2) == {
        "alltoall": (1, 400, "<= 16 KiB"), "gatherv": (1, 400, "<= 16 KiB"),
        "scatterv": (1, 400, "<= 16 KiB")}, report.rows


@needs_tutti
def test_what_is_checked_and_not_reported(debian_mpi):
    outcome = debian_mpi.launch("passed", 3, "int", options=["--check"], with_report=False).passed()
    assert outcome.ends() == ["tutti: check: 13 calls compared on 3 ranks, all alike"], str(outcome)
