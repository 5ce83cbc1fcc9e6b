# SPDX-License-Identifier: BSD-3-Clause
"""Settings as administrators and users meet them: variables of modules, reports that do not come, settings
without effect, and the command started in other ways than before a launcher."""
import os
import pty
import select
import signal
import subprocess

import pytest

from harness import BARE, PRELOAD, TUTTI, all_mpis, clean_environment, run_command

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to set")

UNKNOWN = "tutti: unknown variable TUTTI_CHEK is ignored; did you mean TUTTI_CHECK?"
REPORT = " collectives by Tutti, "


def preload(mpi):
    return {"ompi": ["-x", f"LD_PRELOAD={PRELOAD}"],
            "mpich": ["-genv", "LD_PRELOAD", PRELOAD]}[mpi.flavour]


def test_variables_of_modules_pass(mpi):
    modules = {"TUTTI_ROOT": "/opt/tutti", "TUTTI_VERSION": "1.2", "TUTTI_LIB_DIR": "/opt/tutti/lib"}
    outcome = mpi.launch("simple", 3, 8, env=modules).passed()
    assert not outcome.lines(), str(outcome)
    assert outcome.report.calls("tutti") > 0, outcome.report.rows


@pytest.mark.check
def test_an_unknown_variable_is_one_line(mpi):
    outcome = mpi.launch("simple", 3, 8, env={"TUTTI_CHEK": "1"}).passed()
    assert outcome.lines() == [UNKNOWN], str(outcome)
    assert outcome.report.calls("tutti") > 0, outcome.report.rows


def test_hosts_may_differ_in_what_modules_set(debian_mpi):
    """Only settings are compared."""
    own = 'export TUTTI_ROOT=/opt/$$ TUTTI_CHEK=$$; exec "$0" "$@"'
    program = debian_mpi.compile("simple")
    command = [debian_mpi.launcher, *debian_mpi.flags, "-n", 3, "sh", "-c", own, program, 8]
    outcome = run_command([TUTTI, "run", "--", *command]).passed()
    assert outcome.lines() == [UNKNOWN], str(outcome)


def test_a_report_without_a_temporary_folder():
    """Open MPI itself would want one."""
    mpi = all_mpis()["debian-mpich"]
    if mpi.missing():
        pytest.skip(mpi.missing())
    program = mpi.compile("simple")
    outcome = run_command([TUTTI, "run", "--report", "--", mpi.launcher, "-n", 2, program, 8],
                          env={"TMPDIR": "/nonexistent"}).passed()
    assert outcome.lines()[0] == ("tutti: no temporary directory (/nonexistent: No such file or "
                                  "directory): if no report comes, nothing will be said"), str(outcome)
    assert outcome.err.count(REPORT) == 1, str(outcome)


@pytest.mark.parametrize("is_nested", [False, True])
def test_each_rank_starts_the_command(mpi, is_nested):
    """One of them gives the report, and no other wonders where its own is."""
    program = mpi.compile("simple")
    command = [mpi.launcher, *mpi.flags, "-n", 3, TUTTI, "run", "--report", "--", program, 8]
    if is_nested:
        command = [TUTTI, "run", "--report", "--", *command]
    outcome = run_command(command).passed()
    assert outcome.err.count(REPORT) == 1, str(outcome)
    assert "no collective was seen" not in outcome.err, str(outcome)


def test_switched_off_there_is_no_report(mpi):
    program = mpi.compile("simple")
    command = [mpi.launcher, *mpi.flags, "-n", 2, program, 8]
    outcome = run_command([TUTTI, "run", "--report", "--", *command], env={"TUTTI": "Off"}).passed()
    assert outcome.lines() == ["tutti: no report: TUTTI=off"], str(outcome)


def preloaded(mpi, tmp_path, **variables):
    """Without `tutti run`."""
    program = mpi.compile("simple")
    given = [part for name, value in variables.items()
             for part in (["-x", f"{name}={value}"] if mpi.flavour == "ompi"
                          else ["-genv", name, value])]
    return run_command([mpi.launcher, *mpi.flags, *preload(mpi), *given, "-n", 2, program, 8],
                       cwd=tmp_path).passed()


def test_a_report_is_a_switch_too(debian_mpi, tmp_path):
    outcome = preloaded(debian_mpi, tmp_path, TUTTI="0", TUTTI_REPORT="1")
    assert outcome.lines() == ["tutti: no report: TUTTI=off"], str(outcome)
    for word in ("off", "No", "0"):
        outcome = preloaded(debian_mpi, tmp_path, TUTTI_REPORT=word)
        assert outcome.err == "", str(outcome)
    outcome = preloaded(debian_mpi, tmp_path, TUTTI_REPORT="True")
    assert outcome.err.count(REPORT) == 1, str(outcome)
    assert not list(tmp_path.iterdir())


IDLE = "tutti: without effect, since all ranks are on one host: "


def test_settings_without_effect_are_one_line(mpi):
    outcome = mpi.launch("simple", 3, 8, options=["--allreduce=ring", "--mcast=on"]).passed()
    assert outcome.lines() == [IDLE + "TUTTI_ALLREDUCE=ring, TUTTI_MCAST=on"], str(outcome)
    outcome = mpi.launch("simple", 3, 8, options=["--allreduce=ring", "--hosts=2"]).passed()
    assert not outcome.lines(), str(outcome)
    outcome = mpi.launch("simple", 3, 8, options=["--bcast=node:small", "--mcast=off"]).passed()
    assert not outcome.lines(), str(outcome)


def test_what_cannot_run_on_one_host_is_one_line(debian_mpi):
    outcome = debian_mpi.launch(TUTTI, 2, "bench", "allreduce", "--bytes=8,1K,64K",
                                "--algorithm=all", "--seconds=0.05", "--batches=5",
                                with_report=False)
    assert outcome.status == 0, str(outcome)
    lines = [line for line in outcome.out.splitlines() if "cannot: " in line]
    assert len(lines) == 1, str(outcome)
    assert "ring" in lines[0] and lines[0].endswith(
        ": all ranks are on one host, where shared memory runs every call"), str(outcome)


def test_bench_under_a_launcher_that_the_mpi_does_not_know(debian_mpi, tmp_path):
    """As under srun: no launcher of an MPI is above it. The first on PATH says which MPI it is."""
    (tmp_path / "mpirun").symlink_to(subprocess.check_output(
        ["which", debian_mpi.launcher], text=True).strip())
    env = {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4",
           "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    outcome = run_command([TUTTI, "bench", "barrier"], env=env)
    name = {"ompi": "Open MPI", "mpich": "MPICH"}[debian_mpi.flavour]
    assert outcome.status == 2, str(outcome)
    assert f"tutti bench: each of the 4 ranks is alone: {name}" in outcome.err, str(outcome)
    assert outcome.err.rstrip().endswith("TUTTI_MPI_LIBRARY=/path/libmpi.so"), str(outcome)


def heed_interrupts():
    """A shell starts what it does not wait for with SIGINT ignored; a child would inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_check_ends_by_an_interrupt_on_a_clean_line():
    outer, inner = pty.openpty()
    child = subprocess.Popen([TUTTI, "check", "allreduce", "--ranks=900..1000"], stderr=inner,
                             stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                             env=clean_environment(), preexec_fn=heed_interrupts)
    os.close(inner)
    seen = b""
    while b"schedules proved" not in seen:
        ready, _, _ = select.select([outer], [], [], 60)
        assert ready, seen
        seen += os.read(outer, 4096)
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == -signal.SIGINT
    try:
        while part := os.read(outer, 4096):
            seen += part
    except OSError:
        pass  # the end of a terminal
    assert seen.endswith(b"\r\x1b[K"), seen
    assert seen.count(b"\n") == 0, seen
