"""Warnings of what is never used, and of reads that surely come before any write (section 8.24).

Only what is wrong on every path is reported, so that no warning is false: after an ``if`` a variable counts as written
when either branch writes it. Variables of controls and parsers are left out, as actions and states may write them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t

Warn = Callable[[int, str], None]
_CALLS = (r.ExternCall, r.FunctionCall, r.ActionCall, r.BlockApply)


def declares_without_value(block: r.Block) -> bool:
    """Whether there is anything to look for."""
    for statement in block:
        if isinstance(statement, r.Declare) and statement.value is None and t.is_scalar(statement.symbol.type):
            return True
        if any(map(declares_without_value, nested(statement))):
            return True
    return False


def nested(statement: r.Statement) -> Iterator[r.Block]:
    for name in ("init", "then", "otherwise", "body", "update"):
        block = getattr(statement, name, None)
        if isinstance(block, list):
            yield block
    if isinstance(statement, r.Switch):
        yield from (case.body for case in statement.cases)


class UnsetReads:
    def __init__(self, warn: Warn) -> None:
        self.warn = warn
        self.unset: set[r.Symbol] = set()

    def block(self, block: r.Block) -> None:
        for statement in block:
            self.statement(statement)

    def statement(self, statement: r.Statement) -> None:
        match statement:
            case r.Declare(symbol=symbol, value=value):
                self.read(value)
                if value is None and t.is_scalar(symbol.type):
                    self.unset.add(symbol)
            case r.Assign(target=target, value=value):
                self.read(value)
                self.write(target)
            case r.Update(target=target, value=value):
                self.read(target)
                self.read(value)
                self.write(target)
            case r.If(condition=condition, then=then, otherwise=otherwise):
                self.read(condition)
                self.branches(then, otherwise)
            case r.Switch(value=value, cases=cases):
                self.read(value)
                self.branches([], *(case.body for case in cases))
            case r.For(init=init, condition=condition, update=update, body=body):
                self.block(init)
                self.read(condition)
                self.branches([], [*body, *update])
            case r.ForIn(collection=collection, body=body):
                self.read(collection)
                self.branches([], body)
            case r.CallStatement(call=call):
                self.read(call)
            case r.Return(value=value):
                self.read(value)

    def branches(self, *blocks: r.Block) -> None:
        """Afterwards unset is what no branch sets."""
        before, after = self.unset, set(self.unset)
        for block in blocks:
            self.unset = set(before)
            self.block(block)
            after &= self.unset
        self.unset = after

    def read(self, expr: Any) -> None:
        if isinstance(expr, r.Ref):
            if expr.symbol in self.unset:
                self.warn(expr.at, f"{expr.symbol.name!r} is read before it has a value")
                self.unset.discard(expr.symbol)
        elif isinstance(expr, _CALLS):
            for bound in expr.arguments:
                if bound.parameter.direction == "out":
                    self.write(bound.value)
                else:
                    self.read(bound.value)
                    self.written(bound)
        elif expr is not None and not isinstance(expr, r.TableApply | r.ApplyResult | r.Construct):
            for field in fields(expr):
                self._read_part(getattr(expr, field.name))

    def _read_part(self, part: Any) -> None:
        if isinstance(part, tuple):
            for item in part:
                self._read_part(item)
        elif hasattr(part, "at") and not isinstance(part, r.Symbol | t.Type):
            self.read(part)

    def written(self, bound: r.Bound) -> None:
        if bound.parameter.direction == "inout":
            self.write(bound.value)

    def write(self, target: Any) -> None:
        """Also a part of it counts: the rest is not looked at."""
        while not isinstance(target, r.Ref):
            for name in ("index", "low"):
                part = getattr(target, name, None)
                if not isinstance(part, int):
                    self.read(part)
            target = getattr(target, "base", None)
            if target is None:
                return
        self.unset.discard(target.symbol)


def warn_of_unset_reads(bodies: Iterable[r.Block], warn: Warn) -> None:
    for body in bodies:
        if declares_without_value(body):
            UnsetReads(warn).block(body)


def warn_of_unused(symbols: Iterable[r.Symbol], used: set[Any], warn: Warn) -> None:
    """What no expression, table or switch names; ``@noWarn("unused")`` and names that begin with ``__`` are spared."""
    for symbol in symbols:
        annotations = getattr(symbol, "annotations", ())
        is_spared = any(a.name == "noWarn" and '"unused"' in (a.tokens or ()) for a in annotations)
        if symbol not in used and not is_spared and not symbol.name.startswith("__"):
            warn(symbol.at, f"{symbol.name!r} is never used")


def may_be_unused(declarations: list[r.Symbol | t.Type]) -> Iterator[r.Symbol]:
    """Functions, actions and tables."""
    for declared in declarations:
        if isinstance(declared, t.BlockType):
            declared = declared.declaration
        if isinstance(declared, r.FunctionSymbol | r.ActionSymbol):
            yield declared
        elif isinstance(declared, r.BlockSymbol):
            yield from (m for m in declared.members if isinstance(m, r.ActionSymbol | r.TableSymbol))


def bodies_of(declarations: list[r.Symbol | t.Type]) -> Iterator[r.Block]:
    """Bodies of functions, actions, apply blocks and parser states."""
    for declared in declarations:
        if isinstance(declared, t.BlockType):
            declared = declared.declaration
        if isinstance(declared, r.FunctionSymbol | r.ActionSymbol):
            yield declared.body
        elif isinstance(declared, r.BlockSymbol):
            yield declared.body or []
            yield from (state.body for state in declared.states)
            yield from (member.body for member in declared.members if isinstance(member, r.ActionSymbol))
