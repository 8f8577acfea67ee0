"""Parsers, controls, tables, actions, and the program that holds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from emulator.p4.ir.expressions import Expr, Header, HeaderStack, Variable
from emulator.p4.ir.statements import Block, ExternInstance
from emulator.p4.ir.types import ActionScope, Annotation, Span, Type


@dataclass(frozen=True, slots=True)
class Masked:
    """Matches when ``key & mask == value & mask``; an exact label has an all-ones mask, ``_`` and default mask 0."""

    value: int
    mask: int


@dataclass(frozen=True, slots=True)
class Between:
    """``low .. high``, both included."""

    low: int
    high: int


KeySet: TypeAlias = Masked | Between


@dataclass(frozen=True, slots=True)
class SelectCase:
    keysets: tuple[KeySet, ...]
    """One for each key of the select; empty when ``value_set`` determines what matches."""
    next_state: str
    value_set: str | None = None
    """Name of a ``ValueSet`` that has as many fields as the select has keys."""


@dataclass(frozen=True, slots=True)
class Select:
    """First case that matches; none: as the architecture defines (bmv2: accept with NoError)."""

    keys: tuple[Expr, ...]
    cases: tuple[SelectCase, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Goto:
    next_state: str
    """A state's name, ``accept`` or ``reject``."""


@dataclass(frozen=True, slots=True)
class State:
    name: str
    body: Block
    transition: Select | Goto
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ValueSetField:
    name: str
    """Control-plane name; empty for a set of plain values."""
    type: Type
    match_kind: str


@dataclass(frozen=True, slots=True)
class ValueSet:
    """A parser value set (section 13.11); the control plane fills it, empty at first."""

    name: str
    """Control-plane name."""
    fields: tuple[ValueSetField, ...]
    size: int
    annotations: tuple[Annotation, ...] = ()
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Parser:
    """Starts in the state ``start``. Sub-parsers are inlined, so there is one state graph."""

    name: str
    states: tuple[State, ...]


# --- Controls, tables, actions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Action:
    """An action that tables can run; ``parameters`` are the control plane's, bound as variables before the body."""

    name: str
    """Control-plane name, e.g. ``Ingress.set_job``, perhaps with a variant's number (`control_plane_action`)."""
    parameters: tuple[Variable, ...]
    body: Block
    annotations: tuple[Annotation, ...] = ()
    span: Span | None = field(default=None, compare=False)


VARIANT = " #"
"""Separator of an action's control-plane name and a number, where tables bind its directed parameters differently."""


def control_plane_action(name: str) -> str:
    """The control-plane name of the `Action` of that name."""
    return name.partition(VARIANT)[0]


@dataclass(frozen=True, slots=True)
class ActionCall:
    action: str
    arguments: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TableAction:
    action: str
    scope: ActionScope = ActionScope.TABLE_AND_DEFAULT
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class TableKey:
    name: str
    """Control-plane name of the match field."""
    value: Expr
    match_kind: str
    """``exact``, ``lpm``, ``ternary``; ``range``, ``optional`` and ``selector`` come with the architecture."""
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class TableEntry:
    """An entry of the program. ``Masked`` serves exact, lpm (mask of leading ones) and ternary keys."""

    keysets: tuple[KeySet, ...]
    call: ActionCall
    priority: int
    """Larger wins, as in P4Runtime; 0 where the table has no priorities."""
    is_const: bool = True
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    keys: tuple[TableKey, ...]
    actions: tuple[TableAction, ...]
    default_action: ActionCall
    default_is_const: bool
    size: int
    entries: tuple[TableEntry, ...] = ()
    entries_are_const: bool = False
    attached: tuple[ExternInstance, ...] = ()
    """Direct counters and meters, an action profile: whatever the architecture's table properties name."""
    annotations: tuple[Annotation, ...] = ()
    span: Span | None = field(default=None, compare=False)
    support_timeout: bool = False
    """Entries may have an idle time-out, so the time of each entry's last hit is kept."""


@dataclass(frozen=True, slots=True)
class Control:
    """A control applied by the architecture; sub-controls are inlined as regions."""

    name: str
    body: Block


@dataclass(frozen=True, slots=True)
class Program:
    """A whole checked program, bound to its architecture's package.

    ``blocks`` maps the package's parameter names (v1model: p, vr, ig, eg, ck, dep) to parsers and controls. Blocks
    share storage: the architecture defines which root (``hdr``, ``meta``, ``standard_metadata``) each of a block's
    parameters stands for, and all names of variables and headers begin with that root.
    """

    name: str
    headers: tuple[Header, ...]
    """All instances, stack elements included."""
    stacks: tuple[HeaderStack, ...]
    variables: tuple[Variable, ...]
    """All but action parameters."""
    blocks: tuple[tuple[str, Parser | Control], ...]
    actions: tuple[Action, ...]
    tables: tuple[Table, ...]
    externs: tuple[ExternInstance, ...]
    errors: tuple[str, ...]
    """Names by number, core.p4's first."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Registers (by name) that lie side by side in memory, cell by cell. Made by the pass ``group_registers``."""
    value_sets: tuple[ValueSet, ...] = ()
    field_lists: tuple[tuple[int, tuple[Variable, ...]], ...] = ()
    """v1model's ``@field_list(n)``: the metadata that copies of a packet keep, by number."""

    def block(self, name: str) -> Parser | Control:
        return dict(self.blocks)[name]

    def table(self, name: str) -> Table:
        return next(t for t in self.tables if t.name == name)

    def action(self, name: str) -> Action:
        return next(a for a in self.actions if a.name == name)
