# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench-lab: what it refuses, and what its tables make of figures. Without a lab."""
import pathlib
import subprocess
import sys
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/bench-lab.d"))
sys.path.insert(0, str(ROOT / "tools/lab.d"))
import multicast  # noqa: E402  pylint: disable=wrong-import-position
import prices  # noqa: E402  pylint: disable=wrong-import-position
import runs  # noqa: E402  pylint: disable=wrong-import-position

CHOSEN = types.SimpleNamespace(mpis=["openmpi", "mpich"], tutti_on=["openmpi"], quick=False)
LAB = types.SimpleNamespace(rate_bits=25_000_000, leaves="8,8", rate="25mbit")


@pytest.mark.parametrize("words, line", [
    (["--table", "x"], "argument --table: 'x': collectives, prices, or multicast[:PART,...]"),
    (["--table", "collectives:bcast"], "argument --table: 'collectives:bcast': collectives, "
     "prices, or multicast[:PART,...]"),
    (["--table", "multicast:bcast,x"],
     "argument --table: 'x' is none of bcast, apart, loss, short, allgather, across, node, late"),
    (["--table", "multicast", "--leaves", "4"], "--leaves: the tables of multicast choose it"),
    (["--table", "multicast", "--ranks-per-host", "2"],
     "--ranks-per-host: the tables of multicast choose it"),
    (["--table", "multicast", "--tutti-on", "none"],
     "--tutti-on: the tables of multicast need an MPI that carries Tutti"),
    (["--table", "prices", "--leaves", "4"], "--leaves: the tables of prices choose it"),
    (["--table", "prices", "--tutti-on", "none"],
     "--tutti-on: the tables of prices need an MPI that carries Tutti"),
    (["--again", "kept.json"], "--again: is of the table of prices"),
    (["--table", "prices", "--again", "/no/kept.json"], "--again: cannot read /no/kept.json"),
    (["--rounds", "0"], "--rounds: at least 1"),
    (["--bytes", "12"], "argument --bytes: '12': every size is a multiple of 8 bytes"),
])
def test_bad_words_get_one_line(words, line):
    done = subprocess.run([ROOT / "tools/bench-lab", *words], capture_output=True, text=True,
                          check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"bench-lab: {line}\n")


@pytest.mark.parametrize("collective, ms", [
    ("barrier", 0), ("bcast", 335.5), ("allreduce", 629.1), ("allgather", 5033.2)])
def test_limits_of_a_link(collective, ms):
    place = runs.Place(16, 1)
    assert runs.limit_ms(collective, 1 << 20, place, 25_000_000) == pytest.approx(ms, abs=0.1)
    if collective == "allgather":  # four ranks a host: all their blocks cross each link
        assert runs.limit_ms(collective, 1 << 20, runs.Place(16, 4), 25_000_000) == \
            pytest.approx(4 * ms, abs=0.5)


def test_a_gain_is_that_over_the_best_of_each_kind():
    part = multicast.PARTS["node"]
    columns = multicast.columns_of(part, CHOSEN)
    assert [column.key for column in columns] == [
        "openmpi", "mpich", "openmpi+messages", "openmpi+every process", "openmpi+multicast"]
    assert dict(columns[3].settings)["TUTTI_HOSTS"] == "64"
    times = {"openmpi": [900, 1000, 1100], "mpich": [800], "openmpi+messages": [600, 500],
             "openmpi+every process": [450], "openmpi+multicast": [400, 360, 380]}
    row = multicast.row_of("node", (part.places[0], "bcast", 1 << 20), times, columns, LAB)
    assert row["gains"] == {"bare": pytest.approx(800 / 380),
                            "messages": pytest.approx(550 / 380),
                            "every process": pytest.approx(450 / 380)}
    assert row["times_limit"] == pytest.approx(380 / 335.5, abs=1e-3)
    del times["openmpi+multicast"]  # its run failed: no gain is claimed
    row = multicast.row_of("node", (part.places[0], "bcast", 8), times, columns, LAB)
    assert (row["gains"], row["times_limit"], row["limit_ms"]) == ({}, None, None)


def test_every_part_has_multicast_and_something_to_run():
    for part in multicast.PARTS.values():
        columns = multicast.columns_of(part, CHOSEN)
        assert any(column.kind == multicast.MULTICAST for column in columns)
        assert len({column.key for column in columns}) == len(columns)
        for column in columns:
            assert any(cell[0] in column.collectives for cell in part.cells), (part, column)


def price_row(algorithm, ms, price_ms, size=64 << 10):
    return {"leaves": "8,8", "collective": "bcast", "bytes": size, "algorithm": algorithm,
            "ms": ms, "price_ms": price_ms}


def test_prices_are_judged_by_what_they_choose():
    found = prices.summary([price_row("a", 100, 90), price_row("b", 200, 220),
                            price_row("c", 10, 8, 1 << 10), price_row("d", 20, 7, 1 << 10),
                            price_row("e", 10.5, 9, 1 << 10)])
    assert found["off_median"] == pytest.approx(0.1) and found["long_cells"] == 2
    assert (found["near_choices"], found["choices"]) == (1, 2)
    # c and e are as fast as each other; of d the price is too low for both.
    assert (found["short_pairs_right"], found["short_pairs"]) == (0, 2)


def test_prices_of_an_earlier_table(monkeypatch):
    """Of each bed with its own latency, though its lab is gone."""
    asked = []

    def predicted(_, options, collective, size, algorithm):
        told = pathlib.Path(options[options.index("--parameters") + 1]).read_text()
        asked.append((told.splitlines()[1], options[options.index("--hosts") + 1], collective, size))
        return {algorithm: 42}
    monkeypatch.setattr(prices, "predicted", predicted)
    hosts = [{"name": f"h{i}", "leaf": i // 2} for i in range(4)]
    kept = {"rows": [price_row("a", 100, 90)], "labs": [
        {"leaves": "8,8", "order": "across", "latency_ns": 7,
         "state": {"hosts": hosts, "leaves": [2, 2]}},
        {"leaves": "4", "order": "leaves", "latency_ns": 8, "state": {"hosts": hosts, "leaves": [4]}}]}
    rows, _ = prices.priced_again(kept, "tutti")
    assert [(row["ms"], row["price_ms"]) for row in rows] == [(100, 42)]
    assert asked == [('latency = "7ns"', "h0,h2,h1,h3", "bcast", 64 << 10)]


@pytest.mark.parametrize("line, row", [
    ("* ring                    30        30      120 KiB       60 KiB        0   97.46 us  around",
     ("ring", "97.46", "us")),
    ("  binomial                 -       768       12 MiB       12 MiB        0    3.18 ms  up",
     ("binomial", "3.18", "ms")),
    ("  multicast          cannot run this: needs hardware multicast, and there is none", None),
])
def test_rows_of_explain(line, row):
    found = prices.ROW.match(line)
    assert (found.groups() if found else None) == row
