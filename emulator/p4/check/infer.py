"""Inference of type arguments from arguments: one-sided unification (section 8.20)."""

from __future__ import annotations

from emulator.p4.check import type_system as t


class InferenceError(Exception):
    """The two types cannot be made one; the text says why."""


class Inference:
    """``known`` grows as parameters' types meet arguments' types."""

    __slots__ = ("fixed", "known", "variables")

    def __init__(self, variables: tuple[t.TypeVariable, ...]) -> None:
        self.variables = variables
        self.known: dict[t.TypeVariable, t.Type] = {}
        self.fixed: set[t.TypeVariable] = set()
        """Written in the program: arguments are converted."""

    def result(self, type_: t.Type) -> t.Type:
        return t.substitute(type_, self.known)

    def arguments(self) -> tuple[t.Type, ...]:
        return tuple(self.known[v] for v in self.variables)

    def unify(self, expected: t.Type, actual: t.Type) -> None:
        if expected is actual or t.UNKNOWN in (expected, actual):
            return
        if isinstance(expected, t.TypeVariable) and expected in self.variables:
            self._bind(expected, actual)
        elif isinstance(expected, t.BlockType) and isinstance(actual, t.BlockType):
            self._blocks(expected, actual)
        elif isinstance(expected, t.ExternType | t.StructLike) and type(expected) is type(actual):
            self._nominal(expected, actual)
        elif isinstance(expected, t.StructLike) and isinstance(actual, t.ListLiteralType | t.StructLiteralType):
            self._fields(expected, actual)
        elif isinstance(expected, t.ListType) and isinstance(actual, t.ListType | t.ListLiteralType):
            for item in actual.items if isinstance(actual, t.ListLiteralType) else (actual.element,):
                self.unify(expected.element, item)
        elif isinstance(expected, t.TupleType) and isinstance(actual, t.TupleType | t.ListLiteralType):
            if len(expected.items) != len(actual.items):
                raise InferenceError(f"{actual} where {expected} is needed")
            for a, b in zip(expected.items, actual.items, strict=True):
                self.unify(a, b)
        elif isinstance(expected, t.StackType) and isinstance(actual, t.StackType) and expected.size == actual.size:
            self.unify(expected.element, actual.element)
        # everything else is decided by the conversion that follows, with a better message

    def _bind(self, variable: t.TypeVariable, actual: t.Type) -> None:
        if variable in self.fixed:
            return
        known = self.known.get(variable)
        if known is None:
            self.known[variable] = self._own_type(actual)
        elif isinstance(known, t.TupleType) or not isinstance(actual, t.ListLiteralType | t.StructLiteralType):
            self.known[variable] = self._merged(variable, known, self._own_type(actual))

    def _merged(self, variable: t.TypeVariable, one: t.Type, other: t.Type) -> t.Type:
        """Numbers without a width take the other's type, in tuples too."""
        if one is other or other is t.INT:
            return one
        if one is t.INT:
            return other
        if isinstance(one, t.TupleType) and isinstance(other, t.TupleType) and len(one.items) == len(other.items):
            return t.tuple_of(tuple(self._merged(variable, *pair) for pair in zip(one.items, other.items, strict=True)))
        raise InferenceError(f"{variable} would be both {one} and {other}")

    def _own_type(self, actual: t.Type) -> t.Type:
        """A list literal on its own is a tuple, ``{f = a}`` a struct without a name."""
        if isinstance(actual, t.ListLiteralType):
            return t.tuple_of(tuple(self._own_type(item) for item in actual.items))
        if isinstance(actual, t.StructLiteralType):
            return t.unnamed_struct(tuple((name, self._own_type(item)) for name, item in actual.items))
        if isinstance(actual, t.SetType) or actual in (t.INVALID_HEADER, t.DEFAULTS, t.VOID):
            raise InferenceError(f"the type of {actual} cannot be inferred")
        if isinstance(actual, t.BlockType | t.TableType | t.ActionType | t.ActionRunType | t.ApplyResultType):
            raise InferenceError(f"{actual} cannot be a type argument")
        return actual

    def _nominal(self, expected: t.ExternType | t.StructLike, actual: t.Type) -> None:
        assert isinstance(actual, t.ExternType | t.StructLike)
        if expected.declaration is actual.declaration and len(expected.arguments) == len(actual.arguments):
            for a, b in zip(expected.arguments, actual.arguments, strict=True):
                self.unify(a, b)

    def _fields(self, expected: t.StructLike, actual: t.ListLiteralType | t.StructLiteralType) -> None:
        """``{...}`` for a generic struct or header: each field on its own."""
        if isinstance(actual, t.StructLiteralType):
            known = dict(actual.items)
        else:
            known = dict(zip(expected.fields, actual.items, strict=False))
        for field in expected.fields.values():
            item = known.get(field.name, t.DEFAULTS)
            if item is not t.DEFAULTS:
                self.unify(field.type, item)

    def _blocks(self, expected: t.BlockType, actual: t.BlockType) -> None:
        """A declared parser or control against a type of block: kind, parameters, directions."""
        if expected.kind != actual.kind:
            raise InferenceError(f"a {actual.kind} where a {expected.kind} is needed")
        if expected.kind == "package" and expected.declaration is not actual.declaration:
            raise InferenceError(f"{actual} where {expected} is needed")
        first, second = expected.apply.parameters, actual.apply.parameters
        if len(first) != len(second):
            raise InferenceError(f"{actual} has {len(second)} parameters where {expected} has {len(first)}")
        for a, b in zip(first, second, strict=True):
            if a.direction != b.direction:
                raise InferenceError(
                    f"parameter {b.name!r} of {actual} has direction {b.direction or 'none'!r}, "
                    f"{expected} expects {a.direction or 'none'!r}"
                )
            self.unify(a.type, b.type)
            found = self.result(a.type)
            if found is not b.type and not t.has_variables(found):
                raise InferenceError(f"parameter {b.name!r} of {actual} has type {b.type}, {expected} expects {found}")

    def has_int(self, type_: t.Type) -> bool:
        if isinstance(type_, t.TupleType):
            return any(map(self.has_int, type_.items))
        return type_ is t.INT
