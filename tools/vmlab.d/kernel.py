# SPDX-License-Identifier: BSD-3-Clause
"""What a guest boots from: Debian's stock kernel, unpacked below build/ and never installed, and a
small root that finds the machine's files. The cloud kernels of Debian have neither rdma_rxe nor 9p.
"""
import gzip
import lzma
import os
import platform
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "build/vmlab"
KERNEL = PLACE / "kernel"
GUEST = Path(__file__).resolve().parent / "guest"
PACKAGE = "linux-image-amd64"
# What has to be on this machine: by these files a guest is made, or runs.
TOOLS = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "bash": "bash",
         "modprobe": "kmod", "depmod": "kmod", "ip": "iproute2", "rdma": "iproute2",
         "nsenter": "util-linux"}
# Loaded from the first root, in the order of their needs, to reach the second.
FIRST_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
# A package unpacks to 400 MB of drivers; these folders hold what soft-RoCE devices want.
WANTED = re.compile(r"\./(?:boot/vmlinuz-.*|lib/modules/[^/]+/(?:modules\..*|kernel/(?:"
                    r"(?:fs|lib|crypto|net|arch|virt)/.*"
                    r"|drivers/(?:infiniband|virtio|char|net/[^/]+$).*)))")
SECTOR = 512


class VmError(Exception):
    """One line that says what is wrong and what to do."""


def why_not():
    """One line where no guest can be had on this machine; nothing where one can."""
    if platform.machine() != "x86_64":
        return f"the guest is an x86-64 machine and this one is {platform.machine()}"
    for tool, package in TOOLS.items():
        if not find(tool):
            return f"the command {tool} is missing (Debian: apt-get install {package})"
    # A program that wants a loader names it right behind its headers.
    if b"ld-linux" in Path(find("busybox")).read_bytes()[:4096]:
        return "busybox is not the static one (Debian: apt-get install busybox-static)"
    if not (KERNEL / "release").exists():
        return "no kernel to boot; type tools/vmlab setup"
    return None


def find(tool):
    return shutil.which(tool, path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")


def release():
    return (KERNEL / "release").read_text().strip()


def run(command, **options):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, **options)
    except FileNotFoundError:
        raise VmError(f"the command {command[0]} is missing, and a kernel comes from a Debian "
                      "package") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise VmError(f"{' '.join(map(str, command[:3]))}: {lines[-1] if lines else 'failed'}")
    return done.stdout


def package():
    """The name behind the package that always depends on the newest kernel."""
    found = re.search(r"Depends: (linux-image-[0-9]\S+)", run(["apt-cache", "depends", PACKAGE]))
    if not found:
        raise VmError(f"no package source offers {PACKAGE}; apt-get update?")
    return found[1]


def unpacked(image):
    """The kernel proper, which a boot loader's file holds packed: in emulation it would take
    seconds to unpack itself."""
    packed = image.read_bytes()
    start = ((packed[0x1f1] or 4) + 1) * SECTOR
    offset, length = struct.unpack_from("<II", packed, 0x248)
    try:
        return lzma.LZMADecompressor().decompress(packed[start + offset:start + offset + length])
    except lzma.LZMAError as error:
        raise VmError(f"{image.name} is not packed by xz: {error}") from None


def fetch(work):
    """Everything below `work`: vmlinux, modules, and last `release`, which says that it is."""
    run(["apt-get", "download", package()], cwd=work)
    archive = next(work.glob("*.deb"))
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive],
                          stdout=subprocess.PIPE) as reader:
        with tarfile.open(fileobj=reader.stdout, mode="r|") as files:
            for member in files:
                if member.isfile() and WANTED.fullmatch(member.name):
                    files.extract(member, work)
    if reader.returncode != 0:
        raise VmError(f"dpkg-deb cannot unpack {archive.name}")
    archive.unlink()
    image = next(work.glob("boot/vmlinuz-*"))
    name = image.name.removeprefix("vmlinuz-")
    (work / "vmlinux").write_bytes(unpacked(image))
    run([find("depmod"), "-b", work, name])
    (work / "release").write_text(name + "\n")


def setup():
    """Fetches the kernel where it is not there yet. Returns whether there was anything to do."""
    reason = why_not()
    if not reason:
        return False
    if "tools/vmlab setup" not in reason:
        raise VmError(reason)
    PLACE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=PLACE, prefix="fetching-") as work:
        Path(work).chmod(0o755)
        fetch(Path(work))
        shutil.rmtree(KERNEL, ignore_errors=True)
        try:
            os.rename(work, KERNEL)
        except OSError:
            if why_not():  # else another one was quicker
                raise
        Path(work).mkdir(exist_ok=True)  # for TemporaryDirectory, which wants to remove it
    return True


def first_modules():
    """Their files, each behind those that it needs."""
    found = []
    for module in FIRST_MODULES:
        told = run([find("modprobe"), "-d", KERNEL, "-S", release(), "--show-depends", module])
        found += [line.split()[1] for line in told.splitlines() if line.startswith("insmod ")]
    return list(dict.fromkeys(found))


class Cpio:
    """An archive in the form that the kernel unpacks (newc)."""

    def __init__(self):
        self.parts, self.count = [], 0

    def add(self, name, mode, content=b""):
        self.count += 1
        # number, mode, owner, group, links, time, size, device and what it stands for, name, sum
        fields = [self.count, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        for part in (head, content):
            self.parts.append(part + b"\0" * (-len(part) % 4))

    def packed(self):
        self.add("TRAILER!!!", 0)
        return gzip.compress(b"".join(self.parts), compresslevel=1)


def first_root():
    """The initial root, packed: busybox, modules and the script that changes to the real one."""
    archive = Cpio()
    for folder in ("bin", "proc", "sys", "dev", "low", "high", "mod", "new"):
        archive.add(folder, 0o040755)
    archive.add("bin/busybox", 0o100755, Path(find("busybox")).read_bytes())
    for index, file in enumerate(first_modules()):
        archive.add(f"mod/{index:02}.ko", 0o100644, Path(file).read_bytes())
    archive.add("init", 0o100755, (GUEST / "first.sh").read_bytes())
    return archive.packed()
