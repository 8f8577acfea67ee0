"""Primitives that reach beyond the packet's headers: registers, meters, hashes, copies, messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from emulator.bmv2json import expressions, primitives_headers
from emulator.bmv2json import numbers as n
from emulator.bmv2json.context import Context, unwrap
from emulator.bmv2json.document import Node
from emulator.bmv2json.primitives_headers import Primitive
from emulator.bmv2json.storage import Slot
from emulator.p4 import ir
from emulator.v1model.metadata import MARKED_TO_DROP, standard
from emulator.v1model.target import HASH_OF_VALID

WORD = ir.Bits(64)
"""What hashes and random numbers are computed in."""
INGRESS_TO_EGRESS, EGRESS_TO_EGRESS = ir.Constant(0, ir.INDEX), ir.Constant(1, ir.INDEX)
"""Members of ``CloneType``."""
Found = TypeVar("Found")


def _call(
    cx: Context, name: str, *arguments: ir.Argument, node: Node, instance: ir.ExternInstance | None = None
) -> None:
    cx.out.append(ir.CallExtern(name, arguments, instance, node.span()))


def _call_for(
    cx: Context, name: str, target: Slot, type_: ir.Bits, node: Node, arguments: tuple[ir.Argument, ...],
    position: int = 0, instance: ir.ExternInstance | None = None,
) -> None:  # fmt: skip
    """A call whose argument at ``position`` is written with a value of ``type_``, and keeps it where it is not."""
    place: ir.Place = target.place
    if place.type != type_ or target.is_empty:
        place = cx.storage.temporary(type_)
        before = n.low_bits(expressions.read(target), type_.width_bits)
        cx.out.append(ir.Assign(place, n.cast(before, type_), node.span()))
    _call(cx, name, *arguments[:position], place, *arguments[position:], node=node, instance=instance)
    if place is not target.place and not target.is_empty:
        primitives_headers.store(cx, target, n.cast(place, ir.Bits(ir.width_of(target.type))), node)


def _declared(node: Node, kind: str, known: Mapping[str, Found]) -> Found:
    node = unwrap(node)
    if node["type"].text() != kind:
        node["type"].fail(f"must be {kind}")
    name = node["value"].text()
    if name not in known:
        node["value"].fail(f"{kind} {name!r} is not declared")
    return known[name]


# --- drop, messages ---------------------------------------------------------------------------------------------------


def drop(cx: Context, parameters: list[Node], node: Node) -> None:
    """P4_14's ``drop()``: the standard metadata, whatever instances the document keeps it in."""
    for name, value in MARKED_TO_DROP.items():
        field = standard(name)
        cx.out.append(ir.Assign(field, ir.Constant(value, field.type), node.span()))


def mark_to_drop(cx: Context, parameters: list[Node], node: Node) -> None:
    """The fields of the metadata argument, which may be a copy of the standard metadata."""
    if not parameters:
        drop(cx, parameters, node)
        return
    metadata = unwrap(parameters[0])
    name = primitives_headers.metadata_name(cx, metadata)
    if name is None or "egress_spec" not in cx.storage.metadata[name]:
        metadata.fail("must be the standard metadata, or other metadata of its type")
    for slot, field in zip(cx.storage.metadata_slots(name, node), cx.storage.metadata[name], strict=True):
        if field in MARKED_TO_DROP:
            primitives_headers.store(
                cx, slot, n.low_bits(n.literal(MARKED_TO_DROP[field]), ir.width_of(slot.type)), node
            )


def log_message(cx: Context, parameters: list[Node], node: Node) -> None:
    text = unwrap(parameters[0])
    if text["type"].text() != "string":
        text["type"].fail("must be string")
    values: list[ir.Expr] = []
    for each in _vector(parameters[1]) if len(parameters) > 1 else []:
        values.append(expressions.exact(cx, each).expr)
    _call(cx, "log_msg", ir.Text(text["value"].text()), tuple(values), node=node)


def _vector(node: Node) -> list[Node]:
    node = unwrap(node)
    if node["type"].text() != "parameters_vector":
        node["type"].fail("must be parameters_vector")
    values = node["value"]
    return [] if values.value == {} else values.items()  # p4c writes {} where there are none


def assertion(cx: Context, parameters: list[Node], node: Node) -> None:
    _call(cx, node["op"].text(), expressions.truth(cx, parameters[0]), ir.Text(node.place()), node=node)


# --- objects ----------------------------------------------------------------------------------------------------------


def register_read(cx: Context, parameters: list[Node], node: Node) -> None:
    instance = _declared(parameters[1], "register_array", cx.objects.registers)
    type_ = instance.type_arguments[0]
    assert isinstance(type_, ir.Bits)
    index = cx.index(parameters[2])
    _call_for(cx, "register.read", expressions.fixed_slot(cx, parameters[0]), type_, node, (index,), 0, instance)


def register_write(cx: Context, parameters: list[Node], node: Node) -> None:
    instance = _declared(parameters[0], "register_array", cx.objects.registers)
    index = cx.index(parameters[1])
    value = expressions.low_bits(cx, parameters[2], ir.width_of(instance.type_arguments[0]))
    _call(cx, "register.write", index, value, node=node, instance=instance)


def count(cx: Context, parameters: list[Node], node: Node) -> None:
    instance = _declared(parameters[0], "counter_array", cx.objects.counters)
    _call(cx, "counter.count", cx.index(parameters[1]), node=node, instance=instance)


def execute_meter(cx: Context, parameters: list[Node], node: Node) -> None:
    instance = _declared(parameters[0], "meter_array", cx.objects.meters)
    target = expressions.fixed_slot(cx, parameters[2])
    width = max(ir.width_of(target.type), 2)
    _call_for(cx, "meter.execute_meter", target, ir.Bits(width), node, (cx.index(parameters[1]),), 1, instance)


def _result_type(target: Slot) -> ir.Bits:
    return ir.Bits(ir.width_of(target.type) or 1)


def hash_into(cx: Context, parameters: list[Node], node: Node) -> None:
    calculation = _declared(parameters[2], "calculation", cx.objects.calculations)
    if calculation.with_payload:
        parameters[2].fail("the payload cannot be hashed here")
    base, limit = (expressions.low_bits(cx, parameters[i], WORD.width_bits) for i in (1, 3))
    target = expressions.fixed_slot(cx, parameters[0])
    arguments = (calculation.algorithm, base, calculation.data, limit)
    has_fields = any(isinstance(item, ir.FieldRef) for item in calculation.data)
    _call_for(cx, HASH_OF_VALID if has_fields else "hash", target, _result_type(target), node, arguments)


def random_into(cx: Context, parameters: list[Node], node: Node) -> None:
    target = expressions.fixed_slot(cx, parameters[0])
    bounds = tuple(expressions.low_bits(cx, parameters[i], WORD.width_bits) for i in (1, 2))
    _call_for(cx, "random", target, _result_type(target), node, bounds)


def digest(cx: Context, parameters: list[Node], node: Node) -> None:
    number = cx.constant(parameters[1], 0, (1 << 31) - 1)
    if number not in cx.objects.learn_lists:
        parameters[1].fail(f"there is no learn list with id {number}")
    learned = cx.objects.learn_lists[number]
    _call(cx, "digest", ir.Text(learned.name), expressions.low_bits(cx, parameters[0], 32), learned.fields, node=node)


# --- copies -----------------------------------------------------------------------------------------------------------


def clone_ingress(cx: Context, parameters: list[Node], node: Node) -> None:
    _clone(cx, INGRESS_TO_EGRESS, parameters, node)


def clone_egress(cx: Context, parameters: list[Node], node: Node) -> None:
    _clone(cx, EGRESS_TO_EGRESS, parameters, node)


def _clone(cx: Context, kind: ir.Constant, parameters: list[Node], node: Node) -> None:
    session = expressions.low_bits(cx, parameters[0], 32)
    kept = _field_list(cx, parameters[1:])
    if kept is None:
        _call(cx, "clone", kind, session, node=node)
    else:
        _call(cx, "clone_preserving_field_list", kind, session, kept, node=node)


def _field_list(cx: Context, parameters: list[Node]) -> ir.Constant | None:
    """The number of a field list; None where it is absent or empty: bmv2 keeps nothing then."""
    if not parameters:
        return None
    number = cx.constant(parameters[0], 0, (1 << 31) - 1)
    return ir.Constant(number, ir.INDEX) if cx.objects.field_lists.get(number) else None


def again(cx: Context, parameters: list[Node], node: Node) -> None:
    """``resubmit`` and ``recirculate``."""
    name, kept = node["op"].text(), _field_list(cx, parameters)
    number = ir.Constant(0, ir.INDEX) if kept is None else kept
    _call(cx, f"{name}_preserving_field_list", number, node=node)


def truncate(cx: Context, parameters: list[Node], node: Node) -> None:
    _call(cx, "truncate", n.clamp_index(expressions.exact(cx, parameters[0])), node=node)


EXTERN_PRIMITIVES: dict[str, tuple[tuple[int, ...], Primitive]] = {
    "drop": ((0,), drop),
    "mark_to_drop": ((0, 1), mark_to_drop),
    "log_msg": ((1, 2), log_message),
    "assert": ((1,), assertion),
    "assume": ((1,), assertion),
    "register_read": ((3,), register_read),
    "register_write": ((3,), register_write),
    "count": ((2,), count),
    "execute_meter": ((3,), execute_meter),
    "modify_field_with_hash_based_offset": ((4,), hash_into),
    "modify_field_rng_uniform": ((3,), random_into),
    "generate_digest": ((2,), digest),
    "clone_ingress_pkt_to_egress": ((1, 2), clone_ingress),
    "clone_egress_pkt_to_egress": ((1, 2), clone_egress),
    "resubmit": ((0, 1), again),
    "recirculate": ((0, 1), again),
    "truncate": ((1,), truncate),
}
