# SPDX-License-Identifier: BSD-3-Clause
"""Stands between the tool and its guest: keeper.py FOLDER LOCK LIFELINE COMMAND...

The guest ends with its keeper, however that ends, since the kernel sees to it. The keeper ends it,
and takes the folder away, when it is told to (SIGTERM) or when the tool has gone: then the
lifeline, a pipe whose other end the tool holds, is closed. A byte on it means that the guest is to
be kept.
"""
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None)


def end_with_parent(parent):
    """Runs in the child, before it becomes the guest."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # which died before
        os._exit(1)


class Told(Exception):
    """By a signal."""


def told(*_):
    raise Told


def watch(guest, lifeline, note):
    """Returns whether the folder is still wanted: a kept guest ended by itself, which somebody may
    want to know of."""
    ended = os.pidfd_open(guest.pid)
    waiting = [ended, lifeline]
    while True:
        ready, _, _ = select.select(waiting, [], [])
        if lifeline in ready:
            if not os.read(lifeline, 1):
                return False
            waiting.remove(lifeline)
        if ended in ready:
            note.touch()
            if lifeline not in waiting:
                return True
            # The tool is there; it looks at what is left and lets go.
            waiting.remove(ended)


def main():
    folder, lock, lifeline = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    os.set_inheritable(lock, False)
    signal.signal(signal.SIGTERM, told)
    keeper, wanted = os.getpid(), False
    guest = None
    try:
        (folder / "keeper").write_text(f"{keeper}\n")
        with open(folder / "console", "wb") as console:
            guest = subprocess.Popen(sys.argv[4:], cwd=folder, stdin=subprocess.DEVNULL,
                                     stdout=console, stderr=subprocess.STDOUT,
                                     preexec_fn=lambda: end_with_parent(keeper))
        wanted = watch(guest, lifeline, folder / "ended")
    except Told:
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if guest:
            guest.kill()
            guest.wait()
        if not wanted:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
