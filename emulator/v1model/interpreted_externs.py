"""v1model's externs for the interpreter, one small function each; the registry at the end names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from emulator.p4 import ir
from emulator.p4.arithmetic import unsigned, wrap
from emulator.p4.interpreter.interpreter import Discard, Machine
from emulator.v1model import interpreted_requests
from emulator.v1model.messages import LOG_CAPACITY, format_of, values_of
from emulator.v1model.metadata import Algorithm, Drop, Fault, standard
from emulator.v1model.random_numbers import MASK
from emulator.v1model.state import State
from emulator.v1model.target import HASH_OF_VALID, VALID_LISTS


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
        cells[index] = unsigned(_value(m, call.arguments[1]), instance.type_arguments[0])
    else:
        _state(m).faults[Fault.REGISTER_INDEX] += 1


def counter_count(m: Machine, call: ir.CallExtern) -> None:
    cells = _state(m).counters[_instance(m, call).name]
    index = _value(m, call.arguments[0])
    if index < len(cells):
        cells[index][0] += 1
        cells[index][1] += len(m.frame)
    else:
        _state(m).faults[Fault.COUNTER_INDEX] += 1


def nothing(m: Machine, call: ir.CallExtern) -> None:
    """direct_counter.count, direct_meter.read: bmv2 counts and meters at each hit of the table, before the action."""


def hash_input(m: Machine, data: ir.Argument, *, only_valid: bool) -> bytes:
    """The list's bits one after the other, zeros up to a byte. ``only_valid``: without fields of invalid headers."""
    assert not isinstance(data, ir.Text)
    bits, length = 0, 0
    for expr in data if isinstance(data, tuple) else (data,):
        if only_valid and isinstance(expr, ir.FieldRef | ir.FieldRun):
            header = m.resolve(expr.header)
            if header is None or not header.valid:
                continue
        value, width = m.varbits(expr)
        bits = bits << width | value
        length += width
    padding = -length % 8
    return (bits << padding).to_bytes((length + padding) // 8, "big")


def checksum(m: Machine, call: ir.CallExtern, algorithm: ir.Argument, data: ir.Argument) -> int:
    """Checksum of the call's data, and of the payload for ``_with_payload``."""
    kind = Algorithm(_value(m, algorithm))
    content = hash_input(m, data, only_valid=call.name in VALID_LISTS)
    if call.name.endswith("_with_payload"):
        content += m.frame[m.cursor :][: interpreted_requests.requests(m).cut_bytes]
    return _state(m).hashed(kind, content)


def hash_(m: Machine, call: ir.CallExtern) -> None:
    out, algorithm, base, data, limit = call.arguments
    rest = checksum(m, call, algorithm, data) % ((_value(m, limit) & MASK) or 1)
    _assign(m, out, (_value(m, base) + rest) & MASK)


def checksum16_get(m: Machine, call: ir.CallExtern) -> None:
    out, data = call.arguments
    _assign(m, out, _state(m).hashed(Algorithm.CSUM16, hash_input(m, data, only_valid=False)))


def verify_checksum(m: Machine, call: ir.CallExtern) -> None:
    condition, data, expected, algorithm = call.arguments
    if isinstance(expected, ir.FieldRef):
        header = m.resolve(expected.header)
        if header is None or not header.valid:
            return
    if _value(m, condition) and checksum(m, call, algorithm, data) != _value(m, expected):
        m.assign(standard("checksum_error"), 1)


def update_checksum(m: Machine, call: ir.CallExtern) -> None:
    condition, data, target, algorithm = call.arguments
    if _value(m, condition):
        _assign(m, target, checksum(m, call, algorithm, data))


def assertion(m: Machine, call: ir.CallExtern) -> None:
    if not _value(m, call.arguments[0]):
        _state(m).drops[Drop.ASSERTION] += 1
        raise Discard


def log_message(m: Machine, call: ir.CallExtern) -> None:
    state, message = _state(m), format_of(call)
    if not message.is_sound:
        state.drops[Drop.LOG_FORMAT] += 1
        raise Discard
    if len(state.log) < LOG_CAPACITY:
        state.log.append((message, tuple(unsigned(m.value(v), v.type) for v in values_of(call))))
    else:
        state.faults[Fault.LOG_FULL] += 1


def random(m: Machine, call: ir.CallExtern) -> None:
    low, high = (m.value(call.expr(i)) & MASK for i in (1, 2))
    if low > high:
        _state(m).faults[Fault.RANDOM_BOUNDS] += 1
    else:
        _assign(m, call.arguments[0], _state(m).random.between(low, high))


def execute_meter(m: Machine, call: ir.CallExtern) -> None:
    instance = _instance(m, call)
    cells = _state(m).meters[instance.name]
    index = _value(m, call.arguments[0])
    if index < len(cells):
        amount = len(m.frame) if instance.arguments[1] == "bytes" else 1
        _assign(m, call.arguments[1], cells[index].execute(amount, len(m.frame), m.notes["now_ns"]))
    else:
        _state(m).faults[Fault.METER_INDEX] += 1


EXTERNS: Mapping[str, Callable[[Machine, ir.CallExtern], None]] = {
    "register.read": register_read,
    "register.write": register_write,
    "counter.count": counter_count,
    "direct_counter.count": nothing,
    "hash": hash_,
    HASH_OF_VALID: hash_,
    "verify_checksum": verify_checksum,
    "verify_checksum_with_payload": verify_checksum,
    "update_checksum": update_checksum,
    "update_checksum_with_payload": update_checksum,
    "assert": assertion,
    "assume": assertion,
    "log_msg": log_message,
    "random": random,
    "meter.execute_meter": execute_meter,
    "direct_meter.read": nothing,
    "Checksum16.get": checksum16_get,
    **interpreted_requests.EXTERNS,
}
