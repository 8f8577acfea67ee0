"""The two pipelines: tables, conditions and action calls that name what follows, as a control's body."""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.bmv2json import expressions
from emulator.bmv2json.context import DocumentContext
from emulator.bmv2json.document import Node
from emulator.bmv2json.flow import Cycle, FlowNode, structure
from emulator.bmv2json.tables import JsonTable, read_table
from emulator.p4 import ir

HIT, MISS = "__HIT__", "__MISS__"
SYNTHESISED = "tbl_"
"""p4c's name for the tables that it wraps statements of a control in begins so."""


@dataclass(slots=True)
class _Pipeline:
    """The pipeline being read."""

    cx: DocumentContext
    tables: list[ir.Table] = field(default_factory=list)
    nodes: dict[str, FlowNode[str]] = field(default_factory=dict)
    """Tables, conditions and action calls as nodes of its graph, by name."""
    declared: dict[str, Node] = field(default_factory=dict)
    """The same as the document has them."""


def read_pipeline(cx: DocumentContext, pipeline: Node) -> tuple[ir.Control, list[ir.Table]]:
    """One pipeline and its tables. Tables that only wrap statements are left out, their action is put where they are
    applied. Raises Bmv2JsonError."""
    px = _Pipeline(cx)
    kinds = (("tables", _table), ("conditionals", _conditional), ("action_calls", _action_call))
    for kind, _ in kinds:
        for node in pipeline.list(kind):
            name = node["name"].name()
            if name in px.declared:
                node["name"].fail("something else in this pipeline has this name")
            px.declared[name] = node
    for kind, read in kinds:
        for node in pipeline.list(kind):
            px.nodes[node["name"].text()] = read(px, node)
    name = pipeline["name"].name()
    entry = _next(px, pipeline, "init_table")
    try:
        body = structure(entry, px.nodes, lambda: cx.storage.variable(f"{name}.$node", ir.INDEX))
    except Cycle as cycle:
        px.declared[cycle.args[0]].fail("a packet would come here again and again: the pipeline goes round")
    return ir.Control(name, body), px.tables


def _next(px: _Pipeline, node: Node, key: str) -> str | None:
    """The name of what follows; None is the end."""
    following = node.get(key)
    if following is None:
        return None
    name = following.text()
    if name not in px.declared:
        following.fail(f"there is no table or condition {name!r} in this pipeline")
    return name


# --- conditions and action calls ---------------------------------------------------------------------------------


def _conditional(px: _Pipeline, node: Node) -> FlowNode[str]:
    cx = expressions.new_context(px.cx.storage, px.cx.objects)
    condition = expressions.truth(cx, node["expression"])
    before, span = tuple(cx.out), node.span()
    then, otherwise = _next(px, node, "true_next"), _next(px, node, "false_next")
    if then == otherwise:
        return FlowNode((then,), lambda branches: (*before, *branches[0]))

    def build(branches: tuple[ir.Block, ...]) -> ir.Block:
        return (*before, ir.If(condition, branches[0], branches[1], span))

    return FlowNode((then, otherwise), build)


def _action_call(px: _Pipeline, node: Node) -> FlowNode[str]:
    number = node["action_id"]
    if number.number() not in px.cx.actions:
        number.fail(f"there is no action with id {number.value}")
    action = px.cx.actions[number.number()].action
    if action.parameters:
        number.fail(f"action {action.name} has parameters, but is called without arguments")
    statements = _inlined(action, node.span())
    return FlowNode((_next(px, node, "next_node"),), lambda branches: (*statements, *branches[0]))


# --- tables ------------------------------------------------------------------------------------------------------


def _table(px: _Pipeline, node: Node) -> FlowNode[str]:
    made = read_table(px.cx, node)
    following = _successors(px, node, made)
    if _is_wrapper(px, made.table):
        return _wrapper(px, made, following, node)
    px.tables.append(made.table)
    name, span = made.table.name, node.span()
    if isinstance(following, tuple):
        return _after_hit(px, name, following, span)
    distinct = tuple(dict.fromkeys(following.values()))
    if len(distinct) == 1:
        return FlowNode(distinct, lambda branches: (ir.ApplyTable(name, span=span), *branches[0]))
    ran = px.cx.storage.variable(f"{name}.$action_run", ir.INDEX)
    otherwise = _next(px, node, "base_default_next")
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


def _after_hit(
    px: _Pipeline, name: str, following: tuple[str | None, str | None], span: ir.Span | None
) -> FlowNode[str]:
    hit = px.cx.storage.variable(f"{name}.$hit", ir.BOOL)
    if following[0] == following[1]:
        return FlowNode(following[:1], lambda branches: (ir.ApplyTable(name, span=span), *branches[0]))

    def build(branches: tuple[ir.Block, ...]) -> ir.Block:
        return (ir.ApplyTable(name, hit, None, span), ir.If(hit, branches[0], branches[1], span))

    return FlowNode(following, build)


def _successors(px: _Pipeline, node: Node, made: JsonTable) -> dict[int, str | None] | tuple[str | None, str | None]:
    """What follows (a hit, a miss), or each action by its index."""
    following = node["next_tables"]
    names = following.object()
    base = _next(px, node, "base_default_next")
    if HIT in names or MISS in names:
        return (
            _next(px, following, HIT) if HIT in names else base,
            _next(px, following, MISS) if MISS in names else base,
        )
    for name, each in following.members():
        if name not in made.listed:
            each.fail(f"action {name!r} is not among the table's")
    return {i: _next(px, following, name) if name in names else base for i, name in enumerate(made.listed)} or {0: base}


def _is_wrapper(px: _Pipeline, table: ir.Table) -> bool:
    """A table that runs one action and that the control plane does not know (by its P4Info, if it sent one)."""
    if table.keys or table.attached or not table.default_is_const:
        return False
    return table.name not in px.cx.client.tables if px.cx.client.is_given else table.name.startswith(SYNTHESISED)


def _wrapper(
    px: _Pipeline, made: JsonTable, following: dict[int, str | None] | tuple[str | None, str | None], node: Node
) -> FlowNode[str]:
    call = made.table.default_action
    index = [reference.action for reference in made.table.actions].index(call.action)
    following = following if isinstance(following, dict) else {index: following[1]}
    known = {action.action.name: action.action for action in px.cx.actions.values()}
    known |= {action.name: action for action in px.cx.more_actions}
    action = known[call.action]
    values = tuple(
        ir.Assign(px.cx.storage.variable(p.name, p.type), ir.Constant(value, p.type))
        for p, value in zip(action.parameters, call.arguments, strict=True)
    )
    statements = (*values, *_inlined(action, node.span()))
    return FlowNode((following[index],), lambda branches: (*statements, *branches[0]))


def _inlined(action: ir.Action, span: ir.Span | None) -> ir.Block:
    return (ir.Region(action.name, action.body, (), action.span or span),) if action.body else ()
