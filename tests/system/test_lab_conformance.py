# SPDX-License-Identifier: BSD-3-Clause
"""The conformance suite of multicast routes with each host's sockets in a network of its own: real
switches between them, which lose packets too."""
import json
import os
import re
import subprocess
import uuid

import pytest

import harness
from test_cluster import LAB

pytestmark = pytest.mark.alone

PROGRAM = harness.TUTTI.parent / "conformance_test"
HOSTS = 3


@pytest.fixture(scope="module")
def lab():
    """Two hosts on one leaf and one on the other; each loses 2 % of what comes to it."""
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    can = subprocess.run([LAB, "check", "--loss"], capture_output=True, text=True, check=False)
    if can.returncode != 0:
        pytest.skip(can.stderr.strip())
    name = f"c-{uuid.uuid4().hex[:8]}"
    try:
        subprocess.run([LAB, "up", "--leaves", "2,1", "--rate", "200mbit", "--name", name],
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run([LAB, "loss", "--name", name, "2", "--at", "hosts"], check=True)
        yield name
    finally:
        subprocess.run([LAB, "down", "--name", name], check=True)


def asked(name, action):
    return json.loads(subprocess.run([LAB, action, "--name", name, "--json"], check=True, text=True,
                                     stdout=subprocess.PIPE).stdout)


def test_multicast_conforms_on_a_lab(lab):
    hosts = asked(lab, "status")[0]["hosts"]
    files = ",".join(f"/proc/{host['pid']}/ns/net" for host in hosts)
    done = subprocess.run([PROGRAM, "--gtest_filter=*udp_lab*", "--gtest_brief=1"], text=True,
                          capture_output=True, timeout=harness.TIMEOUT_S, check=False,
                          env={**os.environ, "TUTTI_TEST_NAMESPACES": files})
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"PASSED  \] (\d+) tests", done.stdout)
    assert passed and int(passed[1]) >= 3 * 11, done.stdout
    # The switches carried it, and lost some of it.
    links = asked(lab, "links")
    assert links["filtered"] > 100, links
    assert all(link["down"]["bytes"] > 1_000_000 for link in links["links"]), links
