# SPDX-License-Identifier: BSD-3-Clause
"""What a program frees while a call, a request or an error handler still uses it."""
import pytest

from harness import BARE, expect_taken_over

pytestmark = pytest.mark.each_kind

OPTIONS = {"plain": [], "verify": ["--verify=100%"], "check": ["--check"]}


@pytest.mark.parametrize("with_report", [True, False], ids=["report", "no-report"])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.check
def test_handler_frees_its_communicator(mpi, options, with_report):
    outcome = mpi.launch("handler_frees", 3, options=OPTIONS[options], with_report=with_report,
                         env={"TUTTI_WARMUP": "1"}).passed()
    if with_report and not BARE:
        assert outcome.report.calls("tutti", "allreduce", 3) > 0, outcome.report.rows
        assert "doubtful arguments, for it to check" in outcome.report.reasons(3)


@pytest.mark.skipif(BARE, reason="SYSTEST_BARE: nobody compares calls")
@pytest.mark.parametrize("options", ["check", "verify"])
def test_handler_frees_after_a_mismatch(mpi, options):
    wanted = {"--check", *OPTIONS[options]}
    outcome = mpi.launch("handler_frees", 2, "disagree", options=sorted(wanted)).passed()
    assert len(outcome.lines()) == 4, str(outcome)


@pytest.mark.parametrize("hosts", [1, 2])
def test_communicator_is_freed_before_its_requests(mpi, hosts):
    outcome = mpi.launch("freed_pending", 2,
                         env={"TUTTI_WARMUP": "0", "TUTTI_HOSTS": str(hosts)}).passed()
    expect_taken_over(outcome.report, 2, ("allreduce",))


def test_datatype_is_freed_by_another_thread(mpi):
    if BARE and mpi.flavour == "mpich":
        pytest.skip("MPICH and Intel MPI do not hold datatypes for calls")
    outcome = mpi.launch("freed_type", 2, env={"TUTTI_WARMUP": "0"}).passed()
    expect_taken_over(outcome.report, 2, ("bcast",))
