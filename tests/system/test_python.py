# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py: our own program, and mpi4py's own test suite where its source package can be had."""
import shutil
import subprocess
import tarfile

import pytest

from harness import BARE, PROGRAMS, WORK, expect_taken_over

pytestmark = pytest.mark.each_kind

MPI4PY = "4.1.2"


def test_buffers_and_objects(mpi4py):
    outcome = mpi4py.launch(mpi4py.python, 3, PROGRAMS / "buffers.py").passed()
    expect_taken_over(outcome.report, 3)


@pytest.fixture(scope="session")
def suite(tmp_path_factory):
    """mpi4py's tests, unpacked under build/; fetched once."""
    place = WORK / "mpi4py"
    tests = place / f"mpi4py-{MPI4PY}" / "test"
    if tests.exists():
        return tests
    pips = sorted((WORK.parent / "peers").glob("*/bin/pip"))
    if not pips:
        pytest.skip("no virtual environment to fetch mpi4py's tests with")
    fetched = tmp_path_factory.mktemp("mpi4py")
    command = [pips[0], "download", "-q", "--no-deps", "--no-binary", "mpi4py",
               f"mpi4py=={MPI4PY}", "-d", fetched]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        problem = done.stderr.strip().splitlines()[-1:] if done.returncode else []
    except subprocess.TimeoutExpired:
        problem = ["timed out"]
    archives = list(fetched.glob("mpi4py-*.tar.gz"))
    if not archives:
        pytest.skip(f"mpi4py's source package cannot be had: {''.join(problem)}")
    partial = place.with_name("mpi4py.partial")
    shutil.rmtree(partial, ignore_errors=True)
    with tarfile.open(archives[0]) as archive:
        # Pythons before 3.11.4 know no filters.
        archive.extractall(partial, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    shutil.rmtree(place, ignore_errors=True)
    partial.rename(place)
    return tests


@pytest.mark.parametrize("hosts", [1, 2])
def test_own_suite_of_mpi4py(mpi4py, suite, hosts):
    """Its blocking collectives on buffers and objects; its own runner decides what passes."""
    chosen = ["-i", "test_cco_buf.py", "-i", "test_cco_obj.py"]
    outcome = mpi4py.launch(mpi4py.python, 2, suite / "main.py", "-q", "-f", *chosen,
                            options=[f"--hosts={hosts}"], timeout=150)
    assert outcome.status == 0, str(outcome)
    # Two ranks write at once, so that one's line may begin in the middle of the other's.
    assert outcome.err.count("OK") == 2, str(outcome)
    assert "FAILED" not in outcome.err and "Ran 0 tests" not in outcome.err, str(outcome)
    if not BARE:
        assert outcome.report.calls("tutti", ranks=2) > 1000, outcome.report.rows
