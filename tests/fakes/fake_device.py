"""A device over the switch made of dictionaries, and how tests talk to it: no gRPC, no packets."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from google.protobuf import text_format

from emulator.p4runtime.device import Device
from emulator.p4runtime.errors import BatchError, Code, RequestError
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from tests.fakes.fake_switch import (
    FORWARD,
    JOBS,
    P4INFO_TEXT,
    ROUTES,
    fake_target,
)

DEVICE_ID = 3
ELECTION_ID = 5
SET = p4rt.SetForwardingPipelineConfigRequest
GET = p4rt.GetForwardingPipelineConfigRequest


def package(text: str = P4INFO_TEXT) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("netsum.json", json.dumps({"version": 1, "main": "p.p4", "defines": {}}))
        archive.writestr("p.p4", text)
    return buffer.getvalue()


def bare_device() -> Device:
    """Stream "c" is the primary; no program is loaded."""
    device = Device(DEVICE_ID, fake_target())
    update = p4rt.MasterArbitrationUpdate(device_id=DEVICE_ID)
    update.election_id.low = ELECTION_ID
    device.arbitrate("c", update)
    return device


def set_pipeline(device: Device, action: int, text: str | None = P4INFO_TEXT, **fields: Any) -> None:
    request = SET(device_id=DEVICE_ID, action=action)
    request.election_id.low = ELECTION_ID
    if text is not None:
        request.config.p4_device_config = package(text)
    for name, value in fields.items():
        getattr(request.config, name).CopyFrom(value)
    device.set_pipeline(request)


@pytest.fixture
def bare() -> Device:
    """Without a program."""
    return bare_device()


@pytest.fixture
def device(bare: Device) -> Device:
    """With the program of `fake_switch`."""
    set_pipeline(bare, SET.VERIFY_AND_COMMIT)
    return bare


def get_pipeline(device: Device, response_type: int = 0) -> Any:
    return device.get_pipeline(GET(device_id=DEVICE_ID, response_type=response_type))


def write(device: Device, *updates: tuple[str, str], **fields: Any) -> None:
    """Updates as (type, text of an Entity)."""
    request = p4rt.WriteRequest(device_id=DEVICE_ID, **fields)
    request.election_id.low = ELECTION_ID
    for update_type, text in updates:
        entity = text_format.Parse(text, p4rt.Entity())
        request.updates.add(type=p4rt.Update.Type.Value(update_type), entity=entity)
    device.write(request)


def read(device: Device, *texts: str) -> list[Any]:
    request = p4rt.ReadRequest(device_id=DEVICE_ID)
    request.entities.extend(text_format.Parse(text, p4rt.Entity()) for text in texts)
    return [entity for response in device.read(request) for entity in response.entities]


def texts(entities: list[Any]) -> list[str]:
    return [text_format.MessageToString(entity, as_one_line=True) for entity in entities]


def codes(error: BatchError) -> list[Code]:
    return [Code.OK if e is None else e.code for e in error.errors]


def refused(device: Device, update_type: str, text: str) -> RequestError:
    with pytest.raises(BatchError) as caught:
        write(device, (update_type, text))
    (error,) = caught.value.errors
    assert error is not None
    return error


def call(action_id: int, *params: bytes) -> str:
    values = " ".join(f'params {{ param_id: {i} value: "{escape(v)}" }}' for i, v in enumerate(params, start=1))
    return f"action {{ action {{ action_id: {action_id} {values} }} }}"


def escape(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)


FORWARD_1 = call(FORWARD, b"\x01", b"\xaa")


def route(value: bytes, prefix_len: int, rest: str = FORWARD_1) -> str:
    match = f'match {{ field_id: 1 lpm {{ value: "{escape(value)}" prefix_len: {prefix_len} }} }}'
    return f"table_entry {{ table_id: {ROUTES} {match} {rest} }}"


def job(number: int, port: int, rest: str = FORWARD_1) -> str:
    fields = f'match {{ field_id: 2 exact {{ value: "{escape(bytes([port]))}" }} }}'
    fields += f' match {{ field_id: 1 exact {{ value: "{escape(number.to_bytes(2, "big"))}" }} }}'
    return f"table_entry {{ table_id: {JOBS} {fields} {rest} }}"


def group(group_id: int, *replicas: str) -> str:
    text = " ".join(f"replicas {{ {replica} }}" for replica in replicas)
    return f"packet_replication_engine_entry {{ multicast_group_entry {{ multicast_group_id: {group_id} {text} }} }}"
