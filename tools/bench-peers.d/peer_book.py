# SPDX-License-Identifier: BSD-3-Clause
"""The figures of tools/bench-peers: kept apart by where the cores were, judged, and printed."""
import dataclasses
import statistics

from collective_list import COLLECTIVES

# A cell that Tutti hands back to the host differs from the host's own by noise alone.
NOISE = 1.05
# From here on a call counts as slower than the host's own.
SLOWER = 1.10
# Runs of a cell in which the cores moved, before it is given up for that round.
RUNS_MAX = 4
# Where two virtual cores are, by the microseconds that a flag needs from one to the other. On a
# virtual AMD EPYC (828 figures) 0.043 to 0.064 within a die and 0.217 to 0.247 between two; once
# 0.03, as between two threads of one core. Each limit is about the geometric middle.
REGIMES = [("one core", 0.035), ("near", 0.12), ("far", float("inf"))]
UNKNOWN = "unknown"


def regime_of(cell):
    """Where the cores were in this cell of `tutti bench`; None where they moved."""
    if "flag_before_us" not in cell:
        return UNKNOWN
    if cell["moved"]:
        return None
    middle = (cell["flag_before_us"] * cell["flag_after_us"]) ** 0.5
    return next(name for name, limit_us in REGIMES if middle < limit_us)


@dataclasses.dataclass(frozen=True)
class Job:
    """What one run of `tutti bench` measures."""
    ranks: int
    buffers: str
    cells: tuple  # of (collective, bytes)

    def arguments(self, seconds):
        names = list(dict.fromkeys(name for name, _ in self.cells))
        sizes = list(dict.fromkeys(size for _, size in self.cells if size))
        return [*names, *(["--bytes", ",".join(map(str, sizes))] if sizes else []),
                "--buffers", self.buffers, "--seconds", str(seconds)]


def settle(job, measure):
    """Cells of the job in which the cores stayed, those in which they moved each time, an error.

    measure(job) gives the cells of one run by (collective, bytes), and an error or None."""
    kept, left = {}, job.cells
    for _ in range(RUNS_MAX):
        cells, error = measure(dataclasses.replace(job, cells=left))
        if error:
            return kept, [], error
        kept.update({key: cells[key] for key in left
                     if key in cells and regime_of(cells[key]) is not None})
        left = tuple(key for key in left if key in cells and key not in kept)
        if not left:
            break
    return kept, list(left), None


@dataclasses.dataclass(frozen=True)
class Where:
    """What is compared with one another: one call, in one place of the cores."""
    buffers: str
    regime: str
    ranks: int
    collective: str
    size: int

    def order(self):
        regimes = [name for name, _ in REGIMES] + [UNKNOWN]
        return (self.buffers != "reused", regimes.index(self.regime), self.ranks,
                COLLECTIVES.index(self.collective), self.size)


class Book:
    """Every figure of every round."""

    def __init__(self, quantile, bare_names, tutti_names):
        self.quantile = quantile
        self.bare_names = bare_names    # of the MPIs that are measured bare
        self.tutti_names = tutti_names  # of those that carry Tutti
        self.bare = {}     # Where -> peer -> [us]
        self.hosted = {}   # the same: the host's calls in the runs through Tutti
        self.tutti = {}
        self.flag = {}     # Where -> [us]
        self.crowd = {}    # Where -> [us]: a barrier of bare yields
        self.place = None  # the regime of the latest cell
        self.kept = 0
        self.moved = []    # what was given up, in words
        self.failed = set()  # (peer, whether through Tutti)
        self.failures = []

    def add(self, job, peer, cells, through_tutti):
        for (collective, size), cell in cells.items():
            self.place = regime_of(cell)
            where = Where(job.buffers, self.place, job.ranks, collective, size)
            host = self.hosted if through_tutti else self.bare
            host.setdefault(where, {}).setdefault(peer, []).append(cell["host"][self.quantile])
            if through_tutti:
                mine = self.tutti.setdefault(where, {})
                mine.setdefault(peer, []).append(cell["tutti"][self.quantile])
            if "flag_before_us" in cell:
                self.flag.setdefault(where, []).extend(
                    [cell["flag_before_us"], cell["flag_after_us"]])
            if cell.get("yield_barrier_us"):
                self.crowd.setdefault(where, []).append(cell["yield_barrier_us"])
            self.kept += 1

    def gaps(self):
        """What is to be measured for a comparison in each regime: (regime, peer, whether through
        Tutti, job). What failed once is not tried again."""
        wanted = [(name, False, self.bare) for name in self.bare_names]
        wanted += [(name, True, self.tutti) for name in self.tutti_names]
        cells = {}
        for where in sorted(self.bare.keys() | self.tutti.keys(), key=Where.order):
            for name, through_tutti, figures in wanted:
                if name in figures.get(where, {}) or (name, through_tutti) in self.failed:
                    continue
                run = (where.regime, name, through_tutti, where.ranks, where.buffers)
                cells.setdefault((*run, where.collective), []).append(
                    (where.collective, where.size))
        return [(regime, name, through_tutti, Job(ranks, buffers, tuple(missing)))
                for (regime, name, through_tutti, ranks, buffers, _), missing in cells.items()]

    def rows(self):
        both = self.tutti.keys() & self.bare.keys()
        return [judge(self, where) for where in sorted(both, key=Where.order)]


def goal_of(ranks, collective, size):
    """(times faster than the best peer, the limit that will do instead, its factor). From 16 to
    256 KiB, where memory decides, it is enough not to be much slower."""
    if ranks > 2:
        return 2.5, "yield", 1.0
    if collective == "barrier":
        return 3.0, "flag", 1.6
    if size <= 256:
        return (2.5, "flag", 1.6) if collective == "bcast" else (3.0, "flag", 2.0)
    if size < 16 << 10:
        return 2.0, None, 0
    return 1 / 1.3 if size <= 256 << 10 else 1.3, None, 0


def allowed_us(book, where, limit, factor):
    """The limit that will do instead of the goal, or None."""
    measured = {"flag": book.flag, "yield": book.crowd}.get(limit, {}).get(where)
    return factor * statistics.median(measured) if measured else None


def medians(by_peer):
    return {name: statistics.median(us) for name, us in by_peer.items()}


def judge(book, where):
    bare, mine = medians(book.bare[where]), medians(book.tutti[where])
    host = medians(book.hosted[where])
    over_host = {name: us / host[name] for name, us in mine.items()}
    best = min(bare, key=bare.get)
    middle, worst = statistics.median(mine.values()), max(mine.values())
    factor, limit, limit_factor = goal_of(where.ranks, where.collective, where.size)
    allowed = allowed_us(book, where, limit, limit_factor)
    met = bare[best] / middle >= factor
    if where.ranks > 2 and "MPICH" in bare:
        met = met and bare["MPICH"] / middle >= 500
    why = "yes" if met else "no"
    if not met and allowed is not None and middle <= allowed:
        met, why = True, "yes, limit"
    slower = [name for name, ratio in over_host.items() if ratio > NOISE]
    if where.size >= 64 << 10 and slower:
        met, why = False, "no, slower than " + ", ".join(slower)
    missing = [name for name in book.bare_names if name not in bare]
    missing += [f"Tutti on {name}" for name in book.tutti_names if name not in mine]
    if missing:
        # Without them the ratio would be too good: they were measured elsewhere, or not at all.
        met, why = False, "open, lacks " + ", ".join(missing)
    return {"buffers": where.buffers, "regime": where.regime, "ranks": where.ranks,
            "collective": where.collective, "bytes": where.size, "best_peer": best,
            "best_us": bare[best], "tutti_us": middle, "tutti_worst_us": worst,
            "ratio": bare[best] / middle, "ratio_worst": bare[best] / worst, "goal": factor,
            "limit_us": allowed, "complete": not missing, "met": met, "verdict": why,
            "bare_us": bare, "through_tutti_us": mine, "over_host": over_host,
            "flag_us": sorted(book.flag.get(where, []))}


def us_text(value):
    return "-" if value is None else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B" if size else "-"


def table_lines(rows, names):
    head = ["ranks", "collective", "bytes", *names, "Tutti", "worst", "ratio", "worst", "goal",
            "or us", "met"]
    table = [head]
    for row in rows:
        table.append([str(row["ranks"]), row["collective"], size_text(row["bytes"]),
                      *(us_text(row["bare_us"].get(name)) for name in names),
                      us_text(row["tutti_us"]), us_text(row["tutti_worst_us"]),
                      f"{row['ratio']:.2f}", f"{row['ratio_worst']:.2f}", f"{row['goal']:.2f}",
                      us_text(row["limit_us"]), row["verdict"]])
    widths = [max(len(line[i]) for line in table) for i in range(len(head))]
    left = (head.index("collective"), head.index("met"))
    return ["  ".join(cell.ljust(width) if i in left else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(line, widths))).rstrip()
            for line in table]


def title_of(buffers, regime, rows):
    flags = [us for row in rows for us in row["flag_us"]]
    where = "cores at an unknown distance" if regime == UNKNOWN else \
        f"cores {'on ' if regime == 'one core' else ''}{regime}"
    latency = f" (flag latency {min(flags):.2f} to {max(flags):.2f} us)" if flags else ""
    return f"{buffers} buffers, {where}{latency}"


def counts_of(rows):
    """What a table comes to, in lines."""
    whole = [row for row in rows if row["complete"]]
    goals = f"{sum(row['met'] for row in whole)} of {len(whole)} goals met"
    if len(whole) < len(rows):
        goals += f"; open, since not every MPI was met here: {len(rows) - len(whole)}"
    calls = [(ratio, row, name) for row in rows for name, ratio in row["over_host"].items()]
    slow = sorted((call for call in calls if call[0] > SLOWER), key=lambda call: -call[0])
    lines = [goals, f"{len(slow)} of {len(calls)} calls (a cell on an MPI) slower than that MPI's "
                    f"own by more than {SLOWER - 1:.0%}"]
    return lines + [f"  {row['ranks']} ranks, {row['collective']} {size_text(row['bytes'])}, "
                    f"{name}: {ratio:.2f} times its own" for ratio, row, name in slow]


def report_lines(rows, book):
    """A table for each kind of buffers in each regime that was met, and what was given up."""
    lines = []
    for buffers, regime in dict.fromkeys((row["buffers"], row["regime"]) for row in rows):
        part = [row for row in rows if (row["buffers"], row["regime"]) == (buffers, regime)]
        lines += [title_of(buffers, regime, part), "", *table_lines(part, book.bare_names), "",
                  *counts_of(part), ""]
    lines.append(f"Microseconds, {book.quantile.removesuffix('_us')} of a run's batches, median of "
                 "the rounds; ratio: best bare MPI / Tutti; 'worst': Tutti on the MPI that suits "
                 "it least; 'or us': the limit that will do instead.")
    if book.moved:
        lines.append(f"{len(book.moved)} of {len(book.moved) + book.kept} measurements given up, "
                     f"since the cores moved in each of {RUNS_MAX} runs:")
        lines += [f"  {what}" for what in book.moved]
    return lines
