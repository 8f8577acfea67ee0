"""RegisterEntry (P4Runtime, "RegisterEntry"). bmv2 has none of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.p4runtime.entities.indexed_arrays import check_modify, check_wildcard, indices_of, read_cells
from emulator.p4runtime.entities.p4data import fill_data, is_one_value, value_of
from emulator.p4runtime.errors import Code, RequestError
from emulator.p4runtime.pipeline.schema import RegisterSchema
from emulator.p4runtime.view import Change, Undo, View
from emulator.rpc.p4protos import p4runtime_pb2


def prepare_register_write(view: View, update_type: int, message: Any) -> Change:
    register = view.schema.register(message.register_id)
    check_modify(update_type, f"register {register.name}")
    indices = _indices(view, register, message)
    value = value_of(message.data, view.schema, register.type_spec, f"register {register.name}")
    return Change(lambda: _write(view, register, indices, value), lambda: _remember(view, register, indices))


def _write(view: View, register: RegisterSchema, indices: range, value: int) -> None:
    for index in indices:
        view.control.write_register(register.id, index, value)


def _remember(view: View, register: RegisterSchema, indices: range) -> Undo:
    old = [(index, view.control.read_register(register.id, index)) for index in indices]

    def undo() -> None:
        for index, value in old:
            view.control.write_register(register.id, index, value)

    return undo


def _indices(view: View, register: RegisterSchema, message: Any) -> range:
    if not is_one_value(view.schema, register.type_spec):
        raise RequestError(Code.UNIMPLEMENTED, f"register {register.name}: elements of this type are not supported")
    return indices_of(message, register.size, f"register {register.name}")


def read_register(view: View, message: Any) -> Iterator[Any]:
    """One cell, all cells of a register, or with id 0 all of all registers that can be shown."""
    check_wildcard(message.register_id, message, "register")
    if message.register_id:
        registers = [view.schema.register(message.register_id)]
    else:
        schemas = view.schema.registers.values()
        registers = [register for register in schemas if is_one_value(view.schema, register.type_spec)]
    for register in registers:
        indices = _indices(view, register, message)
        for index, value in read_cells(view, view.control.read_register, register.id, indices):
            answer = p4runtime_pb2.RegisterEntry(register_id=register.id)
            answer.index.index = index
            fill_data(answer.data, view.schema, register.type_spec, iter((value,)))
            yield p4runtime_pb2.Entity(register_entry=answer)
