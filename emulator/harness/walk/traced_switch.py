"""The interpreter with a `Walk` for each frame: tables, copies, drops are noted here, statements by the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from emulator.harness.matches import parts_text
from emulator.harness.values import shown
from emulator.harness.walk.events import Details, Kind, Left, Walk
from emulator.harness.walk.tracing_machine import TracingMachine
from emulator.p4 import ir
from emulator.p4.arithmetic import unsigned
from emulator.p4.interpreter.interpreter import Machine
from emulator.ports.batch import TxPortTable
from emulator.switch.core import Switch
from emulator.switch.engines import Engine, InterpretedEngine
from emulator.switch.tables.mirror import Entry
from emulator.switch.tables.scan import Cells, Scan, best_match
from emulator.switch.tables.tables import Table
from emulator.v1model.compiled import CompiledProgram
from emulator.v1model.interpreted import Entering, Interpreter, Leaving, Life, Queueing
from emulator.v1model.interpreted_requests import requests
from emulator.v1model.metadata import Drop, Instance
from emulator.v1model.state import Session, State

BLOCKS = {"vr": "verify checksum", "ig": "ingress", "eg": "egress", "ck": "compute checksum", "dep": "deparser"}
MISS = "miss"


class TracedSwitch(Switch):
    """A switch that interprets its program and hands out every frame's walk."""

    def __init__(self, *, ports: TxPortTable, seed: int = 0, report: Callable[[Walk], None]) -> None:
        super().__init__(ports=ports, seed=seed)
        self._report = report

    def _make_engine(self, program: CompiledProgram) -> Engine:
        return TracedEngine(program, self.ports, self._report)


class TracedEngine(InterpretedEngine):
    def __init__(self, program: CompiledProgram, ports: TxPortTable, report: Callable[[Walk], None]) -> None:
        super().__init__(program, ports)
        plain = self._interpreter
        assert isinstance(plain.tables, Scan)
        self._interpreter = TracingInterpreter(
            plain.program, _TracingScan(plain.tables), plain.replicas, plain.state, TracingMachine
        )
        self._interpreter.report = report


def tracing_scan(program: ir.Program, tables: dict[str, Table], cells: dict[str, Cells], state: State) -> _TracingScan:
    """A `Scan` that records its look-ups."""
    return _TracingScan(Scan(program, tables, cells, state))


class _TracingScan:
    """Tells each look-up, then lets the plain one do it."""

    def __init__(self, plain: Scan) -> None:
        self._plain = plain

    def look_up(
        self, table: ir.Table, key: tuple[int, ...], machine: Machine
    ) -> tuple[bool, int | None, tuple[int, ...]]:
        placed = self._plain.tables[table.name]
        values = tuple(v for v, k in zip(key, table.keys, strict=True) if k.match_kind != "selector")
        entry = best_match(placed, values)
        found = self._plain.look_up(table, key, machine)
        _, number, parameters = found
        assert isinstance(machine, TracingMachine)
        details: list[tuple[str, str]] = [
            (k.name, shown(unsigned(v, k.value.type), ir.width_of(k.value.type)))
            for v, k in zip(key, table.keys, strict=True)
        ]
        name = "nothing" if number is None else ir.control_plane_action(table.actions[number].action)
        outcome = f"hit {entry_text(placed, entry)}" if entry is not None else _miss_text(placed)
        details.append(("", f"{outcome} -> {name}{self._parameters(machine, table, number, parameters)}"))
        entry_key = entry_text(placed, entry) if entry is not None else MISS
        machine.walk.add(Kind.TABLE, table.name, table.span, tuple(details), entry_key)
        if number is not None:
            machine.walk.add(Kind.ACTION, name, machine.program.action(table.actions[number].action).span, key=name)
        return found

    def _parameters(self, machine: Machine, table: ir.Table, number: int | None, values: tuple[int, ...]) -> str:
        if number is None:
            return ""
        action = machine.program.action(table.actions[number].action)
        pairs = zip(action.parameters, values, strict=True)
        texts = (f"{p.name.rpartition('.')[2]}={shown(v, ir.width_of(p.type))}" for p, v in pairs)
        return f"({', '.join(texts)})"

    def in_value_set(self, value_set: str, key: tuple[int, ...]) -> bool:
        return self._plain.in_value_set(value_set, key)


def entry_text(table: Table, entry: Entry) -> str:
    """An entry's key as text, with its priority where that counts."""
    keys = zip(table.view.keys, entry.keys, strict=True)
    text = ", ".join(f"{k.name}={parts_text(k, *parts)}" for k, parts in keys)
    return f"{text} priority {entry.priority}" if table.view.has_priority else text


def _miss_text(table: Table) -> str:
    """Text of a miss, with what there was to hit: often a table is just empty."""
    if not table.view.keys:
        return MISS
    count = len(table.entries)
    return f"{MISS} (the table is empty)" if not count else f"{MISS} ({count} {'entry' if count == 1 else 'entries'})"


class TracingInterpreter(Interpreter):
    """Not for keeping: ``report`` gets the walk of each frame when it is finished."""

    report: Callable[[Walk], None]
    walk: Walk

    def process(self, frame: bytes, port: int, now_ns: int) -> Iterator[tuple[int, bytes]]:
        walk = self.walk = Walk(port, frame)
        try:
            yield from Interpreter.process(self, frame, port, now_ns)
        finally:
            self.report(walk)

    def _leave(self, life: Life, leaving: Leaving, known: Queueing) -> Iterator[tuple[int, bytes]]:
        """A packet that leaves an egress queue goes on with its own walk, which has been reported before."""
        self.walk = leaving.machine.notes["walk"]
        yield from Interpreter._leave(self, life, leaving, known)

    def _machine(self, life: Life, frame: bytes) -> Machine:
        m = Interpreter._machine(self, life, frame)
        m.notes["walk"] = self.walk
        return m

    def _note(self, text: str, details: Details = ()) -> None:
        self.walk.add(Kind.NOTE, text, None, details)

    def _enter(self, life: Life, entering: Entering) -> None:
        what = "" if entering.instance is Instance.NORMAL else f", {entering.instance.name.lower()}"
        self.walk.depth = 0
        self.walk.add(Kind.ENTER, f"in by port {life.port}, {len(entering.frame)} bytes{what}")
        Interpreter._enter(self, life, entering)

    def _parse(self, m: Machine) -> None:
        self.walk.add(Kind.BLOCK, f"parser {self.program.block('p').name}", key="p")
        Interpreter._parse(self, m)

    def _control(self, m: Machine, name: str) -> None:
        block = self.program.block(name)
        assert isinstance(block, ir.Control)
        if name == "vr" and (error := self._get(m, "parser_error")):
            self._note(f"the parser ended with error {self.program.errors[error]}")
        if block.body:
            self.walk.add(Kind.BLOCK, f"{BLOCKS[name]} {block.name}", key=name)
        if name == "dep":
            m.notes["placed"] = ()
        Interpreter._control(self, m, name)

    def _copies(self, m: Machine) -> tuple[tuple[int, int], ...]:
        copies = Interpreter._copies(self, m)
        if copies:
            group = self._get(m, "mcast_grp")
            ports = ", ".join(str(port) for port, _ in copies)
            self._note(f"multicast group {group}: ports {ports}" if group else f"to egress, port {ports}")
        return copies

    def _session(self, life: Life, number: int) -> Session | None:
        session = Interpreter._session(self, life, number)
        if session is None:
            self._note(f"clone session {number}: there is none")
        else:
            self._note(f"clone session {number}: ports {', '.join(str(p) for p, _ in session.replicas)}")
        return session

    def _reinject(self, life: Life, entering: Entering) -> None:
        self._note(f"{entering.instance.name.lower()}: goes to the parser again")
        Interpreter._reinject(self, life, entering)

    def _egress(self, life: Life, m: Machine, port: int, known: Queueing) -> bool:
        self.walk.depth = 0
        is_sent = Interpreter._egress(self, life, m, port, known)
        if is_sent:
            content = bytes(m.output[: requests(m).cut_bytes])
            self.walk.left.append(Left(port, content, m.notes["placed"]))
            self.walk.add(Kind.LEAVE, f"out by port {port}, {len(content)} bytes")
        return is_sent

    def _dropped(self, reason: Drop, count: int = 1) -> tuple[tuple[int, int], ...]:
        self.walk.add(Kind.DROP, reason.words)
        return Interpreter._dropped(self, reason, count)
