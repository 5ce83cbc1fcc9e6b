# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench-scale: its places, what it refuses, its drawing; and a run, where SimGrid is."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/bench-scale.d"))
import picture  # noqa: E402  pylint: disable=wrong-import-position
import places  # noqa: E402  pylint: disable=wrong-import-position


@pytest.mark.parametrize("words, line", [
    (["--ranks", "6"], "argument --ranks: '6' is no list of multiples of 4 up to 2048"),
    (["--bytes", "12"], "argument --bytes: '12' is no list of multiples of 8 up to 67108864"),
    (["--trees", "x"], "argument --trees: 'x' is none of all, fat, 2:1"),
    (["--selectors", "x"], "argument --selectors: 'x' is none of all, mpich, ompi, mvapich2, impi"),
    (["--jobs", "0"], "--jobs: at least 1"),
    (["--build", "/nowhere"], "/nowhere/bin/tutti is not built; type make build"),
])
def test_bad_words_get_one_line(words, line):
    done = subprocess.run([ROOT / "tools/bench-scale", *words], capture_output=True, text=True,
                          check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"bench-scale: {line}\n")


@pytest.mark.parametrize("tree, spines", [("fat", 8), ("2:1", 4)])
def test_leaves_hang_on_every_spine(tree, spines):
    text = places.Place(tree, 256, "block").toml("100Gbit", 250)
    assert text.count('hosts = "n[') == 8 and 'hosts = "n[56-63]"' in text
    assert text.count('switches = "leaf[0-7]"') == spines


def test_no_buffer_is_longer_than_64_mib():
    cells = places.cells_of(places.COLLECTIVES, [8, 64 << 10, 1 << 20], 1024)
    assert ("allgather", 64 << 10) in cells and ("allgather", 1 << 20) not in cells
    assert ("bcast", 1 << 20) in cells and cells[0] == ("barrier", 0)


def test_the_drawing_has_a_square_for_each_call():
    svg = picture.draw([("a", {("bcast", "8 B"): 1.5, ("barrier", "0"): None})], ["8 B"],
                       ["barrier", "bcast"], "title")
    assert svg.count("<rect") == 3 and ">1.50<" in svg and svg.endswith("</svg>\n")


@pytest.mark.skipif(not shutil.which("smpicc"), reason="no smpicc (Debian: libsimgrid-dev)")
@pytest.mark.skipif(not os.access(ROOT / "build/bin/tutti", os.X_OK), reason="tutti is not built")
def test_a_small_run(tmp_path):
    done = subprocess.run(
        [ROOT / "tools/bench-scale", "--ranks", "16", "--trees", "2:1", "--placements", "random",
         "--bytes", "8,65536", "--json", tmp_path / "a.json", "--svg", tmp_path / "a.svg"],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "a.json").read_text())["rows"]
    assert len(rows) == 13 and all(row["ratio"] for row in rows), done.stderr
    assert all(len(row["seconds"]) == 5 for row in rows)
    assert (tmp_path / "a.svg").read_text().count("<rect") == 14
    assert "13 of 13 calls compared" in done.stdout
