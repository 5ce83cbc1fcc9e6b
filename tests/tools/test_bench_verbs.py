# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench-verbs: what it refuses, and what its tables make of figures. Without a guest."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load():
    loader = importlib.machinery.SourceFileLoader("bench_verbs", str(ROOT / "tools/bench-verbs"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_verbs", loader))
    loader.exec_module(module)
    return module


BENCH = load()


@pytest.mark.parametrize("words, line", [
    (["--hosts", "1"], "argument --hosts: '1' is no list of multiples of 1 from 2 to 8"),
    (["--bytes", "12"], "argument --bytes: '12' is no list of multiples of 8 from 8 to 4194304"),
    (["--collectives", "x"],
     "argument --collectives: 'x' is none of barrier, bcast, reduce, allreduce, allgather"),
    (["--algorithm", "bcast"], "argument --algorithm: 'bcast' is no COLLECTIVE=ALGORITHM with one "
     "of barrier, bcast, reduce, allreduce, allgather"),
    (["--rounds", "0"], "--rounds: at least 1"),
    (["--seconds", "0"], "--seconds: more than 0, 60 at most"),
    (["--json", "/nowhere/a"], "cannot write in /nowhere"),
    (["--build", "/nowhere"], "/nowhere/bin/tutti is not built; type make build"),
])
def test_bad_words_get_one_line(words, line):
    done = subprocess.run([ROOT / "tools/bench-verbs", *words], capture_output=True, text=True,
                          check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"bench-verbs: {line}\n")


def row(us, packets=None, wakeups=0.0):
    return {("bcast", 8): {"us": us, "packets": packets, "wakeups": wakeups}}


def test_a_figure_is_the_median_over_the_rounds(capsys):
    rounds = {"bare": [row(5)], "messages": [row(30, 4.0), row(10, 6.0), row(20, 5.0)],
              "rdma": [row(10, 2.0, 1.0), row(90, 3.0, 3.0), row(5, 2.5, 2.0)]}
    rows = BENCH.rows_of(2, rounds)
    assert [one["ratio"] for one in rows] == [2.0]
    BENCH.print_table(2, rows, BENCH.ALGORITHMS)
    assert capsys.readouterr().out.splitlines()[-1] == \
        "| bcast | 8 B | binomial | 5.0 | 20.0 | 10.0 | 2.00 | 5.0 | 2.5 | 0.0 | 2.0 |"


def test_each_way_runs_the_same_program():
    chosen = types.SimpleNamespace(seconds=1, bytes=[8, 64], collectives=["bcast"], tutti="tutti",
                                   algorithms={"bcast": "chain"})
    bare, messages, rdma = (BENCH.command(chosen, way, 2, "wire") for way in BENCH.WAYS)
    begin = "tutti run --verbs=on --warmup=0 --bcast=chain -- "
    assert rdma == begin + bare and messages == begin.replace("=on", "=off") + bare
    assert bare.endswith(" wire 1 8,64 bcast")
