"""State that outlives a packet in the interpreter, apart from tables."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from emulator.p4 import ir
from emulator.v1model.control_view import KeyParts
from emulator.v1model.hashing import FUNCTIONS
from emulator.v1model.layout import DIGEST_SAMPLES, digests_of
from emulator.v1model.messages import Format
from emulator.v1model.metadata import Algorithm, Drop, Fault
from emulator.v1model.meters import Meter
from emulator.v1model.random_numbers import Generator


@dataclass(frozen=True, slots=True)
class Session:
    """A clone session that exists."""

    replicas: tuple[tuple[int, int], ...]
    """(egress port, replication id), in the order in which copies are made."""
    packet_length_bytes: int
    """Clones are cut to this; 0: not at all."""


@dataclass(slots=True)
class State:
    """State that outlives a packet, apart from tables."""

    registers: dict[str, list[int]] = field(default_factory=dict)
    counters: dict[str, list[list[int]]] = field(default_factory=dict)
    """[packets, bytes] of each index."""
    meters: dict[str, list[Meter]] = field(default_factory=dict)
    digests: dict[str, deque[tuple[int, ...]]] = field(default_factory=dict)
    """Samples not yet taken, as unsigned numbers; see `send_digest`."""
    clone_sessions: dict[int, Session] = field(default_factory=dict)
    value_sets: dict[str, tuple[KeyParts, ...]] = field(default_factory=dict)
    """Members of each, in order: a value for each field."""
    log: list[tuple[Format, tuple[int, ...]]] = field(default_factory=list)
    """Messages not yet taken, at most LOG_CAPACITY; values as unsigned numbers."""
    random: Generator = field(default_factory=Generator)
    drops: dict[Drop, int] = field(default_factory=lambda: dict.fromkeys(Drop, 0))
    faults: dict[Fault, int] = field(default_factory=lambda: dict.fromkeys(Fault, 0))

    def hashed(self, algorithm: Algorithm, content: bytes) -> int:
        """The hash value, up to 64 bits; ``HashAlgorithm.random`` is a random number."""
        return self.random.next() if algorithm is Algorithm.RANDOM else FUNCTIONS[algorithm](content)

    def send_digest(self, name: str, sample: tuple[int, ...]) -> None:
        """Into the digest's queue; counted and lost when it is full."""
        queue = self.digests[name]
        if len(queue) < DIGEST_SAMPLES:
            queue.append(sample)
        else:
            self.drops[Drop.DIGEST_FULL] += 1


def new_state(program: ir.Program) -> State:
    state = State()
    for instance in program.externs:
        if instance.extern == "register":
            state.registers[instance.name] = [0] * int(instance.arguments[0])
        elif instance.extern == "counter":
            state.counters[instance.name] = [[0, 0] for _ in range(int(instance.arguments[0]))]
        elif instance.extern == "meter":
            state.meters[instance.name] = [Meter() for _ in range(int(instance.arguments[0]))]
    state.digests = {name: deque() for name in digests_of(program)}
    state.value_sets = {value_set.name: () for value_set in program.value_sets}
    return state
