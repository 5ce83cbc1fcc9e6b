# SPDX-License-Identifier: BSD-3-Clause
"""tools/lab: the network is as ordered, hosts are apart, launchers reach them, nothing stays."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time
import uuid

import pytest

pytestmark = pytest.mark.alone

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAB = ROOT / "tools" / "lab"
STATE = pathlib.Path("/run/tutti-lab")
TIMEOUT_S = 60
RATE_BITS = 25_000_000


def lab(*words, env=None, cwd=None, text=None):
    return subprocess.run([str(LAB), *map(str, words)], capture_output=True, text=True, input=text,
                          timeout=TIMEOUT_S, check=False, cwd=cwd,
                          env={**os.environ, **(env or {})})


def well(done):
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def wait_for(condition, what):
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)


def fresh_name():
    return f"t-{uuid.uuid4().hex[:8]}"


def processes_of_lab(name):
    """Process ones of a lab's hosts, by the name they give themselves."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cmdline").read_bytes().startswith(f"tutti-lab:{name}:".encode()):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def of_the_machine():
    """What a lab must not touch: devices, named namespaces and mounts of the machine."""
    links = json.loads(subprocess.run(["ip", "-j", "link"], capture_output=True, text=True,
                                      check=True).stdout)
    named = pathlib.Path("/run/netns")
    mounts = [line.split()[4] for line in
              pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    return (sorted(link["ifname"] for link in links),
            sorted(os.listdir(named)) if named.exists() else [],
            [place for place in mounts if "tutti" in place])


def gone(name):
    return not (STATE / name).exists() and not processes_of_lab(name)


@pytest.fixture(scope="module")
def able():
    done = lab("check", "--loss")
    if done.returncode != 0:
        pytest.skip(done.stderr.strip())


@pytest.fixture(scope="module")
def four(able):
    """Two leaves of two hosts."""
    name = fresh_name()
    try:
        assert well(lab("up", "--leaves", "2,2", "--rate", "25mbit", "--name", name)) == \
            f"{name}: 4 hosts on leaves 2,2, 25mbit\n"
        yield name
    finally:
        lab("down", "--name", name)
        assert gone(name)


def on(name, host, *command, text=None):
    return well(lab("exec", "--name", name, host, "--", *command, text=text))


def python_on(name, host, script, *words):
    return subprocess.Popen([str(LAB), "exec", "--name", name, host, "--", sys.executable, "-c",
                             script, *words], text=True, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)


@pytest.mark.parametrize("words, line", [
    ([], "the following arguments are required: ACTION"),
    (["up", "--rate", "1mbit"], "the following arguments are required: --leaves"),
    (["up", "--leaves", "8,x", "--rate", "1mbit"],
     "argument --leaves: '8,x': give the hosts of each leaf, as in 8,8"),
    (["up", "--leaves", "8,0", "--rate", "1mbit"], "argument --leaves: '8,0': 1 to 250 hosts on 1 "
     "to 64 leaves, none of them empty"),
    (["up", "--leaves", "251", "--rate", "1mbit"], "argument --leaves: '251': 1 to 250 hosts on 1 "
     "to 64 leaves, none of them empty"),
    (["up", "--leaves", "2", "--rate", "fast"],
     "argument --rate: 'fast' is no rate from 100kbit to 100gbit"),
    (["up", "--leaves", "2", "--rate", "1bit"],
     "argument --rate: '1bit' is no rate from 100kbit to 100gbit"),
    (["up", "--leaves", "2", "--rate", "1mbit", "--loss", "101"],
     "argument --loss: '101' is no percentage from 0 to 100"),
    (["up", "--leaves", "2", "--rate", "1mbit", "--queue", "10"],
     "--queue: at least 2000 bytes, room for one frame"),
    (["up", "--leaves", "2", "--rate", "1mbit", "--name", "../x"],
     "argument --name: '../x': up to 20 small letters, digits and hyphens"),
    (["up", "--leaves", "2", "--rate", "1mbit", "--", "ls"], "up takes no command"),
    (["run", "--ranks-per-host", "0", "--", "mpirun"],
     "argument --ranks-per-host: '0' is no number from 1 to 4096"),
    (["run", "--name", "nobody"], "run: no command; it stands behind --"),
])
def test_bad_words_get_one_line(words, line):
    done = lab(*words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"lab: {line}\n")


def test_without_rights_it_says_so():
    if os.geteuid() == 0:
        if not all(folder.stat().st_mode & 0o001 for folder in LAB.parents):
            pytest.skip("this clone is in a folder that other users may not enter")
        done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                               sys.executable, str(LAB), "up", "--leaves", "2", "--rate", "1mbit"],
                              capture_output=True, text=True, check=False)
    else:
        done = lab("up", "--leaves", "2", "--rate", "1mbit")
    assert (done.returncode, done.stderr) == (2, "lab: network namespaces need root\n")


def test_what_is_not_up_is_said(able):
    name = fresh_name()
    for words in (["exec", "--name", name, "h0", "--", "true"], ["run", "--name", name, "--", "x"]):
        done = lab(*words)
        assert (done.returncode, done.stderr) == \
            (2, f"lab: no lab is up under the name '{name}'\n")
    assert well(lab("down", "--name", name)) == f"lab: no lab is up under the name '{name}'\n"


def test_one_at_a_time_while_the_folder_comes_and_goes(tmp_path):
    """Everybody takes the folder of all labs away before the lock is given back, as the last `down`
    does; whoever waits, or has just looked, begins again."""
    program = textwrap.dedent("""
        import os, pathlib, sys
        sys.path.insert(0, sys.argv[1])
        import fabric
        fabric.STATE = pathlib.Path(sys.argv[2], "labs")
        inside = pathlib.Path(sys.argv[2], "inside")
        for _ in range(100):
            with fabric.locked():
                os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
                assert fabric.names() == []
                inside.unlink()
                fabric.STATE.rmdir()
            fabric.names()
    """)
    words = [sys.executable, "-c", program, str(ROOT / "tools" / "lab.d"), str(tmp_path)]
    racing = [subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    ended = [(one.communicate(timeout=TIMEOUT_S)[1], one.returncode) for one in racing]
    assert ended == [("", 0)] * len(racing)


def test_nothing_is_left_behind(able):
    before = of_the_machine()
    name = fresh_name()
    well(lab("up", "--leaves", "2,1", "--rate", "10mbit", "--name", name, "--loss", "5"))
    assert len(processes_of_lab(name)) == 4  # three hosts and the switches
    # A program that went to the background of a host ends with it.
    on(name, "h0", "setsid", "sh", "-c", "sleep 1000 >/dev/null 2>&1 &")
    status = json.loads(well(lab("status", "--name", name, "--json")))[0]
    assert [host["processes"] for host in status["hosts"]] == [1, 0, 0]
    assert of_the_machine() == before
    well(lab("down", "--name", name))
    assert gone(name)
    assert of_the_machine() == before


def test_twice_is_refused_in_one_line(four):
    done = lab("up", "--leaves", "2", "--rate", "1mbit", "--name", four)
    assert (done.returncode, done.stderr) == \
        (2, f"lab: '{four}' is up already (4 hosts); tools/lab down --name {four} ends it\n")
    assert len(processes_of_lab(four)) == 5


def test_two_labs_are_apart(four):
    other = fresh_name()
    try:
        well(lab("up", "--leaves", "1", "--rate", "1mbit", "--name", other))
        assert on(other, "h0", "hostname") == on(four, "h0", "hostname") == "h0\n"
        assert len(processes_of_lab(four)) == 5
        # Of all labs, also those of tests beside this one, which may be unsound.
        listed = json.loads(lab("status", "--json").stdout)
        assert [one["name"] for one in listed if one["name"] in (four, other)] == sorted(
            [four, other])
    finally:
        lab("down", "--name", other)
    assert gone(other)
    assert len(processes_of_lab(four)) == 5


def heed_interrupts():
    """Also where the suite itself runs in the background, and so does not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_up_leaves_nothing(able, number):
    name = fresh_name()
    with subprocess.Popen([str(LAB), "up", "--leaves", "30,30", "--rate", "1mbit", "--name", name],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=heed_interrupts) as child:
        wait_for(lambda: len(processes_of_lab(name)) > 3, "some hosts are there")
        child.send_signal(number)
        child.wait(TIMEOUT_S)
    assert child.returncode != 0
    if number == signal.SIGKILL:  # The others take away themselves what they have built.
        done = lab("exec", "--name", name, "h0", "--", "true")
        assert done.stderr == f"lab: '{name}' is half built; type tools/lab down --name {name}\n"
        well(lab("down", "--name", name))
    assert gone(name)


def test_a_host_that_died_is_named(able):
    name = fresh_name()
    try:
        well(lab("up", "--leaves", "2", "--rate", "1mbit", "--name", name))
        status = json.loads(well(lab("status", "--name", name, "--json")))[0]
        os.kill(status["hosts"][1]["pid"], signal.SIGKILL)
        wait_for(lambda: len(processes_of_lab(name)) == 2, "the host ends")
        done = lab("exec", "--name", name, "h1", "--", "true")
        assert done.stderr == (f"lab: host h1 of '{name}' has died; type tools/lab down --name "
                               f"{name}\n")
        assert lab("status").returncode == 1
        assert on(name, "h0", "hostname") == "h0\n"
    finally:
        lab("down", "--name", name)
    assert gone(name)


def test_every_link_has_its_rate_both_ways(four):
    ports = ["up0", "down0", "up1", "down1", "p0", "p1", "p2", "p3"]
    qdiscs = json.loads(on(four, "switch", "tc", "-j", "qdisc"))
    rates = {q["dev"]: q["options"]["rate"] for q in qdiscs if q["kind"] == "tbf"}
    assert rates == {port: RATE_BITS // 8 for port in ports}
    for host in ("h0", "h3"):
        own = json.loads(on(four, host, "tc", "-j", "qdisc", "show", "dev", "eth0"))
        assert [q["options"]["rate"] for q in own] == [RATE_BITS // 8]
    bridges = {link["ifname"]: link["master"] for link in
               json.loads(on(four, "switch", "ip", "-j", "link")) if "master" in link}
    assert bridges == {"up0": "leaf0", "up1": "leaf1", "down0": "root", "down1": "root",
                       "p0": "leaf0", "p1": "leaf0", "p2": "leaf1", "p3": "leaf1"}


def test_one_switch_asks_for_members_and_is_told(four):
    """Two that ask elect one of them, which is not always the one that all members' answers reach."""
    links = {link["ifname"]: link["linkinfo"] for link in
             json.loads(on(four, "switch", "ip", "-d", "-j", "link")) if "linkinfo" in link}
    asking = {name for name, link in links.items() if link["info_kind"] == "bridge" and
              link["info_data"]["mcast_querier"]}
    assert asking == {"root"}
    for port in ("up0", "up1"):
        assert links[port]["info_slave_data"]["multicast_router"] == 2


def test_uplinks_and_queues_have_their_own_sizes(able):
    name = fresh_name()
    try:
        well(lab("up", "--leaves", "1,1", "--rate", "10mbit", "--uplink", "2.5mbit", "--queue",
                 "50000", "--name", name))
        text = on(name, "switch", "tc", "-s", "qdisc")
        assert text.count("tbf") == 6
        assert text.count("rate 2500Kbit") == 4
        assert text.count("rate 10Mbit") == 2
        rates = json.loads(on(name, "switch", "tc", "-j", "qdisc"))
        assert {q["options"]["limit"] for q in rates if "limit" in q.get("options", {})} <= {50000}
    finally:
        lab("down", "--name", name)


def test_hosts_share_files_and_nothing_else(four, tmp_path):
    (tmp_path / "common").write_text("seen")
    for host in ("h0", "h1"):
        assert on(four, host, "cat", tmp_path / "common") == "seen"
        assert on(four, host, "hostname") == f"{host}\n"
        assert "eth0" in on(four, host, "ls", "/sys/class/net")
        assert "10.77.0.4 h3" in on(four, host, "cat", "/etc/hosts")
    on(four, "h0", "sh", "-c", "echo x >/dev/shm/mine; echo y >$TMPDIR/mine; ipcmk -M 4096")
    assert on(four, "h0", "sh", "-c", "ls /dev/shm $TMPDIR").split().count("mine") == 2
    assert on(four, "h1", "sh", "-c", "ls /dev/shm $TMPDIR | grep -c mine || true") == "0\n"
    assert on(four, "h0", "ipcs", "-m").count("0x") == 1
    assert on(four, "h1", "ipcs", "-m").count("0x") == 0
    assert not pathlib.Path("/dev/shm/mine").exists()
    with python_on(four, "h0", "input()") as sleeper:
        wait_for(lambda: json.loads(well(lab("status", "--name", four, "--json")))[0]["hosts"][0]
                 ["processes"] == 1, "the program runs")
        numbers = on(four, "h1", "sh", "-c", "ls -d /proc/[0-9]*").split()
        assert "/proc/1" in numbers and len(numbers) <= 3
        sleeper.communicate("\n")


def test_exec_hands_on_streams_status_and_signals(four, tmp_path):
    done = lab("exec", "--name", four, "h1", "--", "sh", "-c", "cat; echo e >&2; pwd; exit 7",
               text="from here\n", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (7, f"from here\n{tmp_path}\n", "e\n")
    done = lab("exec", "--name", four, "h1", "--", "no-such-program")
    assert (done.returncode, done.stderr) == (2, "lab: no-such-program: no such program\n")
    done = lab("exec", "--name", four, "h9", "--", "true")
    assert done.stderr == f"lab: '{four}' has no host 'h9'; it has h0 to h3 and switch\n"
    with python_on(four, "h1", "import signal\nsignal.signal(15, lambda *_: exit(5))\n"
                   "print('ready', flush=True)\nsignal.pause()") as child:
        child.stdout.readline()
        child.terminate()
        assert child.wait(TIMEOUT_S) == 5


def port_bytes(name):
    links = json.loads(on(name, "switch", "ip", "-j", "-s", "link"))
    return {link["ifname"]: link["stats64"]["tx"]["bytes"] for link in links}


def test_bytes_take_the_way_through_the_tree(four):
    size = 300_000
    before = port_bytes(four)
    with python_on(four, "h2", f"""
import socket
with socket.create_server(("h2", 4000)) as line:
    print("ready", flush=True)
    peer, _ = line.accept()
    got = 0
    while got < {size}:
        got += len(peer.recv(65536))
    print(got, flush=True)
""") as child:
        child.stdout.readline()
        on(four, "h0", sys.executable, "-c", "import socket\n"
           f"socket.create_connection(('h2', 4000)).sendall(bytes({size}))")
        assert child.stdout.readline() == f"{size}\n"
    after = port_bytes(four)
    carried = {port: after[port] - before[port] for port in after}
    for port in ("up0", "down1", "p2"):
        assert size < carried[port] < 1.2 * size, carried
    for port in ("p1", "p3", "down0", "up1", "p0"):
        assert carried[port] < 0.2 * size, carried


GROUPS = {"IPv4": "239.1.2.3", "IPv6": "ff15::1:2:3"}
RECEIVER = """
import socket, struct, sys
group = sys.argv[1]
family = socket.AF_INET6 if ":" in group else socket.AF_INET
line = socket.socket(family, socket.SOCK_DGRAM)
line.setsockopt(socket.SOL_SOCKET, 33, 1 << 22)  # SO_RCVBUFFORCE: all of them fit in
line.bind(("", 5000))
name = socket.inet_pton(family, group)
if family == socket.AF_INET6:
    line.setsockopt(41, socket.IPV6_JOIN_GROUP,
                    name + struct.pack("I", socket.if_nametoindex("eth0")))
else:
    line.setsockopt(0, socket.IP_ADD_MEMBERSHIP, name + bytes(4))
print("ready", flush=True)
input()  # All are sent; what is under way is here before an answer from the sender's host.
line.setblocking(False)
got = 0
try:
    while line.recv(2000):
        got += 1
except BlockingIOError:
    print(got, flush=True)
"""
SENDER = """
import socket, sys
group, count = sys.argv[1], int(sys.argv[2])
if ":" in group:
    line = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    line.setsockopt(41, socket.IPV6_MULTICAST_IF, socket.if_nametoindex("eth0"))
    line.setsockopt(41, socket.IPV6_MULTICAST_HOPS, 4)
else:
    line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    line.setsockopt(0, socket.IP_MULTICAST_TTL, 4)
for _ in range(count):
    line.sendto(bytes(1000), (group, 5000))
"""
# TCP from the sender to each receiver queues behind the datagrams on every link of the way.
FLUSH = """
import socket, sys
for host in sys.argv[1:]:
    try:
        socket.create_connection((host, 9), timeout=10)
    except ConnectionRefusedError:
        pass
"""


def group_ports(name, group):
    """Ports behind which the switches know members of the group."""
    tables = json.loads(on(name, "switch", "bridge", "-j", "mdb"))
    return {entry["port"] for table in tables for entry in table.get("mdb", [])
            if entry["grp"] == group}


def multicast(name, members, ports, count, group=GROUPS["IPv4"]):
    """Sends so many datagrams from h0 to the group; what each member got."""
    children = [python_on(name, host, RECEIVER, group) for host in members]
    try:
        for child in children:
            assert child.stdout.readline() == "ready\n"
        wait_for(lambda: ports <= group_ports(name, group), f"members are known at {ports}")
        on(name, "h0", sys.executable, "-c", SENDER, group, count)
        on(name, "h0", sys.executable, "-c", FLUSH, *members)
        return [int(child.communicate("\n", timeout=TIMEOUT_S)[0]) for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()


def carried_since(before, name):
    """Bytes that each link has carried since, by its far end: (down, up)."""
    then = {link["link"]: link for link in before["links"]}
    return {link["link"].split()[-1]: tuple(link[way]["bytes"] - then[link["link"]][way]["bytes"]
                                            for way in ("down", "up"))
            for link in links_of(name)["links"]}


def links_of(name):
    return json.loads(well(lab("links", "--name", name, "--json")))


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_multicast_goes_once_over_every_link_that_needs_it(four, group):
    before = links_of(four)
    got = multicast(four, ["h1", "h2"], {"p1", "p2", "down1"}, 100, group)
    assert got == [100, 100]
    carried = carried_since(before, four)
    for end, way in (("h0", 1), ("leaf0", 1), ("leaf1", 0), ("h1", 0), ("h2", 0)):
        assert 100_000 < carried[end][way] < 150_000, carried
    assert carried["h3"][0] < 20_000, carried  # no member behind it: the switches snoop


def test_links_are_shown_as_a_table(four):
    before = links_of(four)["links"][2]["down"]["bytes"]
    lines = well(lab("links", "--name", four)).splitlines()
    assert [line[:10].strip() for line in lines] == [
        "link", "root - lea", "root - lea", "leaf0 - h0", "leaf0 - h1", "leaf1 - h2",
        "leaf1 - h3", "dropped by"]
    # A kernel that has just got an address still says so now and then: what is shown lies between.
    after = links_of(four)["links"][2]["down"]["bytes"]
    assert 0 < before <= int(lines[3].split()[4]) <= after


def test_switches_lose_what_they_are_told_to(four):
    try:
        well(lab("loss", "--name", four, "20"))
        got = multicast(four, ["h1"], {"p1"}, 200)[0]
        # One switch on the way to h1, so each datagram is there or counted; those that go up to
        # the other switches (the way to the one that asks for members) are counted as well.
        assert 0 < got < 200
        assert links_of(four)["filtered"] >= 200 - got
        well(lab("loss", "--name", four, "100"))
        assert multicast(four, ["h1", "h2"], set(), 50) == [0, 0]
        well(lab("loss", "--name", four, "0", "--no-multicast"))
        assert multicast(four, ["h1", "h2"], set(), 50) == [0, 0]
    finally:
        well(lab("loss", "--name", four, "0"))
    assert multicast(four, ["h1", "h2"], {"p1", "p2", "down1"}, 50) == [50, 50]


def test_loss_on_the_way_to_hosts_is_each_hosts_own(four):
    try:
        well(lab("loss", "--name", four, "20", "--at", "hosts"))
        got = multicast(four, ["h1", "h2"], {"p1", "p2", "down1"}, 200)
        assert all(0 < some < 200 for some in got)
        # Nowhere else: each datagram to each member is there or counted.
        assert links_of(four)["filtered"] == 400 - sum(got)
        well(lab("loss", "--name", four, "100", "--at", "h1"))
        assert multicast(four, ["h1", "h2"], {"p1", "p2", "down1"}, 50) == [0, 50]
        well(lab("loss", "--name", four, "100", "--at", "h0"))
        assert multicast(four, ["h1", "h2"], {"p1", "p2", "down1"}, 50) == [0, 0]
        assert links_of(four)["filtered"] == 50  # before the switch made copies
    finally:
        well(lab("loss", "--name", four, "0"))
    for place in ("h4", "switch"):
        done = lab("loss", "--name", four, "1", "--at", place)
        assert (done.returncode, done.stderr) == \
            (2, f"lab: --at {place}: '{four}' loses packets at its switches, hosts, or one of h0 "
             "to h3\n")


LAUNCHER = """#!/bin/sh
# What launchers do: starts commands on the other hosts by the stand-in for ssh.
agent=$PRTE_MCA_plm_ssh_agent
[ "$agent" = "$OMPI_MCA_plm_rsh_agent" ] && [ "$agent" = "$HYDRA_LAUNCHER_EXEC" ] || exit 99
[ "$agent" = "$I_MPI_HYDRA_BOOTSTRAP_EXEC" ] || exit 98
"""


@pytest.fixture
def launcher(tmp_path):
    def write(text):
        path = tmp_path / "mpirun"
        path.write_text(LAUNCHER + text)
        path.chmod(0o755)
        return path
    return write


def run(name, launcher, *words, **options):
    return lab("run", "--name", name, *words, "--", "env", launcher, **options)


def test_commands_reach_other_hosts_as_by_ssh(four, launcher):
    script = launcher("""
hostname
echo in |
    "$agent" -x -o Ask=no -p 22 h3 "hostname; cat; echo \\"\\$SECRET\\$HOME\\"; echo e >&2; exit 9"
echo "status $?"
"$agent" h1 echo 'a  b' '|' tr a c
"$agent" h8 true
echo "status $?"
""")
    done = run(four, script, env={"SECRET": "told"})
    assert done.stdout == f"h0\nh3\nin\n{os.environ['HOME']}\nstatus 9\nc b\nstatus 255\n"
    assert done.stderr == f"e\nlab: '{four}' has no host 'h8'; it has h0 to h3 and switch\n"
    assert done.returncode == 0


@pytest.mark.parametrize("words, open_mpi, hydra", [
    ([], "h0 1 h1 1 h2 1 h3 1 slot", "h0:1 h1:1 h2:1 h3:1"),
    (["--ranks-per-host", "3", "--order", "across"], "h0 3 h2 3 h1 3 h3 3 slot",
     "h0:3 h2:3 h1:3 h3:3"),
    (["--ranks-per-host", "2", "--placement", "round-robin", "--hosts", "2"], "h0 2 h1 2 node",
     "h0:1 h1:1"),
    (["--hosts", "h3,h1"], "h3 1 h1 1 slot", "h3:1 h1:1"),
    (["--spare", "1", "--order", "across"], "h0 1 h2 1 slot", "h0:1 h2:1"),
    (["--order", "random:1"], "h3 1 h0 1 h2 1 h1 1 slot", "h3:1 h0:1 h2:1 h1:1"),
])
def test_launchers_are_told_the_hosts(four, launcher, words, open_mpi, hydra):
    script = launcher("""
echo $(sed s/slots=// $PRTE_MCA_prte_default_hostfile) $PRTE_MCA_rmaps_default_mapping_policy
echo $(cat $HYDRA_HOST_FILE)
cmp $PRTE_MCA_prte_default_hostfile $OMPI_MCA_orte_default_hostfile
cmp $HYDRA_HOST_FILE $I_MPI_HYDRA_HOST_FILE
hostname
""")
    first = open_mpi.split()[0]
    assert well(run(four, script, *words)) == f"{open_mpi}\n{hydra}\n{first}\n"


def test_bad_hosts_are_named(four, launcher):
    script = launcher("")
    for wanted, line in (("5", f"--hosts 5: '{four}' has 4 hosts"), ("0", f"--hosts 0: '{four}' has"
                         " 4 hosts"), ("h1,h7", f"--hosts: '{four}' has no host 'h7'")):
        done = run(four, script, "--hosts", wanted)
        assert (done.returncode, done.stderr) == (2, f"lab: {line}\n")


def test_a_users_own_variables_hold(four, launcher):
    script = launcher("echo $OMPI_MCA_pml $I_MPI_FABRICS $TMPDIR\n")
    done = run(four, script, env={"OMPI_MCA_pml": "cm", "I_MPI_FABRICS": "shm", "TMPDIR": "/tmp"})
    assert well(done) == f"cm shm {STATE / four / 'tmp'}\n"


def test_what_outlives_a_run_is_ended(four, launcher):
    script = launcher("""
"$agent" h2 "setsid sleep 1000 </dev/null >/dev/null 2>&1 &"
setsid sleep 1000 </dev/null >/dev/null 2>&1 &
exit 3
""")
    done = run(four, script)
    assert (done.returncode, done.stderr) == \
        (3, "lab: ended 2 processes that outlived the run\n")
    status = json.loads(well(lab("status", "--name", four, "--json")))[0]
    assert sum(host["processes"] for host in status["hosts"]) == 0
    assert not list((STATE / four).glob("run-*"))


def test_a_run_that_is_ended_ends_its_launcher(four, launcher):
    script = launcher("""
trap 'echo ended; exit 6' TERM
"$agent" h1 "echo there; sleep 1000" &
while :; do sleep 0.05; done
""")
    with subprocess.Popen([str(LAB), "run", "--name", four, "--", script], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout.readline() == "there\n"
        child.terminate()
        assert child.stdout.readline() == "ended\n"
        assert child.wait(TIMEOUT_S) == 6
        child.stderr.read()
    status = json.loads(well(lab("status", "--name", four, "--json")))[0]
    assert sum(host["processes"] for host in status["hosts"]) == 0
