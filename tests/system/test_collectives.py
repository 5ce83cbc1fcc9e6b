# SPDX-License-Identifier: BSD-3-Clause
"""The results are right: every program of tests/mpi that checks results, under every MPI."""
import pytest

from harness import BARE, expect_taken_over

MOVES = ("barrier", "bcast", "gather", "scatter", "allgather")


def skip_bare(mpi, name, why):
    if BARE and mpi.name == name:
        pytest.skip(f"{name} without Tutti: {why}")


@pytest.mark.check
def test_moves(mpi):
    expect_taken_over(mpi.launch("moves", 3, "edges").passed().report, 3, MOVES)


@pytest.mark.check
def test_reductions(mpi):
    outcome = mpi.launch("reductions", 3).passed()
    expect_taken_over(outcome.report, 3, ("barrier", "reduce", "allreduce"))


@pytest.mark.check
def test_derived_datatypes(mpi):
    skip_bare(mpi, "pypi-impi", "chooses its allgather by the local datatype and fails")
    # Intel MPI crashes in its own gather of unlike datatypes, to which the first calls would go.
    options = ["--warmup=0"] if mpi.name == "pypi-impi" else []
    expect_taken_over(mpi.launch("layouts", 3, options=options).passed().report, 3,
                      (*MOVES, "alltoall"))


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.check
def test_alltoall(mpi, ranks):
    expect_taken_over(mpi.launch("alltoall", ranks).passed().report, ranks, ("alltoall",))


def test_large_alltoall(debian_mpi):
    outcome = debian_mpi.launch("alltoall", 2, "large").passed()
    expect_taken_over(outcome.report, 2, ("alltoall",))


VECTORS = ("gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw")


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.check
def test_vector_forms(mpi, ranks):
    # Hosts, to which the first calls would go, fail where datatypes are unlike.
    outcome = mpi.launch("vectors", ranks, options=["--warmup=0"]).passed()
    expect_taken_over(outcome.report, ranks, VECTORS)


@pytest.mark.check
def test_vector_forms_where_threads_may_call(mpi):
    """A call keeps what it knows of a datatype."""
    outcome = mpi.launch("vectors", 3, "threads", options=["--warmup=0"]).passed()
    expect_taken_over(outcome.report, 3, VECTORS)


def test_large_vector_forms(debian_mpi):
    outcome = debian_mpi.launch("vectors", 2, "large").passed()
    expect_taken_over(outcome.report, 2, VECTORS)


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.check
def test_reduce_scatter(mpi, ranks):
    outcome = mpi.launch("reduce_vectors", ranks).passed()
    expect_taken_over(outcome.report, ranks, ("reduce_scatter",))


@pytest.mark.parametrize("program, ways", [("vectors", []), ("vectors", ["--alltoallv=leaders"]),
                                           ("vectors", ["--alltoallv=linear"]),
                                           ("reduce_vectors", [])])
@pytest.mark.parametrize("hosts", ["2", "2:round-robin", "4"])
@pytest.mark.sampled
def test_vector_forms_across_hosts(mpi, program, ways, hosts):
    """By the rules; and an alltoallv by both of its ways."""
    mpi.launch(program, 4, "few", options=[f"--hosts={hosts}", "--warmup=0", *ways],
               timeout=240).passed()


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.check
def test_scans(mpi, ranks):
    expect_taken_over(mpi.launch("scans", ranks).passed().report, ranks, ("scan", "exscan"))


WAYS = [("alltoall", []), ("alltoall", ["--alltoall=linear"]), ("alltoall", ["--alltoall=bruck"]),
        ("layouts", ["--alltoall=pairwise"]), ("scans", []),
        ("scans", ["--scan=doubling", "--exscan=doubling_123"]),
        ("scans", ["--scan=tree", "--exscan=tree"]), ("scans", ["--scan=chain", "--exscan=chain"])]


@pytest.mark.parametrize("program, ways", WAYS,
                         ids=[" ".join([program, *ways]) for program, ways in WAYS])
@pytest.mark.parametrize("hosts", ["2", "2:round-robin", "4"])
@pytest.mark.sampled
def test_across_hosts(mpi, program, ways, hosts):
    """By the rules, and by each of the algorithms."""
    outcome = mpi.launch(program, 4, options=[f"--hosts={hosts}", "--warmup=0", *ways]).passed()
    for way in ways:
        name = way[2:way.index("=")]
        assert BARE or outcome.report.calls("tutti", name, 4) > 0, outcome.report.rows


@pytest.mark.check
def test_user_operators(mpi):
    expect_taken_over(mpi.launch("user_ops", 3).passed().report, 3, ("reduce", "allreduce"))


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.check
def test_random_mixed_from_threads(mpi, ranks):
    skip_bare(mpi, "debian-mpich", "crashes in a reduce in place at a root other than 0")
    outcome = mpi.launch("random_mixed", ranks, "--seed", 20 + ranks, "--calls", 1000).passed()
    expect_taken_over(outcome.report, ranks)


@pytest.mark.parametrize("ranks", [1, 2, 5, 8])
def test_team_sizes(openmpi, ranks):
    for program, args in (("moves", ["edges"]), ("user_ops", []), ("layouts", [])):
        outcome = openmpi.launch(program, ranks, *args).passed()
        if ranks > 1:
            expect_taken_over(outcome.report, ranks, ())
            assert BARE or outcome.report.calls("tutti", ranks=ranks) > 100


@pytest.mark.parametrize("ranks", [2, 8])
def test_more_reductions(openmpi, ranks):
    outcome = openmpi.launch("reductions", ranks, 1, 5, 2000).passed()
    expect_taken_over(outcome.report, ranks, ("reduce", "allreduce"))


def test_64_mebibytes(debian_mpi):
    outcome = debian_mpi.launch("moves", 2, "large").passed()
    expect_taken_over(outcome.report, 2, MOVES)
    if not BARE:
        large = {row["collective"] for row in outcome.report.rows
                 if row["size_class"] == "> 1 MiB" and row["run_by"] == "tutti"}
        assert large == set(MOVES) - {"barrier"}, outcome.report.rows


@pytest.mark.parametrize("options", [["--chunk=1024"], ["--layout=tree"], ["--layout=flat"],
                                     ["--reproducible=1"], ["--check=1"], ["--isa=baseline"],
                                     ["--topology=pack:2 l3:2 core:2 pu:1", "--layout=tree"]],
                         ids=" ".join)
@pytest.mark.sampled
def test_settings_do_not_change_results(openmpi, options):
    for program in ("user_ops", "simple"):
        openmpi.launch(program, 4, options=options).passed()
    openmpi.launch("reductions", 3, 3, 700, options=options).passed()


@pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to name anything")
def test_named_node_algorithm(mpi):
    """TUTTI_ALLREDUCE=node:... shows in the report, and the results stay right."""
    rules = {"TUTTI_ALLREDUCE": "node:split", "TUTTI_BCAST": "node:pipeline"}
    outcome = mpi.launch("reductions", 3, env=rules).passed()
    expect_taken_over(outcome.report, 3, ("barrier", "reduce", "allreduce"))
    ran = {(row["collective"], row["algorithm"]) for row in outcome.report.rows
           if row["run_by"] == "tutti" and row["ranks"] == 3 and row["size_class"] != "0"}
    assert {name for collective, name in ran if collective == "allreduce"} == {"split"}, ran
    assert "split" not in {name for collective, name in ran if collective == "barrier"}, ran


def scattering(algorithm):
    """Rules: operators that commute by this algorithm, others by the one that takes all."""
    table = '[[rule]]\ncollective = "reduce_scatter_block"\nhosts = "2.."\n'
    commuting = f'{table}commutative = true\nalgorithm = "{algorithm}"\n'
    return {"TUTTI_RULES_TEXT": commuting + f'{table}algorithm = "direct"\n'}


@pytest.mark.parametrize("ranks, hosts, algorithm", [
    (2, None, None), (3, None, None), (3, "3", None), (3, "2", "direct"),
    (4, "2:round-robin", "direct"), (4, "2", "ring"), (4, "4", "halving"), (5, "5", "ring"),
    (4, "2:round-robin", "pairwise")])
@pytest.mark.check
def test_reduce_scatter_block(mpi, ranks, hosts, algorithm):
    outcome = mpi.launch("reduce_scatter", ranks, options=[f"--hosts={hosts}"] if hosts else [],
                         env=scattering(algorithm) if algorithm else {}).passed()
    expect_taken_over(outcome.report, ranks, ("reduce_scatter_block",))
    if algorithm and not BARE:
        assert algorithm in {row.get("algorithm") for row in outcome.report.rows
                             if row["collective"] == "reduce_scatter_block"}
