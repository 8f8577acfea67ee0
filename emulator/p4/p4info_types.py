"""P4Info's type information: widths, names of new types, and ``type_info``, filled as types are met."""

from __future__ import annotations

from typing import Any

from emulator.p4 import types as t


class TypeInfo:
    def __init__(self, maker: Any) -> None:
        self.maker = maker

    @property
    def message(self) -> Any:
        return self.maker.info.type_info

    def bit_width(self, type_: t.Type) -> int:
        """Width that the control plane uses; 0 (absent) for errors, plain enums and translated strings."""
        translated = self._translation(type_)
        if translated is not None:
            return translated[1]
        base = t.unwrapped(type_)
        if isinstance(base, t.BitsType):
            return base.width
        return 1 if base is t.BOOL else 0

    def type_name(self, type_: t.Type, *, for_parameter: bool = False) -> str:
        """Of new types (and plain enums of action parameters); '' for all others."""
        if isinstance(type_, t.NewType):
            self._new_type(type_)
            return type_.name
        if isinstance(type_, t.EnumType):
            self._enum(type_)
            return type_.name if for_parameter and type_.base is None else ""
        if type_ is t.ERROR and not self.message.HasField("error"):
            self.message.error.members.extend(self.maker.lowered.program.errors)
        return ""

    def _translation(self, type_: t.Type) -> tuple[str, int] | None:
        """(uri, width) of ``@p4runtime_translation``; width 0 for a string."""
        if not isinstance(type_, t.NewType):
            return None
        for annotation in type_.declaration.annotations:
            if annotation.name == "p4runtime_translation" and annotation.tokens:
                numbers = [int(token, 0) for token in annotation.tokens[1:] if token.isdigit()]
                return annotation.tokens[0].strip('"'), numbers[0] if numbers else 0
        return None

    def _new_type(self, type_: t.NewType) -> None:
        if type_.name in self.message.new_types:
            return
        spec = self.message.new_types[type_.name]
        translated = self._translation(type_)
        if translated is None:
            self._bits(spec.original_type, t.unwrapped(type_))
            return
        spec.translated_type.uri = translated[0]
        if translated[1]:
            spec.translated_type.sdn_bitwidth = translated[1]
        else:
            spec.translated_type.sdn_string.SetInParent()

    def _bits(self, spec: Any, base: t.Type) -> None:
        if base is t.BOOL:
            spec.bool.SetInParent()
        elif isinstance(base, t.BitsType):
            kind = spec.bitstring.int if base.is_signed else spec.bitstring.bit
            kind.bitwidth = base.width

    def _enum(self, type_: t.EnumType) -> None:
        if type_.base is None:
            if type_.name not in self.message.enums:
                for name in type_.members:
                    self.message.enums[type_.name].members.add().name = name
            return
        if type_.name in self.message.serializable_enums:
            return
        spec = self.message.serializable_enums[type_.name]
        spec.underlying_type.bitwidth = type_.base.width
        for name, value in type_.members.items():
            member = spec.members.add()
            member.name = name
            width = type_.base.width
            member.value = (value & ((1 << width) - 1)).to_bytes((width + 7) // 8, "big")

    def describe(self, spec: Any, type_: t.Type) -> None:
        """A ``P4DataTypeSpec``."""
        if isinstance(type_, t.NewType):
            self.type_name(type_)
            spec.new_type.name = type_.name
        elif isinstance(type_, t.EnumType):
            self.type_name(type_)
            (spec.serializable_enum if type_.base is not None else spec.enum).name = type_.name
        elif type_ is t.BOOL:
            spec.bool.SetInParent()
        elif type_ is t.ERROR:
            self.type_name(type_)
            spec.error.SetInParent()
        elif isinstance(type_, t.BitsType):
            self._bits(spec, type_)
        elif isinstance(type_, t.TupleType):
            for item in type_.items:
                self.describe(spec.tuple.members.add(), item)
        elif isinstance(type_, t.StructLike):
            self._struct(spec, type_)

    def _struct(self, spec: Any, type_: t.StructLike) -> None:
        if type_.kind == "header":
            spec.header.name = type_.name
            if type_.name not in self.message.headers:
                for field in type_.fields.values():
                    member = self.message.headers[type_.name].members.add()
                    member.name = field.name
                    holder = type(self.maker.info.registers.add().type_spec)()
                    del self.maker.info.registers[-1]
                    self._bits(holder, t.unwrapped(field.type))
                    member.type_spec.CopyFrom(holder.bitstring)
            return
        spec.struct.name = type_.name
        if type_.name not in self.message.structs:
            for field in type_.fields.values():
                member = self.message.structs[type_.name].members.add()
                member.name = field.name
                self.describe(member.type_spec, field.type)
