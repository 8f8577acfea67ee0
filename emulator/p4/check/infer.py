"""Type arguments found from arguments: one-sided unification (section 8.20)."""

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
        """Given by the program: arguments are converted."""

    def result(self, type_: t.Type) -> t.Type:
        return t.substitute(type_, self.known)

    def arguments(self) -> tuple[t.Type, ...]:
        return tuple(self.known[v] for v in self.variables)

    def unify(self, wanted: t.Type, given: t.Type) -> None:
        if wanted is given or t.UNKNOWN in (wanted, given):
            return
        if isinstance(wanted, t.TypeVariable) and wanted in self.variables:
            self._bind(wanted, given)
        elif isinstance(wanted, t.BlockType) and isinstance(given, t.BlockType):
            self._blocks(wanted, given)
        elif isinstance(wanted, t.ExternType | t.StructLike) and type(wanted) is type(given):
            self._nominal(wanted, given)
        elif isinstance(wanted, t.StructLike) and isinstance(given, t.ListLiteralType | t.StructLiteralType):
            self._fields(wanted, given)
        elif isinstance(wanted, t.ListType) and isinstance(given, t.ListType | t.ListLiteralType):
            for item in given.items if isinstance(given, t.ListLiteralType) else (given.element,):
                self.unify(wanted.element, item)
        elif isinstance(wanted, t.TupleType) and isinstance(given, t.TupleType | t.ListLiteralType):
            if len(wanted.items) != len(given.items):
                raise InferenceError(f"{given} where {wanted} is needed")
            for a, b in zip(wanted.items, given.items, strict=True):
                self.unify(a, b)
        elif isinstance(wanted, t.StackType) and isinstance(given, t.StackType) and wanted.size == given.size:
            self.unify(wanted.element, given.element)
        # everything else is decided by the conversion that follows, with a better message

    def _bind(self, variable: t.TypeVariable, given: t.Type) -> None:
        if variable in self.fixed:
            return
        known = self.known.get(variable)
        if known is None:
            self.known[variable] = self._own_type(given)
        elif isinstance(known, t.TupleType) or not isinstance(given, t.ListLiteralType | t.StructLiteralType):
            self.known[variable] = self._merged(variable, known, self._own_type(given))

    def _merged(self, variable: t.TypeVariable, one: t.Type, other: t.Type) -> t.Type:
        """Numbers without a width take the other's type, in tuples too."""
        if one is other or other is t.INT:
            return one
        if one is t.INT:
            return other
        if isinstance(one, t.TupleType) and isinstance(other, t.TupleType) and len(one.items) == len(other.items):
            return t.tuple_of(tuple(self._merged(variable, *pair) for pair in zip(one.items, other.items, strict=True)))
        raise InferenceError(f"{variable} would be both {one} and {other}")

    def _own_type(self, given: t.Type) -> t.Type:
        """A list literal on its own is a tuple, ``{f = a}`` a struct without a name."""
        if isinstance(given, t.ListLiteralType):
            return t.tuple_of(tuple(self._own_type(item) for item in given.items))
        if isinstance(given, t.StructLiteralType):
            return t.unnamed_struct(tuple((name, self._own_type(item)) for name, item in given.items))
        if isinstance(given, t.SetType) or given in (t.INVALID_HEADER, t.DEFAULTS, t.VOID):
            raise InferenceError(f"the type of {given} cannot be inferred")
        if isinstance(given, t.BlockType | t.TableType | t.ActionType | t.ActionRunType | t.ApplyResultType):
            raise InferenceError(f"{given} cannot be a type argument")
        return given

    def _nominal(self, wanted: t.ExternType | t.StructLike, given: t.Type) -> None:
        assert isinstance(given, t.ExternType | t.StructLike)
        if wanted.declaration is given.declaration and len(wanted.arguments) == len(given.arguments):
            for a, b in zip(wanted.arguments, given.arguments, strict=True):
                self.unify(a, b)

    def _fields(self, wanted: t.StructLike, given: t.ListLiteralType | t.StructLiteralType) -> None:
        """``{...}`` for a generic struct or header: each field on its own."""
        if isinstance(given, t.StructLiteralType):
            known = dict(given.items)
        else:
            known = dict(zip(wanted.fields, given.items, strict=False))
        for field in wanted.fields.values():
            item = known.get(field.name, t.DEFAULTS)
            if item is not t.DEFAULTS:
                self.unify(field.type, item)

    def _blocks(self, wanted: t.BlockType, given: t.BlockType) -> None:
        """A declared parser or control against a type of block: kind, parameters, directions."""
        if wanted.kind != given.kind:
            raise InferenceError(f"a {given.kind} where a {wanted.kind} is needed")
        if wanted.kind == "package" and wanted.declaration is not given.declaration:
            raise InferenceError(f"{given} where {wanted} is needed")
        first, second = wanted.apply.parameters, given.apply.parameters
        if len(first) != len(second):
            raise InferenceError(f"{given} has {len(second)} parameters where {wanted} has {len(first)}")
        for a, b in zip(first, second, strict=True):
            if a.direction != b.direction:
                raise InferenceError(
                    f"parameter {b.name!r} of {given} has direction {b.direction or 'none'!r}, "
                    f"{wanted} wants {a.direction or 'none'!r}"
                )
            self.unify(a.type, b.type)
            found = self.result(a.type)
            if found is not b.type and not t.has_variables(found):
                raise InferenceError(f"parameter {b.name!r} of {given} has type {b.type}, {wanted} wants {found}")

    def has_int(self, type_: t.Type) -> bool:
        if isinstance(type_, t.TupleType):
            return any(map(self.has_int, type_.items))
        return type_ is t.INT
