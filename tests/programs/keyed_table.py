"""A program of one table with keys of any kind, its frames and its entries' matches."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.switch.control import Exact, FieldMatch, Lpm, Ternary
from tests.programs.p4_programs import header_type, make_program, ref, send_to, var

KEY_ID, PORT_ID, SET, NOTHING = 1, 2, 2, 1
"""Ids that hand-made programs get: position from 1 (NoAction is the first action)."""


def table_program(
    kind: str,
    width: int,
    *,
    entries: tuple[ir.TableEntry, ...] = (),
    size: int = 4096,
    entries_are_const: bool = False,
    has_port: bool = True,
) -> ir.Program:
    """Looks up a key, and a port, too, if ``has_port``; writes the action's 33-bit parameter and a hit flag behind
    it."""
    head = ir.Header("hdr.h", header_type("h_t", ("key", width), ("port", 8), ("hit", 8), ("value", 40)))
    value, hit, run = var("value", 33), ir.Variable("hit", ir.BOOL), var("run", 32)
    action = ir.Action("Ingress.set", (value,), (ir.Assign(ref(head, "value"), ir.Cast(value, ir.Bits(40))),))
    keys = [ir.TableKey("key", ref(head, "key"), kind), ir.TableKey("port", ref(head, "port"), "exact")]
    keys = keys if has_port else keys[:1]
    actions = (ir.TableAction("NoAction"), ir.TableAction("Ingress.set"))
    counter = ir.ExternInstance("Ingress.counted", "direct_counter", (), ("packets_and_bytes",))
    table = ir.Table(
        "Ingress.t",
        tuple(keys),
        actions,
        ir.ActionCall("NoAction"),
        False,
        size,
        entries,
        entries_are_const,
        (counter,),
    )
    flag = ir.Cast(ir.Cast(hit, ir.Bits(1)), ir.Bits(8))
    body = (ir.ApplyTable("Ingress.t", hit, run), ir.Assign(ref(head, "hit"), flag), send_to(1))
    return make_program([head], body, variables=[hit, run], actions=[action], tables=[table], externs=[counter])


def frame(key: int, port: int, width: int) -> bytes:
    return key.to_bytes(width // 8, "big") + bytes([port]) + bytes(6)


def match(kind: str, value: int, mask: int, width: int, port: int) -> tuple[FieldMatch, ...]:
    found: list[FieldMatch] = []
    if kind == "exact":
        found.append(Exact(KEY_ID, value))
    elif mask and kind == "lpm":
        found.append(Lpm(KEY_ID, value & mask, mask.bit_count()))
    elif mask:
        found.append(Ternary(KEY_ID, value & mask, mask))
    return (*found, Exact(PORT_ID, port))
