# SPDX-License-Identifier: BSD-3-Clause
"""Teams across hosts, pretended ones (TUTTI_HOSTS) and those of an emulated cluster: what holds on
one node holds there too."""
import pytest

from harness import BARE, expect_taken_over
from test_behaviour import private_shm, swept
from test_collectives import MOVES
from test_cluster import HOSTS, UNFINISHED, cluster, on  # noqa: F401, a fixture

needs_tutti = pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to look at")
PLACEMENTS = ["--hosts=2", "--hosts=3:round-robin"]
# What a team across hosts runs; the node level alone has other names.
ACROSS = {"adaptive", "binomial", "bruck", "chain", "circulant", "direct", "dissemination",
          "doubling", "doubling_123", "gather_multicast", "halving", "leaders", "linear", "multicast",
          "pairwise", "pipelined_ring", "rabenseifner", "recursive_doubling", "ring",
          "rotated_chain", "scatter_allgather", "tree"}


def expect_across(report, ranks, collectives):
    expect_taken_over_or_left(report, ranks, collectives)
    if not BARE:
        names = {row["algorithm"] for row in report.rows
                 if row["run_by"] == "tutti" and row["ranks"] == ranks}
        assert names and names <= ACROSS, names


def expect_taken_over_or_left(report, ranks, collectives):
    """As expect_taken_over; what the rules leave to the host is ordinary as well."""
    if BARE:
        return
    for row in report.rows:
        if row["run_by"] == "host" and "the rules leave it" in row["reason"]:
            row["reason"] = "not taken over yet"
    expect_taken_over(report, ranks, collectives)


def quick(mpi):
    """The first calls would go to the host, and MPICH 4.0.2 crashes in a reduce in place at a root
    other than 0, Intel MPI 2021.18.1 in a gather of unlike datatypes, both without Tutti too."""
    return ["--warmup=0"] if mpi.name in ("debian-mpich", "pypi-impi") else []


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.check
def test_random_mixed_from_threads(mpi, placement):
    outcome = mpi.launch("random_mixed", 4, "--seed", 31, "--calls", 1000,
                         options=[placement, *quick(mpi)]).passed()
    expect_across(outcome.report, 4, ())


FOLLOWING = ["--barrier=adaptive", "--allreduce=adaptive", "--bcast=adaptive"]


@pytest.mark.parametrize("placement", PLACEMENTS + ["--hosts=5"])
def test_random_mixed_that_follows_arrival(mpi, placement):
    outcome = mpi.launch("random_mixed", 5, "--seed", 37, "--calls", 600,
                         options=[placement, *FOLLOWING, *quick(mpi)]).passed()
    if BARE:
        return
    rows = [row for row in outcome.report.rows if row["run_by"] == "tutti"
            and row["ranks"] == 5 and row["collective"] in ("barrier", "allreduce", "bcast")]
    assert {row["algorithm"] for row in rows} == {"adaptive"}, rows


@needs_tutti
@pytest.mark.parametrize("hosts", [4, 2])
def test_stall_names_who_is_late_where_all_wait_for_it(debian_mpi, hosts):
    outcome = debian_mpi.launch("misuse", 4, "late",
                                options=["--stall=1", f"--hosts={hosts}", *FOLLOWING]).passed()
    lines = outcome.lines()
    assert any("rank 1 (on pretended host " in line and "barrier" in line for line in lines), \
        str(outcome)


@pytest.mark.parametrize("program, args, collectives", [
    ("moves", ["edges"], MOVES), ("user_ops", [], ("reduce", "allreduce")),
    ("layouts", [], MOVES), ("reductions", [3, 1, 700], ("reduce", "allreduce")),
], ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.check
def test_collectives(mpi, program, args, collectives):
    outcome = mpi.launch(program, 3, *args, options=["--hosts=2", *quick(mpi)]).passed()
    expect_across(outcome.report, 3, collectives)


@pytest.mark.parametrize("options", [["--hosts=1"], ["--hosts=4"], ["--check=1"],
                                     ["--reproducible=1"], ["--heterogeneous=1"], ["--allreduce=ring:flat"],
                                     ["--bcast=chain:segment=4K,leaders=2"],
                                     ["--allgather=host"],
                                     ["--allreduce=adaptive:fan_in=2,segment=1K"],
                                     ["--bcast=adaptive:fan_in=3,segment=256"]], ids=" ".join)
@pytest.mark.sampled
def test_settings_do_not_change_results(openmpi, options):
    for program in ("user_ops", "simple"):
        if program == "user_ops" and "--allreduce=ring" in options[0]:
            continue  # some of them do not commute, which is an error of that call
        openmpi.launch(program, 4, options=["--hosts=2", *options]).passed()


def test_perturbed_arguments_same_plan(openmpi):
    options = ["--hosts=2"]
    plain = openmpi.launch("perturb", 4, options=options).passed()
    perturbed = openmpi.launch("perturb", 4, "--perturbed", 3, options=options).passed()
    if not BARE:
        assert plain.report.plan() == perturbed.report.plan()


@pytest.mark.check
def test_progress_while_waiting(mpi):
    expect_across(mpi.launch("progress", 3, options=["--hosts=2"], timeout=60).passed().report, 3,
                  ())


def test_a_thousand_communicators(openmpi):
    openmpi.launch("comms", 2, 1000, options=["--hosts=2"]).passed()


@needs_tutti
@pytest.mark.parametrize("what", ["collective", "root", "operator", "type", "kind", "bytes", "vector", "host",
                                  "first"])
def test_check_names_the_ranks(debian_mpi, what):
    outcome = debian_mpi.launch("misuse", 3, what, options=["--check=1", "--hosts=3"], timeout=60,
                                wrap=swept(), with_report=False)
    assert outcome.status != 0, str(outcome)
    assert "was not noticed" not in outcome.err, str(outcome)
    lines = outcome.lines()
    assert len(lines) == 1, str(outcome)
    assert "mismatch" in lines[0] and "rank 1:" in lines[0] and "ranks 0, 2:" in lines[0], lines


def test_check_passes_legal_programs(mpi):
    outcome = mpi.launch("misuse", 3, "legal", options=["--check=1", "--hosts=2"]).passed()
    assert not outcome.lines(), str(outcome)


@needs_tutti
def test_stall_names_the_late_rank(debian_mpi):
    outcome = debian_mpi.launch("misuse", 3, "late", options=["--stall=1", "--hosts=3"]).passed()
    lines = outcome.lines()
    assert any("rank 1 (on pretended host 1)" in line and "barrier" in line for line in lines), \
        str(outcome)


@pytest.mark.parametrize("options", [["--hosts=2"], ["--hosts=3", *FOLLOWING]], ids=" ".join)
def test_killed_rank_ends_the_job(mpi, options):
    outcome = mpi.launch("misuse", 3, "killed", wrap=private_shm()("512m"), timeout=60,
                         options=options)
    assert outcome.status != 0, str(outcome)
    assert not [line for line in outcome.out.splitlines()
                if line.startswith("left in shm: ") and "tutti" in line], str(outcome)


@needs_tutti
def test_forced_algorithm_that_cannot_run(openmpi):
    outcome = openmpi.launch("user_ops", 3, options=["--hosts=2", "--allreduce=ring"],
                             wrap=swept(), with_report=False)
    assert outcome.status != 0, str(outcome)
    lines = outcome.lines()
    assert len(lines) == 1 and "TUTTI_ALLREDUCE=ring" in lines[0], str(outcome)


@pytest.mark.parametrize("placement", ["block", "round-robin"])
def test_random_mixed_on_an_emulated_cluster(cluster, mpi, placement):  # noqa: F811
    if mpi.name == UNFINISHED:
        pytest.skip(f"{mpi.name} hangs in MPI_Finalize over TCP, without a lab too")
    ranks = 2 * HOSTS
    wrap = on(cluster, "--ranks-per-host", "2", "--placement", placement)
    outcome = mpi.launch("random_mixed", ranks, "--seed", 5, "--calls", 200, "--threads", 1,
                         wrap=wrap).passed()
    expect_across(outcome.report, ranks, ())


def test_a_thousand_calls_from_threads_on_an_emulated_cluster(cluster, one_of_each):  # noqa: F811
    outcome = one_of_each.launch("random_mixed", HOSTS, "--seed", 32, "--calls", 1000,
                                 wrap=on(cluster)).passed()
    assert "one thread only" not in outcome.err, str(outcome)
    expect_across(outcome.report, HOSTS, ())


def test_progress_on_an_emulated_cluster(cluster, one_of_each):  # noqa: F811
    outcome = one_of_each.launch("progress", HOSTS, wrap=on(cluster)).passed()
    expect_across(outcome.report, HOSTS, ())


@needs_tutti
def test_check_names_the_ranks_on_an_emulated_cluster(cluster, one_of_each):  # noqa: F811
    outcome = one_of_each.launch("misuse", HOSTS, "operator", options=["--check=1"],
                                 wrap=on(cluster), with_report=False)
    assert outcome.status != 0 and "was not noticed" not in outcome.err, str(outcome)
    lines = outcome.lines()
    assert len(lines) == 1, str(outcome)
    assert "rank 1: allreduce MAX" in lines[0] and "ranks 0, 2, 3: allreduce SUM" in lines[0], lines


@needs_tutti
def test_stall_names_the_late_rank_on_an_emulated_cluster(cluster, one_of_each):  # noqa: F811
    outcome = one_of_each.launch("misuse", HOSTS, "late", options=["--stall=1"],
                                 wrap=on(cluster)).passed()
    lines = outcome.lines()
    assert any("rank 1 (on h1)" in line and "barrier" in line for line in lines), str(outcome)


def test_killed_rank_ends_the_job_on_an_emulated_cluster(cluster, one_of_each):  # noqa: F811
    """The launcher ends the others: the lab would say so if it had to do that itself."""
    outcome = one_of_each.launch("misuse", HOSTS, "killed", wrap=on(cluster), with_report=False)
    assert outcome.status != 0 and "outlived" not in outcome.err, str(outcome)
