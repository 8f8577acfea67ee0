"""Primitives that reach beyond the packet's headers: registers, meters, hashes, copies, messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from emulator.bmv2json import numbers as n
from emulator.bmv2json.document import Node
from emulator.bmv2json.objects import Objects
from emulator.bmv2json.primitives import PRIMITIVES, Primitive, Primitives
from emulator.bmv2json.storage import Slot, Storage
from emulator.p4 import ir
from emulator.v1model.metadata import MARKED_TO_DROP, standard

WORD = ir.Bits(64)
"""What hashes and random numbers are computed in."""
INGRESS_TO_EGRESS, EGRESS_TO_EGRESS = ir.Constant(0, ir.INDEX), ir.Constant(1, ir.INDEX)
"""Members of ``CloneType``."""
Found = TypeVar("Found")


class ActionPrimitives(Primitives):
    """All primitives; ``block`` says where they run, for some may run in one pipeline only."""

    def __init__(self, storage: Storage, objects: Objects, *, in_parser: bool = False) -> None:
        super().__init__(storage, in_parser=in_parser)
        self.objects = objects
        self.registers = objects.registers

    def registry(self) -> Mapping[str, tuple[tuple[int, ...], Primitive]]:
        return ALL

    def call(self, name: str, *arguments: ir.Argument, node: Node, instance: ir.ExternInstance | None = None) -> None:
        self.out.append(ir.CallExtern(name, arguments, instance, node.span()))

    def call_for(
        self, name: str, target: Slot, type_: ir.Bits, node: Node, arguments: tuple[ir.Argument, ...],
        position: int = 0, instance: ir.ExternInstance | None = None,
    ) -> None:  # fmt: skip
        """A call whose argument at ``position`` is written with a value of ``type_``, and keeps it where it is not."""
        place: ir.Place = target.place
        if place.type != type_:
            place = self.storage.temporary(type_)
            before = n.low_bits(self.read(target), type_.width_bits)
            self.out.append(ir.Assign(place, n.cast(before, type_), node.span()))
        self.call(name, *arguments[:position], place, *arguments[position:], node=node, instance=instance)
        if place is not target.place:
            self.store(target, n.cast(place, ir.Bits(ir.width_of(target.type))), node)

    def object(self, node: Node, kind: str, known: Mapping[str, Found]) -> Found:
        node = self.unwrap(node)
        if node["type"].text() != kind:
            node["type"].fail(f"must be {kind}")
        name = node["value"].text()
        if name not in known:
            node["value"].fail(f"{kind} {name!r} is not declared")
        return known[name]

    # --- drop, messages ----------------------------------------------------------------------------------------------

    def drop(self, parameters: list[Node], node: Node) -> None:
        """P4_14's ``drop()``: the standard metadata, whatever instances the document keeps it in."""
        for name, value in MARKED_TO_DROP.items():
            field = standard(name)
            self.out.append(ir.Assign(field, ir.Constant(value, field.type), node.span()))

    def mark_to_drop(self, parameters: list[Node], node: Node) -> None:
        """The fields of the metadata that is given, which may be a copy of the standard metadata."""
        if not parameters:
            self.drop(parameters, node)
            return
        given = self.unwrap(parameters[0])
        name = self.metadata_name(given)
        if name is None or "egress_spec" not in self.storage.metadata[name]:
            given.fail("must be the standard metadata, or other metadata of its type")
        for slot, field in zip(self.storage.metadata_slots(name, node), self.storage.metadata[name], strict=True):
            if field in MARKED_TO_DROP:
                self.store(slot, n.low_bits(n.literal(MARKED_TO_DROP[field]), ir.width_of(slot.type)), node)

    def log_message(self, parameters: list[Node], node: Node) -> None:
        text = self.unwrap(parameters[0])
        if text["type"].text() != "string":
            text["type"].fail("must be string")
        values: list[ir.Expr] = []
        for each in self._vector(parameters[1]) if len(parameters) > 1 else []:
            values.append(self.number(each).expr)
        self.call("log_msg", ir.Text(text["value"].text()), tuple(values), node=node)

    def _vector(self, node: Node) -> list[Node]:
        node = self.unwrap(node)
        if node["type"].text() != "parameters_vector":
            node["type"].fail("must be parameters_vector")
        return node["value"].items()

    def assertion(self, parameters: list[Node], node: Node) -> None:
        self.call(node["op"].text(), self.truth(parameters[0]), ir.Text(node.place()), node=node)

    # --- objects -----------------------------------------------------------------------------------------------------

    def register_read(self, parameters: list[Node], node: Node) -> None:
        instance = self.object(parameters[1], "register_array", self.objects.registers)
        type_ = instance.type_arguments[0]
        assert isinstance(type_, ir.Bits)
        index = self.index(parameters[2])
        self.call_for("register.read", self.slot(parameters[0]), type_, node, (index,), 0, instance)

    def register_write(self, parameters: list[Node], node: Node) -> None:
        instance = self.object(parameters[0], "register_array", self.objects.registers)
        index = self.index(parameters[1])
        value = self.low_bits(parameters[2], ir.width_of(instance.type_arguments[0]))
        self.call("register.write", index, value, node=node, instance=instance)

    def count(self, parameters: list[Node], node: Node) -> None:
        instance = self.object(parameters[0], "counter_array", self.objects.counters)
        self.call("counter.count", self.index(parameters[1]), node=node, instance=instance)

    def execute_meter(self, parameters: list[Node], node: Node) -> None:
        instance = self.object(parameters[0], "meter_array", self.objects.meters)
        target = self.slot(parameters[2])
        width = max(ir.width_of(target.type), 2)
        self.call_for("meter.execute_meter", target, ir.Bits(width), node, (self.index(parameters[1]),), 1, instance)

    def hash(self, parameters: list[Node], node: Node) -> None:
        calculation = self.object(parameters[2], "calculation", self.objects.calculations)
        if calculation.with_payload:
            parameters[2].fail("the payload cannot be hashed here")
        base, limit = (self.low_bits(parameters[i], WORD.width_bits) for i in (1, 3))
        target = self.slot(parameters[0])
        arguments = (calculation.algorithm, base, calculation.data, limit)
        self.call_for("hash", target, ir.Bits(ir.width_of(target.type)), node, arguments)

    def random(self, parameters: list[Node], node: Node) -> None:
        target = self.slot(parameters[0])
        bounds = tuple(self.low_bits(parameters[i], WORD.width_bits) for i in (1, 2))
        self.call_for("random", target, ir.Bits(ir.width_of(target.type)), node, bounds)

    def digest(self, parameters: list[Node], node: Node) -> None:
        number = self.constant(parameters[1], 0, (1 << 31) - 1)
        if number not in self.objects.learn_lists:
            parameters[1].fail(f"there is no learn list with id {number}")
        learned = self.objects.learn_lists[number]
        self.call("digest", ir.Text(learned.name), self.low_bits(parameters[0], 32), learned.fields, node=node)

    # --- copies ------------------------------------------------------------------------------------------------------

    def clone_ingress(self, parameters: list[Node], node: Node) -> None:
        self._clone(INGRESS_TO_EGRESS, parameters, node)

    def clone_egress(self, parameters: list[Node], node: Node) -> None:
        self._clone(EGRESS_TO_EGRESS, parameters, node)

    def _clone(self, kind: ir.Constant, parameters: list[Node], node: Node) -> None:
        session = self.low_bits(parameters[0], 32)
        kept = self._field_list(parameters[1:])
        if kept is None:
            self.call("clone", kind, session, node=node)
        else:
            self.call("clone_preserving_field_list", kind, session, kept, node=node)

    def _field_list(self, parameters: list[Node]) -> ir.Constant | None:
        """The number of a field list; None where it is absent or empty: bmv2 keeps nothing then."""
        if not parameters:
            return None
        number = self.constant(parameters[0], 0, (1 << 31) - 1)
        return ir.Constant(number, ir.INDEX) if self.objects.field_lists.get(number) else None

    def again(self, parameters: list[Node], node: Node) -> None:
        """``resubmit`` and ``recirculate``."""
        name, kept = node["op"].text(), self._field_list(parameters)
        number = ir.Constant(0, ir.INDEX) if kept is None else kept
        self.call(f"{name}_preserving_field_list", number, node=node)

    def truncate(self, parameters: list[Node], node: Node) -> None:
        self.call("truncate", n.clamp_index(self.number(parameters[0])), node=node)


ALL: dict[str, tuple[tuple[int, ...], Primitive]] = {
    **PRIMITIVES,
    "drop": ((0,), ActionPrimitives.drop),
    "mark_to_drop": ((0, 1), ActionPrimitives.mark_to_drop),
    "log_msg": ((1, 2), ActionPrimitives.log_message),
    "assert": ((1,), ActionPrimitives.assertion),
    "assume": ((1,), ActionPrimitives.assertion),
    "register_read": ((3,), ActionPrimitives.register_read),
    "register_write": ((3,), ActionPrimitives.register_write),
    "count": ((2,), ActionPrimitives.count),
    "execute_meter": ((3,), ActionPrimitives.execute_meter),
    "modify_field_with_hash_based_offset": ((4,), ActionPrimitives.hash),
    "modify_field_rng_uniform": ((3,), ActionPrimitives.random),
    "generate_digest": ((2,), ActionPrimitives.digest),
    "clone_ingress_pkt_to_egress": ((1, 2), ActionPrimitives.clone_ingress),
    "clone_egress_pkt_to_egress": ((1, 2), ActionPrimitives.clone_egress),
    "resubmit": ((0, 1), ActionPrimitives.again),
    "recirculate": ((0, 1), ActionPrimitives.again),
    "truncate": ((1,), ActionPrimitives.truncate),
}
