"""The state that code generation for one LLVM function shares: builder, storage, blocks and regions.

`CodeGen` implements control flow. The rest is passed to its constructor: ``emit_statement`` (``statements.py``),
``externs`` (the architecture's registry), ``hooks`` (what else happens when a table hits or a header changes its
validity), the layout of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from emulator.p4 import ir
from emulator.p4.llvm.bits import (
    I64,
    PTR,
    Builder,
    Value,
    constant,
    i64,
    load,
)
from emulator.p4.llvm.storage import Storage
from emulator.p4.table_layout import TableLayout
from emulator.p4.target import Target

ExternCodeGen: TypeAlias = Callable[["CodeGen", ir.CallExtern], None]


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the architecture adds to statements of the language."""

    on_hit: Callable[[CodeGen, ir.Table, Value], None] = lambda cg, table, entry: None
    """Code after a look-up that hit; ``entry`` is the entry's address."""
    on_miss: Callable[[CodeGen, ir.Table, Value], None] = lambda cg, table, entry: None
    """Code after a look-up that missed, in tables that count or meter; ``entry`` is the default entry's address."""
    on_validity: Callable[[CodeGen, ir.Header, bool, Value], None] = lambda cg, header, valid, was: None
    """Code before ``setValid``/``setInvalid`` on a header whose validity was ``was``."""
    on_loop_limit: Callable[[CodeGen], None] = lambda cg: cg.leave_all()
    """Code in a ``Loop`` that has reached its limit: counts, and drops the packet."""
    select_member: Callable[[CodeGen, ir.Table], Value] = lambda cg, table: i64(0)
    """Hash of a table's selector keys, unsigned, at most 64 bits: which member of a group, modulo their number."""
    unchecked: Mapping[str, Callable[[CodeGen, ir.CallExtern], Value]] = field(default_factory=dict)
    """Externs that are allowed in a ``Repeat``: emits the condition under which all its turns stay in range."""


@dataclass(slots=True)
class Turn:
    """Inside a ``Repeat``: which turns are being emitted, and where private values and headers are meanwhile."""

    index: Value
    """Number of the (first) turn, i64."""
    lanes: int | None
    """Turns done at once, None for one."""
    checked: bool
    """Externs must check their range themselves."""
    private: dict[str, Value] = field(default_factory=dict)
    sources: dict[str, Value] = field(default_factory=dict)
    """Where to read headers that this Repeat overwrites as a whole."""
    written: set[str] = field(default_factory=set)
    """Those of them that this turn has written already."""


@dataclass(slots=True)
class _Region:
    cleanup: ir.Block
    end: Value
    owned: set[str] | None = None
    """Headers owned on all paths to the region's end; None while there is no path."""


@dataclass(slots=True)
class SharedAction:
    action: ir.Action
    start: Any
    back: list[Any] = field(default_factory=list)
    """LLVM blocks to continue in, by the number of the call."""


@dataclass(slots=True)
class CodeGen:
    b: Builder
    program: ir.Program
    storage: Storage
    context: Value
    """Pointer to the context's words (see the architecture's layout)."""
    tables: Mapping[str, TableLayout]
    table_area: Value
    externs: Mapping[str, ExternCodeGen]
    hooks: Hooks
    target: Target
    emit_statement: Callable[[CodeGen, ir.Statement], None]
    shared_names: frozenset[str]
    """Actions with one copy of their code for all callers (``sharing.py``)."""
    value_sets: Mapping[str, TableLayout] = field(default_factory=dict)
    """Parser value sets, in the table area too."""
    ahead: dict[str, Value] = field(default_factory=dict)
    """Cell of each table in which the packet's look-up may have been done already (``lookup_pipelined``)."""
    notes: dict[str, Any] = field(default_factory=dict)
    """The architecture's own values, for its externs."""
    exit_block: Any = None
    """Where ``exit`` leads: the end of the pipeline block being emitted."""
    parse: Any = None
    """State of the parser or deparser being emitted (``emulator.p4.llvm.packet``)."""
    turn: Turn | None = None
    loops: list[tuple[Any, Any]] = field(default_factory=list)
    """LLVM blocks (for ``continue``, for ``break``) of the loops around."""
    regions: list[_Region] = field(default_factory=list)
    actions: dict[str, ir.Action] = field(default_factory=dict)
    exit_owned: set[str] | None = None
    shared: dict[str, SharedAction] = field(default_factory=dict)
    """Those that the control being emitted has run."""

    @property
    def lanes(self) -> int | None:
        return self.turn.lanes if self.turn is not None else None

    # --- Control flow -----------------------------------------------------------------------------------------

    def new_block(self, name: str) -> Any:
        return self.b.append_basic_block(name)

    def _branches(self, arms: list[tuple[Any, ir.Block]], end: Any) -> None:
        """Emit each arm in its LLVM block and join them at ``end``, keeping track of what all arms own."""
        before, after = set(self.storage.owned), None
        for start, body in arms:
            self.b.position_at_end(start)
            self.storage.owned = set(before)
            self.block(body)
            if not self.b.block.is_terminated:
                self.b.branch(end)
                after = set(self.storage.owned) if after is None else after & self.storage.owned
        self.join(end, after)

    def join(self, end: Any, owned: set[str] | None) -> None:
        self.b.position_at_end(end)
        self.storage.owned = owned if owned is not None else set()
        if owned is None:
            self.b.unreachable()

    def block(self, block: ir.Block) -> None:
        """Emit until the end or until the LLVM block is terminated."""
        for statement in block:
            if self.b.block.is_terminated:
                return
            self.emit_statement(self, statement)

    def branch_if(self, condition: Value, then: ir.Block, otherwise: ir.Block) -> None:
        start, other, end = self.new_block("then"), self.new_block("else"), self.new_block("end")
        self.b.cbranch(condition, start, other)
        self._branches([(start, then), (other, otherwise)], end)

    def switch(self, value: Value, cases: list[tuple[tuple[int, ...], ir.Block]], default: ir.Block) -> None:
        other, end = self.new_block("default"), self.new_block("end")
        node = self.b.switch(value, other)
        arms = []
        for values, body in cases:
            start = self.new_block("case")
            for number in values:
                node.add_case(constant(number, value.type.width), start)
            arms.append((start, body))
        self._branches([*arms, (other, default)], end)

    def region(self, body: ir.Block, cleanup: ir.Block = ()) -> None:
        region = _Region(cleanup, self.new_block("leave"))
        self.regions.append(region)
        self.block(body)
        self._leave(region)
        self.regions.pop()
        self.join(region.end, region.owned)
        if not self.b.block.is_terminated:
            self.block(cleanup)

    def _leave(self, region: _Region) -> None:
        if not self.b.block.is_terminated:
            region.owned = self.storage.owned & (self.storage.owned if region.owned is None else region.owned)
            self.b.branch(region.end)

    def leave_region(self) -> None:
        """``return``."""
        if self.regions:
            self._leave(self.regions[-1])
        else:
            self.leave_all()

    def leave_all(self) -> None:
        """``exit``: run the cleanups of all regions, innermost first, and leave the pipeline block."""
        kept = self.regions
        for depth in range(len(kept) - 1, -1, -1):
            self.regions = kept[:depth]
            self.block(kept[depth].cleanup)
        self.regions = kept
        if not self.b.block.is_terminated:
            self.end_block()

    def end_block(self) -> None:
        owned = self.storage.owned
        self.exit_owned = set(owned) if self.exit_owned is None else self.exit_owned & owned
        self.b.branch(self.exit_block)

    # --- For externs ------------------------------------------------------------------------------------------

    def context_word(self, index: int, kind: Any = PTR) -> Value:
        """A word of the context: an address, or a number with ``kind`` I64."""
        return load(self.b, kind, self.context, index * 8, align=8)

    def add_to(self, pointer: Value, amount: Value | int) -> None:
        """``*pointer += amount`` on a 64-bit counter."""
        amount = i64(amount) if isinstance(amount, int) else amount
        old = load(self.b, I64, pointer, 0, align=8)
        self.b.store(self.b.add(old, amount), pointer, align=8)
