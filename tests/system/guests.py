# SPDX-License-Identifier: BSD-3-Clause
"""What tests do with tools/vmlab: a virtual machine with hosts and their RDMA devices."""
import contextlib
import pathlib
import subprocess
import time
import uuid

import harness

VMLAB = harness.ROOT / "tools" / "vmlab"
GUESTS = harness.ROOT / "build" / "vmlab" / "guests"
HOSTS = 8 if harness.LONG else 4
TIMEOUT_S = 1200 if harness.LONG else 400


def vmlab(*words, **options):
    return subprocess.run([str(VMLAB), *map(str, words)], capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=False, stdin=subprocess.DEVNULL,
                          env=harness.clean_environment(), cwd=harness.ROOT, **options)


def emulators(name):
    """Processes of a guest: the keeper and qemu name its folder or itself."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if f"vmlab-{name}" in words and harness.alive(int(entry.name)):
            found.append(int(entry.name))
    return found


def on(guest, *command, options=()):
    return vmlab("exec", "--name", guest, *options, "--", *command)


def well(done):
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@contextlib.contextmanager
def booted(hosts, writable):
    """A guest, by its name."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    try:
        done = vmlab("start", "--hosts", hosts, "--name", name, "--writable", writable)
        assert (done.returncode, done.stdout) == (0, f"{name}: {hosts} hosts\n"), done.stderr
        yield name
    finally:
        stopped = vmlab("stop", "--name", name)
        end = time.monotonic() + 20  # where the machine is loaded, processes take their time to end
        while emulators(name) and time.monotonic() < end:
            time.sleep(0.1)
        assert not (GUESTS / name).exists() and not emulators(name), \
            f"{stopped} {emulators(name)} {list(GUESTS.glob(f'{name}/*'))}"
