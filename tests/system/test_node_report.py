# SPDX-License-Identifier: BSD-3-Clause
"""What the report says about how data moves between ranks of a host: once for each set of processes,
what was measured and what follows, or why nothing was."""
import os

import pytest

from harness import BARE

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to measure")

PROCESSORS = len(os.sched_getaffinity(0))
WAYS = ["plain", "prefetch", "string", "stream"]
needs_two = pytest.mark.skipif(PROCESSORS < 2, reason="ranks would share a processor")


def expect_figures(node):
    """All of them, or, as on a machine that others use, those that the time sufficed for."""
    follows = node["follows"]
    assert follows["way"] in WAYS and follows["pieces"] == 8, node
    if not node["measured"]:
        assert "processors" in node["reason"] and "barrier_ns" not in node, node
        assert follows["way"] == "prefetch", node
        return
    ways = dict(node.get("one_way_64k_ns", {}))
    assert node["barrier_ns"] > 0 and set(ways) <= {*WAYS, "short_ring"}, node
    short = ways.pop("short_ring", None)
    if short is not None and short * 20 < min(ways.values()) * 19:
        del ways["stream"]  # a short ring is for ways that keep lines in the caches
        assert follows["ring_bytes"] <= 512 << 10, node
    if ways:
        assert follows["way"] == min(ways, key=ways.get), node
    for times in (node["one_way"], node["all_ways"]):
        assert all(len(entry) > 1 for entry in times), node


@needs_two
@pytest.mark.check
def test_once_for_all_communicators_of_the_same_processes(mpi):
    """30 communicators, of which 5 have one rank, and WORLD."""
    outcome = mpi.launch("comms", 2, 30).passed()
    (node,) = outcome.report.data["nodes"]
    assert (node["ranks"], node["communicators"]) == (2, 26), node
    assert node["host"], node
    expect_figures(node)


def test_crowded_ranks_measure_nothing(mpi):
    ranks = PROCESSORS + 2
    outcome = mpi.launch("simple", ranks, options=["--warmup=0"]).passed()
    nodes = outcome.report.data["nodes"]
    assert nodes[0]["ranks"] == ranks, nodes
    for node in nodes:
        assert not node["measured"] and node["reason"] == "ranks share processors", node
        expect_figures(node)


def test_a_set_for_each_host(debian_mpi):
    outcome = debian_mpi.launch("simple", 4, options=["--warmup=0", "--hosts=2"]).passed()
    nodes = [node for node in outcome.report.data["nodes"] if node["communicators"] > 0]
    hosts = {node["host"] for node in nodes}
    assert hosts == {"pretended host 0", "pretended host 1"}, nodes
    for node in nodes:
        assert node["ranks"] == 2, nodes
        expect_figures(node)


@needs_two
def test_the_table_has_two_lines_for_each(openmpi):
    outcome = openmpi.launch("comms", 2, 30, options=["--report=full"], with_report=False).passed()
    lines = outcome.err.splitlines()
    (at,) = [i for i, line in enumerate(lines) if line.startswith("tutti: within ")]
    assert ", 2 ranks, 26 communicators" in lines[at] and "barrier" in lines[at], lines[at]
    assert lines[at + 1].startswith("tutti:   -> copies by "), lines[at + 1]
