# SPDX-License-Identifier: BSD-3-Clause
"""Runs of smpirun: an MPI program under a selector of SMPI, and a replay of Tutti's schedules."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build/bench-scale"
SELECTORS = ["mpich", "ompi", "mvapich2", "impi"]
# Of these SMPI 3.32 has one algorithm, and no selector chooses.
UNSELECTED = ["scan", "exscan", "gatherv", "scatterv", "alltoallw"]
# One link, and the processor's part of a message at its sender and at its receiver, alike for all.
RATE = "100Gbit"
LINK_NS = 250
OVERHEAD_NS = 300
# As plan/price/cluster_parameters.h has it, and so the traces: 4 GB/s.
FOLD_NS_PER_KIB = 256
# The same, for Tutti to choose by (docs/formats/parameters.md).
PARAMETERS = f"""[parameters]
message = "{OVERHEAD_NS}ns"
rate = "{RATE}"
latency = "{2 * LINK_NS}ns"
eager = "64K"
flag = "100ns"
copy = "64Gbit"
fold = "32Gbit"
"""
# Latencies and rates as the platform says them: SMPI's own factors are those of TCP over gigabit
# Ethernet. No bytes on the way back, and no time but what is simulated.
SETTINGS = ["smpi/lat-factor:0:1", "smpi/bw-factor:0:1", "network/crosstraffic:no",
            f"smpi/os:0:{OVERHEAD_NS}e-9:0", f"smpi/ois:0:{OVERHEAD_NS}e-9:0",
            f"smpi/or:0:{OVERHEAD_NS}e-9:0", "smpi/wtime:0", "smpi/cpu-threshold:-1",
            "smpi/privatization:no", "smpi/async-small-thresh:65536",
            # One block a buffer, lest a thousand ranks need more mappings than Linux gives.
            "smpi/shared-malloc-blocksize:67108864"]


def missing():
    """What keeps simulations from running here, or None."""
    for tool in ("smpicc", "smpirun"):
        if not shutil.which(tool):
            return f"{tool} is not there (Debian: libsimgrid-dev)"
    return None


def compile_program():
    WORK.mkdir(parents=True, exist_ok=True)
    program = WORK / "scale_bench"
    subprocess.run(["smpicc", "-O2", "-std=gnu11", str(ROOT / "bench/scale_bench.c"), "-o",
                    str(program), "-lm"], check=True)
    return program


RUNNING = set()
STOPPED = threading.Event()


def stop():
    """Ends all simulations that other threads run; none begins any more."""
    STOPPED.set()
    for child in list(RUNNING):
        kill(child)


def kill(child):
    """All of its group; it may have ended by itself."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def run(command, seconds, folder=None):
    """Exit status (None: it took too long) and output; nothing of it stays behind."""
    if STOPPED.is_set():
        return None, ""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("TUTTI")}
    try:
        child = subprocess.Popen([str(word) for word in command], text=True, cwd=folder,
                                 env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 start_new_session=True)
    except OSError as error:
        return 127, str(error)
    with child:
        RUNNING.add(child.pid)
        # Where stop() came before it was among these.
        if STOPPED.is_set():
            kill(child.pid)
        try:
            output, _ = child.communicate(timeout=seconds)
            return child.returncode, output
        except subprocess.TimeoutExpired:
            kill(child.pid)
            output, _ = child.communicate()
            return None, output
        finally:
            RUNNING.discard(child.pid)


def smpirun(folder, ranks, words):
    return ["smpirun", "-np", ranks, "-platform", folder / "platform.xml", "-hostfile",
            folder / "hostfile", *[f"--cfg={setting}" for setting in SETTINGS],
            "--log=root.thres:warning", *words]


def last_line(output):
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no output"


def measure_selector(program, folder, ranks, selector, cells, seconds):
    """Seconds by cell, and why not for each of the others. All in one run of the program: for a
    thousand ranks finding out who shares a host takes SMPI longer than most calls. Behind a cell
    that crashes it goes on in another run; where time is over it does not."""
    found, lost = {}, {}
    end = time.monotonic() + seconds
    left = list(cells)
    while left:
        words = [f"{collective}:{size}" for collective, size in left]
        status, output = run(smpirun(folder, ranks, [f"--cfg=smpi/coll-selector:{selector}",
                                                     program, FOLD_NS_PER_KIB, *words]),
                             max(end - time.monotonic(), 1))
        for line in re.findall(r"^([a-z_]+) ([0-9]+) ([0-9.]+)$", output, re.MULTILINE):
            found[line[0], int(line[1])] = float(line[2])
        left = [cell for cell in left if cell not in found]
        if status is None or time.monotonic() > end:
            lost.update((cell, f"more than {seconds:g} s") for cell in left)
            break
        if left:
            lost[left.pop(0)] = last_line(output)
    return found, lost


def replay(folder, ranks, seconds):
    """Seconds of virtual time, or why none."""
    command = smpirun(folder, ranks, ["--log=smpi_replay.thres:info", "--log=root.fmt:%m:%.9r%n",
                                      "-replay", folder / "ranks.txt"])
    status, output = run(command, seconds, folder)
    found = re.search(r"^Simulation time [0-9.]+:([0-9.]+)$", output, re.MULTILINE)
    if status == 0 and found:
        return float(found[1]), None
    return None, (f"more than {seconds:g} s" if status is None else last_line(output))


def write_traces(chosen, place, cell, files, folder):
    """What Tutti runs, or None and why it says nothing. `files`: with fabric.toml and
    parameters.toml."""
    collective, size = cell
    command = [chosen.tutti, "explain", collective, "--ranks", place.ranks, "--fabric",
               files / "fabric.toml", "--hosts", place.hosts, "--placement",
               place.placement_word(), "--free-copies", "--smpi", folder]
    command += [] if collective == "barrier" else ["--bytes", size]
    command += [] if chosen.rules else ["--parameters", files / "parameters.toml"]
    status, output = run(command, chosen.seconds)
    found = re.search(r"^runs:  (.*)$", output, re.MULTILINE)
    if status == 0 and found:
        return found[1], None
    return None, (f"more than {chosen.seconds:g} s" if status is None else last_line(output))
