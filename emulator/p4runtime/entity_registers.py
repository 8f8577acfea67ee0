"""RegisterEntry: cells of ``bit``, ``int`` and ``bool`` registers (P4Runtime, "RegisterEntry"). bmv2 has none of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.p4.protos import p4data_pb2, p4runtime_pb2
from emulator.p4runtime.canonical import BytestringError, decode, decode_signed, encode, encode_signed
from emulator.p4runtime.cells import check_modify, check_wildcard, indices_of, read_cells
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.schema import RegisterSchema
from emulator.p4runtime.view import Change, Undo, View


def prepare_register_write(view: View, update_type: int, message: Any) -> Change:
    register = view.schema.register(message.register_id)
    check_modify(update_type, f"register {register.name}")
    indices = _indices(register, message)
    value = _value_from_proto(register, message.data)
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


def _indices(register: RegisterSchema, message: Any) -> range:
    if not register.width_bits:
        raise RequestError(
            Code.UNIMPLEMENTED, f"register {register.name}: only elements of type bit, int and bool are supported"
        )
    return indices_of(message, register.size, f"register {register.name}")


def _value_from_proto(register: RegisterSchema, data: Any) -> int:
    """The cell's bits: signed values become two's complement, as the switch holds them."""
    where = f"register {register.name}"
    expected = "bool" if register.is_bool else "bitstring"
    given = data.WhichOneof("data")
    if given != expected:
        raise invalid(f"{where}: its elements are written as {expected}, the message gives {given or 'no data'}")
    if register.is_bool:
        return int(data.bool)
    try:
        if register.signed:
            return decode_signed(data.bitstring, register.width_bits) & ((1 << register.width_bits) - 1)
        return decode(data.bitstring, register.width_bits)
    except BytestringError as error:
        raise invalid(f"{where}: {error}") from None


def _value_to_proto(register: RegisterSchema, value: int) -> Any:
    if register.is_bool:
        return p4data_pb2.P4Data(bool=bool(value))
    if not register.signed:
        return p4data_pb2.P4Data(bitstring=encode(value))
    sign_bit = 1 << (register.width_bits - 1)
    return p4data_pb2.P4Data(bitstring=encode_signed((value ^ sign_bit) - sign_bit))


def read_register(view: View, message: Any) -> Iterator[Any]:
    """One cell, all cells of a register, or with id 0 all of all registers that can be shown."""
    check_wildcard(message.register_id, message, "register")
    if message.register_id:
        registers = [view.schema.register(message.register_id)]
    else:
        registers = [register for register in view.schema.registers.values() if register.width_bits]
    for register in registers:
        indices = _indices(register, message)
        for index, value in read_cells(view, view.control.read_register, register.id, indices):
            answer = p4runtime_pb2.RegisterEntry(register_id=register.id, data=_value_to_proto(register, value))
            answer.index.index = index
            yield p4runtime_pb2.Entity(register_entry=answer)
