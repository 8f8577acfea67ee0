"""Declarations of types: structs, headers, enums, typedefs, externs, block types (sections 7.2, 15, 17)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.constants import fits
from emulator.p4.check.field_types import is_legal_field
from emulator.p4.check.tables import TableChecker
from emulator.p4.errors import Kind
from emulator.p4.syntax import tree as s


class TypeChecker(TableChecker):
    def control_plane_name(self, annotations: s.Annotations, name: str) -> str:
        """``@name``'s text, else the name."""
        for annotation in annotations:
            if annotation.name == "name" and annotation.tokens:
                return "".join(token[1:-1] for token in annotation.tokens if token[0] == '"')
        return name

    # --- structs and headers -------------------------------------------------------------------------------------

    def struct(self, node: s.Struct) -> t.Type | t.Generic:
        if not node.type_parameters:
            return self._struct_type(node, node, ())
        generic = self._generic(node.name_at, node.name, node.type_parameters)
        with self._bound(generic.parameters):
            generic.made[generic.parameters] = self._struct_type(node, generic, generic.parameters)
        return generic

    def _struct_type(self, node: s.Struct, declaration: object, arguments: tuple[t.Type, ...]) -> t.StructLike:
        fields: dict[str, t.Field] = {}
        for field in node.fields:
            self.unfinished.append(node.name)
            try:
                type_ = self.type_of(field.type)
            finally:
                self.unfinished.pop()
            if field.name in fields:
                self.report(field.name_at, f"{node.name} has two fields {field.name!r}", Kind.DUPLICATE)
                continue
            self._check_field(node, field, type_)
            fields[field.name] = t.Field(field.name, type_, field.annotations, field.name_at)
        control_name = self.control_plane_name(node.annotations, node.name)
        return t.StructLike(node.kind, node.name, fields, arguments, declaration, control_name)

    def _check_field(self, node: s.Struct, field: s.StructField, type_: t.Type) -> None:
        """Section 7.2.8's table of what may stand in what."""
        if not is_legal_field(node.kind, type_):
            self.report(field.type, f"a field of a {node.kind} cannot have type {type_}")

    def _generic(self, at: int, name: str, parameters: tuple[str, ...]) -> t.Generic:
        if len(set(parameters)) < len(parameters):
            self.fail(at, f"{name} has two type parameters of one name", Kind.DUPLICATE)
        return t.Generic(name, tuple(t.TypeVariable(p) for p in parameters))

    @contextmanager
    def _bound(self, variables: Iterable[t.TypeVariable]) -> Iterator[None]:
        """A scope with type parameters."""
        with self.scope():
            for variable in variables:
                self.scopes[-1][variable.name] = variable
            yield

    # --- enums and names -----------------------------------------------------------------------------------------

    def enum(self, node: s.Enum) -> t.EnumType:
        base = None
        if node.type is not None:
            found = self.type_of(node.type)
            if not isinstance(found, t.BitsType):
                self.fail(node.type, f"an enum's representation must be bit<W> or int<W>, not {found}")
            base = found
        members: dict[str, int] = {}
        for position, (name, at, value) in enumerate(node.members):
            if name in members:
                self.report(at, f"{node.name} has two members {name!r}", Kind.DUPLICATE)
                continue
            members[name] = position
            if base is not None and value is not None:
                members[name] = self._member_value(value, base, f"value of {node.name}.{name}")
        return t.EnumType(node.name, members, base, node)

    def _member_value(self, node: s.Expr, base: t.BitsType, what: str) -> int:
        """Unlike other numbers, one that does not fit is an error (section 7.2.1)."""
        found = self.arithmetic(self.value(node))
        if not isinstance(found, r.Literal):
            self.fail(node, f"{what}: it must be known at compile time", Kind.CONSTANT)
        if found.type is t.INT and not fits(found.value, base):
            self.fail(node, f"{what}: {found.value} does not fit in {base}", Kind.CONSTANT)
        number = self.coerce(found, base, node, what)
        assert isinstance(number, r.Literal)
        return int(number.value)

    def typedef(self, node: s.Typedef) -> t.Type:
        if isinstance(node.type, s.Struct):
            inner = self.struct(node.type)
            self.declare(node.type.name, inner, node.type.name_at)
            assert isinstance(inner, t.Type)
            return inner
        if isinstance(node.type, s.Enum):
            enum = self.enum(node.type)
            self.declare(node.type.name, enum, node.type.name_at)
            return enum
        type_ = self.type_of(node.type)
        if not node.is_new:
            if type_ in (t.VOID, t.STRING, t.MATCH_KIND):
                self.fail(node.type, f"typedef cannot name {type_}")
            return type_
        if not isinstance(type_, t.BitsType | t.NewType) and type_ is not t.BOOL and type_ is not t.UNKNOWN:
            self.fail(node.type, f"'type' cannot make a new type of {type_}: it takes bit<W>, int<W> and bool")
        return t.NewType(node.name, type_, node)

    def members(self, node: s.Members) -> None:
        table = self.errors if node.name == "error" else self.match_kinds
        for name, at in node.members:
            if name in table:
                self.report(at, f"{node.name}.{name} is declared twice", Kind.DUPLICATE)
            table.setdefault(name, len(table))

    # --- signatures ----------------------------------------------------------------------------------------------

    def parameters(
        self, nodes: tuple[s.Parameter, ...], *, of_package: bool = False, may_be_blocks: bool = False
    ) -> tuple[t.Parameter, ...]:
        """Only packages, parsers and controls are constructed from parsers and controls (appendix F)."""
        found: list[t.Parameter] = []
        for node in nodes:
            type_ = self.type_of(node.type)
            if any(p.name == node.name for p in found):
                self.report(node.name_at, f"two parameters are called {node.name!r}", Kind.DUPLICATE)
            if isinstance(type_, t.BlockType) and not (of_package or may_be_blocks):
                self.fail(node.type, f"a parameter here cannot be a {type_.kind}")
            self._check_direction(node, type_, of_package=of_package)
            default = None
            if node.default is not None:
                if node.direction in ("out", "inout"):
                    self.fail(
                        node.default, f"an {node.direction} parameter cannot have a default value", Kind.DIRECTION
                    )
                default = self._default_argument(node, type_)
            is_optional = any(a.name == "optional" for a in node.annotations)
            if is_optional and default is not None:
                self.fail(node.default or node, f"{node.name!r} is @optional, so it cannot have a default value")
            if default is not None and not self.is_known(default):
                text = f"the default value of {node.name!r} must be known at compile time"
                self.fail(node.default or node, text, Kind.CONSTANT)
            found.append(
                t.Parameter(node.name, node.direction, type_, default, is_optional, node.annotations, node.name_at)
            )
        return tuple(found)

    def _default_argument(self, node: s.Parameter, type_: t.Type) -> r.Expr:
        assert node.default is not None
        what = f"default value of {node.name!r}"
        if isinstance(type_, t.BlockType):
            return self.block_argument(type_, self.value(node.default), node.default, what)
        return self.typed(node.default, type_, what)

    def _check_direction(self, node: s.Parameter, type_: t.Type, *, of_package: bool) -> None:
        if type_ is t.VOID or type_ is t.MATCH_KIND:
            self.report(node.type, f"a parameter cannot have type {type_}")
        if not node.direction:
            return
        if isinstance(type_, t.ExternType | t.BlockType | t.ListType) or type_ in (t.STRING, t.INT):
            self.report(node, f"a parameter of type {type_} has no direction", Kind.DIRECTION)
        elif of_package:
            self.report(node, "a package's parameter has no direction", Kind.DIRECTION)

    def signature(self, node: s.Prototype, result: t.Type | None = None) -> t.Signature:
        variables = tuple(t.TypeVariable(name) for name in node.type_parameters)
        with self._bound(variables):
            parameters = self.parameters(node.parameters)
            if node.return_type is not None:
                result = self.type_of(node.return_type)
        return t.Signature(node.name, variables, parameters, result or t.VOID, node, node.is_abstract)

    # --- externs -------------------------------------------------------------------------------------------------

    def extern(self, node: s.ExternObject) -> t.Type | t.Generic:
        if not node.type_parameters:
            type_ = t.ExternType(node.name, (), {}, [], node)
            self.declare(node.name, type_, node.name_at)
            self._extern_methods(type_, node)
            return type_
        generic = self._generic(node.name_at, node.name, node.type_parameters)
        pattern = t.ExternType(node.name, generic.parameters, {}, [], generic)
        generic.made[generic.parameters] = pattern
        self.declare(node.name, generic, node.name_at)
        with self._bound(generic.parameters):
            self._extern_methods(pattern, node)
        return generic

    def _extern_methods(self, type_: t.ExternType, node: s.ExternObject) -> None:
        for method in node.methods:
            signature = self.signature(method, t.VOID if method.return_type is None else None)
            if method.return_type is None:
                overloads = type_.constructors
                self._check_constructor_parameters(method)
            else:
                overloads = type_.methods.setdefault(method.name, [])
                if method.name == node.name:
                    self.report(method.name_at, "a constructor has no result type")
            if any(t.takes_the_same(o, signature) for o in overloads):
                text = f"{node.name}.{method.name} is declared twice with such parameters"
                self.report(method.name_at, text, Kind.DUPLICATE)
            overloads.append(signature)

    def _check_constructor_parameters(self, node: s.Prototype) -> None:
        for parameter in node.parameters:
            if parameter.direction:
                self.report(parameter, "a constructor's parameter has no direction", Kind.DIRECTION)

    # --- block types ---------------------------------------------------------------------------------------------

    def block_type(self, node: s.BlockType) -> t.Type | t.Generic:
        if not node.type_parameters:
            return self._make_block_type(node, node, ())
        generic = self._generic(node.name_at, node.name, node.type_parameters)
        with self._bound(generic.parameters):
            generic.made[generic.parameters] = self._make_block_type(node, generic, generic.parameters)
        return generic

    def _make_block_type(self, node: s.BlockType, declaration: object, arguments: tuple[t.Type, ...]) -> t.BlockType:
        self.allows_any_type = node.kind == "package"
        try:
            parameters = self.parameters(node.parameters, of_package=node.kind == "package")
        finally:
            self.allows_any_type = False
        signature = t.Signature(node.name, (), parameters, t.VOID)
        constructor = signature if node.kind == "package" else None
        return t.BlockType(node.kind, node.name, signature, constructor, arguments, declaration)
