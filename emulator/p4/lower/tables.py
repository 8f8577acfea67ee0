"""Tables: lowered where they are applied first; keys are computed before each application."""

from __future__ import annotations

from typing import Any

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.key_names import annotation_text
from emulator.p4.check.priorities import has_priorities, ir_priorities
from emulator.p4.errors import Kind
from emulator.p4.lower.actions import ActionLowering
from emulator.p4.lower.effects import reads
from emulator.p4.lower.entries import keyset
from emulator.p4.lower.instances import ir_annotations
from emulator.p4.lower.records import ExternRecord, TableRecord
from emulator.p4.lower.storage import Value
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.lexer import integer_value

DEFAULT_SIZE = 1024
"""Of a table without ``size``, or with size 0 (P4Info shows p4c's rule)."""


class TableLowering(ActionLowering):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.tables: list[ir.Table] = []

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

    # --- keys ----------------------------------------------------------------------------------------------------

    def _keys(self, record: TableRecord) -> list[ir.Expr]:
        """The keys' values, evaluated in order, each as if into a variable of its own (section 14.2.3).

        Variables are needed for what hoists something, and for what a later key's side effects may change.
        """
        lowered = [self._hoisted(key) for key in record.symbol.keys]
        if record.table is None:
            for position, (before, value) in enumerate(lowered):
                later = [statement for statements, _ in lowered[position + 1 :] for statement in statements]
                is_kept = bool(before) or reads(value, self.effects.written(later))
                record.key_variables.append(self.temporary(value.type) if is_kept else None)
        values: list[ir.Expr] = []
        for (before, value), variable, key in zip(lowered, record.key_variables, record.symbol.keys, strict=True):
            self.out += before
            if variable is not None:
                self.out.append(ir.Assign(variable, value, self.tokens.span(key.at)))
            values.append(unsigned(value if variable is None else variable))
        return values

    def _hoisted(self, key: r.KeyElement) -> tuple[list[ir.Statement], ir.Expr]:
        """What has to run before a key's value, and the value."""
        outer, self.out = self.out, []
        value = self._key(key)
        before, self.out = self.out, outer
        return before, value

    def _key(self, key: r.KeyElement) -> ir.Expr:
        type_ = self.type(key.value.type)
        if not t.is_scalar(type_):
            self.fail(key.node, f"a key cannot have type {type_}")
        found: ir.Expr = self.value(key.value)
        return found

    # --- the table -----------------------------------------------------------------------------------------------

    def _table(self, record: TableRecord, values: list[ir.Expr]) -> ir.Table:
        symbol = record.symbol
        self.claim("table", record.name, symbol.at, record)
        keys = tuple(
            ir.TableKey(key.name, value, key.match_kind, ir_annotations(key.annotations))
            for key, value in zip(symbol.keys, values, strict=True)
        )
        listed = {element.action: element for element in symbol.actions}
        actions = tuple(
            ir.TableAction(self.table_action(element).name, self._scope(element), ir_annotations(element.annotations))
            for element in symbol.actions
        )
        assert symbol.default is not None
        size = 0 if symbol.size is None else self.known_number(symbol.size, "a table's size", 0)
        return ir.Table(
            record.name, keys, actions, self._choice(symbol.default, listed), symbol.default_is_const,
            size or DEFAULT_SIZE, self._entries(symbol, listed), symbol.entries_are_const, self._attached(record),
            ir_annotations(symbol.annotations), self.tokens.span(symbol.at, symbol.end),
            symbol.flags.get("support_timeout", False),
        )  # fmt: skip

    def _scope(self, listed: r.TableAction) -> ir.ActionScope:
        names = {a.name for a in listed.annotations}
        if "tableonly" in names:
            return ir.ActionScope.TABLE_ONLY
        return ir.ActionScope.DEFAULT_ONLY if "defaultonly" in names else ir.ActionScope.TABLE_AND_DEFAULT

    def _attached(self, record: TableRecord) -> tuple[ir.ExternInstance, ...]:
        """The architecture's objects that properties name, or make on the spot."""
        found = []
        for name, (value, at, written) in record.symbol.properties.items():
            if isinstance(value, r.Construct):
                instance = self._made_in_property(record, value, at, written)
            else:
                instance = self.value(value)
            if not isinstance(instance, ir.ExternInstance):
                self.fail(at, f"{name} must be an extern's instance")
            found.append(instance)
        return tuple(found)

    def _made_in_property(
        self, record: TableRecord, value: r.Construct, at: int, annotations: s.Annotations
    ) -> ir.ExternInstance:
        """Its control-plane name is the text of the property's @name, without a path.

        As in p4c: control-plane/p4RuntimeArchHandler.cpp, getExternInstanceFromProperty.
        """
        text = annotation_text(annotations, "name")
        if text is None:
            self.fail(at, "an instance made in a table's property needs a @name annotation on the property")
        symbol = r.InstanceSymbol(text, value.type, at, value, annotations, at)
        instance = self.extern_instance(symbol, "")
        assert self.instance is not None
        members = self.instance.members
        members.insert(members.index(record), ExternRecord(instance, symbol, self.types))
        return instance

    def _choice(self, choice: r.ActionChoice, listed: dict[r.ActionSymbol, r.TableAction]) -> ir.ActionCall:
        arguments = []
        for argument in choice.arguments:
            value = self.value(argument)
            if not isinstance(value, ir.Constant):
                self.fail(argument, "the argument must be known at compile time", Kind.CONSTANT)
            arguments.append(value.value)
        return ir.ActionCall(self.table_action(listed[choice.action]).name, tuple(arguments))

    # --- entries -------------------------------------------------------------------------------------------------

    def _entries(self, symbol: r.TableSymbol, listed: dict[r.ActionSymbol, r.TableAction]) -> tuple[ir.TableEntry, ...]:
        priorities = [0] * len(symbol.entries)
        if has_priorities(symbol):
            priorities = ir_priorities(symbol, [self._position(entry) for entry in symbol.entries])
        found: list[ir.TableEntry] = []
        seen: set[object] = set()
        for entry, priority in zip(symbol.entries, priorities, strict=True):
            keysets = tuple(
                self._keyset(shape, self.scalar(self.type(key.value.type)), key.match_kind)
                for shape, key in zip(entry.keyset, symbol.keys, strict=True)
            )
            if (keysets, priority) in seen:
                self.warn(entry.at, "an entry with these keys stands before this one, which can never match")
                continue
            seen.add((keysets, priority))
            span = self.tokens.span(entry.at, entry.end)
            found.append(ir.TableEntry(keysets, self._choice(entry.choice, listed), priority, entry.is_const, span))
        return tuple(found)

    def _keyset(self, shape: r.Expr, type_: ir.Type, match_kind: str) -> ir.KeySet:
        found = keyset(tuple(self.value(part) for part in keyset_parts(shape)), shape, type_, match_kind)
        if found is None and isinstance(shape, r.Range):
            self.fail(shape, "an entry: the target takes no range of signed numbers across zero", Kind.TARGET)
        if found is None:
            self.fail(shape, "an entry: the value must be known at compile time", Kind.CONSTANT)
        return found

    def _position(self, entry: r.Entry) -> int | None:
        """``@priority(n)``, which bmv2's entries carry in place of their position."""
        for annotation in entry.annotations:
            if annotation.name == "priority":
                literal = integer_value(annotation.tokens[0]) if annotation.tokens else None
                if literal is None or len(annotation.tokens or ()) != 1:
                    self.fail(annotation, "@priority takes one number", Kind.CONSTANT)
                return literal[0]
        return None


def keyset_parts(shape: r.Expr) -> tuple[r.Expr, ...]:
    """The numbers in a checked keyset."""
    if isinstance(shape, r.DontCare):
        return ()
    if isinstance(shape, r.Mask):
        return shape.value, shape.mask
    return (shape.low, shape.high) if isinstance(shape, r.Range) else (shape,)


def unsigned(value: ir.Expr) -> ir.Expr:
    """Keys are compared as bit patterns."""
    if isinstance(value.type, ir.Bits) and value.type.signed:
        return ir.Cast(value, ir.Bits(value.type.width_bits))
    return value
