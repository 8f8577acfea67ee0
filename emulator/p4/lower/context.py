"""The state that the functions of the lowering share: what is made so far, and the position in the program.

Constructs contain each other: a call's argument is an expression, an action's body a block of statements. This
recursion goes through `Context.value`, `Context.call` and `Context.statements`, which find the construct in the tables
of ``lowering.py``; every other call names the module that it goes to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from emulator.p4 import ir
from emulator.p4.architecture import Architecture
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.reporting import fail
from emulator.p4.errors import Diagnostic, Diagnostics, Kind
from emulator.p4.lower.records import ActionRecord, BlockInstance
from emulator.p4.lower.shapes import Value
from emulator.p4.syntax.source import Tokens

MAX_WRITTEN_OUT = 1 << 17
"""Statements, instances and variables: ten times what the all-reduce program takes at 1,024 lanes."""

Expressions: TypeAlias = Mapping[type, Callable[["Context", Any], Value]]
"""Functions that lower expressions, by the class of the resolved node. Calls are expressions."""
Statements: TypeAlias = Mapping[type, Callable[["Context", Any], None]]


@dataclass(slots=True)
class Made:
    """The parts of the program, in the order in which they were made."""

    headers: list[ir.Header] = field(default_factory=list)
    stacks: list[ir.HeaderStack] = field(default_factory=list)
    variables: list[ir.Variable] = field(default_factory=list)
    externs: list[ir.ExternInstance] = field(default_factory=list)
    value_sets: list[ir.ValueSet] = field(default_factory=list)
    actions: list[ir.Action] = field(default_factory=list)
    tables: list[ir.Table] = field(default_factory=list)
    global_actions: dict[r.ActionSymbol, ActionRecord] = field(default_factory=dict)
    """Top-level actions, which no block declares."""
    called: list[ActionRecord] = field(default_factory=list)
    """Those that the statements of the block being lowered call, other actions' statements aside."""
    calls_setter: bool = False
    """Whether a block calls an extern that becomes assignments."""


@dataclass(slots=True)
class Names:
    """Names in use."""

    storage: set[str] = field(default_factory=set)
    suffixes: dict[str, int] = field(default_factory=dict)
    """Last number appended to each name."""
    control: dict[str, tuple[int, object]] = field(default_factory=dict)
    """Kind and control-plane name, to a token and the owner."""
    variants: dict[str, int] = field(default_factory=dict)
    """Actions made of one name: variants, and those that share it by ``@name(".x")``."""
    actions: dict[str, tuple[r.ActionSymbol, tuple[tuple[str, str], ...]]] = field(default_factory=dict)
    """First action in a table with each control-plane name, and the names and types of its data."""

    def unique(self, name: str) -> str:
        """The name, with a number appended when it is in use."""
        if name not in self.storage:
            self.storage.add(name)
            return name
        number = self.suffixes.get(name, 0)
        while True:
            number += 1
            candidate = f"{name}_{number}"
            if candidate not in self.storage:
                self.suffixes[name] = number
                self.storage.add(candidate)
                return candidate


@dataclass(slots=True)
class Erased:
    """Types erased so far."""

    scalars: dict[t.Type, ir.Type] = field(default_factory=dict)
    header_types: dict[t.Type, ir.HeaderType] = field(default_factory=dict)
    fields: dict[int, dict[str, ir.HeaderField]] = field(default_factory=dict)
    """Fields by identity of the erased header type."""
    empty_varbits: dict[t.VarbitType, ir.Variable] = field(default_factory=dict)
    """Variables that nothing writes."""


@dataclass(slots=True)
class Unions:
    """Which headers are members of header unions."""

    siblings: dict[str, tuple[ir.Header | ir.HeaderStack, ...]] = field(default_factory=dict)
    """Other members of the union, by name of a header or stack that is a member."""
    next_index: dict[str, ir.Variable] = field(default_factory=dict)
    """Next index of a union stack, by name of a stack that is its member."""


@dataclass(slots=True)
class States:
    """A parser's states so far, and the one being lowered."""

    made: list[ir.State] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    name: str = ""
    span: ir.Span | None = None
    out: list[ir.Statement] | None = None
    """Statements of the state being lowered; None outside of parsers."""
    places: dict[str, int] = field(default_factory=dict)
    """Where the source declares the states, by their names here."""


class Scope(NamedTuple):
    """What names mean, and what new ones begin with."""

    instance: BlockInstance | None
    path: str
    env: dict[Any, Any]
    types: dict[t.TypeVariable, t.Type]
    result: Value | None


@dataclass(slots=True)
class Context:
    """The state of one run."""

    tokens: Tokens
    diagnostics: Diagnostics
    architecture: Architecture
    expression_table: Expressions
    statement_table: Statements

    # the whole program's
    refusals: list[Diagnostic] = field(default_factory=list)
    """Legal constructs that the architecture's engines lack."""
    made: Made = field(default_factory=Made)
    names: Names = field(default_factory=Names)
    erased: Erased = field(default_factory=Erased)
    unions: Unions = field(default_factory=Unions)
    errors: dict[str, int] = field(default_factory=dict)
    """Error numbers by name."""
    data_names: dict[r.ExternCall, str] = field(default_factory=dict)
    """Control-plane names of the data that calls of form NAMED send."""
    shared: dict[str, Value] = field(default_factory=dict)
    """The storage that blocks share, by its root: the architecture's names for the blocks' parameters."""
    effects: dict[int, tuple[ir.Statement, frozenset[str] | None]] = field(default_factory=dict)
    """What compound statements write (``evaluation.written``), by identity. The statement is kept with it, so that no
    other one can get its identity."""
    spent: int = 0
    """Parts written out so far (`spend`)."""

    # the place in the program
    at: int = 0
    """The token that errors without a better place are reported at."""
    out: list[ir.Statement] = field(default_factory=list)
    """Statements of the block being lowered; what expressions hoist goes there, too."""
    block_name: str = ""
    """The package parameter of the block that is being lowered."""
    instance: BlockInstance | None = None
    """The instance being lowered."""
    path: str = ""
    """Prefix of the names made now."""
    env: dict[Any, Any] = field(default_factory=dict)
    """What each symbol stands for now: storage, a value, an extern instance, a block instance."""
    types: dict[t.TypeVariable, t.Type] = field(default_factory=dict)
    """Type arguments of the functions and blocks being inlined."""
    result: Value | None = None
    """Where the function being inlined puts its result."""
    action_depth: int = 0
    """Actions around the statements being lowered."""
    states: States = field(default_factory=States)

    # --- constructs in constructs --------------------------------------------------------------------------------

    def value(self, expr: r.Expr) -> Value:
        """An expression's value; what has side effects goes into ``out`` first."""
        self.at = expr.at
        return self.expression_table[type(expr)](self, expr)

    def call(self, expr: r.Expr) -> Value:
        """A call as a statement: errors without a better place are reported at the statement before."""
        return self.expression_table[type(expr)](self, expr)

    def statements(self, block: r.Block) -> None:
        """Into ``out``; what follows a return is left out, as p4c does: its tables and actions are not in P4Info."""
        for statement in block:
            self.spend(statement.at)
            self.statement_table[type(statement)](self, statement)
            if returns(self.out):
                break

    def body(self, block: r.Block) -> ir.Block:
        """Statements of a nested block."""
        outer, self.out = self.out, []
        self.statements(block)
        result, self.out = self.out, outer
        return tuple(result)

    def spend(self, at: int) -> None:
        """Called for everything that is written out; refuses programs that double with each call or instance."""
        self.spent += 1
        if self.spent > MAX_WRITTEN_OUT:
            text = f"with its calls and instances written out this program has more than {MAX_WRITTEN_OUT} parts"
            fail(self, at, text, Kind.TARGET)

    # --- scope ---------------------------------------------------------------------------------------------------

    def scope(self) -> Scope:
        return Scope(self.instance, self.path, self.env, self.types, self.result)

    def restore(self, scope: Scope) -> None:
        self.instance, self.path, self.env, self.types, self.result = scope

    def type(self, type_: t.Type) -> t.Type:
        """The type with its variables replaced by what they stand for here."""
        return t.substitute(type_, self.types) if self.types else type_

    def span(self, node: Any) -> ir.Span:
        return self.tokens.span(node.at, getattr(node, "end", None))


def returns(block: Sequence[ir.Statement]) -> bool:
    """Whether the end of these statements is never reached, as they return on every way."""
    last = block[-1] if block else None
    if isinstance(last, ir.If):
        return returns(last.then) and returns(last.otherwise)
    return isinstance(last, ir.Return)
