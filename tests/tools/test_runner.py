# SPDX-License-Identifier: BSD-3-Clause
"""tools/test counts what really happened."""
import importlib.machinery
import importlib.util
import pathlib
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "test"


@pytest.fixture(scope="module")
def runner():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("tutti_test_runner", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


CTEST = """<?xml version="1.0"?>
<testsuite name="tutti">
  <testcase name="Good" classname="Good" status="run"><system-out>ok</system-out></testcase>
  <testcase name="Bad" classname="Bad" status="fail"><failure message="Failed"/>
    <system-out>expected 1, saw 2</system-out></testcase>
  <testcase name="Crash" classname="Crash" status="fail"><failure message="SEGFAULT"/>
    <system-out></system-out></testcase>
  <testcase name="Absent" classname="Absent" status="notrun">
    <skipped message="Unable to find executable"/><system-out>Unable to find</system-out></testcase>
  <testcase name="Skipped" classname="Skipped" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <system-out>[ RUN ] a
/src/a.cpp:12: Skipped
no such device
[  SKIPPED ] a</system-out></testcase>
</testsuite>
"""

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


def test_ctest_report(runner, tmp_path):
    (tmp_path / "r.xml").write_text(CTEST)
    cases = runner.read_junit(tmp_path / "r.xml", "unit")
    assert outcomes(cases) == [("unit: Good", "passed"), ("unit: Bad", "failed"),
                               ("unit: Crash", "failed"), ("unit: Absent", "failed"),
                               ("unit: Skipped", "skipped")]
    assert cases[4].detail == "no such device"
    assert "saw 2" in cases[1].detail


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


def test_a_stage_without_time_is_skipped_by_name(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "LOGS", tmp_path)
    cases = runner.run_stage(runner.Runner(0), "tidy")
    assert outcomes(cases) == [("tidy: the whole stage", "skipped")]


@pytest.mark.parametrize("stage, outcome", [("unit", "failed"), ("tsan", "skipped"),
                                            ("asan-ubsan", "skipped"), ("fuzz", "skipped")])
def test_only_what_is_optional_may_stay_unbuilt(runner, tmp_path, monkeypatch, stage, outcome):
    monkeypatch.setattr(runner, "LOGS", tmp_path)
    monkeypatch.setattr(runner, "WORTH_BEGINNING_S", 0)

    class Slow(runner.Runner):
        def run(self, log, command, **environment):
            raise runner.OutOfTime

    cases = runner.run_stage(Slow(60), stage)
    assert outcomes(cases) == [(f"{stage}: the whole stage", outcome)]


def test_a_stage_that_is_cut_off_while_it_runs_has_not_passed(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "LOGS", tmp_path)

    def cut_off(*_):
        raise runner.OutOfTime

    for stage, expected in (("system", ("system: out of time", "failed")),
                            ("tsan", ("tsan: the whole stage", "skipped"))):
        monkeypatch.setitem(runner.STAGES, stage, cut_off)
        assert outcomes(runner.run_stage(runner.Runner(600), stage)) == [expected]


def test_a_stage_that_reports_nothing_has_failed(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "LOGS", tmp_path)
    (tmp_path / "log").write_text("")
    cases = runner.run_ctest(runner.Runner(60), tmp_path / "log", "unit", tmp_path)
    assert outcomes(cases) == [("unit: no test ran", "failed")]
