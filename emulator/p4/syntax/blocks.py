"""Parsers, controls, actions and tables, and the heads and parameters that all declarations share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.base import GENERIC_FUNCTION, GENERIC_TYPE, NAME_KINDS, TYPE, VALUE
from emulator.p4.syntax.lexer import integer_value
from emulator.p4.syntax.statements import NO_STATEMENTS, StatementParser

_Element = TypeVar("_Element")
_TABLE_NAME_KEYWORDS = frozenset(("ID", "apply", "state", "type", "priority"))


class BlockParser(StatementParser):
    # --- functions and instances ---------------------------------------------------------------------------------

    def _function_or_instantiation(self, at: int, annotations: s.Annotations) -> s.Function | s.Instantiation:
        if self.is_type_start():
            behind = self.behind_type()
            if self.kinds[behind] == "(":
                return self.instantiation(at, annotations, self.type())
            if self.kinds[behind] in NAME_KINDS and self.peek(behind + 1 - self.position) in (";", "="):
                self.report("a variable cannot be declared at the top level", at, Kind.PLACE)
                raise Abandoned
        head = self.prototype(at, annotations, declare=True)
        self.names.enter()
        self._declare_head(head.type_parameters, head.parameters)
        body = self.block()
        self.names.leave()
        return s.Function(at, body.end, annotations, head.name, head.name_at, head, body)

    def prototype(
        self, at: int, annotations: s.Annotations, *, declare: bool, is_abstract: bool = False
    ) -> s.Prototype:
        """typeOrVoid name optTypeParameters ( parameterList ); the return type may name the type parameters."""
        start, behind = self.position, self.behind_type()
        is_generic = self.kinds[behind] in NAME_KINDS and self.kinds[behind + 1] == "<"
        is_open = is_generic or (self.is_at("ID") and not self.is_type_name())
        if is_open:
            self.position = behind
        else:
            return_type: s.TypeNode = self.type()
        name, name_at = self.name("of a function")
        type_parameters = self.type_parameters()
        if declare:
            self.declare(name, GENERIC_FUNCTION if type_parameters else VALUE)
        elif type_parameters:
            self.names.generic_methods.add(name)
        self.names.enter()
        for parameter in type_parameters:
            self.declare(parameter, TYPE)
        after, self.position = self.position, start
        if is_open:
            return_type = self.type()
        self.position = after
        parameters = self.parameters()
        self.names.leave()
        end = self.position - 1
        return s.Prototype(at, end, annotations, name, name_at, return_type, type_parameters, parameters, is_abstract)

    def type_parameters(self) -> tuple[str, ...]:
        if not self.accept("<"):
            return ()
        found = [self.name("of a type parameter")[0]]
        while self.accept(","):
            found.append(self.name("of a type parameter")[0])
        self.close_angle()
        return tuple(found)

    def parameters(self) -> tuple[s.Parameter, ...]:
        self.expect("(", "before parameters")
        found: list[s.Parameter] = []
        if not self.is_at(")"):
            found.append(self._parameter())
            while self.accept(","):
                found.append(self._parameter())
        self.expect(")", "after the parameters")
        return tuple(found)

    def _parameter(self) -> s.Parameter:
        at = self.position
        annotations = self.annotations()
        direction = ""
        if self.kinds[self.position] in ("in", "out", "inout"):
            direction = self.kinds[self.position]
            self.position += 1
        target = self.type()
        name, name_at = self.name("of a parameter")
        default = self.expression() if self.accept("=") else None
        return s.Parameter(at, self.position - 1, annotations, name, name_at, direction, target, default)

    def _declare_head(self, type_parameters: tuple[str, ...], parameters: tuple[s.Parameter, ...]) -> None:
        for name in type_parameters:
            self.declare(name, TYPE)
        for parameter in parameters:
            self.declare(parameter.name)

    def object_initializer(self) -> tuple[s.Decl, ...]:
        self.expect("{", "before an object's initialiser")
        found: list[s.Decl] = []
        while not self.is_at("}"):
            at = self.position
            found.append(self._function_or_instantiation(at, self.annotations()))
        self.expect("}", "after an object's initialiser")
        return tuple(found)

    # --- parsers and controls ------------------------------------------------------------------------------------

    def _block(self, at: int, annotations: s.Annotations) -> s.BlockType | s.Parser | s.Control:
        kind = self.kinds[self.position]
        self.position += 1
        name, name_at = self.name(f"of a {kind}")
        type_parameters = self.type_parameters()
        self.declare(name, GENERIC_TYPE if type_parameters else TYPE)
        self.names.enter()
        for parameter in type_parameters:
            self.declare(parameter, TYPE)
        parameters = self.parameters()
        end = self.position - 1
        head = s.BlockType(at, end, annotations, name, name_at, kind, type_parameters, parameters)
        if kind == "package" or self.is_at(";"):
            self.names.leave()
            self.expect(";", f"after a {kind} type")
            return head
        constructor_parameters = self.parameters() if self.is_at("(") else ()
        self._declare_head((), (*parameters, *constructor_parameters))
        self.expect("{", f"before the {kind}'s body")
        local = self._locals()
        found = (self._parser_rest if kind == "parser" else self._control_rest)(head, constructor_parameters, local)
        self.names.leave()
        return found

    def _locals(self) -> tuple[s.Decl, ...]:
        found: list[s.Decl] = []
        depth = self.names.depth
        while self.kinds[self.position] not in ("apply", "}", "EOF") and not self._is_state():
            start = self.position
            try:
                found.append(self._local())
            except Abandoned:
                while self.names.depth > depth:
                    self.names.leave()
                self._recover_local(start)
        return tuple(found)

    def _recover_local(self, start: int) -> None:
        failed_at, self.position = self.position, start
        depth = 0
        while (kind := self.kinds[self.position]) != "EOF":
            if depth == 0 and self.position > start and (kind == "}" or (kind == "apply" and self.peek() == "{")):
                return
            depth += (kind == "{") - (kind == "}")
            self.position += 1
            if depth == 0 and kind in (";", "}") and self.position > failed_at:
                return

    def _is_state(self) -> bool:
        start = self.position
        while self.is_at("@"):
            self.annotations()
        found = self.is_at("state") and self.peek(2) == "{"
        self.position = start
        return found

    def _local(self) -> s.Decl:
        at = self.position
        annotations = self.annotations()
        kind = self.kinds[self.position]
        if kind == "action":
            return self._action(at, annotations)
        if kind == "table":
            return self._table(at, annotations)
        if kind == "const":
            return self.constant(annotations)
        if kind == "value_set":
            return self._value_set(at, annotations)
        if not self.is_type_start():
            if kind == "ID" and self.peek() != "=":
                self.undeclared_type(self.position)
            if kind in NO_STATEMENTS:
                self.lose_braces(kind)
            self.lose("expected a declaration, 'apply' or a state")
        return self.variable_or_instantiation(annotations)

    def _value_set(self, at: int, annotations: s.Annotations) -> s.ValueSet:
        self.position += 1
        arguments = self.type_arguments()
        if len(arguments) != 1:
            self.fail("value_set takes one type argument", at)
        self.expect("(", "before a value set's size")
        size = self.expression()
        self.expect(")", "after a value set's size")
        name, name_at = self.name("of a value set")
        self.declare(name)
        return s.ValueSet(at, self.expect(";", "after a value set"), annotations, name, name_at, arguments[0], size)

    def _control_rest(
        self, head: s.BlockType, constructor: tuple[s.Parameter, ...], local: tuple[s.Decl, ...]
    ) -> s.Control:
        self.expect("apply", "in a control")
        body = self.block()
        end = self.expect("}", "after a control")
        return s.Control(head.at, end, head.annotations, head.name, head.name_at, head, constructor, local, body)

    def _parser_rest(
        self, head: s.BlockType, constructor: tuple[s.Parameter, ...], local: tuple[s.Decl, ...]
    ) -> s.Parser:
        states: list[s.State] = []
        while self._is_state():
            states.append(self._state())
        end = self.expect("}", "or a state in a parser")
        if not states:
            self.fail("a parser needs at least the state 'start'", end)
        return s.Parser(
            head.at, end, head.annotations, head.name, head.name_at, head, constructor, local, tuple(states)
        )

    def _state(self) -> s.State:
        at = self.position
        annotations = self.annotations()
        self.expect("state", "")
        name, name_at = self.name("of a state")
        self.expect("{", "before a state's body")
        self.names.enter()
        body = self.statements()
        transition = self._transition() if self.accept("transition") else None
        self.names.leave()
        end = self.expect("}", "after a state")
        return s.State(at, end, annotations, name, name_at, body, transition)

    def _transition(self) -> s.Name | s.Select:
        at = self.position
        if not self.accept("select"):
            name, _ = self.name("of the next state")
            self.expect(";", "after a transition")
            return s.Name(at, name)
        self.expect("(", "after 'select'")
        keys = [self.expression()]
        while self.accept(",") and not self.is_at(")"):
            keys.append(self.expression())
        self.expect(")", "after the select's keys")
        self.expect("{", "before the select's cases")
        cases: list[s.SelectCase] = []
        while not self.is_at("}"):
            start = self.position
            keyset = self.keyset()
            self.expect(":", "after a select's label")
            state_at = self.position
            name, _ = self.name("of the next state")
            self.expect(";", "after a select's case")
            cases.append(s.SelectCase(start, keyset, s.Name(state_at, name)))
        return s.Select(at, self.expect("}", "after the select's cases"), tuple(keys), tuple(cases))

    # --- actions and tables --------------------------------------------------------------------------------------

    def _action(self, at: int, annotations: s.Annotations) -> s.Action:
        self.position += 1
        name, name_at = self.name("of an action")
        self.declare(name)
        parameters = self.parameters()
        self.names.enter()
        self._declare_head((), parameters)
        body = self.block()
        self.names.leave()
        return s.Action(at, body.end, annotations, name, name_at, parameters, body)

    def _table(self, at: int, annotations: s.Annotations) -> s.Table:
        self.position += 1
        name, name_at = self.name("of a table")
        self.declare(name)
        self.expect("{", "before a table's properties")
        properties: list[s.Property] = []
        while not self.is_at("}") and not self.is_at("EOF"):
            start = self.position
            try:
                properties.append(self._property())
            except Abandoned:
                self.recover_statement(start)
        end = self.expect("}", "after a table's properties")
        return s.Table(at, end, annotations, name, name_at, tuple(properties))

    def _property(self) -> s.Property:
        at = self.position
        annotations = self.annotations()
        is_const = self.accept("const")
        name_at = self.position
        kind, name = self.kinds[name_at], self.texts[name_at]
        if kind not in ("key", "actions", "entries") and kind not in _TABLE_NAME_KEYWORDS:
            self.fail("expected a table's property")
        if kind in ("key", "actions") and name_at != at:
            self.fail(f"{kind!r} takes neither annotations nor const", at)
        self.position += 1
        self.expect("=", "after a property's name")
        value: s.Expr | tuple[s.KeyElement, ...] | tuple[s.ActionRef, ...] | tuple[s.Entry, ...]
        if kind == "key":
            value = self._braced(self._key_element)
            self.accept(";")
        elif kind == "actions":
            value = self._braced(self._action_element)
            self.accept(";")
        elif kind == "entries":
            value = self._braced(self._entry)
            self.accept(";")
        else:
            value = self.expression()
            self.expect(";", "after a property")
        return s.Property(at, self.position - 1, annotations, name, name_at, is_const, value)

    def _braced(self, element: Callable[[], _Element]) -> tuple[_Element, ...]:
        self.expect("{", "after '='")
        found: list[_Element] = []
        while not self.is_at("}"):
            found.append(element())
        self.expect("}", "after the last element")
        return tuple(found)

    def _key_element(self) -> s.KeyElement:
        at = self.position
        value = self.expression()
        self.expect(":", "and a match kind after a key")
        kind_at = self.position
        name, _ = self.name("of a match kind")
        annotations = self.annotations()
        self.expect(";", "after a key")
        return s.KeyElement(at, value, s.Name(kind_at, name), annotations)

    def action_ref(self, annotations: s.Annotations) -> s.ActionRef:
        at = self.position
        is_absolute = self.accept(".")
        name, _ = self.name("of an action")
        arguments = self.arguments() if self.is_at("(") else None
        return s.ActionRef(at, annotations, s.Name(at, name, is_absolute), arguments)

    def _action_element(self) -> s.ActionRef:
        found = self.action_ref(self.annotations())
        self.expect(";", "after an action")
        return found

    def _entry(self) -> s.Entry:
        at = self.position
        before = self.annotations()
        is_const = self.accept("const")
        priority: s.Expr | None = None
        if self.is_at("priority") and self.peek() == "=":
            self.position += 2
            priority = self._priority()
            self.expect(":", "after an entry's priority")
        keyset = self.keyset()
        self.expect(":", "after an entry's keys")
        action = self.action_ref(())
        annotations = before + self.annotations()
        return s.Entry(at, self.expect(";", "after an entry"), annotations, is_const, priority, keyset, action)

    def _priority(self) -> s.Expr:
        if self.accept("("):
            found = self.expression()
            self.expect(")", "after a priority")
            return found
        token = self.expect("INTEGER", "or '(' as a priority")
        literal = integer_value(self.texts[token])
        if literal is None:
            self.fail(f"{self.texts[token]!r} is not an integer", token)
        return s.IntLiteral(token, *literal)
