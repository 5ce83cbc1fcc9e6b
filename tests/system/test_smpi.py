# SPDX-License-Identifier: BSD-3-Clause
"""SimGrid replays what `tutti explain --smpi` writes."""
import re
import shutil
import subprocess

import pytest
from harness import TUTTI, run_command

pytestmark = pytest.mark.skipif(not shutil.which("smpirun"),
                                reason="smpirun is not there (Debian: libsimgrid-dev)")

PLAIN = ["smpi/lat-factor:0:1", "smpi/bw-factor:0:1", "network/crosstraffic:no"]
FAT_TREE = """rate = "10Gbit"
latency = "1us"
[[switch]]
name = "leaf0"
hosts = "n[0-3]"
[[switch]]
name = "leaf1"
hosts = "n[4-7]"
[[switch]]
name = "spine"
switches = "leaf[0-1]"
links = 2
"""


def export(folder, words):
    """Writes the traces of a call and returns where they are."""
    done = run_command([TUTTI, "explain", *words, "--smpi", folder])
    assert done.status == 0, done
    return folder


def replay(folder, ranks, settings=PLAIN):
    """Microseconds of virtual time."""
    done = subprocess.run(
        ["smpirun", "-np", str(ranks), "-platform", "platform.xml", "-hostfile", "hostfile",
         *(f"--cfg={setting}" for setting in settings), "--log=root.fmt:%m:%.9r%n", "-replay",
         "ranks.txt"], cwd=folder, capture_output=True, text=True, timeout=90, check=False)
    found = re.search(r"^Simulation time [0-9.]+:([0-9.]+)$", done.stdout + done.stderr,
                      re.MULTILINE)
    assert done.returncode == 0 and found, done.stdout + done.stderr
    return 1e6 * float(found[1])


def test_a_message_takes_what_the_platform_says(tmp_path):
    """A byte and SMPI's 16 of envelope pass a switch, at 100 Gbit/s; then 64 KiB do."""
    words = ["bcast", "--ranks", "2", "--algorithm", "binomial"]
    short = replay(export(tmp_path / "short", [*words, "--bytes", "8"]), 2)
    assert short == pytest.approx(1.0, abs=0.01)
    long = replay(export(tmp_path / "long", [*words, "--bytes", "1M"]), 2)
    assert long == pytest.approx(1 + (1 << 20) * 8 / 100e3, rel=0.02)


@pytest.mark.parametrize("words", [
    ["barrier", "--algorithm", "dissemination"],
    ["bcast", "--bytes", "1M", "--algorithm", "chain"],
    ["reduce", "--bytes", "256K", "--algorithm", "binomial"],
    ["allreduce", "--bytes", "1M", "--algorithm", "ring"],
    ["gather", "--bytes", "64K", "--algorithm", "direct"],
    ["scatter", "--bytes", "64K", "--algorithm", "binomial"],
    ["allgather", "--bytes", "64K", "--algorithm", "ring"],
    ["reduce_scatter_block", "--bytes", "64K", "--algorithm", "pairwise"],
    ["alltoall", "--bytes", "64K", "--algorithm", "bruck"],
    ["scan", "--bytes", "64K", "--algorithm", "doubling"],
    ["exscan", "--bytes", "64K", "--algorithm", "doubling_123"],
    ["gatherv", "--bytes", "64K", "--algorithm", "direct"],
    ["scatterv", "--bytes", "64K", "--algorithm", "direct"],
    ["allgatherv", "--bytes", "64K", "--algorithm", "ring"],
    ["alltoallv", "--bytes", "64K", "--algorithm", "linear"],
    ["alltoallw", "--bytes", "64K", "--algorithm", "pairwise"],
    ["reduce_scatter", "--bytes", "64K", "--algorithm", "halving"],
], ids=lambda words: f"{words[0]}-{words[-1]}")
@pytest.mark.parametrize("placement", ["block", "round-robin", "random:3"])
def test_calls_end_on_a_fat_tree(tmp_path, words, placement):
    (tmp_path / "fabric.toml").write_text(FAT_TREE)
    folder = export(tmp_path / "t", [*words, "--ranks", "24", "--fabric", tmp_path / "fabric.toml",
                                     "--placement", placement])
    assert 2 <= replay(folder, 24) < 1e6


def test_lanes_overlap(tmp_path):
    """A chain of eight passes 1 MiB on in pieces of 64 KiB, each behind the one before."""
    whole = (1 << 20) * 8 / 100e3
    folder = export(tmp_path / "t", ["bcast", "--bytes", "1M", "--ranks", "8", "--algorithm",
                                     "chain:segment=64K"])
    assert replay(folder, 8) == pytest.approx((16 + 6) * (whole / 16 + 1), rel=0.05)
