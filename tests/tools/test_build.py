# SPDX-License-Identifier: BSD-3-Clause
"""What `make build` and the presets configure, on machines where half of the tests' needs is missing."""
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOUND = "set({name}_FOUND {found})\n"


class Clone:
    """A copy of the tree whose packages are already installed, and a cmake that compiles nothing."""

    def __init__(self, place):
        self.tree, self.prefix, self.programs = place / "clone", place / "prefix", place / "bin"
        shutil.copytree(ROOT, self.tree, symlinks=True,
                        ignore=shutil.ignore_patterns("build", ".git", "__pycache__"))
        self.program(self.tree / "tools/setup", "exit 0")
        self.program(self.programs / "cmake",
                     f'[ "$1" != --build ] || exit 0\nexec {shutil.which("cmake")} "$@"')

    @staticmethod
    def program(path, script):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def package(self, name, found):
        """A CMake package that stands before the machine's own."""
        place = self.prefix / "lib/cmake" / name
        place.mkdir(parents=True)
        (place / f"{name}Config.cmake").write_text(FOUND.format(name=name, found=found))

    def run(self, *command):
        return subprocess.run(command, cwd=self.tree, capture_output=True, text=True, timeout=120,
                              check=False, stdin=subprocess.DEVNULL,
                              env={**os.environ, "CMAKE_PREFIX_PATH": str(self.prefix),
                                   "PATH": f"{self.programs}:{os.environ['PATH']}"})

    def cache(self):
        return (self.tree / "build/CMakeCache.txt").read_text()


@pytest.fixture
def half_installed(tmp_path):
    """GoogleTest is found and RapidCheck is not."""
    clone = Clone(tmp_path)
    clone.package("GTest", "TRUE")
    clone.package("rapidcheck", "FALSE")
    return clone


def test_building_the_product_does_not_configure_tests(half_installed):
    done = half_installed.run("make", "build")
    assert done.returncode == 0, done.stderr
    assert "GTest_DIR" not in half_installed.cache()


def test_tests_that_cannot_be_built_are_one_clear_line(half_installed):
    done = half_installed.run("cmake", "--preset", "release", "--log-level=NOTICE")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == \
        ["tutti: tests are not built: RapidCheck was not found (librapidcheck-dev)"]


def test_every_source_is_compiled_by_itself_somewhere(tmp_path):
    """In a unity build a source finds what its neighbour has included. What clang-tidy looks at, by
    night, is none, so there a missing #include is noticed."""
    clone = Clone(tmp_path)
    done = clone.run("cmake", "--preset", "tidy")
    assert done.returncode == 0, done.stderr
    listed = clone.run("ninja", "-C", "build/tidy", "-t", "inputs", "all")
    assert listed.returncode == 0, listed.stderr
    compiled = {str(pathlib.Path(line).relative_to(clone.tree)) for line in listed.stdout.splitlines()
                if line.startswith(f"{clone.tree}/src/")}
    sources = {str(path.relative_to(clone.tree)) for path in (clone.tree / "src").rglob("*.cpp")}
    assert sources - compiled <= {"src/base/topo/read_off.cpp", "src/base/topo/read_hwloc.cpp",
                                  "src/base/topo/read/slurm_yaml.cpp",
                                  "src/base/topo/read/slurm_yaml_off.cpp",
                                  "src/run/transport/verbs/library.cpp",
                                  "src/run/transport/verbs/library_off.cpp"}
