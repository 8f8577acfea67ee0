"""Where things live: types erased to scalars and headers, storage made for variables, values as trees.

A value or storage is, by type: a scalar or varbit `ir.Expr` (storage: `ir.Variable` or `ir.FieldRef`); a header
`ir.HeaderRef` or `HeaderParts`; a stack of headers `ir.HeaderStack`; a header union `UnionParts`; a stack of those
`UnionStack`; anything else `Parts`, ``bit<0>`` one without items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from emulator.p4 import ir
from emulator.p4.architecture import Architecture
from emulator.p4.check import type_system as t
from emulator.p4.check.reporting import Reporter
from emulator.p4.errors import Diagnostics, Kind
from emulator.p4.syntax.source import Tokens


@dataclass(slots=True)
class Parts:
    """A struct or tuple: one value for each part, and the parts' names (positions for tuples)."""

    names: dict[str, int]
    items: list[Any]

    def part(self, name: str) -> Any:
        return self.items[self.names[name]]


@dataclass(slots=True)
class UnionParts(Parts):
    """A header union: its members, headers of which at most one is valid (section 8.19)."""


@dataclass(slots=True)
class UnionStack(Parts):
    """A stack of header unions: ``items`` are its elements, each a `UnionParts`."""

    stacks: dict[str, ir.HeaderStack]
    """For each member of the union, a stack of all the elements' ones."""
    next_index: ir.Variable

    def element(self, index: ir.Expr) -> UnionParts:
        items = [ir.StackAt(stack, index) for stack in self.stacks.values()]
        return UnionParts({name: i for i, name in enumerate(self.stacks)}, items)


def union_stack(stacks: dict[str, ir.HeaderStack], next_index: ir.Variable) -> UnionStack:
    names = {name: i for i, name in enumerate(stacks)}
    size = min((stack.size for stack in stacks.values()), default=0)
    unions = [UnionParts(names, [stack.headers[i] for stack in stacks.values()]) for i in range(size)]
    return UnionStack({str(i): i for i in range(size)}, unions, stacks, next_index)


@dataclass(slots=True)
class HeaderParts:
    """A header that is only a value: its fields' values, in order; ``valid`` False for ``{#}``."""

    items: list[Any]
    valid: bool


Value: TypeAlias = Any
HEADER_REFS = (ir.Header, ir.StackAt, ir.StackNext, ir.StackLast)
AGGREGATES = (Parts, HeaderParts, ir.HeaderStack, *HEADER_REFS)


def leaves(value: Value) -> Iterator[ir.Expr]:
    """All scalars of a value, in order (a header's are its fields)."""
    if isinstance(value, Parts | HeaderParts):
        for item in value.items:
            yield from leaves(item)
    elif isinstance(value, ir.HeaderStack):
        for header in value.headers:
            yield from leaves(header)
    elif isinstance(value, HEADER_REFS):
        for field in value.type.fields:
            yield ir.FieldRef(value, field)
    else:
        yield value


def roots(value: Value) -> Iterator[str]:
    """Names of the variables, headers and stacks that a value is made of or read from."""
    if isinstance(value, Parts | HeaderParts):
        for item in value.items:
            yield from roots(item)
    elif isinstance(value, ir.Variable | ir.Header):
        yield value.name
    elif isinstance(value, ir.HeaderStack):
        for header in value.headers:
            yield header.name
    elif isinstance(value, ir.StackAt):
        yield from roots(value.stack)
        yield from roots(value.index)
    elif isinstance(value, ir.StackNext | ir.StackLast | ir.StackLastIndex):
        yield from roots(value.stack)
    elif isinstance(value, ir.FieldRef | ir.IsValid):
        yield from roots(value.header)
    else:
        for name in ("operand", "left", "right", "condition", "then", "otherwise"):
            inner = getattr(value, name, None)
            if inner is not None:
                yield from roots(inner)


def is_static(value: Value) -> bool:
    """Storage whose place does not depend on run-time values."""
    if isinstance(value, Parts):
        return all(map(is_static, value.items))
    if isinstance(value, ir.FieldRef):
        return isinstance(value.header, ir.Header)
    return isinstance(value, ir.Variable | ir.Header | ir.HeaderStack)


MAX_WRITTEN_OUT = 1 << 17
"""Statements, instances and variables: ten times what the all-reduce program takes at 1,024 lanes."""


class Storage(Reporter):
    """Makes variables and headers, and remembers them for the program."""

    def __init__(self, tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture) -> None:
        super().__init__(tokens, diagnostics)
        self.architecture = architecture
        self.headers: list[ir.Header] = []
        self.stacks: list[ir.HeaderStack] = []
        self.variables: list[ir.Variable] = []
        self.taken: set[str] = set()
        self._suffixes: dict[str, int] = {}
        self._header_types: dict[t.Type, ir.HeaderType] = {}
        self._scalars: dict[t.Type, ir.Type] = {}
        self._fields: dict[int, dict[str, ir.HeaderField]] = {}
        self._siblings: dict[str, tuple[ir.Header | ir.HeaderStack, ...]] = {}
        """By name of a header, or stack, that is a union's member: the union's other members."""
        self._union_next: dict[str, ir.Variable] = {}
        """By name of a stack that is a union stack's member: the union stack's next index."""
        self.at = 0
        """The token that errors without a better place are reported at."""
        self._spent = 0

    def spend(self, at: int) -> None:
        """Called for everything that is written out; refuses programs that double with each call or instance."""
        self._spent += 1
        if self._spent > MAX_WRITTEN_OUT:
            text = f"with its calls and instances written out this program has more than {MAX_WRITTEN_OUT} parts"
            self.fail(at, text, Kind.TARGET)

    def unique(self, name: str) -> str:
        """The name, with a number behind it when it is taken."""
        if name not in self.taken:
            self.taken.add(name)
            return name
        number = self._suffixes.get(name, 0)
        while True:
            number += 1
            candidate = f"{name}_{number}"
            if candidate not in self.taken:
                self._suffixes[name] = number
                self.taken.add(candidate)
                return candidate

    def scalar(self, type_: t.Type) -> ir.Type:
        """The erased type of a scalar."""
        found = self._scalars.get(type_)
        if found is None:
            base = t.unwrapped(type_)
            if isinstance(base, t.BitsType):
                found = ir.Bits(base.width, base.is_signed)
            elif isinstance(base, t.VarbitType):
                found = ir.VarBits(base.width)
            else:
                found = ir.BOOL if base is t.BOOL else ir.INDEX
            self._scalars[type_] = found
        return found

    def header_type(self, type_: t.StructLike) -> ir.HeaderType:
        """The erased type: structs inside the header become fields with dotted names."""
        found = self._header_types.get(type_)
        if found is None:
            fields: list[ir.HeaderField] = []
            self._header_fields(type_, "", fields)
            offset = fields[-1].offset_bits + fields[-1].width_bits if fields else 0
            at = type_.declaration.name_at if hasattr(type_.declaration, "name_at") else self.at
            if offset % 8:
                self.fail(at, f"header {type_} has {offset} bits: the target takes whole bytes only", Kind.TARGET)
            if sum(isinstance(f.type, ir.VarBits) for f in fields) > 1:
                self.fail(at, f"header {type_} has two varbit fields: the target takes one", Kind.TARGET)
            found = self._header_types[type_] = ir.HeaderType(str(type_), tuple(fields))
            self._fields[id(found)] = {f.name: f for f in fields}
        return found

    def _header_fields(self, type_: t.StructLike, prefix: str, fields: list[ir.HeaderField]) -> None:
        for field in type_.fields.values():
            self.at = field.at or self.at
            if isinstance(field.type, t.StructLike):
                self._header_fields(field.type, f"{prefix}{field.name}.", fields)
            elif not t.is_empty(field.type):
                offset = fields[-1].offset_bits + fields[-1].width_bits if fields else 0
                fields.append(ir.HeaderField(prefix + field.name, offset, self.scalar(field.type)))

    def header_part(self, header: ir.HeaderRef, name: str, type_: t.Type) -> Value:
        """The field of that (dotted) name and type: a place, or the parts of a struct inside the header."""
        if isinstance(type_, t.StructLike):
            names = {field: i for i, field in enumerate(type_.fields)}
            parts = [self.header_part(header, f"{name}.{f.name}", f.type) for f in type_.fields.values()]
            return Parts(names, parts)
        if t.is_empty(type_):
            return Parts({}, [])
        return ir.FieldRef(header, self._fields[id(header.type)][name])

    # --- fresh storage -------------------------------------------------------------------------------------------

    def allocate(self, name: str, type_: t.Type) -> Value:  # noqa: RET503
        """Fresh storage of that type; structs become one variable for each scalar, under dotted names."""
        self.spend(self.at)
        if t.is_scalar(type_) or (isinstance(type_, t.VarbitType) and type_.width):
            return self.variable(name, self.scalar(type_))
        if t.is_empty(type_):
            return Parts({}, [])
        if isinstance(type_, t.StructLike):
            name = self.unique(name)
            if type_.kind == "header":
                header = ir.Header(name, self.header_type(type_))
                self.headers.append(header)
                return header
            names = {field: i for i, field in enumerate(type_.fields)}
            items = [self.allocate(f"{name}.{f.name}", f.type) for f in type_.fields.values()]
            return Parts(names, items) if type_.kind == "struct" else self._union(names, items)
        if isinstance(type_, t.TupleType):
            name = self.unique(name)
            items = [self.allocate(f"{name}.{i}", item) for i, item in enumerate(type_.items)]
            return Parts({str(i): i for i in range(len(items))}, items)
        if isinstance(type_, t.StackType) and isinstance(type_.element, t.StructLike):
            return self._stack(self.unique(name), type_.element, type_.size)
        self.unsupported(self.at, f"a variable of type {type_}")

    def variable(self, name: str, type_: ir.Type) -> ir.Variable:
        variable = ir.Variable(self.unique(name), type_)
        self.variables.append(variable)
        return variable

    def _union(self, names: dict[str, int], members: list[ir.Header]) -> UnionParts:
        for i, member in enumerate(members):
            self._siblings[member.name] = (*members[:i], *members[i + 1 :])
        return UnionParts(names, members)

    def _stack(self, name: str, element: t.StructLike, size: int) -> ir.HeaderStack | UnionStack:
        if element.kind == "header":
            stack = ir.HeaderStack(name, self.header_type(element), size)
            self.stacks.append(stack)
            self.headers.extend(stack.headers)
            return stack
        stacks: dict[str, ir.HeaderStack] = {}
        for field in element.fields.values():
            assert isinstance(field.type, t.StructLike)
            made = self._stack(self.unique(f"{name}.{field.name}"), field.type, size)
            assert isinstance(made, ir.HeaderStack)
            stacks[field.name] = made
        next_index = self.variable(f"{name}.$next", ir.INDEX)
        members = list(stacks.values())
        for i, member in enumerate(members):
            self._siblings[member.name] = (*members[:i], *members[i + 1 :])
            self._union_next[member.name] = next_index
        made_stack = union_stack(stacks, next_index)
        for union in made_stack.items:
            self._union(union.names, union.items)
        return made_stack

    # --- unions --------------------------------------------------------------------------------------------------

    def siblings(self, header: ir.HeaderRef) -> list[ir.HeaderRef]:
        """The other members of the union that the header belongs to; none for a header of its own."""
        if isinstance(header, ir.Header):
            return [s for s in self._siblings.get(header.name, ()) if isinstance(s, ir.Header)]
        if isinstance(header, ir.StackAt):
            others = self._siblings.get(header.stack.name, ())
            return [ir.StackAt(s, header.index) for s in others if isinstance(s, ir.HeaderStack)]
        return []

    def after_extract(self, header: ir.HeaderRef, span: ir.Span | None) -> Iterator[ir.Statement]:
        """What an extract into a union's member entails: the others become invalid, ``next`` of a stack moves on."""
        for sibling in self.siblings(header):
            yield ir.SetValidity(sibling, False, span)
        if isinstance(header, ir.StackAt):
            following = self._union_next.get(header.stack.name)
            if following is not None and header.index == following:
                one = ir.Constant(1, ir.INDEX)
                yield ir.Assign(following, ir.Binary(ir.BinaryOp.ADD, following, one, ir.INDEX), span)

    # --- constants -----------------------------------------------------------------------------------------------

    def constant(self, value: int | bool, type_: t.Type) -> Value:
        """A number of the type; an ``int`` gets as many bits as it needs, until a cast gives it a width."""
        base = t.unwrapped(type_)
        if base is t.INT:
            return ir.Constant(int(value), ir.Bits(int(value).bit_length() + 1, True))
        return Parts({}, []) if t.is_empty(base) else ir.Constant(int(value), self.scalar(type_))
