"""Statements and expressions of one function, written block by block into LLVM.

The emitter knows the language. What it doesn't know it is given: ``externs`` (the architecture's registry), ``hooks``
(what else happens when a table hits or a header changes its validity), the layout of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.layout import width_of
from emulator.p4.llvm import arithmetic, varbits
from emulator.p4.llvm.bits import (
    I64,
    PTR,
    Builder,
    Value,
    at,
    constant,
    i64,
    integer,
    load,
    load_field,
    resize,
    splat,
    store_field,
    swap_bytes,
)
from emulator.p4.llvm.sharing import Sharing, shared_actions
from emulator.p4.llvm.storage import Storage
from emulator.p4.table_layout import TableLayout
from emulator.p4.target import Target

ExternEmitter: TypeAlias = Callable[["Emitter", ir.CallExtern], None]


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the architecture adds to statements of the language."""

    on_hit: Callable[[Emitter, ir.Table, Value], None] = lambda emitter, table, entry: None
    """After a look-up that hit; ``entry`` is the entry's address."""
    on_miss: Callable[[Emitter, ir.Table, Value], None] = lambda emitter, table, entry: None
    """After one that did not, in tables that count or meter; ``entry`` is the default entry's address."""
    on_validity: Callable[[Emitter, ir.Header, bool, Value], None] = lambda emitter, header, valid, was: None
    """Before ``setValid``/``setInvalid`` on a header whose validity was ``was``."""
    on_loop_limit: Callable[[Emitter], None] = lambda emitter: emitter.leave_all()
    """In a ``Loop`` that has gone round too often: counts, and leaves the packet."""
    select_member: Callable[[Emitter, ir.Table], Value] = lambda emitter, table: i64(0)
    """Hash of a table's selector keys, unsigned, at most 64 bits: which member of a group, modulo their number."""
    unchecked: Mapping[str, Callable[[Emitter, ir.CallExtern], Value]] = field(default_factory=dict)
    """For externs that may stand in a ``Repeat``: emits the condition under which all its turns stay in range."""


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
    """What is owned however the region's end is reached; None while nothing reaches it."""


@dataclass(slots=True)
class Emitter:
    b: Builder
    program: ir.Program
    storage: Storage
    context: Value
    """Pointer to the context's words (see the architecture's layout)."""
    tables: Mapping[str, TableLayout]
    table_area: Value
    externs: Mapping[str, ExternEmitter]
    hooks: Hooks
    target: Target
    value_sets: Mapping[str, TableLayout] = field(default_factory=dict)
    """Parser value sets, in the table area too."""
    ahead: dict[str, Value] = field(default_factory=dict)
    """By table, where the packet's look-up may have been done already (``lookup_ahead``)."""
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
    sharing: Sharing = field(init=False)

    def __post_init__(self) -> None:
        self.sharing = Sharing(shared_actions(self.program))

    # --- Expressions ------------------------------------------------------------------------------------------

    def value(self, expr: ir.Expr) -> Value:
        """The expression's value: an integer of its width, or in a vector turn a vector of them."""
        b = self.b
        match expr:
            case ir.Constant(number, kind):
                return constant(number, width_of(kind), self.lanes)
            case ir.Variable():
                return self._read_variable(expr)
            case ir.FieldRef(header, field_):
                return splat(b, self._read_field(header, field_), self.lanes)
            case ir.LaneField():
                return self._read_lane(expr)
            case ir.FieldRun(header, offset, width):
                return self.storage.read_bits(b, header, offset, width)
            case ir.IsValid(header):
                return splat(b, self.storage.valid(b, _plain(header)), self.lanes)
            case ir.Unary(op, operand, _):
                value = self.value(operand)
                return arithmetic.negate(b, value) if op is ir.UnaryOp.NEGATE else arithmetic.complement(b, value)
            case ir.Binary(op, left, right, _) if isinstance(left.type, ir.VarBits):
                same = varbits.equal(self, _varbit_header(left), _varbit_header(right))
                return same if op is ir.BinaryOp.EQ else arithmetic.complement(b, same)
            case ir.Binary(op, left, right, _):
                signed = is_signed(left.type)
                return arithmetic.binary(b, op, self.value(left), self.value(right), signed=signed)
            case ir.Mux() if self.lanes is None and walk.is_long_choice(expr):
                return self._choose(expr)
            case ir.Mux(condition, then, otherwise, _):
                return b.select(self.value(condition), self.value(then), self.value(otherwise))
            case ir.Cast(operand, kind):
                return resize(b, self.value(operand), width_of(kind), signed=is_signed(operand.type))
            case ir.Slice(operand, high, low):
                value = self.value(operand)
                moved = b.lshr(value, arithmetic.like(value, low)) if low else value
                return resize(b, moved, high - low + 1)
            case ir.Concat(left, right, kind):
                width, low = width_of(kind), width_of(right.type)
                high = resize(b, self.value(left), width)
                return b.or_(b.shl(high, constant(low, width, self.lanes)), resize(b, self.value(right), width))
            case ir.PacketLength():
                return resize(b, self.parse.length, 32)
        raise TypeError(f"the pass lower_stacks leaves no {type(expr).__name__}")

    @property
    def lanes(self) -> int | None:
        return self.turn.lanes if self.turn is not None else None

    def invariant(self, expr: ir.Expr) -> Value:
        """The value of an expression that is the same in all turns of a Repeat, as a scalar."""
        turn, self.turn = self.turn, None
        value = self.value(expr)
        self.turn = turn
        return value

    def _choose(self, expr: ir.Mux) -> Value:
        """By branches: LLVM takes minutes over long chains of selects."""
        b = self.b
        then, otherwise, end = (self.new_block(f"mux.{name}") for name in ("then", "else", "end"))
        b.cbranch(self.value(expr.condition), then, otherwise)
        values = []
        for start, part in ((then, expr.then), (otherwise, expr.otherwise)):
            b.position_at_end(start)
            values.append((self.value(part), b.block))
            b.branch(end)
        b.position_at_end(end)
        result = b.phi(values[0][0].type)
        for value, block in values:
            result.add_incoming(value, block)
        return result

    def _read_variable(self, variable: ir.Variable) -> Value:
        if self.turn is not None and variable.name in self.turn.private:
            return self.turn.private[variable.name]
        slot = self.storage.variable(variable)
        return splat(self.b, self.b.load(slot, typ=integer(width_of(variable.type))), self.lanes)

    def _read_field(self, ref: ir.HeaderRef, field_: ir.HeaderField) -> Value:
        header = _plain(ref)
        turn = self.turn
        if turn is not None and header.name in turn.sources:
            return load_field(self.b, self._source(header), field_.offset_bits, field_.width_bits)
        return self.storage.read_bits(self.b, header, field_.offset_bits, field_.width_bits)

    def _source(self, header: ir.Header) -> Value:
        turn = self.turn
        if turn is not None and header.name in turn.sources and header.name not in turn.written:
            return turn.sources[header.name]
        return self.storage.base(self.b, header)

    def _lane_pointer(self, lane: ir.LaneField, base: Value) -> Value:
        assert self.turn is not None
        return at(self.b, base, self.b.mul(self.turn.index, i64(lane.stride_bits // 8)))

    def _read_lane(self, lane: ir.LaneField) -> Value:
        width = width_of(lane.type)
        pointer = self._lane_pointer(lane, self._source(lane.header))
        if self.lanes is None:
            return load_field(self.b, pointer, lane.first.offset_bits, width)
        value = load(self.b, integer(width, self.lanes), pointer, lane.first.offset_bits // 8)
        return swap_bytes(self.b, value)

    def varbits(self, expr: ir.Expr) -> tuple[Value, Value]:
        """(address of the first bit, at the top of a byte; how many bits, i64) of a field of variable width."""
        return varbits.content(self, _varbit_header(expr))

    def assign_varbits(self, target: ir.Place, source: ir.Expr) -> None:
        varbits.assign(self, _varbit_header(target), _varbit_header(source))

    def wire_bytes(self, header: ir.Header) -> Value:
        """Bytes that the header would take on the wire now, i64."""
        return varbits.wire_bytes(self, header)

    # --- Assignment -------------------------------------------------------------------------------------------

    def assign(self, place: ir.Place, value: Value) -> None:
        match place:
            case ir.Variable():
                if self.turn is not None:
                    self.turn.private[place.name] = value
                else:
                    self.b.store(value, self.storage.variable(place))
            case ir.FieldRef(header, field_):
                self.storage.write_bits(self.b, _plain(header), field_.offset_bits, value)
            case ir.LaneField():
                self._write_lane(place, value)

    def _write_lane(self, lane: ir.LaneField, value: Value) -> None:
        assert self.turn is not None
        self.turn.written.add(lane.header.name)
        pointer = self._lane_pointer(lane, self.storage.base(self.b, lane.header))
        width = width_of(lane.type)
        if self.lanes is None:
            store_field(self.b, value, pointer, lane.first.offset_bits, width)
        else:
            self.b.store(swap_bytes(self.b, value), at(self.b, pointer, lane.first.offset_bits // 8), align=1)

    def copy_header(self, target: ir.Header, source: ir.Header) -> None:
        """An invalid source only makes the target invalid."""
        b, storage = self.b, self.storage
        if target.name == source.name:
            return
        valid = storage.valid(b, source)
        storage.set_valid(b, target, valid)
        with b.if_then(valid):
            storage.copy_header(b, target, source)

    def set_validity(self, header: ir.Header, valid: bool) -> None:
        b, storage = self.b, self.storage
        was = storage.valid(b, header)
        self.hooks.on_validity(self, header, valid, was)
        if valid:
            storage.keep_if(b, header, was)
        storage.set_valid(b, header, valid)

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
        """Emit until the end or until the code has left."""
        from emulator.p4.llvm.statements import emit_statement

        for statement in block:
            if self.b.block.is_terminated:
                return
            emit_statement(self, statement)

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
            self._end_block()

    def _end_block(self) -> None:
        owned = self.storage.owned
        self.exit_owned = set(owned) if self.exit_owned is None else self.exit_owned & owned
        self.b.branch(self.exit_block)

    def whole_block(self, body: ir.Block) -> None:
        """A control's body from the architecture's point of view: however it ends, code goes on after it."""
        self.exit_block, self.exit_owned = self.new_block("done"), None
        self.block(body)
        if not self.b.block.is_terminated:
            self._end_block()
        self.sharing.finish(self)
        self.join(self.exit_block, self.exit_owned)

    # --- For externs ------------------------------------------------------------------------------------------

    def context_word(self, index: int, kind: Any = PTR) -> Value:
        """A word of the context: an address, or a number with ``kind`` I64."""
        return load(self.b, kind, self.context, index * 8, align=8)

    def add_to(self, pointer: Value, amount: Value | int) -> None:
        """``*pointer += amount`` on a 64-bit counter."""
        amount = i64(amount) if isinstance(amount, int) else amount
        old = load(self.b, I64, pointer, 0, align=8)
        self.b.store(self.b.add(old, amount), pointer, align=8)


def is_signed(kind: ir.Type) -> bool:
    return isinstance(kind, ir.Bits) and kind.signed


def _plain(ref: ir.HeaderRef) -> ir.Header:
    if not isinstance(ref, ir.Header):
        raise TypeError("the pass lower_stacks leaves plain headers only")
    return ref


plain_header = _plain


def _varbit_header(expr: ir.Expr) -> ir.Header:
    if not isinstance(expr, ir.FieldRef):
        raise TypeError("the pass lower_varbits leaves fields of variable width only")
    return _plain(expr.header)
