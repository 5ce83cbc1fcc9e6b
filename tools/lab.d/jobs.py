# SPDX-License-Identifier: BSD-3-Clause
"""Commands inside a lab: one on a host, or a launcher with all it starts on the other hosts.

Every launcher is told by its own variables, never by options, where its hosts are and how to reach
them: so any command may stand in front of it, and what the user writes himself comes first.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import namespaces
from namespaces import LabError

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "build/peers"
AGENT = Path(__file__).resolve().parent / "agent.py"
REQUEST_BYTES_MAX = 200_000
MARK = "LAB_RUN_ID"
# Whatever a launcher leaves has this long to end by itself.
PATIENCE_SECONDS = 2
LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra")
MPIS = ("openmpi", "mpich", "impi", "debian-openmpi", "debian-mpich")
# Variables that a login on another host has; nothing else of ours reaches it, as with ssh.
LOGIN = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ")


def order_name(text):
    """An argument: leaves, across or random:SEED."""
    if text in ("leaves", "across") or re.fullmatch(r"random:[0-9]{1,9}", text):
        return text
    raise argparse.ArgumentTypeError(f"'{text}': leaves, across, or random:SEED")


def order_hosts(lab, order):
    """In turn: leaf by leaf. Across: the first of every leaf, then the second of every leaf.
    Random:SEED: the same for the same seed."""
    if order == "leaves":
        return list(lab.hosts)
    if order.startswith("random:"):
        hosts = list(lab.hosts)
        random.Random(int(order.removeprefix("random:"))).shuffle(hosts)
        return hosts
    leaves = [[h for h in lab.hosts if h["leaf"] == leaf] for leaf in range(len(lab.leaves))]
    longest = max(len(leaf) for leaf in leaves)
    return [leaf[i] for i in range(longest) for leaf in leaves if i < len(leaf)]


def without_spares(lab, hosts, spare):
    """Without the last `spare` hosts of each leaf."""
    leaves = [[h["name"] for h in lab.hosts if h["leaf"] == leaf] for leaf in range(len(lab.leaves))]
    spares = {name for leaf in leaves for name in leaf[max(0, len(leaf) - spare):]}
    return [host for host in hosts if host["name"] not in spares]


def choose_hosts(lab, order, wanted, spare=0):
    """`wanted` is nothing, a number, or names; names may be spare ones."""
    hosts = without_spares(lab, order_hosts(lab, order), spare)
    if not hosts:
        raise LabError(f"--spare {spare}: that leaves no host of '{lab.name}'")
    if wanted is None:
        return hosts
    if wanted.isdigit():
        if not 1 <= int(wanted) <= len(hosts):
            raise LabError(f"--hosts {wanted}: '{lab.name}' has {len(hosts)} hosts")
        return hosts[:int(wanted)]
    by_name = {host["name"]: host for host in lab.hosts}
    for name in wanted.split(","):
        if name not in by_name:
            raise LabError(f"--hosts: '{lab.name}' has no host '{name}'")
    return [by_name[name] for name in wanted.split(",")]


def launcher_in(command, path):
    """The launcher's file, wherever in the command it stands; nothing where there is none."""
    for word in command:
        base = os.path.basename(word)
        if base in LAUNCHERS or base.startswith(("mpirun.", "mpiexec.")):
            return shutil.which(word, path=path)
    return None


def is_intel(folder):
    return (folder / "impi_info").exists()


def folder_of_mpi(name, work):
    """The folder with the mpirun of this MPI, to stand first in PATH."""
    if not name.startswith("debian-"):
        folder = PEERS / name / "bin"
        if not (folder / "mpirun").exists():
            raise LabError(f"--mpi {name}: not installed; type tools/peers {name}")
        return folder
    suffix = name.removeprefix("debian-")
    folder = work / "bin"
    folder.mkdir()
    for word in ("mpirun", "mpiexec"):
        target = shutil.which(f"{word}.{suffix}")
        if target is None:
            raise LabError(f"--mpi {name}: {word}.{suffix} is not installed")
        # No link: Hydra looks for its helpers beside the name by which it was called.
        (folder / word).write_text(f'#!/bin/sh\nexec {target} "$@"\n')
        (folder / word).chmod(0o755)
    return folder


class Job:
    """One `tools/lab run`: its files, its variables, its place on the hosts."""

    def __init__(self, lab, hosts, ranks_per_host, placement):
        self.lab, self.hosts = lab, hosts
        self.ranks_per_host, self.placement = ranks_per_host, placement
        self.id = uuid.uuid4().hex[:12]
        self.work = lab.folder / f"run-{self.id}"
        self.socket = self.work / "agent"
        self.ssh = self.work / "ssh"

    def write_files(self):
        self.work.mkdir(mode=0o755)
        self.ssh.write_text(f'#!/bin/sh\nexec {sys.executable} -IS {AGENT} {self.socket} "$@"\n')
        self.ssh.chmod(0o755)
        each = self.ranks_per_host
        names = [host["name"] for host in self.hosts]
        (self.work / "open-mpi").write_text("".join(f"{n} slots={each}\n" for n in names))
        # Hydra fills a line's processes before it goes on, and begins again at the end.
        line = each if self.placement == "block" else 1
        (self.work / "hydra").write_text("".join(f"{n}:{line}\n" for n in names))

    def open_mpi(self):
        by = "slot" if self.placement == "block" else "node"
        hosts = str(self.work / "open-mpi")
        # What is left is TCP, and shared memory, whose name differs between 4 and 5.
        common = {"btl": "^openib,usnic,ofi,uct,smcuda,ugni", "pml": "ob1",
                  "btl_tcp_if_include": "eth0", "mpi_yield_when_idle": "1",
                  # Open MPI 4's own names, which its successor hands on without a word.
                  "plm_rsh_agent": str(self.ssh), "oob_tcp_if_include": "eth0",
                  "orte_default_hostfile": hosts, "rmaps_base_mapping_policy": by,
                  "hwloc_base_binding_policy": "none"}
        runtime = {"plm_ssh_agent": str(self.ssh), "prte_if_include": "eth0",
                   "prte_default_hostfile": hosts, "rmaps_default_mapping_policy": by,
                   "hwloc_default_binding_policy": "none"}
        found = {f"OMPI_MCA_{name}": value for name, value in common.items()}
        found.update({f"PRTE_MCA_{name}": value for name, value in runtime.items()})
        for who in ("OMPI", "PRTE"):
            found[f"{who}_ALLOW_RUN_AS_ROOT"] = found[f"{who}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        return found

    def hydra(self):
        hosts = str(self.work / "hydra")
        per_host = str(self.ranks_per_host if self.placement == "block" else 1)
        fabrics = "shm:ofi" if self.ranks_per_host > 1 else "ofi"
        return {
            "HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(self.ssh),
            "HYDRA_IFACE": "eth0", "HYDRA_HOST_FILE": hosts,
            "I_MPI_HYDRA_BOOTSTRAP": "ssh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": str(self.ssh),
            "I_MPI_HYDRA_IFACE": "eth0", "I_MPI_HYDRA_HOST_FILE": hosts, "I_MPI_PERHOST": per_host,
            "I_MPI_FABRICS": fabrics, "I_MPI_PIN": "0", "I_MPI_THREAD_YIELD": "3",
            "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0",
            "UCX_TLS": "tcp,self,sm", "UCX_NET_DEVICES": "eth0"}

    def environment(self, command, mpi):
        given = dict(os.environ)
        if mpi:
            given["PATH"] = f"{folder_of_mpi(mpi, self.work)}:{given.get('PATH', os.defpath)}"
        launcher = launcher_in(command, given.get("PATH", os.defpath))
        own = {**self.open_mpi(), **self.hydra()}
        folder = Path(launcher).parent if launcher else None
        if folder and is_intel(folder):
            lib = str(folder.parent / "lib")
            given["PATH"] = f"{folder}:{given.get('PATH', os.defpath)}"
            given["LD_LIBRARY_PATH"] = ":".join(
                part for part in (lib, given.get("LD_LIBRARY_PATH")) if part)
            own["FI_PROVIDER_PATH"] = lib
        # What the user has set himself holds, but for where a host keeps its files.
        return {**own, **given, "TMPDIR": str(self.lab.temporary()), MARK: self.id}

    def login(self, environment):
        """What a command from another host finds."""
        return {name: environment[name] for name in (*LOGIN, "PATH", "TMPDIR", MARK)
                if name in environment}


class Sshd:
    """Serves the agents of one run: each connection is one command on one host."""

    def __init__(self, job, environment):
        self.job, self.environment = job, environment
        self.line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.line.bind(str(job.socket))
        self.line.listen(len(job.hosts) + 1)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.line.accept()
            except OSError:
                return  # The run is over.
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        files = []
        try:
            request, files, _, _ = socket.recv_fds(peer, REQUEST_BYTES_MAX, 3)
            status = self.start(json.loads(request), files)
        except (LabError, OSError, ValueError) as error:
            print(f"lab: {error}", file=sys.stderr)
            status = 255
        finally:
            for file in files:
                os.close(file)
        try:
            peer.send(str(status).encode())
        except OSError:
            pass  # The launcher ended its agent; the command has ended too.
        peer.close()

    def start(self, request, files):
        pid = self.job.lab.pid(request["host"])
        child = namespaces.spawn(pid, ["/bin/sh", "-c", request["command"]],
                                 directory=self.environment.get("HOME", "/"),
                                 env=self.environment, stdin=files[0], stdout=files[1],
                                 stderr=files[2], start_new_session=True)
        return shell_status(child.wait())

    def close(self):
        self.line.close()


def shell_status(code):
    return 128 - code if code < 0 else code


def wait_with_signals(child):
    """The status of a child that gets the signals meant for us."""
    def hand_on(number, _):
        if child.poll() is None:
            child.send_signal(number)
    # Ctrl-C reaches the child by itself, since it is in our process group.
    signal.signal(signal.SIGINT, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, hand_on)
    return shell_status(child.wait())


def marked(job):
    """Processes of this run that are still there."""
    word = f"{MARK}={job.id}".encode()
    found = []
    for host in job.lab.hosts:
        for pid in namespaces.processes_of(host["pid"]):
            try:
                if word in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found.append(pid)
            except OSError:
                continue
    return found


def clear_away(job):
    """Ends what the launcher left, after a moment in which it may end by itself; who was still there
    is gone when this returns, as far as a moment is enough."""
    seen = set()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (left := marked(job)) and time.monotonic() < deadline:
        seen.update(left)
        time.sleep(0.02)
    seen.update(left)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if left:
        print(f"lab: ended {len(left)} processes that outlived the run", file=sys.stderr)
    # One that is ending has no environment any more, but counts as a process of its host.
    deadline = time.monotonic() + PATIENCE_SECONDS
    while seen & present(job) and time.monotonic() < deadline:
        time.sleep(0.02)


def present(job):
    return {pid for host in job.lab.hosts for pid in namespaces.processes_of(host["pid"])}


def run(lab, command, hosts, ranks_per_host, placement, mpi):
    """Runs a launcher on the first of `hosts`; returns its exit status."""
    job = Job(lab, hosts, ranks_per_host, placement)
    job.write_files()
    server = None
    try:
        environment = job.environment(command, mpi)
        server = Sshd(job, job.login(environment))
        child = start(lab.pid(hosts[0]["name"]), command, environment)
        try:
            return wait_with_signals(child)
        finally:
            clear_away(job)
    finally:
        if server:
            server.close()
        shutil.rmtree(job.work, ignore_errors=True)


def start(pid, command, environment):
    file = shutil.which(command[0], path=environment.get("PATH"))
    if file is None:
        raise LabError(f"{command[0]}: no such program")
    try:
        return namespaces.spawn(pid, command, directory=os.getcwd(), env=environment,
                                executable=os.path.abspath(file))
    except (OSError, subprocess.SubprocessError) as error:
        raise LabError(f"cannot start {command[0]}: {error}") from None


def execute(lab, host, command):
    environment = dict(os.environ, TMPDIR=str(lab.temporary()))
    return wait_with_signals(start(lab.pid(host), command, environment))
