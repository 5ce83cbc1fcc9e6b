# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench-scale: its places, what it refuses, its drawing; and a run, where SimGrid is."""
import json
import os
import pathlib
import runpy
import shutil
import signal
import subprocess
import sys
import threading

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TUTTI = ROOT / "build/bin/tutti"
sys.path[:0] = [str(ROOT / "tools/bench-scale.d"), str(ROOT / "tools/bench.d")]
from collective_list import COLLECTIVES, USUAL  # noqa: E402  pylint: disable=wrong-import-position
import picture  # noqa: E402  pylint: disable=wrong-import-position
import places  # noqa: E402  pylint: disable=wrong-import-position
import simulations  # noqa: E402  pylint: disable=wrong-import-position


@pytest.mark.parametrize("words, line", [
    (["--ranks", "6"], "argument --ranks: '6' is no list of multiples of 4 up to 2048"),
    (["--bytes", "12"], "argument --bytes: '12' is no list of multiples of 8 up to 67108864"),
    (["--trees", "x"], "argument --trees: 'x' is none of all, fat, 2:1"),
    (["--selectors", "x"], "argument --selectors: 'x' is none of all, mpich, ompi, mvapich2, impi"),
    (["--jobs", "0"], "--jobs: at least 1"),
    (["--json", "/"], "/ is no file"),
    (["--svg", "."], ". is no file"),
    (["--json", "/nowhere/a"], "cannot write in /nowhere"),
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
    cells = places.cells_of(COLLECTIVES, [8, 64 << 10, 1 << 20], 1024)
    assert ("allgather", 64 << 10) in cells and ("allgather", 1 << 20) not in cells
    assert ("bcast", 1 << 20) in cells and cells[0] == ("barrier", 0)
    assert ("scan", 1 << 20) in cells and ("reduce_scatter", 1 << 20) not in cells


def test_the_drawing_has_a_square_for_each_call():
    svg = picture.draw([("a", {("bcast", "8 B"): 1.5, ("barrier", "0"): None})], ["8 B"],
                       ["barrier", "bcast"], "title")
    assert svg.count("<rect") == 3 and ">1.50<" in svg and svg.endswith("</svg>\n")
    # All that was measured by default keeps its place; the longest name has room left of it.
    assert picture.names_width(USUAL) == 72
    assert picture.names_width(COLLECTIVES) > 6 * len("reduce_scatter_block")


def test_no_part_of_a_file_stays(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError):
        runpy.run_path(str(ROOT / "tools/bench-scale"))["write"](tmp_path / "a", "text")
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="z" routing="Full"><host id="h0" speed="1Gf"/></zone>
</platform>
"""


def begun_before_the_stop(monkeypatch, then):
    """What run() makes of a process between whose start and RUNNING.add() all is stopped."""
    stopped = threading.Event()
    monkeypatch.setattr(simulations, "STOPPED", stopped)
    popen = subprocess.Popen

    def start(*words, **options):
        child = popen(*words, **options)
        then(child)
        stopped.set()
        return child

    monkeypatch.setattr(subprocess, "Popen", start)
    return simulations.run(["sleep", "20"], 20)


def test_what_begins_while_all_is_stopped_ends(monkeypatch):
    assert begun_before_the_stop(monkeypatch, lambda _: None) == (-signal.SIGKILL, "")


def test_what_has_ended_by_itself_is_no_trouble(monkeypatch):
    def end(child):
        child.kill()
        child.wait()
    assert begun_before_the_stop(monkeypatch, end) == (-signal.SIGKILL, "")
    monkeypatch.setattr(simulations, "STOPPED", threading.Event())
    monkeypatch.setattr(simulations, "RUNNING", {2 ** 22 + 1})  # beyond all process ids
    simulations.stop()


@pytest.fixture(name="program", scope="module")
def made_program():
    if not shutil.which("smpicc"):
        pytest.skip("no smpicc (Debian: libsimgrid-dev)")
    return simulations.compile_program()


@pytest.mark.parametrize("words, wrong", [
    (["1", "bcast:8", "bcast:9"], "bcast:9"),
    (["1", "bcast:8", "bcats:8"], "bcats:8"),
    (["1x", "bcast:8"], "1x"),
    (["nan", "bcast:8"], "nan"),
    (["1", "alltoallv:8", "allgatherv_skewed:8"], "allgatherv_skewed:8"),
    (["1"], "too few words"),
])
def test_the_program_looks_at_all_words_first(program, tmp_path, words, wrong):
    (tmp_path / "platform.xml").write_text(PLATFORM)
    (tmp_path / "hostfile").write_text("h0\n")
    done = subprocess.run([str(word) for word in simulations.smpirun(
        tmp_path, 1, [program, *words])], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "bcast 8 " not in done.stdout
    assert f"scale_bench: {wrong}; usage: scale_bench NS_PER_KIB" in done.stderr, done.stderr


def small_run(tmp_path, *words):
    return subprocess.run(
        [ROOT / "tools/bench-scale", "--build", TUTTI.parents[1], "--ranks", "16,16", "--trees",
         "2:1", "--placements", "random,random", "--bytes", "8,65536,8", "--seconds", "30",
         "--json", tmp_path / "a.json", "--svg", tmp_path / "a.svg", *words],
        capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.skipif(not shutil.which("smpicc"), reason="no smpicc (Debian: libsimgrid-dev)")
@pytest.mark.skipif(not TUTTI.exists(), reason=f"{TUTTI} is not built")
def test_a_small_run(tmp_path):
    done = small_run(tmp_path)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "a.json").read_text())["rows"]
    assert len(rows) == 13 and all(row["ratio"] for row in rows), done.stderr
    assert all(len(row["seconds"]) == 5 for row in rows)
    assert (tmp_path / "a.svg").read_text().count("<rect") == 14
    assert "13 of 13 calls compared" in done.stdout and "one algorithm" not in done.stdout


@pytest.mark.skipif(not shutil.which("smpicc"), reason="no smpicc (Debian: libsimgrid-dev)")
@pytest.mark.skipif(not TUTTI.exists(), reason=f"{TUTTI} is not built")
def test_a_small_run_of_the_other_collectives(tmp_path):
    others = [name for name in COLLECTIVES if name not in USUAL]
    done = small_run(tmp_path, "--collectives", ",".join(others))
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "a.json").read_text())["rows"]
    assert len(rows) == 20 and all(row["ratio"] for row in rows), done.stderr
    # Selectors differ in what they choose, but where they have no choice: there in nanoseconds.
    spread = dict.fromkeys(others, 0)
    for row in rows:
        theirs = [row["seconds"][name] for name in simulations.SELECTORS]
        spread[row["collective"]] = max(spread[row["collective"]], max(theirs) - min(theirs))
    alike = [name for name in others if spread[name] < 1e-8]
    assert sorted(alike) == sorted(simulations.UNSELECTED), spread
    assert f"SMPI has one algorithm of {', '.join(alike)}: " in done.stdout
