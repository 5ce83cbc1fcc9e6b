# SPDX-License-Identifier: BSD-3-Clause
"""Multicast by unreliable datagrams, on the soft-RoCE devices of a virtual machine that lose packets,
and what keeps programs from it. With TESTS_LONG all of the suite, and longer programs."""
import shlex
import time
import uuid

import pytest

import harness
from guests import on, well
from harness import LONG, NIGHT
from test_multicast import RULES

RANKS = 4

pytestmark = pytest.mark.skipif(harness.BARE, reason="SYSTEST_BARE: there is no Tutti to look at")


@pytest.fixture(scope="module", autouse=True)
def losses(guest):
    """1 % of what comes to each host, which its TCP takes as well."""
    well(on(guest, "for link in /sys/class/net/p[0-9]; do "
                   "tc qdisc replace dev ${link##*/} root netem loss 1% || exit; done"))


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


def run_by_datagrams(guest, openmpi, results, program, *words, ranks=RANKS, options=(), own="",
                     over="verbs"):
    """A rank a host; `own` is run by each first."""
    report = results / f"ud-{uuid.uuid4().hex[:8]}.json"
    line = shlex.join([str(harness.TUTTI), "run", f"--report={report}", "--mcast=on",
                       f"--mcast-over={over}", *options, "--", openmpi.launcher, "-n", str(ranks),
                       "as-host", "sh", "-c", f"{own} exec \"$@\"", "sh",
                       str(openmpi.compile(program)), *map(str, words)])
    begin = time.monotonic()
    done = on(guest, line, options=["--timeout", "1000" if LONG else "240"])
    outcome = harness.Outcome([line], done.returncode, done.stdout, done.stderr,
                              time.monotonic() - begin, None)
    assert outcome.passed() and report.exists(), str(outcome)
    outcome.report = harness.Report(report)
    return outcome


@pytest.fixture
def by_rules(results):
    """All by multicast that can."""
    rules = results / "rules.toml"
    rules.write_text(RULES)
    return [f"--rules={rules}"]


def packets_of(rows):
    return sum(row["data_packets"] for row in rows)


def expect_one_group(outcome):
    """Of all hosts, whose results were looked at and to which all came that they missed."""
    rows = outcome.report.data["multicast"]
    assert [(row["state"], row["over"], row["hosts"])
            for row in rows] == [("on", "verbs", RANKS)], rows
    assert 0 < rows[0]["losses"] == rows[0]["repaired"], rows
    return rows[0]


def test_collectives(guest, openmpi, results, by_rules):
    """Some 500 packets."""
    words = [20, 25000] if LONG else [3, 10000]
    row = expect_one_group(run_by_datagrams(guest, openmpi, results, "simple", *words,
                                            options=by_rules))
    assert row["interface"].startswith("rxe0:1, unreliable datagrams of 1024 bytes"), row
    assert row["data_packets"] > 300, row


def test_losses_are_repaired_while_the_root_computes(guest, openmpi, results):
    """40 broadcasts of 44 packets, each from one that leaves MPI at once and does not come back
    before all have it."""
    outcome = run_by_datagrams(guest, openmpi, results, "absent", "computing", "/dev/shm/arrived",
                               options=["--bcast=multicast"])
    row = expect_one_group(outcome)
    assert row["data_packets"] == 44 * outcome.report.calls("tutti", "bcast"), row


@NIGHT
def test_a_receiver_that_stood_still_comes_back(guest, openmpi, results, by_rules):
    """10 s, in a stream of broadcasts."""
    harness.expect_return(run_by_datagrams(guest, openmpi, results, "absent", "stopped", 10,
                                           options=by_rules))


def test_communicators_come_and_go(guest, openmpi, results):
    count = 1000 if LONG else 12
    outcome = run_by_datagrams(guest, openmpi, results, "comms", count, ranks=2)
    harness.expect_nothing_left(outcome, loses=True)
    rows = outcome.report.data["multicast"]
    assert all((row["state"], row["over"]) == ("on", "verbs") for row in rows), rows
    # Every sixth has one rank.
    assert sum(row["communicators"] for row in rows) == 1 + count - len(range(3, count, 6)), rows


def test_of_both_carriers_the_faster_one_by_its_own_figures(guest, openmpi, results, by_rules):
    """Which one that is depends on this machine."""
    outcome = run_by_datagrams(guest, openmpi, results, "simple", 3, 10000, options=by_rules,
                               over="auto")
    (row,) = outcome.report.data["multicast"]
    verbs, udp = row["predicted"]["verbs"], row["predicted"]["udp"]
    shares = sum(udp[which] / verbs[which] for which in ("short_s", "long_s"))
    # Of each share less than a thousandth is dropped.
    expected = {"udp"} if shares < 1.8 else {"verbs"} if shares >= 1.802 else {"udp", "verbs"}
    assert row["state"] == "on" and row["over"] in expected, row
    assert row["data_packets"] > 0 and "no_udp" not in row, row
    reason = "UDP is predicted to be faster" if row["over"] == "udp" else None
    assert row.get("no_verbs") == reason, row


# Root may lock what it likes, unless it gives that up.
UNPRIVILEGED = "setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock"


@pytest.mark.parametrize("own, over, no_verbs", [
    ("", "verbs", None),
    (f"[ $VMLAB_DEVICE != rxe2:1 ] || {{ ulimit -l 64; exec {UNPRIVILEGED} \"$@\"; }};", "udp",
     "h2: memory cannot be registered (ulimit -l may be too small)")])
def test_a_barrier_takes_one_multicast_in_all(guest, openmpi, results, own, over, no_verbs):
    """By whatever carries it: where one rank has no datagrams, all go by UDP."""
    outcome = run_by_datagrams(guest, openmpi, results, "simple", 5,
                               options=["--barrier=gather_multicast"], own=own)
    rows = outcome.report.data["multicast"]
    assert [(row["state"], row["over"]) for row in rows] == [("on", over)], rows
    reason = rows[0].get("no_verbs")
    assert reason is None if no_verbs is None else reason.startswith(no_verbs), rows
    line = "tutti: MPI_COMM_WORLD has its multicast by UDP, not by verbs: "
    assert (line in outcome.err) == (no_verbs is not None), str(outcome)
    calls = sum(row["calls"] for row in outcome.report.rows
                if row.get("algorithm") == "gather_multicast")
    # Before members compare when they came, at the end, they meet in one more barrier.
    assert (calls, packets_of(rows)) == (4, 5), outcome.report.data
