"""What the functions of the writer share: the program, the lists of the document, and the primitives being written."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from emulator.p4 import ir
from emulator.p4.errors import CompileError, Diagnostic, Kind

Json = dict[str, Any]

STANDARD = "standard_metadata"
SCALARS = "scalars"
"""The metadata instance that holds all variables, as in p4c's output."""
VARBIT_FIELD = "field"
"""A variable of type varbit is a metadata instance of its own, with this field: a header has one such field at most."""


class Unwritable(CompileError):
    """The program is right, but bmv2's JSON has no form for a construct of it."""

    def __init__(self, construct: str, span: ir.Span | None) -> None:
        span = span or ir.Span("<program>", 1, 1, 1, 1)
        line = linecache.getline(span.file, span.line).rstrip("\r\n")
        message = f"bmv2's JSON cannot express {construct}"
        super().__init__((Diagnostic(Kind.TARGET, message, span, line),))


@dataclass(slots=True)
class Context:
    program: ir.Program
    standard: set[str]
    """Metadata instances of the standard metadata's type: itself, and the program's copies of it."""
    span: ir.Span | None = None
    """Source position of the statement being written, for errors."""
    numbers: Iterator[int] = field(default_factory=itertools.count)
    """Names of nodes and ids of objects."""

    calculations: list[Json] = field(default_factory=list)
    learn_lists: list[Json] = field(default_factory=list)
    actions: list[Json] = field(default_factory=list)
    temporaries: dict[str, ir.Type] = field(default_factory=dict)

    parameter_names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Parameters of actions, by control-plane name; those of the IR are unique in the program."""

    primitives: list[Json] = field(default_factory=list)
    """Primitives of the action, or the parser state, being written."""
    parameters: dict[str, int] = field(default_factory=dict)
    """Positions of that action's parameters, by name."""
    regions: list[tuple[list[Json], ir.Block]] = field(default_factory=list)
    """Enclosing regions: jumps to the end of each, and the clean-up that begins there."""
    loops: list[tuple[list[Json], list[Json]]] = field(default_factory=list)
    """Enclosing loops: jumps out of each, jumps to its update."""

    def instance(self, name: str) -> str:
        """A header's or stack's name as p4c writes it: without the root ``hdr``."""
        short = name.removeprefix("hdr.")
        return name if short in self.standard or short == SCALARS else short

    def fail(self, construct: str) -> Unwritable:
        return Unwritable(construct, self.span)

    def add(self, op: str, *parameters: Any) -> Json:
        primitive: Json = {"op": op, "parameters": list(parameters), **source_info(self.span)}
        self.primitives.append(primitive)
        return primitive

    def temporary(self, type_: ir.Type) -> Json:
        """A field for the value of an expression."""
        if isinstance(type_, ir.VarBits):
            raise self.fail("a local variable of type varbit")
        name = f"$tmp_{len(self.temporaries)}"
        self.temporaries[name] = type_
        return {"type": "field", "value": [SCALARS, name]}


def source_info(span: ir.Span | None) -> Json:
    """As an entry of an object; bmv2 and our switch show it in logs."""
    if span is None:
        return {}
    line = linecache.getline(span.file, span.line).rstrip("\r\n")
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    fragment = line[span.column - 1 : end] + ("" if span.end_line == span.line else " ...")
    place: Json = {"filename": span.file, "line": span.line, "column": span.column - 1, "source_fragment": fragment}
    return {"source_info": place}


def hexstr(value: int, width_bits: int = 0) -> Json:
    return {"type": "hexstr", "value": hex_digits(value, width_bits)}


def hex_digits(value: int, width_bits: int) -> str:
    """Hex digits with the zeros that fill whole bytes, as p4c writes constants of a width."""
    digits = (width_bits + 7) // 8 * 2
    return f"-0x{-value:0{digits}x}" if value < 0 else f"0x{value:0{digits}x}"


def operation(op: str, left: Any, right: Any, condition: Json | None = None) -> Json:
    value: Json = {"op": op, "left": left, "right": right}
    if condition is not None:
        value["cond"] = condition
    return {"type": "expression", "value": value}


def parameter(value: Json) -> Json:
    """A value as a primitive's parameter: p4c wraps expressions twice, and names action data differently there."""
    if value["type"] == "expression":
        return {"type": "expression", "value": value}
    if value["type"] == "local":
        return {"type": "runtime_data", "value": value["value"]}
    return value
