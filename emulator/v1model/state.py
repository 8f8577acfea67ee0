"""What outlives a packet in the interpreter, apart from tables."""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.p4 import ir
from emulator.v1model.metadata import Drop, Fault


@dataclass(slots=True)
class State:
    """What outlives a packet, apart from tables."""

    registers: dict[str, list[int]] = field(default_factory=dict)
    counters: dict[str, list[list[int]]] = field(default_factory=dict)
    """[packets, bytes] of each index."""
    drops: dict[Drop, int] = field(default_factory=lambda: dict.fromkeys(Drop, 0))
    faults: dict[Fault, int] = field(default_factory=lambda: dict.fromkeys(Fault, 0))


def new_state(program: ir.Program) -> State:
    state = State()
    for instance in program.externs:
        if instance.extern == "register":
            state.registers[instance.name] = [0] * int(instance.arguments[0])
        elif instance.extern == "counter":
            state.counters[instance.name] = [[0, 0] for _ in range(int(instance.arguments[0]))]
    return state
