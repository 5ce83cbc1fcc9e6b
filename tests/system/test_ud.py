# SPDX-License-Identifier: BSD-3-Clause
"""Multicast by unreliable datagrams, on the soft-RoCE devices of a virtual machine of which one
loses packets, and what keeps programs from it. With TESTS_LONG all of the suite, and longer programs."""
import shlex
import uuid

import pytest

import harness
from guests import on, well
from harness import LONG
from test_multicast import RULES

RANKS = 4

pytestmark = pytest.mark.skipif(harness.BARE, reason="SYSTEST_BARE: there is no Tutti to look at")


@pytest.fixture(scope="module", autouse=True)
def losses(guest):
    """3 % of what comes to host 1, which its TCP takes as well."""
    well(on(guest, "tc qdisc replace dev p1 root netem loss 3%"))


def test_multicast_conforms_on_these_devices(guest):
    program = harness.TUTTI.parent / "conformance_test"
    if not program.exists():
        pytest.skip(f"{program.name} is not built")
    tests = "*" if LONG else "*InTurn/*:*Late*/*:*Unsent/*:*Failure*/*"
    chosen = ":".join(f"{one}ud_ports" for one in tests.split(":"))
    told = well(on(guest, f"TUTTI_TEST_VERBS='rxe0 rxe1 rxe2' {program} --gtest_filter='{chosen}'",
                   options=["--timeout", "600"]))
    assert f"{12 if LONG else 4} tests from" in told and "PASSED" in told, told
    assert "SKIPPED" not in told, told


def run_by_datagrams(guest, openmpi, results, program, *words, options=(), own=""):
    """A rank a host; `own` is run by each first. What stands in standard error, and the report."""
    report = results / f"ud-{uuid.uuid4().hex[:8]}.json"
    line = shlex.join([str(harness.TUTTI), "run", f"--report={report}", "--mcast=on",
                       "--mcast-over=verbs", *options, "--", openmpi.launcher, "-n", str(RANKS),
                       "as-host", "sh", "-c", f"{own} exec \"$@\"", "sh",
                       str(openmpi.compile(program)), *map(str, words)])
    done = on(guest, line, options=["--timeout", "1000" if LONG else "240"])
    assert [line for line in well(done).splitlines() if line.startswith("ok ")], done.stderr
    return done.stderr, harness.Report(report)


def packets_of(rows):
    return sum(row["data_packets"] for row in rows)


def test_collectives(guest, openmpi, results):
    """All by multicast that can: some 500 packets, and each result is looked at."""
    rules = results / "rules.toml"
    rules.write_text(RULES)
    words = [20, 25000] if LONG else [3, 10000]
    _, report = run_by_datagrams(guest, openmpi, results, "simple", *words,
                                 options=[f"--rules={rules}"])
    rows = report.data["multicast"]
    assert [(row["state"], row["over"], row["hosts"]) for row in rows] == [("on", "verbs", RANKS)]
    assert rows[0]["interface"].startswith("rxe0:1, unreliable datagrams of 1024 bytes"), rows
    assert packets_of(rows) > 300 and rows[0]["losses"] > 0, rows


# Root may lock what it likes, unless it gives that up.
UNPRIVILEGED = "setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock"


@pytest.mark.parametrize("own, over, no_verbs", [
    ("", "verbs", None),
    (f"[ $VMLAB_DEVICE != rxe2:1 ] || {{ ulimit -l 64; exec {UNPRIVILEGED} \"$@\"; }};", "udp",
     "h2: memory cannot be registered (ulimit -l may be too small)")])
def test_a_barrier_takes_one_multicast_in_all(guest, openmpi, results, own, over, no_verbs):
    """By whatever carries it: where one rank has no datagrams, all go by UDP."""
    told, report = run_by_datagrams(guest, openmpi, results, "simple", 5,
                                    options=["--barrier=gather_multicast"], own=own)
    rows = report.data["multicast"]
    assert [(row["state"], row["over"]) for row in rows] == [("on", over)], rows
    reason = rows[0].get("no_verbs")
    assert reason is None if no_verbs is None else reason.startswith(no_verbs), rows
    line = "tutti: MPI_COMM_WORLD has its multicast by UDP, not by verbs: "
    assert (line in told) == (no_verbs is not None), told
    calls = sum(row["calls"] for row in report.rows if row.get("algorithm") == "gather_multicast")
    assert calls == packets_of(rows) == 4, report.data
