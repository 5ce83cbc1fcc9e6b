# SPDX-License-Identifier: BSD-3-Clause
"""Jobs whose algorithms are chosen by price, under real MPIs; hosts are pretended ones."""
import json
import subprocess

import pytest

from harness import BARE, TUTTI
from test_hosts import expect_across, quick
from test_switches import CROSSED

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti that knows prices")

PARAMETERS = """
[parameters]
latency = "30us"
rate = "25mbit"
message = "5us"
"""


@pytest.fixture
def files(tmp_path):
    def write(text, name):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)
    return write


@pytest.mark.parametrize("placement, ranks", [("--hosts=4", 4), ("--hosts=4:round-robin", 6)])
def test_random_mixed(mpi, files, placement, ranks):
    options = [placement, f"--rules={files(PARAMETERS, 'tuned.toml')}",
               f"--fabric={files(CROSSED, 'fabric.toml')}"]
    outcome = mpi.launch("random_mixed", ranks, "--seed", 15, "--calls", 600,
                         options=[*options, *quick(mpi)]).passed()
    expect_across(outcome.report, ranks, ())
    assert not outcome.lines(), str(outcome)


def test_perturbed_arguments_same_plan(openmpi, files):
    """Invariant 1, with prices."""
    options = ["--hosts=4", f"--rules={files(PARAMETERS, 'tuned.toml')}",
               f"--fabric={files(CROSSED, 'fabric.toml')}"]
    plain = openmpi.launch("perturb", 4, options=options).passed()
    perturbed = openmpi.launch("perturb", 4, "--perturbed", 3, options=options).passed()
    assert plain.report.plan() == perturbed.report.plan()


def measured(report):
    """What teams across hosts have measured of their messages: alike on all their ranks."""
    return [row for row in report.data["multicast"] if row.get("message_bytes_per_s")]


@pytest.mark.parametrize("placement, ranks", [("--hosts=4", 4), ("--hosts=3:round-robin", 6)])
def test_measured_messages(mpi, placement, ranks):
    """Pretended hosts measure where somebody asks for it; results are right whatever they find."""
    options = [placement, "--price=on", *quick(mpi)]
    outcome = mpi.launch("random_mixed", ranks, "--seed", 16, "--calls", 600,
                         options=options).passed()
    expect_across(outcome.report, ranks, ())
    assert not outcome.lines(), str(outcome)
    rows = measured(outcome.report)
    assert rows and all(row["message_latency_s"] > 0 for row in rows), outcome.report.data


def test_perturbed_arguments_with_measured_messages(openmpi):
    """Ranks that chose by their own measurement would not meet in one algorithm."""
    for seed in (3, 8):
        options = ["--hosts=4", "--price=on"]
        outcome = openmpi.launch("perturb", 4, "--perturbed", seed, options=options).passed()
        assert measured(outcome.report), outcome.report.data
        assert not outcome.lines(), str(outcome)


def test_measured_messages_replace_a_presets(openmpi, files):
    preset = files("parameters = \"ethernet-10g\"\n", "preset.toml")
    own = files(PARAMETERS, "own.toml")
    for rules, is_measured in ((preset, True), (own, False)):
        options = ["--hosts=4", "--price=on", f"--rules={rules}"]
        outcome = openmpi.launch("perturb", 4, options=options).passed()
        assert bool(measured(outcome.report)) == is_measured, outcome.report.data


@pytest.mark.parametrize("options", [[], ["--price=off"], ["--price=on", "--check=1"]],
                         ids=" ".join)
def test_nobody_measures_unasked(openmpi, options):
    outcome = openmpi.launch("perturb", 4, options=["--hosts=4", *options]).passed()
    assert not measured(outcome.report), outcome.report.data


@pytest.mark.check
def test_prices_choose(openmpi, files):
    """On slow links what sends the fewest bytes runs, on fast ones what sends the fewest messages."""
    def plan_by(parameters):
        options = ["--hosts=4", f"--rules={files(parameters, 'tuned.toml')}"]
        return openmpi.launch("perturb", 4, options=options).passed().report.plan()
    slow = PARAMETERS.replace("25mbit", "1mbit").replace("30us", "1us")
    fast = PARAMETERS.replace("25mbit", "400gbit").replace("30us", "1ms")
    assert plan_by(slow) != plan_by(fast)


@pytest.mark.parametrize("text, words", [
    ("[parameters]\nlatency = 3\n", ":2:11: latency = 3: expected a time such as"),
    ("parameters = \"rangr\"\n", ":1:14: unknown preset rangr: "),
    ("[parameters]\nrat = \"1gbit\"\n", ":2:1: unknown key rat; did you mean rate?"),
])
@pytest.mark.check
def test_bad_parameters(openmpi, files, text, words):
    file = files(text, "tuned.toml")
    outcome = openmpi.launch("simple", 4, options=["--hosts=4", f"--rules={file}"])
    assert outcome.status != 0
    assert any(file + words in line for line in outcome.lines()), str(outcome)


def test_measured_beside_predicted(openmpi, files, tmp_path):
    rules = files(PARAMETERS, "tuned.toml")
    outcome = openmpi.launch("perturb", 4, options=["--hosts=4", f"--rules={rules}"]).passed()
    report = files(json.dumps(outcome.report.data), "report.json")
    words = [str(TUTTI), "explain", "allreduce", "--bytes", "1K", "--ranks", "4",
             "--rules", rules, "--against"]
    told = subprocess.run([*words, report], text=True, capture_output=True, check=True).stdout
    table = told.partition(report)[2]
    ran = [row for row in outcome.report.rows if row["collective"] == "allreduce"
           and row["ranks"] == 4 and row["run_by"] == "tutti"]
    assert ran and all(row["algorithm"] in table for row in ran), told
    wrong = subprocess.run([*words, files("{}", "empty.json")], text=True, capture_output=True,
                           check=False)
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1, wrong.stderr
