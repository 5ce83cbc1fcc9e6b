# SPDX-License-Identifier: BSD-3-Clause
"""Too little memory: one line says so, and the communicator goes to the host MPI on all ranks."""
import os
import pathlib
import subprocess

import pytest

from harness import BARE
from test_behaviour import private_shm

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to limit")

# Chunks so large that what Tutti wants for three ranks (384 MiB) is far from what an MPI needs.
WANTS_MUCH = ["--chunk=16M", "--memory=4G"]


def expect_handed_back(outcome, *words):
    outcome.passed()
    lines = outcome.lines()
    assert len(lines) == 1, str(outcome)
    assert all(word in lines[0] for word in words), str(outcome)
    report = outcome.report
    assert report.calls("tutti") == 0, report.rows
    # Alike on all ranks: each collective's calls were counted whole, with one and the same reason.
    reasons = {r for r in report.reasons(3)
               if r not in ("first calls on a communicator", "not taken over yet")}
    assert len(reasons) == 1 and words[0] in reasons.pop(), report.rows
    for collective in ("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather"):
        assert report.calls("host", collective) == 8, report.rows


def test_memory_setting(mpi):
    outcome = mpi.launch("simple", 3, 8, options=["--memory=64K"])
    expect_handed_back(outcome, "TUTTI_MEMORY", "64 KiB")


def test_file_size_limit(debian_mpi):
    wrap = ["sh", "-c", "ulimit -f 40000; exec \"$@\"", "sh"]
    outcome = debian_mpi.launch("simple", 3, 8, options=WANTS_MUCH, wrap=wrap)
    expect_handed_back(outcome, "file size limit", "ulimit -f")


@pytest.fixture
def small_cgroup():
    """A cgroup of 200 MiB below ours, of version 1 or 2, whichever lets us."""
    made = None
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            base, limit = pathlib.Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"
        elif controllers == "":
            base, limit = pathlib.Path("/sys/fs/cgroup"), "memory.max"
        else:
            continue
        group = base / path.lstrip("/") / f"tutti-systest-{os.getpid()}"
        try:
            group.mkdir()
            (group / limit).write_text(str(200 << 20))
            made = group
            break
        except OSError:
            if group.exists():
                group.rmdir()
    if made is None:
        pytest.skip("no memory cgroup can be made here")
    yield made
    for pid in (made / "cgroup.procs").read_text().split():
        (made.parent / "cgroup.procs").write_text(pid)
    made.rmdir()


def test_cgroup_limit(debian_mpi, small_cgroup):
    wrap = ["sh", "-c", f"echo $$ > {small_cgroup}/cgroup.procs && exec \"$@\"", "sh"]
    outcome = debian_mpi.launch("simple", 3, 8, options=WANTS_MUCH, wrap=wrap)
    expect_handed_back(outcome, "cgroup", "memory limit")


def test_tiny_dev_shm(openmpi):
    """Tutti does not use /dev/shm, so it runs where the MPI's own shared memory cannot."""
    outcome = openmpi.launch("simple", 3, 20, wrap=private_shm()("64k"),
                             launcher_flags=["--mca", "btl", "self,tcp"]).passed()
    assert not outcome.lines(), str(outcome)
    assert "left in shm" not in outcome.out, str(outcome)
    assert outcome.report.calls("tutti", "barrier", 3) > 0, outcome.report.rows


def test_memory_files_that_are_never_executed(debian_mpi):
    """Under vm.memfd_noexec=2, which a pid namespace may have of its own."""
    script = "sysctl -qw vm.memfd_noexec=2 && exec \"$@\""
    space = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh"]
    probe = subprocess.run([*space, "true"], capture_output=True, text=True)
    if probe.returncode:
        pytest.skip("vm.memfd_noexec cannot be set here: " + probe.stderr.strip())
    outcome = debian_mpi.launch("simple", 3, 8, wrap=space).passed()
    assert not outcome.lines(), str(outcome)
    assert outcome.report.calls("tutti", "barrier", 3) > 0, outcome.report.rows


@pytest.mark.parametrize("hosts", [1, 2])
def test_no_memory_to_pack_on_one_rank(debian_mpi, hosts):
    """The others are told, wherever they wait (a stall time keeps the rules from the host MPI)."""
    outcome = debian_mpi.launch("give_up", 4, options=[f"--hosts={hosts}", "--stall=100"]).passed()
    assert any("no memory to pack" in line for line in outcome.lines()), str(outcome)
    told = [line for line in outcome.lines() if "rank 3: no memory to pack" in line]
    assert told, str(outcome)
