# SPDX-License-Identifier: BSD-3-Clause
"""TUTTI_CHECK, TUTTI_VERIFY and TUTTI_STALL say at the end that they were on, and what they found."""
import re

import pytest

from harness import BARE

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is nothing to say")

RANKS, CALLS = 4, 420
# Of the world and of two halves.
ALL = f"{3 * CALLS:,}"


def ends(outcome):
    """The last lines, each of rank 0 alone."""
    assert outcome.err.splitlines()[-len(outcome.ends()):] == outcome.ends(), str(outcome)
    return outcome.ends()


@pytest.mark.parametrize("options", [[], ["--hosts=2"]], ids=" ".join)
def test_check_says_what_it_compared(mpi, options):
    outcome = mpi.launch("watched", RANKS, CALLS, options=["--check", *options], with_report=False)
    assert ends(outcome.passed()) == [
        f"tutti: check: {ALL} calls compared on 4 ranks, all alike"], str(outcome)


def test_check_counts_calls_that_go_elsewhere(debian_mpi):
    """Ten barriers and for each root nine calls, among them a reduce_scatter and a bcast of nothing."""
    outcome = debian_mpi.launch("misuse", 3, "legal", options=["--check"]).passed()
    assert ends(outcome) == ["tutti: check: 37 calls compared on 3 ranks, all alike"], str(outcome)
    assert outcome.report.data["check"] == {"compared": 37, "different": 0}


def test_check_counts_mistakes(debian_mpi):
    outcome = debian_mpi.launch("watched", RANKS, CALLS, 2, options=["--check"]).passed()
    assert ends(outcome) == [
        f"tutti: check: {3 * CALLS + 2:,} calls compared on 4 ranks, 2 not alike"], str(outcome)
    assert len(outcome.lines()) == 2, str(outcome)


def test_nothing_to_compare(openmpi):
    outcome = openmpi.launch("watched", 1, CALLS, options=["--check"], with_report=False).passed()
    assert ends(outcome) == ["tutti: check: no call was compared on 1 rank"], str(outcome)


def test_verify_says_what_it_compared(debian_mpi):
    # Two of each communicator's calls are the host's.
    count = f"{3 * (CALLS - 2):,}"
    options = ["--verify=1:7", "--warmup=2"]
    outcome = debian_mpi.launch("watched", RANKS, CALLS, options=options, with_report=False)
    assert ends(outcome.passed()) == [
        f"tutti: verify: {count} of {count} calls compared with your MPI (share 1, seed 7): "
        "all right"], str(outcome)


def test_stall_says_that_it_watched(debian_mpi):
    options = ["--stall=100", "--warmup=0", "--report"]
    outcome = debian_mpi.launch("watched", RANKS, CALLS, options=options, with_report=False)
    (line,) = ends(outcome.passed())
    assert line.startswith(f"tutti: stall: {ALL} calls watched on 4 ranks, no rank was 100 s or "
                           "longer in one (at most "), str(outcome)


def test_stall_counts_late_ranks(debian_mpi):
    outcome = debian_mpi.launch("watched", RANKS, 10, 0, 3, options=["--stall=1", "--warmup=0"])
    (line,) = ends(outcome.passed())
    found = re.match(r"tutti: stall: 31 calls watched on 4 ranks; (\d+) times a rank was 1 s or "
                     r"longer in one \(at most [23]\.\d\d s\)$", line)
    # A busy machine may add some.
    assert found and int(found[1]) >= 3, str(outcome)
    assert outcome.report.data["stall"]["stalls"] == int(found[1])


def test_all_of_them(openmpi):
    outcome = openmpi.launch("watched", 2, 5, options=["--check", "--verify=1", "--stall=100"],
                             with_report=False).passed()
    assert [line.split()[1] for line in ends(outcome)] == ["check:", "verify:", "stall:"], outcome


def test_silent_where_none_is_on(openmpi):
    assert not openmpi.launch("watched", 2, 5, with_report=False).passed().err
