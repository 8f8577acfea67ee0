"""Regular topologies. Hosts are named h0, h1, ... so that host i is where rank i runs; cables have two directions.

Every builder raises TopologyError for counts that do not make a network. To add one: a function here, and a row in
`BUILDERS`, from which `netsum topology build` takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from emulator.network.topology.hxmesh.hammingmesh import hamming_mesh
from emulator.network.topology.parts import LinkClass, TopologyError
from emulator.network.topology.plan import HOST_LINK, SWITCH_LINK, Plan, check_counts
from emulator.network.topology.topology import Topology

MAX_LEVELS = 4
"""Levels of switches of a tree."""


def star(hosts: int, *, host_link: LinkClass = HOST_LINK) -> Topology:
    """``hosts`` hosts at one switch s0: as many cables as hosts, diameter 2."""
    check_counts("star", hosts + 1, hosts=(hosts, 1))
    plan = Plan(f"star-{hosts}")
    plan.rack(plan.switch("s0"), hosts, host_link, "")
    return plan.topology()


def tree(
    fan_outs: Sequence[int | tuple[int, ...]],
    *,
    host_link: LinkClass = HOST_LINK,
    switch_link: LinkClass = SWITCH_LINK,
) -> Topology:
    """A tree of switches from the root down, hosts below the lowest: (2, 4) is a root over 2 leaves of 4 hosts.

    With fan-outs f1 to fL, up to `MAX_LEVELS` of them: f1 f2 ... fL hosts; 1 + f1 + f1 f2 + ... + f1 ... f(L-1)
    switches; a cable for every node but the root; diameter 2L (of more than one leaf). Switch s1.0 is child 0 of switch
    s1 of the root. Groups: rack0, ... of a leaf and its hosts. The last fan-out may be one for each leaf: (2, (3, 5)).
    """
    above = [each for each in fan_outs[:-1] if isinstance(each, int)]
    last = fan_outs[-1] if fan_outs else 0
    hosts = last if isinstance(last, tuple) else (last,) * prod(above)
    if len(above) < len(fan_outs) - 1 or len(hosts) != prod(above):
        raise TopologyError(f"tree: {tuple(fan_outs)}: only the last fan-out may be one for each leaf")
    sizes = [*(prod(above[:level]) for level in range(len(fan_outs))), sum(hosts)]
    if not 1 <= len(fan_outs) <= MAX_LEVELS:
        raise TopologyError(f"tree: {len(fan_outs)} levels of switches; there are 1 to {MAX_LEVELS}")
    check_counts("tree", sum(sizes), fan_out=(min(*above, *hosts, sizes[-1]), 1))
    numbers = "-".join(map(str, hosts if isinstance(last, tuple) else (last,)))
    plan = Plan("tree-" + "x".join([*map(str, above), numbers]))
    level = [("root", "s")]
    for number in range(len(fan_outs)):
        names = []
        for index, (parent, prefix) in enumerate(level):
            leaf = number == len(fan_outs) - 1
            group = f"rack{index}" if leaf and number else ""
            if not number:
                plan.switch(parent)
            elif leaf:
                plan.groups[group] = [parent]
            if leaf:
                plan.rack(parent, hosts[index], host_link, group)
                continue
            for child in range(above[number]):
                names.append((plan.switch(f"{prefix}{child}"), f"{prefix}{child}."))
                plan.cable(names[-1][0], parent, switch_link)
        level = names
    return plan.topology()


def leaf_spine(
    leaves: int,
    hosts_per_leaf: int,
    spines: int,
    *,
    host_link: LinkClass = HOST_LINK,
    switch_link: LinkClass = SWITCH_LINK,
) -> Topology:
    """Every leaf has a cable to every spine: the three-stage folded Clos network of RFC 7938, section 3.2.

    leaves * hosts_per_leaf hosts, leaves + spines switches, leaves * (hosts_per_leaf + spines) cables; diameter 4. The
    oversubscription is hosts_per_leaf : spines at equal rates. Groups: rack0, ... of a leaf and its hosts.
    """
    count = leaves * (1 + hosts_per_leaf) + spines
    check_counts("leaf-spine", count, leaves=(leaves, 1), hosts_per_leaf=(hosts_per_leaf, 1), spines=(spines, 1))
    plan = Plan(f"leaf-spine-{leaves}x{hosts_per_leaf}-{spines}")
    tops = [plan.switch(f"spine{index}") for index in range(spines)]
    for index in range(leaves):
        leaf = plan.switch(f"leaf{index}", group=f"rack{index}")
        plan.rack(leaf, hosts_per_leaf, host_link, f"rack{index}")
        for spine in tops:
            plan.cable(leaf, spine, switch_link)
    return plan.topology()


def fat_tree(
    radix: int, taper: float = 1.0, *, host_link: LinkClass = HOST_LINK, switch_link: LinkClass = SWITCH_LINK
) -> Topology:
    """The k-ary fat tree of switches with k = radix ports (Al-Fares, Loukissas, Vahdat 2008, section 3), or tapered.

    Each of k pods has k/2 edge and u aggregation switches, all joined; aggregation switch i of every pod is joined with
    core switches i k/2 to (i + 1) k/2 - 1. An edge switch has u uplinks and k - u hosts: u = k / (1 + taper), rounded,
    so that ``taper`` hosts share the rate of an uplink. Taper 1 is the paper's tree of full bisection, u = k/2.

    k^2/2 (k - u) hosts (k^3/4 without taper), k^2/2 edge, k u aggregation and u k/2 core switches; k^2/2 u cables
    between edge and aggregation, as many between aggregation and core; diameter 6. Groups: pod0, ... of the switches
    and hosts of a pod.
    """
    if radix < 2 or radix % 2:
        raise TopologyError(f"fat-tree: a radix of {radix}; it is even, and at least 2")
    half, uplinks = radix // 2, round(radix / (1 + taper)) if taper > 0 else 0
    if not 1 <= uplinks < radix:
        raise TopologyError(f"fat-tree: a taper of {taper:g} leaves an edge switch of {radix} ports {uplinks} uplinks")
    hosts = radix * half * (radix - uplinks)
    check_counts("fat-tree", hosts + radix * (half + uplinks) + uplinks * half)
    plan = Plan(f"fat-tree-{radix}" + (f"-taper-{taper:g}" if uplinks != half else ""))
    cores = [plan.switch(f"core{index}") for index in range(uplinks * half)]
    for pod in range(radix):
        group = f"pod{pod}"
        upper = [plan.switch(f"agg{pod}.{index}", group=group) for index in range(uplinks)]
        for index in range(half):
            edge = plan.switch(f"edge{pod}.{index}", group=group)
            plan.rack(edge, radix - uplinks, host_link, group)
            for aggregation in upper:
                plan.cable(edge, aggregation, switch_link)
        for index, aggregation in enumerate(upper):
            for core in cores[index * half : (index + 1) * half]:
                plan.cable(aggregation, core, switch_link)
    return plan.topology()


def torus(rows: int, columns: int, *, host_link: LinkClass = HOST_LINK) -> Topology:
    """Hosts in a grid with cables to four neighbors, around the edges too (Dally, Towles 2004, chapter 5).

    rows * columns hosts and twice as many cables; diameter floor(rows / 2) + floor(columns / 2). With two rows or
    columns, neighbors have two parallel cables. Coordinates: (row, column). Groups: row0, ..., column0, ...
    """
    check_counts("torus", rows * columns, rows=(rows, 2), columns=(columns, 2))
    plan = Plan(f"torus-{rows}x{columns}")
    grid = [[plan.host((row, column), group=f"row{row}") for column in range(columns)] for row in range(rows)]
    for column in range(columns):
        plan.groups[f"column{column}"] = [grid[row][column] for row in range(rows)]
    for row in range(rows):
        for column in range(columns):
            plan.cable(grid[row][column], grid[row][(column + 1) % columns], host_link)
            plan.cable(grid[row][column], grid[(row + 1) % rows][column], host_link)
    return plan.topology()


def ring_of_racks(
    racks: int, hosts_per_rack: int, *, host_link: LinkClass = HOST_LINK, switch_link: LinkClass = SWITCH_LINK
) -> Topology:
    """Racks, each of a switch and its hosts, whose switches form a ring.

    racks * hosts_per_rack hosts, a switch and a cable between switches for each rack (two racks: two parallel cables);
    diameter 2 + floor(racks / 2). Coordinates: (position,) of a switch. Groups: rack0, ... of a switch and its hosts.
    """
    check_counts("ring", racks * (1 + hosts_per_rack), racks=(racks, 2), hosts_per_rack=(hosts_per_rack, 1))
    plan = Plan(f"ring-{racks}x{hosts_per_rack}")
    switches = [plan.switch(f"s{index}", (index,), group=f"rack{index}") for index in range(racks)]
    for index, switch in enumerate(switches):
        plan.rack(switch, hosts_per_rack, host_link, f"rack{index}")
    for index, switch in enumerate(switches):
        plan.cable(switch, switches[(index + 1) % racks], switch_link)
    return plan.topology()


@dataclass(frozen=True, slots=True)
class Builder:
    """How `netsum topology build` calls a builder."""

    shape: str
    """Of the size on the command line: LEAVESxHOSTS is two numbers. One that ends in '...' is of any length."""
    build: Callable[..., Topology]
    """build(size, **options), with the options that are given: numbers and link classes."""
    options: tuple[str, ...] = ("switch_link",)
    """Options besides host_link."""
    required: tuple[str, ...] = ()


BUILDERS: Mapping[str, Builder] = {
    "star": Builder("HOSTS", lambda size, **options: star(*size, **options), ()),
    "tree": Builder("FANOUTxFANOUT...", tree),
    "leaf-spine": Builder(
        "LEAVESxHOSTS",
        lambda size, **options: leaf_spine(*size, **options),
        ("spines", "switch_link"),
        ("spines",),
    ),
    "fat-tree": Builder("RADIX", lambda size, **options: fat_tree(*size, **options), ("taper", "switch_link")),
    "torus": Builder("ROWSxCOLUMNS", lambda size, **options: torus(*size, **options), ()),
    "ring": Builder("RACKSxHOSTS", lambda size, **options: ring_of_racks(*size, **options)),
    "hxmesh": Builder("ROWSxCOLUMNS", lambda size, **options: hamming_mesh(size, **options), ("board", "switch_link")),
}
"""By the names of `netsum topology build`."""
