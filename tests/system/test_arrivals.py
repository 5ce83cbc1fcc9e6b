# SPDX-License-Identifier: BSD-3-Clause
"""Who comes late, by the report: TUTTI_ARRIVALS."""
import json

import pytest

from harness import BARE, TUTTI, run_command

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to look")

# Late by more than ranks are kept from processors for, most times, where others use the machine.
CALLS, LATE, MICROSECONDS = 700, 1, 4000
# Samples of 4 and 8 calls are compared, and what is left at the end.
SAMPLES = CALLS * 4 / 3 / 64


def arrivals(outcome, collective, ranks):
    listed = outcome.report.data["arrivals"]["calls"]
    return [one for one in listed if (one["collective"], one["ranks"]) == (collective, ranks)]


def expect_late_rank(outcome, ranks):
    """Most often last, and so not the one who waits most."""
    (world,) = arrivals(outcome, "allreduce", ranks)
    assert world["samples"] >= SAMPLES / 2, world
    assert abs(world["calls_per_sample"] - 64) < 20, world
    first = world["last"][0]
    assert first["rank"] == LATE and first["samples"] >= world["samples"] / 3, world
    assert first["host"], world
    assert world["waited_s"] > 0 and world["spread"]["max_s"] >= world["spread"]["mean_s"], world
    assert world["synchronization_delay"]["mean_s"] > 0, world
    # No longer than all were inside.
    inside = sum(row["seconds"] for row in outcome.report.rows
                 if (row["collective"], row["ranks"]) == ("allreduce", ranks))
    assert world["waited_s"] <= inside * ranks * (1 + 1e-9), (world, inside)
    waited = outcome.report.data["arrivals"]["waited_s_by_rank"]
    assert len(waited) == ranks and waited[LATE] < max(waited), waited
    return world


def test_a_late_rank_is_named(mpi):
    outcome = mpi.launch("late", 4, CALLS, LATE, MICROSECONDS).passed()
    assert expect_late_rank(outcome, 4)["clock_error_s"] == 0


@pytest.mark.parametrize("hosts", ["--hosts=2", "--hosts=4", "--hosts=3:round-robin"])
def test_across_hosts(mpi, hosts):
    outcome = mpi.launch("late", 4, CALLS, LATE, MICROSECONDS, options=[hosts]).passed()
    world = expect_late_rank(outcome, 4)
    assert world["clock_error_s"] > 0 and world["last"][0]["host"].startswith("pretended host"), world


def test_calls_follow_who_arrives(mpi):
    """By default, where that is faster; either way all members do, and all results are right."""
    outcome = mpi.launch("late", 4, 2000, LATE, 1000,
                         options=["--hosts=4", "--mcast=on", "--mcast-if=lo"]).passed()
    (world,) = arrivals(outcome, "allreduce", 4)
    assert 0 < world.get("follows_since_call", 1) <= 2 * 2000, world
    names = {row["algorithm"] for row in outcome.report.rows if row["run_by"] == "tutti"}
    assert "follows_since_call" not in world or "adaptive_multicast" in names, (world, names)


def test_hosts_whose_clocks_differ(mpi):
    """By a day: nobody seems to be so late, by the others' clocks."""
    outcome = mpi.launch("late", 4, CALLS, LATE, MICROSECONDS, 86400, 2, options=["--hosts=2"])
    if outcome.status != 0 and "a time namespace" in outcome.err:
        pytest.skip("needs the right to make time namespaces")
    world = expect_late_rank(outcome.passed(), 4)
    assert world["spread"]["max_s"] < 1000 and world["clock_error_s"] < 1000, world


def test_arrivals_of_a_run_are_replayed(openmpi, tmp_path):
    """Rank 1 is late in `tutti bench` and `tutti simulate` as it was in the run."""
    saved = tmp_path / "report.json"
    outcome = openmpi.launch("late", 4, CALLS, LATE, MICROSECONDS, options=[f"--report={saved}"],
                             with_report=False).passed()
    recorded = json.loads(saved.read_text())["arrivals"]["recorded"]
    assert recorded["collective"] == "allreduce" and 4 <= len(recorded["late_s"]) <= 16, recorded
    assert all(len(call) == 4 and min(call) == 0 for call in recorded["late_s"]), recorded
    least_us = min(max(call) for call in recorded["late_s"]) * 1e6
    found = tmp_path / "bench.json"
    outcome = openmpi.launch(TUTTI, 4, "bench", "allreduce", "--bytes=8", f"--skew=report:{saved}",
                             "--seconds=0.2", f"--json={found}", with_report=False)
    assert outcome.status == 0 and "skew report" in outcome.out, outcome
    cell = json.loads(found.read_text())["cells"][0]
    # A sleeper may oversleep.
    assert cell["host"]["late_us"] >= least_us * 0.999, (cell, least_us)
    outcome = run_command([TUTTI, "simulate", "allreduce", "--bytes", "8", "--ranks", "4", "--hosts",
                           "4", "--skew", f"report:{saved}"])
    assert outcome.status == 0 and "skew: report" in outcome.out, outcome
    outcome = run_command([TUTTI, "simulate", "allreduce", "--bytes", "8", "--ranks", "5", "--hosts",
                           "5", "--skew", f"report:{saved}"])
    assert outcome.status == 2 and "of 4 ranks were recorded, and there are 5" in outcome.err, outcome


def test_off_and_where_nobody_asks(debian_mpi):
    outcome = debian_mpi.launch("late", 2, CALLS, LATE, 0, options=["--arrivals=off"]).passed()
    assert "arrivals" not in outcome.report.data
    outcome = debian_mpi.launch("late", 2, CALLS, LATE, MICROSECONDS, options=["--report"],
                                with_report=False).passed()
    lines = [line for line in outcome.err.splitlines() if line.startswith("tutti: late: ")]
    assert 1 <= len(lines) <= 3 and "rank 1 on " in lines[0] and "allreduces of 2 ranks" in lines[0], lines


def test_a_program_of_few_calls_has_none(debian_mpi):
    outcome = debian_mpi.launch("late", 2, 10, LATE, 0).passed()
    assert "arrivals" not in outcome.report.data
