"""What the checks share: the program's blocks with all that runs in them, and a walk over resolved trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.reporting import report
from emulator.p4.errors import Diagnostics, Kind
from emulator.p4.frontend import Stages
from emulator.p4.lower.records import ActionRecord, BlockInstance, TableRecord
from emulator.p4.syntax import tree as s


class StrictReporter:
    def __init__(self, stages: Stages, diagnostics: Diagnostics) -> None:
        assert stages.tokens is not None
        assert stages.lowered is not None
        assert stages.resolved is not None
        self.tokens = stages.tokens
        self.diagnostics = diagnostics
        self.lowered = stages.lowered
        self.program = stages.resolved

    def refuse(self, at: Any, text: str) -> None:
        report(self, at, f"bmv2's compiler refuses this: {text}", Kind.TARGET)

    # --- instances -----------------------------------------------------------------------------------------------

    def instances(self, block: str | None = None) -> Iterator[tuple[str, BlockInstance]]:
        """Every reachable instance under the package parameter whose block it is part of."""

        def inside(instance: BlockInstance) -> Iterator[BlockInstance]:
            yield instance
            for member in instance.members:
                if isinstance(member, BlockInstance):
                    yield from inside(member)

        for name, outer in self.lowered.blocks:
            if block is None or name == block:
                for instance in inside(outer):
                    yield name, instance

    def tables(self) -> Iterator[TableRecord]:
        """Those that something applies."""
        for _, instance in self.instances():
            yield from (m for m in instance.members if isinstance(m, TableRecord) and m.table is not None)

    def actions(self) -> Iterator[ActionRecord]:
        """Those that some table lists."""
        for _, instance in self.instances():
            yield from (m for m in instance.members if isinstance(m, ActionRecord) and m.action is not None)
        yield from (record for record in self.lowered.global_actions if record.action is not None)

    # --- code ----------------------------------------------------------------------------------------------------

    def code(self, block: str | None = None) -> Iterator[tuple[str, bool, Any]]:
        """(package parameter, whether in an action, node) of all statements and expressions that can run.

        Functions and actions are entered once for each block that calls them.
        """
        listed = {record.symbol for record in self.actions()}
        for name, instance in self.instances(block):
            seen: set[int] = set()
            roots: list[tuple[bool, Any]] = [(False, instance.symbol.locals), (False, instance.symbol.body or [])]
            roots += [(False, state.body) for state in instance.symbol.states]
            roots += [(False, state.keys) for state in instance.symbol.states]
            for member in instance.members:
                if isinstance(member, ActionRecord) and member.symbol in listed:
                    roots.append((True, member.symbol.body))
                elif isinstance(member, TableRecord) and member.table is not None:
                    roots += [(True, x.action.body) for x in member.symbol.actions if x.action.owner is None]
            for is_action, root in roots:
                yield from ((name, inside, node) for inside, node in self._entered(root, is_action, seen))

    def _entered(self, root: Any, is_action: bool, seen: set[int]) -> Iterator[tuple[bool, Any]]:
        for node in walk(root):
            yield is_action, node
            called: r.ActionSymbol | r.FunctionSymbol | None = None
            if isinstance(node, r.ActionCall | r.FunctionCall):
                called = node.action if isinstance(node, r.ActionCall) else node.function
            if called is not None and id(called) not in seen:
                seen.add(id(called))
                yield from self._entered(called.body, is_action or isinstance(node, r.ActionCall), seen)

    def constant_variables(self) -> frozenset[r.Symbol]:
        """Variables that keep the constant that initializes them: p4c propagates it to where they are read."""
        kept: set[r.Symbol] = set()
        written: set[r.Symbol] = set()
        for _, _, node in self.code():
            if isinstance(node, r.Declare):
                (kept if isinstance(node.value, r.Literal) else written).add(node.symbol)
            elif isinstance(node, r.Assign | r.Update):
                written |= _root(node.target)
            elif isinstance(node, r.ExternCall | r.FunctionCall | r.ActionCall | r.BlockApply):
                for bound in node.arguments:
                    if bound.parameter.direction in ("out", "inout"):
                        written |= _root(bound.value)
        return frozenset(kept - written)


def _root(place: Any) -> set[r.Symbol]:
    """The variable that a place is part of."""
    while isinstance(place, r.FieldOf | r.ElementOf | r.SliceOf | r.SliceAt | r.StackProperty):
        place = place.base
    return {place.symbol} if isinstance(place, r.Ref) else set()


def walk(node: Any) -> Iterator[Any]:
    """Every statement and expression in a resolved tree, itself first; symbols and types are not entered."""
    if isinstance(node, list | tuple):
        for item in node:
            yield from walk(item)
    elif is_dataclass(node) and not isinstance(node, r.Symbol | t.Type | t.Signature | t.Parameter | s.Node):
        if not isinstance(node, r.Bound | r.SwitchCase):
            yield node
        for f in fields(node):
            value = getattr(node, f.name)
            if isinstance(value, list | tuple) or is_dataclass(value):
                yield from walk(value)


def argument(call: r.ExternCall, name: str) -> Any:
    """The value bound to the parameter of that name, None where there is none."""
    return next((b.value for b in call.arguments if b.parameter.name == name), None)


def is_known(value: Any, constants: frozenset[r.Symbol] = frozenset()) -> bool:
    """Whether it has a value when blocks are in place, as a constructor's parameter has."""
    if isinstance(value, r.Ref):
        is_constructor = isinstance(value.symbol, r.VariableSymbol) and value.symbol.is_constructor
        return is_constructor or value.symbol in constants
    return isinstance(value, r.Literal)
