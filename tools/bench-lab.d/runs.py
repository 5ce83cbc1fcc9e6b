# SPDX-License-Identifier: BSD-3-Clause
"""Runs of bench/lab_bench.c on a lab: who competes, where the ranks stand, what came out."""
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from collective_list import COLLECTIVES, SKEWED

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "build/peers"
WORK = ROOT / "build/bench-lab"
LAB = str(ROOT / "tools/lab")
MPIS = {"openmpi": "Open MPI", "mpich": "MPICH", "impi": "Intel MPI"}
NAMES = [*COLLECTIVES, SKEWED]
RUN_SECONDS_MAX = 3600


@dataclass(frozen=True)
class Column:
    """One of the contestants: an MPI, bare or with Tutti."""
    mpi: str
    tutti: bool
    title: str
    kind: str  # what it stands for in a comparison
    settings: tuple = ()  # (variable, value) of Tutti
    collectives: tuple = tuple(NAMES)

    @property
    def key(self):
        return f"{self.mpi}+{self.kind}" if self.tutti else self.mpi

    def program(self):
        return WORK / self.mpi / "lab_bench"

    def command(self, tutti, ranks, words, report):
        launcher = PEERS / self.mpi / "bin" / ("mpiexec.hydra" if self.mpi == "impi" else "mpirun")
        command = [str(launcher), "-n", str(ranks), str(self.program()), *words]
        if self.tutti:
            command = [str(tutti), "run", f"--report={report}", "--", *command]
        return command


@dataclass(frozen=True)
class Place:
    """Where the ranks of a run stand, and in what circumstances: `loss` is what every host loses of
    what comes to it, `late` is the rank that comes `late_ms` late to every call; `apart`: calls are
    made one at a time."""
    hosts: int
    per_host: int
    placement: str = "block"
    order: str = "leaves"
    loss: float = 0
    late: int = -1
    late_ms: float = 0
    apart: bool = False

    def text(self):
        text = f"{self.hosts} hosts, {self.per_host} a host"
        text += f", {self.loss:g} % loss" if self.loss else ""
        text += ", one call at a time" if self.apart else ""
        return text + (f", rank {self.late} {self.late_ms:g} ms late" if self.late >= 0 else "")

    def words(self):
        """For the program."""
        late = [f"late={self.late}:{self.late_ms:g}"] if self.late >= 0 else []
        return late or (["apart"] if self.apart else [])


class Lab:
    """`background`: bits a second that one more host of each leaf sends to that of the next one."""

    def __init__(self, leaves, rate, uplink=None, loss=None, background=None):
        self.name = f"bench-{os.getpid()}"
        self.leaves, self.rate, self.uplink, self.loss = leaves, rate, uplink, loss
        self.background, self.senders = background, []
        sizes = [int(part) for part in leaves.split(",")]
        self.hosts = sum(sizes)
        self.spare = 1 if background else 0
        self.built = ",".join(str(size + self.spare) for size in sizes)

    def __enter__(self):
        command = [LAB, "up", "--name", self.name, "--leaves", self.built, "--rate", self.rate]
        if self.uplink:
            command += ["--uplink", self.uplink]
        if self.loss:
            command += ["--loss", self.loss]
        if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode != 0:
            raise SystemExit(2)
        noted = subprocess.run([LAB, "status", "--name", self.name, "--json"], text=True,
                               stdout=subprocess.PIPE, check=True).stdout
        self.rate_bits = json.loads(noted)[0]["rate_bits"]
        self.uplink_bits = json.loads(noted)[0]["uplink_bits"]
        try:
            if self.background:
                self.start_background()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        subprocess.run([LAB, "down", "--name", self.name], check=False)
        for sender in self.senders:
            sender.kill()
            sender.wait()

    def has_background(self):
        """Whether what was asked for is there: all senders send."""
        return all(sender.poll() is None for sender in self.senders)

    def start_background(self):
        hosts = json.loads(Path(self.state_file()).read_text())["hosts"]
        spares = [[h for h in hosts if h["leaf"] == leaf][-1] for leaf in
                  range(max(host["leaf"] for host in hosts) + 1)]
        for here, there in zip(spares, spares[1:] + spares[:1]):
            words = [str(Path(__file__).parent / "background.py"), there["address"],
                     str(self.background)]
            self.senders.append(subprocess.Popen(
                [LAB, "exec", "--name", self.name, here["name"], "--", *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def state_file(self):
        """What Tutti reads as the cluster's description: docs/formats/lab_state.md."""
        return f"/run/tutti-lab/{self.name}/lab.json"

    def lose(self, percent):
        """So much of what comes to each host, of UDP."""
        subprocess.run([LAB, "loss", "--name", self.name, f"{percent:g}", "--at", "hosts"],
                       check=True)

    def run_command(self, place, command):
        return [LAB, "run", "--name", self.name, "--ranks-per-host", str(place.per_host),
                "--placement", place.placement, "--order", place.order,
                *(["--spare", str(self.spare)] if self.spare else []),
                "--hosts", str(place.hosts), "--", *command]


def compile_program(mpi):
    root, target = PEERS / mpi, WORK / mpi / "lab_bench"
    target.parent.mkdir(parents=True, exist_ok=True)
    lib = root / "lib"
    made = subprocess.run(
        ["gcc", "-std=gnu11", "-O2", str(ROOT / "bench/lab_bench.c"), "-o", str(target),
         f"-I{root / 'include'}", f"-L{lib}", "-lmpi", f"-Wl,-rpath,{lib}"],
        capture_output=True, text=True, check=False)
    if made.returncode != 0:
        sys.exit(f"bench-lab: cannot compile for {MPIS[mpi]}: {made.stderr.splitlines()[0]}")


class Progress:
    """One line that is written over where there is a terminal."""

    def __init__(self):
        self.terminal = sys.stderr.isatty()

    def show(self, text):
        if self.terminal:
            print(f"\r\033[Kbench-lab: {text}", end="", file=sys.stderr, flush=True)

    def line(self, text):
        start = "\r\033[K" if self.terminal else ""
        print(f"{start}bench-lab: {text}", file=sys.stderr, flush=True)


def environment(column):
    """Fair to all: with far more ranks than cores, who waits gives way (tools/lab sees to it)."""
    found = {k: v for k, v in os.environ.items()
             if not k.startswith(("OMPI_", "PMI", "PMIX_", "PRTE_", "MPIR_", "I_MPI", "HYDRA_"))}
    return {**found, **dict(column.settings)}


@dataclass
class Book:
    times: dict = field(default_factory=dict)    # (place, collective, bytes) -> key -> [ms]
    reports: dict = field(default_factory=dict)  # (place, column key) -> the last report
    failures: list = field(default_factory=list)

    def add(self, place, column, cell):
        where = (place, cell["collective"], cell["bytes"])
        self.times.setdefault(where, {}).setdefault(column.key, []).append(cell["median_ms"])
        if cell["wrong"]:
            self.failures.append(f"{column.title}, {place.text()}: {cell['collective']} of "
                                 f"{cell['bytes']} bytes: {cell['wrong']} wrong words")

    def note_report(self, place, column, report):
        if report.exists():
            self.reports[place, column.key] = json.loads(report.read_text())
            report.unlink()

    def algorithms(self, place, column):
        """What ran on the communicator of all ranks."""
        rows = self.reports.get((place, column.key), {}).get("collectives", [])
        ranks = max((row["ranks"] for row in rows), default=0)
        return [{"collective": row["collective"], "size_class": row.get("size_class"),
                 "calls": row["calls"], "run_by": row["run_by"],
                 "how": row.get("algorithm") or row.get("reason")}
                for row in rows if row["ranks"] == ranks]


def run_column(lab, column, place, cells, chosen, book, told):
    """One launch with all cells; each is counted as soon as it is there."""
    report = WORK / f"report-{os.getpid()}.json"
    cells = [cell for cell in cells if cell[0] in column.collectives]
    words = [str(chosen.seconds), *place.words(), *(f"{name}:{size}" for name, size in cells)]
    command = lab.run_command(
        place, column.command(chosen.tutti, place.hosts * place.per_host, words, report))
    errors = WORK / "errors.log"
    with open(errors, "w", encoding="utf-8") as wrong, \
            subprocess.Popen(["timeout", str(RUN_SECONDS_MAX), *command], env=environment(column),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=wrong,
                             text=True) as child:
        try:
            done = 0
            for line in child.stdout:
                if line.startswith("{"):
                    book.add(place, column, json.loads(line))
                    done += 1
                if done < len(cells):
                    told.show("{}: {} {}".format(column.title, cells[done][0],
                                                 size_text(cells[done][1])))
            status = child.wait()
        except BaseException:
            child.terminate()
            raise
    if status != 0 or done != len(cells):
        lines = [line.strip() for line in errors.read_text(errors="replace").splitlines()
                 if line.strip() and "setpgid" not in line]
        book.failures.append(f"{column.title}, {place.text()}: exit status {status} after {done} "
                             f"of {len(cells)} cells: {lines[0] if lines else 'no message'}")
        told.line(book.failures[-1])
    if not lab.has_background():
        book.failures.append(f"{column.title}, {place.text()}: the background has ended")
        told.line(book.failures[-1])
    book.note_report(place, column, report)


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B" if size else "-"


def ms_text(value):
    return "-" if value is None else f"{value:.2f}" if value < 10 else \
        f"{value:.1f}" if value < 100 else f"{value:.0f}"


def ratio_text(value):
    return "-" if value is None else f"{value:.2f}"


def print_markdown(table, left=1):
    """The first line is the head; so many columns are text."""
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    rule = ["-" * width if i < left else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    for line in [table[0], rule, *table[1:]]:
        print("| " + " | ".join(text.ljust(width) if i < left else text.rjust(width)
                                for i, (text, width) in enumerate(zip(line, widths))) + " |")


def multicast_text(row):
    """A communicator's line in the report: its rate, and what was lost and repaired."""
    if row["state"] != "on":
        reason = f": {row['reason']}" if "reason" in row else ""
        return f"multicast {row['state']} on {row['communicator']}{reason}"
    quick = row["repaired_in_10_ms"] / row["repaired"] if row["repaired"] else 1
    return (f"multicast on {row['communicator']}: {row['bytes_per_s'] * 8e-6:.4g} Mbit/s, "
            f"{row['data_packets']} packets, {row['losses']} losses, {row['naks']} NAKs, "
            f"{row['repairs_to_one']} repairs to one, {row['repairs_to_all']} to all; "
            f"{100 * quick:.2f} % within 10 ms, slowest {1e3 * row['repair_s_max']:.1f} ms")


def print_algorithms(book, columns, place):
    """What made the figures of Tutti's columns, and what their multicast met on the way."""
    for column in columns:
        if not column.tutti:
            continue
        rows = book.algorithms(place, column)
        mine = [row for row in rows if row["run_by"] == "tutti"]
        calls = sum(row["calls"] for row in mine)
        if not rows:
            print(f"\n{column.title}: no report, since no run came to its end")
            continue
        print(f"\n{column.title}: {calls} of {sum(row['calls'] for row in rows)} calls by Tutti"
              + ("" if calls else ": these columns are your MPI's own"))
        for row in mine:
            print(f"  {row['collective']} {row['size_class']}: {row['how']}")
        for row in book.reports[place, column.key].get("multicast", []):
            print(f"  {multicast_text(row)}")
