"""A small aggregator made by hand: add lanes into registers, answer with the sums."""

from __future__ import annotations

import random
import struct

from emulator.p4 import ir
from tests.programs.p4_programs import (
    binary,
    const,
    header_type,
    make_program,
    mark_to_drop,
    read,
    ref,
    register,
    send_to,
    var,
    write,
)

Op = ir.BinaryOp


def lane_program(lanes: int, slots: int = 16, *, width: int = 32, prefix_bytes: int = 8) -> ir.Program:
    """Frame: {op 8, unused, slot 32} then lanes. op 0 store, 1 add, 2 signed max, 3 clear, 4 read back, 5 checksum."""
    head = ir.Header("hdr.head", header_type("head_t", ("op", 8), ("pad", 8 * (prefix_bytes - 5)), ("slot", 32)))
    kind = header_type("lanes_t", *((f"x{i}", width) for i in range(lanes)))
    data = ir.Header("hdr.lanes", kind)
    cells = [register(f"Ingress.sum{i}", width, slots) for i in range(lanes)]
    chunk, count = register("Ingress.chunk", 32, slots), register("Ingress.count", 64, slots)
    index = var("Ingress.index", 32)
    locals_ = [var(f"Ingress.{n}{i}", width) for n in ("add", "max") for i in range(lanes)]
    add, biggest = locals_[:lanes], locals_[lanes:]
    x = [ir.FieldRef(data, f) for f in kind.fields]
    signed = ir.Bits(width, signed=True)

    def greater(a: ir.Expr, b: ir.Expr) -> ir.Expr:
        return ir.Binary(Op.GT, ir.Cast(a, signed), ir.Cast(b, signed), ir.BOOL)

    actions: list[list[ir.Statement]] = [[] for _ in range(6)]
    for i, cell in enumerate(cells):
        actions[0].append(write(cell, index, x[i]))
        actions[1] += [read(cell, add[i], index), write(cell, index, binary(Op.ADD, add[i], x[i]))]
        larger = ir.Mux(greater(biggest[i], x[i]), biggest[i], x[i], x[i].type)
        actions[2] += [read(cell, biggest[i], index), write(cell, index, larger)]
        actions[3].append(write(cell, index, const(0, width)))
        actions[4].append(read(cell, x[i], index))
    sum16 = var("Ingress.sum16", 16)
    items: tuple[ir.Expr, ...] = (ref(head, "op"), ref(head, "slot"), const(3, 8), *x)
    actions[5] = [
        ir.CallExtern("hash", (sum16, const(6, 32), const(0, 16), items, const(65536, 32))),
        ir.Assign(ref(head, "slot"), ir.Cast(sum16, ir.Bits(32))),
    ]
    seen = var("Ingress.seen", 64)
    chosen = ir.Switch(
        ref(head, "op"),
        tuple(ir.SwitchCase((i,), (ir.Region(f"action{i}", tuple(b)),)) for i, b in enumerate(actions)),
        mark_to_drop().body,
    )
    body = (
        send_to(1),
        ir.Assign(index, ref(head, "slot")),
        read(count, seen, index),
        write(count, index, binary(Op.ADD, seen, const(1, 64))),
        write(chunk, index, ref(head, "slot")),
        chosen,
    )
    variables = [index, sum16, seen, *locals_]
    return make_program([head, data], body, variables=variables, externs=[chunk, count, *cells])


def lane_frames(lanes: int, count: int, width: int = 32) -> list[bytes]:
    source = random.Random(lanes)
    frames = []
    for _ in range(count):
        op, slot = source.randrange(7), source.choice([0, 1, 2, 15, 16, 0xFFFFFFFF])
        body = b"".join(source.getrandbits(width).to_bytes(width // 8, "big") for _ in range(lanes))
        frame = struct.pack(">BxxxI", op, slot) + body + bytes(source.randrange(4))
        frames.append(frame if source.random() < 0.8 else frame[: source.randrange(len(frame))])
    return frames
