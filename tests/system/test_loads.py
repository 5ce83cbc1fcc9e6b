# SPDX-License-Identifier: BSD-3-Clause
"""What is installed loads on other machines than the one that built it: it needs the C library and
nothing else, at versions that Enterprise Linux 8 has; and musl's loader passes over it. A preloaded
library that does not load ends every program, even `ls`."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from harness import NIGHT, PRELOAD, ROOT, TUTTI

GLIBC = (2, 28)
SHARED = PRELOAD.with_name("libtutti.so")
FILES = [pytest.param(path, id=path.name) for path in (PRELOAD, SHARED, TUTTI)]
OWN_OF_C = re.compile(r"lib(c|m|pthread|dl)\.so\.\d+|ld-linux[-\w]*\.so\.\d+")
MUSL = "/lib/ld-musl-x86_64.so.1"


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=120, check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-Wd", path))


def versions(path):
    """(symbol, version) of all that it wants of others; no version is an empty text."""
    wanted = set()
    for line in run("readelf", "-W", "--dyn-syms", path).splitlines():
        parts = line.split()
        if len(parts) >= 8 and parts[6] == "UND":
            name, _, version = parts[7].partition("@")
            wanted.add((name, version))
    return wanted


def is_old(version):
    match = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version)
    return match is not None and (int(match[1]), int(match[2])) <= GLIBC


@pytest.mark.parametrize("path", FILES)
def test_needs_the_c_library_alone(path):
    others = [name for name in needed(path) if not OWN_OF_C.fullmatch(name)]
    assert not others, others
    # Where these are files of their own, what stands in them is found only if they are named.
    assert {"libpthread.so.0", "libdl.so.2", "libc.so.6"} <= set(needed(path))


@pytest.mark.parametrize("path", FILES)
def test_wants_old_versions(path):
    wanted = versions(path)
    assert ("pthread_mutex_lock", "GLIBC_2.2.5") in wanted or len(wanted) > 100, wanted
    new = sorted(f"{name}@{version}" for name, version in wanted
                 if version and not is_old(version))
    assert not new, new
    # Relocations in a form that wants a version without a symbol.
    assert "GLIBC_ABI" not in run("readelf", "-WV", path)


def test_has_every_name_of_what_it_copies():
    """A program with a copy of the C library's `environ` has `__environ`, which is the same object:
    else a library that asks for the one finds nothing in it."""
    copies = {}
    for line in run("nm", "-D", "--defined-only", TUTTI).splitlines():
        address, _, name = line.split()
        copies.setdefault(address, set()).add(name.split("@")[0])
    environ = [names for names in copies.values() if names & {"environ", "_environ"}]
    assert all("__environ" in names for names in environ), environ


def moved_symbols():
    """Those that were in other files than libc.so.6 before glibc 2.34, and in which nobody knows."""
    library = run("gcc", "-print-file-name=libc.so.6").strip()
    found = {}
    for line in run("readelf", "-W", "--dyn-syms", library).splitlines():
        match = re.search(r" (\w+)@@?GLIBC_([\d.]+)", line)
        if match:
            found.setdefault(match[1], set()).add(match[2])
    return {name for name, numbers in found.items() if "2.34" in numbers and len(numbers) > 1}


@pytest.mark.parametrize("path", FILES)
def test_wants_nothing_of_files_that_it_does_not_name(path):
    ours = re.compile(r"_*pthread_\w+|sem_\w+|dl\w+|__libc_start_main")
    others = {name for name, _ in versions(path)} & moved_symbols()
    assert not [name for name in others if not ours.fullmatch(name)], others


def test_exports_mpi_and_what_musl_looks_for():
    names = set()
    for line in run("readelf", "-W", "--dyn-syms", PRELOAD).splitlines():
        parts = line.split()
        if len(parts) >= 8 and parts[6] not in ("UND", "Ndx") and parts[4] in ("GLOBAL", "WEAK"):
            names.add(parts[7])
    mine = {name for name in names if re.fullmatch(r"P?MPI_\w+|tutti_bench_\w+", name)}
    assert len(mine) > 50
    assert names - mine == {f"{name}@@TUTTI_OTHER_C_LIBRARY" for name in
                            ("__libc_start_main", "stdin")} | {"TUTTI_OTHER_C_LIBRARY"}


def test_nothing_of_the_lab_is_preloaded():
    """src/lab looks from outside: the command alone links it."""
    lab = {room.name for room in (ROOT / "src/lab").iterdir() if room.is_dir()}
    rooms = set(re.findall(r"\btutti::(\w+)::", run("nm", "-C", PRELOAD)))
    assert "engine" in rooms and not rooms & lab, rooms


ASKS_WITHOUT_VERSION = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(void) {
    FILE **found = dlsym(RTLD_DEFAULT, "stdin");
    Dl_info info;
    char line[16] = "";
    if (!found || *found != stdin || !fgets(line, sizeof line, *found)) return 1;
    if (!dladdr(dlsym(RTLD_NEXT, "__libc_start_main"), &info)) return 2;
    printf("%s", line);
    return 0;
}
"""


def test_a_program_finds_the_c_librarys_own(tmp_path):
    (tmp_path / "asks.c").write_text(ASKS_WITHOUT_VERSION)
    run("gcc", tmp_path / "asks.c", "-o", tmp_path / "asks", "-ldl")
    assert run(tmp_path / "asks", env={"LD_PRELOAD": str(PRELOAD)}, input="one\n") == "one\n"


def test_musl_passes_over_it(tmp_path):
    if not shutil.which("musl-gcc") or not pathlib.Path(MUSL).exists():
        pytest.skip("musl-gcc is not installed (musl-tools)")
    (tmp_path / "hello.c").write_text('#include <stdio.h>\nint main(void) { puts("hello"); }\n')
    run("musl-gcc", tmp_path / "hello.c", "-o", tmp_path / "hello")
    done = subprocess.run([tmp_path / "hello"], env={"LD_PRELOAD": str(PRELOAD)}, text=True,
                          capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")


OLD_DEBIAN = """
set -e
for tool in "ls /" "sh -c :" "/tutti/bin/tutti info"; do
    LD_BIND_NOW=1 LD_PRELOAD=/tutti/lib/libtutti-mpi.so $tool >/dev/null
done
/tutti/bin/tutti check allreduce --ranks=7 >/dev/null
cd /root
mpicc.mpich -std=gnu11 -D_GNU_SOURCE -pthread /programs/simple.c -o simple -ldl
/tutti/bin/tutti run --report=report.json -- mpirun.mpich -n 3 ./simple 4
grep -c '"run_by": *"tutti"' report.json
"""


@NIGHT
def test_loads_on_debian_11():
    """glibc 2.31, whose threads and loader are libraries of their own."""
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        pytest.skip("needs root and mmdebstrap")
    with tempfile.TemporaryDirectory(prefix="tutti-old-") as place:
        root = pathlib.Path(place) / "root"
        made = subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase", "--include=mpich,libmpich-dev,gcc",
             "bullseye", root],
            capture_output=True, text=True, timeout=600, check=False)
        if made.returncode != 0:
            pytest.skip("no Debian 11 to be had: " + made.stderr.strip().splitlines()[-1])
        for folder in ("bin", "lib"):
            (root / "tutti" / folder).mkdir(parents=True)
        shutil.copy("/etc/hosts", root / "etc")  # MPICH looks its own host up
        shutil.copy(TUTTI, root / "tutti/bin")
        shutil.copy(PRELOAD, root / "tutti/lib")
        shutil.copytree(pathlib.Path(__file__).parents[1] / "mpi", root / "programs")
        mount = ("mount --make-rprivate / && mount -t proc proc $1/proc && "
                 "mount --rbind /dev $1/dev && exec chroot $1 sh -c \"$2\"")
        done = run("unshare", "--mount", "--pid", "--fork", "sh", "-c", mount, "sh", root,
                   OLD_DEBIAN)
        assert "ok " in done and int(done.splitlines()[-1]) > 0, done
