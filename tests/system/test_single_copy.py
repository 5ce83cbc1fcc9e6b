# SPDX-License-Identifier: BSD-3-Clause
"""Ranks of one host that read large data in each other's memory: right results, whoever may not
read, comes late, stops or dies; and the report says what ran."""
import ctypes
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import usable
from harness import BARE
from test_behaviour import swept

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no single copy")

NAMES = ("bcast", "reduce", "allreduce", "gather", "scatter", "allgather")
ON, OFF, AUTO = (f"--single-copy={choice}" for choice in ("on", "off", "auto"))
DENIED = re.compile(r"rank \d cannot read rank \d's memory: Operation not permitted(; .*)?")


def obstacle():
    """What keeps all processes of this machine from each other's memory, if anything."""
    yama = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    if yama.exists() and yama.read_text().strip() != "0":
        return f"{yama} is {yama.read_text().strip()}"

    class Piece(ctypes.Structure):
        _fields_ = [("address", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]
    libc = ctypes.CDLL(None, use_errno=True)
    spaces = [ctypes.create_string_buffer(8) for _ in range(2)]
    pieces = [Piece(ctypes.addressof(space), 8) for space in spaces]
    read = libc.process_vm_readv(os.getpid(), ctypes.byref(pieces[0]), ctypes.c_ulong(1),
                                 ctypes.byref(pieces[1]), ctypes.c_ulong(1), ctypes.c_ulong(0))
    return "" if read == 8 else "process_vm_readv: " + os.strerror(ctypes.get_errno())


needs_reading = pytest.mark.skipif(bool(obstacle()), reason=obstacle())


def program(mpi):
    """Most of its time goes into making and comparing data."""
    return mpi.compile("single_copy", flags=["-O3"])


def run(mpi, ranks, *words, choice=ON, options=(), **more):
    """The first calls would go to the host."""
    return mpi.launch(program(mpi), ranks, *words, options=["--warmup=0", choice, *options],
                      timeout=60, **more)


def words_of(outcome, start):
    return [line.split() for line in outcome.out.splitlines() if line.startswith(start + " ")]


def reads(outcome):
    """How often Tutti read in other processes, or tried; how often in vain."""
    (line,) = words_of(outcome, "reads")
    return int(line[1]), int(line[3])


def by(outcome, algorithm, collective=None):
    return sum(row["calls"] for row in outcome.report.rows
               if row.get("algorithm") == algorithm and collective in (None, row["collective"]))


def all_by_tutti(outcome):
    """And without a word."""
    assert not outcome.lines(), str(outcome)
    assert outcome.report.calls("host") == 0, outcome.report.rows
    return outcome


def expect_every_large_call(outcome, handed_back=()):
    made = {line[1]: int(line[2]) for line in words_of(outcome, "large")}
    assert set(made) == set(NAMES) and all(made.values()), str(outcome)
    assert not outcome.lines() and "no_single_copy" not in outcome.report.data, str(outcome)
    for name, calls in made.items():
        left = outcome.report.calls("host", name)
        assert left == 0 or name in handed_back, outcome.report.rows
        assert by(outcome, "single", name) == calls - left > 0, (name, outcome.report.rows)
    tried, failed = reads(outcome)
    assert tried > 0 == failed, str(outcome)


@needs_reading
@pytest.mark.check
def test_every_call(mpi):
    expect_every_large_call(run(mpi, 3, "calls").passed())


@needs_reading
@pytest.mark.parametrize("name", ["debian-openmpi", "debian-mpich", "pypi-impi"])
def test_every_call_of_two(name):
    # With two ranks the rules leave some sizes to Intel MPI.
    handed_back = ("bcast", "allreduce", "gather", "allgather") if name == "pypi-impi" else ()
    expect_every_large_call(run(usable(name), 2, "calls").passed(), handed_back)


@needs_reading
@pytest.mark.check
def test_every_call_where_it_was_measured_to_win(debian_mpi):
    outcome = all_by_tutti(run(debian_mpi, 2, "calls", choice=AUTO).passed())
    assert reads(outcome)[1] == 0 and "no_single_copy" not in outcome.report.data, str(outcome)


def test_never(debian_mpi):
    outcome = all_by_tutti(run(debian_mpi, 2, "calls", choice=OFF).passed())
    assert reads(outcome) == (0, 0) and by(outcome, "single") == 0, str(outcome)
    why = outcome.report.data.get("no_single_copy", "TUTTI_SINGLE_COPY=off")  # none: crowded
    assert why == "TUTTI_SINGLE_COPY=off", why


@needs_reading
@pytest.mark.parametrize("other, words", [("moves", ["edges"]), ("user_ops", []), ("layouts", []),
                                          ("random_mixed", ["--seed", 41, "--calls", 500])])
def test_other_programs(openmpi, other, words):
    """Operators that do not commute, datatypes with gaps, threads on several communicators."""
    outcome = openmpi.launch(other, 3, *words, options=[ON]).passed()
    assert by(outcome, "single") > 0, outcome.report.rows


# ---- who may not read ---------------------------------------------------------------------------


def expect_none(outcome):
    report = all_by_tutti(outcome.passed()).report
    assert DENIED.fullmatch(report.data.get("no_single_copy", "")), report.data
    assert by(outcome, "single") == 0 < reads(outcome)[1], report.rows


def expect_rings_from_then_on(outcome):
    """What was begun as single copy, but for allreduce, which looks first. From the 64th call on
    nothing is, nor on the next communicator, and the report says why."""
    report = all_by_tutti(outcome.passed()).report
    assert DENIED.fullmatch(report.data.get("no_single_copy", "")), report.data
    assert reads(outcome)[1] > 0, report.rows
    # Three sizes, in place and not: once as single copy, then begun so, then on the next
    # communicator, where the smallest has another algorithm.
    assert by(outcome, "single", "allreduce") == 6, report.rows
    assert by(outcome, "split", "allreduce") == 6 + 4, report.rows
    assert by(outcome, "direct", "allreduce") == 2, report.rows
    # Three sizes, three roots. Of a size 13 calls count; the 64th is the second size's allgather.
    assert by(outcome, "single", "bcast") == 9 + 6, report.rows
    assert by(outcome, "pipeline", "bcast") == 3 + 9, report.rows


def need_root():
    """What the MPI cannot remove as another user goes with the run: swept()."""
    status = pathlib.Path("/proc/self/status").read_text()
    cap_setuid = 7
    if not int(re.search(r"CapEff:\s*(\w+)", status)[1], 16) >> cap_setuid & 1:
        pytest.skip("only root can become another user")


def test_a_container_that_forbids_it(mpi):
    expect_none(run(mpi, 3, "denied", "filter", "init", "all"))


def test_the_report_says_why(openmpi):
    outcome = run(openmpi, 3, "denied", "filter", "init", "all", options=["--report"],
                  with_report=False).passed()
    told = [line for line in outcome.lines() if "no single copy within the host: " in line]
    assert len(told) == 1 and DENIED.fullmatch(told[0].split("host: ")[1]), str(outcome)


@needs_reading
def test_one_rank_may_not_read_any_more(mpi):
    expect_rings_from_then_on(run(mpi, 3, "denied", "filter", "later", 1))


@pytest.mark.parametrize("when, who", [("init", 1), ("team", 0), ("team", 2)])
def test_one_rank_is_not_dumpable(openmpi, when, who):
    """To /proc as well, so its segment goes by a socket. MPICH's own start needs /proc."""
    expect_none(run(openmpi, 3, "denied", "dumpable", when, who))


@needs_reading
@pytest.mark.parametrize("who", [0, 1])
def test_one_rank_is_not_dumpable_any_more(debian_mpi, who):
    expect_rings_from_then_on(run(debian_mpi, 3, "denied", "dumpable", "later", who))


@needs_reading
def test_one_rank_is_another_user_from_then_on(debian_mpi):
    need_root()
    expect_rings_from_then_on(run(debian_mpi, 3, "denied", "user", "later", 1,
                                  wrap=swept()))


def test_one_rank_is_another_user(openmpi):
    """Gets no segment: the host runs all, in one line. Other hosts, and this one by its own single
    copy, fail where a rank is another user."""
    need_root()
    outcome = run(openmpi, 3, "denied", "user", "team", 1, wrap=swept(),
                  launcher_flags=["--mca", "btl_vader_single_copy_mechanism", "none"]).passed()
    lines = outcome.lines()
    assert len(lines) == 1 and "stays with your MPI" in lines[0], str(outcome)
    assert outcome.report.calls("tutti") == 0 < outcome.report.calls("host"), outcome.report.rows
    assert len(outcome.report.reasons()) == 1, outcome.report.rows


@pytest.mark.parametrize("name, flags", [("debian-openmpi", ["--mca", "btl", "self,tcp"]),
                                         ("pypi-impi", [])])
def test_each_rank_in_a_pid_namespace(name, flags):
    """Which Open MPI's own shared memory does not survive, nor MPICH's."""
    mpi, unshare = usable(name), ["unshare", "--pid", "--fork", "--kill-child"]
    probe = subprocess.run([*unshare, "true"], capture_output=True, text=True)
    if probe.returncode:
        pytest.skip("cannot make a pid namespace: " + probe.stderr.strip())
    outcome = mpi.launch(pathlib.Path(shutil.which("unshare")), 3, *unshare[1:], program(mpi), "rounds",
                         options=["--warmup=0", ON], launcher_flags=flags).passed()
    report = all_by_tutti(outcome).report
    assert report.data["no_single_copy"] == "the ranks are in different pid namespaces", report.data
    assert by(outcome, "single") == 0 == reads(outcome)[0], report.rows


@needs_reading
def test_a_read_fails_in_the_middle(debian_mpi):
    """The rest of that call goes through rings."""
    outcome = all_by_tutti(run(debian_mpi, 3, "failing").passed())
    assert reads(outcome)[1] > 0 and by(outcome, "single") == outcome.report.calls("tutti"), str(outcome)


@needs_reading
def test_a_read_fails_too_late(debian_mpi):
    """An allreduce has overwritten inputs by then. All are told, of this call and the next."""
    outcome = run(debian_mpi, 3, "lost").passed()
    assert "errors 6\n" in outcome.out and reads(outcome)[1] == 1, str(outcome)
    lines = outcome.lines()
    assert len(lines) == 2 and lines[0] == lines[1], str(outcome)
    assert re.search(r"rank 1: cannot read the memory of rank \d of this host any more$", lines[0]), lines


# ---- who is late, stops or dies -----------------------------------------------------------------


@needs_reading
def test_nobody_waits_for_a_late_reader(mpi):
    """Whoever did would wait for ever: the late rank waits for its word."""
    outcome = all_by_tutti(run(mpi, 3, "late").passed())
    assert by(outcome, "single") == 6 * (6 + 3 + 3 + 6), outcome.report.rows


@needs_reading
def test_the_only_reader_is_late(openmpi):
    outcome = all_by_tutti(run(openmpi, 2, "late").passed())
    assert by(outcome, "single") == 6 * 8, outcome.report.rows


@needs_reading
def test_stopped_amid_reading(debian_mpi):
    """Readers, and those whose memory is being read."""
    outcome = all_by_tutti(run(debian_mpi, 3, "stopped").passed())
    assert reads(outcome)[1] == 0, str(outcome)


def expect_end(outcome):
    assert outcome.status != 0 and "nobody was killed" not in outcome.err, str(outcome)


@needs_reading
def test_killed_reader_ends_the_job(mpi):
    expect_end(run(mpi, 3, "killed", "reader", wrap=swept()))


@needs_reading
def test_killed_while_others_read_there(debian_mpi):
    expect_end(run(debian_mpi, 3, "killed", "owner", wrap=swept()))
