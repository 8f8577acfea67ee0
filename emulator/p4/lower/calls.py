"""Calls: built-in methods, and which part of the lowering takes each of the others."""

from __future__ import annotations

from typing import Any

from emulator.p4.check import resolved as r
from emulator.p4.lower.externs import ExternLowering
from emulator.p4.lower.operators import is_valid
from emulator.p4.lower.storage import Value


class CallLowering(ExternLowering):
    def call(self, expr: Any) -> Value:
        return _CALLS[type(expr)](self, expr)

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

    # --- defined by the blocks -----------------------------------------------------------------------------------

    def call_action(self, expr: r.ActionCall) -> Value:
        raise NotImplementedError

    def apply_table(self, expr: r.TableApply | r.ApplyResult) -> Value:
        raise NotImplementedError

    def apply_block(self, expr: r.BlockApply) -> Value:
        raise NotImplementedError


_CALLS: dict[type, Any] = {
    r.BuiltinCall: CallLowering._builtin,
    r.ExternCall: CallLowering.extern,
    r.FunctionCall: CallLowering.call_function,
    r.ActionCall: lambda lowering, expr: lowering.call_action(expr),
    r.TableApply: lambda lowering, expr: lowering.apply_table(expr),
    r.ApplyResult: lambda lowering, expr: lowering.apply_table(expr),
    r.BlockApply: lambda lowering, expr: lowering.apply_block(expr),
    r.Literal: lambda lowering, expr: None,  # static_assert
}
