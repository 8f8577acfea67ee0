"""The document's counters, meters, registers, hashes, field lists and digests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from emulator.bmv2json.document import Node
from emulator.bmv2json.storage import MAX_FIELD_BITS, NOWHERE, Storage
from emulator.p4 import ir
from emulator.v1model.metadata import Algorithm

ALGORITHMS = {a.name.lower(): a for a in Algorithm if a is not Algorithm.RANDOM} | {"cksum16": Algorithm.CSUM16}
"""bmv2 knows the Internet checksum under two names, and no random hash."""
MAX_ARRAY_BYTES = 1 << 30
"""Largest size of one register, counter or meter array."""
COUNTER_BYTES, METER_BYTES = 16, 112
MAX_FIELD_LISTS = 1 << 16


@dataclass(frozen=True, slots=True)
class Calculation:
    """A hash of some data."""

    algorithm: ir.Constant
    data: tuple[ir.Expr, ...]
    with_payload: bool


@dataclass(frozen=True, slots=True)
class LearnList:
    name: str
    fields: tuple[ir.Expr, ...]


@dataclass(slots=True)
class Objects:
    registers: dict[str, ir.ExternInstance] = field(default_factory=dict)
    counters: dict[str, ir.ExternInstance] = field(default_factory=dict)
    meters: dict[str, ir.ExternInstance] = field(default_factory=dict)
    direct_counters: dict[str, ir.ExternInstance] = field(default_factory=dict)
    """Direct counters by the name of their table."""
    direct_meters: dict[str, ir.ExternInstance] = field(default_factory=dict)
    meter_targets: dict[str, ir.Place] = field(default_factory=dict)
    """Where the colours of direct meters go, by the meter's name."""
    profiles: dict[str, ir.ExternInstance] = field(default_factory=dict)
    selector_inputs: dict[str, tuple[ir.Expr, ...]] = field(default_factory=dict)
    calculations: dict[str, Calculation] = field(default_factory=dict)
    field_lists: dict[int, tuple[ir.Variable, ...]] = field(default_factory=dict)
    learn_lists: dict[int, LearnList] = field(default_factory=dict)

    def instances(self) -> tuple[ir.ExternInstance, ...]:
        kinds: Iterable[dict[str, ir.ExternInstance]] = (
            self.registers, self.counters, self.meters, self.direct_counters, self.direct_meters, self.profiles,
        )  # fmt: skip
        return tuple(instance for kind in kinds for instance in kind.values())


@dataclass(slots=True)
class _Declarations:
    """What has been read so far."""

    storage: Storage
    objects: Objects = field(default_factory=Objects)
    names: set[str] = field(default_factory=set)


def read_objects(document: Node, storage: Storage) -> Objects:
    """Raises Bmv2JsonError."""
    cx = _Declarations(storage)
    for node in document.list("extern_instances"):
        node.fail(f"an extern object of type {node['type'].text()!r} is not supported")
    for node in document.list("register_arrays"):
        _register(cx, node)
    for node in document.list("counter_arrays"):
        _counter(cx, node)
    for node in document.list("meter_arrays"):
        _meter(cx, node)
    for pipeline in document.list("pipelines"):
        for node in pipeline.list("action_profiles"):
            _profile(cx, node)
    for node in document.list("calculations"):
        name = node["name"].name()
        cx.objects.calculations[name] = _calculation(cx, node)
    for node in document.list("field_lists"):
        cx.objects.field_lists[node["id"].number(0, MAX_FIELD_LISTS)] = _field_list(cx, node)
    for node in document.list("learn_lists"):
        number = node["id"].number()
        if number in cx.objects.learn_lists:
            node["id"].fail("is the id of another learn list, too")
        cx.objects.learn_lists[number] = LearnList(node["name"].name(), _fields(cx, node, "elements"))
    return cx.objects


def _name(cx: _Declarations, node: Node) -> str:
    name = node["name"].name()
    if name in cx.names:
        node["name"].fail(f"there is an object {name!r} already")
    cx.names.add(name)
    return name


def _size(node: Node, element_bytes: int) -> int:
    return node["size"].number(1, MAX_ARRAY_BYTES // element_bytes)


def _register(cx: _Declarations, node: Node) -> None:
    name, width = _name(cx, node), node["bitwidth"].number(1, MAX_FIELD_BITS)
    size = _size(node, (width + 7) // 8)
    cx.objects.registers[name] = ir.ExternInstance(name, "register", (ir.Bits(width),), (size,), (), node.span())


def _counter(cx: _Declarations, node: Node) -> None:
    name = _name(cx, node)
    if _is_direct(node):
        instance = ir.ExternInstance(name, "direct_counter", (), ("packets_and_bytes",), (), node.span())
        _bind(cx, cx.objects.direct_counters, node, instance)
        return
    size = _size(node, COUNTER_BYTES)
    arguments = (size, "packets_and_bytes")
    cx.objects.counters[name] = ir.ExternInstance(name, "counter", (), arguments, (), node.span())


def _bind(cx: _Declarations, bound: dict[str, ir.ExternInstance], node: Node, instance: ir.ExternInstance) -> None:
    table = node["binding"].text()
    if table in bound:
        node["binding"].fail(f"table {table!r} has {bound[table].name} already")
    bound[table] = instance


def _meter(cx: _Declarations, node: Node) -> None:
    name, unit = _name(cx, node), node["type"].text()
    if unit not in ("packets", "bytes"):
        node["type"].fail("must be packets or bytes")
    rates = node.get("rate_count")
    if rates is not None and rates.number() != 2:
        rates.fail("meters have two rates")
    if not _is_direct(node):
        arguments = (_size(node, METER_BYTES), unit)
        cx.objects.meters[name] = ir.ExternInstance(name, "meter", (), arguments, (), node.span())
        return
    target = node.get("result_target")
    width = ir.Bits(32)
    if target is not None:
        slot = cx.storage.slot(target)
        if slot.type != slot.place.type or not isinstance(slot.type, ir.Bits):
            target.fail("the colour cannot go to this field")
        cx.objects.meter_targets[name] = slot.place
        width = slot.type
    instance = ir.ExternInstance(name, "direct_meter", (width,), (unit,), (), node.span())
    _bind(cx, cx.objects.direct_meters, node, instance)


def _profile(cx: _Declarations, node: Node) -> None:
    name, size = _name(cx, node), node["max_size"].number(0, 1 << 24)
    selector = node.get("selector")
    if selector is None:
        cx.objects.profiles[name] = ir.ExternInstance(name, "action_profile", (), (size,), (), node.span())
        return
    algorithm = _algorithm(selector["algo"]).name.lower()
    instance = ir.ExternInstance(name, "action_selector", (), (algorithm, size, 32), (), node.span())
    cx.objects.profiles[name] = instance
    cx.objects.selector_inputs[name] = _fields(cx, selector, "input")


# --- lists of fields ---------------------------------------------------------------------------------------------


def _field(cx: _Declarations, node: Node) -> ir.Expr | None:
    """A field, or a constant of some width: p4c puts those in lists as they are. None: a field of no bits."""
    if node["type"].text() == "hexstr":
        type_ = ir.Bits(node["bitwidth"].number(1, MAX_FIELD_BITS))
        return ir.Constant(node["value"].hexadecimal() & ((1 << type_.width_bits) - 1), type_)
    if node["type"].text() != "field":
        node["type"].fail("must be field or hexstr")
    validity = cx.storage.validity(node["value"])
    if validity is not None:
        return validity
    slot = cx.storage.slot(node["value"])
    if slot.is_empty:
        return None
    return slot.place if slot.place.type == slot.type else ir.Cast(slot.place, slot.type)


def _fields(cx: _Declarations, node: Node, key: str) -> tuple[ir.Expr, ...]:
    return tuple(item for each in node[key].items() if (item := _field(cx, each)) is not None)


def _field_list(cx: _Declarations, node: Node) -> tuple[ir.Variable, ...]:
    """Headers of copies are parsed again, or copied whole, so only metadata counts."""
    result = []
    for each in node.list("elements"):
        if each["type"].text() == "field" and cx.storage.validity(each["value"]) is None:
            place = cx.storage.slot(each["value"]).place
            if isinstance(place, ir.Variable) and place is not NOWHERE.place:
                result.append(place)
    return tuple(result)


def _calculation(cx: _Declarations, node: Node) -> Calculation:
    data: list[ir.Expr] = []
    with_payload = False
    for each in node["input"].items():
        kind = each["type"].text()
        if with_payload:
            each.fail("nothing can follow the payload")
        if kind == "payload":
            with_payload = True
        elif kind in ("field", "hexstr"):
            item = _field(cx, each)
            data += [item] if item is not None else []
        elif kind == "header":
            header = cx.storage.header(each["value"])
            data += [ir.FieldRef(header, f) for f in header.type.fields]
        else:
            each["type"].fail(f"{kind!r} cannot be hashed")
    number = ir.Constant(_algorithm(node["algo"]).value, ir.INDEX)
    return Calculation(number, tuple(data), with_payload)


def _is_direct(node: Node) -> bool:
    flag = node.get("is_direct")
    return flag is not None and flag.flag()


def _algorithm(node: Node) -> Algorithm:
    result = ALGORITHMS.get(node.text())
    if result is None:
        node.fail(f"hash {node.text()!r} is not supported; these are: {', '.join(sorted(ALGORITHMS))}")
    return result
