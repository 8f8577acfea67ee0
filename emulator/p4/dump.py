"""What a stage of the front end made, as text."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.frontend import Stages
from emulator.p4.ir.printer import print_program
from emulator.p4.preprocess.preprocessor import preprocessed_text

_PLACES = frozenset(("at", "end", "name_at"))


def stage_text(stages: Stages, stage: str) -> str:
    """The text of one of ``frontend.STAGES``, which the run must have reached."""
    if stage == "preprocess":
        assert stages.tokens is not None
        return preprocessed_text(stages.tokens)
    if stage == "parse":
        return "\n".join(line for node in stages.syntax or () for line in tree_lines(node, 0)) + "\n"
    if stage == "check":
        assert stages.resolved is not None
        return "\n".join(line for node in stages.resolved.declarations for line in _declaration(node)) + "\n"
    assert stages.lowered is not None
    return print_program(stages.lowered.program)


def _declaration(node: Any) -> list[str]:
    if isinstance(node, t.BlockType) and isinstance(node.declaration, r.BlockSymbol):
        return tree_lines(node.declaration, 0, set())
    if isinstance(node, t.StructLike):
        return [f"{node.kind} {node}"] + [f"  {f.name}: {f.type}" for f in node.fields.values()]
    if isinstance(node, t.Type):
        return [f"{type(node).__name__} {node}"]
    return tree_lines(node, 0, set())


def tree_lines(node: Any, depth: int, seen: set[int] | None = None) -> list[str]:
    """A tree of dataclasses, one node to a line, scalar fields behind its name."""
    indent = "  " * depth
    if isinstance(node, t.Type | t.Signature):
        return [f"{indent}{node if isinstance(node, t.Type) else node.name}"]
    if seen is not None and isinstance(node, r.Symbol):
        if id(node) in seen:
            return [f"{indent}-> {node.name}: {node.type}"]
        seen.add(id(node))
    head, inside = [type(node).__name__], []
    for f in fields(node):
        value = getattr(node, f.name)
        if f.name in _PLACES or value in (None, (), []):
            continue
        if is_dataclass(value) and not isinstance(value, t.Type):
            inside += [f"{indent}  .{f.name}", *tree_lines(value, depth + 2, seen)]
        elif isinstance(value, list | tuple | dict):
            inside += _many(f.name, value, depth, seen)
        else:
            head.append(f"{f.name}={value.name if isinstance(value, Enum) else value}")
    return [indent + " ".join(head), *inside]


def _many(name: str, values: Any, depth: int, seen: set[int] | None) -> list[str]:
    indent = "  " * depth
    lines = [f"{indent}  .{name}"]
    for value in values.values() if isinstance(values, dict) else values:
        if is_dataclass(value) and not isinstance(value, type):
            lines += tree_lines(value, depth + 2, seen)
        elif isinstance(value, tuple):
            lines += _many("-", value, depth + 1, seen)
        else:
            lines.append(f"{indent}    {value}")
    return lines
