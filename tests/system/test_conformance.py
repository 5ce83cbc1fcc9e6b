# SPDX-License-Identifier: BSD-3-Clause
"""The conformance suite of the transports over every MPI's own messages, a process a rank."""
import pytest

from harness import ROOT, TUTTI, run_command

pytestmark = pytest.mark.each_kind

LIBRARY = TUTTI.parent.parent / "lib" / "libconformance_processes.so"
RANKS = 3  # of the suite


def test_messages_of_the_host(mpi):
    if not LIBRARY.exists():
        pytest.fail(f"{LIBRARY} is missing: build all", pytrace=False)
    program = mpi.compile("conformance", flags=[f"-I{ROOT / 'include'}", LIBRARY,
                                                f"-Wl,-rpath,{LIBRARY.parent}"])
    outcome = run_command([mpi.launcher, *mpi.flags, "-n", RANKS, program]).passed()
    checks = int(outcome.out.split("ok ")[1].split()[0])
    assert checks >= 8 * RANKS, str(outcome)
