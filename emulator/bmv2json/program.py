"""A whole document: from bytes to the IR and P4Info."""

from __future__ import annotations

import hashlib
import os.path
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from emulator.bmv2json.actions import read_actions
from emulator.bmv2json.checksums import checksum_blocks, deparser_block
from emulator.bmv2json.client_p4info import ClientP4Info, check_p4info
from emulator.bmv2json.context import DocumentContext
from emulator.bmv2json.declarations import read_storage
from emulator.bmv2json.document import Bmv2JsonError, Node, read_document
from emulator.bmv2json.objects import Objects, read_objects
from emulator.bmv2json.own_p4info import make_p4info
from emulator.bmv2json.parsers import parser_error_numbers, read_errors, read_parser
from emulator.bmv2json.pipelines import read_pipeline
from emulator.p4 import ir
from emulator.p4.ir.parser_loops import endless_loops


@dataclass(frozen=True, slots=True)
class JsonProgram:
    """A document as a program, the input of ``emulator.v1model.compiled.compile_program``."""

    program: ir.Program
    p4info: Any
    """The client's, if there was one."""
    sources: tuple[tuple[str, str], ...] = ()
    """(path, SHA-256)."""
    warnings: tuple[str, ...] = ()


def load_json(content: bytes, p4info: Any | None = None, path: str = "") -> JsonProgram:
    """The program that a document holds. With a client's ``p4info`` its names and ids count, and the two must go
    together; without, it is made from the document. Raises Bmv2JsonError, and nothing else."""
    client = ClientP4Info(p4info)
    try:
        document = read_document(content)
        program, objects = _read(document, client)
        if p4info is None:
            p4info = make_p4info(program, objects)
        else:
            check_p4info(program, client)
    except RecursionError:
        raise Bmv2JsonError("", "something in it is nested too deeply") from None
    digest = hashlib.sha256(content).hexdigest()
    parse = program.block("p")
    assert isinstance(parse, ir.Parser)
    warnings = tuple(f"{path or 'the document'}: {message}" for _, message in endless_loops(parse))
    return JsonProgram(program, p4info, ((path, digest),) if path else (), warnings)


def _read(document: Node, client: ClientP4Info) -> tuple[ir.Program, Objects]:
    storage = read_storage(document)
    objects = read_objects(document, storage)
    cx = DocumentContext(storage, objects, client)
    errors = read_errors(document)
    parse, value_sets = read_parser(cx, document, errors)
    cx.actions = read_actions(cx, document)
    controls, all_tables = {}, []
    for node in document["pipelines"].items():
        control, tables = read_pipeline(cx, node)
        if control.name not in ("ingress", "egress") or control.name in controls:
            node["name"].fail("must be ingress or egress, each once")
        controls[control.name] = control
        all_tables += tables
    if len(controls) != 2:
        document["pipelines"].fail("must be ingress and egress")
    _check_tables(document, all_tables)
    verify, compute = checksum_blocks(document, storage, objects)
    verify = (*parser_error_numbers(document, errors), *verify)
    deparse = deparser_block(document, storage, objects)
    used = [action.action for action in cx.actions.values()] + cx.more_actions
    program = ir.Program(
        name=_name(document),
        headers=tuple(storage.headers.values()),
        stacks=tuple(storage.all_stacks),
        variables=(),
        blocks=(
            ("p", parse),
            ("vr", ir.Control("verify", verify)),
            ("ig", controls["ingress"]),
            ("eg", controls["egress"]),
            ("ck", ir.Control("compute", compute)),
            ("dep", ir.Control("deparser", deparse)),
        ),
        actions=_with_meter_reads(used, all_tables, objects),
        tables=tuple(all_tables),
        externs=objects.instances(),
        errors=errors,
        value_sets=value_sets,
        field_lists=tuple(objects.field_lists.items()),
    )
    return _with_variables(program, storage.all_variables()), objects


def _with_variables(program: ir.Program, variables: tuple[ir.Variable, ...]) -> ir.Program:
    return replace(program, variables=variables)


def _check_tables(document: Node, tables: list[ir.Table]) -> None:
    names = [table.name for table in tables]
    for name in names:
        if names.count(name) > 1:
            document["pipelines"].fail(f"there are two tables {name!r}")


def _name(document: Node) -> str:
    program = document.get("program")
    text = program.text() if program is not None else ""
    return os.path.splitext(os.path.basename(text))[0] or "program"


def _with_meter_reads(
    actions: Sequence[ir.Action], tables: Sequence[ir.Table], objects: Objects
) -> tuple[ir.Action, ...]:
    """bmv2 knows from the document where a direct meter's colour goes, the engines from the calls of ``read``.

    The actions, with a ``read`` (a call without an effect) at the start of those of metered tables."""
    reads: dict[str, list[ir.Statement]] = {}
    for table in tables:
        for instance in table.attached:
            place = objects.meter_targets.get(instance.name)
            if instance.extern != "direct_meter" or place is None:
                continue
            for reference in table.actions:
                call = ir.CallExtern("direct_meter.read", (place,), instance, table.span)
                reads.setdefault(reference.action, []).append(call)
    return tuple(replace(a, body=(*reads[a.name], *a.body)) if a.name in reads else a for a in actions)
