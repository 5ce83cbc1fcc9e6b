# SPDX-License-Identifier: BSD-3-Clause
"""The tuned file, which rank 0 finds by itself, under real MPIs; hosts are pretended ones."""
import re
import socket
import subprocess

import pytest

from harness import BARE, PRELOAD, TUTTI, run_command
from test_hosts import expect_across, quick
from test_site import under
from test_start import launch
from test_switches import CROSSED

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti that is tuned")

HOSTS = re.sub(r"[0-9]+", "#", socket.gethostname().partition(".")[0])
STALE = f'[tuned]\nmpi = "Other MPI"\nhosts = "{HOSTS}"\n'


def rule(algorithm):
    return f'[[rule]]\ncollective = "allreduce"\nhosts = "2.."\nalgorithm = "{algorithm}"\n'


@pytest.fixture
def config(tmp_path):
    """Writes a file of a user's folder; returns its name and the environment that leads to it."""
    def write(text, name="tuned.toml", folder="config"):
        path = tmp_path / folder / "tutti"
        path.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
        return str(path / name), {"XDG_CONFIG_HOME": str(tmp_path / folder)}
    return write


def tuned_for(mpi, config, more):
    """A file for this machine and MPI, whose name is what the line about another one tells."""
    _, env = config(STALE, folder="asked")
    outcome = mpi.launch("perturb", 2, options=quick(mpi), env=env).passed()
    (line,) = outcome.lines()
    version = re.search(r": it is for Other MPI, this is (.+); run tutti tune$", line).group(1)
    return f'[tuned]\nmpi = "{version}"\nhosts = "{HOSTS}, other#"\n{more}'


def ran(outcome, ranks=4):
    return {row["algorithm"] for row in outcome.report.rows if row["run_by"] == "tutti"
            and row["collective"] == "allreduce" and row["ranks"] == ranks}


def start(mpi, env, *options, ranks=4, program=("perturb",), **more):
    return mpi.launch(program[0], ranks, *program[1:], env=env,
                      options=["--hosts=4", *options, *quick(mpi)], **more)


def test_is_found_and_chosen_by(mpi, config):
    text = tuned_for(mpi, config, rule("chain"))
    file, env = config(text)
    outcome = start(mpi, env).passed()
    assert ran(outcome) == {"chain"}, outcome.report.rows
    assert outcome.report.data["tuned"] == file
    assert not outcome.lines(), str(outcome)
    # Rules of the user's go before it, and without it other algorithms run.
    config(rule("binomial"), "rules.toml")
    mine = start(mpi, env, "--rules=" + file.replace("tuned.toml", "rules.toml")).passed()
    assert ran(mine) == {"binomial"}, mine.report.rows
    off = start(mpi, env, "--tuned=off").passed()
    assert "chain" not in ran(off) and "tuned" not in off.report.data, off.report.rows
    assert not off.lines(), str(off)


@pytest.mark.check
def test_random_mixed(mpi, config):
    more = ('parameters = "ethernet-10g"\n' + rule("host").replace("hosts", 'bytes = "1K.."\nhosts')
            + CROSSED)
    text = tuned_for(mpi, config, "").replace("[tuned]", 'rate = "10gbit"\n[tuned]')
    head, _, rest = more.partition("\n")
    file, env = config(head + "\n" + text + rest)
    outcome = start(mpi, env, ranks=6,
                    program=("random_mixed", "--seed", 21, "--calls", 600)).passed()
    expect_across(outcome.report, 6, ())
    assert outcome.report.data["fabric"] == {"file": file, "hosts": 4, "switches": 2}
    assert not outcome.lines(), str(outcome)


def test_perturbed_arguments_same_plan(openmpi, config):
    """Invariant 1, with a tuned file."""
    _, env = config(tuned_for(openmpi, config, rule("ring") + CROSSED))
    plain = start(openmpi, env).passed()
    perturbed = start(openmpi, env, program=("perturb", "--perturbed", 3)).passed()
    assert plain.report.plan() == perturbed.report.plan()


def test_another_mpis_is_one_line(openmpi, config):
    file, env = config(STALE + rule("chain"))
    config(STALE, "tuned-2.toml")
    for given, options in ((env, []), ({}, [f"--tuned={file}"])):
        outcome = start(openmpi, given, *options).passed()
        (line,) = outcome.lines()
        assert line.startswith(f"tutti: tuned file {file.replace('tuned.toml', 'tuned-2.toml')}"
                               if given else f"tutti: tuned file {file}"), line
        assert " is not used: it is for Other MPI, this is Open MPI v" in line, line
        assert "chain" not in ran(outcome) and "tuned" not in outcome.report.data


def test_broken_one_that_nobody_named(openmpi, config):
    file, env = config("[tuned]\nmpi = 3\n")
    outcome = start(openmpi, env).passed()
    assert outcome.lines() == [
        f"tutti: tuned file is not used: {file}:2:7: mpi: expected a text, not 3"], str(outcome)


@pytest.mark.parametrize("text, words", [
    (None, "tuned file {}: No such file or directory"),
    ("[tuned]\nmpi = 3\n", "{}:2:7: mpi: expected a text, not 3"),
    ("built_in = false\n", "{}:1:1: no tuned file: it does not say [tuned]"),
])
def test_named_one_that_cannot_be_read(openmpi, config, text, words):
    file, _ = config(text or "")
    file = file if text else file + ".gone"
    outcome = start(openmpi, {}, f"--tuned={file}")
    assert outcome.status != 0 and outcome.lines() == ["tutti: " + words.format(file)], str(outcome)
    # The ranks themselves, where no command has looked before.
    env = {"LD_PRELOAD": PRELOAD, "TUTTI_TUNED": file}
    outcome = openmpi.launch("perturb", 2, tutti=False, env=env)
    assert outcome.status != 0 and outcome.lines() == ["tutti: " + words.format(file)], str(outcome)


def test_rank_0s_holds(debian_mpi, config):
    text = tuned_for(debian_mpi, config, "")
    file, _ = config(text + rule("chain"), folder="first")
    other, _ = config(text + rule("ring"), folder="second")
    first, second = (name.removesuffix("/tutti/tuned.toml") for name in (file, other))
    outcome = launch(debian_mpi, 0, f"export XDG_CONFIG_HOME={first}",
                     options=["--hosts=3", *quick(debian_mpi)],
                     env={"XDG_CONFIG_HOME": second}).passed()
    assert ran(outcome, 3) == {"chain"}, outcome.report.rows
    assert outcome.report.data["tuned"] == file
    assert not outcome.lines(), str(outcome)


def test_the_sites(openmpi, config):
    """Where the user has none that fits; `tutti info` lists them all."""
    text = tuned_for(openmpi, config, rule("chain"))
    site = [part.replace('exec "$@"', 'printf %s "$TEST_TUNED" >/etc/tutti/tuned.toml; exec "$@"')
            for part in under("")]
    mine, env = config(STALE)
    env["TEST_TUNED"] = text
    outcome = start(openmpi, env, wrap=site).passed()
    assert ran(outcome) == {"chain"}, outcome.report.rows
    assert outcome.report.data["tuned"] == "/etc/tutti/tuned.toml"
    assert not outcome.lines(), str(outcome)
    told = run_command([*site, TUTTI, "info"], env=env)
    assert f"{mine}, for Other MPI on {HOSTS}\n" in told.out, str(told)
    assert "/etc/tutti/tuned.toml, for Open MPI v" in told.out, str(told)


def test_explain(config):
    """Of whatever cluster it is, and behind the user's rules."""
    file, _ = config('parameters = "ethernet-10g"\n' + STALE + rule("chain"))
    rules, _ = config(rule("ring"), "rules.toml")

    def told(*options):
        words = [str(TUTTI), "explain", "allreduce", "--bytes", "1K", "--ranks", "4", *options]
        return subprocess.run(words, text=True, capture_output=True, check=True).stdout
    assert f"rule 1 of {file}" in told("--tuned", file)
    assert f"rule 1 of {rules}" in told("--tuned", file, "--rules", rules)
    assert "rule 1 of" not in told("--tuned", "off")
