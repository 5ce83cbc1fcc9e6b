# SPDX-License-Identifier: BSD-3-Clause
"""The tables of hardware multicast: what it gains over messages, and over the bare MPIs.

Every part compares contestants that run in turn, round by round, on one fabric. A contestant is a
bare MPI or Tutti with an algorithm that is ordered by name; what ran is printed below each table.
"""
import statistics
from dataclasses import dataclass

import limits
import runs
from runs import MPIS, Column, Place, ms_text, ratio_text, size_text

MULTICAST = "multicast"
BCAST_SIZES = [8, 1 << 10, 16 << 10, 64 << 10, 1 << 20]
QUICK_BCAST_SIZES = [8, 64 << 10, 1 << 20]
APART_SIZES = [8, 256, 1 << 10, 4 << 10, 16 << 10]
LATE_SIZES = [8, 64 << 10]
LOSS_PERCENT = 1
# The first rank of the second host, which talks to the network for its node-mates.
LATE_RANK, LATE_MS = 4, 50
# A limit below this is not what takes the time, and is not shown.
LIMIT_MS_MIN = 1.0


@dataclass(frozen=True)
class Part:
    """One table: who competes on which fabric, where, in what."""
    title: str
    leaves: str
    places: tuple
    cells: tuple
    contestants: tuple  # functions: chosen -> columns


def bare(chosen):
    return [Column(mpi, False, MPIS[mpi], "bare") for mpi in chosen.mpis]


def tutti(kind, title, settings, collectives=None):
    """Tutti with these settings on each MPI that is to carry it."""
    limited = {} if collectives is None else {"collectives": collectives}

    def columns(chosen):
        only = len(chosen.tutti_on) == 1
        return [Column(mpi, True, title if only else f"{title}, {MPIS[mpi]}", kind,
                       tuple(settings.items()), **limited) for mpi in chosen.tutti_on]
    return columns


MESSAGES = tutti("messages", "Tutti, messages", {"TUTTI_MCAST": "off"})
ON = {"TUTTI_MCAST": "on"}
BCAST = tutti(MULTICAST, "Tutti, multicast", {**ON, "TUTTI_BCAST": "multicast"})
ALLGATHER = tutti(MULTICAST, "Tutti, multicast", {**ON, "TUTTI_ALLGATHER": "multicast"})


def every_process(chosen):
    """Each rank pretends to be alone on its host, so the group has a member for each of them.

    The reduction of the times would be handed back to your MPI, whose ranks poll with
    sched_yield: on two processors they kept services from theirs for seconds.
    """
    return [column for place in PARTS["node"].places for column in tutti(
        "every process", "Tutti, multicast to every process",
        {**ON, "TUTTI_BCAST": "multicast", "TUTTI_REDUCE": "binomial",
         "TUTTI_HOSTS": str(place.hosts * place.per_host)}
    )(chosen)]


def bcast_cells(sizes):
    return tuple(("bcast", size) for size in sizes)


# Of 16 hosts, so many take part; the first eight stand on one leaf.
HOST_COUNTS = (4, 8, 16)
PARTS = {
    "bcast": Part("broadcast", "8,8", (Place(16, 1),), bcast_cells(BCAST_SIZES),
                  (bare, MESSAGES, BCAST)),
    "apart": Part("broadcast, one call at a time", "8,8", (Place(16, 1, apart=True),),
                  bcast_cells(APART_SIZES), (bare, MESSAGES, BCAST)),
    "loss": Part("broadcast under loss", "8,8", (Place(16, 1), Place(16, 1, loss=LOSS_PERCENT)),
                 bcast_cells(BCAST_SIZES), (BCAST,)),
    "short": Part("barrier and short allreduce by number of hosts", "8,8",
                  tuple(Place(hosts, 1) for hosts in HOST_COUNTS),
                  (("barrier", 0), ("allreduce", 8)),
                  (tutti("dissemination", "dissemination",
                         {"TUTTI_MCAST": "off", "TUTTI_BARRIER": "dissemination"}, ("barrier",)),
                   tutti("pairwise", "pairwise", {"TUTTI_MCAST": "off", "TUTTI_BARRIER": "pairwise",
                                                  "TUTTI_ALLREDUCE": "pairwise"}),
                   tutti(MULTICAST, "gather + multicast",
                         {**ON, "TUTTI_BARRIER": "gather_multicast",
                          "TUTTI_ALLREDUCE": "gather_multicast"}))),
    "allgather": Part("allgather", "8,8", (Place(16, 1),), (("allgather", 64 << 10),),
                      (bare, MESSAGES, ALLGATHER)),
    "across": Part("allgather, ranks round-robin over four leaves", "4,4,4,4",
                   (Place(16, 1, order="across"),), (("allgather", 64 << 10),),
                   (bare, MESSAGES, ALLGATHER)),
    "node": Part("broadcast, four ranks a host", "8,8", (Place(16, 4),), bcast_cells(BCAST_SIZES),
                 (bare, MESSAGES, every_process, BCAST)),
    "late": Part("broadcast, four ranks a host, the other ranks while one host's first is late",
                 "8,8", tuple(Place(16, 4, late=LATE_RANK, late_ms=ms) for ms in (0, LATE_MS)),
                 bcast_cells(LATE_SIZES), (bare, MESSAGES, BCAST)),
}


def columns_of(part, chosen):
    return [column for contestant in part.contestants for column in contestant(chosen)]


def cells_of(part, chosen):
    return [cell for cell in part.cells
            if not chosen.quick or cell[0] != "bcast" or cell[1] in QUICK_BCAST_SIZES]


def measure(part, lab, chosen, book, told):
    cells = cells_of(part, chosen)
    for place in part.places:
        lab.lose(place.loss)
        for column in columns_of(part, chosen):
            told.line(f"{column.title}, {place.text()}: {part.title}")
            runs.run_column(lab, column, place, cells, chosen, book, told)
    lab.lose(0)


def row_of(name, where, by_column, columns, lab):
    """The gain over each kind: its best median / the slowest of multicast."""
    place, collective, size = where
    limit = limits.limit_ms(collective, size, place, lab)
    limit = limit if limit >= LIMIT_MS_MIN else None
    middle = {key: statistics.median(ms) for key, ms in by_column.items()}
    kinds = {}
    for column in columns:
        if column.key in middle:
            kinds.setdefault(column.kind, []).append(middle[column.key])
    mine = max(kinds.pop(MULTICAST), default=None) if MULTICAST in kinds else None
    return {"part": name, "hosts": place.hosts, "ranks_per_host": place.per_host,
            "order": place.order, "loss": place.loss, "late_ms": place.late_ms,
            "collective": collective, "bytes": size,
            "limit_ms": limit, "median_ms": middle, "rounds_ms": by_column,
            "gains": {kind: min(ms) / mine for kind, ms in kinds.items()} if mine else {},
            "times_limit": mine / limit if mine and limit else None}


def print_table(part, rows, columns, lab):
    print(f"\n{part.title}: leaves {lab.leaves}, {lab.rate}; ms\n")
    kinds = [kind for kind in dict.fromkeys(column.kind for column in columns)
             if kind != MULTICAST]
    table = [["collective", "bytes", "hosts", "ranks", "loss", "late", "limit",
              *(column.title for column in columns), *(f"gain on {kind}" for kind in kinds),
              "x limit"]]
    for row in rows:
        table.append([row["collective"], size_text(row["bytes"]), str(row["hosts"]),
                      str(row["hosts"] * row["ranks_per_host"]), f"{row['loss']:g} %",
                      f"{row['late_ms']:g} ms", ms_text(row["limit_ms"]),
                      *(ms_text(row["median_ms"].get(column.key)) for column in columns),
                      *(ratio_text(row["gains"].get(kind)) for kind in kinds),
                      ratio_text(row["times_limit"])])
    runs.print_markdown(table)


def show(name, lab, chosen, book):
    part = PARTS[name]
    columns = columns_of(part, chosen)
    rows = [row_of(name, (place, *cell), book.times[(place, *cell)], columns, lab)
            for place in part.places for cell in cells_of(part, chosen)
            if (place, *cell) in book.times]
    print_table(part, rows, columns, lab)
    for place in part.places:
        print(f"\n{place.text()}:", end="")
        runs.print_algorithms(book, columns, place)
    return rows


def tables(chosen, book):
    """Measures the parts that were chosen, fabric by fabric; prints them; returns all figures."""
    told = runs.Progress()
    wanted = [name for name in PARTS if name in chosen.table[1]]
    found = []
    for leaves in dict.fromkeys(PARTS[name].leaves for name in wanted):
        names = [name for name in wanted if PARTS[name].leaves == leaves]
        # Each part has a book of its own: one place may stand in several.
        books = {name: runs.Book(failures=book.failures) for name in names}
        with runs.Lab(leaves, chosen.rate) as lab:
            for turn in range(chosen.rounds):
                told.line(f"round {turn + 1} of {chosen.rounds} on leaves {leaves}")
                for name in names:
                    measure(PARTS[name], lab, chosen, books[name], told)
        for name in names:
            found += show(name, lab, chosen, books[name])
    return {"rows": found}
