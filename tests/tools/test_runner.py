# SPDX-License-Identifier: BSD-3-Clause
"""tools/test counts what really happened."""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "test"


@pytest.fixture(scope="module", name="script")
def tools_test():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("tutti_test_runner", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def runner(script, monkeypatch):
    """Builds nothing beside its stages."""
    monkeypatch.setattr(script.Ahead, "start", lambda *_: None)
    return script


@pytest.mark.parametrize("stages, has_clang, targets", [
    (["system", "tsan", "asan-ubsan", "fuzz", "fresh"], True,
     ["tsan_tests", "all_tests", "fuzz_targets"]),
    (["system", "tsan", "asan-ubsan", "fuzz"], False, ["tsan_tests"]),
    (["system", "fuzz"], True, ["fuzz_targets"]),
    (["tsan", "asan-ubsan", "fuzz"], True, []),
    (["system"], True, []),
])
def test_later_stages_are_built_ahead(script, tmp_path, stages, has_clang, targets):
    ahead = script.Ahead(tmp_path, tmp_path / "log", "2", has_clang)
    assert [command.split()[-1] for command in ahead.commands(stages)] == targets


def test_what_is_built_ahead_ends_with_the_stage(script, tmp_path, monkeypatch):
    """At no other's expense; and a stage that ends in an exception leaves nothing running."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "cmake").write_text(f"#!/bin/sh\nchrt -p $$ >{tmp_path}/begun\nsleep 60\n"
                                f"touch {tmp_path}/done\n")
    (bin_ / "cmake").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}:{os.environ['PATH']}")
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "LOGS", tmp_path)

    def system(*_):
        while not (tmp_path / "begun").exists() or not (tmp_path / "begun").read_text():
            time.sleep(0.05)
        raise KeyboardInterrupt
    monkeypatch.setitem(script.NIGHTLY_STAGES, "system", system)
    with pytest.raises(KeyboardInterrupt):
        script.run_all(script.Runner(60), ["system", "tsan"], None)
    assert "SCHED_IDLE" in (tmp_path / "begun").read_text() and not (tmp_path / "done").exists()
    pid = (tmp_path / "begun").read_text().split("pid ")[1].split("'")[0]
    state = pathlib.Path(f"/proc/{pid}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


PYTEST = """<?xml version="1.0"?>
<testsuites><testsuite name="pytest">
  <testcase classname="tests.system.test_a" name="test_good"/>
  <testcase classname="tests.system.test_a" name="test_bad"><failure message="m">trace</failure>
  </testcase>
  <testcase classname="tests.system.test_a" name="test_broken"><error message="m">setup</error>
  </testcase>
  <testcase classname="tests.system.test_a" name="test_skipped"><skipped message="no MPI"/></testcase>
</testsuite></testsuites>
"""


def outcomes(cases):
    return [(case.name, case.outcome) for case in cases]


def test_pytest_report(runner, tmp_path):
    (tmp_path / "r.xml").write_text(PYTEST)
    cases = runner.read_junit(tmp_path / "r.xml", "system")
    assert [case.outcome for case in cases] == ["passed", "failed", "failed", "skipped"]
    assert cases[3].detail == "no MPI"


@pytest.mark.parametrize("happened, last_line, status", [
    (["passed", "passed", "skipped"], "2 passed, 0 failed, 1 skipped", 0),
    (["passed", "failed"], "1 passed, 1 failed, 0 skipped", 1),
    (["skipped"], "0 passed, 0 failed, 1 skipped", 1),
    ([], "0 passed, 0 failed, 0 skipped", 1),
])
def test_sum_and_status(runner, capsys, happened, last_line, status):
    cases = [runner.Case(f"case {i}", outcome, "because") for i, outcome in enumerate(happened)]
    assert runner.summarise(cases) == status
    assert capsys.readouterr().out.splitlines()[-1] == last_line


def test_a_hanging_command_is_ended_with_its_children(runner, tmp_path):
    mark = tmp_path / "mark"
    with pytest.raises(runner.OutOfTime):
        runner.Runner(0).run(tmp_path / "log", ["sh", "-c", f"(sleep 3; touch {mark}) & wait"])
    log = (tmp_path / "log").read_text()
    assert log.startswith("$ sh -c")
    assert not mark.exists()


ALL_STAGES = ["tidy", "unit", "system", "tsan", "asan-ubsan", "fuzz"]


def test_who_is_ended_ends_what_its_stage_has_started(runner, tmp_path, monkeypatch):
    log = tmp_path / "log"
    log.write_bytes(b"")
    monkeypatch.setattr(runner, "LOGS", tmp_path)
    script = f"echo $$ >{tmp_path}/begun; kill -TERM {os.getpid()}; sleep 60; touch {tmp_path}/done"

    def stage(one, _):
        one.run(log, ["sh", "-c", script])
    monkeypatch.setitem(runner.NIGHTLY_STAGES, "tidy", stage)
    former = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            runner.main(["tidy"])
    finally:
        signal.signal(signal.SIGTERM, former)
    assert ended.value.code == 128 + signal.SIGTERM
    state = pathlib.Path(f"/proc/{(tmp_path / 'begun').read_text().strip()}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"
    assert not (tmp_path / "done").exists()


def test_who_is_ended_while_a_command_starts_ends_it(runner, tmp_path, monkeypatch):
    """SIGTERM comes when the process is there and its starter does not know it yet."""
    begun = []

    class Slow(subprocess.Popen):
        def __init__(self, *words, **options):
            super().__init__(*words, **options)
            begun.append(self)
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(subprocess, "Popen", Slow)
    former = signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with pytest.raises(SystemExit):
            runner.Runner(60).run(tmp_path / "log", ["sleep", "60"])
    finally:
        signal.signal(signal.SIGTERM, former)
    assert begun[0].poll() is not None


def test_no_stage_is_left_out_for_lack_of_time(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "LOGS", tmp_path)
    assert list(runner.STAGES) == ALL_STAGES
    for name in runner.NIGHTLY_STAGES:
        (case,) = runner.run_stage(runner.Runner(0), name)
        assert case.outcome == "failed" and case.name.startswith(f"{name}: no end within 0 s"), case


@pytest.mark.parametrize("stage", [name for name in ALL_STAGES if name != "tidy"])
def test_a_build_that_is_cut_off_has_failed(runner, tmp_path, monkeypatch, stage):
    monkeypatch.setattr(runner, "LOGS", tmp_path)
    monkeypatch.setattr(runner, "has_clang", lambda: True)

    class Slow(runner.Runner):
        def run(self, log, command, **environment):
            raise runner.OutOfTime

    (case,) = runner.run_stage(Slow(60), stage)
    assert case.outcome == "failed" and case.name.startswith(f"{stage}: no end within 60 s"), case


class Recorder:
    """A runner that runs nothing; what it was asked to run, with the variables for it."""

    def __init__(self, status=0, tier="test"):
        self.seconds, self.tier, self.status, self.asked = 60, tier, status, []
        self.nightly = tier == "nightly"

    def left(self):
        return 60

    def run(self, log, command, **environment):
        self.asked.append((command, environment))
        return self.status


@pytest.mark.parametrize("tier, unit, sanitized", [
    ("check", {"TESTS_BRIEF": "1", "TESTS_CHECK": "1"}, {"TESTS_BRIEF": "1"}),
    ("test", {}, {"TESTS_BRIEF": "1"}),
    ("nightly", {"TESTS_LONG": "1"}, {}),
])
def test_the_night_runs_at_length(runner, tmp_path, monkeypatch, tier, unit, sanitized):
    monkeypatch.setattr(runner, "LOGS", tmp_path)
    monkeypatch.setattr(runner, "has_clang", lambda: True)
    for name, expected in (("unit", unit), ("tsan", sanitized), ("asan-ubsan", sanitized)):
        recorder = Recorder(tier=tier)
        (tmp_path / f"{name}.log").write_text("")
        found = []
        monkeypatch.setattr(runner, "run_binaries", lambda *_, **told: found.append(told) or [])
        runner.STAGES[name](recorder, tmp_path / f"{name}.log")
        assert found == [expected]


def test_all_stages_of_a_tier_run_and_are_summed_up(runner, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "LOGS", tmp_path)
    monkeypatch.setattr(runner, "FIGURES", tmp_path / "nightly")
    monkeypatch.delenv("TEST_SECONDS", raising=False)
    for name in list(runner.NIGHTLY_STAGES):
        monkeypatch.setitem(runner.NIGHTLY_STAGES, name,
                            lambda asked, _, name=name: [runner.Case(name, "passed", "")])
    assert runner.main([]) == 0
    day = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"seeds begin at [1-9]\d* \(TESTS_FIRST_SEED\)", day[0])
    assert day[-1] == f"{len(runner.STAGES)} passed, 0 failed, 0 skipped"
    assert runner.main(["--nightly"]) == 0
    night = capsys.readouterr().out.splitlines()
    assert night[1] == "nightly: ends within 10.0 hours"
    assert night[-1] == f"{len(runner.NIGHTLY_STAGES)} passed, 0 failed, 0 skipped"
    assert runner.main(["frobnicate"]) == 2


class Nights:
    """Nights of three stages in a repository of their own; `becomes` says how the stages end."""

    def __init__(self, runner, folder):
        self.runner, self.folder, self.ran = runner, folder, []
        self.becomes = {"unit": "passed", "soak": "failed", "fuzz": "skipped"}
        self.git("init", "-q")
        self.commit("one")

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
                       cwd=self.folder, check=True)

    def commit(self, text):
        (self.folder / "file").write_text(text)
        self.git("add", "file")
        self.git("commit", "-q", "-m", text)

    def stage(self, name):
        def run(_runner, _log):
            self.ran.append(name)
            if self.becomes[name] == "cut off":
                raise KeyboardInterrupt
            return [self.runner.Case(f"{name}: one", self.becomes[name], "because")]
        return run

    def run(self, *words):
        """Which stages ran, and the exit status."""
        self.ran.clear()
        status = self.runner.main(["--nightly", *words])
        return self.ran, status


@pytest.fixture
def nights(runner, tmp_path, monkeypatch):
    root = tmp_path / "tree"
    root.mkdir()
    monkeypatch.setattr(runner, "ROOT", root)
    monkeypatch.setattr(runner, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(runner, "FIGURES", tmp_path / "nightly")
    monkeypatch.delenv("FUZZ_SECONDS", raising=False)
    found = Nights(runner, root)
    monkeypatch.setattr(runner, "NIGHTLY_STAGES", {name: found.stage(name) for name in found.becomes})
    return found


def last_line(capsys):
    return capsys.readouterr().out.splitlines()[-1]


def test_a_night_goes_on_where_it_ended(nights, capsys):
    assert nights.run() == (["unit", "soak", "fuzz"], 1)
    assert last_line(capsys) == "1 passed, 1 failed, 1 skipped"
    nights.becomes["soak"] = "passed"
    assert nights.run() == (["soak", "fuzz"], 0)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if "not run again" in line] == ["unit"]
    assert lines[-1] == "2 passed, 0 failed, 1 skipped"
    # Asked for by name it has passed as well; only --again runs it.
    assert nights.run("unit") == ([], 0)
    assert last_line(capsys) == "1 passed, 0 failed, 0 skipped"
    assert nights.run("--again") == (["unit", "soak", "fuzz"], 0)
    assert nights.runner.main(["--again"]) == 2


def test_what_passed_elsewhere_has_not_passed_here(nights, monkeypatch, capsys):
    nights.becomes = dict.fromkeys(nights.becomes, "passed")
    everything = list(nights.becomes)
    assert nights.run() == (everything, 0) and nights.run() == ([], 0)
    monkeypatch.setenv("FUZZ_SECONDS", "1")
    assert nights.run() == (everything, 0)
    nights.commit("two")
    assert nights.run() == (everything, 0) and nights.run() == ([], 0)
    capsys.readouterr()
    (nights.folder / "file").write_text("three")
    for _ in range(2):
        assert nights.run() == (everything, 0)
        assert "nightly: what passes now is not kept" in capsys.readouterr().out
    # Nor does it count later for the commit whose files it had not.
    nights.git("checkout", "-q", "file")
    assert nights.run() == (everything, 0)


def test_what_is_changed_in_the_midst_of_a_stage(nights):
    nights.becomes = {"unit": "passed"}

    def run(*_):
        (nights.folder / "file").write_text("changed")
        return nights.stage("unit")(None, None)
    nights.runner.NIGHTLY_STAGES = {"unit": run}
    assert nights.run() == (["unit"], 0)
    nights.git("checkout", "-q", "file")
    nights.runner.NIGHTLY_STAGES = {"unit": nights.stage("unit")}
    assert nights.run() == (["unit"], 0) and nights.run() == ([], 0)


def test_a_stage_that_is_cut_off_has_not_passed(nights):
    nights.becomes = dict.fromkeys(nights.becomes, "passed")
    nights.run()
    nights.becomes["soak"] = "cut off"
    with pytest.raises(KeyboardInterrupt):
        nights.run("--again")
    nights.becomes["soak"] = "passed"
    assert nights.run() == (["soak"], 0)


def test_the_nights_tables(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "FIGURES", tmp_path)
    monkeypatch.setattr(runner, "why_not", lambda _: None)
    monkeypatch.setattr(runner.shutil, "which", lambda _: "/usr/bin/smpicc")
    recorder = Recorder()
    for stage in (runner.stage_bench_lab, runner.stage_bench_scale, runner.stage_bench_verbs):
        assert {case.outcome for case in stage(recorder, tmp_path / "log")} == {"passed"}
    kept = [command[-1] for command, _ in recorder.asked if command[0].startswith("tools/bench")]
    assert kept == [f"{tmp_path}/{name}.json" for name in (
        "lab-collectives", "lab-multicast", "lab-prices", "scale", "verbs")]


@pytest.mark.parametrize("status, outcome", [(0, "passed"), (1, "failed"), (3, "skipped")])
def test_a_fresh_debian_that_cannot_be_had_is_a_skip(runner, tmp_path, status, outcome):
    log = tmp_path / "fresh.log"
    log.write_text("$ tools/fresh demo\nfresh: cannot be tried: only root can\n")
    recorder = Recorder(status)
    (case,) = runner.stage_fresh(recorder, log)
    assert case.outcome == outcome and recorder.asked[0][0] == ["tools/fresh", "demo"]
    if outcome == "skipped":
        assert case.detail == "cannot be tried: only root can"


def test_fuzz_targets_run_beside_each_other_and_count_one_each(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "LOGS", tmp_path)
    monkeypatch.setattr(runner, "JOBS", "2")
    monkeypatch.setattr(runner, "has_clang", lambda: True)
    monkeypatch.setattr(runner, "build", lambda *_: True)
    monkeypatch.delenv("FUZZ_SECONDS", raising=False)
    programs = tmp_path / "build/asan-ubsan/bin"
    programs.mkdir(parents=True)
    # Each of the first two waits for the other, which only ends where both run at once.
    meet = "touch {0}/{1}; until [ -e {0}/{2} ]; do sleep 0.1; done; echo $*"
    for name, script in (("fuzz_a", meet.format(tmp_path, "a", "b")),
                         ("fuzz_b", meet.format(tmp_path, "b", "a")),
                         ("fuzz_c", "echo crash; exit 77")):
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    cases = runner.stage_fuzz(runner.Runner(60), tmp_path / "fuzz.log")
    assert outcomes(cases) == [("fuzz: fuzz_a", "passed"), ("fuzz: fuzz_b", "passed"),
                               ("fuzz: fuzz_c", "failed")]
    assert "crash" in cases[2].detail
    assert "-max_total_time=5 " in (tmp_path / "fuzz_a.log").read_text()


def test_a_stage_that_reports_nothing_has_failed(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "LOGS", tmp_path)
    (tmp_path / "log").write_text("")
    cases = runner.run_binaries(runner.Runner(60), tmp_path / "log", "unit", tmp_path)
    assert outcomes(cases) == [("unit: no test ran", "failed")]


def test_a_failed_case_never_waits_for_the_night(runner):
    case = runner.Case("unit: A.Crash", "failed", "A.Late skipped: under TESTS_LONG\nsignal 6")
    assert runner.left_out(case) == case
    assert runner.left_out(case._replace(outcome="skipped")).outcome == runner.AT_NIGHT


def test_a_corpus_comes_back_as_it_was_packed(runner, tmp_path):
    inputs = {b"", b"\x00\xff", b"allreduce 8"}
    (tmp_path / "found").mkdir()
    for number, data in enumerate(inputs):
        (tmp_path / "found" / str(number)).write_bytes(data)
    from corpus import pack  # pylint: disable=import-outside-toplevel
    pack(tmp_path / "found", tmp_path / "kept.json")
    runner.unpack(tmp_path / "kept.json", tmp_path / "again")
    assert {path.read_bytes() for path in (tmp_path / "again").iterdir()} == inputs
    runner.unpack(tmp_path / "nothing.json", tmp_path / "none")
    assert not list((tmp_path / "none").iterdir())
