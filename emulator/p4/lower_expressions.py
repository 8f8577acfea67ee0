"""Expressions of the resolved tree to IR expressions without side effects.

What has side effects is hoisted into ``self.out``, left to right (section 6.7): where a later operand hoists something,
the operands before it are saved in temporaries first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emulator.p4 import ir
from emulator.p4 import resolved as r
from emulator.p4 import types as t
from emulator.p4.architecture import Architecture
from emulator.p4.constants import cast_value, fold_binary, fold_unary
from emulator.p4.errors import Diagnostics, Kind
from emulator.p4.lower_storage import HEADER_REFS, HeaderParts, Parts, Storage, Value, leaves
from emulator.p4.source import Tokens

BINARY = {op.value: op for op in ir.BinaryOp}
UNARY = {op.value: op for op in ir.UnaryOp}


class ExpressionLowering(Storage):
    def __init__(self, tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture) -> None:
        super().__init__(tokens, diagnostics, architecture)
        self.out: list[ir.Statement] = []
        self.env: dict[Any, Any] = {}
        """What each symbol stands for now: storage, a value, an extern instance, a block instance."""
        self.types: dict[t.TypeVariable, t.Type] = {}
        """Type arguments of the functions being inlined."""
        self.path = ""
        """Prefix of the names made now."""

    def span(self, node: Any) -> ir.Span:
        return self.tokens.span(node.at, getattr(node, "end", None))

    def type(self, type_: t.Type) -> t.Type:
        return t.substitute(type_, self.types) if self.types else type_

    def temporary(self, type_: ir.Type) -> ir.Variable:
        variable = ir.Variable(self.unique(f"{self.path}.tmp"), type_)
        self.variables.append(variable)
        return variable

    # --- values --------------------------------------------------------------------------------------------------

    def value(self, expr: r.Expr) -> Value:
        self.at = expr.at
        return _EXPRESSIONS[type(expr)](self, expr)

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
        """Put what the values hold now into temporaries, before the statements from ``position`` on."""
        later = self.out[position:]
        del self.out[position:]
        values[:] = [self.saved(value) for value in values]
        self.out.extend(later)

    def saved(self, value: Value) -> Value:
        """The same value, safe from later assignments."""
        if isinstance(value, ir.Constant):
            return value
        if isinstance(value, Parts):
            return Parts(value.names, [self.saved(item) for item in value.items])
        if isinstance(value, HeaderParts):
            return HeaderParts([self.saved(item) for item in value.items], value.valid)
        if isinstance(value, HEADER_REFS):
            header = ir.Header(self.unique(f"{self.path}.tmp"), value.type)
            self.headers.append(header)
            self.out.append(ir.CopyHeader(header, value))
            return header
        if not hasattr(value, "type"):
            return value  # a stack or an instance
        variable = self.temporary(value.type)
        self.out.append(ir.Assign(variable, value))
        return variable

    def into(self, expr: r.Expr) -> tuple[Value, list[ir.Statement]]:
        """A value, and the statements it hoists, apart."""
        outer, self.out = self.out, []
        value = self.value(expr)
        hoisted, self.out = self.out, outer
        return value, hoisted

    # --- leaves --------------------------------------------------------------------------------------------------

    def _literal(self, expr: r.Literal) -> Value:
        if expr.type is t.STRING:
            return ir.Text(expr.value)
        return self.constant(expr.value, expr.type)

    def _ref(self, expr: r.Ref) -> Value:
        return self.env[expr.symbol]

    def _field(self, expr: r.FieldOf) -> Value:
        base = self.value(expr.base)
        if isinstance(base, Parts):
            return base.part(expr.name)
        if isinstance(base, HeaderParts):
            header_type = self.type(expr.base.type)
            assert isinstance(header_type, t.StructLike)
            return base.items[list(header_type.fields).index(expr.name)]
        return self.field(base, expr.name)

    def _element(self, expr: r.ElementOf) -> Value:
        base, index = self.several((expr.base, expr.index))
        if isinstance(base, Parts):
            assert isinstance(index, ir.Constant)
            return base.items[index.value]
        if isinstance(index, ir.Constant):
            return base.headers[index.value]
        return ir.StackAt(base, index)

    def _stack_property(self, expr: r.StackProperty) -> Value:
        stack = self.value(expr.base)
        node = {"next": ir.StackNext, "last": ir.StackLast, "lastIndex": ir.StackLastIndex}[expr.name]
        return node(stack)

    def _slice(self, expr: r.SliceOf) -> Value:
        base = self.value(expr.base)
        if isinstance(base, ir.Constant):
            width = expr.high - expr.low + 1
            return ir.Constant((base.value >> expr.low) & ((1 << width) - 1), ir.Bits(width))
        return ir.Slice(base, expr.high, expr.low)

    def _aggregate(self, expr: r.Aggregate) -> Value:
        type_ = self.type(expr.type)
        items = self.several(expr.items)
        if isinstance(type_, t.StructLike) and type_.kind == "header":
            return HeaderParts(items, True)
        if isinstance(type_, t.StructLike):
            return Parts({name: i for i, name in enumerate(type_.fields)}, items)
        return Parts({str(i): i for i in range(len(items))}, items)

    def _invalid(self, expr: r.InvalidHeader) -> Value:
        type_ = self.type(expr.type)
        assert isinstance(type_, t.StructLike)
        return HeaderParts([ir.Constant(0, f.type) for f in self.header_type(type_).fields], False)

    # --- operators -----------------------------------------------------------------------------------------------

    def _unary(self, expr: r.Unary) -> Value:
        operand = self.value(expr.operand)
        type_ = self.type(expr.type)
        if isinstance(operand, ir.Constant):
            return self.constant(fold_unary(expr.op, operand.value, type_), type_)
        return ir.Unary(UNARY[expr.op], operand, self.scalar(type_))

    def _binary(self, expr: r.Binary) -> Value:
        if expr.op in ("&&", "||"):
            return self._logic(expr)
        left, right = self.several((expr.left, expr.right))
        type_ = self.type(expr.type)
        if not t.is_scalar(self.type(expr.left.type)):
            equal = self.equal(left, right)
            return equal if expr.op == "==" else self._negated(equal)
        if isinstance(left, ir.Constant) and isinstance(right, ir.Constant):
            types = t.unwrapped(self.type(expr.left.type)), t.unwrapped(self.type(expr.right.type))
            return self.constant(fold_binary(expr.op, left.value, right.value, *types), type_)
        if expr.op == "++":
            return ir.Concat(left, right, self.scalar(type_))
        return ir.Binary(BINARY[expr.op], left, right, self.scalar(type_))

    def _negated(self, value: ir.Expr) -> ir.Expr:
        if isinstance(value, ir.Constant):
            return ir.Constant(1 - value.value, ir.BOOL)
        return ir.Unary(ir.UnaryOp.NOT, value, ir.BOOL)

    def _logic(self, expr: r.Binary) -> Value:
        """Short-circuit: a right operand that hoists something is evaluated inside an ``if``."""
        left = self.value(expr.left)
        right, hoisted = self.into(expr.right)
        if not hoisted:
            return ir.Binary(BINARY[expr.op], left, right, ir.BOOL)
        result = self.temporary(ir.BOOL)
        self.out.append(ir.Assign(result, left))
        condition = result if expr.op == "&&" else self._negated(result)
        self.out.append(ir.If(condition, (*hoisted, ir.Assign(result, right)), (), self.span(expr)))
        return result

    def _mux(self, expr: r.Mux) -> Value:
        condition = self.value(expr.condition)
        then, then_hoisted = self.into(expr.then)
        otherwise, otherwise_hoisted = self.into(expr.otherwise)
        type_ = self.type(expr.type)
        if t.is_scalar(type_) and not then_hoisted and not otherwise_hoisted:
            return ir.Mux(condition, then, otherwise, self.scalar(type_))
        result = self.allocate(f"{self.path}.tmp", type_)
        branches = []
        for value, hoisted in ((then, then_hoisted), (otherwise, otherwise_hoisted)):
            outer, self.out = self.out, list(hoisted)
            self.store(result, value)
            branches.append(tuple(self.out))
            self.out = outer
        self.out.append(ir.If(condition, branches[0], branches[1], self.span(expr)))
        return result

    def _cast(self, expr: r.Cast) -> Value:
        operand = self.value(expr.operand)
        type_ = self.type(expr.type)
        target = self.scalar(type_)
        if isinstance(operand, ir.Constant):
            return self.constant(cast_value(operand.value, type_), type_)
        return operand if operand.type == target else ir.Cast(operand, target)

    # --- comparison of whole values ------------------------------------------------------------------------------

    def equal(self, left: Value, right: Value) -> ir.Expr:
        """``==`` of structs, tuples, headers and stacks (section 8)."""
        if isinstance(left, Parts) and isinstance(right, Parts):
            return self._all(self.equal(a, b) for a, b in zip(left.items, right.items, strict=True))
        if isinstance(left, ir.HeaderStack) or isinstance(right, ir.HeaderStack):
            first = left.headers if isinstance(left, ir.HeaderStack) else left.items
            second = right.headers if isinstance(right, ir.HeaderStack) else right.items
            return self._all(self.equal(a, b) for a, b in zip(first, second, strict=True))
        if isinstance(left, (HeaderParts, *HEADER_REFS)):
            return self._equal_headers(left, right)
        return ir.Binary(ir.BinaryOp.EQ, left, right, ir.BOOL)

    def _equal_headers(self, left: Value, right: Value) -> ir.Expr:
        """Both invalid, or both valid with equal fields."""
        valid = [
            ir.Constant(int(v.valid), ir.BOOL) if isinstance(v, HeaderParts) else ir.IsValid(v) for v in (left, right)
        ]
        fields = self._all(
            ir.Binary(ir.BinaryOp.EQ, a, b, ir.BOOL) for a, b in zip(leaves(left), leaves(right), strict=True)
        )
        both = self._all((valid[0], valid[1], fields))
        neither = self._all(self._negated(v) for v in valid)
        return ir.Binary(ir.BinaryOp.LOGICAL_OR, neither, both, ir.BOOL)

    @staticmethod
    def _all(conditions: Any) -> ir.Expr:
        result: ir.Expr | None = None
        for condition in conditions:
            if isinstance(condition, ir.Constant) and condition.value:
                continue
            result = condition if result is None else ir.Binary(ir.BinaryOp.LOGICAL_AND, result, condition, ir.BOOL)
        return ir.Constant(1, ir.BOOL) if result is None else result

    # --- stores --------------------------------------------------------------------------------------------------

    def store(self, target: Value, value: Value, span: ir.Span | None = None) -> None:
        """``target = value`` for storage and a value of the same shape; the caller has dealt with overlaps."""
        if isinstance(target, Parts):
            for part, item in zip(target.items, value.items, strict=True):
                self.store(part, item, span)
        elif isinstance(target, ir.HeaderStack):
            items = value.headers if isinstance(value, ir.HeaderStack) else value.items
            for header, item in zip(target.headers, items, strict=True):
                self.store(header, item, span)
        elif isinstance(target, HEADER_REFS):
            self._store_header(target, value, span)
        else:
            self.out.append(ir.Assign(target, value, span))

    def _store_header(self, target: ir.HeaderRef, value: Value, span: ir.Span | None) -> None:
        if not isinstance(value, HeaderParts):
            self.out.append(ir.CopyHeader(target, value, span))
            return
        self.out.append(ir.SetValidity(target, value.valid, span))
        if value.valid:
            for field, item in zip(target.type.fields, value.items, strict=True):
                self.out.append(ir.Assign(ir.FieldRef(target, field), item, span))

    def call(self, expr: Any) -> Value:
        raise NotImplementedError

    def _construct(self, expr: r.Construct) -> Value:
        self.fail(expr, "an instance cannot be made here", Kind.PLACE)


def _call(lowering: ExpressionLowering, expr: Any) -> Value:
    return lowering.call(expr)


_EXPRESSIONS: dict[type, Any] = {
    r.Literal: ExpressionLowering._literal,
    r.Ref: ExpressionLowering._ref,
    r.FieldOf: ExpressionLowering._field,
    r.ElementOf: ExpressionLowering._element,
    r.StackProperty: ExpressionLowering._stack_property,
    r.SliceOf: ExpressionLowering._slice,
    r.Aggregate: ExpressionLowering._aggregate,
    r.InvalidHeader: ExpressionLowering._invalid,
    r.Unary: ExpressionLowering._unary,
    r.Binary: ExpressionLowering._binary,
    r.Mux: ExpressionLowering._mux,
    r.Cast: ExpressionLowering._cast,
    r.Construct: ExpressionLowering._construct,
    r.BuiltinCall: _call,
    r.ExternCall: _call,
    r.FunctionCall: _call,
    r.ActionCall: _call,
    r.TableApply: _call,
    r.ApplyResult: _call,
    r.BlockApply: _call,
}
