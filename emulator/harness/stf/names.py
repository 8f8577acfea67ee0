"""What the names of a test mean in a program: control-plane names, whole or as a suffix.

p4c's rules: a name is itself, else the one candidate that ends with it as text (``t1`` finds ``ingress.my_t1``); two
candidates are an error. Keys have other rules, see `Names.key`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from emulator.harness.stf.errors import refuse
from emulator.v1model.compiled import CompiledProgram
from emulator.v1model.control_view import ActionView, ArrayView, KeyView, TableView


class Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


@dataclass(frozen=True, slots=True)
class Instance:
    """A meter, action profile, value set or direct resource."""

    id: int
    name: str
    size: int
    """Cells; 0 where the thing has none."""
    table_id: int = 0
    """Table of a direct resource."""
    fields: tuple[KeyView, ...] = ()
    """Fields of a value set; one with an empty name for plain values."""


class Names:
    """The names of one program."""

    def __init__(self, program: CompiledProgram) -> None:
        self.tables = program.view.tables
        self.counters = program.view.counters
        self.registers = program.view.registers
        info = program.p4info
        self.parameters = {a.preamble.id: tuple(p.name for p in a.params) for a in info.actions}
        self.meters = tuple(_instance(m, m.size) for m in info.meters)
        self.direct_counters = tuple(_direct(c) for c in info.direct_counters)
        self.direct_meters = tuple(_direct(m) for m in info.direct_meters)
        self.profiles = tuple(_instance(p, p.size) for p in info.action_profiles)
        self.profile_actions = {p.preamble.id: self._actions_of(p.table_ids) for p in info.action_profiles}
        self.digests = tuple(_instance(d, 0) for d in info.digests)
        self.value_sets = tuple(
            Instance(
                v.preamble.id,
                v.preamble.name,
                v.size,
                fields=tuple(KeyView(m.id, m.name, m.bitwidth, _kind(m)) for m in v.match),
            )
            for v in info.value_sets
        )

    def _actions_of(self, table_ids: Iterable[int]) -> tuple[ActionView, ...]:
        chosen = {a.name: a for t in self.tables if t.id in set(table_ids) for a in t.actions}
        return tuple(chosen.values())

    def table(self, line: int, text: str) -> TableView:
        return find(line, "table", text, self.tables)

    def action(self, line: int, table: TableView, text: str) -> ActionView:
        return find(line, f"action of table {table.name}", text, table.actions)

    def counter(self, line: int, text: str) -> ArrayView | Instance:
        candidates: tuple[ArrayView | Instance, ...] = (*self.counters, *self.direct_counters)
        return find(line, "counter", text, candidates)

    def register(self, line: int, text: str) -> ArrayView:
        return find(line, "register", text, self.registers)

    def meter(self, line: int, text: str) -> Instance:
        return find(line, "meter", text, (*self.meters, *self.direct_meters))

    def key(self, line: int, table: TableView, text: str) -> KeyView:
        """A key of a table.

        In this order: ``a$1`` is read as ``a[1]``; the name itself; with a ``$`` or ``.$valid$`` behind it; ``x.valid``
        as ``x.$valid$``; the last key that ends with ``.`` and the name (or that and ``$``); ``valid`` alone is the
        last key that ends in ``.$valid$``.
        """
        expected = re.sub(r"\$([0-9]+)", r"[\1]", text)
        keys = {k.name: k for k in table.keys}
        validity = re.sub(r"\.valid$", ".$valid$", expected)
        for spelling in (expected, f"{expected}$", f"{expected}.$valid$", validity):
            if spelling in keys:
                return keys[spelling]
        endings = (f".{expected}", f".{expected}$", f".{validity}", *((".$valid$",) if expected == "valid" else ()))
        chosen = [k for k in table.keys if k.name.endswith(endings)]
        if not chosen:
            known = ", ".join(keys) or "none"
            raise refuse(line, f"table {table.name} has no key {text!r}; its keys: {known}")
        return chosen[-1]


def find(line: int, what: str, text: str, candidates: Iterable[N]) -> N:
    """The candidate of that name, else the only one with it at the end of its name. Raises `StfError`."""
    every = tuple(candidates)
    exact = [c for c in every if c.name == text]
    if exact:
        return exact[0]
    chosen = [c for c in every if c.name.endswith(text)]
    if len(chosen) == 1:
        return chosen[0]
    if chosen:
        raise refuse(line, f"{text!r} is the end of {' and '.join(c.name for c in chosen)}: write more of the name")
    known = ", ".join(c.name for c in every) or "none"
    raise refuse(line, f"there is no {what} {text!r}; there are: {known}")


def _kind(match: Any) -> str:
    return str(match.MatchType.Name(match.match_type)).lower()


def _instance(message: Any, size: int) -> Instance:
    return Instance(message.preamble.id, message.preamble.name, size)


def _direct(message: Any) -> Instance:
    return Instance(message.preamble.id, message.preamble.name, 0, message.direct_table_id)
