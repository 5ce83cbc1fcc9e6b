# SPDX-License-Identifier: BSD-3-Clause
"""Cases of GoogleTest binaries, run by few processes (tools/test.d/binaries.py)."""
import json
import os
import pathlib
import stat
import sys
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/test.d"))
# pylint: disable=wrong-import-position
from binaries import FILTER, OutOfTime, parts_of, run_part, run_tests, share_of
from passed import Passed
from seeds import first_seed, kept_seeds

# Speaks like GoogleTest. What a case does follows from its name.
FAKE = """#!/usr/bin/env python3
import os, sys, time
names = sys.argv[1].removeprefix("--gtest_filter=").split(":")
with open(os.environ["FAKE_RUNS"], "a") as runs:
    runs.write(f"{len(names)}\\n")
status = 0
for name in names:
    print(f"[ RUN      ] {name}", flush=True)
    word = "     OK"
    if "Crash" in name:
        os.abort()
    if "Exit" in name:
        sys.exit(7)
    if "Hang" in name:
        time.sleep(60)
    if "Fail" in name:
        word, status = "FAILED ", 1
        print("a_test.cpp:7: Failure\\n1 is not 2")
    if "Skip" in name:
        word = "SKIPPED"
        print("a_test.cpp:9: Skipped\\nno such device\\n")
    if "Prints" in name:
        print("half a line", end="")
    after = ", where GetParam() = 4" if "Param" in name and word == "FAILED " else ""
    print(f"[  {word} ] {name}{after} (3 ms)", flush=True)
print(f"[==========] {len(names)} tests ran. (9 ms total)")
sys.exit(status or int(os.environ.get("FAKE_STATUS", "0")))
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    path = tmp_path / "fake_test"
    path.write_text(FAKE)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "runs").write_text("")
    monkeypatch.setenv("FAKE_RUNS", str(tmp_path / "runs"))
    return path


def listed(fake, *names, limit_s=30.0):
    return [{"name": f"as ctest has it {name}", "command": [str(fake), FILTER + name, "--more"],
             "properties": [{"name": "TIMEOUT", "value": limit_s}]} for name in names]


def outcomes(fake, *names, **more):
    """By name; and how many cases each process was started with."""
    parts, cases = parts_of(listed(fake, *names, **more))
    for part in parts:
        cases += run_part(part, fake.parent, time.monotonic() + 60, dict(os.environ))[0]
    runs = [int(line) for line in (fake.parent / "runs").read_text().split()]
    return {case.name: (case.outcome, case.detail) for case in cases}, runs


def test_one_process_for_many_cases(fake):
    found, runs = outcomes(fake, "A.Passes", "A.Fails", "P/A.ParamFails/0", "A.Skips", "A.Prints")
    assert runs == [5]
    assert {name: outcome for name, (outcome, _) in found.items()} == {
        "A.Passes": "passed", "A.Fails": "failed", "P/A.ParamFails/0": "failed",
        "A.Skips": "skipped", "A.Prints": "passed"}
    assert "1 is not 2" in found["A.Fails"][1]
    assert found["A.Skips"][1] == "no such device"


def test_many_cases_are_dealt_to_some_processes(fake):
    names = [f"A.Case{i}" for i in range(120)]
    found, runs = outcomes(fake, *names)
    assert runs == [40, 40, 40] and set(found) == set(names)


@pytest.mark.parametrize("name, why", [("A.Crashes", "signal 6"), ("A.Exits", "exit status 7"),
                                       ("A.Hangs", "no end within 1 s")])
def test_what_ends_its_process_hides_nothing_behind_it(fake, name, why):
    found, runs = outcomes(fake, "A.Before", name, "A.Behind", "A.Fails", limit_s=1.0)
    assert {case: outcome for case, (outcome, _) in found.items()} == {
        "A.Before": "passed", name: "failed", "A.Behind": "passed", "A.Fails": "failed"}
    assert why in found[name][1]
    assert runs == [4, 2]


def test_seeds_that_failed_once_run_again(fake):
    fake.write_text(FAKE.replace('print(f"[=====', 'print("seed", os.environ.get("TUTTI_SEED"))\nprint(f"[====='))
    parts, cases = parts_of(listed(fake, "A.One", "A.Fails"), [("A.Fails", 17), ("B.Other", 4)])
    assert not cases and [(part.names, part.seed) for part in parts] == [
        (("A.Fails",), 17), (("A.One", "A.Fails"), None)]
    again, output = run_part(parts[0], fake.parent, time.monotonic() + 60, dict(os.environ))
    assert [case.name for case in again] == ["A.Fails (seed 17)"] and "seed 17" in output


def test_where_seeds_begin(tmp_path, monkeypatch):
    monkeypatch.delenv("TESTS_FIRST_SEED", raising=False)
    assert first_seed(ROOT) == first_seed(ROOT) > 0
    assert first_seed(tmp_path) == 1, "no commit"
    monkeypatch.setenv("TESTS_FIRST_SEED", "42")
    assert first_seed(ROOT) == 42


def test_kept_seeds(tmp_path):
    path = tmp_path / "kept"
    path.write_text("# a comment\n\nA.One 12 what it found\nP/A.Two/3 4\n")
    assert kept_seeds(path) == [("A.One", 12), ("P/A.Two/3", 4)]
    path.write_text("A.One twelve\n")
    with pytest.raises(ValueError, match="kept:1: expected 'Suite.Case SEED why'"):
        kept_seeds(path)
    kept_seeds(ROOT / "tests/kept_seeds.txt")


def test_a_status_that_no_case_explains_is_a_failure(fake, monkeypatch):
    monkeypatch.setenv("FAKE_STATUS", "23")
    found, _ = outcomes(fake, "A.Passes")
    assert found["A.Passes"][0] == "passed"
    assert found["fake_test: exit status 23"][0] == "failed"


def test_cases_that_never_run_fail(fake):
    fake.write_text("#!/bin/sh\nexit 3\n")
    found, _ = outcomes(fake, "A.One", "A.Two")
    assert {name for name, (outcome, _) in found.items() if outcome == "failed"} >= {"A.One", "A.Two"}


def test_a_binary_that_was_not_built_and_commands(tmp_path):
    tests = [{"name": "gone_NOT_BUILT", "command": [str(tmp_path / "gone")]},
             {"name": "script", "command": ["/bin/sh", "-c", "exit 0"]},
             {"name": "broken", "command": ["/bin/sh", "-c", "echo no; exit 4"]},
             {"name": "away", "command": ["/bin/echo", "skipped: no header"],
              "properties": [{"name": "SKIP_REGULAR_EXPRESSION", "value": ["skipped:"]}]}]
    log = tmp_path / "log"
    cases = run_tests(json.loads(json.dumps(tests)), tmp_path, 2, time.monotonic() + 30,
                      dict(os.environ), log)
    assert {case.name: case.outcome for case in cases} == {
        "gone_NOT_BUILT": "failed", "script": "passed", "broken": "failed", "away": "skipped"}
    assert "exit status 4" in next(case.detail for case in cases if case.name == "broken")
    assert next(case.detail for case in cases if case.name == "away") == "no header"


def test_out_of_time(fake):
    cases = run_tests(listed(fake, "A.Fails", "A.Hangs", "A.Behind"), fake.parent, 1,
                      time.monotonic() + 1, dict(os.environ), fake.parent / "log")
    assert {case.name: case.outcome for case in cases} == {
        name: "failed" for name in ("A.Fails", "A.Hangs", "A.Behind")}


def test_what_is_ended_ends_what_it_runs(fake):
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    begun = time.monotonic()
    with pytest.raises(OutOfTime):
        run_part(parts_of(listed(fake, "A.Hangs"))[0][0], fake.parent, begun + 60,
                 dict(os.environ), stop)
    assert time.monotonic() - begun < 30


def test_each_turn_runs_another_share_of_those_with_the_label():
    tests = [{"name": f"{label}.{number}", "properties": [{"name": "LABELS", "value": [label]}]}
             for label in ("pure", "tsan") for number in range(40)]
    seen = []
    for turn in range(5):
        run, left = share_of(tests, "pure", turn, 5)
        assert len(run) + len(left) == 80 and all("pure" in one["name"] for one in left)
        seen += [one["name"] for one in run if "pure" in one["name"]]
    assert sorted(seen) == sorted(one["name"] for one in tests if "pure" in one["name"])


def names_left(passed, tests):
    return [test["command"][1].removeprefix(FILTER) for test in passed.split(tests)[0]]


def test_what_a_binary_has_passed_is_not_run_again_until_it_changes(fake, tmp_path):
    file, tests = tmp_path / "passed.json", listed(fake, "A.One", "A.Fails", "A.Skips")
    environment = dict(os.environ)
    first = Passed(file, environment)
    assert names_left(first, tests) == ["A.One", "A.Fails", "A.Skips"]
    run_tests(tests, tmp_path, 1, time.monotonic() + 30, environment, tmp_path / "log",
              passed=first.add)
    later = Passed(file, environment)
    assert names_left(later, tests) == ["A.Fails", "A.Skips"]
    assert [case.name for case in later.split(tests)[1]] == ["A.One"]
    assert names_left(Passed(file, {**environment, "TUTTI_SPIN": "5"}), tests) == \
        ["A.One", "A.Fails", "A.Skips"]
    fake.write_text(FAKE + "# another one\n")
    assert "A.One" in names_left(Passed(file, environment), tests)


def test_a_concurrent_case_runs_each_time(fake, tmp_path):
    tests = listed(fake, "A.One")
    passed = Passed(tmp_path / "passed.json", {})
    run_tests(tests, tmp_path, 1, time.monotonic() + 30, dict(os.environ), tmp_path / "log",
              passed=passed.add)
    assert not names_left(passed, tests)
    tests[0].setdefault("properties", []).append({"name": "LABELS", "value": ["tsan"]})
    assert names_left(passed, tests) == ["A.One"]
    (tmp_path / "passed.json").write_text("half a li")
    assert names_left(passed, listed(fake, "A.One")) == ["A.One"]
