"""Values of whole types: default values, how a value is stored, and operations on headers and stacks."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.check import type_system as t
from emulator.p4.lower import erasure, storage
from emulator.p4.lower.context import Context
from emulator.p4.lower.shapes import HEADER_REFS, HeaderParts, Parts, UnionParts, UnionStack, Value, leaves


def default(cx: Context, type_: t.Type) -> Value:
    """The default value of section 7.3; for headers and unions ``{#}``."""
    if isinstance(type_, t.StructLike):
        items = [default(cx, f.type) for f in type_.fields.values()]
        if type_.kind == "header":
            return HeaderParts(items, False)
        names = {name: i for i, name in enumerate(type_.fields)}
        return Parts(names, items) if type_.kind == "struct" else UnionParts(names, items)
    if isinstance(type_, t.TupleType | t.StackType):
        kinds = type_.items if isinstance(type_, t.TupleType) else (type_.element,) * type_.size
        return Parts({str(i): i for i in range(len(kinds))}, [default(cx, kind) for kind in kinds])
    if isinstance(type_, t.VarbitType) and type_.width:
        return _empty_varbit(cx, type_)
    return erasure.constant(cx, 0, type_)


def _empty_varbit(cx: Context, type_: t.VarbitType) -> ir.Variable:
    """A varbit without bits has no literal: it is read from a variable that nothing writes."""
    result = cx.erased.empty_varbits.get(type_)
    if result is None:
        result = cx.erased.empty_varbits[type_] = storage.variable(
            cx, f"$empty{type_.width}", erasure.scalar(cx, type_)
        )
    return result


def store(cx: Context, target: Value, value: Value, span: ir.Span | None = None) -> None:
    """``target = value`` for storage and a value of the same shape; the caller has dealt with overlaps."""
    if isinstance(target, Parts):
        for part, item in zip(target.items, value.items, strict=True):
            if isinstance(target, UnionParts):  # of the value's members one is valid at most
                _store_header(cx, part, item, span)
            else:
                store(cx, part, item, span)
        if isinstance(target, UnionStack) and isinstance(value, UnionStack):
            cx.out.append(ir.Assign(target.next_index, value.next_index, span))
    elif isinstance(target, ir.HeaderStack):
        items = value.headers if isinstance(value, ir.HeaderStack) else value.items
        for header, item in zip(target.headers, items, strict=True):
            store(cx, header, item, span)
        if isinstance(value, ir.HeaderStack) and cx.states.out is not None:
            cx.out.append(ir.CopyNext(target, value, span))
    elif isinstance(target, HEADER_REFS):
        _store_header(cx, target, value, span)
        _store_siblings(cx, target, value, span)
    else:
        cx.out.append(ir.Assign(target, value, span))


def _store_header(cx: Context, target: ir.HeaderRef, value: Value, span: ir.Span | None) -> None:
    if not isinstance(value, HeaderParts):
        cx.out.append(ir.CopyHeader(target, value, span))
        return
    cx.out.append(ir.SetValidity(target, value.valid, span))
    if value.valid:
        for field, item in zip(target.type.fields, leaves(value), strict=True):
            cx.out.append(ir.Assign(ir.FieldRef(target, field), item, span))


def _store_siblings(cx: Context, target: ir.HeaderRef, value: Value, span: ir.Span | None) -> None:
    """A union's member that is valid now makes the other members invalid (section 8.19)."""
    others = tuple(ir.SetValidity(sibling, False, span) for sibling in storage.siblings(cx, target))
    if isinstance(value, HeaderParts):
        cx.out.extend(others if value.valid else ())
    elif others:
        cx.out.append(ir.If(ir.IsValid(target), others, (), span))


def invalidate(cx: Context, storage: Value, span: ir.Span | None = None) -> None:
    """Header locals and out parameters start invalid."""
    if isinstance(storage, Parts):
        for item in storage.items:
            invalidate(cx, item, span)
        if isinstance(storage, UnionStack):
            cx.out.append(ir.Assign(storage.next_index, ir.Constant(0, ir.INDEX), span))
    elif isinstance(storage, ir.HeaderStack):
        for header in storage.headers:
            cx.out.append(ir.SetValidity(header, False, span))
    elif isinstance(storage, HEADER_REFS):
        cx.out.append(ir.SetValidity(storage, False, span))


def shift_stack(cx: Context, stack: Value, count: int, span: ir.Span) -> None:
    """``push_front(count)``; ``pop_front(-count)``. ``next`` of a stack of unions moves along, too."""
    node = ir.PushFront if count > 0 else ir.PopFront
    if not isinstance(stack, UnionStack):
        cx.out.append(node(stack, abs(count), span))
        return
    cx.out.extend(node(member, abs(count), span) for member in stack.stacks.values())
    next_index, size = stack.next_index, len(stack.items)
    bound = ir.Constant(max(size - count, 0) if count > 0 else -count, ir.INDEX)
    op, limit = (ir.BinaryOp.GT, size) if count > 0 else (ir.BinaryOp.LT, 0)
    moved = ir.Binary(ir.BinaryOp.ADD, next_index, ir.Constant(count % (1 << 32), ir.INDEX), ir.INDEX)
    is_beyond = ir.Binary(op, next_index, bound, ir.BOOL)
    clamped = ir.Mux(is_beyond, ir.Constant(limit, ir.INDEX), moved, ir.INDEX)
    cx.out.append(ir.Assign(next_index, clamped, span))


def set_validity(cx: Context, header: ir.HeaderRef, valid: bool, span: ir.Span) -> None:
    """``setValid()`` or ``setInvalid()``."""
    cx.out.append(ir.SetValidity(header, valid, span))
    if valid:
        cx.out.extend(ir.SetValidity(sibling, False, span) for sibling in storage.siblings(cx, header))
