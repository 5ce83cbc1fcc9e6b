# SPDX-License-Identifier: BSD-3-Clause
"""Which cases of a test make test leaves to make nightly: repetitions under other MPIs, never a
case; and what make check runs."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SYSTEM = ROOT / "tests/system"


@pytest.fixture(name="tiers", scope="module")
def rules_of_the_tiers():
    sys.path.insert(0, str(SYSTEM))
    spec = importlib.util.spec_from_file_location("tiers", SYSTEM / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(name="installed")
def all_but(tiers, monkeypatch):
    def install(*missing):
        for name, mpi in tiers.MPIS.items():
            monkeypatch.setattr(mpi, "missing", lambda name=name: name in missing)
        return [name for name in tiers.MPIS if name not in missing]
    return install


def kinds(names):
    return {name.split("-")[1] for name in names}


@pytest.mark.parametrize("count", [1, 2, 4, 5, 7, 32])
@pytest.mark.parametrize("turn", [0, 1, 2, 3, 4, 12345])
def test_each_case_runs_once(tiers, installed, count, turn):
    names, cases = installed(), list(range(count))
    found = [(name, case) for name in names for case in cases]
    kept = tiers.of_the_short_tier(found, turn)
    assert sorted(case for _, case in kept) == cases
    if count >= len(names):
        assert {name for name, _ in kept} == set(names)
    kept = tiers.of_the_short_tier(found, turn, of_each_kind=True)
    assert kinds(name for name, _ in kept) == kinds(names)
    assert {case for _, case in kept} == set(cases) and len(kept) == max(count, 3)


def test_each_mpi_has_its_turn(tiers, installed):
    names = installed()
    every = [tiers.of_the_short_tier([(name, "") for name in names], turn) for turn in range(5)]
    assert sorted(name for kept in every for name, _ in kept) == sorted(names)


def test_three_turns_run_every_sampled_case(tiers):
    for count in (1, 2, 3, 8):
        cases = [f"-{number}" for number in range(count)]
        assert {case for turn in range(3) for case in tiers.third_of(cases, turn)} == set(cases)


def test_the_check_runs_every_case_under_one_mpi(tiers, installed):
    names = installed("debian-openmpi")
    kept = tiers.of_the_check([(name, case) for name in tiers.MPIS for case in range(7)])
    assert kept == {(names[0], case) for case in range(7)}
    assert tiers.of_the_check([("debian-openmpi", "")]) == {("debian-openmpi", "")}


def test_what_is_not_installed_is_dealt_nothing_and_told(tiers, installed):
    names = installed("pypi-impi", "pypi-mpich")
    kept = tiers.of_the_short_tier([(name, case) for name in tiers.MPIS for case in range(7)], 0)
    assert {case for name, case in kept if name in names} == set(range(7))
    assert len([name for name, _ in kept if name not in names]) == 2


def test_every_second_case_is_not_always_the_same_mpis(tiers, installed):
    installed()
    two = ("debian-openmpi", "debian-mpich")
    kept = tiers.of_the_short_tier([(name, case) for name in two for case in range(8)], 0)
    for name in two:
        assert {case % 2 for mpi, case in kept if mpi == name} == {0, 1}


def collected(tiers, environment, *words):
    """By test: what (MPI, case) would run."""
    told = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q",
                           "--collect-only", *words], cwd=ROOT, capture_output=True, text=True,
                          check=False, env={**{name: value for name, value in os.environ.items()
                                               if not name.startswith("TESTS_")},
                               **environment}).stdout
    found = {}
    for test, case in re.findall(r"^(tests/system/\w+\.py::\w+)(.*)$", told, re.MULTILINE):
        name = next((name for name in tiers.MPIS if name in case), "")
        found.setdefault(test, set()).add((name, case.replace(name, "")))
    return found


def test_nothing_is_lost(tiers):
    short, long = collected(tiers, {}, SYSTEM), collected(tiers, {"TESTS_LONG": "1"}, SYSTEM)
    assert short.keys() == long.keys() and len(short) > 200
    for test, everything in long.items():
        assert short[test] <= everything or "same_plan" in test  # whose cases are seeds
    without_seeds = [test for test in long if "same_plan" not in test]
    for test in without_seeds:
        cases, all_cases = ({case for _, case in found[test]} for found in (short, long))
        # All, or a third of those that are marked so.
        assert cases == all_cases or abs(len(cases) - len(all_cases) / 3) < 1, test
    for name in tiers.MPIS:
        assert sum(name in {mpi for mpi, _ in cases} for cases in short.values()) > 30, name
    assert sum(map(len, short.values())) < 0.75 * sum(len(long[test]) for test in without_seeds)


def test_what_depends_on_the_mpi_runs_under_each_kind(tiers):
    file = SYSTEM / "test_start.py"
    for test, cases in collected(tiers, {}, file, "-k", "rules_that_rank_0").items():
        assert len(kinds(name for name, _ in cases)) == 3, test


def test_what_waits_for_the_night_is_counted(tiers, tmp_path):
    file, left = SYSTEM / "test_behaviour.py", tmp_path / "left"
    told = {"TESTS_AT_NIGHT": str(left)}
    short = collected(tiers, told, file)
    long = collected(tiers, {"TESTS_LONG": "1"}, file)
    assert int(left.read_text()) == sum(map(len, long.values())) - sum(map(len, short.values()))


def test_the_check_is_some_tests_under_one_mpi(tiers):
    found = collected(tiers, {"TESTS_CHECK": "1"}, SYSTEM)
    assert len({name for cases in found.values() for name, _ in cases if name}) <= 2, found
    assert 20 < sum(map(len, found.values())) < 120


def test_one_mpi_that_is_asked_for_runs_all_its_cases(tiers):
    file = SYSTEM / "test_behaviour.py"
    words = [file, "-k", "test_ranks_that_disagree and debian-mpich"]
    short, long = collected(tiers, {}, *words), collected(tiers, {"TESTS_LONG": "1"}, *words)
    assert short == long and len(next(iter(short.values()))) > 5
