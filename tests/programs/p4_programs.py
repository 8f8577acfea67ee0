"""Programs made by hand in the IR, and runs of them on both engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emulator.native.pages import address_of, aligned_bytes
from emulator.p4 import ir
from emulator.ports.batch import FrameBatch, TxPortTable, frame_at, tx_frame, tx_length
from emulator.switch.core import Switch
from emulator.v1model.compiled import CompiledProgram, compile_program
from emulator.v1model.metadata import MARKED_TO_DROP, PREFIX, WIDTHS_BITS, standard

CORE_ERRORS = (
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
)
NO_ACTION = ir.Action("NoAction", (), ())


def bits(width: int) -> ir.Bits:
    return ir.Bits(width)


def const(value: int, width: int) -> ir.Constant:
    return ir.Constant(value, ir.Bits(width))


def var(name: str, width: int) -> ir.Variable:
    return ir.Variable(name, ir.Bits(width))


def header_type(name: str, *fields: tuple[str, int] | tuple[str, ir.Type]) -> ir.HeaderType:
    made, offset = [], 0
    for field_name, kind in fields:
        kind = ir.Bits(kind) if isinstance(kind, int) else kind
        made.append(ir.HeaderField(field_name, offset, kind))
        offset += made[-1].width_bits
    return ir.HeaderType(name, tuple(made))


def ref(header: ir.HeaderRef, name: str) -> ir.FieldRef:
    return ir.FieldRef(header, next(f for f in header.type.fields if f.name == name))


def mark_to_drop() -> ir.Region:
    """What the call on the standard metadata becomes, as one statement."""
    return ir.Region("mark_to_drop", tuple(ir.Assign(standard(f), ir.Constant(v, standard(f).type))
                                           for f, v in MARKED_TO_DROP.items()))  # fmt: skip


def binary(op: ir.BinaryOp, left: ir.Expr, right: ir.Expr) -> ir.Binary:
    comparison = op in {
        ir.BinaryOp.EQ, ir.BinaryOp.NE, ir.BinaryOp.LT, ir.BinaryOp.LE, ir.BinaryOp.GT, ir.BinaryOp.GE,
        ir.BinaryOp.LOGICAL_AND, ir.BinaryOp.LOGICAL_OR,
    }  # fmt: skip
    return ir.Binary(op, left, right, ir.BOOL if comparison else left.type)


def register(name: str, width: int, size: int) -> ir.ExternInstance:
    return ir.ExternInstance(name, "register", (ir.Bits(width), ir.INDEX), (size,))


def read(instance: ir.ExternInstance, target: ir.Place, index: ir.Expr) -> ir.CallExtern:
    return ir.CallExtern("register.read", (target, index), instance)


def write(instance: ir.ExternInstance, index: ir.Expr, value: ir.Expr) -> ir.CallExtern:
    return ir.CallExtern("register.write", (index, value), instance)


def send_to(port: ir.Expr | int) -> ir.Assign:
    value = const(port, 9) if isinstance(port, int) else port
    return ir.Assign(standard("egress_spec"), value)


def linear_parser(headers: Sequence[ir.Header]) -> ir.Parser:
    body = tuple(ir.Extract(h) for h in headers)
    return ir.Parser("Parse", (ir.State("start", body, ir.Goto("accept")),))


def make_program(
    headers: Sequence[ir.Header],
    ingress: Sequence[ir.Statement],
    *,
    egress: Sequence[ir.Statement] = (),
    parser: ir.Parser | None = None,
    deparser: Sequence[ir.Statement] | None = None,
    verify: Sequence[ir.Statement] = (),
    compute: Sequence[ir.Statement] = (),
    variables: Sequence[ir.Variable] = (),
    actions: Sequence[ir.Action] = (),
    tables: Sequence[ir.Table] = (),
    externs: Sequence[ir.ExternInstance] = (),
    stacks: Sequence[ir.HeaderStack] = (),
    field_lists: Sequence[tuple[int, Sequence[ir.Variable]]] = (),
    value_sets: Sequence[ir.ValueSet] = (),
) -> ir.Program:
    every = (*headers, *(h for s in stacks for h in s.headers))
    emits = tuple(ir.Emit(h) for h in every) if deparser is None else tuple(deparser)
    blocks: tuple[tuple[str, ir.Parser | ir.Control], ...] = (
        ("p", parser or linear_parser(headers)),
        ("vr", ir.Control("Verify", tuple(verify))),
        ("ig", ir.Control("Ingress", tuple(ingress))),
        ("eg", ir.Control("Egress", tuple(egress))),
        ("ck", ir.Control("Compute", tuple(compute))),
        ("dep", ir.Control("Deparse", emits)),
    )
    standard_variables = tuple(ir.Variable(PREFIX + n, ir.Bits(w)) for n, w in WIDTHS_BITS.items())
    return ir.Program(
        "test",
        every,
        tuple(stacks),
        (*standard_variables, *variables),
        blocks,
        (NO_ACTION, *actions),
        tuple(tables),
        tuple(externs),
        CORE_ERRORS,
        value_sets=tuple(value_sets),
        field_lists=tuple((number, tuple(kept)) for number, kept in field_lists),
    )


@dataclass(frozen=True)
class HandMade:
    """What ``compile_program`` takes."""

    program: ir.Program
    p4info: Any = None


class Rig:
    """A switch with rings on some ports, for one engine."""

    def __init__(
        self,
        program: ir.Program | CompiledProgram,
        engine: str = "llvm",
        *,
        ports: Sequence[int] = range(8),
        cells: int = 64,
        stride_bytes: int = 2048,
        seed: int = 0,
    ) -> None:
        self.switch = Switch(seed=seed)
        self.next_ns: int | None = None
        """When the switch wants to be called."""
        self._memory = []
        for port in ports:
            ring = self.switch.ports.rings[port]
            frames, lengths = aligned_bytes(cells * stride_bytes), np.zeros(cells, np.uint32)
            self._memory += [frames, lengths]
            ring["cells"], ring["lengths"] = address_of(frames), address_of(lengths)
            ring["stride_bytes"], ring["mask"], ring["limit"] = stride_bytes, cells - 1, cells
        if isinstance(program, ir.Program):
            program = compile_program(HandMade(program), engine=engine, cache=False)
        self.switch.load(program)

    def run(self, *frames: bytes | tuple[int, bytes], now_ns: int = 5_000_000) -> dict[int, list[bytes]]:
        """Frames (of port 0 if not said) through the switch; what came out of each port. Empties the rings."""
        batch = FrameBatch(max(1, len(frames)))
        for frame in frames:
            port, content = frame if isinstance(frame, tuple) else (0, frame)
            batch.append(content, port)
        self.next_ns = self.switch.process(batch, now_ns)
        return drain(self.switch.ports)


def drain(ports: TxPortTable) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    for port in ports.numbers():
        ring, address = ports.rings[port], ports.ring_address(port)
        cells = int(ring["mask"]) + 1
        first = int(ring["limit"]) - cells
        indices = range(first, int(ring["tail"]))
        frames = [frame_at(tx_frame(address, i), tx_length(address, i)) for i in indices]
        if frames:
            found[port] = frames
        ring["limit"] = int(ring["tail"]) + cells
    return found


@dataclass
class Outcome:
    """All that a run leaves: frames and state."""

    frames: list[dict[int, list[bytes]]]
    drops: dict[str, int]
    faults: dict[str, int]
    registers: dict[str, list[int]] = field(default_factory=dict)
    counters: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    direct: dict[str, list[Any]] = field(default_factory=dict)
    digests: dict[str, list[tuple[int, ...]]] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)


def outcome(rig: Rig, batches: Sequence[Sequence[bytes | tuple[int, bytes]]]) -> Outcome:
    frames = [rig.run(*batch) for batch in batches]
    switch = rig.switch
    assert switch.program is not None
    result = Outcome(frames, dict(switch.drops), dict(switch.faults))
    for view in switch.program.view.registers:
        result.registers[view.name] = [switch.read_register(view.id, i) for i in range(view.size)]
    for view in switch.program.view.counters:
        values = [switch.read_counter(view.id, i) for i in range(view.size)]
        result.counters[view.name] = [(v.packets, v.bytes) for v in values]
    for table in switch.program.view.tables:
        result.direct[table.name] = list(switch.entries(table.id))
    for digest in switch.program.view.digests:
        result.digests[digest.name] = switch.take_digests(digest.id, 1 << 20)
    result.messages = switch.take_messages()
    return result


def run_both(
    program: ir.Program, *batches: Sequence[bytes | tuple[int, bytes]], prepare: Any = None, **options: Any
) -> Outcome:
    """The same frames on both engines; asserts that all outcomes are equal, and returns them."""
    results = []
    for engine in ("interpreter", "llvm"):
        rig = Rig(program, engine, **options)
        if prepare is not None:
            prepare(rig.switch)
        results.append(outcome(rig, batches))
    assert results[1] == results[0]
    return results[1]
