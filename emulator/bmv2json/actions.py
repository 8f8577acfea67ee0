"""Actions: their data and their primitives, with jumps converted to structured control flow.

p4c writes an ``if`` in an action as a jump forward and a loop as a jump back. Forward jumps become nested statements
(``flow``). Where an action also jumps back, a loop runs its straight pieces one by one, led by a variable: right for
any jumps, with the IR's bound on the turns of a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emulator.bmv2json import expressions, primitives
from emulator.bmv2json.context import Context, DocumentContext, JsonAction
from emulator.bmv2json.document import Node
from emulator.bmv2json.flow import Cycle, FlowNode, structure
from emulator.bmv2json.storage import MAX_FIELD_BITS
from emulator.p4 import ir

JUMPS = {"_jump": 1, "_jump_if_zero": 2}
"""Jumps, and their number of parameters."""


@dataclass(slots=True)
class _Action:
    """The action being read."""

    cx: DocumentContext
    name: str
    parameters: Sequence[ir.Variable]
    primitives: list[Node]
    exit_flag: ir.Variable | None = None
    """Set where the action exits before its last primitive."""


def _body(ax: _Action) -> ir.Block:
    """The primitives as statements."""
    nodes = {i: _node(ax, i) for i in range(len(ax.primitives))}
    entry = 0 if ax.primitives else None
    try:
        body = structure(entry, nodes, lambda: _variable(ax, "$at", ir.INDEX))
    except Cycle:
        body = _looped(ax, nodes)
    if ax.exit_flag is None:
        return body
    leave = ir.If(ax.exit_flag, (ir.Exit(),))
    return (ir.Assign(ax.exit_flag, ir.Constant(0, ir.BOOL)), *body, leave)


def _variable(ax: _Action, name: str, type_: ir.Type) -> ir.Variable:
    return ax.cx.storage.variable(f"{ax.name}.{name}", type_)


def _key(ax: _Action, index: int) -> int | None:
    return index if index < len(ax.primitives) else None


def _node(ax: _Action, index: int) -> FlowNode[int]:
    node, following = ax.primitives[index], _key(ax, index + 1)
    op = node["op"].text()
    if op in JUMPS:
        return _jump(ax, op, node, following)
    if op == "exit":
        return _exit(ax, node, following)
    cx = _context(ax)
    primitives.run(cx, node)
    statements = tuple(cx.out)
    return FlowNode((following,), lambda branches: (*statements, *branches[0]))


def _context(ax: _Action) -> Context:
    return expressions.new_context(ax.cx.storage, ax.cx.objects, ax.parameters)


def _jump(ax: _Action, op: str, node: Node, following: int | None) -> FlowNode[int]:
    parameters = node["parameters"].exactly(JUMPS[op], "condition and index" if op != "_jump" else "index")
    cx = _context(ax)
    target = _key(ax, cx.constant(parameters[-1], 0, len(ax.primitives)))
    if op == "_jump" or target == following:
        return FlowNode((target,), lambda branches: branches[0])
    condition, before, span = expressions.truth(cx, parameters[0]), tuple(cx.out), node.span()

    def build(branches: tuple[ir.Block, ...]) -> ir.Block:
        return (*before, ir.If(condition, branches[0], branches[1], span))

    return FlowNode((following, target), build)


def _exit(ax: _Action, node: Node, following: int | None) -> FlowNode[int]:
    """bmv2 leaves the pipeline when the action is done."""
    if following is None:
        return FlowNode((None,), lambda branches: (ir.Exit(node.span()), *branches[0]))
    ax.exit_flag = flag = _variable(ax, "$exit", ir.BOOL)
    raised = ir.Assign(flag, ir.Constant(1, ir.BOOL), node.span())
    return FlowNode((following,), lambda branches: (raised, *branches[0]))


# --- jumps back --------------------------------------------------------------------------------------------------


def _looped(ax: _Action, nodes: dict[int, FlowNode[int]]) -> ir.Block:
    """Straight pieces, selected by ``$at``: 0 is the end, i the piece from primitive i - 1 on."""
    at = _variable(ax, "$at", ir.INDEX)

    def go(key: int | None) -> ir.Block:
        return (ir.Assign(at, ir.Constant(0 if key is None else key + 1, ir.INDEX)),)

    starts = _starts(ax, nodes)
    cases = []
    for start in sorted(starts):
        statements: list[ir.Statement] = []
        key = start
        while True:
            node = nodes[key]
            following = node.successors[0]
            if len(node.successors) > 1 or following is None or following in starts:
                statements += node.build(tuple(go(successor) for successor in node.successors))
                break
            statements += node.build(((),))
            key = following
        cases.append(ir.SwitchCase((start + 1,), tuple(statements)))
    goes_on = ir.Binary(ir.BinaryOp.NE, at, ir.Constant(0, ir.INDEX), ir.BOOL)
    return (*go(0), ir.Loop(goes_on, (ir.Switch(at, tuple(cases)),)))


def _starts(ax: _Action, nodes: dict[int, FlowNode[int]]) -> set[int]:
    """Where pieces begin: at the beginning and wherever a jump leads."""
    result = {0}
    for index, node in nodes.items():
        if node.successors != (_key(ax, index + 1),):
            result.update(key for key in node.successors if key is not None)
    return result


def read_actions(cx: DocumentContext, document: Node) -> dict[int, JsonAction]:
    """The document's actions by id. Raises Bmv2JsonError."""
    result: dict[int, JsonAction] = {}
    counts: dict[str, int] = {}
    for node in document.list("actions"):
        number, name = node["id"].number(), node["name"].name()
        if number in result:
            node["id"].fail(f"is also the id of action {result[number].name}")
        if ir.VARIANT in name:
            node["name"].fail(f"an action's name cannot contain {ir.VARIANT!r}")
        counts[name] = counts.get(name, 0) + 1
        unique = name if counts[name] == 1 else f"{name}{ir.VARIANT}{counts[name]}"
        result[number] = JsonAction(number, name, _action(cx, node, unique))
    return result


def _action(cx: DocumentContext, node: Node, name: str) -> ir.Action:
    parameters: list[ir.Variable] = []
    for each in node.list("runtime_data"):
        parameter = f"{name}.{each['name'].name()}"
        if any(p.name == parameter for p in parameters):
            each["name"].fail("there is a parameter of this name already")
        parameters.append(ir.Variable(parameter, ir.Bits(each["bitwidth"].number(1, MAX_FIELD_BITS))))
    body = _body(_Action(cx, name, parameters, node.list("primitives")))
    return ir.Action(name, tuple(parameters), body, (), node.span())
