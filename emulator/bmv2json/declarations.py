"""Reads a document's header types, headers, stacks, unions and aliases into a `Storage`."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from emulator.bmv2json.document import Node
from emulator.bmv2json.storage import (
    EMPTY,
    MAX_FIELD_BITS,
    MAX_HEADERS,
    MAX_STACK,
    SYSTEM,
    VALID,
    Storage,
    Union,
    UnionStack,
)
from emulator.p4 import ir
from emulator.v1model.metadata import PREFIX, WIDTHS_BITS


@dataclass(slots=True)
class _Raw:
    """A header instance as declared, before its stack or union is known."""

    name: str
    type: ir.HeaderType
    node: Node


@dataclass(slots=True)
class _Declarations:
    """What has been read so far."""

    document: Node
    storage: Storage = field(default_factory=Storage)
    types: dict[str, ir.HeaderType] = field(default_factory=dict)
    empty: dict[str, set[str]] = field(default_factory=dict)
    """Fields of no bits, by header type."""
    names: set[str] = field(default_factory=set)
    by_id: dict[int, _Raw] = field(default_factory=dict)
    final: dict[str, str] = field(default_factory=dict)
    """Names in the IR of parts of stacks and unions, by those in the document."""
    stacked: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Stack and position of a union, by its id."""
    union_members: dict[int, tuple[str, ...]] = field(default_factory=dict)


def read_storage(document: Node) -> Storage:
    """All storage that the document declares. Raises Bmv2JsonError."""
    cx = _Declarations(document)
    for node in cx.document.list("header_types"):
        _type(cx, node)
    for node in cx.document.list("headers"):
        _header(cx, node)
    if len(cx.by_id) > MAX_HEADERS:
        cx.document["headers"].fail(f"more than {MAX_HEADERS} headers are not supported")
    _stacks(cx)
    _unions(cx)
    for raw in cx.by_id.values():
        cx.storage.headers[raw.name] = ir.Header(cx.final.get(raw.name, raw.name), raw.type)
    _finish_unions(cx)
    _aliases(cx)
    names = [header.name for header in cx.storage.headers.values()]
    if len(set(names)) != len(names):
        cx.document["headers"].fail("two headers have the same name")
    return cx.storage


# --- types and instances -----------------------------------------------------------------------------------------


def _type(cx: _Declarations, node: Node) -> None:
    name = _new(node["name"], cx.types, "header type")
    fields: list[ir.HeaderField] = []
    cx.empty[name] = set()
    offset = 0
    if node.get("length_exp") is not None:
        node["length_exp"].fail("a length expression is not supported; p4c gives the width at the extraction")
    for item in node.list("fields"):
        field_name, type_ = _field(cx, item, node, offset)
        if field_name in cx.storage.field_order.get(name, ()) or field_name == VALID:
            item.fail(f"there is a field {field_name!r} already")
        if isinstance(type_, ir.VarBits) and any(isinstance(f.type, ir.VarBits) for f in fields):
            item.fail("a second field of variable width")
        cx.storage.field_order.setdefault(name, []).append(field_name)
        if type_ == EMPTY:
            cx.empty[name].add(field_name)
            continue
        fields.append(ir.HeaderField(field_name, offset, type_))
        offset += ir.width_of(type_)
        if offset > 8 * MAX_FIELD_BITS:
            item.fail(f"a header of more than {8 * MAX_FIELD_BITS} bits is not supported")
    cx.types[name] = ir.HeaderType(name, tuple(fields))


def _field(cx: _Declarations, item: Node, header_type: Node, offset: int) -> tuple[str, ir.Type]:
    parts = item.items()
    if len(parts) not in (2, 3):
        item.fail("must be [name, bits] or [name, bits, signed]")
    name = parts[0].name()
    if parts[1].value == "*":
        fixed = sum(n for n in (_width(f) for f in header_type.list("fields")) if n)
        longest = header_type["max_length"].number(1, MAX_FIELD_BITS // 8) * 8 - fixed
        if longest <= 0:
            header_type["max_length"].fail("leaves no bits for the field of variable width")
        return name, ir.VarBits(longest)
    signed = len(parts) == 3 and parts[2].value is not None and parts[2].flag()
    width = parts[1].number(0, MAX_FIELD_BITS)
    return name, ir.Bits(width, signed) if width else EMPTY


def _header(cx: _Declarations, node: Node) -> None:
    name = _new(node["name"], cx.names, "header")
    cx.names.add(name)
    type_name = node["header_type"]
    if type_name.text() not in cx.types:
        type_name.fail(f"header type {type_name.text()!r} is not declared")
    type_ = cx.types[type_name.text()]
    metadata = node.get("metadata")
    if metadata is not None and metadata.flag():
        cx.storage.metadata[name] = {f.name: f.type for f in type_.fields}
        cx.storage.metadata[name].update(dict.fromkeys(cx.empty[type_.name], EMPTY))
        return
    varbit = type_.varbit
    if type_.length_bits % 8 and not (varbit is not None and len(type_.fields) == 1):
        node.fail(f"header type {type_.name} has {type_.length_bits} bits: a header must be whole bytes")
    number = node["id"].number()
    if number in cx.by_id:
        node["id"].fail(f"is also the id of header {cx.by_id[number].name}")
    cx.by_id[number] = _Raw(name, type_, node)


def _part(cx: _Declarations, node: Node, final_name: str) -> ir.HeaderType:
    """A header that is part of something, by its id."""
    raw = cx.by_id.get(node.number())
    if raw is None:
        node.fail(f"there is no header with id {node.value}")
    if raw.name in cx.final:
        node.fail(f"header {raw.name} is part of {cx.final[raw.name]} already")
    cx.final[raw.name] = final_name
    return raw.type


# --- stacks and unions -------------------------------------------------------------------------------------------


def _stacks(cx: _Declarations) -> None:
    for node in cx.document.list("header_stacks"):
        name = _new(node["name"], cx.storage.stacks, "header stack")
        ids = node["header_ids"].items()
        size = _size(node, len(ids))
        if len(ids) != size:
            node["header_ids"].fail(f"has {len(ids)} headers, the stack {size}")
        types = {_part(cx, each, f"{name}[{i}]") for i, each in enumerate(ids)}
        if len(types) != 1:
            node["header_ids"].fail("the headers of a stack must be of one type")
        cx.storage.stacks[name] = _stack(cx, name, types.pop(), size)


def _stack(cx: _Declarations, name: str, element: ir.HeaderType, size: int) -> ir.HeaderStack:
    stack = ir.HeaderStack(name, element, size)
    cx.storage.all_stacks.append(stack)
    return stack


def _unions(cx: _Declarations) -> None:
    """Names of all parts first: whether a union is alone or in a stack decides what its members are called."""
    for node in cx.document.list("header_union_stacks"):
        name = _new(node["name"], cx.storage.stacks, "stack of header unions")
        for i, each in enumerate(node["header_union_ids"].items()):
            if each.number() in cx.stacked:
                each.fail("this union is in two stacks")
            cx.stacked[each.number()] = (name, i)
    for node in cx.document.list("header_unions"):
        number, name = node["id"].number(), node["name"].name()
        if number in cx.union_members:
            node["id"].fail("is the id of another union, too")
        members = _member_names(cx, node)
        ids = node["header_ids"].items()
        if len(ids) != len(members):
            node["header_ids"].fail(f"has {len(ids)} headers, the union type {len(members)}")
        stack = cx.stacked.get(number)
        for member, each in zip(members, ids, strict=True):
            _part(cx, each, f"{name}.{member}" if stack is None else f"{stack[0]}.{member}[{stack[1]}]")
        cx.union_members[number] = members


def _member_names(cx: _Declarations, union: Node) -> tuple[str, ...]:
    name = union["union_type"].text()
    for node in cx.document.list("header_union_types"):
        if node["name"].text() == name:
            return tuple(pair.exactly(2, "member, header type")[0].name() for pair in node["headers"].items())
    return union["union_type"].fail(f"union type {name!r} is not declared")


def _finish_unions(cx: _Declarations) -> None:
    storage, unions = cx.storage, {}
    for node in cx.document.list("header_unions"):
        headers = [storage.headers[cx.by_id[each.number()].name] for each in node["header_ids"].items()]
        members = cx.union_members[node["id"].number()]
        union = Union(node["name"].text(), tuple(zip(members, headers, strict=True)))
        unions[node["id"].number()] = storage.unions[union.name] = union
        storage.relate(headers)
    for node in cx.document.list("header_union_stacks"):
        _union_stack(cx, node, unions)


def _union_stack(cx: _Declarations, node: Node, unions: dict[int, Union]) -> None:
    name, elements = node["name"].text(), []
    for each in node["header_union_ids"].items():
        if each.number() not in unions:
            each.fail(f"there is no header union with id {each.value}")
        elements.append(unions[each.number()])
    size = _size(node, len(elements))
    if len(elements) != size or len({tuple((m, h.type) for m, h in u.members) for u in elements}) != 1:
        node["header_union_ids"].fail(f"must name {size} unions of one type")
    stacks = [(m, _stack(cx, f"{name}.{m}", h.type, size)) for m, h in elements[0].members]
    cx.storage.relate(stack for _, stack in stacks)
    next_index = cx.storage.variable(f"{name}.$next", ir.INDEX)
    cx.storage.union_stacks[name] = UnionStack(name, size, tuple(stacks), next_index)


# --- what simple_switch knows ------------------------------------------------------------------------------------


def _aliases(cx: _Declarations) -> None:
    storage = cx.storage
    if "standard_metadata" not in storage.metadata:
        cx.document["headers"].fail("there is no standard_metadata: this program is not for simple_switch")
    for node in cx.document.list("field_aliases"):
        alias, target = node.exactly(2, "alias, [header, field]")
        instance, name = (part.text() for part in target.exactly(2, "header, field"))
        known = alias.text().partition(".")[2]
        if alias.text().partition(".")[0] in SYSTEM and known in WIDTHS_BITS:
            storage.aliases[instance, name] = known
    for instance in SYSTEM:
        for name in storage.metadata.get(instance, ()):
            if name in WIDTHS_BITS:
                storage.aliases.setdefault((instance, name), name)
    for needed in ("ingress_port", "packet_length", "instance_type", "egress_spec", "egress_port"):
        if needed not in storage.aliases.values():
            cx.document["headers"].fail(f"simple_switch needs a field {PREFIX}{needed}")


def _width(item: Node) -> int:
    parts = item.items()
    return parts[1].number(0, MAX_FIELD_BITS) if len(parts) > 1 and parts[1].value != "*" else 0


def _size(stack: Node, elements: int) -> int:
    """Size of a stack; bmv2 takes documents without it."""
    size = stack.get("size")
    return size.number(1, MAX_STACK) if size is not None else elements


def _new(node: Node, taken: Container[str], what: str) -> str:
    name = node.name()
    if name in taken:
        node.fail(f"there is a {what} {name!r} already")
    return name
