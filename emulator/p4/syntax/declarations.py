"""Declarations of the top level, but for parsers and controls: types, externs, functions."""

from __future__ import annotations

from typing import Any, NoReturn

from emulator.p4.errors import Abandoned
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.base import GENERIC_TYPE, TYPE
from emulator.p4.syntax.blocks import BlockParser


class DeclarationParser(BlockParser):
    def declaration(self) -> s.Decl:  # noqa: RET503
        at = self.position
        annotations = self.annotations()
        handler = _DECLARATIONS.get(self.kinds[self.position])
        if handler is not None and not self._is_error_type():
            self.is_lost = self.is_lost and self.kinds[self.position] in ("action", "const")
            found: s.Decl = handler(self, at, annotations)
            return found
        if self.is_type_start() or self._is_generic_function():
            return self._function_or_instantiation(at, annotations)
        if self.texts[self.position] == "header_type" and self.peek() == "ID" and self.peek(2) == "{":
            self._give_up_p4_14()
        if self.is_at("ID") and self.peek() in ("ID", "<", "("):
            self.undeclared_type(self.position)
        self.lose("expected a declaration")

    def _give_up_p4_14(self) -> NoReturn:
        """One error for the whole program, in which nothing would be right."""
        self.report("this is P4_14; p4c rewrites it in P4_16: p4test --std p4-14 --pp NEW.p4 OLD.p4", self.position)
        self.position = len(self.kinds) - 1
        raise Abandoned

    def _is_error_type(self) -> bool:
        """``error f(...)`` is a function, ``error { ... }`` a declaration; ``type`` and the like may be names."""
        kind, after = self.kinds[self.position], self.peek()
        return kind in ("error", "match_kind") and after != "{"

    def _is_generic_function(self) -> bool:
        """``T f<T>(...)``: the return type is declared only behind the function's name."""
        return self.is_at("ID") and self.peek() == "ID" and self.peek(2) == "<"

    # --- types ---------------------------------------------------------------------------------------------------

    def _struct(self, at: int, annotations: s.Annotations) -> s.Struct:
        kind = self.kinds[self.position]
        self.position += 1
        name, name_at = self.name(f"of a {kind}")
        type_parameters = self.type_parameters()
        self.declare(name, GENERIC_TYPE if type_parameters else TYPE)
        self.names.enter()
        for parameter in type_parameters:
            self.declare(parameter, TYPE)
        self.expect("{", f"before the {kind}'s fields")
        fields: list[s.StructField] = []
        while not self.is_at("}"):
            start = self.position
            field_annotations = self.annotations()
            target = self.type()
            field_name, field_at = self.name("of a field")
            end = self.expect(";", "after a field")
            fields.append(s.StructField(start, end, field_annotations, field_name, field_at, target))
        self.names.leave()
        end = self.expect("}", f"after the {kind}'s fields")
        return s.Struct(at, end, annotations, name, name_at, kind, type_parameters, tuple(fields))

    def _enum(self, at: int, annotations: s.Annotations) -> s.Enum:
        self.position += 1
        is_plain = self.peek() == "{"
        representation = None if is_plain else self.type()
        name, name_at = self.name("of an enum")
        self.declare(name, TYPE)
        self.expect("{", "before the enum's members")
        members: list[tuple[str, int, s.Expr | None]] = []
        while not members or not self.is_at("}"):
            member, member_at = self.name("of an enum's member")
            value = None
            if representation is not None:
                self.expect("=", "after the member's name: an enum with a representation gives values")
                value = self.expression()
            members.append((member, member_at, value))
            if not self.accept(","):
                break
        end = self.expect("}", "after the enum's members")
        return s.Enum(at, end, annotations, name, name_at, representation, tuple(members))

    def _members(self, at: int, annotations: s.Annotations) -> s.Members:
        name_at = self.position
        self.position += 1
        self.expect("{", f"after {self.texts[name_at]}")
        members: list[tuple[str, int]] = []
        while not members or not self.is_at("}"):
            members.append(self.name("of a member"))
            if not self.accept(","):
                break
        end = self.expect("}", "after the members")
        return s.Members(at, end, annotations, self.texts[name_at], name_at, tuple(members))

    def _typedef(self, at: int, annotations: s.Annotations) -> s.Typedef:
        is_new = self.kinds[self.position] == "type"
        self.position += 1
        inner_at = self.position
        inner_annotations = self.annotations()
        target: s.TypeNode | s.Struct | s.Enum
        if self.kinds[self.position] in ("struct", "header", "header_union"):
            target = self._struct(inner_at, inner_annotations)
        elif self.is_at("enum"):
            target = self._enum(inner_at, inner_annotations)
        else:
            target = self.type()
        name, name_at = self.name("of the new type")
        self.declare(name, TYPE)
        end = self.expect(";", "after a type definition")
        return s.Typedef(at, end, annotations, name, name_at, is_new, target)

    def _constant(self, at: int, annotations: s.Annotations) -> s.Constant:
        return self.constant(annotations)

    def _function(self, at: int, annotations: s.Annotations) -> s.Function | s.Instantiation:
        return self._function_or_instantiation(at, annotations)

    # --- externs -------------------------------------------------------------------------------------------------

    def _extern(self, at: int, annotations: s.Annotations) -> s.ExternObject | s.ExternFunction:
        self.position += 1
        if self.kinds[self.position] in ("ID",) and self.peek() in ("{", "<") and not self._is_function_ahead():
            return self._extern_object(at, annotations)
        head = self.prototype(at, annotations, declare=True)
        end = self.expect(";", "after an extern function")
        return s.ExternFunction(at, end, annotations, head.name, head.name_at, head)

    def _is_function_ahead(self) -> bool:
        """``extern X<T> f(...)`` (X a type) against ``extern X<T> { ... }``."""
        position = self.position
        while self.kinds[position] not in ("{", "(", ";", "EOF"):
            position += 1
        return self.kinds[position] != "{"

    def _extern_object(self, at: int, annotations: s.Annotations) -> s.ExternObject:
        name, name_at = self.name("of an extern")
        type_parameters = self.type_parameters()
        self.declare(name, GENERIC_TYPE if type_parameters else TYPE)
        self.names.enter()
        for parameter in type_parameters:
            self.declare(parameter, TYPE)
        self.expect("{", "before an extern's methods")
        methods: list[s.Prototype] = []
        while not self.is_at("}"):
            methods.append(self._method(name))
        self.names.leave()
        end = self.expect("}", "after an extern's methods")
        return s.ExternObject(at, end, annotations, name, name_at, type_parameters, tuple(methods))

    def _method(self, extern_name: str) -> s.Prototype:
        at = self.position
        annotations = self.annotations()
        is_abstract = self.accept("abstract")
        if self.texts[self.position] == extern_name and self.peek() == "(":
            name_at = self.position
            self.position += 1
            parameters = self.parameters()
            end = self.expect(";", "after a constructor")
            return s.Prototype(at, end, annotations, extern_name, name_at, None, (), parameters, False)
        head = self.prototype(at, annotations, declare=False, is_abstract=is_abstract)
        self.expect(";", "after a method")
        return head


_DECLARATIONS: dict[str, Any] = {
    "const": DeclarationParser._constant,
    "extern": DeclarationParser._extern,
    "action": DeclarationParser._action,
    "parser": DeclarationParser._block,
    "control": DeclarationParser._block,
    "package": DeclarationParser._block,
    "struct": DeclarationParser._struct,
    "header": DeclarationParser._struct,
    "header_union": DeclarationParser._struct,
    "enum": DeclarationParser._enum,
    "typedef": DeclarationParser._typedef,
    "type": DeclarationParser._typedef,
    "error": DeclarationParser._members,
    "match_kind": DeclarationParser._members,
    "void": DeclarationParser._function,
}
