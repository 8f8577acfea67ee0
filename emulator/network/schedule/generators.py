"""Well-known allreduces as schedules, on any topology; rank i is at ``places[i]``.

n ranks, S bytes of data at each, alpha ns and beta ns/byte a message on links that no two messages share at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from emulator.network.schedule.builder import Builder
from emulator.network.schedule.check import check_count
from emulator.network.schedule.columns import Kind
from emulator.network.schedule.parts import Chunks, Operation, ScheduleError
from emulator.network.schedule.schedule import Schedule
from emulator.network.schedule.trees import switch_tree
from emulator.network.topology.topology import Topology

ELEMENT_BYTES = 4
"""No chunk ends inside an element: what live runs add up are float32 or int32."""


def _builder(
    name: str, topology: Topology, size_bytes: int, count: int, places: Sequence[str] | None
) -> tuple[Builder, int]:
    """``count`` chunks, as alike as elements allow; and the number of ranks."""
    ranks = len(topology.hosts if places is None else places)
    if ranks < 2:
        raise ScheduleError(f"{name} has at least two ranks, not {ranks}")
    return Builder(f"{name}-{ranks}", topology, even_chunks(size_bytes, count, ranks), places), ranks


def even_chunks(size_bytes: int, count: int, ranks: int) -> list[Chunks]:
    """``count`` chunks of an allreduce, as alike as elements allow. Raises ScheduleError."""
    elements, rest = divmod(size_bytes, ELEMENT_BYTES)
    if elements < count:
        text = f"{size_bytes} bytes are too few for {count} chunks of whole elements: at least {ELEMENT_BYTES * count}"
        raise ScheduleError(text, ("size",))
    if rest:
        text = f"{size_bytes} bytes are no multiple of {ELEMENT_BYTES}, the bytes of an element"
        raise ScheduleError(text, ("size",))
    everybody = tuple(range(ranks))
    larger = elements % count
    parts = ((larger, elements // count + 1), (count - larger, elements // count))
    return [Chunks(many, ELEMENT_BYTES * each, everybody, everybody) for many, each in parts if many]


def ring(topology: Topology, size_bytes: int, places: Sequence[str] | None = None) -> Schedule:
    """Reduce-scatter, then allgather around a ring: 2(n - 1)(alpha + beta S/n) (Patarasuk, Yuan 2009)."""
    ranks = len(topology.hosts if places is None else places)
    check_count(2 * ranks * (ranks - 1))
    builder, ranks = _builder("ring", topology, size_bytes, ranks, places)
    step, rank = np.arange(ranks - 1)[:, None], np.arange(ranks)
    builder.messages(Kind.REDUCE, rank, (rank + 1) % ranks, (rank - step) % ranks)
    builder.messages(Kind.SEND, rank, (rank + 1) % ranks, (rank + 1 - step) % ranks)
    return builder.build()


def halving_doubling(topology: Topology, size_bytes: int, places: Sequence[str] | None = None) -> Schedule:
    """Recursive halving, then doubling: 2 log2(n) alpha + 2(1 - 1/n) beta S (Thakur, Rabenseifner, Gropp 2005).

    Other numbers of ranks than powers of two: the first ones past the largest power add theirs to a partner's before,
    and get the sum from it after.
    """
    ranks = len(topology.hosts if places is None else places)
    power = 1 << (ranks.bit_length() - 1)
    builder, ranks = _builder("halving-doubling", topology, size_bytes, power, places)
    rank, more = np.arange(power), np.arange(power, ranks)
    builder.messages(Kind.REDUCE, more, more - power, 0 * more, power)
    distances = [power >> shift for shift in range(1, power.bit_length())]
    for distance in distances:
        peer = rank ^ distance
        builder.messages(Kind.REDUCE, rank, peer, peer // distance * distance, distance)
    for distance in reversed(distances):
        builder.messages(Kind.SEND, rank, rank ^ distance, rank // distance * distance, distance)
    builder.messages(Kind.SEND, more - power, more, 0 * more, power)
    return builder.build()


def double_binary_tree(
    topology: Topology, size_bytes: int, places: Sequence[str] | None = None, pieces: int = 8
) -> Schedule:
    """Half of the data up and down each of two trees, in pieces (Sanders, Speck, Traeff 2009).

    In-order trees: inner nodes of the first have odd numbers. The second is the first shifted by one rank (n odd) or
    mirrored (n even), so that no rank is an inner node of both. A rank with two below it sends and receives 2 S, in 4
    messages for each piece: 4 ``pieces`` (alpha + beta S/2 ``pieces``) at least, and some 2 log2(n) messages more until
    the first piece has been up and down. One piece takes 4(log2(n + 1) - 1) messages where n + 1 is a power of two, and
    4 log2(n) - 2 where n is. Messages are in the order of `_tree_turns`.
    """
    ranks = len(topology.hosts if places is None else places)
    builder, ranks = _builder("double-binary-tree", topology, size_bytes, 2 * pieces, places)
    above = _in_order_tree(ranks)
    moved = [(rank + 1) % ranks if ranks % 2 else ranks - 1 - rank for rank in range(ranks)]
    trees = (above, {moved[rank]: moved[parent] for rank, parent in above.items()})
    for half, piece, is_down, rank in _tree_turns(trees, ranks, pieces):
        if is_down:
            builder.send(trees[half][rank], rank, [2 * piece + half])
        else:
            builder.reduce(rank, trees[half][rank], [2 * piece + half])
    return builder.build()


_Turn: TypeAlias = tuple[int, int, bool, int]
"""Of a tree, a piece: down from the parent, or up to it; the rank below."""


def _tree_turns(trees: Sequence[Mapping[int, int]], ranks: int, pieces: int) -> list[_Turn]:
    """Messages in turns in which no rank sends or receives two: in each turn, of those that can go, first the ones that
    a pipeline with two turns a piece would have sent earliest."""
    below: list[list[list[int]]] = [[[] for _ in range(ranks)] for _ in trees]
    for half, tree in enumerate(trees):
        for rank, parent in tree.items():
            below[half][parent].append(rank)
    depth = [[_depth(tree, rank) for rank in range(ranks)] for tree in trees]
    deepest = max(map(max, depth))

    def urgency(turn: _Turn) -> tuple[int, int]:
        half, piece, is_down, rank = turn
        level = depth[half][rank]
        return 2 * piece + deepest + (level if is_down else -level), rank

    places = product((0, 1), range(pieces), range(ranks))
    missing = {(half, piece, rank): len(below[half][rank]) for half, piece, rank in places}
    ready = [(half, piece, False, rank) for (half, piece, rank), count in missing.items() if not count]
    found: list[_Turn] = []
    while ready:
        sending, receiving, taken, later = set(), set(), [], []
        for turn in sorted(ready, key=urgency):
            half, _, is_down, rank = turn
            ends = (trees[half][rank], rank) if is_down else (rank, trees[half][rank])
            if ends[0] in sending or ends[1] in receiving:
                later.append(turn)
                continue
            sending.add(ends[0])
            receiving.add(ends[1])
            taken.append(turn)
        for half, piece, is_down, rank in taken:
            node = rank if is_down else trees[half][rank]
            missing[half, piece, node] -= not is_down
            if is_down or (not missing[half, piece, node] and node not in trees[half]):
                later += [(half, piece, True, child) for child in below[half][node]]
            elif not missing[half, piece, node]:
                later.append((half, piece, False, node))
        found += taken
        ready = later
    return found


def _depth(tree: Mapping[int, int], rank: int) -> int:
    return 1 + _depth(tree, tree[rank]) if rank in tree else 0


def _in_order_tree(ranks: int) -> dict[int, int]:
    """Rank -> its parent. Rank r - 1 has as its level the number of zeros at the end of r."""
    above: dict[int, int] = {}

    def split(first: int, last: int, parent: int | None) -> None:
        if first > last:
            return
        step = 1 << ((last - first + 1).bit_length() - 1)
        root = first + step - 1
        if parent is not None:
            above[root] = parent
        split(first, root - 1, root)
        split(root + 1, last, root)

    split(0, ranks - 1, None)
    return above


def bcube(topology: Topology, size_bytes: int, places: Sequence[str] | None = None, base: int = 4) -> Schedule:
    """Stages of exchanges in groups of ``base``: reduce-scatter up to the last stage, then allgather back.

    As Gloo's allreduce over BCube (Guo et al. 2009 is the network). n is a power of the base, or a product of factors
    up to it: then each stage takes the largest factor that divides what is left.
    """
    ranks = len(topology.hosts if places is None else places)
    stages = _factors(ranks, base)
    builder, ranks = _builder("bcube", topology, size_bytes, ranks, places)
    rank = np.arange(ranks)
    first, distance, length = 0 * rank, 1, ranks  # of each rank: the chunks that it goes on with
    rounds = []
    for factor in stages:
        length //= factor
        first = first + rank // distance % factor * length
        rounds.append((distance, factor, first, length))
        for step in range(1, factor):
            peer = _peer(rank, distance, factor, step)
            builder.messages(Kind.REDUCE, rank, peer, first[peer], length)
        distance *= factor
    for distance, factor, first, length in reversed(rounds):
        for step in range(1, factor):
            builder.messages(Kind.SEND, rank, _peer(rank, distance, factor, step), first, length)
    return builder.build()


def _peer(rank: NDArray[np.int64], distance: int, factor: int, step: int) -> NDArray[np.int64]:
    """The rank whose digit of weight ``distance`` is larger by ``step``, modulo ``factor``."""
    digit = rank // distance % factor
    return rank + ((digit + step) % factor - digit) * distance


def _factors(ranks: int, base: int) -> list[int]:
    found = []
    while ranks > 1:
        factor = next((each for each in range(base, 1, -1) if ranks % each == 0), 0)
        if not factor:
            raise ScheduleError(f"{ranks} ranks are not a product of factors up to {base}")
        found.append(factor)
        ranks //= factor
    return found


def switch_allreduce(
    topology: Topology, size_bytes: int, places: Sequence[str] | None = None, root: str | None = None, pieces: int = 1
) -> Schedule:
    """The switches of a tree add up and copy: alpha + beta S and the latency to the root and back.

    On a star that is one switch. ``root``: a switch; by default the one nearest to the farthest rank.
    """
    builder, ranks = _builder("switch", topology, size_bytes, pieces, places)
    route = switch_tree(topology, builder.places, root=root)
    for piece in range(pieces):
        builder.collective(Operation.ALLREDUCE, range(ranks), [piece], route=route)
    return builder.build()


GENERATORS: Mapping[str, Callable[..., Schedule]] = {
    "ring": ring,
    "halving-doubling": halving_doubling,
    "double-binary-tree": double_binary_tree,
    "bcube": bcube,
    "switch": switch_allreduce,
}
"""By the word on the command line."""
