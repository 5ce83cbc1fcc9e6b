# SPDX-License-Identifier: BSD-3-Clause
"""tools/fresh, with a stand-in for mmdebstrap that makes a root of a shell and a `make` of its own."""
import importlib.machinery
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

FRESH = pathlib.Path(__file__).resolve().parents[2] / "tools" / "fresh"
# Takes what tools/fresh gives: options, suite, directory, package sources. The shell of the machine
# with its libraries is all that a root needs to run a script.
MMDEBSTRAP = """#!/bin/sh
echo "$*" >{place}/asked
[ ! -e {place}/broken ] || {{ echo 'E: no such mirror' >&2; exit 25; }}
while [ "${{1#-}}" != "$1" ]; do shift; done
root=$2
mkdir -p $root/bin $root/mnt $root/proc $root/dev $root/sys $root/run $root/root
for file in /bin/sh /bin/sleep /bin/mkdir /bin/umount /usr/bin/env $(ldd /bin/sh /bin/sleep /bin/mkdir /bin/umount | grep -o '/[^ :]*\\.so[^ :]*'); do
    mkdir -p $root${{file%/*}}
    cp -L $file $root$file
done
cp {place}/make $root/bin/make
for command in mpicc tutti; do echo '#!/bin/sh' >$root/bin/$command; done
chmod 755 $root/bin/make $root/bin/mpicc $root/bin/tutti
"""


@pytest.fixture(scope="module")
def fresh():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("tutti_fresh", str(FRESH))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Machine:
    def __init__(self, place):
        self.place, self.temporary = place, place / "tmp"
        self.temporary.mkdir()
        programs = place / "bin"
        programs.mkdir()
        (programs / "mmdebstrap").write_text(MMDEBSTRAP.format(place=place))
        (programs / "mmdebstrap").chmod(0o755)
        self.path = f"{programs}:{os.environ['PATH']}"

    def make(self, script):
        """What `make demo` and `make test` do inside."""
        (self.place / "make").write_text(f'#!/bin/sh\n[ "$1" != install ] || exit 0\n{script}\n')

    def run(self, *words, **environment):
        kept = {name: value for name, value in os.environ.items() if name != "FRESH_DEBIAN"}
        return subprocess.run([FRESH, *words], capture_output=True, text=True, timeout=300,
                              check=False, stdin=subprocess.DEVNULL,
                              env={**kept, "PATH": self.path, "TMPDIR": str(self.temporary),
                                   **environment})

    def leaves_nothing(self):
        mounts = pathlib.Path("/proc/self/mountinfo").read_text()
        return not list(self.temporary.iterdir()) and str(self.temporary) not in mounts


@pytest.fixture
def machine(fresh, tmp_path, monkeypatch):
    monkeypatch.delenv("FRESH_DEBIAN", raising=False)
    made = Machine(tmp_path)
    monkeypatch.setenv("PATH", made.path)
    try:
        fresh.check()
    except fresh.Cannot as cannot:
        pytest.skip(str(cannot))
    return made


def test_a_clone_is_tried_and_nothing_stays(machine):
    machine.make("""
[ "$1" = demo ] && [ -e Makefile ] && [ -e /proc/self/status ] && [ -c /dev/null ] || exit 9
[ "$PWD" = /root/tutti ] && [ -z "$TUTTI_STALL" ] && [ "$PIP_RETRIES" = 7 ] || exit 8
env | while read name; do case $name in TUTTI*) exit 7 ;; esac; done || exit 7
mkdir -p /run/somewhere && echo it is $1""")
    done = machine.run("demo", "--with", "libgtest-dev", PIP_RETRIES="7", TUTTI_STALL="1")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["fresh: make demo in a minimal Debian 12 with libgtest-dev", "it is demo"]
    assert lines[2].startswith("fresh: make demo: passed; ")
    assert "--include=make,ca-certificates,libgtest-dev bookworm" in \
        (machine.place / "asked").read_text()
    assert machine.leaves_nothing()


def test_both_commands_and_a_failure(machine):
    machine.make('echo $1; [ "$1" = test ]')
    done = machine.run("both")
    assert done.returncode == 1
    assert "fresh: make demo: FAILED with status 1; " in done.stdout
    assert "fresh: make test: passed; " in done.stdout
    assert machine.leaves_nothing()


def test_what_hangs_is_ended_with_all_that_it_started(machine, fresh, monkeypatch, capfd):
    machine.make("sleep 600 & sleep 600")
    monkeypatch.setenv("TMPDIR", str(machine.temporary))
    monkeypatch.setattr(fresh.tempfile, "tempdir", None)
    monkeypatch.setitem(fresh.SECONDS_MAX, "demo", 1)
    monkeypatch.setattr(sys, "argv", ["fresh"])
    assert fresh.main() == 1
    assert "fresh: make demo: FAILED: no end after 1 s; " in capfd.readouterr().out
    assert machine.leaves_nothing()
    # Their root lay in the directory that is gone.
    for entry in pathlib.Path("/proc").glob("[0-9]*/root"):
        try:
            assert str(machine.temporary) not in os.readlink(entry)
        except OSError:
            continue


def test_the_first_program_of_the_readme_is_run(machine):
    machine.make("echo exit 1 >/bin/tutti")
    done = machine.run("demo")
    assert done.returncode == 1 and "fresh: make demo: FAILED" in done.stdout, done
    assert machine.leaves_nothing()


def test_no_package_source_is_one_line(machine):
    machine.make("exit 0")
    (machine.place / "broken").touch()
    done = machine.run()
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "fresh: cannot be tried: no minimal Debian: E: no such mirror\n"
    assert machine.leaves_nothing()


def test_where_it_cannot_be_tried(fresh, monkeypatch):
    monkeypatch.delenv("FRESH_DEBIAN", raising=False)  # set where this test runs in one
    monkeypatch.setattr(fresh.os, "geteuid", lambda: 1000)
    with pytest.raises(fresh.Cannot, match="only root"):
        fresh.check()
    monkeypatch.setattr(fresh.os, "geteuid", lambda: 0)
    monkeypatch.setattr(fresh, "codename", lambda: "trixie")
    with pytest.raises(fresh.Cannot, match="no Debian 12.*trixie"):
        fresh.check()
    monkeypatch.setenv("FRESH_DEBIAN", "1")
    with pytest.raises(fresh.Cannot, match="made for such a trial"):
        fresh.check()
