# SPDX-License-Identifier: BSD-3-Clause
"""The network of a lab: bridges in a tree, hosts at the leaves, every link at its rate."""
import fcntl
import json
import os
import shutil
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path

import namespaces
from namespaces import LabError

STATE = Path("/run/tutti-lab")
HOSTS_MAX = 250
LEAVES_MAX = 64
SWITCH = "switch"
PORT = "p"  # p0 is the switch's end of the link to h0
# Where packets are lost: in every switch, on the way to every host, or on the link of one, by name.
SWITCHES, HOSTS = "switches", "hosts"
# Bucket of a link: a millisecond of the rate, but at least 20 KB (13 full frames), below which the
# shaper of a slow link falls behind between two timers. A queue holds 400 KB or 20 ms of the rate.
BURST_BYTES_MIN, BURST_SECONDS = 20_000, 0.001
QUEUE_BYTES_MIN, QUEUE_SECONDS = 400_000, 0.020
LOSS_PARTS = 100_000  # of which so many are dropped: percent with three decimals


def folder_of(name):
    return STATE / name


@contextmanager
def locked():
    """One `up` or `down` at a time, by a lock on the folder of all labs.

    A host inherits the lock until its process 1 has noted its number and become what it is, so
    that `down` after an interrupted `up` sees it. The last `down` removes the folder: whoever
    waited for it then locked a folder that is no more, and begins again.
    """
    while True:
        folder = open_state()
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            if is_state(folder):
                yield
                return
        finally:
            os.close(folder)


def open_state():
    """The folder of all labs, made where there is none; another's `down` may remove it in between,
    and whatever one looked at before."""
    while True:
        with suppress(FileExistsError):
            os.mkdir(STATE, mode=0o755)
        with suppress(FileNotFoundError):
            return os.open(STATE, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def is_state(folder):
    try:
        return os.path.samestat(os.fstat(folder), os.stat(STATE))
    except FileNotFoundError:
        return False


class Lab:
    """What `up` noted of a finished lab."""

    def __init__(self, noted):
        self.name = noted["name"]
        self.leaves = noted["leaves"]
        self.rate_bits = noted["rate_bits"]
        self.uplink_bits = noted["uplink_bits"]
        self.loss = noted["loss"]
        self.multicast = noted["multicast"]
        self.hosts = noted["hosts"]
        self.switch = noted["switch"]
        self.folder = folder_of(self.name)

    @staticmethod
    def find(name):
        try:
            return Lab(json.loads((folder_of(name) / "lab.json").read_text()))
        except OSError:
            if folder_of(name).exists():
                raise LabError(f"'{name}' is half built; type tools/lab down --name {name}"
                               ) from None
            raise LabError(f"no lab is up under the name '{name}'") from None

    def pid(self, host):
        """Process 1 of a host, proven to be the one that `up` started."""
        for known in [*self.hosts, self.switch]:
            if known["name"] == host:
                if not namespaces.alive(known["pid"], known["start"]):
                    raise LabError(f"host {host} of '{self.name}' has died; type tools/lab down "
                                   f"--name {self.name}")
                return known["pid"]
        raise LabError(f"'{self.name}' has no host '{host}'; it has {self.hosts[0]['name']} to "
                       f"{self.hosts[-1]['name']} and {SWITCH}")

    def temporary(self):
        """A directory that every host has for itself."""
        return self.folder / "tmp"


def address(index):
    return f"10.77.{(index + 1) >> 8}.{(index + 1) & 255}"


def hosts_text(count):
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost"]
    lines += [f"{address(i)} h{i}" for i in range(count)]
    return "\n".join(lines) + "\n"


def shaped(device, bits, queue_bytes):
    burst = max(BURST_BYTES_MIN, int(bits / 8 * BURST_SECONDS))
    limit = queue_bytes or max(QUEUE_BYTES_MIN, int(bits / 8 * QUEUE_SECONDS))
    return f"qdisc add dev {device} root tbf rate {bits}bit burst {burst} limit {limit}"


def bridge_lines(name, number, querier):
    """A switch that learns who listens to which group; times in 1/100 s.

    One switch of a fabric asks, with an address, since ports that hear queries from nobody are not
    taken for the way to others. Were the leaves to ask as well, a root that hears one of them
    before its own first query would keep silent for minutes, and hear of no members.
    """
    return [f"link add {name} type bridge stp_state 0 forward_delay 0 mcast_snooping 1 "
            f"mcast_querier {int(querier)} mcast_query_use_ifaddr 1 mcast_query_interval 1000 "
            f"mcast_query_response_interval 100 mcast_startup_query_interval 100 "
            f"mcast_startup_query_count 5",
            f"addr add 10.77.255.{number + 1}/16 dev {name}",
            f"link set {name} up"]


class Wiring:
    """The batches that make the switches and their links."""

    def __init__(self, plan, host_pids):
        self.plan = plan
        self.links, self.shapes = [], []
        leaves = plan["leaves"]
        tree = len(leaves) > 1
        if tree:
            self.links += bridge_lines("root", 0, querier=True)
        index = 0
        for leaf, count in enumerate(leaves):
            self.links += bridge_lines(f"leaf{leaf}", leaf + 1, querier=not tree)
            if tree:
                self.links.append(f"link add up{leaf} type veth peer name down{leaf}")
                self.join(f"up{leaf}", f"leaf{leaf}", plan["uplink_bits"])
                # What its hosts listen to is told upwards from the first packet on.
                self.links.append(f"link set up{leaf} type bridge_slave mcast_router 2")
                self.join(f"down{leaf}", "root", plan["uplink_bits"])
            for _ in range(count):
                self.links.append(f"link add {PORT}{index} type veth peer name eth0 netns "
                                  f"{host_pids[index]}")
                self.join(f"{PORT}{index}", f"leaf{leaf}", plan["rate_bits"])
                index += 1

    def join(self, port, bridge, bits):
        self.links.append(f"link set {port} master {bridge} up")
        self.shapes.append(shaped(port, bits, self.plan["queue_bytes"]))


def wire_host(index, pid, plan):
    namespaces.feed(pid, "ip", [
        "link set lo up",
        f"addr add {address(index)}/16 dev eth0",
        f"addr add fd77::{index + 1:x}/64 dev eth0 nodad",
        "link set eth0 up",
        "route add 224.0.0.0/4 dev eth0"])
    namespaces.feed(pid, "tc", [shaped("eth0", plan["rate_bits"], plan["queue_bytes"])])


def chain_text(name, hook, rules):
    body = "".join(f"    {rule}\n" for rule in rules)
    return f"  chain {name} {{\n    type filter hook {hook} priority 0;\n{body}  }}\n"


def filter_text(loss, of, multicast, at):
    """Rules of the switches: what is forwarded is judged once for each copy in every switch that it
    passes; at the hosts, once for each copy that goes to one. One host's link loses both ways, and
    what comes from it before the switch makes copies."""
    kind = "meta l4proto udp " if of == "udp" else "ether type { ip, ip6 } "
    dropped = round(loss / 100 * LOSS_PARTS)
    some = f"numgen random mod {LOSS_PARTS} < {dropped} " if dropped < LOSS_PARTS else ""
    lose = f"{kind}{some}counter drop"
    ports, arriving = [], []
    if not multicast:
        # Neighbour discovery is multicast too, and without it there is no IPv6 at all.
        ports += ["ip daddr 224.0.0.0/4 drop", "ip6 daddr ff00::/8 ip6 nexthdr != icmpv6 drop"]
    if loss and at == SWITCHES:
        ports.append(lose)
    elif loss and at == HOSTS:
        ports.append(f'oifname "{PORT}*" {lose}')
    elif loss:
        port = f'"{PORT}{at.removeprefix("h")}"'
        ports.append(f"oifname {port} {lose}")
        arriving.append(f"iifname {port} {lose}")
    return ("table bridge tutti {}\ndelete table bridge tutti\ntable bridge tutti {\n"
            + chain_text("ports", "forward", ports)
            + chain_text("arriving", "prerouting", arriving) + "}\n")


def can_filter():
    return shutil.which("nft") is not None


def set_filter(switch_pid, loss, of, multicast, at=SWITCHES):
    if not can_filter():
        raise LabError("loss needs the command nft (Debian: apt-get install nftables)")
    done = namespaces.spawn(switch_pid, ["nft", "-f", "-"], only_network=True, text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)
    _, wrong = done.communicate(filter_text(loss, of, multicast, at))
    if done.returncode != 0:
        raise LabError(f"nft: {namespaces.first_line(wrong)}")


def write_whole(path, text):
    partial = path.with_name(path.name + ".part")
    partial.write_text(text)
    partial.replace(path)


def build(plan):
    """Makes hosts and network of `plan`; returns what is to be noted."""
    folder = folder_of(plan["name"])
    (folder / "init").mkdir()
    (folder / "tmp").mkdir(mode=0o777)
    count = sum(plan["leaves"])
    hosts_file = folder / "hosts"
    hosts_file.write_text(hosts_text(count))

    def make(name):
        pid, start = namespaces.make_host(plan["name"], name, folder / "init" / name,
                                          folder / "tmp", hosts_file)
        return {"name": name, "pid": pid, "start": start}

    switch = make(SWITCH)
    hosts = [make(f"h{index}") for index in range(count)]
    wiring = Wiring(plan, [host["pid"] for host in hosts])
    namespaces.feed(switch["pid"], "ip", ["link set lo up", *wiring.links])
    namespaces.feed(switch["pid"], "tc", wiring.shapes)
    leaf_of = [leaf for leaf, size in enumerate(plan["leaves"]) for _ in range(size)]
    for index, host in enumerate(hosts):
        wire_host(index, host["pid"], plan)
        host.update(address=address(index), leaf=leaf_of[index])
    if plan["loss"] or not plan["multicast"]:
        set_filter(switch["pid"], plan["loss"], plan["loss_of"], plan["multicast"])
    return {**plan, "switch": switch, "hosts": hosts}


def up(plan):
    name = plan["name"]
    folder = folder_of(name)
    with locked():
        if folder.exists():
            noted = Lab.find(name)
            raise LabError(f"'{name}' is up already ({len(noted.hosts)} hosts); tools/lab down "
                           f"--name {name} ends it")
        folder.mkdir(mode=0o755)
        try:
            noted = build(plan)
            write_whole(folder / "lab.json", json.dumps(noted, indent=1) + "\n")
        except BaseException:
            with namespaces.undisturbed():
                take_away(name)
            raise
    return Lab(noted)


def take_away(name):
    """Ends all hosts of a lab, finished or not, and removes its files. The lock is held."""
    folder = folder_of(name)
    processes = []
    for record in (folder / "init").glob("*"):
        words = record.read_text().split()
        if len(words) == 2 and all(word.isdigit() for word in words):
            processes.append((int(words[0]), int(words[1])))
    namespaces.end_hosts(processes)
    shutil.rmtree(folder)


def down(name):
    """Whether there was anything."""
    if not folder_of(name).exists():
        return False
    with locked():
        there = folder_of(name).exists()
        if there:
            take_away(name)
        try:
            STATE.rmdir()
        except OSError:
            pass  # Other labs are up.
    return there


def names():
    with suppress(FileNotFoundError):
        return sorted(entry.name for entry in STATE.iterdir())
    return []
