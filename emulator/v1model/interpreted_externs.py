"""v1model's externs for the interpreter, one small function each; the registry at the end names them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from emulator.p4 import ir
from emulator.p4.arithmetic import wrap
from emulator.p4.interpreter import Discard, Machine
from emulator.v1model.hashing import FUNCTIONS
from emulator.v1model.metadata import DROP_PORT, Algorithm, Drop, Fault, standard
from emulator.v1model.state import State

log = logging.getLogger(__name__)


def _state(m: Machine) -> State:
    state: State = m.notes["state"]
    return state


def _instance(m: Machine, call: ir.CallExtern) -> ir.ExternInstance:
    if isinstance(call.instance, ir.LaneInstances):
        return call.instance.instances[m.turn]
    assert call.instance is not None
    return call.instance


def _value(m: Machine, argument: ir.Argument) -> int:
    assert not isinstance(argument, ir.Text | tuple)
    return m.value(argument)


def _assign(m: Machine, argument: ir.Argument, value: int) -> None:
    assert isinstance(argument, ir.Variable | ir.FieldRef | ir.LaneField)
    m.assign(argument, wrap(value, argument.type))


def register_read(m: Machine, call: ir.CallExtern) -> None:
    cells = _state(m).registers[_instance(m, call).name]
    index = _value(m, call.arguments[1])
    if index < len(cells):
        _assign(m, call.arguments[0], cells[index])
    else:
        _state(m).faults[Fault.REGISTER_INDEX] += 1


def register_write(m: Machine, call: ir.CallExtern) -> None:
    instance = _instance(m, call)
    cells = _state(m).registers[instance.name]
    index = _value(m, call.arguments[0])
    if index < len(cells):
        cells[index] = wrap(_value(m, call.arguments[1]), _unsigned(instance.type_arguments[0]))
    else:
        _state(m).faults[Fault.REGISTER_INDEX] += 1


def _unsigned(kind: ir.Type) -> ir.Type:
    return ir.Bits(kind.width_bits) if isinstance(kind, ir.Bits) else kind


def counter_count(m: Machine, call: ir.CallExtern) -> None:
    cells = _state(m).counters[_instance(m, call).name]
    index = _value(m, call.arguments[0])
    if index < len(cells):
        cells[index][0] += 1
        cells[index][1] += len(m.frame)
    else:
        _state(m).faults[Fault.COUNTER_INDEX] += 1


def nothing(m: Machine, call: ir.CallExtern) -> None:
    """direct_counter.count: a direct counter counts every hit of its table, whatever the action says (bmv2)."""


def mark_to_drop(m: Machine, call: ir.CallExtern) -> None:
    m.assign(standard("egress_spec"), DROP_PORT)
    m.assign(standard("mcast_grp"), 0)


def _hash_input(m: Machine, data: ir.Argument) -> bytes:
    """The list's bits one after the other, zeros up to a byte; fields of invalid headers are left out."""
    assert not isinstance(data, ir.Text)
    bits, length = 0, 0
    for expr in data if isinstance(data, tuple) else (data,):
        if isinstance(expr, ir.FieldRef | ir.FieldRun):
            header = m.resolve(expr.header)
            if header is None or not header.valid:
                continue
        width = expr.type.width_bits if isinstance(expr.type, ir.Bits) else 1
        bits = bits << width | m.value(expr) & ((1 << width) - 1)
        length += width
    padding = -length % 8
    return (bits << padding).to_bytes((length + padding) // 8, "big")


def _checksum(m: Machine, call: ir.CallExtern, algorithm: ir.Argument, data: ir.Argument) -> int:
    content = _hash_input(m, data)
    if call.name.endswith("_with_payload"):
        content += m.frame[m.cursor :]
    return FUNCTIONS[Algorithm(_value(m, algorithm))](content)


def hash_(m: Machine, call: ir.CallExtern) -> None:
    out, algorithm, base, data, limit = call.arguments
    rest = _checksum(m, call, algorithm, data) % ((_value(m, limit) & (2**64 - 1)) or 1)
    _assign(m, out, (_value(m, base) + rest) & (2**64 - 1))


def verify_checksum(m: Machine, call: ir.CallExtern) -> None:
    condition, data, expected, algorithm = call.arguments
    if isinstance(expected, ir.FieldRef):
        header = m.resolve(expected.header)
        if header is None or not header.valid:
            return
    if _value(m, condition) and _checksum(m, call, algorithm, data) != _value(m, expected):
        m.assign(standard("checksum_error"), 1)


def update_checksum(m: Machine, call: ir.CallExtern) -> None:
    condition, data, target, algorithm = call.arguments
    if _value(m, condition):
        _assign(m, target, _checksum(m, call, algorithm, data))


def assertion(m: Machine, call: ir.CallExtern) -> None:
    if not _value(m, call.arguments[0]):
        _state(m).drops[Drop.ASSERTION] += 1
        raise Discard


def log_message(m: Machine, call: ir.CallExtern) -> None:
    text = call.arguments[0]
    given = call.arguments[1] if len(call.arguments) > 1 else ()
    values = given if isinstance(given, tuple) else (given,)
    log.info("%s %s", text.text if isinstance(text, ir.Text) else text, [_value(m, v) for v in values])


EXTERNS: Mapping[str, Callable[[Machine, ir.CallExtern], None]] = {
    "register.read": register_read,
    "register.write": register_write,
    "counter.count": counter_count,
    "direct_counter.count": nothing,
    "mark_to_drop": mark_to_drop,
    "hash": hash_,
    "verify_checksum": verify_checksum,
    "verify_checksum_with_payload": verify_checksum,
    "update_checksum": update_checksum,
    "update_checksum_with_payload": update_checksum,
    "assert": assertion,
    "assume": assertion,
    "log_msg": log_message,
}
