"""Expressions: precedence climbing over the grammar's operator table."""

from __future__ import annotations

from emulator.p4.syntax import tree as s
from emulator.p4.syntax.base import GENERIC_FUNCTION, NAME_KINDS, TYPE_STARTS, VALUE, BaseParser
from emulator.p4.syntax.lexer import integer_value

_LEVELS = (
    ("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("|",), ("^",), ("&",), ("<<", ">>"),
    ("++", "+", "-", "|+|", "|-|"), ("*", "/", "%"),
)  # fmt: skip
PRECEDENCE = {op: level for level, ops in enumerate(_LEVELS, 1) for op in ops}
_PREFIX = frozenset("!~-+")
_POSTFIX = frozenset(".[(<")


class ExpressionParser(BaseParser):
    def expression(self) -> s.Expr:
        left = self.binary(1)
        if self.kinds[self.position] != "?":
            return left
        self.position += 1
        then = self.expression()
        self.expect(":", "between the branches of '?'")
        return s.Mux(left.at, left, then, self.expression())

    def binary(self, lowest: int) -> s.Expr:
        left = self.unary()
        kinds = self.kinds
        while (level := PRECEDENCE.get(kinds[self.position], 0)) >= lowest:
            op = kinds[self.position]
            if op == "+" and kinds[self.position + 1] == ":":  # of a slice: base[low +: width]
                break
            self.position += 1
            left = s.Binary(left.at, op, left, self.binary(level + 1))
        return left

    def unary(self) -> s.Expr:
        position = self.position
        kind = self.kinds[position]
        if kind in _PREFIX:
            self.position = position + 1
            return s.Unary(position, kind, self.unary())
        if kind == "(" and self._is_cast():
            self.position = position + 1
            target = self.type()
            self.expect(")", "after the type of a cast")
            return s.Cast(position, target, self.unary())
        return self.postfix(self.primary())

    def _is_cast(self) -> bool:
        """``(T) e``; a type name followed by a dot or a call is an expression (``(E.member)``, ``(f())``)."""
        self.position += 1
        is_type = self.is_type_start()
        after = self.peek(2 if self.is_at(".") else 1)
        kind = self.kinds[self.position]
        self.position -= 1
        if not is_type or (kind == "error" and after == "."):
            return False
        return kind in TYPE_STARTS or after not in (".", "(")

    def primary(self) -> s.Expr:
        at = self.position
        kind = self.kinds[at]
        if kind == "ID" or kind in NAME_KINDS:
            if self.is_type_name() or (kind == "list" and self.peek() == "<"):
                return self._type_expression()
            self.position = at + 1
            return s.Name(at, self.texts[at])
        if kind == "INTEGER":
            self.position = at + 1
            literal = integer_value(self.texts[at])
            if literal is None:
                self.fail(f"{self.texts[at][:40]!r} is not an integer, or too long", at)
            return s.IntLiteral(at, *literal)
        handler = _PRIMARIES.get(kind)
        if handler is None:
            self.fail("expected an expression")
        return handler(self)

    def _type_expression(self) -> s.Expr:
        at = self.position
        if self.kinds[at] == "error":
            self.position = at + 1
            return s.TypeName(at, s.SimpleType(at, "error"))
        return s.TypeName(at, self.named_type())

    def _absolute(self) -> s.Expr:
        if self.is_type_name():
            return self._type_expression()
        at = self.position
        self.position += 1
        name, _ = self.name("after '.'")
        return s.Name(at, name, True)

    def _parenthesis(self) -> s.Expr:
        self.position += 1
        inner = self.expression()
        self.expect(")", "to close the parenthesis")
        return inner

    def _string(self) -> s.Expr:
        at = self.position
        self.position += 1
        return s.StringLiteral(at, self.texts[at][1:-1])

    def _word(self) -> s.Expr:
        at = self.position
        self.position += 1
        kind = self.kinds[at]
        if kind == "this":
            return s.This(at)
        if kind == "...":
            return s.Dots(at)
        if kind == "{#}":
            return s.InvalidHeader(at)
        return s.BoolLiteral(at, kind == "true")

    def _braces(self) -> s.Expr:
        """A list, or ``{ name = value, ... }``."""
        at = self.position
        self.position += 1
        if self.kinds[self.position] in NAME_KINDS and self.peek() == "=":
            return self._struct_expression(at)
        items: list[s.Expr] = []
        while not self.is_at("}"):
            items.append(self.expression())
            if not self.accept(","):
                break
        self.expect("}", "after a list's elements")
        return s.ListOf(at, tuple(items))

    def _struct_expression(self, at: int) -> s.Expr:
        found: list[tuple[str, s.Expr, int]] = []
        has_defaults = False
        while not self.is_at("}"):
            if self.accept("..."):
                has_defaults = True
                self.accept(",")
                break
            name, token = self.name("of a field")
            self.expect("=", "after a field's name")
            found.append((name, self.expression(), token))
            if not self.accept(","):
                break
        self.expect("}", "after a structure's fields")
        return s.StructOf(at, tuple(found), has_defaults)

    # --- postfix -------------------------------------------------------------------------------------------------

    def postfix(self, base: s.Expr) -> s.Expr:
        kinds = self.kinds
        while (kind := kinds[self.position]) in _POSTFIX:
            if kind == ".":
                self.position += 1
                name, token = self.member_name()
                base = s.Member(base.at, base, name, token)
            elif kind == "[":
                base = self._brackets(base)
            elif kind == "(":
                base = s.Call(base.at, base, None, self.arguments())
            elif self._opens_type_arguments(base):
                type_arguments = self.type_arguments()
                if not self.is_at("("):
                    self.fail("expected '(' after type arguments")
                base = s.Call(base.at, base, type_arguments, self.arguments())
            else:
                break
        return base

    def member_name(self) -> tuple[str, int]:
        return self.name("after '.'")

    def _brackets(self, base: s.Expr) -> s.Expr:
        self.position += 1
        first = self.expression()
        if self.accept(":"):
            low = self.expression()
            self.expect("]", "after a slice")
            return s.SliceOf(base.at, base, first, low, False)
        if self.is_at("+") and self.peek() == ":":
            self.position += 2
            width = self.expression()
            self.expect("]", "after a slice")
            return s.SliceOf(base.at, base, first, width, True)
        self.expect("]", "after an index")
        return s.Index(base.at, base, first)

    def _opens_type_arguments(self, base: s.Expr) -> bool:
        """Whether ``<`` here is a bracket: after a generic function, or a generic method before a type."""
        if isinstance(base, s.Name):
            return self.names.kinds.get(base.name, VALUE) == GENERIC_FUNCTION
        if not isinstance(base, s.Member) or base.name not in self.names.generic_methods:
            return False
        self.position += 1
        is_type = self.is_type_start() or self.is_at("_")
        is_unknown_type = self.is_at("ID") and self.peek() == ">" and self.peek(2) == "("
        self.position -= 1
        return is_type or is_unknown_type

    def arguments(self) -> tuple[s.Argument, ...]:
        """``( argument, ... )``; positional, named, or ``_``."""
        self.expect("(", "before arguments")
        found: list[s.Argument] = []
        if self.kinds[self.position] != ")":
            found.append(self._argument())
            while self.accept(","):
                found.append(self._argument())
        self.expect(")", "after the arguments")
        return tuple(found)

    def _argument(self) -> s.Argument:
        at = self.position
        name = None
        if self.kinds[at] in NAME_KINDS and self.kinds[at + 1] == "=":
            name = self.texts[at]
            self.position = at + 2
        if self.accept("_"):
            return s.Argument(at, name, None)
        return s.Argument(at, name, self.expression())

    # --- keysets -------------------------------------------------------------------------------------------------

    def keyset(self) -> s.Expr:
        """keysetExpression: one simple keyset, or a parenthesised tuple of them."""
        if not self.is_at("("):
            return self.simple_keyset()
        at = self.position
        if self._is_cast():
            return self.simple_keyset()
        self.position += 1
        items = [self.simple_keyset()]
        while self.accept(","):
            items.append(self.simple_keyset())
        self.expect(")", "after a keyset")
        if len(items) == 1 and not isinstance(items[0], s.MaskOf | s.RangeOf | s.DontCare):
            self.position = at  # just a parenthesised expression, which may go on: (a) + b
            return self.simple_keyset()
        return s.TupleKeyset(at, tuple(items))

    def simple_keyset(self) -> s.Expr:
        at = self.position
        if self.kinds[at] in ("_", "default"):
            self.position = at + 1
            return s.DontCare(at)
        value = self.expression()
        if self.accept("&&&"):
            return s.MaskOf(value.at, value, self.expression())
        if self.accept(".."):
            return s.RangeOf(value.at, value, self.expression())
        return value


_PRIMARIES = {
    "STRING": ExpressionParser._string,
    "true": ExpressionParser._word,
    "false": ExpressionParser._word,
    "this": ExpressionParser._word,
    "...": ExpressionParser._word,
    "{#}": ExpressionParser._word,
    "{": ExpressionParser._braces,
    "(": ExpressionParser._parenthesis,
    ".": ExpressionParser._absolute,
    "error": ExpressionParser._type_expression,
}
