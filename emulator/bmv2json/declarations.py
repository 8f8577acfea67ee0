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
class _Reader:
    document: Node
    storage: Storage = field(default_factory=Storage)
    types: dict[str, ir.HeaderType] = field(default_factory=dict)
    empty: dict[str, set[str]] = field(default_factory=dict)
    """The fields of no bits, by the header type."""
    names: set[str] = field(default_factory=set)
    by_id: dict[int, _Raw] = field(default_factory=dict)
    final: dict[str, str] = field(default_factory=dict)
    """Name in the document -> name in the IR, for parts of stacks and unions."""
    stacked: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Id of a union -> the stack that it is in, and where."""
    union_members: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def read(self) -> Storage:
        for node in self.document.list("header_types"):
            self._type(node)
        for node in self.document.list("headers"):
            self._header(node)
        if len(self.by_id) > MAX_HEADERS:
            self.document["headers"].fail(f"more than {MAX_HEADERS} headers are not supported")
        self._stacks()
        self._unions()
        for raw in self.by_id.values():
            self.storage.headers[raw.name] = ir.Header(self.final.get(raw.name, raw.name), raw.type)
        self._finish_unions()
        self._aliases()
        names = [header.name for header in self.storage.headers.values()]
        if len(set(names)) != len(names):
            self.document["headers"].fail("two headers have the same name")
        return self.storage

    # --- types and instances -----------------------------------------------------------------------------------------

    def _type(self, node: Node) -> None:
        name = _new(node["name"], self.types, "header type")
        fields: list[ir.HeaderField] = []
        self.empty[name] = set()
        offset = 0
        if node.get("length_exp") is not None:
            node["length_exp"].fail("a length expression is not supported; p4c gives the width at the extraction")
        for item in node.list("fields"):
            field_name, type_ = self._field(item, node, offset)
            if field_name in self.storage.field_order.get(name, ()) or field_name == VALID:
                item.fail(f"there is a field {field_name!r} already")
            if isinstance(type_, ir.VarBits) and any(isinstance(f.type, ir.VarBits) for f in fields):
                item.fail("a second field of variable width")
            self.storage.field_order.setdefault(name, []).append(field_name)
            if type_ == EMPTY:
                self.empty[name].add(field_name)
                continue
            fields.append(ir.HeaderField(field_name, offset, type_))
            offset += ir.width_of(type_)
            if offset > 8 * MAX_FIELD_BITS:
                item.fail(f"a header of more than {8 * MAX_FIELD_BITS} bits is not supported")
        self.types[name] = ir.HeaderType(name, tuple(fields))

    def _field(self, item: Node, header_type: Node, offset: int) -> tuple[str, ir.Type]:
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

    def _header(self, node: Node) -> None:
        name = _new(node["name"], self.names, "header")
        self.names.add(name)
        type_name = node["header_type"]
        if type_name.text() not in self.types:
            type_name.fail(f"header type {type_name.text()!r} is not declared")
        type_ = self.types[type_name.text()]
        metadata = node.get("metadata")
        if metadata is not None and metadata.flag():
            self.storage.metadata[name] = {f.name: f.type for f in type_.fields}
            self.storage.metadata[name].update(dict.fromkeys(self.empty[type_.name], EMPTY))
            return
        varbit = type_.varbit
        if type_.length_bits % 8 and not (varbit is not None and len(type_.fields) == 1):
            node.fail(f"header type {type_.name} has {type_.length_bits} bits: a header must be whole bytes")
        number = node["id"].number()
        if number in self.by_id:
            node["id"].fail(f"is also the id of header {self.by_id[number].name}")
        self.by_id[number] = _Raw(name, type_, node)

    def _part(self, node: Node, final_name: str) -> ir.HeaderType:
        """A header that is part of something, by its id."""
        raw = self.by_id.get(node.number())
        if raw is None:
            node.fail(f"there is no header with id {node.value}")
        if raw.name in self.final:
            node.fail(f"header {raw.name} is part of {self.final[raw.name]} already")
        self.final[raw.name] = final_name
        return raw.type

    # --- stacks and unions -------------------------------------------------------------------------------------------

    def _stacks(self) -> None:
        for node in self.document.list("header_stacks"):
            name = _new(node["name"], self.storage.stacks, "header stack")
            ids = node["header_ids"].items()
            size = _size(node, len(ids))
            if len(ids) != size:
                node["header_ids"].fail(f"has {len(ids)} headers, the stack {size}")
            types = {self._part(each, f"{name}[{i}]") for i, each in enumerate(ids)}
            if len(types) != 1:
                node["header_ids"].fail("the headers of a stack must be of one type")
            self.storage.stacks[name] = self._stack(name, types.pop(), size)

    def _stack(self, name: str, element: ir.HeaderType, size: int) -> ir.HeaderStack:
        stack = ir.HeaderStack(name, element, size)
        self.storage.all_stacks.append(stack)
        return stack

    def _unions(self) -> None:
        """Names of all parts first: whether a union is alone or in a stack decides what its members are called."""
        for node in self.document.list("header_union_stacks"):
            name = _new(node["name"], self.storage.stacks, "stack of header unions")
            for i, each in enumerate(node["header_union_ids"].items()):
                if each.number() in self.stacked:
                    each.fail("this union is in two stacks")
                self.stacked[each.number()] = (name, i)
        for node in self.document.list("header_unions"):
            number, name = node["id"].number(), node["name"].name()
            if number in self.union_members:
                node["id"].fail("is the id of another union, too")
            members = self._member_names(node)
            ids = node["header_ids"].items()
            if len(ids) != len(members):
                node["header_ids"].fail(f"has {len(ids)} headers, the union type {len(members)}")
            stack = self.stacked.get(number)
            for member, each in zip(members, ids, strict=True):
                self._part(each, f"{name}.{member}" if stack is None else f"{stack[0]}.{member}[{stack[1]}]")
            self.union_members[number] = members

    def _member_names(self, union: Node) -> tuple[str, ...]:
        name = union["union_type"].text()
        for node in self.document.list("header_union_types"):
            if node["name"].text() == name:
                return tuple(pair.exactly(2, "member, header type")[0].name() for pair in node["headers"].items())
        return union["union_type"].fail(f"union type {name!r} is not declared")

    def _finish_unions(self) -> None:
        storage, unions = self.storage, {}
        for node in self.document.list("header_unions"):
            headers = [storage.headers[self.by_id[each.number()].name] for each in node["header_ids"].items()]
            members = self.union_members[node["id"].number()]
            union = Union(node["name"].text(), tuple(zip(members, headers, strict=True)))
            unions[node["id"].number()] = storage.unions[union.name] = union
            storage.relate(headers)
        for node in self.document.list("header_union_stacks"):
            self._union_stack(node, unions)

    def _union_stack(self, node: Node, unions: dict[int, Union]) -> None:
        name, elements = node["name"].text(), []
        for each in node["header_union_ids"].items():
            if each.number() not in unions:
                each.fail(f"there is no header union with id {each.value}")
            elements.append(unions[each.number()])
        size = _size(node, len(elements))
        if len(elements) != size or len({tuple((m, h.type) for m, h in u.members) for u in elements}) != 1:
            node["header_union_ids"].fail(f"must name {size} unions of one type")
        stacks = [(m, self._stack(f"{name}.{m}", h.type, size)) for m, h in elements[0].members]
        self.storage.relate(stack for _, stack in stacks)
        next_index = self.storage.variable(f"{name}.$next", ir.INDEX)
        self.storage.union_stacks[name] = UnionStack(name, size, tuple(stacks), next_index)

    # --- what simple_switch knows ------------------------------------------------------------------------------------

    def _aliases(self) -> None:
        storage = self.storage
        if "standard_metadata" not in storage.metadata:
            self.document["headers"].fail("there is no standard_metadata: this is no program for simple_switch")
        for node in self.document.list("field_aliases"):
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
                self.document["headers"].fail(f"simple_switch needs a field {PREFIX}{needed}")


def read_storage(document: Node) -> Storage:
    """All storage that the document declares. Raises Bmv2JsonError."""
    return _Reader(document).read()


def _width(item: Node) -> int:
    parts = item.items()
    return parts[1].number(0, MAX_FIELD_BITS) if len(parts) > 1 and parts[1].value != "*" else 0


def _size(stack: Node, elements: int) -> int:
    """Of a stack; bmv2 takes documents without it."""
    size = stack.get("size")
    return size.number(1, MAX_STACK) if size is not None else elements


def _new(node: Node, taken: Container[str], what: str) -> str:
    name = node.name()
    if name in taken:
        node.fail(f"there is a {what} {name!r} already")
    return name
