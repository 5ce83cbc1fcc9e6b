# SPDX-License-Identifier: BSD-3-Clause
"""Programs that ask by weak symbols whether they have MPI."""
import subprocess

import pytest

from harness import BARE, PRELOAD, PROGRAMS, run_command

pytestmark = [pytest.mark.each_kind,
              pytest.mark.skipif(BARE, reason="SYSTEST_BARE: no name is there without MPI")]

RUNNING = ("running: 1 0 1 0\nended: 1 1 1 1\nhas MPI: 1\n")


def build(folder, *flags):
    program = folder / "weak"
    subprocess.run(["gcc", PROGRAMS / "weak.c", "-o", program, *flags, "-ldl"], check=True)
    return program


def test_a_process_without_mpi(tmp_path):
    outcome = run_command([build(tmp_path)], env={"LD_PRELOAD": PRELOAD})
    assert outcome.status == 0, str(outcome)
    assert outcome.out == "before: 0 0 0 0\nagain: 0 0 0 0\nhas MPI: 0\n", str(outcome)
    assert not outcome.err, str(outcome)


def library_of(mpi):
    shown = subprocess.run(["ldd", mpi.compile("simple")], capture_output=True, text=True,
                           check=True)
    return next(line.split()[2] for line in shown.stdout.splitlines()
                if line.split()[0].startswith("libmpi"))


def test_a_process_with_mpi(mpi, tmp_path):
    library = library_of(mpi)
    outcome = mpi.launch(build(tmp_path, "-Wl,--no-as-needed", str(library),
                               f"-Wl,-rpath,{mpi.root / 'lib'}" if mpi.root else "-Wl,-z,now"), 1)
    assert outcome.status == 0 and outcome.out == "before: 0 0 0 0\nagain: 0 0 0 0\n" + RUNNING, \
        str(outcome)


def test_a_process_that_loads_its_mpi_itself(mpi, tmp_path):
    """Where nobody else sees it; after it has been asked in vain."""
    outcome = mpi.launch(build(tmp_path), 1, str(library_of(mpi)))
    assert outcome.status == 0, str(outcome)
    assert outcome.out == "before: 0 0 0 0\nagain: 0 0 0 0\nloaded: 0 0 0 0\n" + RUNNING, \
        str(outcome)
