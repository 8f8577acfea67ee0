"""The parser's states: extractions, assignments, and the transitions' byte strings as key sets."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.bmv2json import numbers as n
from emulator.bmv2json.client_p4info import Wanted
from emulator.bmv2json.document import Node
from emulator.bmv2json.objects import Objects
from emulator.bmv2json.primitives_externs import ActionPrimitives
from emulator.bmv2json.storage import Storage, UnionStack
from emulator.p4 import ir

START = "start"
ENDS = ("accept", "reject")
MAX_VALUE_SET = 1 << 24


class ParserReader:
    def __init__(
        self, document: Node, storage: Storage, objects: Objects, errors: tuple[str, ...], wanted: Wanted
    ) -> None:
        self.document = document
        self.wanted = wanted
        self.storage = storage
        self.objects = objects
        self.errors = errors
        self.names: dict[str, str] = {}
        """Of states, in the document and in the IR."""
        self.value_sets: dict[str, ir.ValueSet] = {}
        self._declared = {node["name"].name(): node for node in document.list("parse_vsets")}

    def read(self) -> ir.Parser:
        parsers = self.document["parsers"].items()
        if len(parsers) != 1:
            self.document["parsers"].fail(f"must be one parser, not {len(parsers)}")
        parser = parsers[0]
        nodes = parser.list("parse_states")
        first = parser.get("init_state")
        if first is None:
            return ir.Parser(parser["name"].name(), (ir.State(START, (), ir.Goto("accept")),))
        self._name_states(nodes, first)
        states = tuple(self._state(node) for node in nodes)
        return ir.Parser(parser["name"].name(), states)

    def value_sets_in_order(self) -> tuple[ir.ValueSet, ...]:
        """Those that some state uses."""
        return tuple(self.value_sets[name] for name in self._declared if name in self.value_sets)

    def _name_states(self, nodes: list[Node], first: Node) -> None:
        """The IR begins at ``start`` and ends at ``accept``, whatever the document calls its states."""
        taken = {*(node["name"].name() for node in nodes), *ENDS, START}
        for node in nodes:
            name = node["name"].name()
            if name in self.names:
                node["name"].fail("there is a state of this name already")
            chosen = START if name == first.text() else name
            while name != first.text() and (chosen in ENDS or chosen == START or chosen in self.names.values()):
                chosen += "_"
                if chosen in taken:
                    chosen += "_"
            self.names[name] = chosen
        if first.text() not in self.names:
            first.fail(f"there is no state {first.text()!r}")

    def _state(self, node: Node) -> ir.State:
        primitives = ParserPrimitives(self.storage, self.objects, self.errors)
        for operation in node.list("parser_ops"):
            primitives.parser_operation(operation)
        transition = self._transition(node, primitives)
        return ir.State(self.names[node["name"].text()], tuple(primitives.out), transition, node.span())

    # --- transitions -------------------------------------------------------------------------------------------------

    def _transition(self, node: Node, primitives: ParserPrimitives) -> ir.Select | ir.Goto:
        keys = [self._key(each, primitives) for each in node.list("transition_key")]
        cases: list[ir.SelectCase] = []
        default = "accept"
        for each in node.list("transitions"):
            following = self._following(each)
            kind = _kind_of(each)
            if kind == "default":
                default = following
            elif kind == "hexstr":
                case = self._case(each, keys, following)
                cases += [case] if case is not None else []
            elif kind == "parse_vset":
                cases.append(ir.SelectCase((), following, self._value_set(each, node, keys)))
            else:
                each["type"].fail("must be default, hexstr or parse_vset")
        if not cases:
            return ir.Goto(default)
        cases.append(ir.SelectCase((ir.Masked(0, 0),) * len(keys), default))
        return ir.Select(tuple(keys), tuple(cases), node.span())

    def _following(self, node: Node) -> str:
        following = node.get("next_state")
        if following is None:
            return "accept"
        if following.text() not in self.names:
            following.fail(f"there is no state {following.text()!r}")
        return self.names[following.text()]

    def _key(self, node: Node, primitives: ParserPrimitives) -> ir.Expr:
        number = primitives.number(node)
        return n.cast(number.expr, ir.Bits(ir.width_of(number.expr.type)))

    def _case(self, node: Node, keys: list[ir.Expr], following: str) -> ir.SelectCase | None:
        """Keys are compared as byte strings, each filled up to whole bytes on the left; None: can never match."""
        if not keys:
            node.fail("a value to compare with, but the state has no transition_key")
        widths = [ir.width_of(key.type) for key in keys]
        total = sum((width + 7) // 8 * 8 for width in widths)
        value = self._bytes(node["value"], total)
        mask_node = node.get("mask")
        mask = (1 << total) - 1 if mask_node is None else self._bytes(mask_node, total)
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

    def _bytes(self, node: Node, total: int) -> int:
        value = node.hexadecimal()
        if value < 0 or value.bit_length() > total:
            node.fail(f"has more than the {total // 8} bytes of the transition_key")
        return value

    def _value_set(self, node: Node, state: Node, keys: list[ir.Expr]) -> str:
        name = node["value"].text()
        if name not in self._declared:
            node["value"].fail(f"value set {name!r} is not declared")
        if not keys:
            node.fail("a value set, but the state has no transition_key")
        declared = self._declared[name]
        mask = node.get("mask")
        if mask is not None and mask.hexadecimal() != (1 << sum((ir.width_of(k.type) + 7) // 8 * 8 for k in keys)) - 1:
            mask.fail("a value set under a mask is not supported")
        fields = tuple(
            ir.ValueSetField("" if len(keys) == 1 else _field_name(each, i), key.type, self.wanted.set_kind(name, i))
            for i, (key, each) in enumerate(zip(keys, state.list("transition_key"), strict=True))
        )
        size = declared["max_size"].number(0, MAX_VALUE_SET)
        found = self.value_sets.setdefault(name, ir.ValueSet(name, fields, size, (), declared.span()))
        if [f.type for f in found.fields] != [f.type for f in fields]:
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


class ParserPrimitives(ActionPrimitives):
    """What states do; primitives of actions come wrapped in ``primitive``."""

    def __init__(self, storage: Storage, objects: Objects, errors: tuple[str, ...]) -> None:
        super().__init__(storage, objects, in_parser=True)
        self.errors = errors

    def parser_operation(self, node: Node) -> None:
        op = node["op"].text()
        methods: Mapping[str, tuple[int, object]] = PARSER_OPERATIONS
        if op not in methods:
            node["op"].fail(f"parser operation {op!r} is not known")
        count, method = methods[op]
        method(self, node["parameters"].exactly(count, f"parameters of {op}"), node)  # type: ignore[operator]

    def extract(self, parameters: list[Node], node: Node) -> None:
        self._extract(parameters[0], None, node)

    def extract_variable(self, parameters: list[Node], node: Node) -> None:
        self._extract(parameters[0], self.low_bits(parameters[1], 32), node)

    def _extract(self, what: Node, bits: ir.Expr | None, node: Node) -> None:
        kind, value, span = what["type"].text(), what["value"], node.span()
        unions: UnionStack | None = None
        header: ir.HeaderRef
        if kind == "regular":
            header = self.storage.header(value)
        elif kind == "stack":
            header = ir.StackNext(self.stack_named(value))
        elif kind == "union_stack":
            stack, member = value.exactly(2, "stack of unions, member")
            unions = self.union_stack_named(stack)
            header = ir.StackAt(self.union_member(unions, member), unions.next_index)
            self._check_room(unions, node)
        else:
            what["type"].fail("must be regular, stack or union_stack")
        if (header.type.varbit is None) != (bits is None):
            what.fail("a header with a field of variable width is extracted by extract_VL, and no other")
        self.out.append(ir.Extract(header, bits, span))
        self.invalidate_siblings(header, node)
        if unions is not None:
            following = ir.Binary(ir.BinaryOp.ADD, unions.next_index, ir.Constant(1, ir.INDEX), ir.INDEX)
            self.out.append(ir.Assign(unions.next_index, following, span))

    def _check_room(self, stack: UnionStack, node: Node) -> None:
        room = ir.Binary(ir.BinaryOp.LT, stack.next_index, ir.Constant(stack.size, ir.INDEX), ir.BOOL)
        error = ir.Constant(self.errors.index("StackOutOfBounds"), ir.INDEX)
        self.out.append(ir.Verify(room, error, node.span()))

    def verify(self, parameters: list[Node], node: Node) -> None:
        condition, error = self.truth(parameters[0]), self.low_bits(parameters[1], 32)
        self.out.append(ir.Verify(condition, error, node.span()))

    def advance(self, parameters: list[Node], node: Node) -> None:
        self.out.append(ir.Advance(self.low_bits(parameters[0], 32), node.span()))

    def shift(self, parameters: list[Node], node: Node) -> None:
        amount = 8 * self.constant(parameters[0], 0, 1 << 16)
        self.out.append(ir.Advance(ir.Constant(amount, ir.INDEX), node.span()))

    def primitive(self, parameters: list[Node], node: Node) -> None:
        self.run(parameters[0])


PARSER_OPERATIONS = {
    "extract": (1, ParserPrimitives.extract),
    "extract_VL": (2, ParserPrimitives.extract_variable),
    "set": (2, ParserPrimitives.assign),
    "verify": (2, ParserPrimitives.verify),
    "advance": (1, ParserPrimitives.advance),
    "shift": (1, ParserPrimitives.shift),
    "primitive": (1, ParserPrimitives.primitive),
}
