"""Every RPC's rules against a switch made of dictionaries: no gRPC, no packets."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import text_format

from emulator.p4runtime.device import Device
from emulator.p4runtime.errors import BatchError, Code
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from tests.fakes.fake_device import (
    DEVICE_ID,
    FORWARD_1,
    bare,
    call,
    codes,
    device,
    escape,
    group,
    job,
    read,
    refused,
    route,
    texts,
    write,
)
from tests.fakes.fake_switch import (
    DROP,
    DROPS,
    FILTER,
    FIXED,
    FLAGS,
    FORWARD,
    JOBS,
    KEYLESS,
    NO_ACTION,
    ROUTES,
    SIGNED,
    SUMS,
)

__all__ = ["bare", "device"]

# --- Table entries ----------------------------------------------------------------------------------------------


def test_what_is_written_is_read_back_in_canonical_form(device: Device) -> None:
    write(device, ("INSERT", job(1, 2, call(FORWARD, b"\x00\x01", b"\x00\x00\xbb") + "controller_metadata: 7")))
    (entity,) = read(device, f"table_entry {{ table_id: {JOBS} }}")
    entry = entity.table_entry
    assert [(m.field_id, m.exact.value) for m in entry.match] == [(1, b"\x01"), (2, b"\x02")]
    assert [(p.param_id, p.value) for p in entry.action.action.params] == [(1, b"\x01"), (2, b"\xbb")]
    assert entry.controller_metadata == 7
    assert not entry.HasField("counter_data")


def test_insert_modify_delete(device: Device) -> None:
    write(device, ("INSERT", job(1, 2)))
    assert refused(device, "INSERT", job(1, 2)).code == Code.ALREADY_EXISTS
    write(device, ("MODIFY", job(1, 2, call(DROP))))
    assert read(device, job(1, 2, ""))[0].table_entry.action.action.action_id == DROP
    write(device, ("DELETE", job(1, 2, call(99) + "idle_timeout_ns: 5")))
    assert refused(device, "DELETE", job(1, 2)).code == Code.NOT_FOUND
    assert refused(device, "MODIFY", job(1, 2)).code == Code.NOT_FOUND
    assert read(device, "table_entry {}") == []


def test_modify_without_action_keeps_the_action(device: Device) -> None:
    write(device, ("INSERT", route(b"\x0a\x00\x00\x00", 8, FORWARD_1)))
    write(device, ("MODIFY", route(b"\x0a\x00\x00\x00", 8, "counter_data { packet_count: 4 byte_count: 400 }")))
    (entity,) = read(device, f"table_entry {{ table_id: {ROUTES} counter_data {{}} }}")
    assert entity.table_entry.action.action.action_id == FORWARD
    assert entity.table_entry.counter_data.byte_count == 400
    assert refused(device, "MODIFY", route(b"\x0b\x00\x00\x00", 8, "")).code == Code.NOT_FOUND


def test_a_batch_goes_on_after_an_error_and_reports_each_update(device: Device) -> None:
    with pytest.raises(BatchError) as caught:
        write(
            device, ("INSERT", job(1, 1)), ("INSERT", job(1, 1)), ("INSERT", "counter_entry {}"), ("INSERT", job(2, 1))
        )
    assert codes(caught.value) == [Code.OK, Code.ALREADY_EXISTS, Code.INVALID_ARGUMENT, Code.OK]
    assert str(caught.value).startswith("2 of 4 updates failed; update 2: ")
    assert len(read(device, "table_entry {}")) == 2


def test_later_updates_of_a_batch_see_earlier_ones(device: Device) -> None:
    write(
        device, ("INSERT", job(1, 1)), ("MODIFY", job(1, 1, call(DROP))), ("DELETE", job(1, 1)), ("INSERT", job(1, 1))
    )
    assert len(read(device, "table_entry {}")) == 1


def test_full_table(device: Device) -> None:
    write(device, *(("INSERT", route(bytes([i, 0, 0, 0]), 8)) for i in range(4)))
    assert refused(device, "INSERT", route(bytes([9, 0, 0, 0]), 8)).code == Code.RESOURCE_EXHAUSTED


TERNARY = 'match { field_id: 1 ternary { value: "\\x01" mask: "\\xff" } }'
ZERO_MASK = 'match { field_id: 1 ternary { value: "\\x00" mask: "\\x00" } }'
VALUE_OUTSIDE_MASK = 'match { field_id: 1 ternary { value: "\\x03" mask: "\\x01" } }'
KIND = 'match { field_id: 2 exact { value: "\\x01" } }'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "empty"),
        ("table_entry {}", "table id 0"),
        ("table_entry { table_id: 0x02ffffff }", "no table with id 0x02ffffff"),
        ("table_entry { table_id: 0x01000001 }", "no table"),
        (f"table_entry {{ table_id: {KEYLESS} {FORWARD_1} }}", "has no keys"),
        (f"table_entry {{ table_id: {JOBS} {FORWARD_1} }}", "field job: an exact field cannot be left out"),
        (job(1, 1, FORWARD_1 + ' match { field_id: 1 exact { value: "1" } }'), "field job occurs twice"),
        (job(1, 1, FORWARD_1 + ' match { field_id: 9 exact { value: "1" } }'), "no match field with id 9"),
        (job(1, 1, FORWARD_1 + " priority: 1"), "priority must be 0"),
        (job(1, 1, ""), "needs an action"),
        (job(1, 1, "action { }"), "gives none"),
        (job(1, 1, "action { action_profile_member_id: 1 }"), "gives action_profile_member_id"),
        (job(1, 1, "action { action { action_id: 0x01000099 } }"), "does not have the action 0x01000099"),
        (job(1, 1, call(FORWARD, b"\x01")), "no value for mac"),
        (job(1, 1, call(FORWARD, b"\x01", b"\x01", b"\x01")), "no parameter with id 3"),
        (job(1, 1, call(FORWARD, b"\x02\x00", b"\x01")), "parameter port: 0x0200 does not fit in 9 bits"),
        (job(1, 1, call(FORWARD, b"", b"\x01")), "parameter port: the value is empty"),
        (job(1, 1, FORWARD_1 + " counter_data {}"), "no direct counter"),
        (job(1, 1, FORWARD_1 + " meter_config {}"), "no direct meter"),
        (job(1, 1, FORWARD_1 + " idle_timeout_ns: 1"), "no idle time-out"),
        (job(1, 1, FORWARD_1 + " time_since_last_hit {}"), "time_since_last_hit"),
        (job(1, 1, FORWARD_1 + " is_const: true"), "is_const"),
        (route(b"\x0a\x00\x00\x00", 0), "leave the field out"),
        (route(b"\x0a\x00\x00\x00", 33), "outside 1 to 32"),
        (route(b"\x0a\x00\x00\x00", -1), "outside 1 to 32"),
        (route(b"\x0a\x00\x00\x01", 8), "beyond its prefix"),
        (route(b"\x01\x00\x00\x00\x00", 8), "does not fit in 32 bits"),
        (f'table_entry {{ table_id: {ROUTES} match {{ field_id: 1 exact {{ value: "1" }} }} }}', "key is lpm"),
        (f"table_entry {{ table_id: {ROUTES} match {{ field_id: 1 }} }}", "no match"),
        (f"table_entry {{ table_id: {FILTER} {TERNARY} {KIND} {FORWARD_1} }}", "priority must be positive"),
        (
            f"table_entry {{ table_id: {FILTER} {TERNARY} {KIND} {FORWARD_1} priority: -1 }}",
            "priority must be positive",
        ),
        (
            f"table_entry {{ table_id: {FILTER} {KIND} {ZERO_MASK} }}",
            "leave the field out",
        ),
        (
            f"table_entry {{ table_id: {FILTER} {KIND} {VALUE_OUTSIDE_MASK} }}",
            "outside the mask",
        ),
    ],
)
def test_malformed_inserts_name_the_fault(device: Device, text: str, complaint: str) -> None:
    error = refused(device, "INSERT", text)
    assert error.code == Code.INVALID_ARGUMENT
    assert complaint in error.message


def test_an_update_without_type(device: Device) -> None:
    assert refused(device, "UNSPECIFIED", job(1, 1)).code == Code.INVALID_ARGUMENT


def test_scopes(device: Device) -> None:
    assert refused(device, "INSERT", route(b"\x0a\x00\x00\x00", 8, call(NO_ACTION))).code == Code.PERMISSION_DENIED
    default = f"table_entry {{ table_id: {JOBS} is_default_action: true {call(DROP)} }}"
    assert refused(device, "MODIFY", default).code == Code.PERMISSION_DENIED


def test_constant_tables(device: Device) -> None:
    entry = f'table_entry {{ table_id: {FIXED} match {{ field_id: 1 exact {{ value: "\\1" }} }} {FORWARD_1} }}'
    for update_type in ("INSERT", "MODIFY", "DELETE"):
        assert refused(device, update_type, entry).code == Code.PERMISSION_DENIED


# --- Default entries --------------------------------------------------------------------------------------------


def test_default_entry_is_set_and_reset(device: Device) -> None:
    default = f"table_entry {{ table_id: {JOBS} is_default_action: true %s }}"
    write(device, ("MODIFY", default % FORWARD_1))
    (entity,) = read(device, default % "")
    assert entity.table_entry.is_default_action
    assert entity.table_entry.action.action.action_id == FORWARD
    assert read(device, f"table_entry {{ table_id: {JOBS} }}") == []
    write(device, ("MODIFY", default % ""))
    assert read(device, default % "")[0].table_entry.action.action.action_id == NO_ACTION
    assert len(read(device, "table_entry { is_default_action: true }")) == 5


@pytest.mark.parametrize("update_type", ["INSERT", "DELETE"])
def test_default_entry_cannot_come_or_go(device: Device, update_type: str) -> None:
    text = f"table_entry {{ table_id: {JOBS} is_default_action: true {FORWARD_1} }}"
    assert refused(device, update_type, text).code == Code.INVALID_ARGUMENT


def test_default_entry_has_no_key(device: Device) -> None:
    assert refused(device, "MODIFY", job(1, 1, "is_default_action: true")).code == Code.INVALID_ARGUMENT
    constant = f"table_entry {{ table_id: {FILTER} is_default_action: true {FORWARD_1} }}"
    assert refused(device, "MODIFY", constant).code == Code.PERMISSION_DENIED


# --- Reading ----------------------------------------------------------------------------------------------------


def test_filters(device: Device) -> None:
    write(
        device,
        ("INSERT", job(1, 1, FORWARD_1 + 'metadata: "a"')),
        ("INSERT", job(2, 1, call(DROP) + "controller_metadata: 9")),
        ("INSERT", f"table_entry {{ table_id: {FILTER} {TERNARY} {KIND} {FORWARD_1} priority: 5 }}"),
        ("INSERT", f"table_entry {{ table_id: {FILTER} {KIND} {FORWARD_1} priority: 6 }}"),
    )
    assert len(read(device, "table_entry {}")) == 4
    assert len(read(device, f"table_entry {{ table_id: {JOBS} }}")) == 2
    assert len(read(device, job(1, 1, ""))) == 1
    assert read(device, job(7, 1, "")) == []
    assert len(read(device, f'table_entry {{ table_id: {JOBS} metadata: "a" }}')) == 1
    assert len(read(device, f"table_entry {{ table_id: {JOBS} controller_metadata: 9 }}")) == 1
    assert len(read(device, f"table_entry {{ table_id: {JOBS} {call(DROP)} }}")) == 1
    (highest,) = read(device, f"table_entry {{ table_id: {FILTER} priority: 6 }}")
    assert [m.field_id for m in highest.table_entry.match] == [2]


def test_a_read_batch_reports_each_request_after_the_answers(device: Device) -> None:
    write(device, ("INSERT", job(1, 1)))
    request = p4rt.ReadRequest(device_id=DEVICE_ID)
    for text in (
        f"table_entry {{ table_id: {JOBS} }}",
        "table_entry { table_id: 77 }",
        "extern_entry { extern_id: 1 }",
        "",
    ):
        request.entities.append(text_format.Parse(text, p4rt.Entity()))
    found: list[Any] = []
    with pytest.raises(BatchError) as caught:
        found.extend(device.read(request))
    assert [len(response.entities) for response in found] == [1]
    assert codes(caught.value) == [Code.OK, Code.INVALID_ARGUMENT, Code.UNIMPLEMENTED, Code.INVALID_ARGUMENT]


def test_large_answers_are_cut_into_responses(device: Device) -> None:
    write(device, *(("INSERT", job(number, 1)) for number in range(1000)))
    request = p4rt.ReadRequest(device_id=DEVICE_ID, entities=[p4rt.Entity(table_entry=p4rt.TableEntry())])
    assert [len(response.entities) for response in device.read(request)] == [512, 488]


# --- Counters and registers -------------------------------------------------------------------------------------


def test_counters(device: Device) -> None:
    cell = f"counter_entry {{ counter_id: {DROPS} index {{ index: 2 }} %s }}"
    write(device, ("MODIFY", cell % "data { packet_count: 3 byte_count: 300 }"), ("MODIFY", cell % ""))
    (entity,) = read(device, cell % "")
    assert (entity.counter_entry.data.packet_count, entity.counter_entry.data.byte_count) == (3, 300)
    everything = read(device, f"counter_entry {{ counter_id: {DROPS} }}")
    assert [e.counter_entry.index.index for e in everything] == list(range(8))
    assert texts(read(device, "counter_entry {}")) == texts(everything)
    write(device, ("MODIFY", f"counter_entry {{ counter_id: {DROPS} data {{}} }}"))
    assert read(device, cell % "")[0].counter_entry.data.packet_count == 0


@pytest.mark.parametrize(
    ("update_type", "text", "code"),
    [
        ("INSERT", f"counter_entry {{ counter_id: {DROPS} }}", Code.INVALID_ARGUMENT),
        ("MODIFY", f"counter_entry {{ counter_id: {DROPS} index {{ index: -1 }} data {{}} }}", Code.INVALID_ARGUMENT),
        ("MODIFY", f"counter_entry {{ counter_id: {DROPS} index {{ index: 8 }} data {{}} }}", Code.OUT_OF_RANGE),
        ("MODIFY", f"counter_entry {{ counter_id: {DROPS} data {{ byte_count: -1 }} }}", Code.INVALID_ARGUMENT),
        ("MODIFY", "counter_entry { counter_id: 5 data {} }", Code.INVALID_ARGUMENT),
        ("MODIFY", "counter_entry { data {} }", Code.INVALID_ARGUMENT),
        ("DELETE", f"register_entry {{ register_id: {SUMS} }}", Code.INVALID_ARGUMENT),
        ("MODIFY", f"register_entry {{ register_id: {SUMS} }}", Code.INVALID_ARGUMENT),
        ("MODIFY", f"register_entry {{ register_id: {SUMS} data {{ bool: true }} }}", Code.INVALID_ARGUMENT),
        ("MODIFY", f'register_entry {{ register_id: {SUMS} data {{ bitstring: "12345" }} }}', Code.INVALID_ARGUMENT),
        ("MODIFY", f'register_entry {{ register_id: {FLAGS} data {{ bitstring: "1" }} }}', Code.INVALID_ARGUMENT),
        (
            "MODIFY",
            f'register_entry {{ register_id: {SUMS} index {{ index: 16 }} data {{ bitstring: "1" }} }}',
            Code.OUT_OF_RANGE,
        ),
        ("MODIFY", "meter_entry { meter_id: 1 }", Code.INVALID_ARGUMENT),
        ("INSERT", "extern_entry { extern_type_id: 1 }", Code.UNIMPLEMENTED),
        ("INSERT", "packet_replication_engine_entry {}", Code.INVALID_ARGUMENT),
    ],
)
def test_wrong_cells_and_kinds(device: Device, update_type: str, text: str, code: Code) -> None:
    assert refused(device, update_type, text).code == code


def test_direct_counters(device: Device) -> None:
    write(device, ("INSERT", route(b"\x0a\x00\x00\x00", 8, FORWARD_1 + "counter_data { packet_count: 1 }")))
    key = (
        f'table_entry {{ table_id: {ROUTES} match {{ field_id: 1 lpm {{ value: "\\x0a\\0\\0\\0" prefix_len: 8 }} }} }}'
    )
    write(device, ("MODIFY", f"direct_counter_entry {{ {key} data {{ packet_count: 8 byte_count: 9 }} }}"))
    write(device, ("MODIFY", f"direct_counter_entry {{ {key} }}"))
    for wanted in (key, f"table_entry {{ table_id: {ROUTES} }}", "table_entry {}", ""):
        (entity,) = read(device, f"direct_counter_entry {{ {wanted} }}")
        assert entity.direct_counter_entry.data.byte_count == 9
        assert entity.direct_counter_entry.table_entry.match[0].lpm.prefix_len == 8
    assert refused(device, "INSERT", f"direct_counter_entry {{ {key} }}").code == Code.INVALID_ARGUMENT
    absent = key.replace("x0a", "x0b")
    assert refused(device, "MODIFY", f"direct_counter_entry {{ {absent} data {{}} }}").code == Code.NOT_FOUND
    with pytest.raises(BatchError) as caught:
        read(device, f"direct_counter_entry {{ {absent} }}")
    assert codes(caught.value) == [Code.NOT_FOUND]


@pytest.mark.parametrize(
    ("register_id", "data", "answer"),
    [
        (SUMS, b"\x00\x00\x01\x02", 'bitstring: "\\001\\002"'),
        (SIGNED, b"\xff\xff", 'bitstring: "\\377"'),
        (SIGNED, b"\x07\xff", 'bitstring: "\\007\\377"'),
        (SIGNED, b"\xf8\x00", 'bitstring: "\\370\\000"'),
    ],
)
def test_registers(device: Device, register_id: int, data: bytes, answer: str) -> None:
    cell = f"register_entry {{ register_id: {register_id} index {{ index: 1 }} %s }}"
    write(device, ("MODIFY", cell % f'data {{ bitstring: "{escape(data)}" }}'))
    (entity,) = read(device, cell % "")
    assert text_format.MessageToString(entity.register_entry.data, as_one_line=True) == answer


def test_bool_registers_and_wildcards(device: Device) -> None:
    write(device, ("MODIFY", f"register_entry {{ register_id: {FLAGS} data {{ bool: true }} }}"))
    assert [e.register_entry.data.bool for e in read(device, f"register_entry {{ register_id: {FLAGS} }}")] == [
        True
    ] * 2
    assert len(read(device, "register_entry {}")) == 16 + 2 + 2


# --- Multicast groups -------------------------------------------------------------------------------------------


def test_multicast_groups(device: Device) -> None:
    write(device, ("INSERT", group(1, "egress_port: 1 instance: 1", 'port: "\\0\\2" instance: 2')))
    assert refused(device, "INSERT", group(1)).code == Code.ALREADY_EXISTS
    (entity,) = read(device, group(1))
    replicas = entity.packet_replication_engine_entry.multicast_group_entry.replicas
    assert [(r.egress_port, r.port, r.instance) for r in replicas] == [(1, b"", 1), (0, b"\x02", 2)]
    write(device, ("MODIFY", group(1, "egress_port: 3")), ("INSERT", group(2)))
    assert len(read(device, group(0))) == 2
    assert read(device, group(9)) == []
    write(device, ("DELETE", group(1)))
    assert refused(device, "DELETE", group(1)).code == Code.NOT_FOUND
    assert refused(device, "MODIFY", group(1)).code == Code.NOT_FOUND


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (group(0, "egress_port: 1"), Code.INVALID_ARGUMENT),
        (group(70000, "egress_port: 1"), Code.INVALID_ARGUMENT),
        (group(1, "instance: 1"), Code.INVALID_ARGUMENT),
        (group(1, "egress_port: 512"), Code.INVALID_ARGUMENT),
        (group(1, 'port: "\\x02\\x00"'), Code.OUT_OF_RANGE),
        (group(1, "egress_port: 1 instance: 65536"), Code.INVALID_ARGUMENT),
        (group(1, "egress_port: 1 instance: 1", 'port: "\\1" instance: 1'), Code.INVALID_ARGUMENT),
        (group(1, "egress_port: 1 backup_replicas { instance: 1 }"), Code.OUT_OF_RANGE),
    ],
)
def test_malformed_groups(device: Device, text: str, code: Code) -> None:
    assert refused(device, "INSERT", text).code == code
