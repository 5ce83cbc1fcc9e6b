# SPDX-License-Identifier: BSD-3-Clause
"""TUTTI_VERIFY: calls that the host MPI runs too; a wrong result is found, a right one never is."""
import pytest

from harness import BARE, LONG

pytestmark = pytest.mark.skipif(BARE, reason="nothing is verified without Tutti")

CLEAN = ["moves", "layouts", "alltoall", "reductions", "reduce_scatter", "scans", "user_ops", "verify",
         "vectors", "reduce_vectors"]
MARKED = ["MPI_Allreduce of double, sum, 616 bytes;", "MPI_Reduce of int32, maximum, 308 bytes, root",
          "MPI_Bcast, 308 bytes, root", "MPI_Gather, 308 bytes a block, root",
          "MPI_Allgather, 308 bytes a block;", "MPI_Scatter, 308 bytes a block, root",
          "MPI_Reduce_scatter_block of int32, maximum, 308 bytes a block;",
          "MPI_Alltoall, 308 bytes a block;", "MPI_Scan of double, sum, 616 bytes;",
          "MPI_Exscan of int32, maximum, 308 bytes;"]
# Of three ranks.
MARKED_VECTORS = ["MPI_Gatherv, 924 bytes on this rank, root", "MPI_Allgatherv, 924 bytes on this rank;",
                  "MPI_Scatterv, 308 bytes on this rank, root",
                  "MPI_Alltoallv, 924 bytes on this rank;", "MPI_Alltoallw, 924 bytes on this rank;",
                  "MPI_Reduce_scatter of int32, maximum, 308 bytes on this rank;"]


def verified(outcome):
    """The counts of a run in which nothing was wrong."""
    assert not outcome.lines(), str(outcome)
    counts = outcome.report.data["verify"]
    assert counts["wrong"] == 0 and counts["failed"] == 0 and counts["not_compared"] == 0, counts
    assert counts["compared"] > 0, counts
    return counts


@pytest.mark.parametrize("program", CLEAN)
@pytest.mark.check
def test_every_call_is_right(mpi, program):
    # MPICH's family polls without a pause: with more ranks than processors a call of theirs takes
    # time slices, and a verified reduction of floating point is five calls. Long tests verify all.
    is_polling = "mpich" in mpi.name or "impi" in mpi.name
    share = "5%:1" if is_polling and not LONG else "100%"
    # Hosts fail in calls of unlike datatypes, to which the first calls would go: Intel MPI in a
    # gather, others in an allgatherv.
    is_early = mpi.name == "pypi-impi" or program == "vectors"
    options = [f"--verify={share}"] + (["--warmup=0"] if is_early else [])
    counts = verified(mpi.launch(program, 4, options=options, timeout=240).passed())
    assert share != "100%" or counts["compared"] == counts["calls"], counts


@pytest.mark.parametrize("options", [["--hosts=2"], ["--check"], ["--reproducible=1"]], ids=" ".join)
@pytest.mark.parametrize("program", ["layouts", "reductions", "verify"])
@pytest.mark.sampled
def test_every_call_is_right_under_settings(one_of_each, program, options):
    share = "1" if LONG or "openmpi" in one_of_each.name else "5%:2"
    verified(one_of_each.launch(program, 4, options=[f"--verify={share}", *options]).passed())


def test_threads_on_several_communicators(mpi):
    share = "1" if LONG or "openmpi" in mpi.name else "10%:3"
    outcome = mpi.launch("random_mixed", 3, "--seed", 5, options=[f"--verify={share}"], timeout=240)
    verified(outcome.passed())


@pytest.mark.parametrize("what", ["gather-none", "gather-all", "scatter-room"])
def test_sizes_that_differ(one_of_each, what):
    """Not compared, and whoever sends nothing to a root that has room takes part in saying so."""
    outcome = one_of_each.launch("unequal", 3, what, 4, options=["--verify=1"],
                                 timeout=60)
    counts = outcome.passed().report.data["verify"]
    assert "errors 0\n" in outcome.out and not outcome.lines(), str(outcome)
    assert counts["wrong"] == counts["failed"] == 0 < counts["not_compared"], counts


def test_what_nobody_can_decide_is_no_alarm(openmpi):
    """A user's operator over floating point, where the bits depend on the order of operands."""
    counts = verified(openmpi.launch("verify", 4, options=["--verify=1"]).passed())
    assert 0 < counts["undecided"] < counts["compared"] / 2, counts


def test_the_same_calls_are_chosen_on_all_ranks(debian_mpi):
    """Ranks that chose different calls would not come back: what is local differs between them."""
    found = []
    for arguments in ([], ["--perturbed", 3]):
        outcome = debian_mpi.launch("perturb", 3, *arguments, options=["--verify=50%:11"])
        found.append(verified(outcome.passed()))
    assert found[0] == found[1]
    assert 0 < found[0]["compared"] < found[0]["calls"]
    assert found[0]["seed"] == 11
    other = debian_mpi.launch("perturb", 3, options=["--verify=50%:12"])
    assert verified(other.passed())["compared"] != found[0]["compared"]


def test_a_seed_is_drawn_and_told(openmpi):
    seeds = {verified(openmpi.launch("simple", 2, 20, options=["--verify=1"]).passed())["seed"]
             for _ in range(2)}
    assert len(seeds) == 2 and 0 not in seeds


def test_nothing_is_told_where_nothing_is_verified(openmpi):
    assert "verify" not in openmpi.launch("simple", 2, 20).passed().report.data


@pytest.fixture(params=["debian-mpich", "pypi-mpich", "pypi-impi"])
def wrong_host(request):
    """An MPI, and the environment that puts a host whose results are wrong in its place."""
    from conftest import usable  # pylint: disable=import-outside-toplevel
    mpi = usable(request.param)
    stand_in = mpi.compile("wrong_host", shared=True, flags=["-Wl,--no-as-needed"])
    return mpi, {"LD_PRELOAD": str(stand_in)}


def expect_told(lines, starts, outcome):
    for start in starts:
        of_call = [line for line in lines if line.startswith(f"tutti: VERIFY: wrong result: {start}")]
        assert of_call, f"{start}\n{outcome}"
        for line in of_call:
            assert ", element 5 (" in line and "; 1 differ in all;" in line, line
            assert line.count("to repeat: TUTTI_VERIFY=1:99 beside TUTTI_CHUNK=4K") == 1, line


@pytest.mark.check
def test_a_wrong_result_of_a_vector_form(wrong_host):
    mpi, env = wrong_host
    outcome = mpi.launch("verify", 3, "vectors", env=env,
                         options=["--verify=1:99", "--chunk=4K"]).passed()
    assert outcome.report.data["verify"]["wrong"] == 6 * len(MARKED_VECTORS), str(outcome)
    lines = [line for line in outcome.lines() if "wrong result: " in line]
    expect_told(lines, MARKED_VECTORS, outcome)


@pytest.mark.check
def test_a_wrong_result_is_one_loud_line(wrong_host):
    mpi, env = wrong_host
    ranks = 3
    outcome = mpi.launch("verify", ranks, env=env,
                         options=["--verify=1:99", "--chunk=4K"]).passed()
    counts = outcome.report.data["verify"]
    # Six rounds; the first two calls on the communicator were other ones.
    assert counts["wrong"] == 6 * len(MARKED), counts
    lines = [line for line in outcome.lines() if "wrong result: " in line]
    expect_told(lines, MARKED, outcome)
    sums = [line for line in lines if line.startswith("tutti: VERIFY: wrong result: MPI_Allreduce of")]
    # rank + 5 of three ranks; the stand-in adds a half.
    assert "Tutti 18, your MPI 18.5, where orders differ by at most " in sums[0], sums[0]
    assert len(lines) <= 10 * ranks, str(outcome)
    right = counts["compared"] - counts["wrong"]
    assert outcome.ends() == [
        f"tutti: verify: {counts['compared']:,} of {counts['calls']:,} calls compared with your "
        f"MPI (share 1, seed 99): {counts['wrong']:,} wrong, {right:,} right"], str(outcome)


def test_a_wrong_result_is_found_across_hosts(wrong_host):
    mpi, env = wrong_host
    # The rules may leave these to the host there.
    options = ["--verify=1", "--hosts=2", "--reduce-scatter-block=direct", "--alltoall=pairwise",
               "--scan=doubling", "--exscan=doubling"]
    outcome = mpi.launch("verify", 4, env=env, options=options).passed()
    assert outcome.report.data["verify"]["wrong"] == 6 * len(MARKED), str(outcome)
