# SPDX-License-Identifier: BSD-3-Clause
"""tools/draw-performance: bars as long as what was measured."""
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODE = {"rows": [{"collective": "barrier", "bytes": 0, "ranks": 2, "regime": "near", "complete": True,
                  "flag_us": [0.05], "bare_us": {"Open MPI": 0.4, "Open MPI sm": 9, "MPICH": 0.2},
                  "tutti_us": 0.1}]}
HOSTS = {"rows": [{"collective": "bcast", "bytes": 65536, "ranks_per_host": 1, "limit_ms": 21,
                   "median_ms": {"openmpi": 240, "mpich": 120, "openmpi+tutti": 22,
                                 "mpich+tutti": 24}}]}


def draw(tmp_path, node, hosts):
    for name, figures in (("node", node), ("hosts", hosts)):
        (tmp_path / f"{name}.json").write_text(json.dumps(figures))
    picture = tmp_path / "picture.svg"
    done = subprocess.run([ROOT / "tools/draw-performance", tmp_path / "node.json",
                           tmp_path / "hosts.json", "--output", picture], capture_output=True,
                          text=True, check=False)
    return done, picture.read_text() if picture.exists() else ""


def test_bars_are_as_long_as_the_times(tmp_path):
    done, picture = draw(tmp_path, NODE, HOSTS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    widths = [float(width) for width in re.findall(r'<rect x="\d+" y="\d+" width="([\d.]+)"', picture)]
    assert widths == [210, 105, 52.5, 210, 105, 21]  # of Tutti's the MPI that suits it least
    assert "Open MPI sm" not in picture
    for words in ("0.4 µs", "0.1 µs", "240 ms", "24 ms", "bcast of 64 KiB"):
        assert f">{words}</text>" in picture, words
    assert picture.count("<line ") == 2  # the limits


def test_figures_without_the_calls_are_one_line(tmp_path):
    done, picture = draw(tmp_path, {"rows": []}, HOSTS)
    assert done.returncode == 1 and picture == ""
    assert done.stderr == f"draw-performance: {tmp_path}/node.json: none of the calls that are drawn\n"
    done, picture = draw(tmp_path, {"table": 1}, HOSTS)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
