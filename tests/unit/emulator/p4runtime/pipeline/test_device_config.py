"""What a device config may be: a package, bmv2's JSON, or JSON in the wrapper of the first drafts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from emulator.bmv2json.program import load_json
from emulator.p4runtime.device import Device
from emulator.p4runtime.errors import BatchError, Code, RequestError
from emulator.p4runtime.pipeline.compilation import compile_config
from emulator.p4runtime.pipeline.device_config import JsonConfig, read_device_config, unwrap
from emulator.p4runtime.pipeline.package import Package, PackageError
from emulator.p4runtime.pipeline.pipeline import Target
from emulator.rpc.p4protos import p4info_pb2
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from emulator.switch.core import Switch
from tests.clients.p4runtime_scenario import make_package
from tests.programs.bmv2_documents import Json, with_table


def config(content: bytes, p4info: Any = None) -> Any:
    return p4rt.ForwardingPipelineConfig(p4_device_config=content, p4info=p4info)


def wrapped(content: bytes) -> bytes:
    """p4.tmp.P4DeviceConfig {reassign: true, extras {}, device_data}."""
    size = len(content)
    length = bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14])
    return b"\x08\x01\x12\x00\x1a" + length + content


def document() -> Json:
    return with_table("exact", [])


def text() -> bytes:
    return json.dumps(document()).encode()


def test_the_first_bytes_decide() -> None:
    assert isinstance(read_device_config(config(make_package("x"))), Package)
    for content in (text(), b"\n  " + text(), b"\xef\xbb\xbf" + text()):
        assert read_device_config(config(content)) == JsonConfig(content)
    assert read_device_config(config(wrapped(text()))) == JsonConfig(text())
    info = load_json(text()).p4info
    found = read_device_config(config(text(), info))
    assert isinstance(found, JsonConfig)
    assert p4info_pb2.P4Info.FromString(found.p4info) == info


@pytest.mark.parametrize(
    "content", [b"\xff", b"\x1a\xff\xff\xff\xff", b"\x1a\x05ab", b"\x00\x00", b"\x1a" + b"\x80" * 99]
)
def test_what_is_nothing_of_these_is_refused(content: bytes) -> None:
    assert unwrap(content) == content
    with pytest.raises(PackageError, match=r"neither a package .* nor bmv2's JSON"):
        read_device_config(config(content))


def test_nothing_is_refused() -> None:
    with pytest.raises(PackageError, match="is empty"):
        read_device_config(config(b""))


@pytest.fixture
def device() -> Device:
    switch = Switch()
    found = Device(0, Target(switch, lambda: switch.lock, lambda c: compile_config(c, "interpreter"), Switch))
    update = p4rt.MasterArbitrationUpdate()
    update.election_id.low = 1
    found.arbitrate("c", update)
    return found


def push(device: Device, content: bytes, info: Any = None) -> None:
    request = p4rt.SetForwardingPipelineConfigRequest(action="VERIFY_AND_COMMIT", config=config(content, info))
    request.election_id.low = 1
    device.set_pipeline(request)


def test_p4info_and_json_as_controllers_push_them(device: Device) -> None:
    info = p4info_pb2.P4Info()
    info.CopyFrom(load_json(text()).p4info)
    info.tables[0].preamble.id = 0x0200_0007  # the client's ids count
    push(device, text(), info)
    kept = device.get_pipeline(p4rt.GetForwardingPipelineConfigRequest()).config
    assert (kept.p4_device_config, kept.p4info) == (text(), info)
    write = p4rt.WriteRequest()
    write.election_id.low = 1
    entry = write.updates.add(type="INSERT").entity.table_entry
    entry.table_id = 0x0200_0007
    entry.match.add(field_id=1).exact.value = b"\x05"
    entry.action.action.action_id = next(a.preamble.id for a in info.actions if a.preamble.name == "put")
    entry.action.action.params.add(param_id=1, value=b"\x09")
    device.write(write)
    wildcard = p4rt.ReadRequest(entities=[p4rt.Entity(table_entry=p4rt.TableEntry())])
    (response,) = device.read(wildcard)
    assert [e.table_entry.match[0].exact.value for e in response.entities] == [b"\x05"]


REMOVED = 0x4242


def info_with_more() -> Any:
    """P4Info of a program from which the compiler removed an object of each kind."""
    info = p4info_pb2.P4Info()
    info.CopyFrom(load_json(text()).p4info)
    kinds = ((0x02, info.tables), (0x12, info.counters), (0x13, info.direct_counters), (0x14, info.meters),
             (0x11, info.action_profiles), (0x16, info.registers), (0x17, info.digests), (0x03, info.value_sets),
             (0x01, info.actions))  # fmt: skip
    for prefix, things in kinds:
        thing = things.add()
        thing.preamble.id, thing.preamble.name = prefix << 24 | REMOVED, f"removed{prefix}"
        if prefix not in (0x13, 0x01, 0x17):
            thing.size = 16
    info.tables[-1].match_fields.add(id=1, name="k", bitwidth=8, match_type="EXACT")
    info.tables[-1].action_refs.add(id=info.actions[0].preamble.id)
    info.registers[-1].type_spec.bitstring.bit.bitwidth = 8
    members = info.digests[-1].type_spec.tuple.members
    members.add().bitstring.bit.bitwidth = 8
    info.value_sets[-1].match.add(id=1, name="k", bitwidth=8, match_type="EXACT")
    return info


ENTITIES: dict[str, Any] = {
    "table": p4rt.Entity(table_entry=p4rt.TableEntry(
        table_id=0x0200_4242, match=[p4rt.FieldMatch(field_id=1, exact=p4rt.FieldMatch.Exact(value=b"\1"))])),
    "counter": p4rt.Entity(counter_entry=p4rt.CounterEntry(
        counter_id=0x1200_4242, index=p4rt.Index(index=1), data=p4rt.CounterData(packet_count=1))),
    "meter": p4rt.Entity(meter_entry=p4rt.MeterEntry(meter_id=0x1400_4242, index=p4rt.Index(index=1))),
    "register": p4rt.Entity(register_entry=p4rt.RegisterEntry(register_id=0x1600_4242, index=p4rt.Index(index=1))),
    "member": p4rt.Entity(action_profile_member=p4rt.ActionProfileMember(action_profile_id=0x1100_4242, member_id=1)),
    "value set": p4rt.Entity(value_set_entry=p4rt.ValueSetEntry(value_set_id=0x0300_4242)),
    "digest": p4rt.Entity(digest_entry=p4rt.DigestEntry(digest_id=0x1700_4242)),
}  # fmt: skip


@pytest.mark.parametrize("kind", list(ENTITIES))
def test_what_the_compiler_removed_may_be_in_p4info_but_cannot_be_written(device: Device, kind: str) -> None:
    info = info_with_more()
    push(device, text(), info)
    entity = p4rt.Entity()
    entity.CopyFrom(ENTITIES[kind])
    if kind == "table":
        entity.table_entry.action.action.action_id = info.actions[0].preamble.id
        entity.table_entry.action.action.params.add(param_id=1, value=b"\1")
    if kind == "member":
        entity.action_profile_member.action.action_id = info.actions[0].preamble.id
        entity.action_profile_member.action.params.add(param_id=1, value=b"\1")
    write = p4rt.WriteRequest()
    write.election_id.low = 1
    update = write.updates.add(type="MODIFY" if kind in ("counter", "meter", "register", "value set") else "INSERT")
    update.entity.CopyFrom(entity)
    with pytest.raises(BatchError, match=r"removed\d+ is in P4Info, but the compiler removed it") as caught:
        device.write(write)
    assert [error.code for error in caught.value.errors if error is not None] == [Code.NOT_FOUND]
    for message in device.read(p4rt.ReadRequest(entities=[p4rt.Entity(table_entry=p4rt.TableEntry())])):
        assert not message.entities


def test_an_action_that_the_compiler_removed_from_a_table_cannot_be_used(device: Device) -> None:
    info = info_with_more()
    info.tables[0].action_refs.add(id=0x0100_4242)
    push(device, text(), info)
    write = p4rt.WriteRequest()
    write.election_id.low = 1
    entry = write.updates.add(type="INSERT").entity.table_entry
    entry.table_id = info.tables[0].preamble.id
    entry.match.add(field_id=1).exact.value = b"\x05"
    entry.action.action.action_id = 0x0100_4242
    with pytest.raises(BatchError, match="action removed1 is in P4Info, but the compiler removed it"):
        device.write(write)


def test_json_without_p4info_brings_its_own(device: Device) -> None:
    push(device, wrapped(text()))
    kept = device.get_pipeline(p4rt.GetForwardingPipelineConfigRequest()).config
    assert [t.preamble.name for t in kept.p4info.tables] == ["t"]


def test_bad_json_is_an_invalid_argument_that_names_the_place(device: Device) -> None:
    made = document()
    made["actions"][2]["primitives"][0]["op"] = "fly"
    with pytest.raises(RequestError) as caught:
        push(device, json.dumps(made).encode())
    assert caught.value.code is Code.INVALID_ARGUMENT
    assert "actions[2].primitives[0].op: primitive 'fly' is not known" in caught.value.message
