# SPDX-License-Identifier: BSD-3-Clause
"""The commands of the pages for users, run as they stand there: `$ ` begins one in a block of `sh`.
What a page shows below a command must come, but for numbers; `...` stands for lines left out."""
import os
import pathlib
import re
import shutil

import pytest

import harness

PAGES = ["README.md", "docs/tutorial.md", "docs/faq.md", "docs/troubleshooting.md", "docs/report.md",
         "docs/explain.md", "examples/README.md"]
NEEDED = ("build", "examples", "docs", "include", "src", "Makefile")
# Those that install, build, or take minutes: tools/fresh runs these on a bare machine.
OF_FRESH = re.compile(r"make (demo|test|build|check|install)\b")
# A line that comes where ranks lost time, which depends on the machine.
MAY_COME = re.compile(r"^tutti: late: ")
NUMBER = re.compile(r"\d[\d,.]*(?: ?(?:ns|us|ms|s|B|KiB|MiB|GB/s|MB/s)(?![a-zA-Z]))?")

pytestmark = pytest.mark.skipif(harness.BARE, reason="SYSTEST_BARE: there is no Tutti to look at")


def commands_of(text):
    """[(command, lines shown below it)] of a page's blocks."""
    found = []
    for block in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found:
                found[-1][1].append(line)
    return found


def plain(line):
    """A line without its numbers and its widths, which differ from run to run."""
    line = re.sub(r"checksum [0-9a-f]+", "checksum", line)
    return re.sub(r"\s+", " ", NUMBER.sub("N", line)).strip()


def comes(line, came):
    """Whether a line that is shown is among those that came; one may end in `...`, or be that."""
    start, dots, _ = line.partition("...")
    if dots or not line.strip():
        return any(one.startswith(plain(start)) for one in came) or not plain(start)
    return MAY_COME.match(line) is not None or plain(line) in came


def shell(command, folder, tools):
    return harness.run_command(["bash", "-c", command], cwd=folder,
                               env={"PATH": f"{tools}:{os.environ['PATH']}"})


@pytest.fixture(name="clone")
def folder_like_a_clone(tmp_path):
    """What the pages' commands see of a clone, and a folder with the compiler and launcher of the
    MPI that the pages were written with."""
    mpi = harness.all_mpis()["debian-openmpi"]
    if mpi.missing():
        pytest.skip(mpi.missing())
    harness.need_tutti()
    tools, clone = tmp_path / "tools", tmp_path / "clone"
    tools.mkdir()
    clone.mkdir()
    for name in ("mpicc", "mpirun"):
        (tools / name).symlink_to(shutil.which(f"{name}.openmpi"))
    (tools / "tutti").symlink_to(harness.TUTTI)
    for name in NEEDED:
        (clone / name).symlink_to(harness.ROOT / name)
    return clone, tools


@pytest.mark.parametrize("page", PAGES)
def test_its_commands_do_what_it_shows(clone, page):
    folder, tools = clone
    commands = commands_of((harness.ROOT / page).read_text())
    assert commands, f"{page} has no commands"
    for command, shown in commands:
        if OF_FRESH.match(command):
            continue
        outcome = shell(command, folder, tools)
        assert outcome.status == 0, str(outcome)
        came = {plain(line) for line in (outcome.out + outcome.err).splitlines()}
        missing = [line for line in shown if not comes(line, came)]
        assert not missing, f"{page}: $ {command}\nnever came: {missing}\n{outcome}"


def test_no_page_is_forgotten():
    """Every page that shows a command to type is tried here."""
    pages = [path.relative_to(harness.ROOT) for path in pathlib.Path(harness.ROOT).glob("docs/*.md")]
    typed = {str(page) for page in pages if commands_of((harness.ROOT / page).read_text())}
    assert typed <= set(PAGES), typed - set(PAGES)
