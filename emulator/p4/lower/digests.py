"""The digests a program sends: which ``digest<T>()`` calls its controls make, and what the control plane calls them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.lower.records import BlockInstance
from emulator.p4.p4info.types import control_name


def digest_name(type_: t.Type) -> str | None:
    """Control-plane name of a struct; None for types without a name."""
    return control_name(type_) if isinstance(type_, t.StructLike) and type_.name else None


def digest_calls(blocks: Iterable[tuple[str, BlockInstance]]) -> Iterator[r.ExternCall]:
    """Calls in controls and their actions, sub-controls' too, in order of declaration."""
    for _, instance in blocks:
        yield from _calls_in(instance)


def digest_names(blocks: Iterable[tuple[str, BlockInstance]]) -> dict[r.ExternCall, str]:
    """What the control plane calls each digest: its struct, else ``digest_N``, numbered in the order of the calls."""
    found: dict[r.ExternCall, str] = {}
    unnamed = 0
    for call in digest_calls(blocks):
        name = digest_name(call.type_arguments[0])
        if name is None:
            name, unnamed = f"digest_{unnamed}", unnamed + 1
        found[call] = name
    return found


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
