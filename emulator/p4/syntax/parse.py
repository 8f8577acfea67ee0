"""Recursive descent over the P4_16 1.2.5 grammar: the shared part, and the entry point.

As in p4c, names of types are told from other names by what was declared before (`_Names`); that decides casts,
declarations against expressions, and whether ``<`` opens type arguments. After a syntax error parsing goes on behind
the construct, so that one run finds several errors.
"""

from __future__ import annotations

from emulator.p4.deep_stack import is_deep
from emulator.p4.errors import Abandoned, Diagnostic, Diagnostics, Kind
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.declarations import DeclarationParser
from emulator.p4.syntax.source import Tokens


def parse(tokens: Tokens, diagnostics: Diagnostics) -> s.Program:
    """The syntax tree of a whole program; errors go to ``diagnostics``."""
    parser = DeclarationParser(tokens, diagnostics)
    declarations: list[s.Decl] = []
    while not parser.is_at("EOF"):
        if parser.accept(";"):
            continue
        start = parser.position
        try:
            declarations.append(parser.declaration())
        except Abandoned:
            parser.recover_declaration(start)
        except RecursionError:
            if not is_deep():
                raise
            message = "this is nested too deeply to be parsed"
            diagnostics.report(Diagnostic(Kind.SYNTAX, message, tokens.span(start)))
            break
    return tuple(declarations)
