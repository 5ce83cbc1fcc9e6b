# SPDX-License-Identifier: BSD-3-Clause
"""One choice for all: what may differ between ranks changes neither the plan nor the results."""
import pytest

from harness import BARE, LONG, expect_taken_over

COLLECTIVES = ("bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "scan",
               "exscan")
SEEDS = range(1, 31 if LONG else 4)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.check
def test_perturbed_arguments_same_plan(debian_mpi, seed):
    if BARE and debian_mpi.name == "debian-mpich":
        pytest.skip("debian-mpich without Tutti crashes in a reduce in place")
    # From which size on blocks are read in place is measured, in each run anew.
    options = ["--single-copy=off"]
    plain = debian_mpi.launch("perturb", 3, options=options).passed()
    perturbed = debian_mpi.launch("perturb", 3, "--perturbed", seed, options=options).passed()
    expect_taken_over(plain.report, 3, COLLECTIVES)
    expect_taken_over(perturbed.report, 3, COLLECTIVES)
    if not BARE:
        assert plain.report.plan() == perturbed.report.plan()


def test_perturbed_arguments_under_every_mpi(mpi):
    if BARE and mpi.name in ("debian-mpich", "pypi-impi"):
        pytest.skip(f"{mpi.name} without Tutti fails this legal program")
    outcome = mpi.launch("perturb", 4, "--perturbed", 11).passed()
    expect_taken_over(outcome.report, 4, COLLECTIVES)


@pytest.mark.parametrize("options", [["--check=1"], ["--layout=tree"], ["--reproducible=1"]],
                         ids=" ".join)
def test_perturbed_arguments_under_settings(openmpi, options):
    options = [*options, "--single-copy=off"]
    plain = openmpi.launch("perturb", 5, options=options).passed()
    perturbed = openmpi.launch("perturb", 5, "--perturbed", 4, options=options).passed()
    if not BARE:
        assert plain.report.plan() == perturbed.report.plan()
        assert not perturbed.lines(), str(perturbed)
