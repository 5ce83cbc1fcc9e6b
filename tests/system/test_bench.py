# SPDX-License-Identifier: BSD-3-Clause
"""`tutti bench` under real launchers: every algorithm of a collective in one run, late ranks."""
import json

import pytest

from harness import BARE, TUTTI

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to look at")


def bench(mpi, tmp_path, ranks, *words, options=("--hosts=2",), with_report=False,
          limits=("--seconds=0.05", "--batches=5"), timeout=90):
    file = tmp_path / "bench.json"
    outcome = mpi.launch(TUTTI, ranks, "bench", *words, *limits, f"--json={file}",
                         options=options, with_report=with_report, timeout=timeout)
    return outcome, json.loads(file.read_text()) if file.exists() else None


def test_all_algorithms_of_a_collective(mpi, tmp_path):
    outcome, found = bench(mpi, tmp_path, 3, "allreduce", "barrier", "--bytes=8,64K",
                           "--algorithm=all")
    assert outcome.status == 0, outcome
    assert len(found["cells"]) == 3
    for cell in found["cells"]:
        names = {one["algorithm"]: one for one in cell["algorithms"]}
        expected = {"pairwise", "rabenseifner", "ring", "chain", "binomial"}
        if cell["collective"] == "barrier":
            expected = {"dissemination", "pairwise", "tree"}
        assert expected <= names.keys()
        for name, one in names.items():
            # Who cannot run says why, and whoever can was measured.
            assert one.get("refused") or one["times"]["p50_us"] > 0, name
        assert all("times" in names[name] for name in expected)


def test_multicast_to_every_process_beside_one_a_node(openmpi, tmp_path):
    """Two pretended hosts of two ranks: a group of two nodes, and one of four."""
    outcome, found = bench(openmpi, tmp_path, 4, "bcast", "--bytes=8,64K", "--algorithm=all",
                           options=["--hosts=2", "--mcast=on", "--mcast-if=lo"],
                           with_report=True)
    assert outcome.status == 0, outcome
    for cell in found["cells"]:
        times = {one["algorithm"]: one.get("times") for one in cell["algorithms"]}
        assert times["multicast"]["p50_us"] > 0 and times["multicast@process"]["p50_us"] > 0
    assert sorted(row["hosts"] for row in outcome.report.data["multicast"]) == [2, 4]


@pytest.mark.parametrize("ranks", [2, 5])
def test_the_flag_is_told_around_the_table_and_each_cell(mpi, tmp_path, ranks):
    outcome, found = bench(mpi, tmp_path, ranks, "barrier", "bcast", "--bytes=8", options=())
    assert outcome.status == 0, outcome
    for place in (found, *found["cells"]):
        low, high = sorted((place["flag_before_us"], place["flag_after_us"]))
        assert 0 < low and place["moved"] == (high > 1.6 * low)
    lines = [line for line in outcome.out.splitlines() if line.startswith("flag latency")]
    assert len(lines) == 2 and lines[1].startswith(f"{lines[0]}, "), outcome
    marked = [line for line in outcome.out.splitlines() if line.endswith(" ~")]
    assert len(marked) == sum(cell["moved"] for cell in found["cells"]), outcome


def test_fresh_buffers(mpi, tmp_path):
    """Every collective, with more calls a batch than there are roots; results are checked."""
    outcome, found = bench(mpi, tmp_path, 3, "all", "--bytes=8,32K", "--buffers=fresh",
                           "--batches=5", options=(), timeout=180)
    assert outcome.status == 0, outcome
    assert found["buffers"] == "fresh" and len(found["cells"]) == 1 + 16 * 2
    for cell in found["cells"]:
        for side in ("host", "tutti"):
            # At most as many as there are buffers; a barrier has none.
            calls_max = 512 if cell["bytes"] else 1 << 17
            assert 1 <= cell[side]["calls_per_batch"] <= calls_max, cell


def test_reused_buffers(mpi, tmp_path):
    """Batches are long, whatever the size: a call finds what the one before it left."""
    outcome, found = bench(mpi, tmp_path, 2, "barrier", "bcast", "allgather", "--bytes=8,64K,1M",
                           "--batches=5", options=())
    assert outcome.status == 0, outcome
    assert found["buffers"] == "reused" and len(found["cells"]) == 7
    for cell in found["cells"]:
        for side in ("host", "tutti"):
            assert cell[side]["calls_per_batch"] >= 8, cell


def test_the_papers_method(openmpi, tmp_path):
    """Patarasuk and Yuan 2007, figure 4, with their two baselines beside the ring."""
    outcome, found = bench(openmpi, tmp_path, 4, "allreduce", "--bytes=8K,64K", "--paper",
                           "--algorithm=all", limits=())
    assert outcome.status == 0, outcome
    assert found["method"] == "paper"
    for cell, calls in zip(found["cells"], (20, 10)):
        names = {one["algorithm"]: one.get("times") for one in cell["algorithms"]}
        for times in (cell["host"], cell["tutti"], names["ring"], names["pairwise"], names["binomial"]):
            assert times["batches"] == 32 and times["calls_per_batch"] == calls
            assert times["mean_us"] > 0 and times["half_width_us"] > 0
    head = [line for line in outcome.out.splitlines() if line.startswith("collective")]
    assert [line.split() for line in head] == [
        ["collective", "bytes", "by", "mean", "us", "+-", "us", "ratio"]]


def test_one_host_has_no_choice(openmpi, tmp_path):
    outcome, found = bench(openmpi, tmp_path, 2, "bcast", "--bytes=8", "--algorithm=chain",
                           options=())
    assert outcome.status == 0, outcome
    assert found["cells"][0]["algorithms"] == [
        {"algorithm": "chain",
         "refused": "all ranks are on one host, where shared memory runs every call"}]


def test_a_late_rank(openmpi, tmp_path):
    outcome, found = bench(openmpi, tmp_path, 3, "barrier", "--late=1:20")
    assert outcome.status == 0, outcome
    cell = found["cells"][0]
    assert found["late"] == {"rank": 1, "milliseconds": 20}
    # Nobody leaves a barrier before the late rank came; that one waits for nobody.
    for side in ("host", "tutti"):
        assert cell[side]["p50_us"] > 19_000
        assert cell[f"{side}_late"]["p50_us"] < cell[side]["p50_us"]


def skewed_cells(found, skew, levels):
    """What is the same in every run, whoever came when."""
    assert found["skew"] == {"distribution": skew, "seed": 7, "metric": "synchronization delay"}
    assert [cell["most_ns"] for cell in found["cells"]] == levels
    for cell in found["cells"]:
        ways = [cell["host"], cell["tutti"],
                *(one["times"] for one in cell.get("algorithms", []) if "times" in one)]
        for times in ways:
            assert times["calls_per_batch"] == 1
            # All ways met the same delays, call by call.
            assert times["batches"] == cell["host"]["batches"] >= 5
            assert times["below_clock_error"] == (times["p50_us"] < cell["clock_error_us"])
        yield cell


@pytest.mark.parametrize("collective, names", [
    ("barrier", {"dissemination", "pairwise", "tree"}),
    ("allreduce", {"pairwise", "rabenseifner", "ring", "chain", "binomial"})])
def test_skewed_calls_by_every_algorithm(mpi, tmp_path, collective, names):
    """Three pretended hosts have one clock, so what was measured of it is within its error."""
    drawing = tmp_path / "curves.svg"
    outcome, found = bench(mpi, tmp_path, 6, collective, "--bytes=8", "--algorithm=all", "--seed=7",
                           "--skew=uniform:0,2ms", f"--svg={drawing}", options=("--hosts=3",))
    assert outcome.status == 0, outcome
    for cell in skewed_cells(found, "uniform", [0, 2_000_000]):
        ways = {one["algorithm"] for one in cell["algorithms"] if "times" in one}
        assert names <= ways
        own, *others = cell["clocks"]
        assert own == {"offset_before_ns": 0, "offset_after_ns": 0, "error_ns": 0}
        assert len(others) == 2
        for clock in others:
            assert 0 < clock["error_ns"]
            assert abs(clock["offset_before_ns"]) <= clock["error_ns"]
            assert abs(clock["offset_after_ns"]) <= clock["error_ns"]
        errors = sorted(clock["error_ns"] for clock in others)
        assert cell["clock_error_us"] * 1000 == pytest.approx(sum(errors))
    text = drawing.read_text()
    # Panels are of one collective and size, with a curve for the host, Tutti and each algorithm.
    assert text.count("<polyline") == len(ways) + 2 and text.endswith("</svg>\n")
    lines = [line for line in outcome.out.splitlines() if line.endswith(" <")]
    below = sum(times["below_clock_error"] for cell in found["cells"]
                for times in (cell["host"], cell["tutti"],
                              *(one["times"] for one in cell["algorithms"] if "times" in one)))
    assert len(lines) == below, outcome


@pytest.mark.parametrize("skew, hosts", [("none", 1), ("one:1ms", 1), ("exponential:1ms", 2),
                                         ("node:1ms", 2), ("alternating:1ms", 2)])
def test_every_distribution(openmpi, tmp_path, skew, hosts):
    outcome, found = bench(openmpi, tmp_path, 4, "allreduce", "--bytes=8", "--seed=7",
                           f"--skew={skew}", options=(f"--hosts={hosts}",))
    assert outcome.status == 0, outcome
    name, _, most = skew.partition(":")
    for cell in skewed_cells(found, name, [1_000_000 if most else 0]):
        assert len(cell["clocks"]) == hosts
        if name in ("one", "node", "alternating"):  # somebody is, and may oversleep, by that much
            assert cell["host"]["late_us"] >= 1000 and cell["tutti"]["late_us"] >= 1000
        if hosts == 1:  # one clock
            assert cell["clock_error_us"] == 0 and not outcome.out.count(" <\n")


@pytest.mark.parametrize("words, line", [
    (["--skew=node:1ms"], "--skew node: all ranks are on one host"),
    (["--skew=report:/nowhere.json"], "/nowhere.json"),
    (["--skew=one:1ms", "--late=1:1"], "--skew: not with --late"),
    (["--skew=one:0,1ms", "--svg=/nowhere/x.svg"], "--svg: /nowhere/x.svg: "),
    (["--algorithm=rung"], "did you mean ring?"), (["--late=7:1"], "there are 2 ranks"),
    (["--late=1"], "expected RANK:MILLISECONDS")])
@pytest.mark.sampled
def test_what_cannot_be_is_said_once(openmpi, tmp_path, words, line):
    options = () if "--skew=node:1ms" in words else ("--hosts=2",)
    outcome, _ = bench(openmpi, tmp_path, 2, "allreduce", "--bytes=8", *words, options=options)
    assert outcome.status == 2
    assert outcome.err.count(line) == 1, outcome
