# SPDX-License-Identifier: BSD-3-Clause
"""tools/demo: what it prints of real runs, in a fraction of their time, and what it says where it
cannot go on."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TUTTI = ROOT / "build/bin/tutti"
# Runs the command; a benchmark of 28 cells then takes a second.
QUICK = """#!/bin/sh
for word; do
    shift
    [ "$word" = 0.3 ] && word=0.01
    set -- "$@" "$word"
done
exec %s "$@"
"""


def demo(build, *words, **environment):
    return subprocess.run([ROOT / "tools/demo", "--build", build, *words], capture_output=True,
                          text=True, check=False, env={**os.environ, **environment})


def put_command(build, text):
    path = build / "bin/tutti"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o755)


def test_it_says_what_is_missing(tmp_path):
    done = demo(tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"demo: {tmp_path}/bin/tutti is not built; type make demo\n"
    put_command(tmp_path, "#!/bin/sh\nexit 1\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "python3").symlink_to(sys.executable)
    done = demo(tmp_path, PATH=str(empty))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("demo: no MPI found; ") and done.stderr.count("\n") == 1


@pytest.mark.skipif(not TUTTI.exists() or not shutil.which("mpicc.openmpi"),
                    reason="the command or Debian's Open MPI is missing")
def test_it_shows_both_sides(tmp_path):
    put_command(tmp_path, QUICK % TUTTI)
    done = demo(tmp_path, "--mpi", "openmpi")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^(\w+) +(- |\d+ (?:B|KiB|MiB)) +[\d.]+ us +[\d.]+ us +[\d.]+x$", done.stdout,
                      re.MULTILINE)
    assert len(rows) == len(set(rows)) == 1 + 16 * 4, done.stdout
    for part in ("whole program", "its collectives"):
        assert re.search(rf"^heat.c, {part} +- +[\d.]+ s +[\d.]+ s +[\d.]+x$", done.stdout,
                         re.MULTILINE), done.stdout
    assert "heat.c, bare and under Tutti alike: 2 ranks, " in done.stdout
    report, cluster = done.stdout.split("What ran in it", 1)[1].split("\nBroadcast on ", 1)
    assert re.search(r"^ *allreduce .*tutti", report, re.MULTILINE | re.IGNORECASE), report
    if cluster.startswith("an emulated cluster: skipped: "):
        return
    cells = re.findall(r"^bcast +(\d+ \w+) +[\d.]+ +[\d.]+ +[\d.]+$", cluster, re.MULTILINE)
    assert cells == ["8 B", "16 KiB", "256 KiB"] and "without multicast" not in cluster, cluster
