"""Where things live: types erased to scalars and headers, storage made for variables, values as trees.

A value or storage is, by type: a scalar `ir.Expr` (storage: `ir.Variable` or `ir.FieldRef`); a header `ir.HeaderRef`
or `HeaderParts`; a stack `ir.HeaderStack`; anything else `Parts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from emulator.p4 import ir
from emulator.p4 import types as t
from emulator.p4.architecture import Architecture
from emulator.p4.errors import Diagnostics, Kind
from emulator.p4.reporting import Reporter
from emulator.p4.source import Tokens


@dataclass(slots=True)
class Parts:
    """A struct or tuple: one value for each part, and the parts' names (positions for tuples)."""

    names: dict[str, int]
    items: list[Any]

    def part(self, name: str) -> Any:
        return self.items[self.names[name]]


@dataclass(slots=True)
class HeaderParts:
    """A header that is only a value: its fields' values; ``valid`` False for ``{#}``."""

    items: list[ir.Expr]
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
        self.at = 0
        """The token that errors without a better place are reported at."""

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
                if base.width == 0:
                    self.fail(self.at, "bit<0> is not supported yet", Kind.UNSUPPORTED)
                found = ir.Bits(base.width, base.is_signed)
            else:
                found = ir.BOOL if base is t.BOOL else ir.INDEX
            self._scalars[type_] = found
        return found

    def header_type(self, type_: t.StructLike) -> ir.HeaderType:
        found = self._header_types.get(type_)
        if found is None:
            fields, offset = [], 0
            for field in type_.fields.values():
                self.at = field.at
                scalar = self.scalar(field.type)
                fields.append(ir.HeaderField(field.name, offset, scalar))
                offset += fields[-1].width_bits
            if offset % 8:
                at = type_.declaration.name_at if hasattr(type_.declaration, "name_at") else self.at
                self.fail(at, f"header {type_} has {offset} bits: the target takes whole bytes only", Kind.TARGET)
            found = self._header_types[type_] = ir.HeaderType(str(type_), tuple(fields))
            self._fields[id(found)] = {f.name: f for f in fields}
        return found

    def field(self, header: ir.HeaderRef, name: str) -> ir.FieldRef:
        return ir.FieldRef(header, self._fields[id(header.type)][name])

    def allocate(self, name: str, type_: t.Type) -> Value:  # noqa: RET503
        """Fresh storage of that type; structs become one variable for each scalar, under dotted names."""
        if t.is_scalar(type_):
            variable = ir.Variable(self.unique(name), self.scalar(type_))
            self.variables.append(variable)
            return variable
        if isinstance(type_, t.StructLike) and type_.kind == "struct":
            name = self.unique(name)
            names = {field: i for i, field in enumerate(type_.fields)}
            return Parts(names, [self.allocate(f"{name}.{f.name}", f.type) for f in type_.fields.values()])
        if isinstance(type_, t.TupleType):
            name = self.unique(name)
            items = [self.allocate(f"{name}.{i}", item) for i, item in enumerate(type_.items)]
            return Parts({str(i): i for i in range(len(items))}, items)
        element = type_.element if isinstance(type_, t.StackType) else None
        if isinstance(type_, t.StackType) and isinstance(element, t.StructLike) and element.kind == "header":
            stack = ir.HeaderStack(self.unique(name), self.header_type(element), type_.size)
            self.stacks.append(stack)
            self.headers.extend(stack.headers)
            return stack
        if isinstance(type_, t.StructLike) and type_.kind == "header":
            header = ir.Header(self.unique(name), self.header_type(type_))
            self.headers.append(header)
            return header
        self.unsupported(self.at, f"a variable of type {type_}")

    def constant(self, value: int | bool, type_: t.Type) -> ir.Constant:
        return ir.Constant(int(value), self.scalar(type_))
