# SPDX-License-Identifier: BSD-3-Clause
"""Hosts as Linux namespaces: makes one, starts programs in it, ends it.

A host is the set of namespaces of one small process, its process 1: network, mounts, host name,
System V and POSIX memory, process numbers. When that process ends, the kernel ends every other
process of the host and takes the namespaces away, so nothing has to be tidied up by name.
"""
import ctypes
import os
import signal
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_MOVE = 0x2, 0x4, 0x8, 0x1000, 0x2000
MS_REC, MS_SLAVE = 0x4000, 0x80000
ALL = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET
# In the order in which they are entered: the file of process numbers is found by the old mounts.
KINDS = {"net": CLONE_NEWNET, "uts": CLONE_NEWUTS, "ipc": CLONE_NEWIPC, "mnt": CLONE_NEWNS}
END_SECONDS_MAX = 10

libc = ctypes.CDLL(None, use_errno=True)
spawning = threading.Lock()


class LabError(Exception):
    """One line that says what is wrong and what to do."""


def call(name, *arguments):
    """A system call by its C function; OSError where it fails."""
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def mount(source, target, kind, flags, options=None):
    def text(word):
        return None if word is None else str(word).encode()
    try:
        call("mount", text(source), text(target), text(kind), ctypes.c_ulong(flags), text(options))
    except OSError as error:
        raise OSError(error.errno, f"mount on {target}: {os.strerror(error.errno)}") from None


def started(pid):
    """When a process began, in clock ticks since boot: with its number, it names it for good."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])
    except (OSError, IndexError):
        return None


def alive(pid, start):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return False
    return state[0] not in "ZX" and int(state[19]) == start


@contextmanager
def undisturbed():
    """Ctrl-C and the like have to wait."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def make_private_system(directory, hosts_file):
    """What a host does not share with the others although it shares their files."""
    mount(None, "/", None, MS_REC | MS_SLAVE)
    own = Path(directory)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    # A fresh /sys shows this host's network devices; the control groups move over to it, since
    # programs read their limits there.
    groups = os.path.ismount("/sys/fs/cgroup")
    if groups:
        mount("/sys/fs/cgroup", own, None, MS_BIND | MS_REC)
    mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    if groups:
        mount(own, "/sys/fs/cgroup", None, MS_MOVE)
    mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    mount("tmpfs", own, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    mount(hosts_file, "/etc/hosts", None, MS_BIND)


def become_process_one(lab, name, record, directory, hosts_file):
    """Runs as process 1 of the new host. Does not return."""
    # /proc is still the one of the machine, so this is the number by which `down` finds us.
    pid = int(os.readlink("/proc/self"))
    record.write_text(f"{pid} {started(pid)}\n")
    os.setsid()
    socket.sethostname(name)
    make_private_system(directory, hosts_file)
    nothing = os.open("/dev/null", os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    os.chdir("/")
    # Orphans of the host are handed to this process, which does not wait for them: with the signal
    # ignored the kernel clears them away. The setting survives exec.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    os.execv("/bin/sleep", [f"tutti-lab:{lab}:{name}", "infinity"])


def make_host(lab, name, record, directory, hosts_file):
    """Starts a host; returns (pid, start) of its process 1.

    Two forks, since the one that asks for new process numbers does not get one itself. What goes
    wrong comes back over a pipe, which is closed by exec where nothing does.
    """
    # A host that is begun is noted in any case: whoever interrupts us wants it taken away.
    with undisturbed():
        reader, writer = os.pipe()
        middle = os.fork()
        if middle == 0:
            try:
                os.close(reader)
                call("unshare", ALL)
                if os.fork() == 0:
                    become_process_one(lab, name, record, directory, hosts_file)
            except BaseException as error:  # pylint: disable=broad-except
                os.write(writer, str(error).encode())
                os._exit(1)
            os._exit(0)
        os.close(writer)
        os.waitpid(middle, 0)
        with os.fdopen(reader, "rb") as pipe:
            wrong = pipe.read().decode(errors="replace")
        if wrong:
            raise LabError(f"cannot make host {name}: {wrong}")
        pid, start = record.read_text().split()
        return int(pid), int(start)


def end_hosts(processes):
    """Ends these process ones, given as (pid, start), and waits until they are gone."""
    for pid, start in processes:
        if alive(pid, start):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + END_SECONDS_MAX
    for pid, start in processes:
        while alive(pid, start):
            if time.monotonic() > deadline:
                raise LabError(f"process {pid} does not end")
            time.sleep(0.005)


def spawn(pid, argv, directory=None, only_network=False, **options):
    """subprocess.Popen inside the host of process `pid`; the child is a direct one of ours.

    Process numbers are entered by this thread, for its next child, and the rest by the child.
    """
    kinds = {"net": CLONE_NEWNET} if only_network else KINDS
    files = {}
    try:
        for kind in [*kinds, "pid"]:
            files[kind] = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)

        def enter():
            for kind, flag in kinds.items():
                call("setns", files[kind], flag)
            os.chdir(directory or "/")

        with spawning:
            own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
            try:
                if not only_network:
                    call("setns", files["pid"], CLONE_NEWPID)
                return subprocess.Popen(argv, preexec_fn=enter, **options)
            finally:
                call("setns", own, CLONE_NEWPID)
                os.close(own)
    finally:
        for file in files.values():
            os.close(file)


def feed(pid, tool, lines):
    """Gives a batch of lines to `ip` or `tc` in the network of process `pid`."""
    done = spawn(pid, [tool, "-batch", "-"], only_network=True, stdin=subprocess.PIPE, text=True,
                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, wrong = done.communicate("\n".join(lines) + "\n")
    if done.returncode != 0:
        raise LabError(f"{tool}: {first_line(wrong)}")


def first_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "no message"


def processes_of(pid):
    """Numbers, as the machine has them, of all processes of a host but its process 1."""
    try:
        home = os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return []
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != pid:
            try:
                if os.readlink(f"/proc/{entry}/ns/pid") == home:
                    found.append(int(entry))
            except OSError:
                continue
    return found
