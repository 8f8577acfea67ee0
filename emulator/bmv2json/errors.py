"""Parser errors: the document numbers them, perhaps from 1."""

from __future__ import annotations

from emulator.bmv2json.document import Node
from emulator.p4 import ir
from emulator.v1model.metadata import standard

CORE = (
    "NoError", "PacketTooShort", "NoMatch", "StackOutOfBounds", "HeaderTooShort", "ParserTimeout",
    "ParserInvalidArgument",
)  # fmt: skip
"""core.p4's; those that a document leaves out come after its own, as in bmv2."""
MAX_ERRORS = 1 << 12


def read_errors(document: Node) -> tuple[str, ...]:
    """Names by number; numbers that nobody has get a name that no program can have."""
    numbers: dict[int, str] = {}
    for node in document.list("errors"):
        name, number = node.exactly(2, "name, number")
        if number.number(0, MAX_ERRORS) in numbers or name.name() in numbers.values():
            node.fail("this name or number is there already")
        numbers[number.number()] = name.name()
    known = set(numbers.values())
    count = max(numbers, default=-1) + 1
    names = [numbers.get(i, f"${i}") for i in range(count)]
    return (*names, *(name for name in CORE if name not in known))


def parser_error_numbers(document: Node, errors: tuple[str, ...]) -> ir.Block:
    """The engines say 0 where parsing went well; a document may have another number for it."""
    number = errors.index("NoError")
    if number == 0:
        return ()
    place = standard("parser_error")
    zero = ir.Constant(0, ir.INDEX)
    went_well = ir.Binary(ir.BinaryOp.EQ, place, zero, ir.BOOL)
    return (ir.If(went_well, (ir.Assign(place, ir.Constant(number, ir.INDEX)),)),)
