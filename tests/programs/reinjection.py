"""A small program of packets that go round: header, calls, and what tests ask of all of them."""

from __future__ import annotations

from typing import Any

from emulator.p4 import ir
from emulator.switch.control import CloneSession
from emulator.v1model.metadata import Instance, standard
from tests.programs.p4_programs import binary, const, header_type, mark_to_drop, ref, send_to, var

Op = ir.BinaryOp
TAG = ir.Header("hdr.tag", header_type("tag_t", ("kind", 8), ("note", 8), ("times", 16)))
NOTE, OTHER = var("meta.note", 8), var("meta.other", 8)
I2E, E2E = const(0, 32), const(1, 32)
RECIRCULATE = ir.CallExtern("recirculate_preserving_field_list", (const(1, 8),))
RESUBMIT = ir.CallExtern("resubmit_preserving_field_list", (const(1, 8),))
MARK = mark_to_drop()


def clone(kind: ir.Constant, session: int | ir.Expr, fields: int | None = None) -> ir.CallExtern:
    number = const(session, 32) if isinstance(session, int) else session
    if fields is None:
        return ir.CallExtern("clone", (kind, number))
    return ir.CallExtern("clone_preserving_field_list", (kind, number, const(fields, 8)))


def is_instance(instance: Instance) -> ir.Expr:
    return binary(Op.EQ, standard("instance_type"), const(instance, 32))


def set_field(name: str, value: ir.Expr) -> ir.Assign:
    return ir.Assign(ref(TAG, name), value)


def low_byte(name: str) -> ir.Expr:
    return ir.Cast(standard(name), ir.Bits(8))


def seen(*names: str) -> tuple[ir.Statement, ...]:
    """Egress statements that write into a frame its kind and its notes; one field may be chosen."""
    return (
        set_field("kind", low_byte("instance_type")),
        set_field("note", NOTE if not names else low_byte(names[0])),
    )


def count_up(limit: int, again: ir.Statement, last_port: int) -> tuple[ir.Statement, ...]:
    """Go round until the tag's counter reaches the limit, then leave by a port."""
    more = binary(Op.ADD, ref(TAG, "times"), const(1, 16))
    below = binary(Op.LT, ref(TAG, "times"), const(limit, 16))
    return (ir.If(below, (set_field("times", more), again)), send_to(last_port))


def sessions(**replicas: tuple[tuple[int, int], ...]) -> Any:
    """``s5=((2, 0),)``: what `run_both` takes to prepare a switch."""

    def prepare(switch: Any) -> None:
        for name, pairs in replicas.items():
            switch.set_clone_session(CloneSession(int(name[1:]), pairs))

    return prepare


def frame(kind: int = 0, note: int = 0, times: int = 0, payload: bytes = b"payload") -> bytes:
    return bytes([kind, note]) + times.to_bytes(2, "big") + payload
