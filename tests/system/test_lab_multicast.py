# SPDX-License-Identifier: BSD-3-Clause
"""Hardware multicast on an emulated cluster: right under loss, without help from whoever computes,
undisturbed by strangers, and given up by all alike where it does not reach everybody.

SYSTEST_SECONDS=600 makes the run under 5 % loss as long as it is to be shown now and then."""
import json
import os
import subprocess
import sys
import threading
import time
import uuid
from contextlib import contextmanager

import pytest

import harness
from test_cluster import LAB, UNFINISHED

pytestmark = [pytest.mark.alone,
              pytest.mark.skipif(harness.BARE, reason="SYSTEST_BARE: there is no Tutti to look at")]
HOSTS = 4
RATE_BITS = 200_000_000  # half of it for multicast: a busy machine measures too much or too little
SECONDS = int(os.environ.get("SYSTEST_SECONDS", "6"))
# Everything that can go by multicast does, whatever the built-in rules find quicker.
RULES = """
[[rule]]
collective = ["bcast", "allgather"]
multicast = true
algorithm = "multicast"

[[rule]]
collective = ["barrier", "allreduce"]
bytes = "..16K"
multicast = true
algorithm = "gather_multicast"

[[rule]]
collective = "allreduce"
multicast = true
commutative = true
algorithm = "multicast"
"""
ADDRESS, PORT = "239.77.5.6", "18118"


class Fabric:
    """A lab of two leaves with two hosts each."""

    def __init__(self):
        self.name = f"m-{uuid.uuid4().hex[:8]}"

    def __enter__(self):
        can = subprocess.run([LAB, "check", "--loss"], capture_output=True, text=True, check=False)
        if can.returncode != 0:
            pytest.skip(can.stderr.strip())
        self.lab("up", "--leaves", "2,2", "--rate", f"{RATE_BITS}bit")
        return self

    def __exit__(self, *_):
        self.lab("down")

    def lab(self, action, *words):
        return subprocess.run([str(LAB), action, "--name", self.name, *map(str, words)], check=True,
                              stdout=subprocess.PIPE, text=True).stdout

    def lose(self, percent, *words):
        self.lab("loss", percent, *words)

    def on(self, host, script, *words):
        """A Python script on a host, with a pipe to its standard input."""
        return subprocess.Popen([str(LAB), "exec", "--name", self.name, host, "--", sys.executable,
                                 "-c", script, *map(str, words)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)

    def carried(self):
        """Bytes that went down to each host and up from it."""
        links = json.loads(self.lab("links", "--json"))["links"]
        return {link["link"].split()[-1]: (link["down"]["bytes"], link["up"]["bytes"])
                for link in links}

    def launch(self, mpi, program, *args, per_host=2, options=(), **more):
        if mpi.name == UNFINISHED:
            pytest.skip(f"{mpi.name} hangs in MPI_Finalize over TCP, without a lab too")
        wrap = [LAB, "run", "--name", self.name, "--ranks-per-host", str(per_host), "--"]
        if not any(option.startswith("--mcast=") for option in options):
            options = ["--mcast=on", *options]
        return mpi.launch(program, HOSTS * per_host, *args, wrap=wrap,
                          options=[f"--mcast-rate={RATE_BITS // 2}bit", *options], **more)


@pytest.fixture(scope="module")
def shared():
    with Fabric() as fabric:
        yield fabric


@pytest.fixture
def fabric(shared):
    """Loses nothing at first."""
    shared.lose(0)
    return shared


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(RULES)
    return f"--rules={path}"


def groups_of(outcome, state="on"):
    """The report's lines on communicators that have multicast."""
    found = [row for row in outcome.report.data["multicast"] if row["state"] == state]
    assert found, (outcome.report.data["multicast"], str(outcome))
    return found


def total(outcome, figure):
    return sum(row.get(figure, 0) for row in outcome.report.data["multicast"])


def algorithms(outcome):
    return {row["algorithm"] for row in outcome.report.rows if row["run_by"] == "tutti"}


def mixed(calls, seed):
    """Intel MPI by itself crashes at some seeds, in gathers of unlike datatypes."""
    return ["--seed", seed, "--calls", calls, "--threads", 1]


def test_mixed_collectives_under_loss(fabric, mpi, rules):
    fabric.lose(1)
    outcome = fabric.launch(mpi, "random_mixed", *mixed(150, 5), options=[rules]).passed()
    assert {"multicast", "gather_multicast"} <= algorithms(outcome), algorithms(outcome)
    groups_of(outcome)
    assert total(outcome, "data_packets") > 100
    assert total(outcome, "losses") > 0 and total(outcome, "repaired") > 0, str(outcome.report.data)
    assert total(outcome, "rejected") == total(outcome, "malformed") == 0


@harness.NIGHT
def test_mixed_collectives_under_injected_faults(fabric, one_of_each, rules):
    faults = "--faults=drop:0.02,dup:0.01,reorder:8,seed:7"
    outcome = fabric.launch(one_of_each, "random_mixed", *mixed(150, 4),
                            options=[rules, faults]).passed()
    assert total(outcome, "losses") > 0 and total(outcome, "duplicates") > 0


@harness.NIGHT
def test_tried_when_calls_ask_for_it(fabric, one_of_each, rules):
    """By default a communicator that lives for a few calls pays for no probe."""
    auto = [rules, "--mcast=auto"]
    outcome = fabric.launch(one_of_each, "comms", 20, options=auto).passed()
    assert outcome.report.data["multicast"] == [], outcome.report.data["multicast"]
    outcome = fabric.launch(one_of_each, "random_mixed", *mixed(500, 5), options=auto).passed()
    assert {"multicast", "gather_multicast"} <= algorithms(outcome), algorithms(outcome)
    groups_of(outcome)


def test_not_where_messages_are_faster(fabric, one_of_each, tmp_path):
    """As where the host MPI has a fabric of its own, and multicast a management network."""
    slow = RATE_BITS // 20
    outcome = fabric.launch(one_of_each, "apart", "root", 0, 1 << 20, 12, tmp_path, per_host=1,
                            options=["--mcast=auto", f"--mcast-rate={slow}bit"]).passed()
    groups = groups_of(outcome)
    assert all(8 * row["message_bytes_per_s"] > 2 * slow for row in groups), groups
    assert total(outcome, "data_packets") == 0 and "multicast" not in algorithms(outcome)


def test_two_hosts_try_nothing(fabric, one_of_each):
    """No built-in rule would use it there."""
    wrap = [LAB, "run", "--name", fabric.name, "--ranks-per-host", "2", "--"]
    outcome = one_of_each.launch("random_mixed", 4, *mixed(150, 5), wrap=wrap,
                                 options=["--mcast=auto"]).passed()
    assert outcome.report.data["multicast"] == [], outcome.report.data["multicast"]


@harness.NIGHT
@pytest.mark.parametrize("options", [["--mcast-thread=0"], ["--mcast-address=ff15::77:1"],
                                     ["--mcast-if=eth0"]], ids=" ".join)
def test_settings_do_not_change_results(fabric, one_of_each, rules, options):
    fabric.lose(1)
    outcome = fabric.launch(one_of_each, "random_mixed", *mixed(100, 5),
                            options=[rules, *options]).passed()
    groups_of(outcome)
    assert "multicast" in algorithms(outcome)


def test_a_broadcast_crosses_each_link_once(fabric, openmpi, tmp_path):
    before = fabric.carried()
    rounds, size = 8, 1 << 20
    outcome = fabric.launch(openmpi, "apart", "root", 0, size, rounds, tmp_path, per_host=1,
                            options=["--bcast=multicast"]).passed()
    groups_of(outcome)
    after = fabric.carried()
    ways = {end: [after[end][way] - before[end][way] for way in (0, 1)] for end in after}
    # Headers, the launcher's messages and the program's own start come on top of the data.
    for end, way in (("h0", 1), ("leaf0", 1), ("leaf1", 0), ("h1", 0), ("h2", 0), ("h3", 0)):
        assert rounds * size < ways[end][way] < 1.3 * rounds * size, ways
    for end, way in (("h0", 0), ("h1", 1), ("h2", 1), ("h3", 1)):
        assert ways[end][way] < 0.3 * rounds * size, ways


@harness.NIGHT
def test_what_a_computing_root_lost_is_repaired(fabric, one_of_each, tmp_path):
    """Each round is over only when all others have the data, and the root is outside MPI."""
    fabric.lose(20, "--at", "hosts")
    outcome = fabric.launch(one_of_each, "apart", "root", 1, 40000, 12, tmp_path,
                            options=["--bcast=multicast"]).passed()
    assert total(outcome, "repaired") > 0


@harness.NIGHT
def test_a_late_leader_delays_nobody(fabric, one_of_each, tmp_path):
    """Rank 2 is the first of host h1, and comes when its node-mate has left the broadcast."""
    fabric.lose(5, "--at", "hosts")
    fabric.launch(one_of_each, "apart", "late", 2, 100_000, 8, tmp_path,
                  options=["--bcast=multicast"]).passed()


def test_idle_it_does_not_wake(fabric, openmpi):
    outcome = fabric.launch(openmpi, "apart", "idle", 1, options=["--bcast=multicast"]).passed()
    assert outcome.out.count("thread idle") == HOSTS, str(outcome)


@harness.NIGHT
def test_switches_that_drop_multicast(fabric, openmpi, rules):
    fabric.lose(0, "--no-multicast")
    # By default it is tried when calls ask for it.
    for options, calls in (([], 60), (["--mcast=auto"], 500)):
        outcome = fabric.launch(openmpi, "random_mixed", *mixed(calls, 6),
                                options=[rules, *options]).passed()
        reasons = {row["reason"] for row in groups_of(outcome, "off")}
        assert all("h1" in reason or "h2" in reason or "h3" in reason or "h0" in reason
                   for reason in reasons), reasons
        assert not {"multicast", "gather_multicast"} & algorithms(outcome)
        said = [line for line in outcome.lines() if "multicast" in line]
        assert bool(said) == (options == []), str(outcome)


@harness.NIGHT
def test_one_host_that_hears_nothing_is_named(fabric, openmpi, rules):
    fabric.lose(100, "--at", "h2")
    outcome = fabric.launch(openmpi, "random_mixed", *mixed(60, 7), options=[rules]).passed()
    assert any("h2" in row["reason"] for row in groups_of(outcome, "off"))
    assert not {"multicast", "gather_multicast"} & algorithms(outcome)


@harness.NIGHT
def test_two_jobs_on_one_group(fabric, one_of_each, rules):
    both = [f"--mcast-address={ADDRESS}", f"--mcast-port={PORT}", rules]
    outcomes = [None, None]

    def run(which):
        outcomes[which] = fabric.launch(one_of_each, "random_mixed", "--seed", 8 + which,
                                        "--seconds", 4, per_host=1, options=both)
    threads = [threading.Thread(target=run, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for outcome in outcomes:
        groups_of(outcome.passed())
        assert total(outcome, "ungrouped") > 100  # what the other job said
        assert total(outcome, "rejected") == total(outcome, "malformed") == 0


RECORDER = """
import select, socket, sys
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
line.bind((sys.argv[1], int(sys.argv[2])))
line.setsockopt(0, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(sys.argv[1]) + bytes(4))
print("ready", flush=True)
kept = []
while len(kept) < 2000:
    ready, _, _ = select.select([line, sys.stdin], [], [])
    if sys.stdin in ready:
        break
    kept.append(line.recv(65536))
with open(sys.argv[3], "wb") as file:
    for packet in kept:
        file.write(len(packet).to_bytes(4, "little") + packet)
print(len(kept), flush=True)
"""
# Noise; packets of an earlier job; those of this one a second time, and with one bit changed.
FLOOD = """
import random, socket, sys, time
group, port, path, places = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
data, old, live = open(path, "rb").read(), [], []
while data:
    size = int.from_bytes(data[:4], "little")
    old.append(data[4:4 + size])
    data = data[4 + size:]
ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
ear.bind((group, port))
ear.setsockopt(0, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + bytes(4))
ear.setblocking(False)
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.setsockopt(0, socket.IP_MULTICAST_TTL, 4)
draw = random.Random(5)
places = [(place.split(":")[0], int(place.split(":")[1])) for place in places]
print("ready", flush=True)
while True:
    try:
        while True:
            live.append(ear.recv(65536))
    except BlockingIOError:
        live = live[-500:]
    for _ in range(4):
        new = draw.choice(live or old)
        bent = bytearray(new)
        if bent:  # noise that came back may be empty
            bent[draw.randrange(len(bent))] ^= 1 << draw.randrange(8)
        noise = draw.randbytes(draw.randrange(1473))
        for packet in (draw.choice(old), new, bytes(bent), noise):
            for place in places:
                try:
                    line.sendto(packet, place)
                except OSError:
                    pass
    time.sleep(0.01)
"""


def record(fabric, mpi, options, path):
    """Packets of a whole job, as a host of it can hear them."""
    with fabric.on("h3", RECORDER, ADDRESS, PORT, path) as child:
        assert child.stdout.readline() == "ready\n"
        groups_of(fabric.launch(mpi, "random_mixed", *mixed(60, 9), per_host=1,
                                options=options).passed())
        child.stdin.write("\n")
        child.stdin.flush()
        count = int(child.stdout.readline())
    assert count > 50


def datagram_places(fabric):
    """Where datagrams are taken on the hosts of the lab."""
    found = []
    for index in range(HOSTS):
        text = fabric.lab("exec", f"h{index}", "--", "cat", "/proc/net/udp")
        ports = {int(line.split()[1].split(":")[1], 16) for line in text.splitlines()[1:]}
        found += [f"10.77.0.{index + 1}:{port}" for port in ports if port != int(PORT)]
    return found


@contextmanager
def flood(fabric, packets, *places):
    child = fabric.on("h2", FLOOD, ADDRESS, PORT, packets, *places)
    try:
        assert child.stdout.readline() == "ready\n"
        yield
    finally:
        child.terminate()  # handed on to the host
        child.communicate()


@harness.NIGHT
def test_a_foreign_flood_has_no_effect(fabric, openmpi, rules, tmp_path):
    """To the group from before the job begins, later to all that takes datagrams on its hosts."""
    options = [f"--mcast-address={ADDRESS}", f"--mcast-port={PORT}", rules]
    packets, mark = tmp_path / "packets", tmp_path / "mark"
    record(fabric, openmpi, options, packets)
    done, found = threading.Event(), []

    def flood_hosts():
        wait_for(mark)
        found.extend(datagram_places(fabric))
        with flood(fabric, packets, *found):
            done.wait()
    thread = threading.Thread(target=flood_hosts)
    thread.start()
    try:
        with flood(fabric, packets, f"{ADDRESS}:{PORT}"):
            outcome = fabric.launch(openmpi, "random_mixed", "--seed", 10, "--seconds", 6, "--mark",
                                    mark, per_host=1, options=options).passed()
    finally:
        mark.touch()
        done.set()
        thread.join()
    assert len(found) >= HOSTS, f"not every host of the job took datagrams: {found}"
    groups_of(outcome)
    assert total(outcome, "ungrouped") > 1000, outcome.report.data["multicast"]
    assert total(outcome, "rejected") > 100 and total(outcome, "malformed") == 0
    assert total(outcome, "duplicates") > 100


def wait_for(path):
    deadline = time.monotonic() + harness.TIMEOUT_S
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)


@harness.NIGHT
def test_a_host_cut_off_from_multicast_midway(fabric, one_of_each, rules, tmp_path):
    """Its messages still arrive, so all go on by messages alone, and the host is named."""
    mark = tmp_path / "mark"

    def cut():
        wait_for(mark)
        fabric.lose(100, "--at", "h2")
    thread = threading.Thread(target=cut)
    thread.start()
    try:
        outcome = fabric.launch(one_of_each, "several", "--seed", 11, "--seconds", 12,
                                "--mark", mark, per_host=1, options=[rules]).passed()
    finally:
        mark.touch()
        thread.join()
    assert any("h2" in row["reason"] for row in groups_of(outcome, "failed"))
    assert [line for line in outcome.lines() if "h2" in line], str(outcome)


@harness.NIGHT
def test_a_host_that_stood_still_comes_back(fabric, one_of_each, rules):
    """Some calls by messages later there is a new group, and multicasts go again."""
    outcome = fabric.launch(one_of_each, "absent", "stopped", per_host=1, options=[rules]).passed()
    harness.expect_return(outcome)


@harness.NIGHT
def test_switches_that_stop_to_copy_midway(fabric, one_of_each, tmp_path):
    """What the root sent last still reaches all, though it is outside MPI; then messages do it."""
    def stop():
        wait_for(tmp_path / "has-4-3")
        fabric.lose(0, "--no-multicast")
    thread = threading.Thread(target=stop)
    thread.start()
    try:
        outcome = fabric.launch(one_of_each, "apart", "root", 0, 40000, 200, tmp_path,
                                options=["--bcast=multicast"]).passed()
    finally:
        (tmp_path / "has-4-3").touch()
        thread.join()
    groups_of(outcome, "failed")


@harness.NIGHT
def test_a_host_that_dies_ends_the_job(one_of_each, rules, tmp_path):
    """The launcher notices; no rank of another host stays behind waiting for it."""
    mark = tmp_path / "mark"
    with Fabric() as fabric:
        hosts = json.loads(fabric.lab("status", "--json"))[0]["hosts"]

        def kill():
            wait_for(mark)
            os.kill(hosts[2]["pid"], 9)
        thread = threading.Thread(target=kill)
        thread.start()
        try:
            outcome = fabric.launch(one_of_each, "random_mixed", "--seed", 12, "--seconds", 60,
                                    "--mark", mark, per_host=1, options=[rules], with_report=False)
        finally:
            mark.touch()
            thread.join()
        # Open MPI's launcher says that it has lost a host, and ends with status 0.
        assert outcome.status != 0 or "lost communication" in outcome.err, str(outcome)
        assert "ok " not in outcome.out and "outlived" not in outcome.err, str(outcome)


@harness.NIGHT
def test_much_loss_for_long(fabric, openmpi, rules):
    """SYSTEST_SECONDS of mixed collectives at 5 % loss: all right, memory constant (the program
    looks), and repairs in time."""
    fabric.lose(5, "--at", "hosts")
    outcome = fabric.launch(openmpi, "random_mixed", "--seed", 13, "--seconds", SECONDS,
                            per_host=1, options=[rules],
                            timeout=harness.TIMEOUT_S + 2 * SECONDS).passed()
    repaired, quick = total(outcome, "repaired"), total(outcome, "repaired_in_10_ms")
    print(f"{total(outcome, 'data_packets')} packets, {repaired} repaired, {quick} within 10 ms, "
          f"slowest {max(row['repair_s_max'] for row in groups_of(outcome))} s")
    assert repaired > 0
    # Of what was noticed last, what nobody needed any more may still be missing at the end.
    assert repaired > 0.9 * total(outcome, "losses"), outcome.report.data["multicast"]
