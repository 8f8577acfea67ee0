"""The parser: states, select expressions, and states of their own for what branches inside a state."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

from emulator.bmv2json.write import statements
from emulator.bmv2json.write.context import Context, Json, hex_digits, operation, parameter
from emulator.bmv2json.write.expressions import number, place, stored, truth, variable
from emulator.p4 import ir
from emulator.p4.ir import walk

_END = frozenset(("accept", "reject"))
_EXTRACTIONS = ir.Extract | ir.Lookahead | ir.Advance | ir.Verify


def parser(cx: Context, program_parser: ir.Parser) -> Json:
    states = _States(cx)
    for state in program_parser.states:
        cx.span = state.span
        states.write(state.name, state.body, state.transition)
    return {"name": "parser", "id": 0, "init_state": "start", "parse_states": states.written}


@dataclass(slots=True)
class _States:
    cx: Context
    written: list[Json] = field(default_factory=list)
    numbers: Iterable[int] = field(default_factory=itertools.count)

    def write(self, name: str, body: ir.Block, transition: ir.Select | ir.Goto) -> None:
        """One state, and more where an ``if`` has to become states."""
        cx = self.cx
        state: Json = {"name": name, "id": len(self.written), "parser_ops": []}
        self.written.append(state)
        for position, s in enumerate(body):
            cx.span = getattr(s, "span", None) or cx.span
            if isinstance(s, ir.If):
                rest = self._name(name)
                self.write(rest, body[position + 1 :], transition)
                state |= self._branch(name, s, rest, state["parser_ops"])
                return
            state["parser_ops"] += _operations(cx, s)
        state |= _transition(cx, transition, state["parser_ops"])

    def _branch(self, name: str, s: ir.If, rest: str, operations: list[Json]) -> Json:
        cx = self.cx
        chosen = cx.temporary(ir.Bits(8))
        value = parameter(operation("b2d", None, truth(cx, s.condition)))
        operations.append({"op": "set", "parameters": [chosen, value]})
        then, otherwise = rest, rest
        if s.then:
            then = self._name(name)
            self.write(then, s.then, ir.Goto(rest))
        if s.otherwise:
            otherwise = self._name(name)
            self.write(otherwise, s.otherwise, ir.Goto(rest))
        cases = [_case("hexstr", "0x01", None, then), _case("default", None, None, otherwise)]
        return {"transitions": cases, "transition_key": [chosen]}

    def _name(self, name: str) -> str:
        return f"{name}${next(iter(self.numbers))}"


def _transition(cx: Context, transition: ir.Select | ir.Goto, operations: list[Json]) -> Json:
    if isinstance(transition, ir.Goto):
        return {"transitions": [_case("default", None, None, transition.next_state)], "transition_key": []}
    keys = []
    for expr in transition.keys:
        cx.primitives = []
        keys.append(stored(cx, expr))
        operations += [{"op": "set", "parameters": p["parameters"]} for p in cx.primitives]
    cases = [case for c in transition.cases for case in _cases(c, transition.keys)]
    return {"transitions": cases, "transition_key": keys}


def _cases(case: ir.SelectCase, keys: tuple[ir.Expr, ...]) -> list[Json]:
    """One, or as many as the masks that ranges are cut into."""
    if case.value_set is not None:
        return [_case("parse_vset", case.value_set, None, case.next_state)]
    widths = [ir.width_of(key.type) for key in keys]
    cases = []
    for chosen in itertools.product(*(_masks(k, w) for k, w in zip(case.keysets, widths, strict=True))):
        value = mask = full = total = 0
        for keyset, width in zip(chosen, widths, strict=True):
            size = (width + 7) // 8 * 8
            value, mask = value << size | keyset.value & keyset.mask, mask << size | keyset.mask
            full, total = full << size | (1 << width) - 1, total + size
        if mask == 0:
            cases.append(_case("default", None, None, case.next_state))
            continue
        mask_or_none = None if mask == full else hex_digits(mask, total)
        cases.append(_case("hexstr", hex_digits(value, total), mask_or_none, case.next_state))
    return cases


def _masks(keyset: ir.KeySet, width: int) -> list[ir.Masked]:
    """A range as prefixes."""
    if isinstance(keyset, ir.Masked):
        return [keyset]
    full, low, found = (1 << width) - 1, keyset.low, []
    while low <= keyset.high:
        size = low & -low or 1 << width
        while low + size - 1 > keyset.high:
            size >>= 1
        found.append(ir.Masked(low, full & ~(size - 1)))
        low += size
    return found


def _case(kind: str, value: str | None, mask: str | None, following: str) -> Json:
    return {"type": kind, "value": value, "mask": mask, "next_state": None if following in _END else following}


def _operations(cx: Context, s: ir.Statement) -> list[Json]:
    match s:
        case ir.Extract(ref, bits):
            return [_extract(cx, ref, bits)]
        case ir.Lookahead(targets, total):
            reads = [(variable(cx, target), offset, ir.width_of(target.type)) for target, offset in targets]
            if not reads or sum(reads[-1][1:]) != total:
                reads.append((cx.temporary(ir.Bits(1)), total - 1, 1))
            # the furthest first: a packet that is too short must change nothing
            return [
                {"op": "set", "parameters": [target, {"type": "lookahead", "value": [offset, width]}]}
                for target, offset, width in reversed(reads)
            ]
        case ir.Advance(bits):
            return [{"op": "advance", "parameters": [parameter(number(cx, bits))]}]
        case ir.Verify(condition, error):
            return [{"op": "verify", "parameters": [parameter(truth(cx, condition)), parameter(number(cx, error))]}]
        case ir.Assign(target, value) if not isinstance(target.type, ir.VarBits):
            return [{"op": "set", "parameters": [place(cx, target), parameter(number(cx, value))]}]
    cx.primitives = []
    inside = [s, *(x for b in walk.nested_blocks(s) for x in walk.statements(b))]
    if any(isinstance(x, _EXTRACTIONS) for x in inside):
        raise cx.fail("this way of branching in a parser state")
    statements.statement(cx, s)
    if any(p["op"].startswith("_jump") for p in cx.primitives):
        raise cx.fail("this way of branching in a parser state")
    return [{"op": "primitive", "parameters": [p]} for p in cx.primitives]


def _extract(cx: Context, ref: ir.HeaderRef, bits: ir.Expr | None) -> Json:
    match ref:
        case ir.Header(name):
            target: Json = {"type": "regular", "value": cx.instance(name)}
        case ir.StackNext(stack):
            target = {"type": "stack", "value": cx.instance(stack.name)}
        case _:
            raise cx.fail("an extraction into a stack's element by an index that is known at run time only")
    if bits is None:
        return {"op": "extract", "parameters": [target]}
    length = number(cx, bits)
    return {"op": "extract_VL", "parameters": [target, {"type": "expression", "value": length}]}
