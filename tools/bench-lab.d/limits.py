# SPDX-License-Identifier: BSD-3-Clause
"""What a link of a lab must carry at least in a call, whatever the algorithm, without multicast.

A link divides the ranks into two sides: those of a host and all others, or those of a leaf and all
others. What one side has that the other side's results are made of must cross it, folded where
folding is allowed. The slowest link then needs so long. Of a collective with a root it is the mean
over all roots, since the root goes round.

Not by one link alone: an allreduce among N hosts sends 2(N-1) vectors in all, so the busiest host
at least 2(N-1)/N (Patarasuk and Yuan 2007, section 3). Leaves are such hosts for their links up.
"""
import functools
from types import SimpleNamespace

from collective_list import BETWEEN_ALL, SKEWED, VECTOR_FORMS
from jobs import choose_hosts

FROM_ROOT = ("bcast", "scatter", "scatterv")
TO_ROOT = ("reduce", "gather", "gatherv")


def block_bytes(collective, size, giver, taker, ranks):
    """As block_words() of bench/collective_cell.h."""
    words = size // 8
    if collective == SKEWED:
        return size if giver == ranks // 2 or words == 0 else 8
    if collective not in VECTOR_FORMS:
        return size
    odd = giver if collective in ("gatherv", "allgatherv") else taker
    if collective in BETWEEN_ALL:
        odd = giver + taker
    return 8 * (words + words // 8 if odd % 2 else words - words // 8)


def entering(collective, size, inside, root):
    """Bytes that must come to the ranks `inside` from all others; by rank, who is inside."""
    ranks = range(len(inside))
    ours, others = [r for r in ranks if inside[r]], [r for r in ranks if not inside[r]]
    if not ours or not others or collective == "barrier":
        return 0
    if (collective in FROM_ROOT and inside[root]) or (collective in TO_ROOT and not inside[root]):
        return 0

    def blocks(givers, takers):
        return sum(block_bytes(collective, size, giver, taker, len(inside))
                   for giver in givers for taker in takers)
    if collective in ("bcast", "reduce", "allreduce"):
        return size
    if collective in ("scan", "exscan"):
        # Whatever ranks of the other side stand one after the other are folded; what stands behind
        # our last rank is needed by nobody here.
        return size * sum(1 for r in ours if r > 0 and not inside[r - 1])
    if collective in BETWEEN_ALL:
        return blocks(others, ours)
    if collective.startswith(("scatter", "reduce_scatter")):
        return blocks([root], ours)
    return blocks(others, [root])


def groups(by_rank):
    """Of ranks with the same value: by rank, who is of the group."""
    return [tuple(one == value for one in by_rank) for value in sorted(set(by_rank))]


def link_ms(collective, size, sides, root, bits):
    """Of the busiest link between any of these sides and all other ranks, one way."""
    most = max(max(entering(collective, size, side, root),
                   entering(collective, size, tuple(not one for one in side), root))
               for side in sides)
    if collective == "allreduce":
        most = max(most, 2 * (len(sides) - 1) / len(sides) * size)
    return most * 8e3 / bits


@functools.lru_cache(maxsize=None)
def slowest_ms(collective, size, hosts, leaves, rate_bits, uplink_bits):
    """hosts, leaves: by rank."""
    roots = range(len(hosts)) if collective in FROM_ROOT + TO_ROOT else [0]
    total = sum(max(link_ms(collective, size, groups(hosts), root, rate_bits),
                    link_ms(collective, size, groups(leaves), root, uplink_bits))
                for root in roots)
    return total / len(roots)


def hosts_of_ranks(place):
    """By rank."""
    ranks = range(place.hosts * place.per_host)
    if place.placement == "block":
        return tuple(rank // place.per_host for rank in ranks)
    return tuple(rank % place.hosts for rank in ranks)


def leaves_of_hosts(place, lab):
    """In the order in which ranks are dealt to hosts."""
    sizes = [int(size) for size in lab.built.split(",")]
    built = [{"name": f"{leaf}-{i}", "leaf": leaf} for leaf, size in enumerate(sizes)
             for i in range(size)]
    chosen = choose_hosts(SimpleNamespace(name=lab.name, hosts=built, leaves=sizes), place.order,
                          str(place.hosts), lab.spare)
    return [host["leaf"] for host in chosen]


def limit_ms(collective, size, place, lab):
    """What the slowest link needs, in ms; nothing for a barrier. `lab`: a runs.Lab."""
    hosts, leaves = hosts_of_ranks(place), leaves_of_hosts(place, lab)
    return slowest_ms(collective, size, hosts, tuple(leaves[host] for host in hosts),
                      lab.rate_bits, lab.uplink_bits)
