"""Instances of controls, with their tables and actions; sub-controls are inlined where they are applied."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from emulator.p4 import ir
from emulator.p4 import resolved as r
from emulator.p4 import syntax as s
from emulator.p4 import types as t
from emulator.p4.errors import Kind
from emulator.p4.key_names import annotation_text, key_name
from emulator.p4.lower_calls import CallLowering
from emulator.p4.lower_storage import Value


@dataclass(eq=False, slots=True)
class ExternRecord:
    instance: ir.ExternInstance
    symbol: r.InstanceSymbol


@dataclass(eq=False, slots=True)
class TableRecord:
    symbol: r.TableSymbol
    name: str
    table: ir.Table | None = None
    """None until it is applied."""
    key_variables: list[ir.Variable | None] = field(default_factory=list)
    """Where a key that hoists something is computed to before each application."""


@dataclass(eq=False, slots=True)
class ActionRecord:
    symbol: r.ActionSymbol
    name: str
    action: ir.Action | None = None
    """None until a table needs it."""
    bound: tuple[r.Bound, ...] = ()


@dataclass(eq=False, slots=True)
class BlockInstance:
    """A parser or control with a name of its own."""

    symbol: r.BlockSymbol
    path: str
    constructor: dict[Any, Any]
    """What the constructor's parameters stand for."""
    application_count: int = 1
    """Places that apply it; with several, its parameters have storage of their own."""
    env: dict[Any, Any] = field(default_factory=dict)
    """What its members stand for: extern and block instances."""
    parameters: list[Value] | None = None
    members: list[ExternRecord | TableRecord | ActionRecord | BlockInstance] = field(default_factory=list)
    """In declaration order; P4Info is printed from them."""
    tables: dict[Any, TableRecord] = field(default_factory=dict)
    actions: dict[Any, ActionRecord] = field(default_factory=dict)


def count_applications(block: Any, counts: dict[Any, int]) -> None:
    """How often each instance is applied in the statements."""
    for statement in block:
        if isinstance(statement, r.CallStatement) and isinstance(statement.call, r.BlockApply):
            instance = statement.call.instance
            if isinstance(instance, r.Ref):
                counts[instance.symbol] = counts.get(instance.symbol, 0) + 1
        for name in ("then", "otherwise"):
            count_applications(getattr(statement, name, None) or (), counts)
        for case in getattr(statement, "cases", ()):
            count_applications(case.body, counts)


class BlockLowering(CallLowering):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.actions: list[ir.Action] = []
        self.tables: list[ir.Table] = []
        self.externs: list[ir.ExternInstance] = []
        self.control_names: dict[str, tuple[str, int]] = {}
        """Control-plane names in use: kind and token."""
        self.instance: BlockInstance | None = None
        """The one being lowered."""
        self.global_actions: dict[Any, ActionRecord] = {}

    # --- names ---------------------------------------------------------------------------------------------------

    def control_name(self, annotations: s.Annotations, path: str, name: str) -> str:
        """``path.name``; ``@name("x")`` replaces the last part, ``@name(".x")`` all of it."""
        text = annotation_text(annotations, "name")
        if text is None:
            return f"{path}.{name}" if path else name
        if text.startswith("."):
            return text[1:]
        return f"{path}.{text}" if path else text

    def claim(self, kind: str, name: str, at: int) -> None:
        """Two objects of one kind cannot share a control-plane name."""
        known = self.control_names.get(f"{kind} {name}")
        if known is not None:
            self.fail(
                at, f"two {kind}s have the control-plane name {name!r}", Kind.DUPLICATE, self.declared_at(known[1])
            )
        self.control_names[f"{kind} {name}"] = (kind, at)

    # --- instances -----------------------------------------------------------------------------------------------

    def extern_instance(self, symbol: r.InstanceSymbol, path: str) -> ir.ExternInstance:
        type_ = symbol.type
        assert isinstance(type_, t.ExternType)
        name = self.control_name(symbol.annotations, path, symbol.name)
        self.claim(type_.name, name, symbol.at)
        arguments: list[int | str] = []
        for bound in symbol.construct.arguments:
            arguments.append(self._constructor_argument(bound))
        type_arguments = tuple(self.scalar(a) for a in type_.arguments if self._is_storable(symbol, a))
        instance = ir.ExternInstance(
            name, type_.name, type_arguments, tuple(arguments), ir_annotations(symbol.annotations),
            self.tokens.span(symbol.construct.at, symbol.end),
        )  # fmt: skip
        self.externs.append(instance)
        return instance

    def _is_storable(self, symbol: r.InstanceSymbol, argument: t.Type) -> bool:
        if not t.is_scalar(argument):
            self.unsupported(symbol, f"{symbol.type}: elements of type {argument}")
        return True

    def _constructor_argument(self, bound: r.Bound) -> int | str:
        value = None if bound.value is None else self.value(bound.value)
        if isinstance(value, ir.Text):
            return value.text
        if not isinstance(value, ir.Constant):
            self.fail(bound.value or self.at, "a constructor's argument must be known at compile time", Kind.CONSTANT)
        type_ = bound.parameter.type
        if isinstance(type_, t.EnumType) and type_.base is None:
            return list(type_.members)[value.value]
        return value.value

    def make_instance(self, symbol: r.BlockSymbol, path: str, arguments: tuple[r.Bound, ...]) -> BlockInstance:
        """An instance with all that is instantiated in it."""
        constructor: dict[Any, Any] = {}
        for parameter, bound in zip(symbol.constructor, arguments, strict=True):
            constructor[parameter] = self._instance_argument(bound)
        instance = BlockInstance(symbol, path, constructor)
        outer, self.env = self.env, {**self.env, **constructor}
        counts: dict[Any, int] = {}
        count_applications(symbol.body or (), counts)
        for state in symbol.states:
            count_applications(state.body, counts)
        for member in symbol.members:
            self._make_member(instance, member, counts)
            self.env.update(instance.env)
        self.env = outer
        return instance

    def _instance_argument(self, bound: r.Bound) -> Any:
        if isinstance(bound.value, r.Construct):
            assert bound.value.block is not None
            return self.make_instance(bound.value.block, bound.value.block.name, bound.value.arguments)
        assert bound.value is not None
        return self.value(bound.value)

    def _make_member(self, instance: BlockInstance, member: r.Symbol, counts: dict[Any, int]) -> None:
        path = instance.path
        if isinstance(member, r.InstanceSymbol) and isinstance(member.type, t.ExternType):
            made = self.extern_instance(member, path)
            instance.env[member] = made
            instance.members.append(ExternRecord(made, member))
        elif isinstance(member, r.InstanceSymbol):
            block = member.construct.block
            if block is None:
                self.unsupported(member, f"an instance of {member.type}")
            name = self.control_name(member.annotations, path, member.name)
            inner = self.make_instance(block, name, member.construct.arguments)
            inner.application_count = counts.get(member, 0)
            instance.env[member] = inner
            instance.members.append(inner)
        elif isinstance(member, r.ActionSymbol):
            record = ActionRecord(member, self.control_name(member.annotations, path, member.name))
            instance.actions[member] = record
            instance.members.append(record)
        elif isinstance(member, r.TableSymbol):
            table = TableRecord(member, self.control_name(member.annotations, path, member.name))
            instance.tables[member] = table
            instance.members.append(table)

    # --- application ---------------------------------------------------------------------------------------------

    def apply_block(self, expr: r.BlockApply) -> Value:
        instance = self.instance_of(expr)
        span = self.tokens.span(expr.at)
        several = instance.application_count > 1
        names: list[Any] = [f"{instance.path}.{p.name}" for p in instance.symbol.parameters]
        if several and instance.parameters is not None:  # its tables know the storage of its first application
            names = instance.parameters
        passing = self.pass_arguments(names, expr.arguments, by_reference=not several, span=span, constants=not several)
        instance.parameters = passing.storage
        self._with_instance(instance, expr, passing, span)
        return None

    def instance_of(self, expr: r.BlockApply) -> BlockInstance:
        if isinstance(expr.instance, r.Construct):  # direct application: an instance named after its type
            assert self.instance is not None
            assert expr.instance.block is not None
            block = expr.instance.block
            made = self.make_instance(block, f"{self.instance.path}.{block.name}", ())
            self.instance.members.append(made)
            return made
        found = self.value(expr.instance)
        assert isinstance(found, BlockInstance)
        return found

    def _with_instance(self, instance: BlockInstance, expr: r.BlockApply, passing: Any, span: ir.Span) -> None:
        outer_instance, outer_path, outer_env = self.instance, self.path, self.env
        self.enter(instance, passing.storage)
        body = self.control_body(instance)
        self.instance, self.path, self.env = outer_instance, outer_path, outer_env
        self.out.append(ir.Region(instance.path, body, self.copy_out(passing, span), span))

    def enter(self, instance: BlockInstance, parameters: list[Value]) -> None:
        """From here on names mean what they mean inside the instance."""
        self.instance, self.path = instance, instance.path
        self.env = {**self.env, **instance.constructor, **instance.env}
        for symbol, storage in zip(instance.symbol.parameters, parameters, strict=True):
            self.env[symbol] = storage

    def control_body(self, instance: BlockInstance) -> ir.Block:
        outer, self.out = self.out, []
        self._locals(instance)
        self.statements(instance.symbol.body or [])
        body, self.out = self.out, outer
        if body and isinstance(body[-1], ir.Return):
            body.pop()
        return tuple(body)

    def _locals(self, instance: BlockInstance) -> None:
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

    # --- actions -------------------------------------------------------------------------------------------------

    def call_action(self, expr: r.ActionCall) -> Value:
        action = expr.action
        path = self.instance.path if self.instance is not None and action.owner is not None else ""
        name = f"{path}.{action.name}" if path else action.name
        self.inline(name, action.parameters, expr.arguments, action.body, expr, by_reference=False)
        return None

    def action_record(self, symbol: r.ActionSymbol) -> ActionRecord:
        assert self.instance is not None
        record = self.instance.actions.get(symbol)
        if record is None:  # a top-level action: as if @name(".action")
            record = self.global_actions.get(symbol)
            if record is None:
                record = ActionRecord(symbol, self.control_name(symbol.annotations, "", symbol.name))
                self.global_actions[symbol] = record
        return record

    def table_action(self, listed: r.TableAction) -> ActionRecord:
        """The action as tables run it: the control plane's parameters are variables, the others are bound."""
        record = self.action_record(listed.action)
        if record.action is not None:
            if listed.bound or record.bound:
                self.unsupported(listed.at, f"action {record.name!r} with arguments in the lists of two tables")
            return record
        symbol = listed.action
        self.claim("action", record.name, symbol.at)
        parameters = []
        for parameter in symbol.parameters:
            if not parameter.direction:
                variable = ir.Variable(self.unique(f"{record.name}.{parameter.name}"), self.scalar(parameter.type))
                parameters.append(variable)
                self.env[parameter] = variable
        directed = [p for p in symbol.parameters if p.direction]
        outer, self.out = self.out, []
        outer_path, self.path = self.path, record.name
        if directed:
            self.inline(record.name, directed, listed.bound, symbol.body, listed, by_reference=False)
        else:
            self.statements(symbol.body)
        body, self.out, self.path = self.out, outer, outer_path
        if body and isinstance(body[-1], ir.Return):
            body.pop()
        record.bound = listed.bound
        record.action = ir.Action(
            record.name, tuple(parameters), self.with_returns(record.name, tuple(body)),
            ir_annotations(symbol.annotations), self.tokens.span(symbol.at, symbol.end),
        )  # fmt: skip
        self.actions.append(record.action)
        return record

    def with_returns(self, name: str, body: ir.Block) -> ir.Block:
        """A body in which something returns is a region, so that every `ir.Return` has one to leave."""
        return (ir.Region(name, body),) if has_return(body) else body

    # --- tables --------------------------------------------------------------------------------------------------

    def apply_table(self, expr: r.TableApply | r.ApplyResult) -> Value:
        apply = expr.apply if isinstance(expr, r.ApplyResult) else expr
        assert self.instance is not None
        record = self.instance.tables[apply.table]
        keys = self._keys(record)
        if record.table is None:
            record.table = self._table(record, keys)
            self.tables.append(record.table)
        hit = action_run = None
        if isinstance(expr, r.ApplyResult):
            if expr.name == "action_run":
                action_run = self.temporary(ir.INDEX)
            else:
                hit = self.temporary(ir.BOOL)
        self.out.append(ir.ApplyTable(record.name, hit, action_run, self.tokens.span(expr.at)))
        if hit is not None:
            assert isinstance(expr, r.ApplyResult)
            return ir.Unary(ir.UnaryOp.NOT, hit, ir.BOOL) if expr.name == "miss" else hit
        return action_run

    def _keys(self, record: TableRecord) -> list[ir.Expr]:
        """The keys' values; what hoists something is computed just before the application."""
        is_first = record.table is None
        values: list[ir.Expr] = []
        for position, key in enumerate(record.symbol.keys):
            before = len(self.out)
            value = self.value(key.value)
            if is_first:
                is_complex = len(self.out) != before
                record.key_variables.append(self.temporary(value.type) if is_complex else None)
            variable = record.key_variables[position]
            if variable is not None:
                self.out.append(ir.Assign(variable, value, self.tokens.span(key.at)))
                value = variable
            values.append(unsigned(value))
        return values

    def _table(self, record: TableRecord, values: list[ir.Expr]) -> ir.Table:
        symbol = record.symbol
        self.claim("table", record.name, symbol.at)
        keys = tuple(
            ir.TableKey(key_name(self, key), value, key.match_kind, ir_annotations(key.annotations))
            for key, value in zip(symbol.keys, values, strict=True)
        )
        actions = []
        for listed in symbol.actions:
            name = self.table_action(listed).name
            actions.append(ir.TableAction(name, self._scope(listed), ir_annotations(listed.annotations)))
        assert symbol.default is not None
        attached = []
        for value, _ in symbol.properties.values():
            found = self.value(value)
            assert isinstance(found, ir.ExternInstance)
            attached.append(found)
        return ir.Table(
            record.name, keys, tuple(actions), self._choice(symbol.default), symbol.default_is_const,
            symbol.size or 1024, self._entries(symbol), symbol.entries_are_const, tuple(attached),
            ir_annotations(symbol.annotations), self.tokens.span(symbol.at, symbol.end),
        )  # fmt: skip

    def _scope(self, listed: r.TableAction) -> ir.ActionScope:
        names = {a.name for a in listed.annotations}
        if {"tableonly", "defaultonly"} <= names:
            self.fail(listed.at, "an action cannot be both @tableonly and @defaultonly")
        if "tableonly" in names:
            return ir.ActionScope.TABLE_ONLY
        return ir.ActionScope.DEFAULT_ONLY if "defaultonly" in names else ir.ActionScope.TABLE_AND_DEFAULT

    def _choice(self, choice: r.ActionChoice) -> ir.ActionCall:
        arguments = []
        for argument in choice.arguments:
            value = self.value(argument)
            if not isinstance(value, ir.Constant):
                self.fail(argument, "the argument must be known at compile time", Kind.CONSTANT)
            arguments.append(value.value)
        return ir.ActionCall(self.action_record(choice.action).name, tuple(arguments))

    def _entries(self, symbol: r.TableSymbol) -> tuple[ir.TableEntry, ...]:
        has_priorities = any(k.match_kind not in ("exact", "lpm") for k in symbol.keys)
        priorities = self._priorities(symbol) if has_priorities else [0] * len(symbol.entries)
        found = []
        for entry, priority in zip(symbol.entries, priorities, strict=True):
            keysets = tuple(
                keyset(k, self.scalar(e.value.type)) for k, e in zip(entry.keyset, symbol.keys, strict=True)
            )
            span = self.tokens.span(entry.at, entry.end)
            found.append(ir.TableEntry(keysets, self._choice(entry.choice), priority, entry.is_const, span))
        return tuple(found)

    def _priorities(self, symbol: r.TableSymbol) -> list[int]:
        """The first entry wins unless priorities are written; an entry without one is just below its predecessor."""
        entries = symbol.entries
        if all(e.priority is None for e in entries):
            return list(range(len(entries), 0, -1))
        found: list[int] = []
        for entry in entries:
            if entry.priority is not None:
                found.append(entry.priority)
            elif not found:
                self.fail(entry.at, "the first entry needs a priority when any has one")
            else:
                found.append(found[-1] - 1)
        return found


def has_return(body: ir.Block) -> bool:
    for statement in body:
        if isinstance(statement, ir.Return):
            return True
        branches: tuple[ir.Block, ...] = ()
        if isinstance(statement, ir.If):
            branches = (statement.then, statement.otherwise)
        elif isinstance(statement, ir.Switch):
            branches = (statement.default, *(c.body for c in statement.cases))
        if any(map(has_return, branches)):
            return True
    return False


def ir_annotations(annotations: s.Annotations) -> tuple[ir.Annotation, ...]:
    return tuple(ir.Annotation(a.name, None if a.tokens is None else " ".join(a.tokens)) for a in annotations)


def unsigned(value: ir.Expr) -> ir.Expr:
    """Keys are compared as bit patterns."""
    if isinstance(value.type, ir.Bits) and value.type.signed:
        return ir.Cast(value, ir.Bits(value.type.width_bits))
    return value


def keyset(expr: r.Expr, type_: ir.Type) -> ir.KeySet:
    """A checked element of a keyset, as bit patterns."""
    ones = (1 << type_.width_bits) - 1 if isinstance(type_, ir.Bits) else 1
    if isinstance(expr, r.DontCare):
        return ir.Masked(0, 0)
    if isinstance(expr, r.Mask):
        assert isinstance(expr.value, r.Literal)
        assert isinstance(expr.mask, r.Literal)
        mask = int(expr.mask.value) & ones
        return ir.Masked(int(expr.value.value) & mask, mask)
    if isinstance(expr, r.Range):
        assert isinstance(expr.low, r.Literal)
        assert isinstance(expr.high, r.Literal)
        return ir.Between(int(expr.low.value) & ones, int(expr.high.value) & ones)
    assert isinstance(expr, r.Literal)
    return ir.Masked(int(expr.value) & ones, ones)
