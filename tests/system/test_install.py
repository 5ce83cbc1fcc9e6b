# SPDX-License-Identifier: BSD-3-Clause
"""`make install`: what an embedder finds there works through pkg-config and through CMake, also
after the installed tree was moved."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"

# A team of two threads, bootstrapped by nothing but a lock: proof that the library runs, not only
# that it links.
CONSUMER = r"""
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <tutti/tutti.h>

static pthread_barrier_t meeting;
static char board[2][4096];

struct member { unsigned rank; long sum; tutti_status status; char message[256]; };

static int allgather(void *user, const void *in, void *out, size_t bytes) {
    const struct member *self = user;
    if (bytes > sizeof board[0]) return 1;
    memcpy(board[self->rank], in, bytes);
    pthread_barrier_wait(&meeting);
    memcpy(out, board[0], bytes);
    memcpy((char *)out + bytes, board[1], bytes);
    pthread_barrier_wait(&meeting);
    return 0;
}

static void *run(void *user) {
    struct member *self = user;
    tutti_context *context = NULL;
    tutti_team *team = NULL;
    tutti_context_params params = {.struct_bytes = sizeof params, .ranks_on_node = 2};
    tutti_team_params team_params = {.struct_bytes = sizeof team_params, .rank = self->rank,
        .size = 2, .allgather = allgather, .allgather_user = self};
    long own = self->rank + 20;
    self->status = tutti_context_create(&params, &context, self->message, sizeof self->message);
    if (self->status != TUTTI_OK) return NULL;
    self->status = tutti_team_create(context, &team_params, &team, self->message,
                                     sizeof self->message);
    if (self->status == TUTTI_OK) {
        tutti_call call = {.collective = TUTTI_ALLREDUCE, .send = &own, .recv = &self->sum,
            .bytes = sizeof own, .dtype = TUTTI_INT64, .op = TUTTI_SUM};
        self->status = tutti_run(team, &call);
        tutti_team_destroy(team);
    }
    tutti_context_destroy(context);
    return NULL;
}

int main(void) {
    struct member members[2] = {{.rank = 0}, {.rank = 1}};
    pthread_t threads[2];
    pthread_barrier_init(&meeting, NULL, 2);
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, run, &members[i]);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; ++i) {
        printf("%d %s %ld %s\n", i, tutti_status_text(members[i].status), members[i].sum,
               members[i].message);
        if (members[i].status != TUTTI_OK || members[i].sum != 41) return 1;
    }
    return 0;
}
"""

CMAKE_LISTS = """
cmake_minimum_required(VERSION 3.25)
project(consumer C)
find_package(Threads REQUIRED)
find_package(tutti 0.1 REQUIRED)
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE tutti::tutti Threads::Threads)
"""


def run(*command, **options):
    environment = {**os.environ, **options.pop("env", {})}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=300, env=environment, check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installed tree that was moved after it was installed."""
    place = tmp_path_factory.mktemp("install")
    run("cmake", "--install", BUILD, "--prefix", place / "first")
    shutil.move(place / "first", place / "moved")
    return place / "moved"


@pytest.fixture
def source(tmp_path):
    (tmp_path / "consumer.c").write_text(CONSUMER)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_LISTS)
    return tmp_path


def library_directory(prefix):
    found = list(prefix.rglob("libtutti.so"))
    assert len(found) == 1, f"libtutti.so in {prefix}: {found}"
    return found[0].parent


def test_pkg_config(prefix, source):
    libraries = library_directory(prefix)
    environment = {"PKG_CONFIG_PATH": str(libraries / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "tutti", env=environment).split()
    run("gcc", "-std=gnu11", "-Wall", "-Werror", source / "consumer.c", "-o", source / "consumer",
        "-pthread", *flags)
    run(source / "consumer", env={"LD_LIBRARY_PATH": str(libraries)})


def test_pkg_config_version_is_the_headers(prefix):
    environment = {"PKG_CONFIG_PATH": str(library_directory(prefix) / "pkgconfig")}
    version = run("pkg-config", "--modversion", "tutti", env=environment).strip()
    header = (prefix / "include/tutti/tutti.h").read_text()
    assert f'#define TUTTI_VERSION_STRING "{version}"' in header


def test_find_package(prefix, source):
    run("cmake", "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", source / "build")
    run(source / "build" / "consumer")


@pytest.mark.check
def test_header_compiles_as_cpp(prefix, source):
    for header in (prefix / "include/tutti").iterdir():
        (source / "header.cpp").write_text(f"#include <tutti/{header.name}>\n"
                                           "tutti_fact_row row;\nint main() {}\n")
        run("g++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
            f"-I{prefix}/include", source / "header.cpp")


def test_library_exports_only_the_c_interface(prefix):
    table = run("nm", "-D", "--defined-only", "--format=posix",
                library_directory(prefix) / "libtutti.so")
    exported = {line.split()[0].split("@")[0] for line in table.splitlines()} - {"TUTTI_0"}
    header = "".join(path.read_text() for path in (prefix / "include/tutti").iterdir())
    declared = set(re.findall(r"TUTTI_API[^;(]*?\b(tutti_\w+)\(", header))
    assert "tutti_run" in declared
    assert exported == declared


def test_installed_command_finds_its_libraries(prefix):
    command = prefix / "bin" / "tutti"
    done = subprocess.run([command, "run", "--", "sh", "-c", "echo $LD_PRELOAD"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    preloaded = [word for word in done.stdout.strip().split(":") if "libtutti-" in word]
    assert len(preloaded) == 1, done.stdout
    assert pathlib.Path(preloaded[0]).resolve().is_relative_to(prefix.resolve())
    assert pathlib.Path(preloaded[0]).exists()


def make(target, prefix, destdir):
    """As `make` does it, without building anything."""
    rules = run("make", "-n", "-C", ROOT, target, f"PREFIX={prefix}", f"DESTDIR={destdir}")
    line = next(line for line in rules.splitlines() if line.startswith("DESTDIR="))
    run("sh", "-c", line, cwd=ROOT)


def tree(place):
    return {str(path.relative_to(place)) for path in place.rglob("*")}


@pytest.mark.parametrize("destdir", ["", "stage"])
def test_uninstall_takes_what_install_has_put_there(tmp_path, destdir):
    place = tmp_path / destdir / "root"
    prefix = "/root" if destdir else str(place)
    stage = str(tmp_path / destdir) if destdir else ""
    (place / "bin").mkdir(parents=True)
    (place / "include").mkdir()
    before = tree(place)
    make("install", prefix, stage)
    assert {"bin/tutti", "include/tutti/tutti.h"} <= tree(place)
    make("install", prefix, stage)  # over it
    others = {"bin/other", "include/tutti/other.h", "include/.hidden"}
    for name in others:
        (place / name).write_text("")
    make("uninstall", prefix, stage)
    assert tree(place) == before | others | {"include/tutti"}


def test_uninstall_leaves_no_folder_of_its_own(tmp_path):
    make("install", tmp_path / "new", "")
    make("uninstall", tmp_path / "new", "")
    assert tree(tmp_path) == set()
    done = subprocess.run(["make", "-C", ROOT, "uninstall", f"PREFIX={tmp_path}"], text=True,
                          capture_output=True, check=False, timeout=60)
    assert done.returncode != 0 and "nothing to uninstall" in done.stderr, done.stderr
