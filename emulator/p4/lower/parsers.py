"""Parsers to one graph of states: sub-parsers, and the code around them in a state, become separate states."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check.reporting import unsupported, warn
from emulator.p4.ir.parser_loops import endless_loops
from emulator.p4.lower import arguments, blocks, evaluation, statements
from emulator.p4.lower.context import Context, States
from emulator.p4.lower.entries import keyset, keyset_parts, unsigned
from emulator.p4.lower.operators import conjunction
from emulator.p4.lower.records import BlockInstance
from emulator.p4.lower.shapes import Parts, Value

_ANY = ir.Masked(0, 0)
_TRUE = ir.Masked(1, 1)


def parser(cx: Context, instance: BlockInstance, parameters: list[Value]) -> ir.Parser:
    """The top-level parser."""
    cx.states = States()
    blocks.enter(cx, instance, parameters)
    _graph(cx, instance, "", {"accept": "accept", "reject": "reject"}, opening=None)
    cx.states.out = None
    result = ir.Parser(instance.path, tuple(cx.states.made))
    for names, message in endless_loops(result):
        warn(
            cx,
            next((cx.states.places[name] for name in names if name in cx.states.places), instance.symbol.at),
            message,
        )
    return result


def _graph(cx: Context, instance: BlockInstance, prefix: str, exits: dict[str, str], opening: str | None) -> None:
    """All states of a parser, names prefixed; ``opening`` is the state that leads to its start."""
    symbol = instance.symbol
    names = {state.name: _state_name(cx, prefix + state.name) for state in symbol.states}
    if opening is None and symbol.locals:
        names["start"] = _opened(cx, instance, symbol, names["start"])
    targets = {**names, **exits}
    for state in symbol.states:
        _state(cx, state, names[state.name], targets)


def _opened(cx: Context, instance: BlockInstance, symbol: r.BlockSymbol, start: str) -> str:
    """Initial values of locals come first; a start state that is entered again must not repeat them."""
    outer, cx.out = cx.out, []
    blocks.block_locals(cx, instance)
    initial, cx.out = cx.out, outer
    if not initial:
        return start
    renamed = _state_name(cx, "start.entered")
    cx.states.made.append(ir.State(start, tuple(initial), ir.Goto(renamed), cx.tokens.span(symbol.at)))
    return renamed


def _state_name(cx: Context, name: str) -> str:
    candidate, number = name, 0
    while candidate in cx.states.names:
        number += 1
        candidate = f"{name}_{number}"
    cx.states.names.add(candidate)
    return candidate


def _peek_name(cx: Context, name: str) -> str:
    """The name that `_state_name` will give next for it."""
    chosen = _state_name(cx, name)
    cx.states.names.discard(chosen)
    return chosen


def _state(cx: Context, node: r.State, name: str, targets: dict[str, str]) -> None:
    outer, outer_state = cx.out, (cx.states.name, cx.states.span, cx.states.out)
    _begin(cx, name, cx.span(node))
    cx.states.places[name] = node.at
    blocks.guarded(cx, node.body)
    if node.keys:
        _end(cx, _select(cx, node, targets))
    else:
        _end(cx, ir.Goto(targets[node.cases[0][1]] if node.cases else "reject"))
    cx.out = outer
    cx.states.name, cx.states.span, cx.states.out = outer_state


def _begin(cx: Context, name: str, span: ir.Span | None) -> None:
    cx.states.name, cx.states.span = name, span
    cx.out = cx.states.out = []


def _end(cx: Context, transition: ir.Select | ir.Goto) -> None:
    assert cx.states.out is not None
    cx.states.made.append(ir.State(cx.states.name, tuple(cx.states.out), transition, cx.states.span))


def _select(cx: Context, node: r.State, targets: dict[str, str]) -> ir.Select | ir.Goto:
    operands = evaluation.several(cx, node.keys)
    has_bits = [not isinstance(value, Parts) for value in operands]  # not bit<0>
    keys = [unsigned(value) for value, has in zip(operands, has_bits, strict=True) if has]
    width = len(keys)
    cases: list[ir.SelectCase] = []
    for shapes, next_state in node.cases:
        target = targets[next_state]
        if shapes and isinstance(shapes[0], r.Ref) and isinstance(shapes[0].symbol, r.ValueSetSymbol):
            value_set = cx.value(shapes[0])
            assert isinstance(value_set, ir.ValueSet)
            cases.append(ir.SelectCase((), target, value_set.name))
            continue
        kept = [(i, shape) for i, (shape, has) in enumerate(zip(shapes, has_bits, strict=True)) if has]
        cases.append(ir.SelectCase(tuple(_keysets(cx, kept, operands, keys)), target))
    if any(case.value_set for case in cases) and len(keys) != width:
        unsupported(cx, node.select_at, "a value set together with labels that are known only at run time")
    cases = [_widened(case, len(keys)) for case in cases]
    if cx.architecture.any_case_is_last:
        cases = _any_case_last(cases)
    if not keys:
        return ir.Goto(cases[0].next_state if cases else targets["accept"])
    return ir.Select(tuple(keys), tuple(cases), cx.tokens.span(node.select_at))


def _keysets(
    cx: Context, shapes: Sequence[tuple[int, r.Expr]], operands: list[Value], keys: list[ir.Expr]
) -> list[ir.KeySet]:
    """One for each key; what is known at run time only becomes a further key, a comparison that must be true."""
    result: list[ir.KeySet] = []
    comparisons: list[ir.Expr] = []
    for position, shape in shapes:
        parts = tuple(cx.value(part) for part in keyset_parts(shape))
        known = keyset(parts, shape, operands[position].type)
        result.append(_ANY if known is None else known)
        if known is None:
            comparisons.append(_matches(operands[position], shape, parts))  # signed, where the key is
    if comparisons:
        result += [_ANY] * (len(keys) - len(result)) + [_TRUE]
        keys.append(conjunction(comparisons))
    return result


def if_(cx: Context, node: r.If) -> None:
    if cx.states.out is None or cx.out is not cx.states.out or not _applies_parser((node,)):
        statements.if_(cx, node)
        return
    condition = cx.value(node.condition)
    if isinstance(condition, ir.Constant):
        cx.statements(node.then if condition.value else node.otherwise)
        return
    name, span = cx.states.name, cx.states.span
    then, otherwise, after = (_state_name(cx, f"{name}.{part}") for part in ("then", "else", "after_if"))
    cases = (ir.SelectCase((_TRUE,), then), ir.SelectCase((_ANY,), otherwise))
    _end(cx, ir.Select((condition,), cases, cx.tokens.span(node.at)))
    for branch, inner in ((then, node.then), (otherwise, node.otherwise)):
        _begin(cx, branch, span)
        cx.statements(inner)
        _end(cx, ir.Goto(after))
    _begin(cx, after, span)


def apply_parser(cx: Context, expr: r.BlockApply, instance: BlockInstance) -> None:
    if cx.states.out is None or cx.out is not cx.states.out:
        unsupported(cx, expr, "a parser applied here")
    span = cx.tokens.span(expr.at)
    names = [f"{instance.path}.{p.name}" for p in instance.symbol.parameters]
    passing = arguments.pass_in(cx, names, expr.arguments, by_reference=True, span=span)
    outer = cx.scope()
    after = _state_name(cx, f"{cx.states.name}.after_{instance.symbol.name}")
    outer_span = cx.states.span
    blocks.enter(cx, instance, passing.storage)
    blocks.block_locals(cx, instance)
    prefix = f"{instance.path.split('.', 1)[-1]}."
    start = _peek_name(cx, prefix + "start")
    _end(cx, ir.Goto(start))
    _graph(cx, instance, prefix, {"accept": after, "reject": "reject"}, opening=cx.states.name)
    cx.restore(outer)
    _begin(cx, after, outer_span)
    cx.out.extend(arguments.copy_out(cx, passing, span))


def _applies_parser(block: Sequence[r.Statement]) -> bool:
    for statement in block:
        if isinstance(statement, r.CallStatement) and isinstance(statement.call, r.BlockApply):
            return True
        if isinstance(statement, r.If) and (_applies_parser(statement.then) or _applies_parser(statement.otherwise)):
            return True
    return False


def _matches(key: ir.Expr, shape: r.Expr, parts: tuple[ir.Expr, ...]) -> ir.Expr:
    """Whether the key is in a set whose bounds are known at run time."""

    def binary(op: ir.BinaryOp, left: ir.Expr, right: ir.Expr, type_: ir.Type = ir.BOOL) -> ir.Expr:
        return ir.Binary(op, left, right, type_)

    if isinstance(shape, r.Mask):
        masked = binary(ir.BinaryOp.AND, key, parts[1], key.type)
        return binary(ir.BinaryOp.EQ, masked, binary(ir.BinaryOp.AND, parts[0], parts[1], key.type))
    if isinstance(shape, r.Range):
        low, high = binary(ir.BinaryOp.GE, key, parts[0]), binary(ir.BinaryOp.LE, key, parts[1])
        return binary(ir.BinaryOp.LOGICAL_AND, low, high)
    return binary(ir.BinaryOp.EQ, key, parts[0])


def _widened(case: ir.SelectCase, width: int) -> ir.SelectCase:
    """Keys that other cases added do not matter to this one."""
    missing = width - len(case.keysets)
    if case.value_set is not None or not missing:
        return case
    return ir.SelectCase((*case.keysets, *[_ANY] * missing), case.next_state)


def _any_case_last(cases: list[ir.SelectCase]) -> list[ir.SelectCase]:
    """Cases that match anything go behind the others, and only the last of them counts."""
    anything = [c for c in cases if c.value_set is None and all(k == _ANY for k in c.keysets)]
    others = [c for c in cases if c not in anything]
    return [*others, *anything[-1:]]
