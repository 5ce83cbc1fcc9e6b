# SPDX-License-Identifier: BSD-3-Clause
"""MPIs whose own functions cannot be reached behind ours: the program runs without Tutti."""
import os
import subprocess

import pytest

from harness import BARE, PRELOAD, PROGRAMS, run_command

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to stand aside")


def stand_aside(folder, extra, off=None):
    """What is said of it: one line, or nothing where nobody asked for Tutti."""
    library, program = folder / "libmpi.so", folder / "program"
    subprocess.run(["gcc", "-shared", "-fPIC", *extra, PROGRAMS / "no_profiling.c", "-o",
                    library, "-ldl"], check=True)
    subprocess.run(["gcc", PROGRAMS / "no_profiling_user.c", "-o", program, f"-L{folder}",
                    "-lmpi", "-ldl", f"-Wl,-rpath,{folder}"], check=True)
    outcome = run_command([program], env={"LD_PRELOAD": PRELOAD, **({"TUTTI": off} if off else {})})
    assert outcome.status == 0 and outcome.out == "sum 7\n", str(outcome)
    lines = outcome.lines()
    if off:
        assert not lines, str(outcome)
        return ""
    assert len(lines) == 1 and "it runs without Tutti" in lines[0], str(outcome)
    return lines[0]


@pytest.mark.parametrize("off", [None, "off", "0"])
@pytest.mark.parametrize("extra, words", [
    ([], "libmpi.so has no profiling names (PMPI_Init)"),
    (["-DPROFILED"], "libmpi.so is no MPI that Tutti knows"),
    (["-DPROFILED", "-DSTANDARD"], "the program uses the MPI-5 standard ABI"),
    (["-DPROFILED", "-DKNOWN"], "libmpi.so has no PMPI_"),
])
def test_stands_aside(tmp_path, extra, words, off):
    assert off or words in stand_aside(tmp_path, extra)
    assert not off or not stand_aside(tmp_path, extra, off)


@pytest.mark.parametrize("behind", ["libmpi.so.40", "libmpich.so.12"])
def test_a_layer_is_not_taken_for_a_tool(tmp_path, behind):
    """Its handles are not those of the MPI behind it."""
    path = f"/usr/lib/x86_64-linux-gnu/{behind}"
    if not os.path.exists(path):
        pytest.skip(f"{behind} is not installed")
    line = stand_aside(tmp_path, ["-DPROFILED", f'-DBEHIND="{path}"'])
    assert f"{tmp_path}/libmpi.so is no MPI that Tutti knows" in line
