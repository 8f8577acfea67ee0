"""Served operations: the announcement of a rank to a rack server that stores weights, and the server's answer.

``ANNOUNCEMENT`` and ``ANSWER`` declare the lanes, as section 11 of PROTOCOL.md does in words; a field of
two lanes is 64 bits, the high word first. A served operation's first chunk carries the one and brings the other.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Any
from zlib import crc32

import numpy as np

Words = np.ndarray[Any, np.dtype[np.uint32]]

ANNOUNCEMENT_LANES = 32
"""Lanes of an announcement; also the fewest lanes that a frame of a service's job has."""
ANNOUNCEMENT_VERSION = 1


class Action(IntEnum):
    """What a served operation does with a key: float32 weights and the optimizer's state for them."""

    QUERY = 0
    """Reads what the server knows of the key."""
    WRITE = 1
    """One rank's values replace the server's and every rank's."""
    PUSH_PULL = 2
    """Sends gradients, receives the weights of the next step."""
    PUSH = 3
    """Sends gradients; the weights are pulled after the decision on the step."""
    PULL = 4
    """Receives the server's values."""


class ServedOptimizer(IntEnum):
    """What the server does with the summed gradient."""

    SGD = 1
    NAG = 2
    """Nesterov's momentum in Parameter Hub's order of operations."""
    ADAM = 3
    ADAMW = 4


class ServedFlag(IntFlag):
    """Variants of the step."""

    NESTEROV = 1
    MAXIMIZE = 2
    SKIP = 4
    """The step is left out on all keys when a gradient is not finite."""
    CLIP = 8
    AMSGRAD = 16
    ANEW = 32
    """In a WRITE: the service is emptied first, if it has taken no step."""
    MORE = 64
    """In a WRITE: another one follows, and until the last has completed the service is incomplete."""
    AGREE = 128
    """In a job's first QUERY: the servers of several racks agree on the service's last completed step."""
    SHARE = 256
    """In a WRITE: the data come from a rack's server of the announcement's age, not from a rank."""
    LINEAGE = 512
    """In a QUERY with an age, after one without this flag: servers that are behind receive the lineage of the
    newest."""


class Status(IntEnum):
    """Why a server refuses an operation."""

    OK = 0
    NOT_A_SERVICE = 1
    UNKNOWN_KEY = 2
    SHAPE = 3
    QUOTA = 4
    STEP = 5
    TWICE = 6
    OPTIMIZER = 7
    LAYOUT = 8
    BUSY = 9
    KEYS = 10
    RACKS = 11


STATUS_TEXTS = {
    Status.NOT_A_SERVICE: "the job does not belong to a service",
    Status.UNKNOWN_KEY: "no weights have been written for this key",
    Status.SHAPE: "the key has a different number of elements in the service",
    Status.QUOTA: "it does not fit into the service's memory",
    Status.STEP: "its step does not follow the last complete step",
    Status.TWICE: "the key was pushed in this step already",
    Status.OPTIMIZER: "the server does not implement this optimizer or buffer",
    Status.LAYOUT: "the announcement is malformed",
    Status.BUSY: "too many operations are open",
    Status.KEYS: "the step was started with a different number of keys, or in a different mode",
    Status.RACKS: "rack servers are at different steps; rejoin the job",
}


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Hyperparameters of one step of one key. Every push carries them, so they may change with every step."""

    optimizer: ServedOptimizer = ServedOptimizer.SGD
    flags: int = 0
    """Bitwise OR of ``ServedFlag``."""
    divisor: int = 1
    """Divisor of the summed gradient: the number of workers for their mean."""
    lr: float = 0.0
    beta1: float = 0.0
    """Momentum, for SGD and NAG."""
    beta2: float = 0.0
    """Dampening, for SGD."""
    eps: float = 0.0
    weight_decay: float = 0.0
    rescale: float = 1.0
    """The gradient is multiplied by it before anything else, after the division."""
    max_norm: float = 0.0
    """With CLIP: the largest norm of the gradients of all keys together."""

    def describe(self) -> str:
        """``lr 0.1, beta1 0.9``: what is not zero, by name."""
        names = ("lr", "beta1", "beta2", "eps", "weight_decay", "rescale", "max_norm", "divisor", "flags")
        return ", ".join(f"{name} {value:g}" for name in names if (value := getattr(self, name)))


@dataclass(frozen=True, slots=True)
class Announcement:
    """A served operation in full, but for the element type of the rank's own memory."""

    action: Action
    key: int
    elements: int
    buffer: int = 0
    """What WRITE and PULL transfer: 0 the weights, 1, 2, ... the optimizer's state tensors."""
    step: int = 0
    keys: int = 1
    """Keys of the step."""
    updates: int = 0
    """In a WRITE: number of optimizer steps that the key has had."""
    terms: Hyperparameters = Hyperparameters()
    age: int = 0
    """With several racks: servers of this age answer a QUERY, and send the data of a WRITE with SHARE."""

    def describe(self) -> str:
        """Text for error messages: ``key 3, step 7, lr 0.1``."""
        parts = [f"key {self.key}"]
        if self.buffer:
            parts.append(f"state {self.buffer}")
        if self.action in (Action.PUSH, Action.PUSH_PULL):
            parts += [f"step {self.step}", f"{self.terms.optimizer.name} with {self.terms.describe()}"]
        return ", ".join(parts)

    def words(self) -> Words:
        """The announcement's lanes."""
        terms = self.terms
        lanes = np.zeros(ANNOUNCEMENT_LANES, np.uint32)
        lanes[:3] = ANNOUNCEMENT_VERSION, self.action, self.key
        lanes[3:5] = _pair(self.elements)
        lanes[5] = self.buffer
        lanes[6:8] = _pair(self.step)
        lanes[8:12] = self.keys, terms.optimizer, terms.flags, terms.divisor
        numbers = (terms.lr, terms.beta1, terms.beta2, terms.eps, terms.weight_decay, terms.rescale, terms.max_norm)
        lanes[12:26] = np.frombuffer(struct.pack(">7d", *numbers), ">u4")
        lanes[26:28] = _pair(self.updates)
        lanes[28] = self.age
        return lanes


@dataclass(frozen=True, slots=True)
class Room:
    """Memory that an operation needs and the server does not have; in bytes."""

    needed: int
    """Bytes that the operation needs, besides what is in use."""
    used: int
    limit: int
    is_shared: bool
    """The limit is that of all services together; otherwise the service's quota."""

    def describe(self) -> str:
        """Text for error messages."""
        limit = "of the memory for all services (--memory)" if self.is_shared else "of the service's quota"
        return (
            f"it needs {self.needed:,} bytes, and {self.used:,} of {self.limit:,} {limit} are in use; weights and each "
            "of their state tensors take 8 bytes and a little more for each element"
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server says to an announcement."""

    status: int
    step: int
    """The last completed one."""
    keys: int
    """Number of keys in the service."""
    elements: int
    """Elements of this key; 0 where the server does not know it."""
    state_tensors: int
    skipped: int
    """Steps skipped so far."""
    not_finite: int
    """Chunks with a NaN or an infinity so far."""
    updates: int
    """Steps this key has had."""
    incomplete: bool
    """A run of WRITEs has begun and not ended: the weights belong to no step."""
    newest: int = 0
    """The age of the newest server, if the servers of several racks have different ages; 0: they do not."""
    conflicting_racks: tuple[int, int] | None = None
    """Two racks whose servers hold different trainings."""
    room: Room | None = None
    """Where the status is QUOTA."""

    @property
    def refusal(self) -> str:
        """The status in words."""
        if self.room is not None:
            return self.room.describe()
        try:
            return STATUS_TEXTS[Status(self.status)]
        except (KeyError, ValueError):
            return f"status {self.status}"


def read_answer(words: Words) -> Answer:
    """The answer in a result's lanes, as numbers."""
    lanes = [int(word) for word in words[:22]]
    needed, used, limit = (lanes[at] << 32 | lanes[at + 1] for at in (13, 15, 17))
    return Answer(
        status=lanes[0],
        step=lanes[1] << 32 | lanes[2],
        keys=lanes[3],
        elements=lanes[4] << 32 | lanes[5],
        state_tensors=lanes[6],
        skipped=lanes[7],
        not_finite=lanes[8],
        updates=lanes[9] << 32 | lanes[10],
        incomplete=bool(lanes[11]),
        newest=lanes[12],
        room=Room(needed, used, limit, bool(lanes[19])) if lanes[0] == Status.QUOTA else None,
        conflicting_racks=(lanes[20] - 1, lanes[21] - 1) if lanes[20] else None,
    )


class ServedMemory:
    """The words of one served operation in memory that a core reads and writes: announcement, answer, and of a push how
    many of its chunks were not finite.

    Must live until the operation has finished.
    """

    def __init__(self, announcement: Announcement) -> None:
        self.announcement = announcement
        self._words: Words = np.zeros(2 * ANNOUNCEMENT_LANES + 1, np.uint32)
        self._words[:ANNOUNCEMENT_LANES] = announcement.words()
        self.tag = crc32(self._words[:ANNOUNCEMENT_LANES].astype(">u4").tobytes())
        """CRC-32 of the announcement, part of the operation's hash: ranks must agree on every lane."""

    @property
    def address(self) -> int:
        """Address of the announcement's first word."""
        return int(self._words.ctypes.data)

    @property
    def answer(self) -> Answer:
        """The server's answer; zeros before it has arrived."""
        return read_answer(self._words[ANNOUNCEMENT_LANES:])

    @property
    def not_finite(self) -> int:
        """Chunks of a push in which some rank had a NaN or an infinity; 0 before all exponents have arrived."""
        return int(self._words[2 * ANNOUNCEMENT_LANES])


def _pair(value: int) -> tuple[int, int]:
    return value >> 32 & 0xFFFFFFFF, value & 0xFFFFFFFF
