# SPDX-License-Identifier: BSD-3-Clause
"""The programs of bench/ that tools/bench-lab and tools/bench-verbs run on several hosts: they make
every blocking collective, and find what is wrong in a result."""
import json
import sys

import pytest
from harness import ROOT, expect_taken_over, run_command

sys.path[:0] = [str(ROOT / "tools" / folder) for folder in ("bench-lab.d", "bench.d", "lab.d")]
import limits  # noqa: E402  pylint: disable=wrong-import-position
from collective_list import COLLECTIVES  # noqa: E402  pylint: disable=wrong-import-position
from runs import NAMES  # noqa: E402  pylint: disable=wrong-import-position

# 101 words: those of vector forms have 89 and 113.
CELLS = [f"{name}:{0 if name == 'barrier' else 808}" for name in NAMES]


def cells_in(outcome):
    """UCX may print between them."""
    return [json.loads(line) for line in outcome.out.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("hosts", [1, 2])
def test_every_collective_is_right(mpi, hosts):
    outcome = mpi.launch("lab_bench", 4, "0.001", "apart", *CELLS, options=[f"--hosts={hosts}"])
    assert outcome.status == 0, outcome
    found = cells_in(outcome)
    assert [f"{cell['collective']}:{cell['bytes']}" for cell in found] == CELLS, outcome
    assert all(cell["wrong"] == 0 and cell["median_ms"] > 0 for cell in found), outcome
    expect_taken_over(outcome.report, 4, COLLECTIVES)


def test_wrong_results_are_found(openmpi):
    """Of a block in another's place, a sum that lacks one rank, a scan that lacks the one below."""
    library = openmpi.compile("wrong_word", shared=True)
    cells = ["alltoallv:808", "reduce_scatter:808", "scan:808", "alltoallw:808"]
    outcome = openmpi.launch("lab_bench", 3, "0.001", "apart", *cells, tutti=False,
                             env={"LD_PRELOAD": str(library)})
    wrong = {cell["collective"]: cell["wrong"] for cell in cells_in(outcome)}
    assert list(wrong) == ["alltoallv", "reduce_scatter", "scan", "alltoallw"], outcome
    assert wrong.pop("alltoallw") == 0 and all(wrong.values()), outcome


def test_every_collective_of_the_wire(openmpi):
    outcome = openmpi.launch("wire_bench", 3, "0.001", "808", *NAMES, tutti=False)
    assert outcome.status == 0, outcome
    assert [cell["collective"] for cell in cells_in(outcome)] == NAMES, outcome
    library = openmpi.compile("wrong_word", shared=True)
    outcome = openmpi.launch("wire_bench", 3, "0.001", "8", "scan", tutti=False,
                             env={"LD_PRELOAD": str(library)})
    assert outcome.status != 0 and cells_in(outcome)[0]["wrong"] > 0, outcome


def test_limits_count_the_lengths_that_run(openmpi):
    outcome = run_command([openmpi.compile("cell_lengths")])
    assert outcome.status == 0, outcome
    lines = [line.split() for line in outcome.out.splitlines()]
    assert sorted(line[0] for line in lines) == sorted(NAMES)
    for name, *told in lines:
        assert [int(bytes_) for bytes_ in told] == [
            limits.block_bytes(name, 808, giver, taker, 5)
            for giver in range(5) for taker in range(5)], name
