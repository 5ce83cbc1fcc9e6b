# SPDX-License-Identifier: BSD-3-Clause
"""MPIs whose own functions cannot be reached behind ours: the program runs without Tutti."""
import subprocess

import pytest

from harness import BARE, PRELOAD, PROGRAMS, run_command

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to stand aside")


@pytest.mark.parametrize("off", [None, "off", "0"])
@pytest.mark.parametrize("extra, words", [
    ([], "libmpi.so has no profiling names (PMPI_Init)"),
    (["-DPROFILED"], "libmpi.so is no MPI that Tutti knows"),
    (["-DPROFILED", "-DSTANDARD"], "the program uses the MPI-5 standard ABI"),
    (["-DPROFILED", "-DKNOWN"], "libmpi.so has no PMPI_"),
])
def test_stands_aside(tmp_path, extra, words, off):
    """One line says so, but not where nobody asked for Tutti."""
    library, program = tmp_path / "libmpi.so", tmp_path / "program"
    subprocess.run(["gcc", "-shared", "-fPIC", *extra, PROGRAMS / "no_profiling.c", "-o",
                    library], check=True)
    subprocess.run(["gcc", PROGRAMS / "no_profiling_user.c", "-o", program, f"-L{tmp_path}",
                    "-lmpi", "-ldl", f"-Wl,-rpath,{tmp_path}"], check=True)
    outcome = run_command([program], env={"LD_PRELOAD": PRELOAD, **({"TUTTI": off} if off else {})})
    assert outcome.status == 0 and outcome.out == "sum 7\n", str(outcome)
    lines = outcome.lines()
    if off:
        assert not lines, str(outcome)
        return
    assert len(lines) == 1 and words in lines[0], str(outcome)
    assert "it runs without Tutti" in lines[0], str(outcome)
