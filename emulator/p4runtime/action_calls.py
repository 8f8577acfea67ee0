"""What an entry or a member leads to, between P4Runtime's messages and the switch's control interface.

P4Runtime, "Action Specification", "One Shot Action Selector Programming". What can be judged by P4Info alone is judged
here, and whether a watch port exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from emulator.p4runtime.entities.bytestrings import BytestringError, decode, encode
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.match_keys import decode_value
from emulator.p4runtime.pipeline.schema import ActionSchema, ProfileSchema, Schema, Scope, TableSchema
from emulator.switch.control import OneShot, TableEntry, Through, ToGroup, ToMember, WeightedAction

ActionCall = tuple[int, tuple[int, ...]]
"""(action id, parameter values in declaration order)."""

HasPort = Callable[[int], bool]

SDN_PORT_WIDTH_BITS = 32


# --- Calls of actions -------------------------------------------------------------------------------------------


def call_from_proto(schema: Schema, table: TableSchema, call: Any, *, as_default: bool = False) -> ActionCall:
    """A p4.v1.Action of a table's actions. PERMISSION_DENIED when its scope forbids the place."""
    action_id = call.action_id
    scope = table.scopes.get(action_id)
    if scope is None:
        known = action_id in schema.actions or action_id in schema.removed
        name = schema.action(action_id).name if known else f"0x{action_id:08x}"
        raise invalid(f"table {table.name} does not have the action {name}")
    action = schema.actions[action_id]
    if scope is (Scope.TABLE_ONLY if as_default else Scope.DEFAULT_ONLY):
        place = "as the default action" if as_default else "in an entry"
        raise RequestError(
            Code.PERMISSION_DENIED, f"table {table.name}: the program forbids the action {action.name} {place}"
        )
    return action_id, _parameters_from_proto(action, call.params)


def _parameters_from_proto(action: ActionSchema, params: Iterable[Any]) -> tuple[int, ...]:
    values: dict[int, int] = {}
    for param in params:
        number = param.param_id
        parameter = action.by_id.get(number)
        if parameter is None:
            raise invalid(f"action {action.name} has no parameter with id {number}")
        if number in values:
            raise invalid(f"action {action.name}, parameter {parameter.name} occurs twice")
        try:
            values[number] = decode_value(param.value, parameter.width_bits)
        except RequestError as error:
            raise RequestError(error.code, f"action {action.name}, parameter {parameter.name}{error.message}") from None
    missing = [parameter.name for parameter in action.parameters if parameter.id not in values]
    if missing:
        raise invalid(f"action {action.name}: no value for {', '.join(missing)}")
    return tuple(values[parameter.id] for parameter in action.parameters)


def fill_call(message: Any, schema: Schema, call: ActionCall) -> None:
    """Into a p4.v1.Action; what an ``@hidden`` action was given is not described, and left out."""
    action_id, values = call
    message.action_id = action_id
    if action_id not in schema.actions:
        return
    for parameter, value in zip(schema.actions[action_id].parameters, values, strict=True):
        message.params.add(param_id=parameter.id, value=encode(value))


# --- What entries lead to ---------------------------------------------------------------------------------------


def target_from_proto(
    schema: Schema, table: TableSchema, table_action: Any, has_port: HasPort
) -> tuple[ActionCall, Through | None]:
    """A p4.v1.TableAction of an entry: the call in tables without a profile, else (0, ()) and where it leads."""
    given = table_action.WhichOneof("type")
    if not table.implementation_id:
        if given != "action":
            raise invalid(f"table {table.name}: an entry takes an action, the message gives {given or 'none'}")
        return call_from_proto(schema, table, table_action.action), None
    profile = schema.profiles[table.implementation_id]
    allowed = _TYPES_WITH_SELECTOR if profile.has_groups else _TYPES_WITHOUT_SELECTOR
    if given not in allowed:
        raise invalid(
            f"table {table.name} has the action profile {profile.name}: an entry takes one of "
            f"{', '.join(allowed)}, the message gives {given or 'none'}"
        )
    if given == "action_profile_action_set":
        return (0, ()), _one_shot_from_proto(schema, table, profile, table_action.action_profile_action_set, has_port)
    number = getattr(table_action, given)
    return (0, ()), ToMember(number) if given == "action_profile_member_id" else ToGroup(number)


_TYPES_WITHOUT_SELECTOR = ("action_profile_member_id",)
_TYPES_WITH_SELECTOR = ("action_profile_member_id", "action_profile_group_id", "action_profile_action_set")


def _one_shot_from_proto(
    schema: Schema, table: TableSchema, profile: ProfileSchema, message: Any, has_port: HasPort
) -> OneShot:
    where = f"table {table.name}, one-shot group"
    _refuse_later_fields(message, where)
    actions = []
    for given in message.action_profile_actions:
        action_id, params = call_from_proto(schema, table, given.action)
        check_weight(given.weight, profile, where)
        actions.append(WeightedAction(action_id, params, given.weight, watch_port_of(given, where, has_port)))
    if not actions:
        raise invalid(f"{where}: it has no actions")
    size = len(actions) if profile.counts_members else sum(action.weight for action in actions)
    if size > profile.max_group_size > 0:
        raise invalid(f"{where}: its size {size} is above the profile's max_group_size of {profile.max_group_size}")
    return OneShot(tuple(actions))


def _refuse_later_fields(message: Any, where: str) -> None:
    """What came with P4Runtime 1.5; messages built by earlier protos have none of it."""
    for name in ("group_action", "action_selection_mode", "size_semantics"):
        if name in message.DESCRIPTOR.fields_by_name and any(field.name == name for field, _ in message.ListFields()):
            raise RequestError(Code.UNIMPLEMENTED, f"{where}: {name} is not supported (it came with P4Runtime 1.5)")


def check_weight(weight: int, profile: ProfileSchema, where: str) -> None:
    if weight < 1:
        raise invalid(f"{where}: weight {weight} is below 1")
    if profile.counts_members and weight > profile.max_member_weight > 0:
        raise invalid(f"{where}: weight {weight} is above max_member_weight, which is {profile.max_member_weight}")


def watch_port_of(message: Any, where: str, has_port: HasPort) -> int | None:
    """Port that a member or action watches, or None. INVALID_ARGUMENT for a port the switch does not have."""
    kind = message.WhichOneof("watch_kind")
    if kind is None or (kind == "watch_port" and not message.watch_port):
        return None
    try:
        # ``watch`` is the older form, deprecated, of controllers that know no other
        port = int(message.watch) if kind == "watch" else decode(message.watch_port, SDN_PORT_WIDTH_BITS)
    except BytestringError as error:
        raise invalid(f"{where}: watch_port {error}") from None
    if not has_port(port):
        raise invalid(f"{where}: the switch has no port {port} to watch")
    return port


def fill_target(table_action: Any, schema: Schema, entry: TableEntry) -> None:
    """Into a p4.v1.TableAction."""
    if entry.through is None:
        fill_call(table_action.action, schema, (entry.action_id, entry.params))
    else:
        fill_through(table_action, schema, entry.through)


def fill_through(table_action: Any, schema: Schema, through: Through) -> None:
    """Write the member, group or one-shot group of an entry in a table with a profile."""
    match through:
        case ToMember(number):
            table_action.action_profile_member_id = number
        case ToGroup(number):
            table_action.action_profile_group_id = number
        case OneShot(actions):
            for action in actions:
                message = table_action.action_profile_action_set.action_profile_actions.add(weight=action.weight)
                fill_call(message.action, schema, (action.action_id, action.params))
                if action.watch_port is not None:
                    message.watch_port = encode(action.watch_port)
