"""What the instructions of a basic block cost: how many of each class, as the cost tables have them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from pspin_model.machine.costs import CLASSES

LOAD, STORE, BRANCH, JAL, JALR, ATOMIC, OP, SYSTEM = 0x03, 0x23, 0x63, 0x6F, 0x67, 0x2F, 0x33, 0x73
LUI, AUIPC = 0x37, 0x17
"""Opcodes: the low seven bits of an instruction."""
NAMES = {LOAD: "load", STORE: "store", JAL: "jump", JALR: "jump", ATOMIC: "atomic"}
PLACE = {name: place for place, name in enumerate(CLASSES)}
COUNTED = tuple(place for name, place in PLACE.items() if name != "load_use")
"""Classes that count as instructions."""


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions that run one after another, to a branch, jump or call."""

    end: int
    counts: tuple[tuple[int, int], ...]
    """(class, how many), but for a branch at the end."""
    instructions: int
    branches: bool
    """Whether it ends with a branch."""
    first_reads: frozenset[int]
    loaded: int
    """Register that its last instruction loads, or 0."""


def decode(code: bytes, address: int) -> Block:
    """The block with this code."""
    words = struct.unpack(f"<{len(code) // 4}I", code)
    counts = dict.fromkeys(range(len(CLASSES)), 0)
    loaded = 0
    for word in words:
        if loaded in _reads(word):
            counts[PLACE["load_use"]] += 1
        opcode = word & 0x7F
        loaded = word >> 7 & 31 if opcode == LOAD else 0
        if opcode not in (BRANCH, SYSTEM):
            counts[PLACE[_class_of(word)]] += 1
    return Block(
        end=address + len(code),
        counts=tuple((place, count) for place, count in counts.items() if count),
        instructions=len(words),
        branches=words[-1] & 0x7F == BRANCH,
        first_reads=_reads(words[0]),
        loaded=loaded,
    )


def _reads(word: int) -> frozenset[int]:
    """Registers an instruction needs, but the one that is always 0."""
    opcode = word & 0x7F
    if opcode in (LUI, AUIPC, JAL):
        return frozenset()
    used = {word >> 15 & 31}
    if opcode in (OP, STORE, BRANCH, ATOMIC):
        used.add(word >> 20 & 31)
    return frozenset(used - {0})


def _class_of(word: int) -> str:
    opcode = word & 0x7F
    if opcode == OP and word >> 25 == 1:
        return "mul" if word >> 12 & 7 < 4 else "div"
    return NAMES.get(opcode, "alu")
