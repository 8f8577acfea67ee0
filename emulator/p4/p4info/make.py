"""P4Info from a lowered program, as p4c writes it (p4runtime 1.4's p4info.proto)."""

from __future__ import annotations

from typing import Any

from emulator.p4 import ir
from emulator.p4.architecture import Architecture
from emulator.p4.check import resolved as r
from emulator.p4.check.reporting import report, warn
from emulator.p4.errors import Abandoned, Diagnostics, Kind
from emulator.p4.lower.lowering import Lowered
from emulator.p4.p4info.annotations import AnnotationWriter, split_at_commas
from emulator.p4.p4info.externs import ExternWriter
from emulator.p4.p4info.symbols import Symbols
from emulator.p4.p4info.types import TypeInfo
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.lexer import integer_value
from emulator.p4.syntax.source import Tokens
from emulator.rpc.p4protos import p4info_pb2

_PACKAGE_TEXTS = ("name", "version", "organization", "contact", "url", "arch")
_PLATFORM_NUMBERS = (
    "multicast_group_table_size", "multicast_group_table_total_replicas",
    "multicast_group_table_max_replicas_per_entry",
)  # fmt: skip


def make_p4info(
    lowered: Lowered, program: r.Program, tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture
) -> Any:
    """The P4Info message; what it cannot hold is reported."""
    writer = AnnotationWriter(program, tokens, diagnostics, architecture)
    info = p4info_pb2.P4Info()
    if program.main is not None:
        info.pkg_info.arch = architecture.name
        _package(info.pkg_info, program.main.annotations, writer)
    symbols = Symbols(lowered, program, writer)
    make = ExternWriter(info, symbols, TypeInfo(info, lowered.program.errors, writer), writer)
    for one, records in (
        (make.table, symbols.tables), (make.action, symbols.actions), (make.extern, symbols.externs),
        (make.controller_header, symbols.controller_headers), (make.value_set, symbols.value_sets),
        (make.digest, symbols.digests),
    ):  # fmt: skip
        for record in records:
            try:
                one(record)  # type: ignore[arg-type]
            except Abandoned:
                continue
            except ValueError as error:  # protobuf's word for a number that its field cannot hold
                at = getattr(getattr(record, "symbol", None), "at", 0)
                report(writer, at, f"P4Info cannot hold a number of this: {error}", Kind.TARGET)
    if _has_types(info, symbols) or lowered.calls_setter or _calls_extern(lowered.program):
        info.type_info.SetInParent()
    return info


def _has_types(info: Any, symbols: Symbols) -> bool:
    """Whether p4c would have asked for the type information, be it empty."""
    return bool(info.tables or symbols.has_instances or any(a.params for a in info.actions))


def _calls_extern(program: ir.Program) -> bool:
    def calls(block: ir.Block) -> bool:
        for statement in block:
            if isinstance(statement, ir.CallExtern):
                return True
            for name in ("then", "otherwise", "body", "default", "prelude", "update"):
                if calls(getattr(statement, name, ())):
                    return True
            if isinstance(statement, ir.Switch) and any(calls(c.body) for c in statement.cases):
                return True
        return False

    blocks = [b.body for _, b in program.blocks if isinstance(b, ir.Control)]
    return any(calls(b) for b in (*blocks, *(a.body for a in program.actions)))


# --- The package --------------------------------------------------------------------------------------------------


def _package(message: Any, annotations: s.Annotations, writer: AnnotationWriter) -> None:
    """``pkg_info`` from the annotations of ``main``."""
    for annotation in annotations:
        if annotation.name == "pkginfo":
            for key, value in _pairs(annotation):
                if key == "arch":
                    warn(writer, annotation, "@pkginfo: the architecture is known without it")
                if key in _PACKAGE_TEXTS:
                    setattr(message, key, "".join(token[1:-1] for token in value if token.startswith('"')))
                else:
                    warn(writer, annotation, f"@pkginfo: the key {key!r} is not known")
        elif annotation.name == "platform_property":
            for key, value in _pairs(annotation):
                number = integer_value(value[0]) if len(value) == 1 else None
                if key in _PLATFORM_NUMBERS and number is not None and number[0] < 1 << 31:
                    setattr(message.platform_properties, key, number[0])
                else:
                    warn(writer, annotation, f"@platform_property: {key!r} is not known, or its value is not a number")
    writer.copy(message, annotations, frozenset(("pkginfo", "platform_property")))


def _pairs(annotation: s.Annotation) -> list[tuple[str, tuple[str, ...]]]:
    """``key = value`` pairs: the value's tokens."""
    parts = split_at_commas(annotation.tokens or ())
    return [(part[0], part[2:]) for part in parts if len(part) > 2 and part[1] == "="]
