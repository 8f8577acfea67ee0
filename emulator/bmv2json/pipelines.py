"""The two pipelines: tables, conditions and action calls that name what follows, as a control's body."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.bmv2json import expressions
from emulator.bmv2json.actions import JsonAction
from emulator.bmv2json.client_p4info import ClientP4Info
from emulator.bmv2json.document import Node
from emulator.bmv2json.flow import Cycle, FlowNode, structure
from emulator.bmv2json.objects import Objects
from emulator.bmv2json.storage import Storage
from emulator.bmv2json.tables import JsonTable, TableReader
from emulator.p4 import ir

HIT, MISS = "__HIT__", "__MISS__"
SYNTHESISED = "tbl_"
"""p4c's name for the tables that it wraps statements of a control in begins so."""


class PipelineReader:
    """One pipeline; tables that only wrap statements are left out, their action is put where they are applied."""

    def __init__(
        self, node: Node, storage: Storage, objects: Objects, actions: Mapping[int, JsonAction], client: ClientP4Info,
        table_reader: TableReader,
    ) -> None:  # fmt: skip
        self.node = node
        self.storage = storage
        self.objects = objects
        self.actions = actions
        self.client = client
        self.table_reader = table_reader
        self.tables: list[ir.Table] = []
        self.nodes: dict[str, FlowNode[str]] = {}
        self.declared: dict[str, Node] = {}

    def read(self) -> ir.Control:
        kinds = (
            ("tables", self._table), ("conditionals", self._conditional), ("action_calls", self._action_call),
        )  # fmt: skip
        for kind, _ in kinds:
            for node in self.node.list(kind):
                name = node["name"].name()
                if name in self.declared:
                    node["name"].fail("something else in this pipeline has this name")
                self.declared[name] = node
        for kind, read in kinds:
            for node in self.node.list(kind):
                self.nodes[node["name"].text()] = read(node)
        name = self.node["name"].name()
        entry = self._next(self.node, "init_table")
        try:
            body = structure(entry, self.nodes, lambda: self.storage.variable(f"{name}.$node", ir.INDEX))
        except Cycle as cycle:
            self.declared[cycle.args[0]].fail("a packet would come here again and again: the pipeline goes round")
        return ir.Control(name, body)

    def _next(self, node: Node, key: str) -> str | None:
        """The name of what follows; None is the end."""
        following = node.get(key)
        if following is None:
            return None
        name = following.text()
        if name not in self.declared:
            following.fail(f"there is no table or condition {name!r} in this pipeline")
        return name

    # --- conditions and action calls ---------------------------------------------------------------------------------

    def _conditional(self, node: Node) -> FlowNode[str]:
        cx = expressions.new_context(self.storage, self.objects)
        condition = expressions.truth(cx, node["expression"])
        before, span = tuple(cx.out), node.span()
        then, otherwise = self._next(node, "true_next"), self._next(node, "false_next")
        if then == otherwise:
            return FlowNode((then,), lambda branches: (*before, *branches[0]))

        def build(branches: tuple[ir.Block, ...]) -> ir.Block:
            return (*before, ir.If(condition, branches[0], branches[1], span))

        return FlowNode((then, otherwise), build)

    def _action_call(self, node: Node) -> FlowNode[str]:
        number = node["action_id"]
        if number.number() not in self.actions:
            number.fail(f"there is no action with id {number.value}")
        action = self.actions[number.number()].action
        if action.parameters:
            number.fail(f"action {action.name} takes values, which nobody gives here")
        statements = _inlined(action, node.span())
        return FlowNode((self._next(node, "next_node"),), lambda branches: (*statements, *branches[0]))

    # --- tables ------------------------------------------------------------------------------------------------------

    def _table(self, node: Node) -> FlowNode[str]:
        made = self.table_reader.read(node)
        following = self._successors(node, made)
        if self._is_wrapper(made.table):
            return self._wrapper(made, following, node)
        self.tables.append(made.table)
        name, span = made.table.name, node.span()
        if isinstance(following, tuple):
            return self._after_hit(name, following, span)
        distinct = tuple(dict.fromkeys(following.values()))
        if len(distinct) == 1:
            return FlowNode(distinct, lambda branches: (ir.ApplyTable(name, span=span), *branches[0]))
        ran = self.storage.variable(f"{name}.$action_run", ir.INDEX)
        otherwise = self._next(node, "base_default_next")
        if otherwise not in distinct:
            distinct = (*distinct, otherwise)

        def build(branches: tuple[ir.Block, ...]) -> ir.Block:
            cases = tuple(
                ir.SwitchCase(tuple(i for i, target in following.items() if target == each), branch)
                for each, branch in zip(distinct, branches, strict=True)
                if each != otherwise
            )
            default = branches[distinct.index(otherwise)]
            return (ir.ApplyTable(name, None, ran, span), ir.Switch(ran, cases, default, span))

        return FlowNode(distinct, build)

    def _after_hit(self, name: str, following: tuple[str | None, str | None], span: ir.Span | None) -> FlowNode[str]:
        hit = self.storage.variable(f"{name}.$hit", ir.BOOL)
        if following[0] == following[1]:
            return FlowNode(following[:1], lambda branches: (ir.ApplyTable(name, span=span), *branches[0]))

        def build(branches: tuple[ir.Block, ...]) -> ir.Block:
            return (ir.ApplyTable(name, hit, None, span), ir.If(hit, branches[0], branches[1], span))

        return FlowNode(following, build)

    def _successors(self, node: Node, made: JsonTable) -> dict[int, str | None] | tuple[str | None, str | None]:
        """What follows (a hit, a miss), or each action by its index."""
        following = node["next_tables"]
        names = following.object()
        base = self._next(node, "base_default_next")
        if HIT in names or MISS in names:
            return (
                self._next(following, HIT) if HIT in names else base,
                self._next(following, MISS) if MISS in names else base,
            )
        for name, each in following.members():
            if name not in made.listed:
                each.fail(f"action {name!r} is not among the table's")
        return {i: self._next(following, name) if name in names else base for i, name in enumerate(made.listed)} or {
            0: base
        }

    def _is_wrapper(self, table: ir.Table) -> bool:
        """A table that runs one action and that the control plane does not know (by its P4Info, if it sent one)."""
        if table.keys or table.attached or not table.default_is_const:
            return False
        return table.name not in self.client.tables if self.client.is_given else table.name.startswith(SYNTHESISED)

    def _wrapper(
        self, made: JsonTable, following: dict[int, str | None] | tuple[str | None, str | None], node: Node
    ) -> FlowNode[str]:
        call = made.table.default_action
        index = [reference.action for reference in made.table.actions].index(call.action)
        following = following if isinstance(following, dict) else {index: following[1]}
        known = {action.action.name: action.action for action in self.actions.values()}
        known |= {action.name: action for action in self.table_reader.more_actions}
        action = known[call.action]
        values = tuple(
            ir.Assign(self.storage.variable(p.name, p.type), ir.Constant(value, p.type))
            for p, value in zip(action.parameters, call.arguments, strict=True)
        )
        statements = (*values, *_inlined(action, node.span()))
        return FlowNode((following[index],), lambda branches: (*statements, *branches[0]))


def _inlined(action: ir.Action, span: ir.Span | None) -> ir.Block:
    return (ir.Region(action.name, action.body, (), action.span or span),) if action.body else ()
