# SPDX-License-Identifier: BSD-3-Clause
"""`tutti tune` under real launchers; hosts are pretended ones."""
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import tomllib

import pytest

from harness import BARE, NIGHT, TUTTI, clean_environment, end_marked, run_command

pytestmark = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to tune")

SECONDS = "--seconds=9"


def launcher(mpi, ranks):
    return [str(word) for word in (mpi.launcher, *mpi.flags, "-n", ranks)]


def tune(mpi, ranks, *options, hosts="4", env=None):
    variables = {"TUTTI_MCAST": "off", **({"TUTTI_HOSTS": hosts} if hosts else {}), **(env or {})}
    return run_command([TUTTI, "tune", *options, "--", *launcher(mpi, ranks)], env=variables)


def start(mpi, file, mark):
    """A tune of four pretended hosts that is long enough to be disturbed."""
    return subprocess.Popen(
        [str(TUTTI), "tune", f"-o={file}", "--seconds=30", "--", *launcher(mpi, 4)],
        env=clean_environment({"TUTTI_HOSTS": "4", "SYSTEST_RUN": mark}), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def read(file):
    return tomllib.loads(pathlib.Path(file).read_text())


def assert_tells_both_sides(rule):
    """Something of Tutti's ran beside the host MPI's own."""
    assert rule["why"].startswith("measured: "), rule
    if rule["algorithm"] == "host":
        assert "your MPI" not in rule["why"] and ", " in rule["why"], rule
    else:
        assert ", your MPI " in rule["why"], rule


def test_writes_what_programs_run_by(mpi, tmp_path):
    """From nothing to a file, and a program that runs by it."""
    file = tmp_path / "tuned.toml"
    outcome = tune(mpi, 4, f"-o={file}", SECONDS)
    assert outcome.status == 0, outcome
    assert f"written     {file}" in outcome.out, outcome
    assert os.listdir(tmp_path) == ["tuned.toml"]
    tuned = read(file)
    assert tuned["tuned"]["hosts"] == re.sub(r"\d+", "#", socket.gethostname().split(".")[0])
    assert tuned["tuned"]["about"] == "4 hosts, 1 rank a host"
    assert {"latency", "rate", "message", "eager", "flag", "copy", "fold"} <= tuned["parameters"].keys()
    rules = tuned["rule"]
    # How many there is time for is the machine's.
    assert len({rule["collective"] for rule in rules}) >= 2, rules
    for rule in rules:
        assert (rule["ranks"], rule["hosts"], rule["ranks_per_host"]) == (4, 4, 1)
        assert_tells_both_sides(rule)
    ran = mpi.launch("perturb", 4, options=["--hosts=4", f"--tuned={file}"]).passed()
    assert not ran.lines(), ran
    # The first rule of a collective is about its shortest calls.
    collective = next(rule["collective"] for rule in rules if rule["collective"] != "barrier")
    told = subprocess.run([str(TUTTI), "explain", collective, "--bytes=8", "--ranks=4",
                           "--hosts=4", f"--tuned={file}"],
                          text=True, capture_output=True, check=True).stdout
    assert f" of {file}" in told, told


def test_on_one_host_the_node_level_and_the_host(openmpi, tmp_path):
    file = tmp_path / "tuned.toml"
    outcome = tune(openmpi, 2, f"-o={file}", SECONDS, hosts=None)
    assert outcome.status == 0, outcome
    tuned = read(file)
    assert "parameters" not in tuned
    assert {rule["algorithm"] for rule in tuned["rule"]} <= {"node", "host"}
    assert {rule["hosts"] for rule in tuned["rule"]} == {1}
    for rule in tuned["rule"]:
        assert_tells_both_sides(rule)
        assert rule["algorithm"] == "node" or ", node " in rule["why"], rule
    openmpi.launch("simple", 2, options=[f"--tuned={file}"]).passed()


def test_found_by_itself(openmpi, tmp_path):
    """Without -o it goes where runs look."""
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    outcome = tune(openmpi, 2, SECONDS, hosts="2", env=env)
    assert outcome.status == 0, outcome
    assert os.listdir(tmp_path / "tutti") == ["tuned.toml"]


def test_another_clusters_file_is_not_written_over(openmpi, tmp_path):
    (tmp_path / "tutti").mkdir()
    file = tmp_path / "tutti" / "tuned.toml"
    text = '[tuned]\nmpi = "Open MPI v0.1"\nhosts = "n#"\n'
    file.write_text(text)
    outcome = tune(openmpi, 2, SECONDS, hosts="2", env={"XDG_CONFIG_HOME": str(tmp_path)})
    assert outcome.status != 0
    assert f"tutti tune: {file}: it is for Open MPI v0.1, this is " in outcome.err, outcome
    assert file.read_text() == text
    assert os.listdir(file.parent) == ["tuned.toml"]


@NIGHT
def test_rules_of_other_jobs_stay(openmpi, tmp_path):
    file = tmp_path / "tuned.toml"
    for ranks in (2, 3):
        outcome = tune(openmpi, ranks, f"-o={file}", "--seconds=5", hosts=str(ranks))
        assert outcome.status == 0, outcome
    assert "stay, of other jobs" in outcome.out, outcome
    assert {rule["ranks"] for rule in read(file)["rule"]} == {2, 3}


@NIGHT
def test_settings_that_would_slow_one_side_are_left_out(openmpi, tmp_path):
    report = tmp_path / "report.json"
    outcome = tune(openmpi, 2, f"-o={tmp_path / 't.toml'}", "--seconds=5", hosts="2",
                   env={"TUTTI_CHECK": "1", "TUTTI_REPORT": str(report)})
    assert outcome.status == 0, outcome
    assert "tutti tune: TUTTI_CHECK is left out while it measures" in outcome.err.splitlines()
    assert not report.exists()


@pytest.mark.parametrize("after_s", [0, 1.5, 4])
def test_an_interrupt_leaves_the_former_file(openmpi, tmp_path, after_s):
    file = tmp_path / "tuned.toml"
    file.write_text("# mine\n")
    mark = f"{os.getpid()}-{after_s}"
    process = start(openmpi, file, mark)
    try:
        assert process.stdout.readline().startswith("job ")
        time.sleep(after_s)
        os.kill(process.pid, signal.SIGINT)  # it hands it on, once
        _, err = process.communicate(timeout=60)
    finally:
        stayed = end_marked(f"SYSTEST_RUN={mark}", patience_s=20)
    assert process.returncode != 0
    assert f"{file} was not written" in err, err
    assert file.read_text() == "# mine\n"
    assert os.listdir(tmp_path) == ["tuned.toml"]
    assert stayed == 0


@pytest.mark.parametrize("words, message", [
    (["--second=3"], "tutti tune: unknown option --second; did you mean --seconds?"),
    (["--seconds=1"], "tutti tune: --seconds=1: expected a number from 5 to 3600"),
    (["mpirun"], "tutti tune: unexpected word mpirun; the launcher stands behind --"),
    (["-o=/nowhere/t.toml"], "tutti tune: /nowhere/t.toml: no such directory"),
    (["-o=t.toml", "--", "nolauncher"], "tutti tune: nolauncher: no such program"),
])
def test_bad_words(words, message, tmp_path):
    outcome = run_command([str(TUTTI), "tune", *words], cwd=tmp_path)
    assert outcome.status == 2
    assert [line for line in outcome.err.splitlines() if line][-1].startswith(message), outcome
    assert not os.listdir(tmp_path)


def test_a_broken_description_is_one_line(openmpi, tmp_path):
    bad = tmp_path / "fabric.toml"
    bad.write_text("[[switch]]\nnam = 1\n")
    outcome = tune(openmpi, 4, f"-o={tmp_path / 't.toml'}", SECONDS, env={"TUTTI_FABRIC": str(bad)})
    assert outcome.status != 0
    assert f"{bad}:2:" in outcome.err, outcome
    assert not (tmp_path / "t.toml").exists()


def test_started_as_a_program_it_says_how(openmpi):
    outcome = openmpi.launch(TUTTI, 2, "tune", with_report=False)
    assert outcome.status != 0
    assert "it starts the job itself: tutti tune -- mpirun ..." in outcome.err, outcome


def test_a_batch_script_of_slurm_is_no_rank():
    outcome = run_command([TUTTI, "tune", "--seconds=1"], env={"SLURM_PROCID": "0"})
    assert "--seconds=1: expected a number" in outcome.err, outcome


@NIGHT
def test_what_hangs_is_ended(openmpi, tmp_path):
    file = tmp_path / "t.toml"
    mark = f"{os.getpid()}-hang"
    process = start(openmpi, file, mark)
    try:
        assert process.stdout.readline().startswith("job ")
        ranks = subprocess.run(["pgrep", "-f", f"tune --job=links --into={file}"], text=True,
                               capture_output=True, check=True).stdout.split()
        os.kill(int(ranks[-1]), signal.SIGSTOP)
        _, err = process.communicate(timeout=100)
    finally:
        end_marked(f"SYSTEST_RUN={mark}", patience_s=20)
    assert process.returncode != 0
    assert "no progress: is a host gone?" in err, err
    assert not file.exists()
