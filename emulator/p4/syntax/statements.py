"""Statements and the declarations that may stand among them."""

from __future__ import annotations

from typing import Any, NoReturn

from emulator.p4.errors import Abandoned
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.base import NAME_KINDS
from emulator.p4.syntax.expressions import ExpressionParser

NO_STATEMENTS = frozenset((
    "action", "table", "control", "parser", "package", "extern", "struct", "header", "header_union", "enum",
    "value_set",
))  # fmt: skip
"""Words that begin declarations which never stand among statements."""
ASSIGNMENTS = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "|+|=", "|-|="])


class StatementParser(ExpressionParser):
    def block(self, annotations: s.Annotations = ()) -> s.BlockStatement:
        at = self.expect("{", "before a block")
        self.names.enter()
        body = self.statements()
        self.names.leave()
        return s.BlockStatement(at, self.expect("}", "after a block"), annotations, body)

    def statements(self) -> tuple[s.Statement, ...]:
        """Statements up to the closing brace; after an error parsing goes on behind the statement."""
        found: list[s.Statement] = []
        depth = self.names.depth
        kinds = self.kinds
        while (kind := kinds[self.position]) != "}" and kind != "EOF" and kind != "transition":
            start = self.position
            try:
                found.append(self.statement())
            except Abandoned:
                while self.names.depth > depth:
                    self.names.leave()
                self.recover_statement(start)
        return tuple(found)

    def recover_statement(self, start: int) -> None:
        failed_at, self.position = self.position, start
        while True:
            self.skip_to(";")
            if self.is_at(";"):
                self.position += 1
            if self.position > failed_at or self.kinds[self.position] in ("}", "EOF"):
                break
        while self.accept("else"):  # of an if that was wrong
            self.skip_to(";")
            self.accept(";")

    def statement(self) -> s.Statement:
        position = self.position
        kind = self.kinds[position]
        if kind in NO_STATEMENTS or self._is_block(kind):
            self.lose_braces(kind)
        handler = _STATEMENTS.get(kind)
        if handler is not None:
            found: s.Statement = handler(self)
            return found
        annotations: s.Annotations = ()
        if kind == "@":
            annotations = self.annotations()
            if self.is_at("{"):
                return self.block(annotations)
            if self.is_at("for"):
                return self.for_statement(annotations)
            if self.is_at("const"):
                return self.constant(annotations)
        if self.is_type_start() and self._is_declaration():
            return self.variable_or_instantiation(annotations)
        if annotations:
            self.fail("annotations can stand before blocks, loops and declarations, not before this")
        self._check_undeclared()
        simple = self.assignment_or_call()
        self.expect(";", "after a statement")
        return simple

    def _is_block(self, kind: str) -> bool:
        """``apply { }`` or ``state s { }``, where ``apply`` and ``state`` may also be variables."""
        if kind == "apply":
            return self.peek() == "{"
        return kind == "state" and self.peek() in NAME_KINDS and self.peek(2) == "{"

    def lose_braces(self, kind: str) -> NoReturn:
        """Behind a brace that is missing all declarations are in a block."""
        self.lose(f"{kind!r} cannot stand here: is a closing brace missing above?")

    def _is_declaration(self) -> bool:
        """A type here begins a declaration unless it is ``E.member``, ``T.apply(...)`` or ``T(...).apply(...)``."""
        behind = self.behind_type()
        return self.kinds[behind] != "." and not (self.kinds[behind] == "(" and self._is_applied(behind))

    def _is_applied(self, position: int) -> bool:
        """Whether a dot follows the parenthesis that closes the one at ``position``."""
        depth = 0
        while self.kinds[position] != "EOF":
            depth += (self.kinds[position] == "(") - (self.kinds[position] == ")")
            position += 1
            if depth == 0:
                return self.kinds[position] == "."
        return False

    def _check_undeclared(self) -> None:
        """``T x;`` with T unknown: say that rather than "expected '='"."""
        if self.is_at("ID") and self.peek() == "ID" and self.peek(2) in (";", "="):
            self.undeclared_type(self.position)

    def variable_or_instantiation(self, annotations: s.Annotations) -> s.Variable | s.Instantiation:
        at = self.position
        target = self.type()
        if self.is_at("("):
            return self.instantiation(at, annotations, target)
        found = self.variable(at, annotations, target)
        end = self.expect(";", "after a variable's declaration")
        return s.Variable(at, end, annotations, found.name, found.name_at, found.type, found.value)

    def variable(self, at: int, annotations: s.Annotations, target: s.TypeNode) -> s.Variable:
        name, name_at = self.name("of a variable")
        value = self.expression() if self.accept("=") else None
        self.declare(name)
        return s.Variable(at, self.position - 1, annotations, name, name_at, target, value)

    def instantiation(self, at: int, annotations: s.Annotations, target: s.TypeNode) -> s.Instantiation:
        arguments = self.arguments()
        name, name_at = self.name("of an instance")
        self.declare(name)
        initializer = self.object_initializer() if self.accept("=") else None
        end = self.expect(";", "after an instantiation")
        return s.Instantiation(at, end, annotations, name, name_at, target, arguments, initializer)

    def object_initializer(self) -> tuple[s.Decl, ...]:
        raise NotImplementedError

    def constant(self, annotations: s.Annotations) -> s.Constant:
        at = self.expect("const", "before a constant")
        target = self.type()
        name, name_at = self.name("of a constant")
        self.expect("=", "after a constant's name")
        value = self.expression()
        self.declare(name)
        return s.Constant(at, self.expect(";", "after a constant"), annotations, name, name_at, target, value)

    def assignment_or_call(self) -> s.Assign | s.CallStatement:
        at = self.position
        target = self.postfix(self.primary())
        op = self.kinds[self.position]
        if op in ASSIGNMENTS:
            self.position += 1
            value = self.expression()
            return s.Assign(at, self.position - 1, target, op, value)
        if not isinstance(target, s.Call):
            self.fail("expected '=' or a call")
        return s.CallStatement(at, self.position - 1, target)

    # --- control flow --------------------------------------------------------------------------------------------

    def body(self) -> s.Statement:
        """What stands behind ``if``, ``else`` or a loop's head: a statement, no declaration."""
        start = self.position
        found = self.statement()
        if isinstance(found, s.Variable | s.Instantiation | s.Constant):
            self.report("a declaration cannot stand here alone: put it in braces", start)
        return found

    def _if(self) -> s.If:
        at = self.expect("if", "")
        self.expect("(", "after 'if'")
        condition = self.expression()
        self.expect(")", "after the condition")
        then = self.body()
        otherwise = self.body() if self.accept("else") else None
        return s.If(at, self.position - 1, condition, then, otherwise)

    def _switch(self) -> s.Switch:
        at = self.expect("switch", "")
        self.expect("(", "after 'switch'")
        value = self.expression()
        self.expect(")", "after the switch's expression")
        self.expect("{", "before the switch's cases")
        cases: list[s.SwitchCase] = []
        while not self.is_at("}") and not self.is_at("EOF"):
            start = self.position
            if self.is_at("{"):
                self.fail("expected a label")
            label = s.DontCare(start) if self.accept("default") else self.expression()
            self.expect(":", "after a switch's label")
            annotations = self.annotations()  # such as @likely
            has_body = bool(annotations) or self.is_at("{")
            cases.append(s.SwitchCase(start, label, self.block(annotations) if has_body else None))
        return s.Switch(at, self.expect("}", "after the switch's cases"), value, tuple(cases))

    def _return(self) -> s.Return:
        at = self.expect("return", "")
        value = None if self.is_at(";") else self.expression()
        return s.Return(at, self.expect(";", "after return"), value)

    def _simple(self) -> s.Statement:
        at = self.position
        nodes: dict[str, type[s.Exit | s.Break | s.Continue]]
        nodes = {"exit": s.Exit, "break": s.Break, "continue": s.Continue}
        node = nodes[self.kinds[at]]
        self.position += 1
        return node(at, self.expect(";", f"after {self.texts[at]}"))

    def _empty(self) -> s.Empty:
        at = self.expect(";", "")
        return s.Empty(at, at)

    def for_statement(self, annotations: s.Annotations = ()) -> s.For | s.ForIn:
        at = self.expect("for", "")
        self.expect("(", "after 'for'")
        self.names.enter()
        found = self._for_in(at, annotations) or self._for_three(at, annotations)
        self.names.leave()
        return found

    def _for_in(self, at: int, annotations: s.Annotations) -> s.ForIn | None:
        start = self.position
        self.annotations()
        if not self.is_type_start() or not self._is_declaration():
            self.position = start
            return None
        if self.peek(self.behind_type() + 1 - self.position) != "in":
            self.position = start
            return None
        target = self.type()
        name, _ = self.name("of a loop's variable")
        self.expect("in", "")
        self.declare(name)
        collection = self.simple_keyset()
        self.expect(")", "after a loop's head")
        body = self.body()
        return s.ForIn(at, self.position - 1, annotations, target, name, collection, body)

    def _for_three(self, at: int, annotations: s.Annotations) -> s.For:
        init = self._for_list(";", may_declare=True)
        self.expect(";", "in a loop's head")
        condition = self.expression()
        self.expect(";", "in a loop's head")
        update = self._for_list(")", may_declare=False)
        self.expect(")", "after a loop's head")
        body = self.body()
        return s.For(at, self.position - 1, annotations, init, condition, update, body)

    def _for_list(self, closing: str, *, may_declare: bool) -> tuple[s.Statement, ...]:
        found: list[s.Statement] = []
        while not self.is_at(closing):
            at = self.position
            annotations = self.annotations()
            if may_declare and self.is_type_start() and self._is_declaration():
                found.append(self.variable(at, annotations, self.type()))
            else:
                found.append(self.assignment_or_call())
            if not self.accept(","):
                break
        return tuple(found)


_STATEMENTS: dict[Any, Any] = {
    "{": StatementParser.block,
    "if": StatementParser._if,
    "switch": StatementParser._switch,
    "return": StatementParser._return,
    "exit": StatementParser._simple,
    "break": StatementParser._simple,
    "continue": StatementParser._simple,
    ";": StatementParser._empty,
    "for": StatementParser.for_statement,
    "const": lambda parser: parser.constant(()),
}
