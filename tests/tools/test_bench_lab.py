# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench-lab: what it refuses, and what its tables make of figures. Without a lab."""
import pathlib
import re
import subprocess
import sys
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / folder) for folder in ("bench-lab.d", "bench.d", "lab.d")]
import collective_list  # noqa: E402  pylint: disable=wrong-import-position
import limits  # noqa: E402  pylint: disable=wrong-import-position
import multicast  # noqa: E402  pylint: disable=wrong-import-position
import prices  # noqa: E402  pylint: disable=wrong-import-position
import runs  # noqa: E402  pylint: disable=wrong-import-position

CHOSEN = types.SimpleNamespace(mpis=["openmpi", "mpich"], tutti_on=["openmpi"], quick=False)


def lab_of(leaves, uplink_bits=25_000_000, spare=0):
    built = ",".join(str(int(size) + spare) for size in leaves.split(","))
    return types.SimpleNamespace(name="lab", rate_bits=25_000_000, uplink_bits=uplink_bits,
                                 rate="25mbit", leaves=leaves, built=built, spare=spare)


LAB = lab_of("8,8")


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
    (["--collectives", "scam"], "argument --collectives: 'scam' is none of all, "
     + ", ".join(runs.NAMES)),
])
def test_bad_words_get_one_line(words, line):
    done = subprocess.run([ROOT / "tools/bench-lab", *words], capture_output=True, text=True,
                          check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"bench-lab: {line}\n")


def test_the_list_of_collectives_is_that_of_tutti():
    table = (ROOT / "src/base/collectives.h").read_text()
    names = re.findall(r'^    \{"(\w+)"', table, re.MULTILINE)
    assert sorted(names) == sorted(collective_list.COLLECTIVES) and len(names) == 17


def times_a_block(collective, place, lab=LAB):
    """The limit of 1 MiB in units of what a link needs for 1 MiB."""
    size = 1 << 20
    return limits.limit_ms(collective, size, place, lab) / (size * 8e3 / lab.rate_bits)


# One rank a host, leaves 8,8. Of vector forms even ranks' blocks are 7/8 long, odd ones' 9/8, so 16
# blocks are as long as even ones, and without the shortest they have 15 1/8.
@pytest.mark.parametrize("collective, blocks", [
    ("barrier", 0), ("bcast", 1), ("reduce", 1), ("allreduce", 15 / 8), ("gather", 15),
    ("scatter", 15), ("allgather", 15), ("reduce_scatter_block", 15), ("scan", 1), ("exscan", 1),
    ("alltoall", 64), ("alltoallv", 64), ("alltoallw", 64),  # from 8 ranks to 8, between leaves
    ("gatherv", 15), ("scatterv", 15),  # in the mean over the roots
    ("allgatherv", 15.125), ("reduce_scatter", 15.125),
    ("allgatherv_skewed", 1 + 14 * 8 / (1 << 20))])
def test_limits_of_a_link(collective, blocks):
    assert times_a_block(collective, runs.Place(16, 1)) == pytest.approx(blocks)


def test_a_bcast_of_a_mebibyte_at_25_mbit():
    assert limits.limit_ms("bcast", 1 << 20, runs.Place(16, 1), LAB) == pytest.approx(335.5, abs=0.1)


@pytest.mark.parametrize("collective, place, leaves, blocks", [
    # Four ranks a host: all their blocks cross each link.
    ("allgather", runs.Place(16, 4), "8,8", 60), ("allreduce", runs.Place(16, 4), "8,8", 15 / 8),
    ("alltoall", runs.Place(16, 4), "8,8", 32 * 32), ("scan", runs.Place(16, 4), "8,8", 1),
    ("gatherv", runs.Place(16, 4), "8,8", 60), ("reduce_scatter", runs.Place(16, 4), "8,8", 60),
    # Four leaves of four: of a leaf's links up 4 ranks' blocks for 12, of a host's 15.
    ("alltoall", runs.Place(16, 1, order="across"), "4,4,4,4", 48),
    ("alltoall", runs.Place(16, 1, order="random:1"), "4,4,4,4", 48),
    # On one leaf only the hosts' own.
    ("alltoall", runs.Place(8, 1), "8,8", 7),
    # In turn over leaves, or over hosts, each rank but the first waits for those before it.
    ("scan", runs.Place(16, 1, order="across"), "4,4,4,4", 4),
    ("exscan", runs.Place(16, 4, placement="round-robin"), "8,8", 4),
])
def test_limits_follow_where_ranks_stand(collective, place, leaves, blocks):
    assert times_a_block(collective, place, lab_of(leaves)) == pytest.approx(blocks)


@pytest.mark.parametrize("collective, blocks", [
    ("bcast", 2), ("gather", 16), ("allreduce", 2), ("alltoall", 128), ("reduce_scatter", 16),
    ("scan", 2)])
def test_limits_of_slow_links_between_switches(collective, blocks):
    """Half as fast: all that is above what a host's own link needs comes from there."""
    slow = lab_of("8,8", 12_500_000)
    assert times_a_block(collective, runs.Place(16, 1), slow) == pytest.approx(blocks)


def test_spare_hosts_have_no_part_in_limits():
    place = runs.Place(16, 1, order="across")
    assert times_a_block("alltoall", place, lab_of("4,4,4,4", spare=1)) == pytest.approx(48)


def test_prices_are_of_what_has_one_length():
    assert prices.priced(["barrier", "scan", "allgatherv_skewed", "alltoallv"]) == \
        ["scan", "alltoallv"]


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
