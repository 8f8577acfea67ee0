"""Bytes of frames at the port of each rank, for what the verifier counts in bytes of chunks."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.network.schedule.parts import Collective, Compute, Operation
from emulator.network.schedule.schedule import Schedule
from hostagent.protocol.messages.frames import DATA_AT, ENVELOPE_END_AT
from hostagent.protocol.wire import LANE_BYTES, LANES_AT, full_frame_bytes


def message_bytes(size_bytes: int, lanes: int) -> int:
    """M(B) of hostagent/torch_backend/README.md: all frames of a message, without acknowledgements."""
    frame = full_frame_bytes(lanes)
    more = max(0, size_bytes - (frame - ENVELOPE_END_AT))
    return ENVELOPE_END_AT + size_bytes + DATA_AT * -(-more // (frame - DATA_AT))


def expected_bytes(schedule: Schedule, lanes: int, tasks: Iterable[int] | None = None) -> tuple[list[int], list[int]]:
    """(up, down) of each rank for int32, without loss: M(B) for a message, and a frame for each chunk of the protocol
    that a switch adds up or copies, without lanes where the rank gives or needs no data. ``tasks``: numbers of those
    that count; by default all."""
    up, down = [0] * schedule.ranks, [0] * schedule.ranks
    for number in range(len(schedule)) if tasks is None else tasks:
        task, size = schedule[number], int(schedule.task_bytes[number])
        if isinstance(task, Compute):
            continue
        if not isinstance(task, Collective):
            up[task.source] += message_bytes(size, lanes)
            down[task.destination] += message_bytes(size, lanes)
            continue
        frames = -(-size // (LANE_BYTES * lanes))
        for rank in task.group:
            is_first = rank == task.group[0]
            gives = task.operation is not Operation.BROADCAST or is_first
            needs = task.operation is Operation.ALLREDUCE or is_first == (task.operation is Operation.REDUCE)
            up[rank] += frames * (full_frame_bytes(lanes) if gives else LANES_AT)
            down[rank] += frames * (full_frame_bytes(lanes) if needs else LANES_AT)
    return up, down
