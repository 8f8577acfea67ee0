"""Controls and their application: sub-controls are inlined where they are applied."""

from __future__ import annotations

from typing import Any

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.errors import Abandoned
from emulator.p4.lower.records import BlockInstance
from emulator.p4.lower.statements import returns
from emulator.p4.lower.storage import Value
from emulator.p4.lower.tables import TableLowering


class BlockLowering(TableLowering):
    def apply_block(self, expr: r.BlockApply) -> Value:
        instance = self.instance_of(expr)
        span = self.tokens.span(expr.at)
        several = instance.application_count > 1
        names: list[Any] = [f"{instance.path}.{p.name}" for p in instance.symbol.parameters]
        if several and instance.parameters is not None:  # its tables know the storage of its first application
            names = instance.parameters
        passing = self.pass_arguments(names, expr.arguments, by_reference=not several, span=span, constants=not several)
        instance.parameters = passing.storage
        outer = self.instance, self.path, self.env, self.types
        self.enter(instance, passing.storage)
        body = self.control_body(instance)
        self.instance, self.path, self.env, self.types = outer
        self.out.append(ir.Region(instance.path, body, self.copy_out(passing, span), span))
        return None

    def instance_of(self, expr: r.BlockApply) -> BlockInstance:
        if not isinstance(expr.instance, r.Construct):
            found = self.value(expr.instance)
            assert isinstance(found, BlockInstance)
            return found
        outer = self.instance  # direct application: an instance named after its type, made once
        assert outer is not None
        made = outer.direct.get(expr.instance)
        if made is None:
            assert expr.instance.block is not None
            path, number = f"{outer.path}.{expr.instance.block.name}", len(outer.direct)
            if any(known.path == path for known in outer.direct.values()):
                path = f"{path}_{number}"
            made = self.make_instance(expr.instance, path, outer.application_count)
            outer.direct[expr.instance] = made
            outer.members.insert(number, made)  # p4c declares them before everything else
        return made

    def enter(self, instance: BlockInstance, parameters: list[Value]) -> None:
        """From here on names mean what they mean inside the instance."""
        self.instance, self.path = instance, instance.path
        self.env = {**self.env, **instance.constructor, **instance.env}
        self.types = {**self.types, **instance.types}
        for symbol, storage in zip(instance.symbol.parameters, parameters, strict=True):
            self.env[symbol] = storage

    def control_body(self, instance: BlockInstance) -> ir.Block:
        outer, self.out = self.out, []
        self.block_locals(instance)
        self.guarded(instance.symbol.body or [])
        body, self.out = self.out, outer
        if body and isinstance(body[-1], ir.Return):
            body.pop()
        return tuple(body)

    def guarded(self, block: r.Block) -> None:
        """Statements, each by itself, so that one run finds the errors of several; a wrong declaration ends it."""
        for statement in block:
            kept = self.out, self.instance, self.path, self.env, self.types, self.result
            try:
                self.statements([statement])
            except Abandoned:
                self.out, self.instance, self.path, self.env, self.types, self.result = kept
                if isinstance(statement, r.Declare):
                    raise
            if returns(self.out):
                break

    def block_locals(self, instance: BlockInstance) -> None:
        """Variables of the block: storage once, initial values at each application."""
        for statement in instance.symbol.locals:
            assert isinstance(statement, r.Declare)
            known = instance.env.get(statement.symbol)
            if known is None:
                self.statements([statement])
                instance.env[statement.symbol] = self.env[statement.symbol]
                continue
            self.env[statement.symbol] = known
            span = self.tokens.span(statement.at, statement.end)
            if statement.value is not None:
                self.store(known, self.value(statement.value), span)
            else:
                self.invalidate(known, span)
