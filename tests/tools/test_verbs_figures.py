# SPDX-License-Identifier: BSD-3-Clause
"""tools/verbs-figures: virtual time is exact, so its page is what it prints."""
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/verbs-figures"
PAGE = ROOT / "docs/verbs_figures.md"


def test_without_a_build_there_is_one_line():
    done = subprocess.run([TOOL, "--build", "/nowhere"], capture_output=True, text=True,
                          check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        2, "", "verbs-figures: /nowhere/bin/tutti is not built; type make build\n")


@pytest.fixture(scope="module", name="printed")
def run_it():
    done = subprocess.run([TOOL], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_has_what_it_prints(printed):
    assert printed.strip() in PAGE.read_text(encoding="utf-8"), (
        f"{PAGE.name} is of another schedule, engine or parameters: paste what {TOOL.name} prints, "
        "and look at what the page says of it")


@pytest.mark.parametrize(("begin", "end", "rows", "beyond"), [
    ("Factors that", "Times that", 15, 1),
    ("Mamidala, Liu", "Barrier with RDMA writes", 14, 5),
    ("Mamidala, Chai", "Broadcast, 16 nodes", 6, 3),
])
def test_what_is_off_by_more_than_15_percent_is_told(printed, begin, end, rows, beyond):
    """The page says of so many rows why."""
    start = printed.index(begin)
    factors = printed[start:printed.index(end, start)]
    off = [int(percent) for percent in re.findall(r"\| ([+-][0-9]+) % \|", factors)]
    assert len(off) == rows
    assert sum(abs(percent) > 15 for percent in off) == beyond
