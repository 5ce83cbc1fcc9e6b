# SPDX-License-Identifier: BSD-3-Clause
"""Messages by the network of the tests (TUTTI_LOOPBACK, docs/loopback.md), between pretended hosts
under each MPI: what a network goes through in whole programs."""
import json

import pytest

import harness

pytestmark = pytest.mark.skipif(harness.BARE, reason="SYSTEST_BARE: there is no Tutti to look at")
OPTIONS = ["--loopback=on", "--mcast=off", "--warmup=0"]


def worlds(outcome):
    """What was told of the communicators that have it."""
    rows = [row for row in outcome.report.data.get("loopback", []) if row["state"] == "on"]
    assert rows, json.dumps(outcome.report.data.get("loopback"))
    return rows


@pytest.mark.parametrize("program, words, hosts", [
    ("moves", ["edges"], "2"), ("random_mixed", ["--seed", 41, "--calls", 400], "3"),
    ("user_ops", [], "2:round-robin"), ("layouts", [], "4"), ("forks", [2], "2"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_collectives(mpi, program, words, hosts):
    outcome = mpi.launch(program, 4, *words, options=[f"--hosts={hosts}", *OPTIONS]).passed()
    first = worlds(outcome)[0]
    assert first["messages"] > 0 and first["peers"] in (2, 3), first
