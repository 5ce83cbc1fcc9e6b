# SPDX-License-Identifier: BSD-3-Clause
"""Processes that tools/test starts: how they end, and builds beside a stage."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

# Preset and target of what a stage builds.
BUILDS = {"tsan": ("tsan", "tsan_tests"), "asan-ubsan": ("asan-ubsan", "all_tests"),
          "fuzz": ("asan-ubsan", "fuzz_targets")}


def lives(group):
    """Whether a process of the group has not ended."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of = stat.read_text().rsplit(")", 1)[1].split()[:3]
        except OSError:
            continue
        if int(of) == group and state not in "ZX":
            return True
    return False


def stop(child):
    """Ends the command and everything that it started."""
    for number, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            return
        end = time.monotonic() + patience
        while time.monotonic() < end and (child.poll() is None or lives(child.pid)):
            time.sleep(0.05)


@contextlib.contextmanager
def running(command, **options):
    """A process that leads a session of its own, and is stopped where it has not ended in this context.
    SIGTERM that comes while it is being started waits until it can be stopped."""
    came, former = [], None
    if threading.current_thread() is threading.main_thread():  # no other one runs handlers
        former = signal.signal(signal.SIGTERM, lambda *_: came.append(True))

    def wait_no_more():
        if former is not None:
            signal.signal(signal.SIGTERM, former)
        if came:
            os.kill(os.getpid(), signal.SIGTERM)

    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                                 start_new_session=True, **options)
    except OSError:
        wait_no_more()
        raise
    try:
        wait_no_more()
        yield child
    finally:
        if child.poll() is None:
            stop(child)


class Ahead:
    """Builds for later stages, beside one that leaves some two thirds of the processors' time. They
    take what nobody else wants, and end with that stage: what is not done by then, or fails, the
    stages themselves build, and tell."""

    def __init__(self, folder, log, jobs, has_clang):
        self.folder, self.log, self.jobs, self.has_clang = folder, log, jobs, has_clang
        self.child = None

    def commands(self, stages):
        """None where "system" is not among the stages, which it is that leaves the time."""
        builds = [BUILDS[name] for name in stages if "system" in stages and name in BUILDS]
        return [f"cmake --preset {preset} && cmake --build --preset {preset} -j {self.jobs} "
                f"--target {target}" for preset, target in builds
                if self.has_clang or preset == "tsan"]

    def start(self, stages):
        lines = self.commands(stages)
        if not lines:
            return
        # Where autogroup is on, a session's priorities hold within it; it gets the least share.
        script = "; ".join(["echo 19 2>/dev/null >/proc/self/autogroup || true", *lines])
        if not shutil.which("chrt"):
            return
        with open(self.log, "wb") as out:
            self.child = subprocess.Popen(
                ["chrt", "--idle", "0", "sh", "-c", script], cwd=self.folder, stdout=out,
                stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True)

    def stop(self):
        if self.child and self.child.poll() is None:
            stop(self.child)
        self.child = None
