# SPDX-License-Identifier: BSD-3-Clause
"""What TUTTI_REPORT says of real programs, and the files that it goes to."""
import json
import os
import pathlib
import re

import pytest

from harness import BARE, TUTTI, own_tools_first, run_command

# By collective of `passed` on 3 ranks, of ints: calls, bytes of all of them (of a rank, on average),
# and the class of one.
EACH = (1000 + 2000 + 3000) * 4
PASSED = {
    "allgatherv": (1, EACH, "<= 1 MiB"),
    # The root knows the sum; in place, that of the others' blocks.
    "gatherv": (2, (2 * (4000 + 12000) + EACH + (EACH - 8000)) // 3, "<= 16 KiB"),
    "scatterv": (1, (4000 + 12000 + EACH) // 3, "<= 16 KiB"),
    "alltoallv": (2, (3 * (10 + 20 + 30) + 3 * 3 * 10) * 4 // 3, "<= 256 B"),
    "alltoallw": (2, (3 * (10 + 20 + 30) + 3 * 3 * 10) * 4 // 3, "<= 256 B"),
    "reduce_scatter": (1, (1 + 2 + 3) * 8, "<= 256 B"),
}
# The same of `forms`, for one call: bytes and class of what has no other row.
FORMS = {
    "barrier": 0, "bcast": 40, "reduce": 400, "allreduce": 800, "gather": 120, "scatter": 160,
    "allgather": 200, "reduce_scatter_block": 240,
    "gatherv": (600 + 100 + 300) * 4 / 3, "scatterv": (600 + 100 + 300) * 4 / 3,
    "allgatherv": 600 * 4, "alltoall": 3 * 70 * 4, "alltoallv": 3 * (10 + 20 + 30) * 4 / 3,
    "alltoallw": 3 * (10 + 20 + 30) * 4 / 3, "reduce_scatter": 600 * 4, "scan": 5000, "exscan": 320,
    "neighbor_allgather": 360, "neighbor_allgatherv": 40, "neighbor_alltoall": 2 * 20 * 4,
    "neighbor_alltoallv": 2 * 10 * 4, "neighbor_alltoallw": 2 * 10 * 4,
}
# One rank sends blocks of 2400 bytes to two; and each to two.
GRAPHS = 2 * 2400 // 3 + 2 * 2400
needs_tutti = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no report")


def counted_on(report, ranks, run_by="host"):
    return {row["collective"]: (row["calls"], row["bytes"], row["size_class"])
            for row in report.rows if row["ranks"] == ranks and row["run_by"] == run_by}


# Too little memory for a team leaves all to the host.
@pytest.mark.parametrize("run_by, options", [("tutti", []), ("host", ["--memory=64K"])])
@pytest.mark.parametrize("form", ["int", "large"])
@pytest.mark.check
def test_bytes_of_vector_forms(mpi, form, run_by, options):
    outcome = mpi.launch("passed", 3, form, options=["--warmup=0", *options]).passed()
    if BARE or "ok 1\n" in outcome.out:
        return
    found = counted_on(outcome.report, 3, run_by)
    assert {name: found.get(name) for name in PASSED} == PASSED, outcome.report.rows
    assert len(outcome.report.rows) == len(PASSED), outcome.report.rows


def class_of(size):
    return "<= 256 B" if size <= 256 else "<= 16 KiB"


def expected_forms(out, form):
    """What `forms` called: each collective without blocking, and persistent ones started thrice."""
    rows = {}
    for name, size in FORMS.items():
        if form == "large" and name == "barrier":
            continue
        rows["i" + name] = (1, int(size), class_of(size))
        if name.startswith("neighbor"):
            rows[name] = rows["i" + name]
        is_left_out = name in ("gather", "scatter") and "no persistent gather" in out
        if "no persistent collectives" in out or is_left_out:
            continue
        rows[name + "_init"] = (1, 0, "<= 256 B")
        rows[name + "_start"] = (3, int(3 * size), class_of(size))
    if form == "int":
        rows["ineighbor_alltoall"] = (3, 160 + GRAPHS, "<= 16 KiB")
    return rows


@pytest.mark.parametrize("form", ["int", "large"])
def test_non_blocking_persistent_and_neighborhood_ones(mpi, form):
    """Also by large counts under MPIs that have none; messages that are started are not counted."""
    outcome = mpi.launch("forms", 3, form).passed()
    if BARE:
        return
    blocking = set(FORMS) - {name for name in FORMS if name.startswith("neighbor")}
    # MPICH 5 returns MPI_SUCCESS behind an error handler.
    erroneous = {row["collective"] for row in outcome.report.rows if row["ranks"] == 1}
    assert erroneous <= {"ibcast"}, outcome.report.rows
    rows = [row for row in outcome.report.rows
            if row["collective"] not in blocking and row["ranks"] == 3]
    found = {row["collective"]: (row["calls"], row["bytes"], row["size_class"]) for row in rows}
    assert found == expected_forms(outcome.out, form), rows
    assert len(rows) == len(found), rows
    assert all(row["seconds"] > 0 and row["run_by"] == "host" and
               row["reason"] == "not taken over yet" for row in rows), rows


@needs_tutti
@pytest.mark.check
def test_bytes_between_groups(debian_mpi):
    """A communicator of one and two ranks: each rank counts what it sends or gets."""
    report = debian_mpi.launch("passed", 3, "int", "groups").passed().report
    assert counted_on(report, 1) == {
        "alltoall": (1, 800, "<= 16 KiB"), "gatherv": (1, 800, "<= 16 KiB"),
        "scatterv": (1, 800, "<= 16 KiB")}, report.rows
    assert counted_on(report, 2) == {
        "alltoall": (1, 400, "<= 16 KiB"), "gatherv": (1, 400, "<= 16 KiB"),
        "scatterv": (1, 400, "<= 16 KiB")}, report.rows


@needs_tutti
def test_what_is_checked_and_not_reported(debian_mpi):
    outcome = debian_mpi.launch("passed", 3, "int", options=["--check"], with_report=False).passed()
    assert outcome.ends() == ["tutti: check: 9 calls compared on 3 ranks, all alike"], str(outcome)


def launch_of(mpi, ranks, program, *args):
    """As words of a shell's script."""
    return " ".join(map(str, [mpi.launcher, *mpi.flags, "-n", ranks, program, *args]))


@needs_tutti
@pytest.mark.parametrize("name, second", [("r.json", "r.2.json"), ("r", "r.2")])
def test_two_programs_of_one_run(debian_mpi, tmp_path, name, second):
    """The second is not the first's end; a run after it is."""
    program = debian_mpi.compile("watched")
    both = "; ".join(launch_of(debian_mpi, ranks, program, 5) for ranks in (2, 3, 1))
    third = second.replace("2", "3")
    for _ in range(2):
        outcome = run_command([TUTTI, "run", f"--report={name}", "--", "sh", "-c", both], cwd=tmp_path)
        assert outcome.status == 0, str(outcome)
        assert outcome.lines() == [f"tutti: report in {tmp_path / one}: this run has written "
                                   f"{tmp_path / name} already" for one in (second, third)]
        reports = {one: json.loads((tmp_path / one).read_text()) for one in os.listdir(tmp_path)}
        assert {one: report["ranks"] for one, report in reports.items()} == {
            name: 2, second: 3, third: 1}
        assert len({report["run"] for report in reports.values()}) == 1, reports
    outcome = debian_mpi.launch("watched", 4, 5, with_report=False,
                                options=[f"--report={tmp_path / name}"]).passed()
    assert not outcome.lines() and len(os.listdir(tmp_path)) == 3
    assert json.loads((tmp_path / name).read_text())["ranks"] == 4


@needs_tutti
def test_names_with_codes(mpi, tmp_path):
    program = mpi.compile("watched")
    command = ["sh", "-c", "; ".join([launch_of(mpi, 2, program, 5)] * 2)]
    outcome = run_command([TUTTI, "run", "--report=r-%j-%h.%p.json", "--", *command], cwd=tmp_path,
                          env={"PATH": own_tools_first([mpi.launcher])})
    assert outcome.status == 0 and not outcome.lines(), str(outcome)
    found = [re.fullmatch(rf"r-(\d+)-{os.uname().nodename}\.(\d+)\.json", one)
             for one in os.listdir(tmp_path)]
    assert len(found) == 2 and all(found), os.listdir(tmp_path)
    # One number for the run, and each program's own.
    assert found[0][1] == found[1][1] and found[0][2] != found[1][2], found
    os.mkdir(tmp_path / "4711")
    # For the ranks alone: launchers, too, look for a batch system.
    outcome = mpi.launch(pathlib.Path("/usr/bin/env"), 2, "LSB_JOBID=4711", program, 5,
                         with_report=False, options=[f"--report={tmp_path}/%j/r"]).passed()
    assert os.listdir(tmp_path / "4711") == ["r"], str(outcome)


@needs_tutti
def test_what_was_measured_only_where_asked_for(debian_mpi):
    """And --report=full is no file of that name."""
    for word, shown in ("--report", False), ("--report=full", True):
        outcome = debian_mpi.launch("watched", 2, 5, with_report=False, options=[word]).passed()
        assert any(line.startswith("tutti: within ") for line in outcome.lines()) == shown, outcome
        assert any("allreduce" in line for line in outcome.err.splitlines()), str(outcome)
    assert not os.path.exists("full")
