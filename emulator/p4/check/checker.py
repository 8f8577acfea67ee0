"""The checker: names, types and rules for a whole program; syntax tree in, resolved tree out.

Declarations are taken in order, so a name is found only after its declaration (parser states are the exception). An
error abandons the statement or declaration it is in and checking goes on with the next one.
"""

from __future__ import annotations

from typing import Any

from emulator.p4.architecture import Architecture
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.annotations import AnnotationChecker
from emulator.p4.check.uses import bodies_of, may_be_unused, warn_of_unset_reads, warn_of_unused
from emulator.p4.errors import Abandoned, Diagnostics, Kind
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.source import Tokens


class Checker(AnnotationChecker):
    def __init__(self, tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture) -> None:
        super().__init__(tokens, diagnostics, architecture)
        self.globals: list[r.InstanceSymbol] = []
        self.main: r.InstanceSymbol | None = None
        self.declarations = []
        self.field_lists: dict[int, tuple[int, ...]] = {}
        self.repeatable_functions: dict[tuple[str, int], list[str]] = {}
        self.repeatable: dict[tuple[type, str], s.BlockType | s.ExternObject] = {}

    def program(self, program: s.Program) -> r.Program:
        for node in program:
            try:
                _DECLARATIONS[type(node)](self, node)
            except Abandoned:
                self._declare_unknown_top(node)
        self.structured_annotations()
        if not self.diagnostics.errors:
            self._warn_of_uses()
        return r.Program(
            self.main, tuple(self.errors), self.globals, self.declarations, self.field_lists, tuple(self.refusals)
        )

    def _warn_of_uses(self) -> None:
        warn_of_unset_reads(bodies_of(self.declarations), self.warn_in_program)
        candidates = (*self.variables, *may_be_unused(self.declarations))
        warn_of_unused(candidates, self.used, self.warn_in_program)

    def _declare_unknown_top(self, node: s.Decl) -> None:
        scope = self.scopes[0]
        if node.name in scope or isinstance(node, s.Members):
            return
        is_type = isinstance(node, s.Struct | s.Enum | s.Typedef | s.BlockType | s.ExternObject | s.Parser | s.Control)
        scope[node.name] = t.UNKNOWN if is_type else r.VariableSymbol(node.name, t.UNKNOWN, node.name_at)

    # --- types ---------------------------------------------------------------------------------------------------

    def top_struct(self, node: s.Struct) -> None:
        self.declare_type(node, self.struct(node))
        for field in node.fields:
            for annotation in field.annotations:
                if annotation.name == self.architecture.field_lists[0]:
                    self._field_list(annotation)

    def _field_list(self, annotation: s.Annotation) -> None:
        numbers = self.numbers_of(annotation, "the number of a field list")
        if any(number not in _FIELD_LISTS for number in numbers):
            self.report(annotation, f"a field list has a number from 0 to {_FIELD_LISTS[-1]}", Kind.CONSTANT)
        self.field_lists[annotation.at] = numbers

    def top_enum(self, node: s.Enum) -> None:
        self.declare_type(node, self.enum(node))

    def top_typedef(self, node: s.Typedef) -> None:
        self.declare_type(node, self.typedef(node))

    def top_members(self, node: s.Members) -> None:
        self.members(node)

    def top_block_type(self, node: s.BlockType) -> None:
        if self._is_repeated(node):
            return
        type_ = self.block_type(node)
        if node.kind != "package" or not self.is_overload(node, type_):
            self.declare_type(node, type_)

    def top_extern(self, node: s.ExternObject) -> None:
        if not self._is_repeated(node):
            self.extern(node)

    def _is_repeated(self, node: s.BlockType | s.ExternObject) -> bool:
        """The same declaration once more, which is tolerated; ``declare`` reports a different one."""
        known = self.repeatable.setdefault((type(node), node.name), node)
        return known is not node and self._text(known) == self._text(node)

    def _text(self, node: s.Decl) -> list[str]:
        return self.tokens.texts[node.name_at : node.end + 1]

    def top_extern_function(self, node: s.ExternFunction) -> None:
        signature = self.signature(node.head)
        known = self.scopes[0].get(node.name)
        if isinstance(known, r.ExternFunctionSymbol):
            known_text = self.repeatable_functions.get((node.name, len(signature.parameters)))
            if known_text == self._text(node):
                return
            if any(t.takes_the_same(o, signature) for o in known.signatures):
                self.fail(node.name_at, f"{node.name}() is declared twice with such parameters", Kind.DUPLICATE)
            known.signatures.append(signature)
            return
        self.repeatable_functions[node.name, len(signature.parameters)] = self._text(node)
        self.declare(node.name, r.ExternFunctionSymbol(node.name, t.VOID, node.name_at, [signature]), node.name_at)

    # --- values --------------------------------------------------------------------------------------------------

    def top_constant(self, node: s.Constant) -> None:
        self.declarations.append(self.constant(node))

    def top_variable(self, node: s.Variable) -> None:
        self.fail(node, "a variable cannot be declared at the top level", Kind.PLACE)

    def top_instantiation(self, node: s.Instantiation) -> None:
        symbol = self.instance(node)
        self.declarations.append(symbol)
        if isinstance(symbol.type, t.ExternType):
            self.globals.append(symbol)
        elif isinstance(symbol.type, t.BlockType) and symbol.type.kind == "package":
            if node.name == "main":
                self.main = symbol
        else:
            self.fail(node, f"{symbol.type} cannot be instantiated at the top level", Kind.PLACE)

    def top_function(self, node: s.Function) -> None:
        symbol = self.function(node)
        self.declarations.append(symbol)
        known = self.scopes[0].get(node.name)
        if not isinstance(known, r.FunctionSymbol):
            self.declare(node.name, symbol, node.name_at)
        elif any(t.takes_the_same(one.signature, symbol.signature) for one in (known, *known.overloads)):
            notes = self.declared_at(known.at)
            self.fail(node.name_at, f"{node.name}() is declared twice with such parameters", Kind.DUPLICATE, notes)
        else:
            known.overloads.append(symbol)

    def top_action(self, node: s.Action) -> None:
        self.declarations.append(self.action(node, None))


_FIELD_LISTS = range(256)
"""v1model's functions take the number as bit<8>."""
_DECLARATIONS: dict[Any, Any] = {
    s.Struct: Checker.top_struct,
    s.Enum: Checker.top_enum,
    s.Typedef: Checker.top_typedef,
    s.Members: Checker.top_members,
    s.BlockType: Checker.top_block_type,
    s.ExternObject: Checker.top_extern,
    s.ExternFunction: Checker.top_extern_function,
    s.Constant: Checker.top_constant,
    s.Variable: Checker.top_variable,
    s.Instantiation: Checker.top_instantiation,
    s.Function: Checker.top_function,
    s.Action: Checker.top_action,
    s.Parser: Checker.top_block,
    s.Control: Checker.top_block,
}


def check(program: s.Program, tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture) -> r.Program:
    """The resolved program; errors go to ``diagnostics``, and the result is whole only when there are none."""
    return Checker(tokens, diagnostics, architecture).program(program)
