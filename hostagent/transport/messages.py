"""The sends and receives of one job on one rank: their numbers, their memory, and what to say when one does not end.

A number is ``MESSAGE_NUMBERS`` + the place in the rings + a multiple of their length. Messages end in any order, so a
place is taken again once its message has ended, not when an earlier one has.
"""

from __future__ import annotations

import struct
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of
from emulator.ports.host import FramePool
from hostagent.protocol.frames import Addresses
from hostagent.protocol.messages import (
    ANY_SOURCE,
    FRAMES,
    LEAST_PAYLOAD_BYTES,
    MOST_ENVELOPES,
    MOST_TRANSFERS,
    REQUEST,
    REQUEST_FIELDS,
    Message,
    MessageMemory,
    MessageSettings,
    message_request_of,
)
from hostagent.protocol.wire import LANE_BYTES, full_frame_bytes
from hostagent.protocol.worker import TRANSMIT, frame_stride_bytes
from hostagent.transport.engine import Engine
from hostagent.transport.loop import calls as loop_calls
from hostagent.transport.loop.records import MESSAGE_NUMBERS, TRANSMIT_CAPACITY
from hostagent.transport.session.terms import Lease

PACK_REQUEST = struct.Struct(f"{len(REQUEST_FIELDS)}q").pack_into
GRANT_BUDGET = 96
"""Most frames of messages that may be under way to this rank: a shared-memory cable holds 128, and results come by it
as well."""


class JobMessages:
    """What ``JobChannel`` keeps about messages. Calls are under its locks."""

    def __init__(self, job_address: int, record: NDArray[Any]) -> None:
        self._job_address = job_address
        self._requests: NDArray[Any] = np.zeros(MOST_TRANSFERS, REQUEST)
        self._request_bytes = self._requests.view(np.uint8).data
        self._done: NDArray[np.int64] = np.zeros(MOST_TRANSFERS, np.int64)
        self._free = deque(range(MESSAGE_NUMBERS, MESSAGE_NUMBERS + MOST_TRANSFERS))
        self._open: dict[int, Message] = {}
        self._memory: MessageMemory | None = None
        self.pool: FramePool | None = None
        self.submitted = 0
        self.refusal = ""
        """Why this job has no messages."""
        record["message_requests"] = address_of(self._requests)
        record["message_done"] = address_of(self._done)
        record["message_mask"] = MOST_TRANSFERS - 1
        self._record = record

    def enter(self, message: Message) -> int | None:
        """Put a message into the ring of requests; its number, or None while too many have not ended."""
        if not self._free:
            self.forget_finished()
            if not self._free:
                return None
        number = self._free.popleft()
        place = self.submitted % MOST_TRANSFERS * REQUEST.itemsize
        PACK_REQUEST(self._request_bytes, place, *message_request_of(message, number))
        self._open[number] = message
        self.submitted += 1
        return number

    def forget_finished(self) -> None:
        """Let go of the memory of messages that have ended, and reuse their places."""
        for number in [each for each in self._open if loop_calls.is_done(self._job_address, each)]:
            del self._open[number]
            self._free.append(number + MOST_TRANSFERS)

    @property
    def descriptions(self) -> dict[int, Message]:
        """Messages that have not been forgotten, by number."""
        return self._open

    # --- opening ---

    def open(self, lease: Lease, engine: Engine) -> None:
        """Make the job's message core, or note why there is none."""
        if not lease.forwards_messages:
            self.refusal = f"the aggregator ({lease.aggregator or 'unnamed'}) does not forward messages between ranks"
        elif LANE_BYTES * lease.lanes < LEAST_PAYLOAD_BYTES:
            least = LEAST_PAYLOAD_BYTES // LANE_BYTES
            self.refusal = f"messages between ranks need frames of at least {least} lanes, and here are {lease.lanes}"
        else:
            engine.port.require_frame_bytes(full_frame_bytes(lease.lanes))
            self.pool = engine.port.frame_pool(FRAMES, frame_stride_bytes(lease.lanes))
            self._posted: NDArray[np.uint64] = np.zeros(FRAMES, np.uint64)
            self._transmit: NDArray[Any] = np.zeros(TRANSMIT_CAPACITY, TRANSMIT)
            settings, posted = message_settings(lease), address_of(self._posted)
            self._memory = MessageMemory(settings, self.pool.address, self.pool.stride_bytes, posted)
            self._record["message_transmit_queue"]["frames"] = address_of(self._transmit)
            self._record["message_transmit_queue"]["posted"] = posted
            self._record["messages"] = self._memory.address

    @property
    def undelivered(self) -> bool:
        """Whether a send that has ended is still to be acknowledged."""
        return self._memory is not None and self._memory.retains

    # --- what to say ---

    def statistics(self) -> dict[str, int]:
        """The core's counters."""
        counters = self._memory.statistics() if self._memory is not None else {}
        return {f"message/{name}": value for name, value in counters.items()}

    def mismatch(self) -> tuple[int, int, int, int]:
        """(hash of a call, its rank, the other call's, the other rank) where two that met disagree."""
        record = self._core_record()
        first, child = int(record["first_hash"]), int(record["first_child"])
        return first, child, int(record["other_hash"]), int(record["other_child"])

    def left_peer(self) -> int:
        """The rank that a message needs and that has left."""
        return int(self._core_record()["left_peer"])

    def _core_record(self) -> Any:
        assert self._memory is not None, "a message has failed in a core"
        return self._memory.record[0]

    def name(self, number: int) -> str:
        """A message in words."""
        message = self._open.get(number)
        return message.describe() if message is not None else "a message"

    def progress(self, number: int) -> str:
        """How far a message has come that has not ended in time, as the end of a sentence."""
        message = self._open.get(number)
        if message is None or self._memory is None:
            return ", but not all ranks have joined the group"
        peer = "no rank" if message.peer == ANY_SOURCE else f"rank {message.peer}"
        some, all_of_it = self._memory.fragments(number)
        waiting = self._memory.is_full(message.peer, message.receives) if message.peer != ANY_SOURCE else False
        if waiting and (not message.receives or all_of_it == 0):
            what = f"has sent {MOST_ENVELOPES}" if message.receives else f"has {MOST_ENVELOPES} from here"
            return f": {peer} {what} that no receive matches, and there is no room for more until the first is received"
        if message.receives and all_of_it == 0:
            return f": {peer} has sent no message that it matches"
        if message.receives:
            return f": {some} of {all_of_it} frames have come from rank {self._memory.source(number)}"
        if all_of_it == 0:
            return f": it waits behind earlier messages to {peer}, which that rank has not received"
        if some == 0:
            return f": {peer} has not answered; is it alive, and has it made the group?"
        return f": {peer} has taken {some} of {all_of_it} frames; has it called the matching receive?"


def message_settings(lease: Lease) -> MessageSettings:
    """The lease's terms that concern the message core."""
    return MessageSettings(
        job=lease.job,
        child=lease.child,
        workers=lease.children,
        epoch=lease.epoch,
        payload_bytes=LANE_BYTES * lease.lanes,
        addresses=Addresses(lease.host_mac, lease.switch_mac, lease.host_ip, lease.switch_ip),
        checksum=lease.message_checksum,
        grant_budget=GRANT_BUDGET,
    )
