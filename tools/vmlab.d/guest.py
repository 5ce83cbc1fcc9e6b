# SPDX-License-Identifier: BSD-3-Clause
"""Guests: starts one, gives it orders, ends it.

A guest's folder, build/vmlab/guests/NAME, is locked by its keeper as long as that lives; a folder
that nobody has locked is what a kill left, and the next one who comes clears it away. Orders are
files in the folder's `share`, which the guest sees; that there is one is said through `door`.
"""
import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path

import kernel
from kernel import VmError

GUESTS = kernel.PLACE / "guests"
KEEPER = Path(__file__).resolve().parent / "keeper.py"
UP_SECONDS_MAX = 300  # a busy machine takes its time; an idle one needs 10 s
END_SECONDS_MAX = 20
LOOK_SECONDS = 0.03
DEVICE_SETTING = "TUTTI_VERBS_DEVICE"  # of Tutti, NAME:PORT
# What a command finds set unless it is set already: MPIs of one host, whose ranks talk over TCP as
# if they were on several, and give way to each other.
FOR_MPI = {
    **{f"OMPI_MCA_{name}": value for name, value in {
        "btl": "self,tcp", "pml": "ob1", "btl_tcp_if_include": "lo", "oob_tcp_if_include": "lo",
        "mpi_yield_when_idle": "1", "hwloc_base_binding_policy": "none",
        "rmaps_base_oversubscribe": "1"}.items()},
    # PRRTE takes no loopback.
    "PRTE_MCA_prte_if_include": "e0", "PRTE_MCA_hwloc_default_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    **{f"{who}_ALLOW_RUN_AS_ROOT{what}": "1" for who in ("OMPI", "PRTE")
       for what in ("", "_CONFIRM")},
    "MPIR_CVAR_NOLOCAL": "1"}


def take(folder):
    """The lock of a folder, as a file; nothing where another one has it."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file
    except BlockingIOError:
        os.close(file)
        return None


@contextmanager
def alone():
    """One at a time makes folders and clears them away."""
    GUESTS.mkdir(parents=True, exist_ok=True)
    file = os.open(GUESTS, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def lives(folder):
    try:
        file = take(folder)
    except FileNotFoundError:
        return False
    if file is None:
        return True
    os.close(file)
    return False


def clear(but=None):
    """What kills have left. A guest that was kept and ended by itself waits for `stop`."""
    for folder in GUESTS.iterdir():
        if folder.name != but and not (folder / "kept").exists() and not lives(folder):
            shutil.rmtree(folder, ignore_errors=True)


def names():
    with alone():
        clear()
        return sorted(folder.name for folder in GUESTS.iterdir())


def last_words(folder):
    with suppress(OSError):
        return (folder / "share/failed").read_text().strip()
    lines = []
    with suppress(OSError):
        lines = (folder / "console").read_text(errors="replace").splitlines()
    lines = [line.strip() for line in lines if line.strip()]
    return lines[-1] if lines else "it said nothing"


def settings_text(plan):
    """What the guest's scripts know, as shell variables."""
    name = kernel.release()
    return "".join(f"{key}={value}\n" for key, value in {
        "hosts": plan["hosts"], "mtu": plan["mtu"], "loss": f"{plan['loss']:g}",
        "release": name, "modules": shlex.quote(str(kernel.KERNEL / "lib/modules" / name)),
        "guest": shlex.quote(str(kernel.GUEST)),
        "writable": "(" + " ".join(shlex.quote(str(w)) for w in plan["writable"]) + ")"}.items())


def shared(tag, path, is_read_only=False):
    """A folder of the machine under this tag; a comma in its name is written twice for qemu."""
    path = str(path).replace(",", ",,")
    how = ",readonly=on,multidevs=remap" if is_read_only else ""
    return ["-fsdev", f"local,id={tag},path={path},security_model=none{how}",
            "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]


def machine(plan, folder):
    """The command of the emulator, which starts in the guest's folder."""
    found = [kernel.find("qemu-system-x86_64"), "-accel", "tcg,thread=multi",
             # Five levels of page tables only make emulation slower.
             "-cpu", "max,la57=off", "-machine", "q35", "-smp", str(plan["cpus"]),
             "-m", str(plan["memory"]), "-nodefaults",
             "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot",
             "-name", f"vmlab-{plan['name']}", "-kernel", str(kernel.KERNEL / "vmlinux"),
             "-initrd", "first-root", "-append",
             # The kernel would mistrust an emulated clock, and go on with a slower one; and it gives
             # up where no tick comes within some milliseconds, as on a machine that is busy.
             "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable no_timer_check",
             "-device", "virtio-serial-pci", "-chardev", "pipe,id=door,path=door",
             "-device", "virtserialport,chardev=door,name=door",
             *shared("machine", "/", is_read_only=True), *shared("share", folder / "share")]
    for index, path in enumerate(plan["writable"]):
        found += shared(f"writable{index}", path)
    return found


class Guest:
    """One that is up. The lifeline is ours as long as the guest is to end with us."""

    def __init__(self, name, lifeline=None, keeper=None):
        self.name, self.folder = name, GUESTS / name
        self.lifeline, self.keeper = lifeline, keeper

    def gone(self):
        return VmError(f"guest '{self.name}' has ended: {last_words(self.folder)}")

    def has_ended(self):
        """Of one that was up: qemu alone reads the door, and without it nobody can open that."""
        try:
            os.close(os.open(self.folder / "door", os.O_WRONLY | os.O_NONBLOCK))
            return False
        except OSError:
            return True

    def wait_until_up(self):
        deadline = time.monotonic() + UP_SECONDS_MAX
        while not (self.folder / "share/ready").exists():
            if (self.folder / "ended").exists() or self.keeper.poll() is not None:
                raise self.gone()
            if time.monotonic() > deadline:
                raise VmError(f"the guest is not up after {UP_SECONDS_MAX} s: "
                              f"{last_words(self.folder)}")
            time.sleep(LOOK_SECONDS)

    def keep(self):
        (self.folder / "kept").touch()
        os.write(self.lifeline, b"k")

    def let_go(self):
        """The guest ends, and its folder goes."""
        os.close(self.lifeline)
        self.keeper.wait()

    def say(self, word, order):
        try:
            door = os.open(self.folder / "door", os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            raise self.gone() from None
        os.write(door, f"{word} {order}\n".encode())
        os.close(door)

    def execute(self, command, seconds):
        """Runs a command there and passes on what it prints; returns its exit status, or 124 where
        it is not done by then."""
        order = f"order-{uuid.uuid4().hex[:12]}"
        place = self.folder / "share/orders" / order
        place.mkdir()
        try:
            (place / "script").write_text(script(command))
            for stream in ("out", "err"):
                (place / stream).touch()
            self.say("run", order)
            try:
                return self.follow(place, seconds)
            except BaseException:
                with suppress(VmError):
                    self.say("end", order)
                raise
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def follow(self, place, seconds):
        deadline, is_late = time.monotonic() + seconds, False
        with open(place / "out", "rb") as out, open(place / "err", "rb") as err:
            pairs = ((out, sys.stdout.buffer), (err, sys.stderr.buffer))
            while True:
                with suppress(FileNotFoundError, ValueError):
                    status = int((place / "status").read_text() or "none")
                    copy(pairs)
                    return 124 if is_late else status
                copy(pairs)
                if self.has_ended():
                    raise self.gone()
                if time.monotonic() > deadline + END_SECONDS_MAX:
                    return 124  # it does not even end
                if time.monotonic() > deadline and not is_late:
                    is_late = True
                    self.say("end", place.name)
                time.sleep(LOOK_SECONDS)


def copy(pairs):
    for source, target in pairs:
        if text := source.read():
            target.write(text)
            target.flush()


def script(command):
    """The command with directory and environment as they are here. One word is a line of shell."""
    lines = [f"cd {shlex.quote(os.getcwd())} || exit 125"]
    given = {**FOR_MPI, **os.environ}
    given["PATH"] = f"{kernel.GUEST}:{given.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    lines += [f"export {name}={shlex.quote(value)}" for name, value in given.items()
              if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)]
    if f"`{DEVICE_SETTING}`" in (kernel.ROOT / "docs/settings.md").read_text():
        lines += [f"export VMLAB_SETTING={DEVICE_SETTING}"]
    lines += [". /run/vmlab/settings.sh; export VMLAB_HOSTS=$hosts; unset hosts mtu loss release "
              "modules guest writable"]
    lines += [command[0] if len(command) == 1 else "exec " + shlex.join(command)]
    return "\n".join(lines) + "\n"


def make_folder(name):
    """Locked, empty. One of that name that has ended by itself makes room."""
    with alone():
        clear()
        folder = GUESTS / name
        if folder.exists():
            if lives(folder):
                raise VmError(f"'{name}' is up already; tools/vmlab stop --name {name} ends it")
            shutil.rmtree(folder)
        folder.mkdir(mode=0o700)  # commands stand there with their environment
        return folder, take(folder)


def start(plan):
    """A guest that ends with us unless it is kept."""
    reason = kernel.why_not()
    if reason:
        raise VmError(reason)
    folder, lock = make_folder(plan["name"])
    try:
        (folder / "share/orders").mkdir(parents=True)
        (folder / "share/settings.sh").write_text(settings_text(plan))
        shutil.copy(kernel.GUEST / "second.sh", folder / "share")
        os.mkfifo(folder / "door")
        (folder / "first-root").write_bytes(kernel.first_root())
        end, lifeline = os.pipe()
        keeper = subprocess.Popen([sys.executable, "-IS", str(KEEPER), str(folder), str(lock),
                                   str(end), *machine(plan, folder)], pass_fds=(lock, end),
                                  start_new_session=True, stdin=subprocess.DEVNULL,
                                  # A pipe that it held open would keep whoever reads our output.
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    os.close(end)
    os.close(lock)
    guest = Guest(plan["name"], lifeline, keeper)
    try:
        guest.wait_until_up()
    except BaseException:
        guest.let_go()
        raise
    return guest


def find(name):
    """A guest that was kept."""
    guest = Guest(name)
    if not (guest.folder / "kept").exists():
        raise VmError(f"no guest is up under the name '{name}'")
    if not lives(guest.folder):
        raise guest.gone()
    return guest


def stop(name):
    """Whether there was anything."""
    folder = GUESTS / name
    if not folder.exists():
        return False
    try:
        pid = os.pidfd_open(int((folder / "keeper").read_text()))
    except (OSError, ValueError):
        pid = None
    # Whoever holds the lock now is the keeper that we opened, unless its number has gone.
    if pid is not None and lives(folder):
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(pid, signal.SIGTERM)
    deadline = time.monotonic() + END_SECONDS_MAX
    while lives(folder):
        if time.monotonic() > deadline:
            raise VmError(f"guest '{name}' does not end")
        time.sleep(0.01)
    with alone():  # whoever clears away meanwhile would put a lock into it
        shutil.rmtree(folder, ignore_errors=True)
    return True
