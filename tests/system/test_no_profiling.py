# SPDX-License-Identifier: BSD-3-Clause
"""MPIs whose own functions cannot be reached behind ours: the program runs without Tutti."""
import subprocess

import pytest

from harness import BARE, PROGRAMS, TUTTI, run_command

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to stand aside")


@pytest.mark.parametrize("flavour", ["ompi", "mpich"])
@pytest.mark.parametrize("profiled, words", [
    ([], "libmpi.so has no profiling names (PMPI_Init); it runs without Tutti"),
    (["-DPROFILED"], "libmpi.so has no PMPI_"),
])
def test_stands_aside(tmp_path, flavour, profiled, words):
    library, program = tmp_path / "libmpi.so", tmp_path / "program"
    subprocess.run(["gcc", "-shared", "-fPIC", *profiled, PROGRAMS / "no_profiling.c", "-o",
                    library], check=True)
    subprocess.run(["gcc", PROGRAMS / "no_profiling_user.c", "-o", program, f"-L{tmp_path}",
                    "-lmpi", f"-Wl,-rpath,{tmp_path}"], check=True)
    preload = TUTTI.parent.parent / "lib" / f"libtutti-{flavour}.so"
    outcome = run_command([program], env={"LD_PRELOAD": preload})
    assert outcome.status == 0 and outcome.out == "sum 7\n", str(outcome)
    lines = outcome.lines()
    # What has no Open MPI objects is taken for an MPICH.
    is_foreign = bool(profiled) and flavour == "ompi"
    expected = "libtutti-ompi.so is for Open MPI" if is_foreign else words
    assert len(lines) == 1 and expected in lines[0], str(outcome)
    assert "it runs without Tutti" in lines[0], str(outcome)
