"""v1model's extern functions and methods as primitives: one table by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from emulator.bmv2json.write.context import Context, Json, hexstr, operation, parameter
from emulator.bmv2json.write.expressions import number, place, stored, truth
from emulator.p4 import ir
from emulator.v1model.metadata import Algorithm


def call(cx: Context, s: ir.CallExtern) -> None:
    write = _EXTERNS.get(s.name)
    if write is None:
        raise cx.fail(f"a call of {s.name}")
    write(cx, s)


def _value(cx: Context, s: ir.CallExtern, position: int) -> Json:
    return parameter(number(cx, s.expr(position)))


def _array(kind: str, s: ir.CallExtern) -> Json:
    assert isinstance(s.instance, ir.ExternInstance)
    return {"type": kind, "value": s.instance.name}


def _truncate(cx: Context, s: ir.CallExtern) -> None:
    cx.add("truncate", _value(cx, s, 0))


def _assertion(cx: Context, s: ir.CallExtern) -> None:
    cx.add(s.name, parameter(operation("b2d", None, truth(cx, s.expr(0)))))


def _log_msg(cx: Context, s: ir.CallExtern) -> None:
    text, values = s.arguments
    assert isinstance(text, ir.Text)
    assert isinstance(values, tuple)
    # p4c writes an empty list as an object
    listed: Any = [parameter(number(cx, v)) for v in values] or {}
    cx.add("log_msg", {"type": "string", "value": text.text}, {"type": "parameters_vector", "value": listed})


def _register_read(cx: Context, s: ir.CallExtern) -> None:
    cx.add("register_read", place(cx, s.place(0)), _array("register_array", s), _value(cx, s, 1))


def _register_write(cx: Context, s: ir.CallExtern) -> None:
    cx.add("register_write", _array("register_array", s), _value(cx, s, 0), _value(cx, s, 1))


def _count(cx: Context, s: ir.CallExtern) -> None:
    cx.add("count", _array("counter_array", s), _value(cx, s, 0))


def _execute_meter(cx: Context, s: ir.CallExtern) -> None:
    cx.add("execute_meter", _array("meter_array", s), _value(cx, s, 0), place(cx, s.place(1)))


def _by_the_table(_cx: Context, _s: ir.CallExtern) -> None:
    """The table counts or meters; the action has no primitive for it."""


def _hash(cx: Context, s: ir.CallExtern) -> None:
    algorithm = s.arguments[1]
    assert not isinstance(algorithm, ir.Text | tuple)
    # p4c copies the list's elements, so that fields of invalid headers count
    name = calculation(cx, algorithm, s.arguments[3], copies=True)
    cx.add(
        "modify_field_with_hash_based_offset",
        place(cx, s.place(0)), _value(cx, s, 2), {"type": "calculation", "value": name}, _value(cx, s, 4),
    )  # fmt: skip


def calculation(
    cx: Context, algorithm: ir.Expr, data: ir.Argument, *, payload: bool = False, copies: bool = False
) -> str:
    """A new one of the document's; its name."""
    assert isinstance(algorithm, ir.Constant)
    assert isinstance(data, tuple)
    inputs: list[Json] = []
    for expr in data:
        if isinstance(expr, ir.Constant):
            width = ir.width_of(expr.type)
            inputs.append(hexstr(expr.value & ((1 << width) - 1), width) | {"bitwidth": width})
        else:
            inputs.append(stored(cx, expr, copies=copies))
    if payload:
        inputs.append({"type": "payload", "value": None})
    number = len(cx.calculations)
    algo = Algorithm(algorithm.value).name.lower()
    cx.calculations.append({"name": f"calc_{number}", "id": number, "algo": algo, "input": inputs})
    return f"calc_{number}"


def _random(cx: Context, s: ir.CallExtern) -> None:
    cx.add("modify_field_rng_uniform", place(cx, s.place(0)), _value(cx, s, 1), _value(cx, s, 2))


def _digest(cx: Context, s: ir.CallExtern) -> None:
    name, receiver, data = s.arguments
    assert isinstance(name, ir.Text)
    assert isinstance(data, tuple)
    assert not isinstance(receiver, ir.Text | tuple)
    elements = []
    for expr in data:
        element = cx.temporary(expr.type)
        cx.add("assign", element, parameter(number(cx, expr)))
        elements.append(element)
    list_id = len(cx.learn_lists) + 1
    cx.learn_lists.append({"id": list_id, "name": name.text, "elements": elements})
    cx.add("generate_digest", parameter(number(cx, receiver)), hexstr(list_id))


def _clone(cx: Context, s: ir.CallExtern, *, keeps: bool) -> None:
    kind = s.expr(0)
    assert isinstance(kind, ir.Constant)
    way = "egress" if kind.value else "ingress"
    kept = _field_list(cx, s.expr(2)) if keeps else hexstr(0)
    cx.add(f"clone_{way}_pkt_to_egress", _value(cx, s, 1), kept)


def _again(cx: Context, s: ir.CallExtern, *, op: str) -> None:
    cx.add(op, _field_list(cx, s.expr(0)))


def _field_list(cx: Context, index: ir.Expr) -> Json:
    """Field lists are numbered from 1, in the order of the program's; 0: none."""
    assert isinstance(index, ir.Constant)
    known = [n for n, _ in cx.program.field_lists]
    return hexstr(known.index(index.value) + 1 if index.value in known else 0)


_EXTERNS: dict[str, Callable[[Context, ir.CallExtern], None]] = {
    "truncate": _truncate,
    "assert": _assertion,
    "assume": _assertion,
    "log_msg": _log_msg,
    "register.read": _register_read,
    "register.write": _register_write,
    "counter.count": _count,
    "direct_counter.count": _by_the_table,
    "meter.execute_meter": _execute_meter,
    "direct_meter.read": _by_the_table,
    "hash": _hash,
    "random": _random,
    "digest": _digest,
    "clone": partial(_clone, keeps=False),
    "clone_preserving_field_list": partial(_clone, keeps=True),
    "resubmit_preserving_field_list": partial(_again, op="resubmit"),
    "recirculate_preserving_field_list": partial(_again, op="recirculate"),
}
