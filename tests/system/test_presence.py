# SPDX-License-Identifier: BSD-3-Clause
"""Ranks of one MPI_COMM_WORLD of which some have no Tutti: all run without it, and one line names
them."""
import pathlib
import re

import pytest

from conftest import MPIS
from harness import BARE, PRELOAD

pytestmark = pytest.mark.each_kind

of_tutti = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: no rank has Tutti")

RANK = "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$PMIX_RANK}}"
WAIT = "2"  # seconds, longer than a busy machine stops a rank


def launch(mpi, ranks, deviants, deviation, *args, program="without", **more):
    """The ranks `deviants` run `deviation`, a line of shell, before the program."""
    cases = "|".join(map(str, deviants))
    script = f'case {RANK} in {cases}) {deviation};; esac; exec "$@"'
    return mpi.launch(pathlib.Path("/bin/sh"), ranks, "-c", script, "sh", mpi.compile(program),
                      *args, timeout=80, **more)


def expect_named(outcome, missing, ranks):
    """One line says which ranks are missing."""
    outcome.passed()
    lines = outcome.lines()
    assert len(lines) == 1, str(outcome)
    names = ", ".join(map(str, missing))
    many = len(missing) > 1
    assert lines[0].startswith(f"tutti: rank{'s' if many else ''} {names} of {ranks} "
                               f"ha{'ve' if many else 's'} no Tutti"), str(outcome)
    assert "everything stays with your MPI" in lines[0], str(outcome)


@of_tutti
@pytest.mark.parametrize("ranks, missing, args", [
    (2, [0], ["0", "wild"]), (2, [1], ["1"]), (3, [2], ["2", "wild"]), (4, [0, 1], ["3", "wild"]),
    (4, [1], ["4"]), (8, [3, 4, 5], ["5", "wild"]), (8, [0, 7], ["1", "wild"])])
def test_ranks_without_the_library(mpi, ranks, missing, args):
    outcome = launch(mpi, ranks, missing, "unset LD_PRELOAD", *args, env={"TUTTI_START_WAIT": WAIT})
    if mpi.name == "pypi-mpich" and 1 in missing:
        # Rank 1 is called. MPICH 5 ends a job in whose MPI_Finalize a message was not received.
        assert "unmatched message(s)" in outcome.err and "FAIL" not in outcome.err, str(outcome)
        assert len(outcome.lines("tutti: rank")) == 1, str(outcome)
        return
    expect_named(outcome, missing, ranks)


@of_tutti
def test_a_program_of_the_job_without_the_library(mpi):
    """Several programs in one job, the first of which is not preloaded."""
    if mpi.flavour == "ompi":
        first, second = [], ["-x", f"LD_PRELOAD={PRELOAD}"]
    else:
        first, second = [], ["-env", "LD_PRELOAD", str(PRELOAD)]
    path = mpi.compile("without")
    flags = [*first, "-n", 1, path, "0", ":", *second]
    outcome = mpi.launch(path, 3, "0", tutti=False, launcher_flags=flags, timeout=80,
                         env={"TUTTI_START_WAIT": WAIT})
    expect_named(outcome, [0], 4)


@of_tutti
@pytest.mark.parametrize("rank", [0, 2])
def test_a_late_rank_is_waited_for(mpi, rank):
    """Between the host's start and Tutti's; all run with it."""
    shim = mpi.compile("late_start", shared=True)
    outcome = launch(mpi, 3, [rank], f"LD_PRELOAD=$LD_PRELOAD:{shim}; export LD_PRELOAD", "0",
                     env={"LATE_START": "0.5"})
    outcome.passed()
    assert not outcome.lines() and outcome.report.calls("tutti", ranks=3) > 0, str(outcome)


@of_tutti
@pytest.mark.parametrize("rank", [0, 2])
def test_a_rank_that_is_too_late(mpi, rank):
    """The others run without Tutti by then; so does that one."""
    shim = mpi.compile("late_start", shared=True)
    outcome = launch(mpi, 3, [rank], f"LD_PRELOAD=$LD_PRELOAD:{shim}; export LD_PRELOAD", "0",
                     env={"LATE_START": "3", "TUTTI_START_WAIT": "0.5"})
    outcome.passed()
    assert any(re.search(rf"rank {rank} of 3 has no Tutti, or came more than 0\.5 s late", line)
               for line in outcome.lines()), str(outcome)


@of_tutti
def test_the_launcher_of_another_mpi(debian_mpi, tmp_path):
    """Each rank is alone; launcher rank 0 alone says that this looks like a mistake."""
    other = next(mpi for mpi in MPIS.values() if mpi.root is None and mpi.name != debian_mpi.name)
    if other.missing():
        pytest.skip(other.missing())
    # Jobs of one rank that begin at once race to make the folder of Open MPI 4 in TMPDIR.
    own_folder = f'TMPDIR=$(mktemp -d -p {tmp_path}) exec "$0" 1'
    program = (pathlib.Path("/bin/sh"), 3, "-c", own_folder, other.compile("simple"))
    bare = debian_mpi.launch(*program, tutti=False)
    if bare.out.count("ok ") != 3:
        pytest.skip(f"this launcher starts programs of {other.name} as one job, or not at all")
    for off in (False, True):
        outcome = debian_mpi.launch(*program, with_report=False,
                                    env={"TUTTI": "off"} if off else None)
        assert outcome.status == 0 and outcome.out.count("ok ") == 3, str(outcome)
        lines = outcome.lines()
        assert len(lines) == (0 if off else 1), str(outcome)
        assert off or "its launcher started 3: is that the launcher of the program's MPI" in \
            lines[0], str(outcome)


@of_tutti
def test_a_wait_that_is_none_is_refused(debian_mpi):
    outcome = debian_mpi.launch("simple", 2, "1", options=["--start-wait=0"])
    assert outcome.status == 2 and "--start-wait" in outcome.err, str(outcome)
