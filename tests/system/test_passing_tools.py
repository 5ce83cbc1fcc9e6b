# SPDX-License-Identifier: BSD-3-Clause
"""Tools that define MPI_ names, PMPI_ names or both, and hand calls on by looking the next function
up: wherever they stand, results are right, and they count what they count without Tutti."""
import shutil
import subprocess

import pytest

from harness import BARE, PRELOAD, PROGRAMS, WORK, expect_taken_over

pytestmark = pytest.mark.each_kind

MPI, PMPI = "-DWITH_MPI", "-DWITH_PMPI"
TOOLS = {
    "both-next": [MPI, PMPI, "-DBY=NEXT"],
    "both-profile": [MPI, PMPI, "-DBY=PROFILE"],
    "both-opened": [MPI, PMPI, "-DBY=OPENED"],
    "both-linked": [MPI, PMPI, "-DBY=LINKED"],
    "mpi-next": [MPI, "-DBY=NEXT"],
    "pmpi-next": [PMPI, "-DBY=NEXT"],
}
CALLS = 20


def build(command, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    made = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert made.returncode == 0 and "warning" not in made.stderr, made.stderr
    return target


def tool_for(mpi, name):
    target = WORK / mpi.name / f"tool-{name}.so"
    return build(mpi.compile_command(PROGRAMS / "passing_tool.c", target, True, TOOLS[name]), target)


def linked_with(mpi, tool):
    """`simple`, with the tool in front of the MPI in what it is linked to."""
    source, target = PROGRAMS / "simple.c", WORK / mpi.name / f"simple-{tool.stem}"
    command = mpi.compile_command(source, target, False, [f"-Wl,-rpath,{tool.parent}"])
    at = command.index(source)
    return build([*command[:at + 1], "-Wl,--no-as-needed", tool, *command[at + 1:]], target)


def preloads(mpi, *libraries):
    value = ":".join(str(library) for library in libraries)
    if mpi.flavour == "ompi":
        return ["-x", f"LD_PRELOAD={value}"]
    return ["-genv", "LD_PRELOAD", value]


def run(mpi, program, *libraries, tutti=False, ranks=2):
    flags = preloads(mpi, *libraries) if libraries else []
    outcome = mpi.launch(program, ranks, CALLS, tutti=tutti, launcher_flags=flags).passed()
    return outcome, [line for line in outcome.out.splitlines() if line.startswith("tool ")]


def expected_counts(name):
    once = f"1 {' '.join(8 * [str(CALLS)])} 1"
    none = " ".join(10 * ["0"])
    by_mpi = once if MPI in TOOLS[name] else none
    return [f"tool {by_mpi} {once if name == 'both-linked' else none}"]


@pytest.mark.parametrize("order", ["before", "behind", "linked"])
@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.sampled
def test_tool_counts_as_without_tutti(mpi, name, order):
    tool = tool_for(mpi, name)
    program = linked_with(mpi, tool) if order == "linked" else "simple"
    if BARE:
        outcome, counts = run(mpi, program, *([] if order == "linked" else [tool]))
    elif order == "before":
        # `tutti run` puts Tutti behind what the user preloads.
        outcome, counts = run(mpi, program, tool, tutti=True)
    else:
        outcome, counts = run(mpi, program, PRELOAD, *([tool] if order == "behind" else []))
    assert counts == expected_counts(name), str(outcome)
    if BARE:
        return
    lines = [line for line in outcome.lines() if "runs without Tutti" in line]
    if order == "before":
        assert not lines, str(outcome)
        if name != "both-opened":  # calls the MPI itself
            expect_taken_over(outcome.report, 2)
    elif PMPI in TOOLS[name]:
        assert len(lines) == 1 and f"{tool} defines PMPI_Init, too" in lines[0], str(outcome)
    else:
        assert not lines, str(outcome)


FORTRAN = {"debian-openmpi": "mpif90.openmpi", "debian-mpich": "mpifort.mpich"}


@pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to compare with")
@pytest.mark.parametrize("order", ["before", "behind"])
def test_tool_counts_fortran_calls(debian_mpi, order):
    """Some Fortran bindings call PMPI_ names, so that a tool sees them by these alone."""
    compiler = FORTRAN[debian_mpi.name]
    if not shutil.which(compiler) or not shutil.which("gfortran"):
        pytest.skip(f"no Fortran compiler ({compiler})")
    tool = tool_for(debian_mpi, "both-next")
    target = WORK / debian_mpi.name / "fortran-tool"
    build([compiler, "-ffree-line-length-none", "-J", target.parent, PROGRAMS / "fortran.f90",
           "-o", target], target)
    _, counts = run(debian_mpi, target, tool)
    assert len(counts) == 1 and {"10", "11", "20"} <= set(counts[0].split()), counts
    if order == "before":
        outcome, with_tutti = run(debian_mpi, target, tool, tutti=True)
        expect_taken_over(outcome.report, 2)
    else:
        outcome, with_tutti = run(debian_mpi, target, PRELOAD, tool)
        assert "runs without Tutti" in outcome.err, str(outcome)
    assert with_tutti == counts, str(outcome)
