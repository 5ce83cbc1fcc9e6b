# SPDX-License-Identifier: BSD-3-Clause
"""Prices against what happens: every algorithm, ordered by name, beside what `tutti explain` says.

Calls are made one at a time, since a price is that of one call whose ranks begin together. Ranks
know the switches, so that both follow the same order. What the cluster takes for messages stands in
PARAMETERS: the links' rates are the lab's, and a latency is measured on it, as a hop of a chain of
8 bytes: a host of the lab is a few processes' share of this machine's processors.
"""
import contextlib
import json
import re
import statistics
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace

import runs
from collective_list import SKEWED, VECTORS
from jobs import order_hosts
from runs import Column, Place, ms_text, size_text

# burst: as tools/lab shapes its links. both_ways_percent: 256 and 512 KiB from each of four hosts to
# the next, all at once, took 1.18 times as long under Open MPI as from one to another, and 1.4 to
# 1.6 times where answers waited behind what their senders sent. Its eager limit counts headers; an
# exchange of what is longer took twice as long as one way, of what is shorter just as long.
PARAMETERS = """[parameters]
latency = "{latency_ns}ns"
hop = "20us"
payload_percent = 95
message = "10us"
eager = "65000"
burst = "20000"
both_ways_percent = 118
long_both_ways_percent = 150
long_in_turn = true
"""
LATENCY_CELL = ("bcast", 8)
# From here on the links take the time, and prices are judged; below, their order is.
LINKS_BYTES = 16 << 10
NEAR = 1.1  # what is as good as the best
SIZES = {True: [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20],
         False: [1 << 10, 4 << 10, 16 << 10, 64 << 10]}
BEDS = (("8,8", "leaves"), ("4,4,4,4", "across"))
UNITS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
ROW = re.compile(r"^[* ] (\w+) +(?:\d+|-) .* (\d+(?:\.\d+)?) (ns|us|ms|s)  ")


def predicted(tutti, options, collective, size, algorithm=None):
    """Of every algorithm that can run the call: milliseconds."""
    command = [str(tutti), "explain", collective, "--bytes", str(size), *options]
    if algorithm:
        command += ["--algorithm", algorithm]
    text = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
    found = (ROW.match(line) for line in text.splitlines())
    return {row[1]: float(row[2]) * UNITS[row[3]] for row in found if row}


@contextlib.contextmanager
def options_of(state, order, latency_ns):
    """What `tutti explain` is told of a lab, which need not be up any more."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "lab.json").write_text(json.dumps(state))
        (Path(folder) / "parameters.toml").write_text(
            PARAMETERS.format(latency_ns=latency_ns))
        names = [host["name"] for host in order_hosts(SimpleNamespace(**state), order)]
        yield ["--ranks", str(len(names)), "--hosts", ",".join(names),
               "--fabric", f"{folder}/lab.json", "--parameters", f"{folder}/parameters.toml"]


def tutti_column(name, lab, collective, algorithm, chosen):
    return Column(chosen.tutti_on[0], True, name, name, (
        ("TUTTI_MCAST", "off"), ("TUTTI_FABRIC", lab.state_file()),
        (f"TUTTI_{collective.upper()}", algorithm)))


def measured_latency_ns(lab, place, chosen, book, told):
    """A chain passes on a few bytes once a host."""
    told.line(f"leaves {lab.leaves}, latency")
    column = tutti_column("latency", lab, LATENCY_CELL[0], "chain", chosen)
    for _ in range(chosen.rounds):
        runs.run_column(lab, column, place, [LATENCY_CELL], chosen, book, told)
    times = book.times.get((place, *LATENCY_CELL), {}).get(column.key)
    if not times:
        raise SystemExit("bench-lab: no latency was measured")
    return max(int(statistics.median(times) * 1e6 / (lab.hosts - 1)), 2)


def priced(collectives):
    """Of these, those with data whose blocks a price takes for equally long, and which about are."""
    return [name for name in collectives if name not in ("barrier", SKEWED)]


def measure_bed(leaves, order, chosen, book, told):
    """Rows of one fabric, and what it was."""
    rows = []
    with contextlib.ExitStack() as held:
        lab = held.enter_context(runs.Lab(leaves, chosen.rate))
        place = Place(lab.hosts, 1, order=order, apart=True)
        state = json.loads(Path(lab.state_file()).read_text())
        latency_ns = measured_latency_ns(lab, place, chosen, book, told)
        options = held.enter_context(options_of(state, order, latency_ns))
        for collective in priced(chosen.collectives):
            sizes = chosen.bytes or SIZES[collective in VECTORS]
            cells = [(collective, size) for size in sizes]
            for algorithm in predicted(chosen.tutti, options, collective, sizes[0]):
                column = tutti_column(algorithm, lab, collective, algorithm, chosen)
                for turn in range(chosen.rounds):
                    told.line(f"leaves {leaves}, {collective} by {algorithm}, round {turn + 1}")
                    runs.run_column(lab, column, place, cells, chosen, book, told)
                for _, size in cells:
                    times = book.times.get((place, collective, size), {}).get(column.key)
                    price = predicted(chosen.tutti, options, collective, size, algorithm)
                    if not times or algorithm not in price:
                        continue
                    rows.append({"leaves": leaves, "order": order, "collective": collective,
                                 "bytes": size, "algorithm": algorithm,
                                 "ms": statistics.median(times),
                                 "price_ms": price[algorithm]})
    return rows, {"leaves": leaves, "order": order, "latency_ns": latency_ns, "state": state}


def priced_again(kept, tutti):
    """The measured rows of an earlier table, with the prices of today."""
    for lab in kept["labs"]:
        with options_of(lab["state"], lab["order"], lab["latency_ns"]) as options:
            for row in kept["rows"]:
                if row["leaves"] == lab["leaves"]:
                    row["price_ms"] = predicted(tutti, options, row["collective"], row["bytes"],
                                                row["algorithm"])[row["algorithm"]]
    return kept["rows"], kept["labs"]


def cells_in(rows):
    """By call: the rows of all its algorithms."""
    found = {}
    for row in rows:
        key = (row["leaves"], row["collective"], row["bytes"])
        found.setdefault(key, []).append(row)
    return found


def order_is_right(cell):
    """Pairs of algorithms whose prices stand in the measured order, and all pairs that differ."""
    pairs = [(a, b) for i, a in enumerate(cell) for b in cell[i + 1:]
             if max(a["ms"], b["ms"]) > NEAR * min(a["ms"], b["ms"])]
    return sum((a["ms"] < b["ms"]) == (a["price_ms"] < b["price_ms"]) for a, b in pairs), len(pairs)


def summary(rows):
    """What is claimed of prices."""
    long = sorted(abs(row["price_ms"] / row["ms"] - 1) for row in rows
                  if row["bytes"] >= LINKS_BYTES)
    cells = cells_in(rows)
    chosen = [min(cell, key=lambda row: row["price_ms"])["ms"] /
              min(row["ms"] for row in cell) for cell in cells.values()]
    short = [order_is_right(cell) for (_, _, size), cell in cells.items() if size < LINKS_BYTES]
    return {"off_median": statistics.median(long) if long else None,
            "off_worst": long[-1] if long else None, "long_cells": len(long),
            "choices": len(chosen), "near_choices": sum(one <= NEAR for one in chosen),
            "short_pairs": sum(all_of for _, all_of in short),
            "short_pairs_right": sum(right for right, _ in short)}


def print_tables(rows, labs, found, rate):
    for (leaves, collective, size), cell in cells_in(rows).items():
        print(f"\n{collective} of {size_text(size)}, leaves {leaves}, {rate}; ms\n")
        table = [["algorithm", "measured", "price", "off"]]
        for row in sorted(cell, key=lambda one: one["ms"]):
            table.append([row["algorithm"], ms_text(row["ms"]), ms_text(row["price_ms"]),
                          f"{row['price_ms'] / row['ms'] - 1:+.0%}"])
        runs.print_markdown(table)
    for lab in labs:
        print(f"\nA hop of a chain of 8 bytes on leaves {lab['leaves']}: "
              f"{lab['latency_ns'] / 1e6:.2f} ms.")
    if found["off_median"] is not None:
        print(f"\n{size_text(LINKS_BYTES)} and more, {found['long_cells']} cells: prices are off by "
              f"{found['off_median']:.0%} in the median, {found['off_worst']:.0%} at worst.")
    print(f"\nThe cheapest was within {NEAR - 1:.0%} of the fastest in {found['near_choices']} of "
          f"{found['choices']} calls.")
    if found["short_pairs"]:
        print(f"\nBelow {size_text(LINKS_BYTES)}: {found['short_pairs_right']} of "
              f"{found['short_pairs']} pairs of algorithms stand in the measured order.")


def tables(chosen, book):
    """Measures both fabrics; prints; returns all figures."""
    rows, labs = [], []
    if chosen.again:
        kept = json.loads(Path(chosen.again).read_text())
        chosen.rate = kept["rate"]
        rows, labs = priced_again(kept, chosen.tutti)
    else:
        told = runs.Progress()
        for leaves, order in BEDS:
            measured, lab = measure_bed(leaves, order, chosen, book, told)
            rows += measured
            labs.append(lab)
    if not rows:
        return {"rows": []}
    found = summary(rows)
    print_tables(rows, labs, found, chosen.rate)
    return {"labs": labs, "rows": rows, "summary": found}
