"""The parser's states, the transitions' byte strings as key sets, and the errors by number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from emulator.bmv2json import expressions, parser_operations
from emulator.bmv2json import numbers as n
from emulator.bmv2json.context import Context, DocumentContext
from emulator.bmv2json.document import Node
from emulator.p4 import ir
from emulator.v1model.metadata import standard

START = "start"
ENDS = ("accept", "reject")
MAX_VALUE_SET = 1 << 24
DEFAULT_VALUE_SET = 1024
"""Where the document gives no size: bmv2 itself has no limit."""
CORE_ERRORS = (
    "NoError", "PacketTooShort", "NoMatch", "StackOutOfBounds", "HeaderTooShort", "ParserTimeout",
    "ParserInvalidArgument",
)  # fmt: skip
"""core.p4's; those that a document leaves out come after its own, as in bmv2."""
MAX_ERRORS = 1 << 12


@dataclass(slots=True)
class _Parser:
    """The parser being read."""

    cx: DocumentContext
    errors: tuple[str, ...]
    """Names by number."""
    declared: Mapping[str, Node]
    """The document's value sets, by name."""
    names: dict[str, str] = field(default_factory=dict)
    """Names of states in the IR, by those in the document."""
    value_sets: dict[str, ir.ValueSet] = field(default_factory=dict)
    """Those that some state uses."""


def read_parser(
    cx: DocumentContext, document: Node, errors: tuple[str, ...]
) -> tuple[ir.Parser, tuple[ir.ValueSet, ...]]:
    """The document's parser, and the value sets that some state uses. Raises Bmv2JsonError."""
    px = _Parser(cx, errors, {node["name"].name(): node for node in document.list("parse_vsets")})
    parsers = document["parsers"].items()
    if len(parsers) != 1:
        document["parsers"].fail(f"must be one parser, not {len(parsers)}")
    parser = parsers[0]
    nodes = parser.list("parse_states")
    first = parser.get("init_state")
    if first is None:
        return ir.Parser(parser["name"].name(), (ir.State(START, (), ir.Goto("accept")),)), ()
    _name_states(px, nodes, first)
    states = tuple(_state(px, node) for node in nodes)
    value_sets = tuple(px.value_sets[name] for name in px.declared if name in px.value_sets)
    return ir.Parser(parser["name"].name(), states), value_sets


def _name_states(px: _Parser, nodes: list[Node], first: Node) -> None:
    """The IR begins at ``start`` and ends at ``accept``, whatever the document calls its states."""
    taken = {*(node["name"].name() for node in nodes), *ENDS, START}
    for node in nodes:
        name = node["name"].name()
        if name in px.names:
            node["name"].fail("there is a state of this name already")
        chosen = START if name == first.text() else name
        while name != first.text() and (chosen in ENDS or chosen == START or chosen in px.names.values()):
            chosen += "_"
            if chosen in taken:
                chosen += "_"
        px.names[name] = chosen
    if first.text() not in px.names:
        first.fail(f"there is no state {first.text()!r}")


def _state(px: _Parser, node: Node) -> ir.State:
    cx = expressions.new_context(px.cx.storage, px.cx.objects, errors=px.errors)
    for operation in node.list("parser_ops"):
        parser_operations.run(cx, operation)
    transition = _transition(px, node, cx)
    return ir.State(px.names[node["name"].text()], tuple(cx.out), transition, node.span())


# --- transitions -------------------------------------------------------------------------------------------------


def _transition(px: _Parser, node: Node, cx: Context) -> ir.Select | ir.Goto:
    keys = [_key(each, cx) for each in node.list("transition_key")]
    cases: list[ir.SelectCase] = []
    default = "accept"
    for each in node.list("transitions"):
        following = _following(px, each)
        kind = _kind_of(each)
        if kind == "default":
            default = following
        elif kind == "hexstr":
            case = _case(each, keys, following)
            cases += [case] if case is not None else []
        elif kind == "parse_vset":
            cases.append(ir.SelectCase((), following, _value_set(px, each, node, keys)))
        else:
            each["type"].fail("must be default, hexstr or parse_vset")
    if not cases:
        return ir.Goto(default)
    cases.append(ir.SelectCase((ir.Masked(0, 0),) * len(keys), default))
    return ir.Select(tuple(keys), tuple(cases), node.span())


def _following(px: _Parser, node: Node) -> str:
    following = node.get("next_state")
    if following is None:
        return "accept"
    if following.text() not in px.names:
        following.fail(f"there is no state {following.text()!r}")
    return px.names[following.text()]


def _key(node: Node, cx: Context) -> ir.Expr:
    number = expressions.exact(cx, node)
    return n.cast(number.expr, ir.Bits(ir.width_of(number.expr.type)))


def _case(node: Node, keys: list[ir.Expr], following: str) -> ir.SelectCase | None:
    """Keys are compared as byte strings, each filled up to whole bytes on the left; None: can never match."""
    if not keys:
        node.fail("a value to compare with, but the state has no transition_key")
    widths = [ir.width_of(key.type) for key in keys]
    total = sum((width + 7) // 8 * 8 for width in widths)
    value = _bytes(node["value"], total)
    mask_node = node.get("mask")
    mask = (1 << total) - 1 if mask_node is None else _bytes(mask_node, total)
    keysets = []
    for width in reversed(widths):
        size = (width + 7) // 8 * 8
        part, part_mask = value & ((1 << size) - 1), mask & ((1 << size) - 1)
        value, mask = value >> size, mask >> size
        ones = (1 << width) - 1
        if part & part_mask & ~ones:
            return None
        keysets.append(ir.Masked(part & part_mask, part_mask & ones))
    return ir.SelectCase(tuple(reversed(keysets)), following)


def _bytes(node: Node, total: int) -> int:
    value = node.hexadecimal()
    if value < 0 or value.bit_length() > total:
        node.fail(f"has more than the {total // 8} bytes of the transition_key")
    return value


def _value_set(px: _Parser, node: Node, state: Node, keys: list[ir.Expr]) -> str:
    name = node["value"].text()
    if name not in px.declared:
        node["value"].fail(f"value set {name!r} is not declared")
    if not keys:
        node.fail("a value set, but the state has no transition_key")
    declared = px.declared[name]
    mask = node.get("mask")
    if mask is not None and mask.hexadecimal() != (1 << sum((ir.width_of(k.type) + 7) // 8 * 8 for k in keys)) - 1:
        mask.fail("a value set under a mask is not supported")
    fields = tuple(
        ir.ValueSetField("" if len(keys) == 1 else _field_name(each, i), key.type, px.cx.client.set_kind(name, i))
        for i, (key, each) in enumerate(zip(keys, state.list("transition_key"), strict=True))
    )
    max_size = declared.get("max_size")
    size = max_size.number(0, MAX_VALUE_SET) if max_size is not None else DEFAULT_VALUE_SET
    value_set = px.value_sets.setdefault(name, ir.ValueSet(name, fields, size, (), declared.span()))
    if [f.type for f in value_set.fields] != [f.type for f in fields]:
        node["value"].fail(f"value set {name!r} is used with keys of other widths elsewhere")
    return name


def _kind_of(transition: Node) -> str:
    """The type of a transition; the compilers of 2016 wrote none, and ``default`` for a value."""
    kind = transition.get("type")
    if kind is not None:
        return kind.text()
    value = transition.get("value")
    return "default" if value is None or value.text() == "default" else "hexstr"


def _field_name(node: Node, position: int) -> str:
    value = node["value"].value
    return str(value[-1]) if isinstance(value, list) and isinstance(value[-1], str) else f"key{position + 1}"


# --- errors -----------------------------------------------------------------------------------------------------------


def read_errors(document: Node) -> tuple[str, ...]:
    """Names by number; unused numbers get a name that no program can have."""
    numbers: dict[int, str] = {}
    for node in document.list("errors"):
        name, number = node.exactly(2, "name, number")
        if number.number(0, MAX_ERRORS) in numbers or name.name() in numbers.values():
            node.fail("this name or number is there already")
        numbers[number.number()] = name.name()
    known = set(numbers.values())
    count = max(numbers, default=-1) + 1
    names = [numbers.get(i, f"${i}") for i in range(count)]
    return (*names, *(name for name in CORE_ERRORS if name not in known))


def parser_error_numbers(document: Node, errors: tuple[str, ...]) -> ir.Block:
    """The engines say 0 where parsing went well; a document may have another number for it."""
    number = errors.index("NoError")
    if number == 0:
        return ()
    place = standard("parser_error")
    zero = ir.Constant(0, ir.INDEX)
    went_well = ir.Binary(ir.BinaryOp.EQ, place, zero, ir.BOOL)
    return (ir.If(went_well, (ir.Assign(place, ir.Constant(number, ir.INDEX)),)),)
