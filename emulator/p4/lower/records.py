"""The lowering's records of instances and of the digests they send; P4Info is made from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.annotations import control_name
from emulator.p4.lower.shapes import Value

Types: TypeAlias = dict[t.TypeVariable, t.Type]


@dataclass(eq=False, slots=True)
class ExternRecord:
    instance: ir.ExternInstance
    symbol: r.InstanceSymbol
    types: Types = field(default_factory=dict)
    """What the type parameters around it stand for; so below."""


@dataclass(eq=False, slots=True)
class TableRecord:
    symbol: r.TableSymbol
    name: str
    table: ir.Table | None = None
    """None until it is applied."""
    key_variables: list[ir.Variable | None] = field(default_factory=list)
    """Where a key that hoists something is computed to before each application."""
    types: Types = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class ActionRecord:
    symbol: r.ActionSymbol
    name: str
    action: ir.Action | None = None
    """None until a table needs it; the first variant of those with bound arguments."""
    variants: dict[r.TableAction, ir.Action] = field(default_factory=dict)
    """Variants by the element of a table's list that binds their arguments."""
    types: Types = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class ValueSetRecord:
    value_set: ir.ValueSet
    symbol: r.ValueSetSymbol
    types: Types = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class BlockInstance:
    """A parser or control with its own name in the control plane."""

    symbol: r.BlockSymbol
    path: str
    constructor: dict[Any, Any]
    """What the constructor's parameters stand for."""
    types: Types = field(default_factory=dict)
    """Its type arguments."""
    application_count: int = 1
    """Times that its body is lowered; if more than one, its parameters get separate storage."""
    env: dict[Any, Any] = field(default_factory=dict)
    """What its members stand for: extern and block instances."""
    parameters: list[Value] | None = None
    members: list[ExternRecord | TableRecord | ActionRecord | ValueSetRecord | BlockInstance] = field(
        default_factory=list
    )
    """Members in declaration order; P4Info is printed from them."""
    tables: dict[Any, TableRecord] = field(default_factory=dict)
    actions: dict[Any, ActionRecord] = field(default_factory=dict)
    direct: dict[r.Construct, BlockInstance] = field(default_factory=dict)
    """Instances made where they are applied."""

    def add_applications(self, count: int) -> None:
        """It is applied elsewhere, too."""
        self.application_count += count
        for member in self.members:
            if isinstance(member, BlockInstance):
                member.add_applications(count)


def count_applications(block: Any, counts: dict[Any, int], weight: int = 1) -> None:
    """How often each instance is applied in the statements; those in a loop count twice."""
    for statement in block:
        if isinstance(statement, r.CallStatement) and isinstance(statement.call, r.BlockApply):
            instance = statement.call.instance
            key = instance.symbol if isinstance(instance, r.Ref) else instance
            counts[key] = counts.get(key, 0) + weight
        for name in ("then", "otherwise"):
            count_applications(getattr(statement, name, None) or (), counts, weight)
        for name in ("body", "init", "update"):
            count_applications(getattr(statement, name, None) or (), counts, 2 * weight)
        for case in getattr(statement, "cases", ()):
            count_applications(case.body, counts, weight)


def digest_names(blocks: Iterable[tuple[str, BlockInstance]]) -> dict[r.ExternCall, str]:
    """What the control plane calls each digest: its struct, else ``digest_N``, numbered in the order of the calls."""
    result: dict[r.ExternCall, str] = {}
    unnamed = 0
    for call in digest_calls(blocks):
        name = digest_name(call.type_arguments[0])
        if name is None:
            name, unnamed = f"digest_{unnamed}", unnamed + 1
        result[call] = name
    return result


def digest_name(type_: t.Type) -> str | None:
    """Control-plane name of a struct; None for types without a name."""
    return control_name(type_) if isinstance(type_, t.StructLike) and type_.name else None


def digest_calls(blocks: Iterable[tuple[str, BlockInstance]]) -> Iterator[r.ExternCall]:
    """Calls in controls and their actions, sub-controls' too, in order of declaration."""
    for _, instance in blocks:
        yield from _calls_in(instance)


def _calls_in(instance: BlockInstance) -> Iterator[r.ExternCall]:
    for member in instance.members:
        if isinstance(member, BlockInstance):
            yield from _calls_in(member)
        elif isinstance(getattr(member, "symbol", None), r.ActionSymbol):
            yield from _in_statements(member.symbol.body)  # type: ignore[union-attr]
    yield from _in_statements(instance.symbol.body or [])


def _in_statements(block: Any) -> Iterator[r.ExternCall]:
    for statement in block:
        call = getattr(statement, "call", None)
        if isinstance(call, r.ExternCall) and call.name == "digest":
            yield call
        for name in ("then", "otherwise", "body"):
            yield from _in_statements(getattr(statement, name, None) or ())
        for case in getattr(statement, "cases", ()):
            yield from _in_statements(case.body)
