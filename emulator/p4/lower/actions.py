"""Actions: inlined where they are called, and whole where tables run them."""

from __future__ import annotations

from typing import Any

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.lower.instances import InstanceLowering, ir_annotations
from emulator.p4.lower.records import ActionRecord
from emulator.p4.lower.storage import Value


class ActionLowering(InstanceLowering):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.actions: list[ir.Action] = []
        self.global_actions: dict[Any, ActionRecord] = {}
        self._made_counts: dict[str, int] = {}
        """Actions made of one name: variants, and those of instances that share it by ``@name(".x")``."""
        self.called: list[ActionRecord] = []
        """Those that the statements of the block being lowered call, other actions' statements aside."""
        self._action_depth = 0

    def call_action(self, expr: r.ActionCall) -> Value:
        action = expr.action
        if not self._action_depth:
            record = self.action_record(action)
            if record not in self.called:
                self.called.append(record)
        path = self.instance.path if self.instance is not None and action.owner is not None else ""
        name = f"{path}.{action.name}" if path else action.name
        self._action_depth += 1
        self.inline(name, action.parameters, expr.arguments, action.body, expr, by_reference=False)
        self._action_depth -= 1
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

    def table_action(self, listed: r.TableAction) -> ir.Action:
        """The action as tables run it: the control plane's parameters are variables, the others are bound.

        Each list that binds arguments has a variant of its own; without bound arguments all tables share one. So it is
        where ``@name(".x")`` gives one name to the actions of all instances of a control.
        """
        record = self.action_record(listed.action)
        if record.action is not None and not listed.bound:
            return record.action
        known = record.variants.get(listed)
        if known is not None:
            return known
        self.claim("action", record.name, listed.action.at, record.symbol)
        number = self._made_counts[record.name] = self._made_counts.get(record.name, 0) + 1
        name = record.name if number == 1 else f"{record.name}{ir.VARIANT}{number}"
        made = record.variants[listed] = self._made(record, listed, name)
        record.action = record.action or made
        self.actions.append(made)
        return made

    def _made(self, record: ActionRecord, listed: r.TableAction, name: str) -> ir.Action:
        symbol = listed.action
        parameters = []
        for parameter in symbol.parameters:
            if not parameter.direction:
                parameters.append(self._data_parameter(record, parameter))
        directed = [p for p in symbol.parameters if p.direction]
        outer, self.out = self.out, []
        outer_path, self.path = self.path, record.name
        self._action_depth += 1
        if directed:
            self.inline(record.name, directed, listed.bound, symbol.body, listed, by_reference=False)
        else:
            self.statements(symbol.body)
        self._action_depth -= 1
        body, self.out, self.path = self.out, outer, outer_path
        if body and isinstance(body[-1], ir.Return):
            body.pop()
        return ir.Action(
            name, tuple(parameters), self.with_returns(record.name, tuple(body)), ir_annotations(symbol.annotations),
            self.tokens.span(symbol.at, symbol.end),
        )  # fmt: skip

    def _data_parameter(self, record: ActionRecord, parameter: r.VariableSymbol) -> ir.Variable:
        type_ = self.type(parameter.type)
        if not t.is_scalar(type_):
            self.fail(parameter.at, f"the control plane cannot give a parameter of type {type_}")
        variable = ir.Variable(self.unique(f"{record.name}.{parameter.name}"), self.scalar(type_))
        self.env[parameter] = variable
        return variable

    def with_returns(self, name: str, body: ir.Block) -> ir.Block:
        """A body in which something returns is a region, so that every `ir.Return` has one to leave."""
        return (ir.Region(name, body),) if has_return(body) else body


def has_return(body: ir.Block) -> bool:
    """Whether something outside of inner regions returns."""
    for statement in body:
        if isinstance(statement, ir.Return):
            return True
        branches: tuple[ir.Block, ...] = ()
        if isinstance(statement, ir.If):
            branches = (statement.then, statement.otherwise)
        elif isinstance(statement, ir.Switch):
            branches = (statement.default, *(c.body for c in statement.cases))
        elif isinstance(statement, ir.Loop):
            branches = (statement.prelude, statement.body, statement.update)
        if any(map(has_return, branches)):
            return True
    return False
