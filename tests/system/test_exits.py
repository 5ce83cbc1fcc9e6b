# SPDX-License-Identifier: BSD-3-Clause
"""Programs that end MPI after main(), or in another thread, and what the libraries do at exit."""
import re
import subprocess

import pytest

from harness import BARE, PRELOAD, TUTTI

pytestmark = pytest.mark.each_kind

needs_tutti = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to look at")

# The first ends a process whose settings are wrong, and does nothing else. The others are of
# libstdc++, linked in: destructors that do nothing, and catalogs of messages that nobody opens.
AT_EXIT = {"_ZN5tutti3mpi24keep_from_older_handlersEv",
           "_GLOBAL__sub_I_cxx11_ios_failure.cc", "_GLOBAL__sub_I_memory_resource.cc",
           "_GLOBAL__sub_I_system_error.cc", "_ZSt12get_catalogsv"}


@pytest.mark.parametrize("used", ["", "used"])
@pytest.mark.parametrize("way", ["atexit", "destructor", "library", "thread", "thread_early"])
@pytest.mark.check
def test_last_calls_come_late(mpi, way, used):
    """On pretended hosts, with new communicators, and sizes and kinds of calls not seen before."""
    args = [way]
    if way == "library":
        args.append(mpi.compile("exits_library", shared=True))
    outcome = mpi.launch("exits", 2, *args, *([used] if used else []), options=["--hosts=2"])
    outcome.passed()
    for collective in () if BARE else ("allreduce", "allgather", "bcast"):
        assert outcome.report.calls("tutti", collective, 2) > 0, (collective, outcome.report.rows)


@needs_tutti
@pytest.mark.parametrize("name", [PRELOAD.name, "libtutti.so"])
def test_nothing_of_ours_is_destroyed_at_exit(name):
    """MPI functions may be called in there. What the library registers at run time is looked up by
    its callers; its list of destructors holds the one that the compiler puts into every library."""
    library = TUTTI.parent.parent / "lib" / name
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], capture_output=True,
                          text=True, check=True).stdout
    callers, function = set(), None
    for line in code.splitlines():
        if line.endswith(">:"):
            function = line.split("<")[1][:-2]
        elif re.search(r"<(__cxa_(thread_)?atexit|on_exit|atexit)\b", line):
            callers.add(function)
    callers = {one for one in callers if "atexit" not in one}  # the table of jumps
    assert callers <= AT_EXIT, callers
    sections = subprocess.run(["readelf", "-SW", library], capture_output=True, text=True,
                              check=True).stdout
    sizes = {fields[0]: int(fields[4], 16) for fields in
             (line.split("]", 1)[1].split() for line in sections.splitlines() if "] ." in line)}
    assert sizes[".fini_array"] == 8 and ".dtors" not in sizes, sections
