# SPDX-License-Identifier: BSD-3-Clause
"""A run that tunes its own calls: TUTTI_TUNE=live."""
import pytest

from harness import BARE

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to look")

ROUNDS, RANKS = 1500, 4
KINDS = {"barrier", "allreduce", "bcast", "allgather"}


def tuning(outcome):
    return outcome.passed().report.data["tuning"]["calls"]


def tried(calls):
    return {(one["collective"], way["algorithm"]) for one in calls for way in one["tried"]}


def expect_sound(calls):
    for one in calls:
        assert one["ranks"] == RANKS and one["calls"] <= ROUNDS, one
        assert one["runs_by"] == one["first"] or one["since_call"] > 0, one
        for way in one["tried"]:
            assert way["seconds"] > 0 and way["instead_of_seconds"] > 0, one


@pytest.mark.parametrize("hosts", [[], ["--hosts=2", "--price=on"], ["--hosts=4", "--price=on"],
                                   ["--hosts=2:round-robin"]])
def test_ways_are_tried(mpi, hosts):
    """What wins hangs on times; whatever does, all results are right."""
    outcome = mpi.launch("repeated", RANKS, ROUNDS, options=["--tune=live", *hosts])
    calls = tuning(outcome)
    expect_sound(calls)
    if any(one["first"] != "host" and ways == "host" for one in calls
           for ways in (way["algorithm"] for way in one["tried"])):
        reasons = {row.get("reason") for row in outcome.report.data["collectives"]}
        assert "live tuning tries it, or found it faster" in reasons, outcome.report.data
    assert {one["collective"] for one in calls} <= KINDS, calls
    assert tried(calls), calls
    if not hosts:
        assert {way for _, way in tried(calls)} <= {"host", "node"}, calls


def test_sums_of_floating_point_with_all_alone(openmpi):
    calls = tuning(openmpi.launch("repeated", RANKS, ROUNDS, options=["--tune=live:all"]))
    assert {one["collective"] for one in calls} == KINDS | {"reduce"}, calls


def test_what_the_user_says_stays(openmpi):
    env = {"TUTTI_ALLREDUCE": "node", "TUTTI_BARRIER": "host"}
    outcome = openmpi.launch("repeated", RANKS, ROUNDS, options=["--tune=live"], env=env)
    assert {one["collective"] for one in tuning(outcome)} == KINDS - {"allreduce", "barrier"}


@pytest.mark.parametrize("options", [[], ["--tune=live", "--check=1"], ["--tune=live", "--stall=9"]])
def test_not_unless_asked_for_nor_where_calls_are_watched(openmpi, options):
    outcome = openmpi.launch("repeated", RANKS, 300, options=options).passed()
    assert "tuning" not in outcome.report.data


def test_a_line_for_people(openmpi):
    outcome = openmpi.launch("repeated", RANKS, ROUNDS, options=["--report", "--tune=live"],
                             with_report=False)
    assert outcome.status == 0 and "tutti: live: barrier, 4 ranks: " in outcome.err, outcome
