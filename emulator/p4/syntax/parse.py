"""Recursive descent over the P4_16 1.2.5 grammar: the entry point.

As in p4c, names of types are distinguished from other names by what was declared before (`cursor.Names`); that decides
casts, declarations against expressions, and whether ``<`` opens type arguments. After a syntax error parsing goes on
behind the construct, so that one run finds several errors.
"""

from __future__ import annotations

from emulator.p4.deep_stack import is_deep
from emulator.p4.errors import Abandoned, Diagnostic, Diagnostics, Kind
from emulator.p4.syntax import declarations, expressions, functions
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.cursor import Cursor, Dispatch
from emulator.p4.syntax.source import Tokens

_DISPATCH = Dispatch(expressions.parse, functions.object_initializer)


def cursor(tokens: Tokens, diagnostics: Diagnostics, position: int = 0) -> Cursor:
    """A cursor at that token, with an empty table of names."""
    cx = Cursor(tokens, diagnostics, _DISPATCH)
    cx.position = position
    return cx


def parse(tokens: Tokens, diagnostics: Diagnostics) -> s.Program:
    """The syntax tree of a whole program; errors go to ``diagnostics``."""
    cx = cursor(tokens, diagnostics)
    found: list[s.Decl] = []
    while not cx.is_at("EOF"):
        if cx.accept(";"):
            continue
        start = cx.position
        try:
            found.append(declarations.parse(cx))
        except Abandoned:
            declarations.recover(cx, start)
        except RecursionError:
            if not is_deep():
                raise
            message = "this is nested too deeply to be parsed"
            diagnostics.report(Diagnostic(Kind.SYNTAX, message, tokens.span(start)))
            break
    return tuple(found)
