# SPDX-License-Identifier: BSD-3-Clause
"""Ranks under a filter of system calls, as sandboxes install them, that get no random numbers from the
kernel in the usual way."""
import errno
import os
import pathlib

import pytest

from harness import BARE
from test_multicast import ON

pytestmark = pytest.mark.each_kind

GETRANDOM = 318  # x86-64
WHICH = pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS], ids=["EPERM", "ENOSYS"])
SECRET = ["--hosts=3", "--mcast-secret=1"]
# What this machine has in the place of /dev/urandom gives nothing.
NO_DEVICE = ["/usr/bin/unshare", "--mount", "sh", "-c",
             'mount --bind /dev/null /dev/urandom && exec "$@"', "sh"]


def launch(mpi, error, rank, options=(), before=()):
    """`rank`, or all, as -1, under the filter. `before` runs what starts the program."""
    words = [*before, mpi.compile("denied"), GETRANDOM, error, rank, mpi.compile("simple"), 8]
    return mpi.launch(pathlib.Path(words[0]), 3, *words[1:], options=options, timeout=60).passed()


@WHICH
@pytest.mark.parametrize("rank", [0, 1, -1])
@pytest.mark.parametrize("hosts", [1, 3])
@pytest.mark.sampled
def test_getrandom_is_denied(mpi, error, rank, hosts):
    outcome = launch(mpi, error, rank, [f"--hosts={hosts}"])
    assert BARE or outcome.report.calls("tutti", "allreduce", 3) > 0, str(outcome)
    assert not outcome.lines(), str(outcome)


@pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to look at")
@WHICH
@pytest.mark.parametrize("rank", [0, 1])
def test_multicast_takes_its_keys_from_the_device(debian_mpi, error, rank):
    outcome = launch(debian_mpi, error, rank, [*ON, *SECRET])
    rows = outcome.report.data["multicast"]
    assert [row["state"] for row in rows] == ["on"], rows


@pytest.mark.skipif(BARE, reason="SYSTEST_BARE: there is no Tutti to look at")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide /dev/urandom")
@pytest.mark.parametrize("rank", [0, 1, -1])
def test_no_multicast_without_keys(openmpi, rank):
    """No key is made of what others may guess, and libsodium, which would end the process, is not
    asked; all else runs. Under Open MPI: Debian's MPICH itself ends without both."""
    outcome = launch(openmpi, errno.EPERM, rank, [*ON, *SECRET], NO_DEVICE)
    rows = outcome.report.data["multicast"]
    assert [row["state"] for row in rows] == ["off"], rows
    why = "no random numbers for a key: getrandom() and /dev/urandom are denied"
    assert why in rows[0]["reason"], rows
    assert len(outcome.lines()) == 1 and why in outcome.lines()[0], str(outcome)
    assert BARE or outcome.report.calls("tutti", "allreduce", 3) > 0, str(outcome)
