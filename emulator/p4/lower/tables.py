"""Tables: lowered where they are applied first; keys are computed before each application."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.annotations import annotation_text
from emulator.p4.check.reporting import fail, warn
from emulator.p4.errors import Kind
from emulator.p4.lower import actions, entries, evaluation, instances, storage
from emulator.p4.lower.context import Context
from emulator.p4.lower.entries import unsigned
from emulator.p4.lower.evaluation import reads
from emulator.p4.lower.instances import ir_annotations
from emulator.p4.lower.records import ExternRecord, TableRecord
from emulator.p4.lower.shapes import Value
from emulator.p4.syntax import tree as s

DEFAULT_SIZE = 1024
"""Size of a table without ``size``, or with size 0 (P4Info shows p4c's rule)."""


def apply(cx: Context, expr: r.TableApply | r.ApplyResult) -> Value:
    apply = expr.apply if isinstance(expr, r.ApplyResult) else expr
    assert cx.instance is not None
    record = cx.instance.tables[apply.table]
    keys = _keys(cx, record)
    if record.table is None:
        record.table = _table(cx, record, keys)
        cx.made.tables.append(record.table)
    hit = action_run = None
    if isinstance(expr, r.ApplyResult):
        if expr.name == "action_run":
            action_run = storage.temporary(cx, ir.INDEX)
        else:
            hit = storage.temporary(cx, ir.BOOL)
    cx.out.append(ir.ApplyTable(record.name, hit, action_run, cx.tokens.span(expr.at)))
    if hit is not None:
        assert isinstance(expr, r.ApplyResult)
        return ir.Unary(ir.UnaryOp.NOT, hit, ir.BOOL) if expr.name == "miss" else hit
    return action_run


def _keys(cx: Context, record: TableRecord) -> list[ir.Expr]:
    """The keys' values, evaluated in order, each as if into a separate variable (section 14.2.3).

    Variables are needed for keys that hoist statements, and for those that a later key's side effects may change.
    """
    lowered = [_hoisted(cx, key) for key in record.symbol.keys]
    if record.table is None:
        for position, (before, value) in enumerate(lowered):
            later = [statement for statements, _ in lowered[position + 1 :] for statement in statements]
            is_kept = bool(before) or reads(value, evaluation.written(cx, later))
            record.key_variables.append(storage.temporary(cx, value.type) if is_kept else None)
    values: list[ir.Expr] = []
    for (before, value), variable, key in zip(lowered, record.key_variables, record.symbol.keys, strict=True):
        cx.out += before
        if variable is not None:
            cx.out.append(ir.Assign(variable, value, cx.tokens.span(key.at)))
        values.append(unsigned(value if variable is None else variable))
    return values


def _hoisted(cx: Context, key: r.KeyElement) -> tuple[list[ir.Statement], ir.Expr]:
    """The statements that must run before a key is read, and its value."""
    outer, cx.out = cx.out, []
    value = _key(cx, key)
    before, cx.out = cx.out, outer
    return before, value


def _key(cx: Context, key: r.KeyElement) -> ir.Expr:
    type_ = cx.type(key.value.type)
    if not t.is_scalar(type_) and not t.is_empty(type_):
        fail(cx, key.node, f"a key cannot have type {type_}")
    value = cx.value(key.value)
    result: ir.Expr = ir.Constant(0, entries.EMPTY_KEY) if t.is_empty(type_) else value
    return result


def _table(cx: Context, record: TableRecord, values: list[ir.Expr]) -> ir.Table:
    symbol = record.symbol
    instances.claim(cx, "table", record.name, symbol.at, record)
    keys = tuple(
        ir.TableKey(key.name, value, key.match_kind, ir_annotations(key.annotations))
        for key, value in zip(symbol.keys, values, strict=True)
    )
    listed = {element.action: element for element in symbol.actions}
    listed_actions = tuple(
        ir.TableAction(actions.table_action(cx, element).name, _scope(element), ir_annotations(element.annotations))
        for element in symbol.actions
    )
    _check_names(cx, record, listed_actions)
    assert symbol.default is not None
    size = 0 if symbol.size is None else instances.known_number(cx, symbol.size, "a table's size", 0)
    return ir.Table(
        record.name, keys, listed_actions, actions.choice(cx, symbol.default, listed), symbol.default_is_const,
        size or DEFAULT_SIZE, entries.table_entries(cx, symbol, listed), symbol.entries_are_const,
        _attached(cx, record), ir_annotations(symbol.annotations), cx.span(symbol),
        symbol.flags.get("support_timeout", False),
    )  # fmt: skip


def _check_names(cx: Context, record: TableRecord, listed: tuple[ir.TableAction, ...]) -> None:
    """The control plane chooses an action by its name."""
    seen: set[str] = set()
    for element, action in zip(record.symbol.actions, listed, strict=True):
        name = ir.control_plane_action(action.action)
        if name in seen:
            fail(cx, element.action.at, f"table {record.name} lists two actions called {name!r}", Kind.DUPLICATE)
        seen.add(name)


def _scope(listed: r.TableAction) -> ir.ActionScope:
    names = {a.name for a in listed.annotations}
    if "tableonly" in names:
        return ir.ActionScope.TABLE_ONLY
    return ir.ActionScope.DEFAULT_ONLY if "defaultonly" in names else ir.ActionScope.TABLE_AND_DEFAULT


def _attached(cx: Context, record: TableRecord) -> tuple[ir.ExternInstance, ...]:
    """The architecture's objects that properties name, or make on the spot."""
    result = []
    for name, (value, at, written) in record.symbol.properties.items():
        if isinstance(value, r.Construct):
            instance = _made_in_property(cx, record, value, at, written)
        else:
            instance = cx.value(value)
        if not isinstance(instance, ir.ExternInstance):
            fail(cx, at, f"{name} must be an extern's instance")
        result.append(instance)
    return tuple(result)


def _made_in_property(
    cx: Context, record: TableRecord, value: r.Construct, at: int, annotations: s.Annotations
) -> ir.ExternInstance:
    """Its control-plane name is the text of the property's @name, without a path.

    As in p4c: control-plane/p4RuntimeArchHandler.cpp, getExternInstanceFromProperty.
    """
    text = annotation_text(annotations, "name")
    if text is None:
        assert isinstance(value.type, t.ExternType)
        text = cx.names.unique(value.type.name)
        warn(cx, at, f"this instance has no @name: it is called {text!r}, and p4c makes no P4Info of it")
    symbol = r.InstanceSymbol(text, value.type, at, value, annotations, at)
    instance = instances.extern_instance(cx, symbol, "")
    assert cx.instance is not None
    members = cx.instance.members
    members.insert(members.index(record), ExternRecord(instance, symbol, cx.types))
    return instance
