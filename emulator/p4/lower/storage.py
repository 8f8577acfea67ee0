"""Fresh storage for variables of every type, and which headers are members of header unions."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.p4 import ir
from emulator.p4.check import type_system as t
from emulator.p4.check.reporting import unsupported
from emulator.p4.lower import erasure
from emulator.p4.lower.context import Context
from emulator.p4.lower.shapes import Parts, UnionParts, UnionStack, Value, union_stack


def allocate(cx: Context, name: str, type_: t.Type) -> Value:  # noqa: RET503
    """Fresh storage of that type; structs become one variable for each scalar, under dotted names."""
    cx.spend(cx.at)
    if t.is_scalar(type_) or (isinstance(type_, t.VarbitType) and type_.width):
        return variable(cx, name, erasure.scalar(cx, type_))
    if t.is_empty(type_):
        return Parts({}, [])
    if isinstance(type_, t.StructLike):
        name = cx.names.unique(name)
        if type_.kind == "header":
            header = ir.Header(name, erasure.header_type(cx, type_))
            cx.made.headers.append(header)
            return header
        names = {field: i for i, field in enumerate(type_.fields)}
        items = [allocate(cx, f"{name}.{f.name}", f.type) for f in type_.fields.values()]
        return Parts(names, items) if type_.kind == "struct" else _union(cx, names, items)
    if isinstance(type_, t.TupleType):
        name = cx.names.unique(name)
        items = [allocate(cx, f"{name}.{i}", item) for i, item in enumerate(type_.items)]
        return Parts({str(i): i for i in range(len(items))}, items)
    if isinstance(type_, t.StackType) and isinstance(type_.element, t.StructLike):
        return _stack(cx, cx.names.unique(name), type_.element, type_.size)
    unsupported(cx, cx.at, f"a variable of type {type_}")


def variable(cx: Context, name: str, type_: ir.Type) -> ir.Variable:
    variable = ir.Variable(cx.names.unique(name), type_)
    cx.made.variables.append(variable)
    return variable


def temporary(cx: Context, type_: ir.Type) -> ir.Variable:
    return variable(cx, f"{cx.path}.tmp", type_)


def _union(cx: Context, names: dict[str, int], members: list[ir.Header]) -> UnionParts:
    for i, member in enumerate(members):
        cx.unions.siblings[member.name] = (*members[:i], *members[i + 1 :])
    return UnionParts(names, members)


def _stack(cx: Context, name: str, element: t.StructLike, size: int) -> ir.HeaderStack | UnionStack:
    if element.kind == "header":
        stack = ir.HeaderStack(name, erasure.header_type(cx, element), size)
        cx.made.stacks.append(stack)
        cx.made.headers.extend(stack.headers)
        return stack
    stacks: dict[str, ir.HeaderStack] = {}
    for field in element.fields.values():
        assert isinstance(field.type, t.StructLike)
        made = _stack(cx, cx.names.unique(f"{name}.{field.name}"), field.type, size)
        assert isinstance(made, ir.HeaderStack)
        stacks[field.name] = made
    next_index = variable(cx, f"{name}.$next", ir.INDEX)
    members = list(stacks.values())
    for i, member in enumerate(members):
        cx.unions.siblings[member.name] = (*members[:i], *members[i + 1 :])
        cx.unions.next_index[member.name] = next_index
    made_stack = union_stack(stacks, next_index)
    for union in made_stack.items:
        _union(cx, union.names, union.items)
    return made_stack


def siblings(cx: Context, header: ir.HeaderRef) -> list[ir.HeaderRef]:
    """The other members of the union that the header belongs to; none for a header outside unions."""
    if isinstance(header, ir.Header):
        return [s for s in cx.unions.siblings.get(header.name, ()) if isinstance(s, ir.Header)]
    if isinstance(header, ir.StackAt):
        others = cx.unions.siblings.get(header.stack.name, ())
        return [ir.StackAt(s, header.index) for s in others if isinstance(s, ir.HeaderStack)]
    return []


def after_extract(cx: Context, header: ir.HeaderRef, span: ir.Span | None) -> Iterator[ir.Statement]:
    """What an extract into a union's member entails: the others become invalid, ``next`` of a stack moves on."""
    for sibling in siblings(cx, header):
        yield ir.SetValidity(sibling, False, span)
    if isinstance(header, ir.StackAt):
        following = cx.unions.next_index.get(header.stack.name)
        if following is not None and header.index == following:
            one = ir.Constant(1, ir.INDEX)
            yield ir.Assign(following, ir.Binary(ir.BinaryOp.ADD, following, one, ir.INDEX), span)
