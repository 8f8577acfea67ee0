"""Values in the making: what is evaluated when, what is saved before it changes, and how values are stored.

What has side effects is hoisted into ``self.out``, left to right (section 6.7): where a later operand hoists something
that changes what an operand before it reads, that operand is saved in a temporary first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emulator.p4 import ir
from emulator.p4.architecture import Architecture
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.errors import Diagnostics
from emulator.p4.lower.effects import Effects, reads
from emulator.p4.lower.storage import (
    HEADER_REFS,
    HeaderParts,
    Parts,
    Storage,
    UnionParts,
    UnionStack,
    Value,
    leaves,
    union_stack,
)
from emulator.p4.syntax.source import Tokens


class ValueLowering(Storage):
    def __init__(self, tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture) -> None:
        super().__init__(tokens, diagnostics, architecture)
        self.out: list[ir.Statement] = []
        self.effects = Effects()
        self.env: dict[Any, Any] = {}
        """What each symbol stands for now: storage, a value, an extern instance, a block instance."""
        self.types: dict[t.TypeVariable, t.Type] = {}
        """Type arguments of the functions being inlined."""
        self.path = ""
        """Prefix of the names made now."""
        self.errors: dict[str, int] = {}
        """Error numbers by name."""
        self.empty_varbits: dict[t.VarbitType, ir.Variable] = {}

    def span(self, node: Any) -> ir.Span:
        return self.tokens.span(node.at, getattr(node, "end", None))

    def type(self, type_: t.Type) -> t.Type:
        return t.substitute(type_, self.types) if self.types else type_

    def temporary(self, type_: ir.Type) -> ir.Variable:
        return self.variable(f"{self.path}.tmp", type_)

    # --- evaluation order ----------------------------------------------------------------------------------------

    def value(self, expr: r.Expr) -> Value:
        raise NotImplementedError

    def several(self, exprs: Sequence[r.Expr]) -> list[Value]:
        """Values of operands, evaluated in order."""
        values: list[Value] = []
        for expr in exprs:
            before = len(self.out)
            value = self.value(expr)
            if len(self.out) != before and values:
                self._save(values, before)
            values.append(value)
        return values

    def _save(self, values: list[Value], position: int) -> None:
        """Put what the values hold now into temporaries, before the statements from ``position`` on that change it."""
        later = self.out[position:]
        names = self.effects.written(later)
        del self.out[position:]
        values[:] = [self.saved(value) if reads(value, names) else value for value in values]
        self.out.extend(later)

    def saved(self, value: Value) -> Value:
        """The same value, safe from later assignments."""
        if isinstance(value, ir.Constant):
            return value
        if isinstance(value, ir.HeaderStack | UnionStack):
            return self.saved_stack(value)
        if isinstance(value, Parts):
            items = [self.saved(item) for item in value.items]
            return UnionParts(value.names, items) if isinstance(value, UnionParts) else Parts(value.names, items)
        if isinstance(value, HeaderParts):
            return HeaderParts([self.saved(item) for item in value.items], value.valid)
        if isinstance(value, HEADER_REFS):
            header = ir.Header(self.unique(f"{self.path}.tmp"), value.type)
            self.headers.append(header)
            self.out.append(ir.CopyHeader(header, value))
            return header
        if not hasattr(value, "type"):
            return value  # an instance
        variable = self.temporary(value.type)
        self.out.append(ir.Assign(variable, value))
        return variable

    def saved_stack(self, stack: Value) -> Value:
        if isinstance(stack, UnionStack):
            stacks = {name: self.saved_stack(member) for name, member in stack.stacks.items()}
            return union_stack(stacks, self.saved(stack.next_index))
        copy = ir.HeaderStack(self.unique(f"{self.path}.tmp"), stack.element, stack.size)
        self.stacks.append(copy)
        self.headers.extend(copy.headers)
        self.store(copy, stack)
        return copy

    def into(self, expr: r.Expr) -> tuple[Value, list[ir.Statement]]:
        """A value, and the statements it hoists, apart."""
        outer, self.out = self.out, []
        value = self.value(expr)
        hoisted, self.out = self.out, outer
        return value, hoisted

    # --- default values ------------------------------------------------------------------------------------------

    def default(self, type_: t.Type) -> Value:
        """The default value of section 7.3; for headers and unions ``{#}``."""
        if isinstance(type_, t.StructLike):
            items = [self.default(f.type) for f in type_.fields.values()]
            if type_.kind == "header":
                return HeaderParts(items, False)
            names = {name: i for i, name in enumerate(type_.fields)}
            return Parts(names, items) if type_.kind == "struct" else UnionParts(names, items)
        if isinstance(type_, t.TupleType | t.StackType):
            kinds = type_.items if isinstance(type_, t.TupleType) else (type_.element,) * type_.size
            return Parts({str(i): i for i in range(len(kinds))}, [self.default(kind) for kind in kinds])
        if isinstance(type_, t.VarbitType) and type_.width:
            return self._empty_varbit(type_)
        return self.constant(0, type_)

    def _empty_varbit(self, type_: t.VarbitType) -> ir.Variable:
        """A varbit without bits has no literal: it is read from a variable that nothing writes."""
        found = self.empty_varbits.get(type_)
        if found is None:
            found = self.empty_varbits[type_] = self.variable(f"$empty{type_.width}", self.scalar(type_))
        return found

    # --- stores --------------------------------------------------------------------------------------------------

    def store(self, target: Value, value: Value, span: ir.Span | None = None) -> None:
        """``target = value`` for storage and a value of the same shape; the caller has dealt with overlaps."""
        if isinstance(target, Parts):
            for part, item in zip(target.items, value.items, strict=True):
                if isinstance(target, UnionParts):  # of the value's members one is valid at most
                    self._store_header(part, item, span)
                else:
                    self.store(part, item, span)
            if isinstance(target, UnionStack) and isinstance(value, UnionStack):
                self.out.append(ir.Assign(target.next_index, value.next_index, span))
        elif isinstance(target, ir.HeaderStack):
            items = value.headers if isinstance(value, ir.HeaderStack) else value.items
            for header, item in zip(target.headers, items, strict=True):
                self.store(header, item, span)
        elif isinstance(target, HEADER_REFS):
            self._store_header(target, value, span)
            self._store_siblings(target, value, span)
        else:
            self.out.append(ir.Assign(target, value, span))

    def _store_header(self, target: ir.HeaderRef, value: Value, span: ir.Span | None) -> None:
        if not isinstance(value, HeaderParts):
            self.out.append(ir.CopyHeader(target, value, span))
            return
        self.out.append(ir.SetValidity(target, value.valid, span))
        if value.valid:
            for field, item in zip(target.type.fields, leaves(value), strict=True):
                self.out.append(ir.Assign(ir.FieldRef(target, field), item, span))

    def _store_siblings(self, target: ir.HeaderRef, value: Value, span: ir.Span | None) -> None:
        """A union's member that is valid now makes the other members invalid (section 8.19)."""
        others = tuple(ir.SetValidity(sibling, False, span) for sibling in self.siblings(target))
        if isinstance(value, HeaderParts):
            self.out.extend(others if value.valid else ())
        elif others:
            self.out.append(ir.If(ir.IsValid(target), others, (), span))

    def invalidate(self, storage: Value, span: ir.Span | None = None) -> None:
        """Header locals and out parameters start invalid."""
        if isinstance(storage, Parts):
            for item in storage.items:
                self.invalidate(item, span)
            if isinstance(storage, UnionStack):
                self.out.append(ir.Assign(storage.next_index, ir.Constant(0, ir.INDEX), span))
        elif isinstance(storage, ir.HeaderStack):
            for header in storage.headers:
                self.out.append(ir.SetValidity(header, False, span))
        elif isinstance(storage, HEADER_REFS):
            self.out.append(ir.SetValidity(storage, False, span))

    def shift_stack(self, stack: Value, count: int, span: ir.Span) -> None:
        """``push_front(count)``; ``pop_front`` of minus as many. ``next`` of a stack of unions moves along, too."""
        node = ir.PushFront if count > 0 else ir.PopFront
        if not isinstance(stack, UnionStack):
            self.out.append(node(stack, abs(count), span))
            return
        self.out.extend(node(member, abs(count), span) for member in stack.stacks.values())
        next_index, size = stack.next_index, len(stack.items)
        bound = ir.Constant(max(size - count, 0) if count > 0 else -count, ir.INDEX)
        op, limit = (ir.BinaryOp.GT, size) if count > 0 else (ir.BinaryOp.LT, 0)
        moved = ir.Binary(ir.BinaryOp.ADD, next_index, ir.Constant(count % (1 << 32), ir.INDEX), ir.INDEX)
        is_beyond = ir.Binary(op, next_index, bound, ir.BOOL)
        clamped = ir.Mux(is_beyond, ir.Constant(limit, ir.INDEX), moved, ir.INDEX)
        self.out.append(ir.Assign(next_index, clamped, span))

    def set_validity(self, header: ir.HeaderRef, valid: bool, span: ir.Span) -> None:
        """``setValid()`` or ``setInvalid()``."""
        self.out.append(ir.SetValidity(header, valid, span))
        if valid:
            self.out.extend(ir.SetValidity(sibling, False, span) for sibling in self.siblings(header))
