# SPDX-License-Identifier: BSD-3-Clause
"""`tutti fabric --discover` asks an InfiniBand fabric: a simulated one (ibsim), brought up by the
real subnet manager (opensm), seen by the real ibnetdiscover."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import harness

SIMULATED = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"

# Two leaves, a spine of two switches with a cable to each leaf, a host with two adapters.
FABRIC = """
Switch 8 "leaf1"
[1] "big mlx5_0"[1]
[2] "big mlx5_1"[1]
[3] "host1"[1]
[5] "spine1"[1]
[6] "spine2"[1]

Switch 8 "leaf2"
[1] "host2"[1]
[5] "spine1"[2]
[6] "spine2"[2]

Switch 8 "spine1"
[1] "leaf1"[5]
[2] "leaf2"[5]

Switch 8 "spine2"
[1] "leaf1"[6]
[2] "leaf2"[6]

Hca 1 "big mlx5_0"
[1] "leaf1"[1]

Hca 1 "big mlx5_1"
[1] "leaf1"[2]

Hca 1 "host1"
[1] "leaf1"[3]

Hca 1 "host2"
[1] "leaf2"[1]
"""

# All in one network namespace: the simulator listens where others might.
SCRIPT = """
ip link set lo up
ibsim -s -n fabric.net >ibsim.log 2>&1 &
simulator=$!
trap 'kill $simulator' EXIT
for attempt in 1 2 3 4 5 6 7 8 9 10; do
    grep -q 'Network simulator ready' ibsim.log && break
    sleep 0.5
done
SIM_HOST=host1 LD_PRELOAD=$SIMULATED timeout 60 opensm -o -f $PWD/opensm.log >opensm.out 2>&1
SIM_HOST=host2 LD_PRELOAD=$SIMULATED "$TUTTI" fabric --discover -o found.toml
"""

EXPECTED = """found.toml: 3 hosts, 4 switches, 8 links; as a tree: 3 nodes in 2 levels

spine[1-2] (2 switches)
  leaf1; up: 2 links of 8 Gbit/s
      1 host: big (2 adapters); 2 links of 8 Gbit/s
      1 host: host1; 1 link of 8 Gbit/s
  leaf2; up: 2 links of 8 Gbit/s
      1 host: host2; 1 link of 8 Gbit/s
"""


def missing():
    """Why there is no simulated fabric here, or an empty text."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    packages = {"ibsim": "ibsim-utils", "opensm": "opensm", "ibnetdiscover": "infiniband-diags"}
    lacking = [package for tool, package in packages.items() if not shutil.which(tool, path=path)]
    lacking += [] if Path(SIMULATED).exists() else [f"libumad2sim0 ({SIMULATED})"]
    if lacking:
        real = Path("/sys/class/infiniband").exists()
        why = "; tools/setup leaves them out beside a real fabric" if real else ""
        return f"not installed: {', '.join(lacking)}{why}"
    if os.geteuid() != 0:
        return "a network namespace wants root"
    return ""


def test_a_simulated_fabric_is_discovered(tmp_path):
    harness.need_tutti()
    reason = missing()
    if reason:
        pytest.skip(reason)
    (tmp_path / "fabric.net").write_text(FABRIC)
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin", "SIMULATED": SIMULATED,
                   "TUTTI": str(harness.TUTTI)}
    ran = subprocess.run(["unshare", "-n", "sh", "-c", SCRIPT], cwd=tmp_path, env=environment,
                         capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr
    shown = subprocess.run([harness.TUTTI, "fabric", "found.toml"], cwd=tmp_path, check=True,
                           capture_output=True, text=True)
    assert shown.stdout == EXPECTED
