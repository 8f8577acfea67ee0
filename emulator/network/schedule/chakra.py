"""MLCommons Chakra's execution traces: a file of nodes for each rank, of training steps that were measured or written.

The form is that of ``schema/protobuf/et_def.proto`` of github.com/mlcommons/chakra: messages with their length before
them as a varint, a GlobalMetadata and then Nodes. Here are the fields that schedules have, with the same numbers; all
others are skipped. A trace tells how many bytes go where and what waits for what, not which data they are. Ours tell
that in attributes: ``netsum_chunks`` of the GlobalMetadata (JSON), ``netsum_chunks``, ``netsum_reads`` and
``netsum_after`` of nodes (numbers as in files.py). They come back as they were, but for routes, which no trace has. Of
other traces:

| node | task |
|---|---|
| COMP_NODE, and memory nodes with a duration | Compute |
| COMM_SEND_NODE with its COMM_RECV_NODE, in order for each comm_src, comm_dst, comm_tag | Send of a chunk of its own |
| COMM_COLL_NODE of all ranks of a pg_name, in order: ALL_REDUCE, REDUCE, BROADCAST | Collective in the switches |
| ALL_REDUCE, where an algorithm is chosen | its Sends and Reduces |
| ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER | a Send from each rank to each other one, of comm_size / ranks bytes |
| others (metadata, BARRIER) | what waits for them waits for what they wait for |
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Any, TypeAlias

from emulator.network.schedule.builder import Builder
from emulator.network.schedule.columns import set_text
from emulator.network.schedule.files import chunks_json, parse_chunks, parse_set
from emulator.network.schedule.generators import ELEMENT_BYTES, GENERATORS
from emulator.network.schedule.parts import Chunks, Collective, Compute, Operation, Reduce, ScheduleError, Send, Task
from emulator.network.schedule.schedule import Schedule
from emulator.network.schedule.torch_trace import read_operators
from emulator.network.topology.topology import Topology

MEM_LOAD, MEM_STORE, COMP, SEND, RECV, COLL = 2, 3, 4, 5, 6, 7
"""NodeType."""
IN_SWITCHES: Mapping[int, Operation] = {0: Operation.ALLREDUCE, 1: Operation.REDUCE, 5: Operation.BROADCAST}
"""CollectiveCommType."""
BETWEEN_PAIRS = (2, 6, 7)
"""ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER."""
EXACT, CHUNKS, READS, AFTER = "netsum_duration_ns", "netsum_chunks", "netsum_reads", "netsum_after"
"""Attributes of ours; the first: duration_micros is in whole microseconds."""
LEAST_ELEMENTS = 16
"""Of an allreduce by an algorithm, which divides it: smaller ones count as so many."""
Key: TypeAlias = tuple[int, int]
"""(rank, id) of a node."""


@cache
def _messages() -> Mapping[str, Any]:
    """Classes of the protobuf messages by name."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="netsum/chakra.proto", package="netsum.chakra", syntax="proto3")
    fields: dict[str, list[tuple[str, int, Any, bool]]] = {
        "AttributeProto": [
            ("name", 1, kinds.TYPE_STRING, False),
            ("int32_val", 7, kinds.TYPE_INT32, False),
            ("int64_val", 9, kinds.TYPE_INT64, False),
            ("uint32_val", 11, kinds.TYPE_UINT32, False),
            ("uint64_val", 13, kinds.TYPE_UINT64, False),
            ("bool_val", 27, kinds.TYPE_BOOL, False),
            ("string_val", 29, kinds.TYPE_STRING, False),
        ],
        "GlobalMetadata": [("version", 1, kinds.TYPE_STRING, False), ("attr", 2, "AttributeProto", True)],
        "Node": [
            ("id", 1, kinds.TYPE_UINT64, False),
            ("name", 2, kinds.TYPE_STRING, False),
            ("type", 3, kinds.TYPE_INT32, False),
            ("ctrl_deps", 4, kinds.TYPE_UINT64, True),
            ("data_deps", 5, kinds.TYPE_UINT64, True),
            ("duration_micros", 7, kinds.TYPE_UINT64, False),
            ("attr", 10, "AttributeProto", True),
        ],
    }
    for name, rows in fields.items():
        message = file.message_type.add(name=name)
        if name == "AttributeProto":
            message.oneof_decl.add(name="value")
        for each, number, kind, is_repeated in rows:
            label = kinds.LABEL_REPEATED if is_repeated else kinds.LABEL_OPTIONAL
            made = message.field.add(name=each, number=number, label=label)
            if isinstance(kind, str):
                made.type, made.type_name = kinds.TYPE_MESSAGE, f".netsum.chakra.{kind}"
            else:
                made.type = kind
            if each.endswith("_val"):
                made.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"netsum.chakra.{name}")) for name in fields
    }


def read_chakra(path: Path, topology: Topology, places: Sequence[str] | None = None, algorithm: str = "") -> Schedule:
    """``path``: ``TRACE.et`` for the files TRACE.0.et, TRACE.1.et and so on; or for those of torch, TRACE.0.json and so
    on, with timelines TRACE.0.timeline.json if they are there. ``algorithm``: of `GENERATORS`, for allreduces of traces
    that are not ours; empty: in the switches. Raises ScheduleError."""
    nodes: dict[Key, Any] = {}
    ranks, own = 0, ""
    while (file := path.with_suffix(f".{ranks}.json")).is_file() and not path.with_suffix(".0.et").is_file():
        nodes |= {(ranks, node.id): node for node in _torch_nodes(file, path.with_suffix(f".{ranks}.timeline.json"))}
        ranks += 1
    while (file := path.with_suffix(f".{ranks}.et")).is_file():
        metadata, *rest = _read_messages(file)
        own = own or str(_attribute(metadata, CHUNKS, "") if metadata is not None else "")
        nodes |= {(ranks, node.id): node for node in rest}
        ranks += 1
    if not ranks:
        raise ScheduleError(f"there is no file {path.with_suffix('.0.et')}, and no {path.with_suffix('.0.json')}")
    chosen = tuple(topology.hosts if places is None else places)
    if ranks != len(chosen):
        raise ScheduleError(f"{ranks} traces, but {len(chosen)} ranks on {topology.name}")
    if own:
        return _read_own(path.stem, nodes, own, topology, chosen)
    items = _items(nodes)
    chunks: list[Chunks] = []

    @cache
    def allreduce(size_bytes: int, group: tuple[int, ...]) -> Schedule:
        least = ELEMENT_BYTES * max(LEAST_ELEMENTS, len(group))
        size_bytes = max(least, -(-size_bytes // ELEMENT_BYTES) * ELEMENT_BYTES)
        return GENERATORS[algorithm](topology, size_bytes, [chosen[rank] for rank in group])

    plans = [_plan(nodes, keys, chunks, allreduce if algorithm else None) for keys in items]
    builder = Builder(path.stem, topology, chunks or [Chunks(1, 1, (0,), ())], chosen)
    tasks: dict[int, list[tuple[int, set[int]]]] = {}
    for item, waits in _in_order(nodes, items):
        before = [each for other in waits for each in tasks[other]]
        tasks[item] = []
        for task in plans[item]:
            ranks_of = set(_members(task))
            after = [number for number, others in before if others & ranks_of]
            tasks[item].append((_add(builder, task, after), ranks_of))
    return builder.build()


def _torch_nodes(trace: Path, timeline: Path) -> Iterator[Any]:
    """What torch has recorded, as nodes of Chakra."""
    for each in read_operators(trace, timeline):
        node = _messages()["Node"](id=each.id, name=each.name, type=COMP, data_deps=each.after)
        if each.collective >= 0 or each.peer >= 0:
            node.attr.add(name="comm_size", int64_val=each.bytes)
        if each.collective >= 0:
            node.type = COLL
            node.attr.add(name="comm_type", int64_val=each.collective)
            node.attr.add(name="pg_name", string_val=each.group)
        elif each.peer >= 0:
            node.type = SEND if each.name == "send" else RECV
            node.attr.add(name="comm_dst" if node.type == SEND else "comm_src", int64_val=each.peer)
            node.attr.add(name="comm_tag", int64_val=each.tag)
        else:
            node.duration_micros = -(-each.duration_ns // 1000)
            node.attr.add(name=EXACT, int64_val=each.duration_ns)
        yield node


def _read_own(name: str, nodes: Mapping[Key, Any], text: str, topology: Topology, places: Sequence[str]) -> Schedule:
    """A trace of ours: nodes of one number are one task. ``text``: its chunks. Raises ScheduleError."""
    builder = Builder(name, topology, parse_chunks(text), places)
    ends: dict[int, list[int]] = defaultdict(list)
    for rank, number in sorted(nodes):
        ends[number].append(rank)
    tasks: dict[int, int] = {}
    for number in sorted(ends):
        node = nodes[ends[number][0], number]

        def numbers(attribute: str, node: Any = node, number: int = number) -> tuple[int, ...]:
            return parse_set(str(_attribute(node, attribute)), ("node", number, attribute))

        waits = {*numbers(AFTER), *(other for rank in ends[number] for other in _deps(nodes, (rank, number)))}
        if later := [other for other in waits if other not in tasks]:
            raise ScheduleError(f"node {number} waits for node {later[0]}, which is no earlier one")
        after = [tasks[other] for other in waits]
        if node.type == COMP:
            duration_ns, reads, writes = int(_attribute(node, EXACT)), numbers(READS), numbers(CHUNKS)
            task = builder.compute(ends[number][0], duration_ns, node.name, reads=reads, writes=writes, after=after)
        elif node.type == COLL:
            group = [int(rank) for rank in str(_attribute(node, "pg_name")).split()]
            operation = IN_SWITCHES[int(_attribute(node, "comm_type"))]
            task = builder.collective(operation, group, numbers(CHUNKS), after=after)
        else:
            add = builder.reduce if node.name == "reduce" else builder.send
            source, destination = (int(_attribute(node, f"comm_{end}")) for end in ("src", "dst"))
            task = add(source, destination, numbers(CHUNKS), after=after)
        tasks[number] = task
    return builder.build()


def write_chakra(schedule: Schedule, path: Path) -> None:
    """``path`` as for `read_chakra`; a task has its number as id at each rank. Raises OSError."""
    parts = _messages()
    metadata = parts["GlobalMetadata"](version="0.0.4")
    metadata.attr.add(name=CHUNKS, string_val=chunks_json(schedule.chunks))
    files: list[list[Any]] = [[metadata] for _ in range(schedule.ranks)]
    members = [_members(task) for task in schedule]
    for number, task in enumerate(schedule):
        for rank in members[number]:
            node = parts["Node"](id=number, data_deps=[other for other in task.after if rank in members[other]])
            attributes: dict[str, int | str] = {"comm_size": int(schedule.task_bytes[number])}
            match task:
                case Compute(duration_ns=duration_ns, call=call):
                    node.type, node.name, node.duration_micros = COMP, call, -(-duration_ns // 1000)
                    attributes = {EXACT: duration_ns, READS: set_text(task.reads)}
                case Collective(operation=operation, group=group):
                    kind = next(each for each, own in IN_SWITCHES.items() if own is operation)
                    node.type, node.name = COLL, str(operation)
                    attributes |= {"comm_type": kind, "pg_name": " ".join(map(str, group))}
                case _:
                    node.type = SEND if rank == task.source else RECV
                    node.name = type(task).__name__.lower()
                    attributes |= {"comm_src": task.source, "comm_dst": task.destination, "comm_tag": 0}
            attributes[CHUNKS] = set_text(task.writes if isinstance(task, Compute) else task.chunks)
            attributes[AFTER] = set_text(task.after)
            for name, value in attributes.items():
                is_text = isinstance(value, str)
                node.attr.add(name=name, **{"string_val" if is_text else "int64_val": value})
            files[rank].append(node)
    for rank, messages in enumerate(files):
        bodies = (message.SerializeToString() for message in messages)
        path.with_suffix(f".{rank}.et").write_bytes(b"".join(_varint(len(body)) + body for body in bodies))


def _members(task: Task) -> tuple[int, ...]:
    if isinstance(task, Collective):
        return task.group
    return (task.rank,) if isinstance(task, Compute) else (task.source, task.destination)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _read_messages(file: Path) -> list[Any]:
    """The GlobalMetadata, or None in an empty file, and the nodes."""
    from google.protobuf.message import DecodeError

    data, at = file.read_bytes(), 0
    found: list[Any] = []
    while at < len(data):
        length = shift = 0
        while at < len(data) and shift < 35:
            byte = data[at]
            length |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                break
        if at + length > len(data):
            raise ScheduleError(f"{file}: cut short at byte {at}")
        try:
            message = _messages()["Node" if found else "GlobalMetadata"].FromString(data[at : at + length])
        except DecodeError as error:
            raise ScheduleError(f"{file}: byte {at}: no message of Chakra: {error}") from None
        found.append(message)
        at += length
    return found or [None]


def _attribute(node: Any, name: str, default: Any = None) -> Any:
    """Raises ScheduleError for a missing one without default."""
    for each in node.attr:
        if each.name == name and (kind := each.WhichOneof("value")):
            return getattr(each, kind)
    if default is None:
        raise ScheduleError(f"node {node.id} ({node.name}) has no attribute {name}")
    return default


def _items(nodes: Mapping[Key, Any]) -> list[list[Key]]:
    """Nodes that are one item: a compute; a send and its receive; a collective at all its ranks."""
    computes: list[list[Key]] = []
    ways: dict[tuple[int, int, int], tuple[list[Key], list[Key]]] = defaultdict(lambda: ([], []))
    calls: dict[tuple[str, int], list[Key]] = defaultdict(list)
    called: dict[tuple[str, int], int] = defaultdict(int)  # (group, rank) -> its calls so far
    for key in sorted(nodes):
        node = nodes[key]
        if node.type == COMP or (node.type in (MEM_LOAD, MEM_STORE) and node.duration_micros):
            computes.append([key])
        elif node.type in (SEND, RECV):
            ends = [int(_attribute(node, f"comm_{end}", key[0])) for end in ("src", "dst")]
            ways[ends[0], ends[1], int(_attribute(node, "comm_tag", 0))][node.type == RECV].append(key)
        elif node.type == COLL and int(_attribute(node, "comm_type")) in (*IN_SWITCHES, *BETWEEN_PAIRS):
            group = str(_attribute(node, "pg_name", ""))
            calls[group, called[group, key[0]]].append(key)
            called[group, key[0]] += 1
    for (source, destination, tag), (sends, receives) in ways.items():
        if len(sends) != len(receives):
            where = f"from rank {source} to rank {destination}, tag {tag}"
            raise ScheduleError(f"{len(sends)} sends and {len(receives)} receives {where}")
    return [*computes, *(list(pair) for both in ways.values() for pair in zip(*both, strict=True)), *calls.values()]


def _plan(
    nodes: Mapping[Key, Any],
    keys: Sequence[Key],
    chunks: list[Chunks],
    allreduce: Callable[[int, tuple[int, ...]], Schedule] | None,
) -> list[Task]:
    """Tasks of an item, without dependencies yet; adds their chunks. ``allreduce`` makes the schedule of an allreduce
    from its bytes and ranks; without it, switches sum."""
    (rank, _), node = keys[0], nodes[keys[0]]
    if node.type not in (SEND, COLL):
        return [Compute(rank, int(_attribute(node, EXACT, 1000 * node.duration_micros)), node.name)]
    size, first = int(_attribute(node, "comm_size")), len(chunks)
    if node.type == SEND:
        chunks.append(Chunks(1, size, (rank,), (keys[1][0],)))
        return [Send(rank, keys[1][0], (first,), ())]
    group = tuple(each for each, _ in keys)
    kind = int(_attribute(node, "comm_type"))
    if allreduce is not None and len(group) > 1 and IN_SWITCHES.get(kind) is Operation.ALLREDUCE:
        made = allreduce(size, group)
        chunks += [Chunks(1, each.bytes, group, group) for each in made.chunks for _ in range(each.count)]
        return [_moved(task, group, first) for task in made]
    if kind in IN_SWITCHES:
        root_only = group[:1]
        sources = root_only if IN_SWITCHES[kind] is Operation.BROADCAST else group
        chunks.append(Chunks(1, size, sources, root_only if IN_SWITCHES[kind] is Operation.REDUCE else group))
        return [Collective(IN_SWITCHES[kind], group, (first,), ())]
    pairs = [(source, end) for source in group for end in group if source != end]
    chunks += [Chunks(1, max(1, size // len(group)), (source,), (end,)) for source, end in pairs]
    return [Send(source, end, (first + number,), ()) for number, (source, end) in enumerate(pairs)]


def _moved(task: Task, group: Sequence[int], first: int) -> Task:
    """A task of an allreduce of ranks 0, 1, ... among the ranks of a group, with chunks from ``first`` on."""
    assert not isinstance(task, Compute)
    chunks = tuple(first + chunk for chunk in task.chunks)
    if isinstance(task, Collective):
        return replace(task, group=tuple(group[rank] for rank in task.group), chunks=chunks)
    return replace(task, source=group[task.source], destination=group[task.destination], chunks=chunks)


def _add(builder: Builder, task: Task, after: Iterable[int]) -> int:
    match task:
        case Compute(rank=rank, duration_ns=duration_ns, call=call):
            return builder.compute(rank, duration_ns, call, after=after)
        case Collective(operation=operation, group=group, chunks=chunks):
            return builder.collective(operation, group, chunks, route=task.route or None, after=after)
        case _:
            add = builder.reduce if isinstance(task, Reduce) else builder.send
            return add(task.source, task.destination, task.chunks, route=task.route or None, after=after)


def _in_order(nodes: Mapping[Key, Any], items: Sequence[Sequence[Key]]) -> Iterator[tuple[int, set[int]]]:
    """(item, what it waits for), each after what it waits for, else in the order of ids.

    A receive that waits does not keep its message from being sent; what waits for the receive waits for both.
    """
    item_of = {key: item for item, keys in enumerate(items) for key in keys}
    waits: list[set[int]] = []
    for keys in items:
        found: set[int] = set()
        stack = [
            (rank, other)
            for rank, each in keys
            for other in _deps(nodes, (rank, each))
            if nodes[rank, each].type != RECV
        ]
        seen = set(stack)
        while stack:
            key = stack.pop()
            if key in item_of:
                found.add(item_of[key])
            if key not in item_of or nodes[key].type == RECV:
                more = {(key[0], other) for other in _deps(nodes, key)} - seen
                seen |= more
                stack += more
        waits.append(found)
    later: dict[int, list[int]] = defaultdict(list)
    for item, found in enumerate(waits):
        for other in found:
            later[other].append(item)
    missing = [len(found) for found in waits]
    ready = [(max(each for _, each in items[item]), item) for item, count in enumerate(missing) if not count]
    heapify(ready)
    left = len(items)
    while ready:
        _, item = heappop(ready)
        left -= 1
        yield item, waits[item]
        for each in later[item]:
            missing[each] -= 1
            if not missing[each]:
                heappush(ready, (max(number for _, number in items[each]), each))
    if left:
        raise ScheduleError(f"{left} nodes wait for each other in a circle")


def _deps(nodes: Mapping[Key, Any], key: Key) -> Iterator[int]:
    """Ids of what a node waits for; raises ScheduleError for an unknown one."""
    for other in (*nodes[key].data_deps, *nodes[key].ctrl_deps):
        if (key[0], other) not in nodes:
            raise ScheduleError(f"rank {key[0]}: node {key[1]} waits for node {other}, which is not there")
        yield other
