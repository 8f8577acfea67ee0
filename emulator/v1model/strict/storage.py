"""The roots of storage and the externs: what bmv2's JSON can hold."""

from __future__ import annotations

from emulator.p4.check import type_system as t
from emulator.p4.lower.records import ExternRecord
from emulator.v1model.strict.base import StrictReporter


def check_storage(reporter: StrictReporter) -> None:
    _check_roots(reporter)
    _check_registers(reporter)


def _check_roots(reporter: StrictReporter) -> None:
    """The parser's headers hold nothing but headers; headers and metadata are structs."""
    parser = dict(reporter.lowered.blocks)["p"].symbol
    headers, metadata = parser.parameters[1], parser.parameters[2]
    for parameter, what in ((headers, "headers"), (metadata, "metadata")):
        if not isinstance(parameter.type, t.StructLike) or parameter.type.kind != "struct":
            reporter.refuse(parameter.at, f"the type of the {what} must be a struct, not {parameter.type}")
    if not isinstance(headers.type, t.StructLike):
        return
    for field in headers.type.fields.values():
        if not _holds_headers(field.type):
            text = f"the headers' struct holds headers, stacks and unions only, not {field.name!r} of type {field.type}"
            reporter.refuse(field.at, text)


def _holds_headers(type_: t.Type) -> bool:
    """Also a struct of headers, in as many levels as it has."""
    base = type_.element if isinstance(type_, t.StackType) else type_
    if not isinstance(base, t.StructLike):
        return False
    return base.kind != "struct" or all(_holds_headers(field.type) for field in base.fields.values())


def _check_registers(reporter: StrictReporter) -> None:
    records = list(reporter.lowered.globals)
    for _, instance in reporter.instances():
        records += [m for m in instance.members if isinstance(m, ExternRecord)]
    for record in records:
        type_ = record.symbol.type
        if not isinstance(type_, t.ExternType) or type_.name != "register":
            continue
        if not isinstance(t.unwrapped(type_.arguments[0]), t.BitsType):
            reporter.refuse(record.symbol.at, f"a register's element is bit<W> or int<W>, not {type_.arguments[0]}")
        if record.instance.arguments[0] == 0:
            reporter.refuse(record.symbol.at, "a register has at least one element")
