"""The table entries that a program's source lists, as the P4Runtime request that would insert them."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from emulator.p4runtime.entities import tables_read
from emulator.p4runtime.pipeline.schema_build import build_schema
from emulator.p4runtime.view import View
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.core import Switch
from emulator.v1model.compiled import Checked, compile_program


def initial_entries(checked: Checked) -> Any:
    """WriteRequest with an INSERT of each entry, constant or not, as p4c's ``--p4runtime-entries-files`` writes it.
    Numbers are in P4Runtime's canonical form, where p4c pads them to the field's whole bytes."""
    switch = Switch()
    switch.load(compile_program(checked, engine="interpreter"))
    view = View(build_schema(checked.p4info), switch, nullcontext)
    request = p4runtime_pb2.WriteRequest()
    for entity in tables_read.read(view, p4runtime_pb2.TableEntry()):
        update = request.updates.add(type=p4runtime_pb2.Update.INSERT)
        if isinstance(entity, bytes):
            update.entity.MergeFromString(entity)
        else:
            update.entity.CopyFrom(entity)
    return request
