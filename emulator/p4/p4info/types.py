"""P4Info's type information: widths, names of new types, and ``type_info``, filled as types are met."""

from __future__ import annotations

from typing import Any

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.annotations import annotation_text, control_name
from emulator.p4.check.reporting import report
from emulator.p4.errors import Kind
from emulator.p4.p4info.annotations import AnnotationWriter, split_at_commas
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.lexer import integer_value
from emulator.rpc.p4protos import p4types_pb2

TRANSLATION = "p4runtime_translation"


class TypeInfo:
    """Describes types in ``info.type_info`` of one P4Info message."""

    def __init__(self, info: Any, errors: tuple[str, ...], writer: AnnotationWriter) -> None:
        self.info = info
        self.errors = errors
        self.writer = writer

    @property
    def message(self) -> Any:
        return self.info.type_info

    def bit_width(self, type_: t.Type) -> int:
        """Width that the control plane uses; 0 (absent) for errors, plain enums and translated strings."""
        translated = translation(type_)
        if translated is not None:
            return translated[1]
        base = t.unwrapped(type_)
        if isinstance(base, t.BitsType):
            return base.width
        return 1 if base is t.BOOL else 0

    def type_name(self, type_: t.Type, *, for_parameter: bool = False) -> str:
        """Name of new types (and plain enums of action parameters); '' for all others."""
        if isinstance(type_, t.NewType):
            self._new_type(type_)
            return type_.name
        if isinstance(type_, t.EnumType):
            self._enum(type_)
            return type_.name if for_parameter and type_.base is None else ""
        if type_ is t.ERROR:
            self._error()
        return ""

    def describe(self, spec: Any, type_: t.Type) -> None:
        """Fill a ``P4DataTypeSpec``, and ``type_info`` with the types named in it."""
        if isinstance(type_, t.NewType):
            spec.new_type.name = self.type_name(type_)
        elif isinstance(type_, t.EnumType):
            self._enum(type_)
            (spec.serializable_enum if type_.base is not None else spec.enum).name = type_.name
        elif type_ is t.BOOL:
            spec.bool.SetInParent()
        elif type_ is t.ERROR:
            self._error()
            spec.error.SetInParent()
        elif isinstance(type_, t.BitsType | t.VarbitType):
            _bitstring(spec.bitstring, type_)
        elif isinstance(type_, t.TupleType | t.ListLiteralType):
            self._tuple(spec, type_.items)
        elif isinstance(type_, t.StructLike) and not type_.name:
            self._tuple(spec, tuple(f.type for f in type_.fields.values()))
        elif isinstance(type_, t.StackType):
            self._stack(spec, type_)
        elif isinstance(type_, t.StructLike):
            self._struct(spec, type_)

    # --- named types ---------------------------------------------------------------------------------------------

    def _error(self) -> None:
        if not self.message.HasField("error"):
            self.message.error.members.extend(self.errors)

    def _new_type(self, type_: t.NewType) -> None:
        if type_.name in self.message.new_types:
            return
        spec = self.message.new_types[type_.name]
        self.writer.copy(spec, type_.declaration.annotations, frozenset((TRANSLATION,)))
        translated = translation(type_)
        if translated is None:
            self.describe(spec.original_type, t.unwrapped(type_))
            return
        if not isinstance(t.unwrapped(type_), t.BitsType):
            text = f"@{TRANSLATION} belongs on a type made of bit<W>, not {t.unwrapped(type_)}"
            report(self.writer, type_.declaration, text, Kind.TARGET)
        spec.translated_type.uri = translated[0]
        if translated[1]:
            spec.translated_type.sdn_bitwidth = translated[1]
        else:
            spec.translated_type.sdn_string.SetInParent()

    def _enum(self, type_: t.EnumType) -> None:
        if type_.base is None:
            if type_.name not in self.message.enums:
                for name in type_.members:
                    self.message.enums[type_.name].members.add().name = name
            return
        if type_.name in self.message.serializable_enums:
            return
        spec = self.message.serializable_enums[type_.name]
        width = type_.base.width
        spec.underlying_type.bitwidth = width
        for name, value in type_.members.items():
            member = spec.members.add()
            member.name = name
            member.value = padded_bytes(value, width)

    def _stack(self, spec: Any, type_: t.StackType) -> None:
        assert isinstance(type_.element, t.StructLike)
        inner = p4types_pb2.P4DataTypeSpec()
        self._struct(inner, type_.element)
        if type_.element.kind == "header_union":
            spec.header_union_stack.header_union.name = inner.header_union.name
            spec.header_union_stack.size = type_.size
        else:
            spec.header_stack.header.name = inner.header.name
            spec.header_stack.size = type_.size

    def _tuple(self, spec: Any, items: tuple[t.Type, ...]) -> None:
        spec.tuple.SetInParent()
        for item in items:
            self.describe(spec.tuple.members.add(), item)

    def _struct(self, spec: Any, type_: t.StructLike) -> None:
        name = control_name(type_)
        if type_.kind == "header":
            spec.header.name = name
            self._header_type(name, type_)
        elif type_.kind == "header_union":
            spec.header_union.name = name
            if name not in self.message.header_unions:
                self.message.header_unions[name].SetInParent()
                for field in type_.fields.values():
                    member = self.message.header_unions[name].members.add()
                    member.name = field_name(field)
                    assert isinstance(field.type, t.StructLike)
                    member.header.name = control_name(field.type)
                    self._header_type(member.header.name, field.type)
        else:
            spec.struct.name = name
            if name not in self.message.structs:
                self.message.structs[name].SetInParent()
                for field in type_.fields.values():
                    member = self.message.structs[name].members.add()
                    member.name = field_name(field)
                    self.describe(member.type_spec, field.type)

    def _header_type(self, name: str, type_: t.StructLike) -> None:
        if name in self.message.headers:
            return
        self.message.headers[name].SetInParent()
        for path, field in flattened(type_):
            base = t.unwrapped(field.type)
            if not isinstance(base, t.BitsType | t.VarbitType):
                report(self.writer, field.at, f"P4Info cannot hold a header's field of type {field.type}", Kind.TARGET)
                continue
            member = self.message.headers[name].members.add()
            member.name = path
            _bitstring(member.type_spec, base)


def translation(type_: t.Type) -> tuple[str, int] | None:
    """(uri, width) of ``@p4runtime_translation(uri, W | bit<W> | string)``; width 0 for a string."""
    if not isinstance(type_, t.NewType):
        return None
    for annotation in type_.declaration.annotations:
        if annotation.name == TRANSLATION and annotation.tokens:
            uri = annotation_text((annotation,), TRANSLATION) or ""
            last = split_at_commas(annotation.tokens)[-1]
            numbers = [found[0] for token in last if (found := integer_value(token)) is not None]
            return uri, numbers[0] if numbers else 1 if last == ("bit",) else 0
    return None


def _bitstring(spec: Any, type_: t.Type) -> None:
    if isinstance(type_, t.VarbitType):
        spec.varbit.max_bitwidth = type_.width
    else:
        assert isinstance(type_, t.BitsType)
        (spec.int if type_.is_signed else spec.bit).bitwidth = type_.width


def padded_bytes(value: int, width_bits: int) -> bytes:
    """Big-endian, whole bytes, two's complement: the form p4c prints values in."""
    return (value & ((1 << width_bits) - 1)).to_bytes((width_bits + 7) // 8, "big")


def declared_annotations(type_: t.Type) -> s.Annotations:
    """Annotations of a struct's or header's declaration."""
    declaration = getattr(type_, "declaration", None)
    return declaration.annotations if isinstance(declaration, s.Struct) else ()


def field_name(field: t.Field | r.VariableSymbol) -> str:
    """The name that the control plane sees."""
    return (annotation_text(field.annotations, "name") or field.name).removeprefix(".")


def flattened(type_: t.StructLike) -> list[tuple[str, t.Field]]:
    """Dotted names and fields, structs inside taken apart."""
    found: list[tuple[str, t.Field]] = []
    for field in type_.fields.values():
        base = t.unwrapped(field.type)
        if isinstance(base, t.StructLike):
            found += [(f"{field_name(field)}.{path}", inner) for path, inner in flattened(base)]
        else:
            found.append((field_name(field), field))
    return found
