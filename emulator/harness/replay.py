"""A switch that records its inputs, so that any frame's walk can be had afterwards.

The switch itself runs compiled and is not slowed: a change or a frame is one more item in a list. For a walk the
interpreter replays them, up to that frame, and watches it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from emulator.harness.egress_rings import Rings
from emulator.harness.walk.events import Left, Walk
from emulator.harness.walk.traced_switch import TracedSwitch
from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.ports.batch import FrameBatch
from emulator.switch.control import Control
from emulator.v1model.compiled import CompiledProgram
from emulator.v1model.metadata import Algorithm

CHANGES = (
    "insert_entry", "modify_entry", "delete_entry", "set_default_entry", "reset_default_entry",
    "insert_multicast_group", "modify_multicast_group", "delete_multicast_group", "write_counter", "write_register",
    "insert_member", "modify_member", "delete_member", "insert_group", "modify_group", "delete_group", "write_meter",
    "write_meter_counts", "set_clone_session", "delete_clone_session", "set_value_set", "set_ports_down",
    "take_digests", "take_messages",
)  # fmt: skip
"""Calls that leave a switch other than it was."""


MOST_COMPARED = 16
"""Number of arrivals to look at for a frame of unknown origin."""


@dataclass(frozen=True, slots=True)
class Change:
    name: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Arrival:
    port: int
    content: bytes
    now_ns: int


Item: TypeAlias = Change | Arrival


def one_frame(content: bytes, port: int) -> FrameBatch:
    batch = FrameBatch(1)
    batch.append(content, port)
    return batch


class Recording:
    """The inputs of a switch since its program was loaded."""

    def __init__(self, seed: int = 0) -> None:
        self.items: list[Item] = []
        self.seed = seed

    def watch(self, switch: Control) -> None:
        """Begin to note: every change of the switch from now on; one that it refuses is not."""
        for name in CHANGES:
            if hasattr(switch, name):
                setattr(switch, name, self._noting(name, getattr(switch, name)))

    def _noting(self, name: str, change: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            result = change(*arguments)
            self.items.append(Change(name, arguments))
            return result

        return noted

    def arrive(self, port: int, content: bytes, now_ns: int) -> int:
        """Note a frame; its number is for `walk_of`."""
        self.items.append(Arrival(port, content, now_ns))
        return len(self.items) - 1

    def walk_of(self, number: int, program: CompiledProgram, rings: Rings) -> Walk:
        """The walk of that frame. ``program`` is for the interpreter; ``rings`` are used up to their contents."""
        walks: list[Walk] = []
        switch = TracedSwitch(ports=rings.table, seed=self.seed, report=walks.append)
        switch.load(program)
        assert program.program is not None
        remembers = packets_matter_to_later_ones(program.program)
        for item in self.items[:number]:
            if isinstance(item, Change):
                getattr(switch, item.name)(*item.arguments)
            elif remembers:
                switch.process(one_frame(item.content, item.port), item.now_ns)
                rings.take()
        walks.clear()
        arrival = self.items[number]
        assert isinstance(arrival, Arrival)
        switch.process(one_frame(arrival.content, arrival.port), arrival.now_ns)
        rings.take()
        return walks[0]

    def similar_frame(self, port: int, content: bytes, program: CompiledProgram, rings: Rings) -> Left | None:
        """The frame that the interpreter sends by ``port`` with this content, else with this length, for one of the
        last frames that arrived; with the headers that its deparser wrote."""
        arrivals = [number for number, item in enumerate(self.items) if isinstance(item, Arrival)]
        similar: Left | None = None
        for number in reversed(arrivals[-MOST_COMPARED:]):
            for left in self.walk_of(number, program, rings).left:
                if left.port == port and left.content == content:
                    return left
                if left.port == port and len(left.content) == len(content):
                    similar = similar or left
        return similar


def packets_matter_to_later_ones(program: ir.Program) -> bool:
    """Has the program state that one packet writes and another reads? Counters, digests and messages are not read."""
    if any(e.extern in ("register", "meter", "direct_meter") for e in program.externs):
        return True
    calls = (s for b in walk.root_blocks(program) for s in walk.statements(b) if isinstance(s, ir.CallExtern))
    return any(_is_random(call) for call in calls)


def _is_random(call: ir.CallExtern) -> bool:
    """Draws from the switch's seed. A constant that only looks like HashAlgorithm.random costs time, nothing else."""
    constants = (a.value for a in call.arguments if isinstance(a, ir.Constant))
    return call.name == "random" or Algorithm.RANDOM.value in constants
