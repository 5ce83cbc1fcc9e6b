# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that know which hosts share a switch, on an emulated cluster whose neighbours in the order of
ranks never do: what the links between switches carry, counted by the kernel."""
import json
import subprocess

import pytest

import harness
from test_cluster import LAB, UNFINISHED, cluster, on  # noqa: F401, a fixture

pytestmark = [pytest.mark.alone,
              pytest.mark.skipif(harness.BARE, reason="SYSTEST_BARE: there is no Tutti that knows switches")]
# All by messages, and by Tutti: rings, chains and trees.
SETTINGS = ["--mcast=off", "--warmup=0", "--bcast=chain", "--reduce=rotated_chain", "--allreduce=ring",
            "--gather=binomial", "--scatter=binomial", "--allgather=ring"]


def between_switches(name):
    """Bytes that the links between switches have carried, both ways."""
    text = subprocess.run([LAB, "links", "--name", name, "--json"], capture_output=True, text=True,
                          check=True).stdout
    links = [link for link in json.loads(text)["links"] if link["link"].startswith("root - ")]
    assert len(links) == 2, text
    return sum(link[way]["bytes"] for link in links for way in ("down", "up"))


def run(cluster, mpi, fabric, *options):
    before = between_switches(cluster)
    wrap = on(cluster, "--order", "across", *options)
    ranks = 4 * (int(options[1]) if options else 1)
    outcome = mpi.launch("simple", ranks, 6, 1 << 16, wrap=wrap, timeout=100,
                         options=[f"--fabric={fabric}", *SETTINGS]).passed()
    return outcome.report, between_switches(cluster) - before


def expect_less_between_switches(cluster, mpi, *options):
    state = f"/run/tutti-lab/{cluster}/lab.json"
    known, along = run(cluster, mpi, state, *options)
    assert known.data["fabric"] == {"file": state, "hosts": 4, "switches": 2}
    unknown, across = run(cluster, mpi, "off", *options)
    assert "fabric" not in unknown.data
    # In the order of ranks rings pass them with every message, along the switches with every other.
    assert along < 0.6 * across, (along, across)


def test_links_between_switches_carry_less(cluster, mpi):
    if mpi.name == UNFINISHED:
        pytest.skip(f"{mpi.name} hangs in MPI_Finalize over TCP, without a lab too")
    expect_less_between_switches(cluster, mpi)


@harness.NIGHT
@pytest.mark.parametrize("placement", ["block", "round-robin"])
def test_with_several_ranks_a_host(cluster, openmpi, placement):
    expect_less_between_switches(cluster, openmpi, "--ranks-per-host", "2", "--placement", placement)
