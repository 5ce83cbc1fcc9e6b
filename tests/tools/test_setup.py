# SPDX-License-Identifier: BSD-3-Clause
"""tools/setup on machines that this one is not: dpkg-query, apt-get, id and sudo are stand-ins."""
import os
import pathlib
import shutil
import subprocess

import pytest

SETUP = pathlib.Path(__file__).resolve().parents[2] / "tools" / "setup"
PLAIN = ["sh", "dirname", "grep", "mkdir", "tail", "cat", "rm"]


class Machine:
    """A copy of the script in a tree of its own, and a PATH that holds only what it is given."""

    def __init__(self, place):
        self.place = place
        self.programs = place / "bin"
        self.programs.mkdir()
        (place / "tools").mkdir()
        shutil.copy(SETUP, place / "tools" / "setup")
        for name in PLAIN:
            (self.programs / name).symlink_to(shutil.which(name))
        self.provide("g++", "exit 0")
        self.provide("id", "echo 0")
        self.installed("nothing")
        self.provide("apt-get", "echo apt-get $* >>../calls; exit 0")

    def provide(self, name, script):
        (self.programs / name).write_text(f"#!/bin/sh\ncd {self.programs}\n{script}\n")
        (self.programs / name).chmod(0o755)

    def installed(self, which):
        """dpkg-query that knows every package it is asked for, or none."""
        loop = 'for p in "$@"; do case $p in -*) ;; *) echo "$p installed" ;; esac; done'
        self.provide("dpkg-query", loop if which == "everything" else "exit 1")

    def setup(self, *words):
        return subprocess.run([shutil.which("sh"), self.place / "tools" / "setup", *words],
                              capture_output=True, text=True, timeout=60, check=False,
                              stdin=subprocess.DEVNULL,
                              env={"PATH": str(self.programs), "HOME": os.environ.get("HOME", "/")})

    def calls(self):
        log = self.place / "calls"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.mark.parametrize("what", ["build", "demo", "test", "vmlab", "bench-peers", "bench-scale",
                                  "tidy", "coverage"])
def test_nothing_missing_nothing_done(machine, what):
    machine.installed("everything")
    done = machine.setup(what)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert machine.calls() == []
    assert not (machine.place / "build").exists()


def test_what_is_missing_is_installed(machine):
    assert machine.setup("demo").returncode == 0
    assert any(" install " in call and "openmpi-bin" in call and "libhwloc-dev" in call
               for call in machine.calls())


def test_a_fabric_is_simulated_only_where_there_is_none(machine):
    """opensm is a service, which would manage a real one."""
    assert machine.setup("test").returncode == 0
    simulated = any("ibsim-utils libumad2sim0 opensm infiniband-diags" in call
                    for call in machine.calls())
    assert simulated != pathlib.Path("/sys/class/infiniband").exists()


def one_line(done):
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if "installing" not in line]
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_no_network(machine):
    machine.provide("apt-get", "echo 'Temporary failure resolving host'; exit 100")
    line = one_line(machine.setup("build"))
    assert "no network" in line and "libhwloc-dev" in line


def test_no_package_source(machine):
    machine.provide("apt-get", "echo 'E: Unable to locate package cmake'; exit 100")
    assert "no package source" in one_line(machine.setup("build"))


def test_no_rights(machine):
    machine.provide("id", "echo 1000")
    line = one_line(machine.setup("build"))
    assert "not root and no sudo" in line and "apt-get install" in line
    assert machine.calls() == []


def test_sudo_is_used_where_one_is_not_root(machine):
    machine.provide("id", "echo 1000")
    machine.provide("sudo", 'echo sudo $* >>../calls\nshift\n"$@"')
    assert machine.setup("build").returncode == 0
    assert [call for call in machine.calls() if call.startswith("sudo -n apt-get")]


def test_what_is_only_wanted_may_fail(machine):
    loop = ('for p in "$@"; do case $p in -*|gfortran|clang) ;; *) echo "$p installed" ;; esac; '
            "done")
    machine.provide("dpkg-query", loop)
    machine.provide("apt-get", "echo 'Could not connect'; exit 100")
    done = machine.setup("test")
    assert done.returncode == 0
    assert "going on without gfortran clang" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_no_debian(machine):
    (machine.programs / "dpkg-query").unlink()
    assert "cmake is missing" in one_line(machine.setup("build"))
    for name in ("cmake", "ninja", "python3"):
        machine.provide(name, "exit 0")
    assert machine.setup("build").returncode == 0


def test_an_unknown_word(machine):
    assert "'frobnicate'" in one_line(machine.setup("frobnicate"))
