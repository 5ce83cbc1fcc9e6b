# SPDX-License-Identifier: BSD-3-Clause
"""tools/draw-algorithms: the drawings in the documents are those that the command makes today."""
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TUTTI = ROOT / "build/bin/tutti"
DRAWN = ROOT / "docs/algorithms"


def draw(*words):
    return subprocess.run([ROOT / "tools/draw-algorithms", *words], capture_output=True, text=True,
                          check=False)


@pytest.mark.skipif(not TUTTI.exists(), reason=f"{TUTTI} is not built")
def test_drawings_in_the_documents_are_what_it_draws(tmp_path):
    done = draw(TUTTI, tmp_path)
    assert done.returncode == 0, done.stderr
    assert {page.stem for page in DRAWN.glob("*_*.md")} == {file.stem for file in tmp_path.iterdir()}
    assert {file.name for file in DRAWN.glob("*.svg")} == {file.name for file in tmp_path.iterdir()}
    differ = [file.name for file in tmp_path.iterdir()
              if file.read_bytes() != (DRAWN / file.name).read_bytes()]
    assert not differ, f"draw them again: {differ}"


def test_without_the_command_there_is_one_line(tmp_path):
    done = draw(tmp_path / "tutti", tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == (f"tutti: tools/draw-algorithms: {tmp_path}/tutti: no such program "
                           "(make build)\n")
    assert not list(tmp_path.iterdir())
