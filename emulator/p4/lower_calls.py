"""Calls that stay calls: built-in methods of headers and packets, and externs."""

from __future__ import annotations

from typing import Any

from emulator.p4 import ir
from emulator.p4 import resolved as r
from emulator.p4 import types as t
from emulator.p4.errors import Kind
from emulator.p4.lower_operators import is_valid
from emulator.p4.lower_places import SlicePlace
from emulator.p4.lower_statements import StatementLowering
from emulator.p4.lower_storage import AGGREGATES, HeaderParts, Parts, Value, leaves


class CallLowering(StatementLowering):
    block_name = ""
    """The package parameter whose block is being lowered."""

    def call(self, expr: Any) -> Value:
        return _CALLS[type(expr)](self, expr)

    # --- built-in methods ----------------------------------------------------------------------------------------

    def _builtin(self, expr: r.BuiltinCall) -> Value:
        base = self.value(expr.base)
        span = self.tokens.span(expr.at)
        if expr.method == "isValid":
            return is_valid(base)
        if expr.method in ("setValid", "setInvalid"):
            self.set_validity(base, expr.method == "setValid", span)
        elif expr.count:
            self.shift_stack(base, expr.count if expr.method == "push_front" else -expr.count, span)
        return None

    # --- externs -------------------------------------------------------------------------------------------------

    def _extern(self, expr: r.ExternCall) -> Value:
        handler = _PACKET.get(expr.name)
        if handler is not None:
            return handler(self, expr)
        allowed = self.architecture.function_blocks.get(expr.name)
        if allowed is not None and self.block_name not in allowed:
            self.fail(expr, f"{expr.name}() cannot be called in this block", Kind.TARGET)
        span = self.tokens.span(expr.at)
        instance = None
        if expr.instance is not None:
            found = self.value(expr.instance)
            assert isinstance(found, ir.ExternInstance)
            instance = found
        arguments, after = self._extern_arguments(expr)
        self.out.append(ir.CallExtern(expr.name, arguments, instance, span))
        self.out.extend(after)
        if expr.type is not t.VOID:
            self.unsupported(expr, f"the result of {expr.name}()")
        return None

    def _extern_arguments(self, expr: r.ExternCall) -> tuple[tuple[ir.Argument, ...], list[ir.Statement]]:
        """Arguments in order, and what must follow the call (outs that are slices of something)."""
        arguments: list[ir.Argument] = []
        after: list[ir.Statement] = []
        for bound in expr.arguments:
            if bound.parameter.direction in ("out", "inout"):
                arguments.append(self._out_argument(bound, after))
                continue
            assert bound.value is not None
            before = len(self.out)
            value = self.value(bound.value)
            if len(self.out) != before and arguments:
                self._save_arguments(expr, arguments, before)
            arguments.append(self._argument(value))
        return tuple(arguments), after

    def _save_arguments(self, expr: r.ExternCall, arguments: list[ir.Argument], position: int) -> None:
        later = self.out[position:]
        del self.out[position:]
        for i, (bound, argument) in enumerate(zip(expr.arguments, arguments, strict=False)):
            if bound.parameter.direction in ("out", "inout"):
                continue
            if isinstance(argument, tuple):
                arguments[i] = tuple(self.saved(item) for item in argument)
            elif not isinstance(argument, ir.Text):
                arguments[i] = self.saved(argument)
        self.out.extend(later)

    @staticmethod
    def _argument(value: Value) -> ir.Argument:
        if isinstance(value, AGGREGATES):
            return tuple(leaves(value))
        return value  # type: ignore[no-any-return]

    def _out_argument(self, bound: r.Bound, after: list[ir.Statement]) -> ir.Argument:
        type_ = self.type(bound.parameter.type)
        if bound.value is None:
            return self._argument(self.allocate(f"{self.path}.tmp", type_))
        place = self.place(bound.value)
        if not isinstance(place, SlicePlace):
            return self._argument(place)
        place = self.fixed(place, None)
        variable = self.allocate(f"{self.path}.tmp", type_)
        if bound.parameter.direction == "inout":
            self.store(variable, self.read(place))
        outer, self.out = self.out, after
        self.write(place, variable, self.span(bound.value))
        self.out = outer
        return variable  # type: ignore[no-any-return]

    # --- packets -------------------------------------------------------------------------------------------------

    def _extract(self, expr: r.ExternCall) -> Value:
        bound = expr.arguments[0]
        header = (
            self.allocate(f"{self.path}.tmp", self.type(bound.parameter.type))
            if bound.value is None
            else self.value(bound.value)
        )
        span = self.tokens.span(expr.at)
        width = self.value(expr.arguments[1].value) if len(expr.arguments) > 1 and expr.arguments[1].value else None
        self.out.append(ir.Extract(header, width, span))
        self.out.extend(self.after_extract(header, span))

    def _lookahead(self, expr: r.ExternCall) -> Value:
        type_ = self.type(expr.type)
        targets: list[tuple[ir.Variable, int]] = []
        value, total = self._ahead(type_, 0, targets)
        self.out.append(ir.Lookahead(tuple(targets), total, self.tokens.span(expr.at)))
        return value

    def _ahead(self, type_: t.Type, offset: int, targets: list[tuple[ir.Variable, int]]) -> tuple[Value, int]:
        """The value that starts at ``offset``, and the offset behind it."""
        if t.is_scalar(type_):
            variable = self.temporary(self.scalar(type_))
            targets.append((variable, offset))
            return variable, offset + (t.width_bits(type_) or 0)
        if t.is_empty(type_):
            return Parts({}, []), offset
        if isinstance(type_, t.StructLike):
            parts, names = [f.type for f in type_.fields.values()], list(type_.fields)
        else:
            assert isinstance(type_, t.TupleType)
            parts, names = list(type_.items), [str(i) for i in range(len(type_.items))]
        items: list[Value] = []
        for part in parts:
            item, offset = self._ahead(part, offset, targets)
            items.append(item)
        if isinstance(type_, t.StructLike) and type_.kind == "header":
            self.header_type(type_)
            return HeaderParts(items, True), offset
        return Parts({name: i for i, name in enumerate(names)}, items), offset

    def _advance(self, expr: r.ExternCall) -> Value:
        assert expr.arguments[0].value is not None
        self.out.append(ir.Advance(self.value(expr.arguments[0].value), self.tokens.span(expr.at)))

    def _verify(self, expr: r.ExternCall) -> Value:
        condition, error = self.several([b.value for b in expr.arguments if b.value is not None])
        self.out.append(ir.Verify(condition, error, self.tokens.span(expr.at)))

    def _emit(self, expr: r.ExternCall) -> Value:
        assert expr.arguments[0].value is not None
        self._emit_value(self.value(expr.arguments[0].value), expr, self.tokens.span(expr.at))

    def _emit_value(self, value: Value, expr: r.ExternCall, span: ir.Span) -> None:
        if isinstance(value, Parts):
            for item in value.items:
                self._emit_value(item, expr, span)
        elif isinstance(value, ir.HeaderStack):
            for header in value.headers:
                self.out.append(ir.Emit(header, span))
        elif isinstance(value, HeaderParts):
            self.unsupported(expr, "emit() of a header expression")
        else:
            self.out.append(ir.Emit(value, span))

    # --- defined by the blocks -----------------------------------------------------------------------------------

    def call_action(self, expr: r.ActionCall) -> Value:
        raise NotImplementedError

    def apply_table(self, expr: r.TableApply | r.ApplyResult) -> Value:
        raise NotImplementedError

    def apply_block(self, expr: r.BlockApply) -> Value:
        raise NotImplementedError


_PACKET: dict[str, Any] = {
    "packet_in.extract": CallLowering._extract,
    "packet_in.lookahead": CallLowering._lookahead,
    "packet_in.advance": CallLowering._advance,
    "packet_out.emit": CallLowering._emit,
    "verify": CallLowering._verify,
}
_CALLS: dict[type, Any] = {
    r.BuiltinCall: CallLowering._builtin,
    r.ExternCall: CallLowering._extern,
    r.FunctionCall: CallLowering.call_function,
    r.ActionCall: lambda lowering, expr: lowering.call_action(expr),
    r.TableApply: lambda lowering, expr: lowering.apply_table(expr),
    r.ApplyResult: lambda lowering, expr: lowering.apply_table(expr),
    r.BlockApply: lambda lowering, expr: lowering.apply_block(expr),
    r.Literal: lambda lowering, expr: None,  # static_assert
}
