"""MSCCL's XML, in which collectives are programs of GPUs: read and written (TACCL-EF is the same).

    algo > gpu > tb (a thread block: one peer to send to, one to receive from, on a channel) > step

Steps of a block run one after another; a step may wait for one step of another block (``depid``, ``deps``). Types: s
sends, r receives, rrc adds what it receives; rcs, rrcs and rrs also send it on; cpy copies at the GPU, nop only waits.
Buffers: i (input), o (output), s (scratch), in chunks, ``cnt`` from an offset on. The file has neither sizes nor links.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from emulator.network.schedule.builder import Builder
from emulator.network.schedule.columns import runs
from emulator.network.schedule.parts import Chunks, Reduce, ScheduleError, Send
from emulator.network.schedule.schedule import Schedule
from emulator.network.topology.topology import Topology

Spot: TypeAlias = tuple[str, int]
"""(buffer, offset)."""
RECEIVING, ADDING, SENDING = ("r", "rcs", "rrc", "rrcs", "rrs"), ("rrc", "rrcs", "rrs"), ("s", "rcs", "rrcs", "rrs")
LOCAL = ("cpy", "nop")
COLLECTIVES = ("allreduce", "allgather", "reduce_scatter", "alltoall")


def collective_of(schedule: Schedule) -> str:
    """One of `COLLECTIVES`. Raises ScheduleError for another one."""
    found = [(part.sources, part.destinations) for part in schedule.chunks for _ in range(part.count)]
    for name in COLLECTIVES:
        try:
            parts = chunks_of(name, schedule.ranks, _per_loop(schedule, name), 1)
        except ScheduleError:
            continue
        if found == [(part.sources, part.destinations) for part in parts for _ in range(part.count)]:
            return name
    raise ScheduleError(f"{schedule.name} is none of {', '.join(COLLECTIVES)}, chunk by chunk")


def _per_loop(schedule: Schedule, name: str) -> int:
    """MSCCL's nchunksperloop: chunks of the larger buffer of a GPU."""
    total = len(schedule.chunk_bytes)
    return total // schedule.ranks if name == "alltoall" else total


def chunks_of(name: str, ranks: int, per_loop: int, chunk_bytes: int) -> list[Chunks]:
    """Of a collective whose larger buffer has ``per_loop`` chunks. Raises ScheduleError."""
    everybody = tuple(range(ranks))
    if name == "allreduce":
        return [Chunks(per_loop, chunk_bytes, everybody, everybody)]
    each, rest = divmod(per_loop, ranks)
    if rest or not each:
        raise ScheduleError(f"{per_loop} chunks are no multiple of {ranks} GPUs")
    if name == "allgather":
        return [Chunks(each, chunk_bytes, (rank,), everybody) for rank in everybody]
    if name == "reduce_scatter":
        return [Chunks(each, chunk_bytes, everybody, (rank,)) for rank in everybody]
    if name == "alltoall":
        return [Chunks(each, chunk_bytes, (source,), (end,)) for source in everybody for end in everybody]
    raise ScheduleError(f"{name!r} is none of {', '.join(COLLECTIVES)}")


def _spots(name: str, ranks: int, per_loop: int, chunk: int) -> dict[int, Spot]:
    """Rank -> where a chunk begins or has to arrive there, other than by its own number in the larger buffer."""
    if name != "alltoall":
        return {}
    each = per_loop // ranks
    source, offset = divmod(chunk, per_loop)
    end = offset // each
    return {source: ("i", offset), **({end: ("o", source * each + offset % each)} if end != source else {})}


class _Memory:
    """Where the chunks of a rank are, for writing: the collective is in place; relayed ones are in scratch."""

    def __init__(self, schedule: Schedule, name: str) -> None:
        self.schedule, self.name = schedule, name
        self.scratch: dict[tuple[int, int], int] = {}
        self.used: dict[int, int] = defaultdict(int)

    def spot(self, rank: int, chunk: int) -> Spot:
        if self.name != "alltoall":
            return ("o" if self.name == "allgather" else "i"), chunk
        known = _spots(self.name, self.schedule.ranks, _per_loop(self.schedule, self.name), chunk)
        if rank in known:
            return known[rank]
        if (rank, chunk) not in self.scratch:
            self.scratch[rank, chunk] = self.used[rank]
            self.used[rank] += 1
        return "s", self.scratch[rank, chunk]


@dataclass(slots=True)
class _Block:
    element: ET.Element
    number: int


def write_msccl(schedule: Schedule) -> str:
    """The XML. Raises ScheduleError for computes, switch collectives, and chunks of different sizes."""
    name = collective_of(schedule)
    if len(set(schedule.chunk_bytes.tolist())) > 1:
        raise ScheduleError(f"{schedule.name}: chunks of one size only can be written; add bytes")
    per_loop, memory = _per_loop(schedule, name), _Memory(schedule, name)
    attributes = {"name": schedule.name, "nchannels": "1", "nchunksperloop": str(per_loop), "proto": "Simple"}
    root = ET.Element("algo", {**attributes, "coll": name, "inplace": "1", "ngpus": str(schedule.ranks)})
    gpus = [ET.SubElement(root, "gpu", {"id": str(rank)}) for rank in range(schedule.ranks)]
    blocks: dict[tuple[int, str, int], _Block] = {}
    last: dict[tuple[int, int], tuple[int, int]] = {}  # (task, rank) -> (block, step) of its last step there
    for number, task in enumerate(schedule):
        if not isinstance(task, Send | Reduce):
            raise ScheduleError("MSCCL's programs only send and receive", ("tasks", number))
        adds = isinstance(task, Reduce)
        for rank, peer, way in ((task.source, task.destination, "send"), (task.destination, task.source, "recv")):
            if (rank, way, peer) not in blocks:
                ends = {"send": "-1", "recv": "-1", way: str(peer)}
                element = ET.SubElement(gpus[rank], "tb", {"id": str(len(gpus[rank])), **ends, "chan": "0"})
                blocks[rank, way, peer] = _Block(element, len(gpus[rank]) - 1)
            block = blocks[rank, way, peer]
            waits: dict[int, int] = {}
            for other in task.after:
                where, step = last.get((other, rank), (block.number, -1))
                if where != block.number:
                    waits[where] = max(step, waits.get(where, -1))
            earlier = sorted(waits.items())
            final = earlier.pop() if earlier else None
            for wait in earlier:
                _step(gpus[rank], block, "nop", ("i", -1), ("o", -1), 0, wait)
            kind = "s" if way == "send" else "rrc" if adds else "r"
            for piece, (source, end, count) in enumerate(_pieces(memory, task)):
                _step(gpus[rank], block, kind, source, end, count, None if piece else final)
            last[number, rank] = block.number, len(block.element) - 1
    larger = "o" if name == "allgather" else "i"
    for rank, gpu in enumerate(gpus):
        own = per_loop // schedule.ranks
        sizes = {"i": own, "o": per_loop} if larger == "o" else {"i": per_loop, "o": own}
        sizes |= {"i": per_loop, "o": per_loop} if name in ("allreduce", "alltoall") else {}
        for buffer, size in {**sizes, "s": memory.used[rank]}.items():
            gpu.set(f"{buffer}_chunks", str(size))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _pieces(memory: _Memory, task: Send | Reduce) -> Iterator[tuple[Spot, Spot, int]]:
    """(at the source, at the destination, count) of runs that are consecutive at both ends."""
    for first, count in runs(task.chunks):
        begin = first
        for chunk in range(first, first + count):
            here, there = (
                tuple(memory.spot(rank, each) for each in (begin, chunk)) for rank in (task.source, task.destination)
            )
            gap = chunk - begin
            if any(b != (a[0], a[1] + gap) for a, b in (here, there)):
                yield here[0], there[0], gap
                begin = chunk
        yield memory.spot(task.source, begin), memory.spot(task.destination, begin), first + count - begin


def _step(
    gpu: ET.Element, block: _Block, kind: str, source: Spot, end: Spot, count: int, wait: tuple[int, int] | None
) -> None:
    fields = {"s": len(block.element), "type": kind, "srcbuf": source[0], "srcoff": source[1]}
    fields |= {"dstbuf": end[0], "dstoff": end[1], "cnt": count, "hasdep": 0}
    fields["depid"], fields["deps"] = wait or (-1, -1)
    ET.SubElement(block.element, "step", {name: str(value) for name, value in fields.items()})
    if wait is not None:
        gpu[wait[0]][wait[1]].set("hasdep", "1")


@dataclass(frozen=True, slots=True)
class _Step:
    kind: str
    rank: int
    send_to: int
    receive_from: int
    channel: int
    source: Spot
    end: Spot
    count: int


def read_msccl(text: str, topology: Topology, size_bytes: int, places: Sequence[str] | None = None) -> Schedule:
    """``size_bytes``: of a GPU's larger buffer. Messages take shortest routes. Raises ScheduleError."""
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise ScheduleError(f"no XML: {error}") from None
    if root.tag != "algo":
        raise ScheduleError(f"<{root.tag}> is not MSCCL's <algo>")
    name, ranks, per_loop = _text(root, "coll"), _number(root, "ngpus"), _number(root, "nchunksperloop")
    if per_loop < 1 or size_bytes % per_loop:
        raise ScheduleError(f"{size_bytes} bytes are not {per_loop} chunks of one size")
    chunks = chunks_of(name, ranks, per_loop, size_bytes // per_loop)
    builder = Builder(_text(root, "name"), topology, chunks, places)
    if len(builder.places) != ranks:
        raise ScheduleError(f"{ranks} GPUs, but {len(builder.places)} places on {topology.name}")
    held = _held_at_start(name, ranks, per_loop, chunks)
    arriving: dict[tuple[int, int, int], deque[tuple[list[int], int]]] = defaultdict(deque)
    for step in _in_order(root, ranks):
        here = held[step.rank]
        if step.kind in RECEIVING:
            carried, source = arriving[step.receive_from, step.rank, step.channel].popleft()
            if len(carried) != step.count:
                raise ScheduleError(f"GPU {step.rank} receives {step.count} chunks where {len(carried)} are sent")
            (builder.reduce if step.kind in ADDING else builder.send)(source, step.rank, carried)
            here.update({(step.end[0], step.end[1] + at): chunk for at, chunk in enumerate(carried)})
        elif step.kind == "cpy":
            carried = _chunks_at(here, step.source, step)
            here.update({(step.end[0], step.end[1] + at): chunk for at, chunk in enumerate(carried)})
        if step.kind in SENDING:
            spot = step.source if step.kind == "s" else step.end
            arriving[step.rank, step.send_to, step.channel].append((_chunks_at(here, spot, step), step.rank))
    if left := [key for key, messages in arriving.items() if messages]:
        raise ScheduleError(f"GPU {left[0][1]} does not receive all that GPU {left[0][0]} sends")
    return builder.build()


def _held_at_start(name: str, ranks: int, per_loop: int, chunks: Sequence[Chunks]) -> list[dict[Spot, int]]:
    """Of each GPU: the chunk at a spot of its buffers, where one is; output and input may be one buffer."""
    held: list[dict[Spot, int]] = [{} for _ in range(ranks)]
    sources = [part.sources for part in chunks for _ in range(part.count)]
    for chunk, ranks_of in enumerate(sources):
        for rank in ranks_of:
            spot = _spots(name, ranks, per_loop, chunk).get(rank, ("i", chunk))
            each = per_loop // ranks
            if name == "allgather":
                held[rank]["o", chunk] = chunk
                spot = "i", chunk % each
            held[rank][spot] = chunk
            if name == "reduce_scatter" and chunk // each == rank:
                held[rank]["o", chunk % each] = chunk
    return held


def _chunks_at(held: Mapping[Spot, int], spot: Spot, step: _Step) -> list[int]:
    found = [held.get((spot[0], spot[1] + at), -1) for at in range(step.count)]
    if -1 in found:
        raise ScheduleError(f"GPU {step.rank} has nothing at {spot[0]}[{spot[1] + found.index(-1)}] to send or copy")
    return found


def _in_order(root: ET.Element, ranks: int) -> Iterator[_Step]:
    """All steps, each after those of its block before it, the one it waits for, and the send of what it receives."""
    steps: dict[tuple[int, int, int], _Step] = {}  # (GPU, block, step)
    before: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
    sends: dict[tuple[int, int, int], list[tuple[int, int, int]]] = defaultdict(list)
    receives: dict[tuple[int, int, int], list[tuple[int, int, int]]] = defaultdict(list)
    for gpu in root.iter("gpu"):
        rank = _number(gpu, "id")
        for block in gpu.iter("tb"):
            peers = [_number(block, field) for field in ("send", "recv", "chan")]
            if not all(-1 <= peer < ranks for peer in peers[:2]) or not 0 <= rank < ranks:
                raise ScheduleError(f"GPU {rank}, block {block.get('id')}: there are {ranks} GPUs")
            for place, element in enumerate(block.iter("step")):
                step = _step_of(element, rank, *peers)
                key = (rank, _number(block, "id"), place)
                steps[key] = step
                wait = (rank, _number(element, "depid"), _number(element, "deps"))
                before[key] = [(*key[:2], place - 1)] * (place > 0) + [wait] * (wait[1] >= 0)
                if step.kind in SENDING:
                    sends[rank, step.send_to, step.channel].append(key)
                if step.kind in RECEIVING:
                    receives[step.receive_from, rank, step.channel].append(key)
    for way, keys in receives.items():
        if len(sends[way]) != len(keys):
            raise ScheduleError(
                f"GPU {way[0]} sends {len(sends[way])} times to GPU {way[1]}, which receives {len(keys)}"
            )
        for send, receive in zip(sends[way], keys, strict=True):
            before[receive].append(send)
    later: dict[tuple[int, int, int], list[tuple[int, int, int]]] = defaultdict(list)
    missing = {}
    for key, waits in before.items():
        missing[key] = len(waits)
        for wait in waits:
            if wait not in steps:
                raise ScheduleError(f"GPU {key[0]}, block {key[1]}, step {key[2]}: there is no step it waits for")
            later[wait].append(key)
    ready = deque(key for key, count in missing.items() if not count)
    while ready:
        key = ready.popleft()
        yield steps.pop(key)
        for each in later[key]:
            missing[each] -= 1
            if not missing[each]:
                ready.append(each)
    if steps:
        raise ScheduleError("GPU {}, block {}, step {} waits for itself".format(*next(iter(steps))))


def _step_of(element: ET.Element, rank: int, send: int, receive: int, channel: int) -> _Step:
    kind = _text(element, "type")
    if kind not in (*RECEIVING, *SENDING, *LOCAL):
        raise ScheduleError(f"GPU {rank}: unknown type of step {kind!r}")
    if (kind in SENDING and send < 0) or (kind in RECEIVING and receive < 0):
        raise ScheduleError(f"GPU {rank}: a block without a peer cannot do {kind!r}")
    spots = [(_text(element, f"{end}buf"), _number(element, f"{end}off")) for end in ("src", "dst")]
    return _Step(kind, rank, send, receive, channel, spots[0], spots[1], _number(element, "cnt"))


def _text(element: ET.Element, name: str) -> str:
    if name not in element.attrib:
        raise ScheduleError(f"<{element.tag}> has no {name}")
    return element.attrib[name]


def _number(element: ET.Element, name: str) -> int:
    text = _text(element, name)
    if not text.lstrip("-").isdecimal() or len(text) > 9:
        raise ScheduleError(f"<{element.tag}>: {name} is {text!r}, not a number")
    return int(text)
