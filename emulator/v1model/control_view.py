"""The objects of a program that a control plane can access: tables, actions, externs with state, each with its id.

Small and picklable. A switch is controlled by this and needs no IR, so that loading a compiled program from the cache
stays fast. Made by ``emulator.v1model.make_control_view``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from emulator.p4 import ir
from emulator.v1model.metadata import Algorithm

KeyParts: TypeAlias = tuple[tuple[int, int], ...]
"""For each match key (low, high) if its kind is range, else (value, mask) with value within the mask; unsigned. What
matches anything is (0, 0), or the whole range."""

SELECTOR = "selector"


@dataclass(frozen=True, slots=True)
class KeyView:
    id: int
    name: str
    width_bits: int
    match_kind: str


@dataclass(frozen=True, slots=True)
class ActionView:
    id: int
    name: str
    widths_bits: tuple[int, ...]
    """Widths of the parameters."""
    scope: ir.ActionScope


@dataclass(frozen=True, slots=True)
class EntryView:
    """An entry of the program."""

    keys: KeyParts
    action: int
    """Index into the table's actions."""
    params: tuple[int, ...]
    priority: int
    is_const: bool


@dataclass(frozen=True, slots=True)
class TableView:
    id: int
    name: str
    keys: tuple[KeyView, ...]
    """Keys that entries match; selector keys are not among them."""
    actions: tuple[ActionView, ...]
    default: tuple[int, tuple[int, ...]]
    """(index into actions, parameters)."""
    default_is_const: bool
    size: int
    entries: tuple[EntryView, ...]
    entries_are_const: bool
    has_counter: bool
    has_meter: bool = False
    support_timeout: bool = False
    profile: str | None = None
    """Name of its action profile or selector."""

    @property
    def has_priority(self) -> bool:
        """Do entries carry a priority (P4Runtime, "TableEntry")?"""
        return any(k.match_kind in ("ternary", "optional", "range") for k in self.keys)


@dataclass(frozen=True, slots=True)
class ArrayView:
    """A counter, meter or register."""

    id: int
    name: str
    size: int
    width_bits: int


@dataclass(frozen=True, slots=True)
class ProfileView:
    """An action profile, or a selector if it has an algorithm."""

    id: int
    name: str
    size: int
    algorithm: Algorithm | None
    max_group_size: int
    """Largest sum of weights in a group; 0: no separate limit."""
    counts_members: bool
    """``size`` limits members over all groups (``sum_of_members``), not weights."""


@dataclass(frozen=True, slots=True)
class TupleView:
    """A digest's sample, or the select keys of a value set."""

    id: int
    name: str
    widths_bits: tuple[int, ...]
    size: int
    """Size of a value set; 0 for a digest."""
    match_kinds: tuple[str, ...] = ()
    """Match kinds of the fields of a value set."""


@dataclass(frozen=True, slots=True)
class ControlView:
    tables: tuple[TableView, ...]
    counters: tuple[ArrayView, ...]
    registers: tuple[ArrayView, ...]
    meters: tuple[ArrayView, ...] = ()
    profiles: tuple[ProfileView, ...] = ()
    digests: tuple[TupleView, ...] = ()
    value_sets: tuple[TupleView, ...] = ()
