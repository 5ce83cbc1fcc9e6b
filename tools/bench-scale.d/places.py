# SPDX-License-Identifier: BSD-3-Clause
"""Where the ranks of a cell stand: the tree of switches, and which rank is on which host."""
import math
from dataclasses import dataclass

from collective_list import VECTORS

# Hosts of a leaf for each of its links up.
TREES = {"fat": 1, "2:1": 2}
PLACEMENTS = {"block": "block", "round-robin": "round-robin", "random": "random:1"}
BUFFER_BYTES_MAX = 64 << 20


@dataclass(frozen=True)
class Place:
    tree: str
    ranks: int
    placement: str
    per_host: int = 4

    @property
    def hosts(self):
        return self.ranks // self.per_host

    @property
    def leaf_hosts(self):
        """The square root of the hosts, so that a leaf has as many as there are leaves."""
        return max(math.isqrt(self.hosts), 1)

    def text(self):
        tree = "fat tree" if self.tree == "fat" else f"{self.tree} tree"
        return f"{tree}, {self.ranks} ranks on {self.hosts} hosts, {self.placement}"

    def placement_word(self):
        return PLACEMENTS[self.placement]

    def toml(self, rate, link_ns):
        """Leaves of as many hosts each, linked with every spine once."""
        leaves = -(-self.hosts // self.leaf_hosts)
        spines = max(self.leaf_hosts // TREES[self.tree], 1)
        lines = [f'rate = "{rate}"', f'latency = "{link_ns}ns"']
        for leaf in range(leaves):
            first, last = leaf * self.leaf_hosts, min((leaf + 1) * self.leaf_hosts, self.hosts) - 1
            lines += ["[[switch]]", f'name = "leaf{leaf}"', f'hosts = "n[{first}-{last}]"']
        if leaves > 1:
            for spine in range(spines):
                lines += ["[[switch]]", f'name = "spine{spine}"',
                          f'switches = "leaf[0-{leaves - 1}]"']
        return "\n".join(lines) + "\n"


def buffer_bytes(collective, size, ranks):
    """The longest buffer of a rank."""
    blocks = 1 if collective in VECTORS else ranks
    return size * blocks


def cells_of(collectives, sizes, ranks):
    return [(collective, size) for collective in collectives
            for size in ([0] if collective == "barrier" else sorted(sizes))
            if buffer_bytes(collective, size, ranks) <= BUFFER_BYTES_MAX]
