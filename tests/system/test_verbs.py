# SPDX-License-Identifier: BSD-3-Clause
"""MPI programs whose messages go by RDMA, on the soft-RoCE devices of a virtual machine, and what
keeps them from it. With TESTS_LONG on 2, 4 and 8 hosts, and a thousand of what there can be many."""
import shlex
import uuid

import pytest

import harness
from guests import on, well
from harness import LONG, NIGHT

pytestmark = pytest.mark.skipif(harness.BARE, reason="SYSTEST_BARE: there is no Tutti to look at")


def command(openmpi, ranks, program, *words, report="", own=""):
    """The line that runs an MPI program, a rank a host; `own` is run by each rank first."""
    return shlex.join([str(harness.TUTTI), "run", f"--report={report or 1}", "--verbs=on", "--",
                       openmpi.launcher, "-n", str(ranks), "as-host", "sh", "-c",
                       f"{own} exec \"$@\"", "sh", str(openmpi.compile(program)),
                       *map(str, words)])


def run_by_rdma(guest, openmpi, results, ranks, program, *words, before="", own=""):
    """`before` is run on the guest first. What became of it, and the report if there is one."""
    report = results / f"rdma-{uuid.uuid4().hex[:8]}.json"
    line = command(openmpi, ranks, program, *words, report=report, own=own)
    done = on(guest, f"{before} {line}", options=["--timeout", "1000" if LONG else "240"])
    return done, harness.Report(report) if report.exists() else None


def expect_rdma(done, report, ranks):
    """All went well, and all messages that could went by RDMA."""
    assert [line for line in well(done).splitlines() if line.startswith("ok ")], done.stderr
    assert report and report.data["verbs"], done.stderr
    world = report.data["verbs"][0]
    assert (world["state"], world["ranks"], world["hosts"]) == ("on", ranks, ranks), world
    assert (world["port"], world["peers"]) == ("rxe0:1", ranks - 1), world
    # Nothing is left to your MPI for being faster.
    left = [reason for reason in report.reasons(ranks) if "the rules" in reason]
    assert not left, left


def expect_collectives(guest, openmpi, results, ranks, program, words):
    own = "" if program == "moves" else "export TUTTI_VERBS_DIRECT=4K;"
    done, report = run_by_rdma(guest, openmpi, results, ranks, program, *words, own=own)
    expect_rdma(done, report, ranks)
    world = report.data["verbs"][0]
    assert world["long_copied"] == 0 and (not own or world["long_messages"] > 0), world


@pytest.mark.parametrize("program, words", [("moves", ["edges"]), ("forks", [1]),
                                            ("random_mixed", ["--calls", 60, "--threads", 1])])
def test_collectives(guest, openmpi, results, program, words):
    expect_collectives(guest, openmpi, results, 3, program, words)


def test_messages_are_found_by_their_ends(guest, openmpi, results):
    """As many ranks as processors: those that outnumber them sleep for completions."""
    for ranks in (2, 3):
        done, report = run_by_rdma(guest, openmpi, results, ranks, "random_mixed",
                                   "--calls", 300 if LONG else 30, "--threads", 1,
                                   own="export TUTTI_VERBS_TAIL=1;")
        expect_rdma(done, report, ranks)
        assert report.data["verbs"][0]["polls_tails"] == (ranks == 2), report.data["verbs"]


def test_barriers_by_a_counter(guest, openmpi, results):
    """Additions by the device, among all other messages."""
    done, report = run_by_rdma(guest, openmpi, results, 3, "random_mixed", "--calls", 60,
                               "--threads", 1, own="export TUTTI_BARRIER=counter;")
    expect_rdma(done, report, 3)
    barriers = {row.get("algorithm") for row in report.rows if row["collective"] == "barrier"}
    assert "counter" in barriers, report.rows
    # Of its first rank, at whose counter the others add.
    assert report.data["verbs"][0]["additions"] > 0, report.data["verbs"]


def test_barriers_by_a_word_that_whoever_is_last_answers_by_multicast(guest, openmpi, results):
    """An addition of each rank a barrier, rank 0 through its own device, and one packet in all."""
    done, report = run_by_rdma(guest, openmpi, results, 3, "simple", 6,
                               own="export TUTTI_BARRIER=adaptive_counter TUTTI_MCAST=on "
                                   "TUTTI_MCAST_OVER=verbs;")
    expect_rdma(done, report, 3)
    calls = [row["calls"] for row in report.rows if row.get("algorithm") == "adaptive_counter"]
    (group,) = report.data["multicast"]
    assert (group["state"], group["over"]) == ("on", "verbs"), group
    # The report has its first rank's; by the tree it would have added nothing. Before members
    # compare when they came, at the end, they meet in one more barrier.
    assert calls == [5], report.rows
    assert report.data["verbs"][0]["additions"] == group["data_packets"] == 6, report.data


@NIGHT
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_collectives_on_more_hosts(guest, openmpi, results, ranks):
    for program, words in (("simple", [50, 3000]), ("moves", ["edges"]), ("moves", ["large"]),
                           ("perturb", []), ("forks", [10]), ("random_mixed", ["--calls", 1000])):
        expect_collectives(guest, openmpi, results, ranks, program, words)


def test_many_communicators(guest, openmpi, results):
    count = 1000 if LONG else 20
    done, report = run_by_rdma(guest, openmpi, results, 2, "many_comms", count, 4)
    expect_rdma(done, report, 2)
    # The first of them is MPI_COMM_WORLD; two of the four halves have one rank each.
    (row, *_) = report.data["verbs"]
    assert row["communicators"] >= count + 1, report.data["verbs"]
    # By its connections, for 256 of them at a time.
    assert row["sharing"] >= row["communicators"] - 1 - count // 250, report.data["verbs"]


def test_two_jobs_share_the_devices(guest, openmpi):
    jobs = [command(openmpi, 3, "random_mixed", "--calls", 20, "--threads", 1, "--seed", seed)
            for seed in (1, 2)]
    done = on(guest, f"{jobs[0]} & {jobs[1]} && wait $!", options=["--timeout", "240"])
    assert well(done).count("\nok ") + done.stdout.startswith("ok ") == 2, done
    assert done.stderr.count("tutti: messages by RDMA on ") == 2, done.stderr


# Root may lock what it likes, unless it gives that up.
UNPRIVILEGED = "setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock"


@pytest.mark.parametrize("own, reason", [
    ("[ $VMLAB_DEVICE != rxe1:1 ] || export TUTTI_VERBS_DEVICE=none:1;",
     "rank 1: this host has no RDMA device none:1"),
    (f"[ $VMLAB_DEVICE != rxe2:1 ] || {{ ulimit -l 64; exec {UNPRIVILEGED} \"$@\"; }};",
     "rank 2: memory cannot be registered (ulimit -l may be too small): 491520 bytes: "
     "Cannot allocate memory")])
def test_what_one_rank_has_not_keeps_all_from_it(guest, openmpi, results, own, reason):
    done, report = run_by_rdma(guest, openmpi, results, 3, "simple", 10, own=own)
    assert [line for line in well(done).splitlines() if line.startswith("ok ")], done.stderr
    rows = report.data["verbs"]
    assert [(row["state"], row["reason"]) for row in rows] == [("off", reason)], rows
    assert f"has no RDMA: {reason}" in done.stderr


def test_a_rank_that_is_killed_ends_the_program(guest, openmpi, results):
    """Its launcher sees to it; nobody hangs, and nothing stays on the devices."""
    kill = "(sleep 8; pkill -KILL -o random_mixed) &"
    done, _ = run_by_rdma(guest, openmpi, results, 3, "random_mixed", "--seconds", 200,
                          before=kill)
    assert done.returncode not in (0, 124), f"{done.stdout}\n{done.stderr}"
    assert well(on(guest, "pgrep random_mixed || echo none")) == "none\n"
    expect_rdma(*run_by_rdma(guest, openmpi, results, 3, "simple", 3), 3)


def test_a_cable_that_is_pulled_ends_the_program_and_names_the_peer(guest, openmpi, results):
    pull = "export TUTTI_VERBS_TIMEOUT=14; (sleep 15; ip link set p1 down) &"
    try:
        done, _ = run_by_rdma(guest, openmpi, results, 2, "random_mixed", "--seconds", 200,
                              before=pull)
    finally:
        well(on(guest, "ip link set p1 up"))
    assert done.returncode not in (0, 124), f"{done.stdout}\n{done.stderr}"
    assert "RDMA to rank " in done.stderr, done.stderr
