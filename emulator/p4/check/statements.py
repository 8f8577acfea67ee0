"""Statements in actions, functions, apply blocks and parser states (section 12)."""

from __future__ import annotations

from typing import Any

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.base import Where
from emulator.p4.check.calls import CallChecker
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s

_CALLS = (r.BuiltinCall, r.ExternCall, r.FunctionCall, r.ActionCall, r.TableApply, r.BlockApply)


class StatementChecker(CallChecker):
    return_type: t.Type = t.VOID
    loop_depth = 0
    """Loops around the statement being checked."""

    def block(self, node: s.BlockStatement) -> r.Block:
        with self.scope():
            return self.statements(node.body)

    def statements(self, nodes: tuple[s.Statement, ...]) -> r.Block:
        found: r.Block = []
        for node in nodes:
            try:
                _STATEMENTS[type(node)](self, node, found)
            except Abandoned:
                if isinstance(node, s.Variable | s.Constant | s.Instantiation):
                    self._declare_unknown(node)
        return found

    def _declare_unknown(self, node: s.Variable | s.Constant | s.Instantiation) -> None:
        """So that a wrong declaration is one error, not one for each use of the name."""
        if node.name not in self.scopes[-1]:
            self.scopes[-1][node.name] = r.VariableSymbol(node.name, t.UNKNOWN, node.name_at)

    def one(self, node: s.Statement) -> r.Block:
        """A branch of an if: a block of its own even without braces."""
        if isinstance(node, s.BlockStatement):
            return self.block(node)
        with self.scope():
            return self.statements((node,))

    # --- simple statements ---------------------------------------------------------------------------------------

    def _assign(self, node: s.Assign, out: r.Block) -> None:
        target = self.value(node.target)
        if isinstance(target.type, t.ExternType | t.BlockType | t.TableType | t.ActionType):
            self.fail(node.target, f"{target.type} cannot be assigned to")
        self.require_lvalue(target, node.target, "assignment")
        if node.op == "=":
            out.append(r.Assign(node.at, node.end, target, self.typed(node.value, target.type, "assignment")))
            return
        held = r.VariableSymbol("", target.type, node.at)
        left, right = r.Ref(target.at, target.type, held), self.value(node.value)
        computed = self.operator(node, node.op[:-1], left, right, node.value)
        value = self.coerce(computed, target.type, node, f"assignment with {node.op!r}")
        out.append(r.Update(node.at, node.end, target, held, value))

    def _call(self, node: s.CallStatement, out: r.Block) -> None:
        call = self.call(node.call)
        if isinstance(call, r.Construct):
            self.fail(node, "an instance needs a name")
        if isinstance(call, _CALLS):
            out.append(r.CallStatement(node.at, node.end, call))

    def _variable(self, node: s.Variable, out: r.Block) -> None:
        type_ = self.storable_type(node.type, f"the variable {node.name!r}")
        value = None if node.value is None else self.typed(node.value, type_, f"initial value of {node.name!r}")
        symbol = r.VariableSymbol(node.name, type_, node.name_at, annotations=node.annotations)
        self.declare(node.name, symbol, node.name_at)
        self.variables.append(symbol)
        out.append(r.Declare(node.at, node.end, symbol, value))

    def _constant(self, node: s.Constant, out: r.Block) -> None:
        self.constant(node)

    def constant(self, node: s.Constant) -> r.ConstantSymbol:
        type_ = self.type_of(node.type)
        value = self.typed(node.value, type_, f"value of the constant {node.name!r}")
        if value.type is not t.UNKNOWN and not self.is_constant(value):
            self.fail(
                node.value, f"the value of the constant {node.name!r} must be known at compile time", Kind.CONSTANT
            )
        symbol = r.ConstantSymbol(node.name, type_, node.name_at, value, self.base_of(node.value))
        self.declare(node.name, symbol, node.name_at)
        return symbol

    def _instantiation(self, node: s.Instantiation, out: r.Block) -> None:
        self.fail(node, f"nothing can be instantiated in {self.where}", Kind.PLACE)

    def _empty(self, node: s.Empty, out: r.Block) -> None:
        pass

    # --- control flow --------------------------------------------------------------------------------------------

    def _block(self, node: s.BlockStatement, out: r.Block) -> None:
        out.extend(self.block(node))

    def _if(self, node: s.If, out: r.Block) -> None:
        condition = self.typed(node.condition, t.BOOL, "the condition of 'if'")
        then = self.one(node.then)
        otherwise = [] if node.otherwise is None else self.one(node.otherwise)
        out.append(r.If(node.at, node.end, condition, then, otherwise))

    def _return(self, node: s.Return, out: r.Block) -> None:
        if self.where in (Where.STATE, Where.PARSER):
            self.fail(node, "return cannot be used in a parser", Kind.PLACE)
        value = None
        if node.value is None:
            if self.where is Where.FUNCTION and self.return_type is not t.VOID:
                self.fail(node, f"return needs a value of type {self.return_type}")
        elif self.where is not Where.FUNCTION or self.return_type is t.VOID:
            self.fail(node, f"return cannot give a value in {self.where}")
        else:
            value = self.typed(node.value, self.return_type, "return")
        out.append(r.Return(node.at, node.end, value))

    def _exit(self, node: s.Exit, out: r.Block) -> None:
        if self.where in (Where.STATE, Where.PARSER, Where.FUNCTION):
            self.fail(node, f"exit cannot be used in {self.where}", Kind.PLACE)
        out.append(r.Exit(node.at, node.end))

    # --- loops ---------------------------------------------------------------------------------------------------

    def _for(self, node: s.For, out: r.Block) -> None:
        self._check_loop(node)
        with self.scope():
            init = self.statements(node.init)
            condition = self.typed(node.condition, t.BOOL, "the condition of 'for'")
            update = self.statements(node.update)
            body = self._loop_body(node.body)
        out.append(r.For(node.at, node.end, init, condition, update, body))

    def _for_in(self, node: s.ForIn, out: r.Block) -> None:
        self._check_loop(node)
        type_ = self.storable_type(node.type, f"the loop's variable {node.name!r}")
        collection = self._collection(node.collection, type_)
        symbol = r.VariableSymbol(node.name, type_, node.type.at)
        with self.scope():
            self.declare(node.name, symbol, node.type.at)
            body = self._loop_body(node.body)
        out.append(r.ForIn(node.at, node.end, symbol, collection, body))

    def _collection(self, node: s.Expr, type_: t.Type) -> r.Expr:
        """What a loop goes over: a range of numbers, a list, or a header stack."""
        if isinstance(node, s.RangeOf):
            if not isinstance(type_, t.BitsType) or not type_.width:
                self.fail(node, f"a range has numbers, the loop's variable has type {type_}")
            low, high = self.typed(node.low, type_, "a range's start"), self.typed(node.high, type_, "a range's end")
            return r.Range(node.at, t.set_of(type_), low, high)
        found = self.value(node)
        if isinstance(found, r.Aggregate):
            items = tuple(self.coerce(item, type_, item.at, "an element of the loop's list") for item in found.items)
            return r.Aggregate(node.at, t.list_of(type_), items)
        element = found.type.element if isinstance(found.type, t.StackType | t.ListType) else None
        if element is None and found.type is not t.UNKNOWN:
            self.fail(node, f"a loop goes over a range, a list or a header stack, not over {found.type}")
        if element is not type_ and found.type is not t.UNKNOWN:
            self.fail(node, f"the loop's variable has type {type_}, the elements have type {element}")
        return found

    def _check_loop(self, node: s.For | s.ForIn) -> None:
        if self.where in (Where.STATE, Where.PARSER):
            self.fail(node.at, "a loop cannot be used in a parser", Kind.PLACE)

    def _loop_body(self, node: s.Statement) -> r.Block:
        self.loop_depth += 1
        try:
            return self.one(node)
        finally:
            self.loop_depth -= 1

    def _break(self, node: s.Break, out: r.Block) -> None:
        self._check_in_loop(node, "break")
        out.append(r.Break(node.at, node.end))

    def _continue(self, node: s.Continue, out: r.Block) -> None:
        self._check_in_loop(node, "continue")
        out.append(r.Continue(node.at, node.end))

    def _check_in_loop(self, node: s.Statement, word: str) -> None:
        if not self.loop_depth:
            self.fail(node, f"{word} can only be used in a loop", Kind.PLACE)

    # --- switch --------------------------------------------------------------------------------------------------

    def _switch(self, node: s.Switch, out: r.Block) -> None:
        if self.where in (Where.STATE, Where.PARSER):
            self.fail(node.at, "switch cannot be used in a parser", Kind.PLACE)
        value = self.value(node.value)
        on_actions = isinstance(value.type, t.ActionRunType)
        if not on_actions:
            value = self._switch_value(node, value)
        cases: list[r.SwitchCase] = []
        seen: set[int] = set()
        labels: list[int] = []
        has_default = is_default = False
        for case in node.cases:
            if has_default:
                self.fail(case, "no label can follow the label 'default'")
            if isinstance(case.label, s.DontCare):
                is_default = has_default = True
            else:
                label = (
                    self._action_label(case.label, value.type) if on_actions else self._label(case.label, value.type)
                )
                if label in seen:
                    self.fail(case.label, "this label stands twice in the switch", Kind.DUPLICATE)
                seen.add(label)
                labels.append(label)
            if case.body is not None:
                cases.append(r.SwitchCase(tuple(labels), is_default, self.block(case.body)))
                labels, is_default = [], False
        if labels or is_default:
            self.warn(node.cases[-1], "the last label of this switch has no statements")
        out.append(r.Switch(node.at, node.end, value, tuple(cases)))

    def _switch_value(self, node: s.Switch, value: r.Expr) -> r.Expr:
        if value.type is t.INT:
            self.fail(node.value, "the width of the switch's expression cannot be inferred")
        if not t.is_scalar(value.type) or value.type is t.BOOL:
            if value.type is t.UNKNOWN:
                raise Abandoned
            self.fail(node.value, f"a switch cannot be made on {value.type}")
        return value

    def _label(self, node: s.Expr, type_: t.Type) -> int:
        found = self.typed(node, type_, "a switch's label")
        if not isinstance(found, r.Literal):
            self.fail(node, "a switch's label must be known at compile time", Kind.CONSTANT)
        return int(found.value)

    def _action_label(self, node: s.Expr, type_: t.Type) -> int:  # noqa: RET503
        """An action's position in the table's list."""
        assert isinstance(type_, t.ActionRunType)
        table: r.TableSymbol = type_.table
        if not isinstance(node, s.Name):
            self.fail(node, "a label of this switch must be an action's name")
        symbol = self.find(node.name, node.is_absolute)
        for position, listed in enumerate(table.actions):
            if listed.action is symbol:
                return position
        self.fail(node, f"{node.name!r} is not an action of table {table.name!r}", Kind.NAME)


_STATEMENTS: dict[Any, Any] = {
    s.Assign: StatementChecker._assign,
    s.CallStatement: StatementChecker._call,
    s.Variable: StatementChecker._variable,
    s.Constant: StatementChecker._constant,
    s.Instantiation: StatementChecker._instantiation,
    s.Empty: StatementChecker._empty,
    s.BlockStatement: StatementChecker._block,
    s.If: StatementChecker._if,
    s.Return: StatementChecker._return,
    s.Exit: StatementChecker._exit,
    s.For: StatementChecker._for,
    s.ForIn: StatementChecker._for_in,
    s.Break: StatementChecker._break,
    s.Continue: StatementChecker._continue,
    s.Switch: StatementChecker._switch,
}
