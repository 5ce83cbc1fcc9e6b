# SPDX-License-Identifier: BSD-3-Clause
"""What the links of a lab have carried since it is up, and what found no room in front of them."""
import json
import subprocess

import fabric
import namespaces
from namespaces import LabError


def ask(pid, argv):
    """The JSON that a command of iproute2 prints in the network of process `pid`."""
    done = namespaces.spawn(pid, argv, only_network=True, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    out, wrong = done.communicate()
    if done.returncode != 0:
        raise LabError(f"{argv[0]}: {namespaces.first_line(wrong)}")
    return json.loads(out)


def sent_by(pid):
    """Of every device there: packets and bytes that it sent, and those that its queue refused."""
    refused = {queue["dev"]: queue["drops"]
               for queue in ask(pid, ["tc", "-j", "-s", "qdisc"]) if queue["kind"] == "tbf"}
    return {link["ifname"]: {"packets": link["stats64"]["tx"]["packets"],
                             "bytes": link["stats64"]["tx"]["bytes"],
                             "refused": refused[link["ifname"]]}
            for link in ask(pid, ["ip", "-j", "-s", "link"]) if link["ifname"] in refused}


def filtered(pid):
    """Packets that the rules in force have dropped so far."""
    if not fabric.can_filter():
        return 0
    rules = ask(pid, ["nft", "-j", "list", "ruleset"])["nftables"]
    return sum(part["counter"]["packets"] for rule in rules if "rule" in rule
               for part in rule["rule"]["expr"] if "counter" in part)


def read(lab):
    """Every link with its two ways: down is away from the root."""
    switch = sent_by(lab.pid(fabric.SWITCH))
    found = []
    if len(lab.leaves) > 1:
        for leaf in range(len(lab.leaves)):
            found.append({"link": f"root - leaf{leaf}", "down": switch[f"down{leaf}"],
                          "up": switch[f"up{leaf}"]})
    for index, host in enumerate(lab.hosts):
        found.append({"link": f"leaf{host['leaf']} - {host['name']}",
                      "down": switch[f"{fabric.PORT}{index}"],
                      "up": sent_by(lab.pid(host["name"]))["eth0"]})
    return {"links": found, "filtered": filtered(lab.pid(fabric.SWITCH))}


def show(found):
    row = "{:<14}" + "{:>12}{:>14}{:>9}" * 2
    print(row.format("link", "down packets", "bytes", "refused", "up packets", "bytes", "refused"))
    for link in found["links"]:
        ways = (link["down"], link["up"])
        print(row.format(link["link"], *(way[name] for way in ways
                                         for name in ("packets", "bytes", "refused"))))
    print(f"dropped by the rules in force: {found['filtered']} packets")
