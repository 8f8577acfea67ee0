"""Damaged requests: what still parses is carried out or refused with a canonical error, and never breaks the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.p4runtime.device import Device
from emulator.p4runtime.errors import BatchError, Code, RequestError
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from tests.clients.p4runtime_scenario import make_package
from tests.fakes.fake_switch import DROPS, FILTER, FORWARD, JOBS, ROUTES, SUMS, fake_target
from tests.labs.extent import tries

PARAMS = 'params { param_id: 1 value: "1" } params { param_id: 2 value: "2" }'
ACTION = f"action {{ action {{ action_id: {FORWARD} {PARAMS} }} }}"
PREFIX = 'match { field_id: 1 lpm { value: "\\x0a\\0\\0\\0" prefix_len: 8 } }'
ENTITIES = (
    f"table_entry {{ table_id: {ROUTES} {PREFIX} {ACTION} counter_data {{ packet_count: 1 }} }}",
    f'table_entry {{ table_id: {JOBS} match {{ field_id: 1 exact {{ value: "1" }} }} '
    f'match {{ field_id: 2 exact {{ value: "2" }} }} {ACTION} metadata: "m" }}',
    f'table_entry {{ table_id: {FILTER} match {{ field_id: 1 ternary {{ value: "\\1" mask: "\\3" }} }} '
    f'match {{ field_id: 2 exact {{ value: "\\2" }} }} {ACTION} priority: 3 }}',
    f"table_entry {{ table_id: {JOBS} is_default_action: true {ACTION} }}",
    f"counter_entry {{ counter_id: {DROPS} index {{ index: 3 }} data {{ packet_count: 5 }} }}",
    f"direct_counter_entry {{ table_entry {{ table_id: {ROUTES} }} data {{ byte_count: 5 }} }}",
    f'register_entry {{ register_id: {SUMS} index {{ index: 3 }} data {{ bitstring: "\\1\\2" }} }}',
    "packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 3 replicas { egress_port: 1 } "
    'replicas { port: "\\2" instance: 1 } } }',
)


def loaded_device() -> Device:
    device = Device(0, fake_target())
    update = p4rt.MasterArbitrationUpdate()
    update.election_id.low = 1
    device.arbitrate("c", update)
    request = p4rt.SetForwardingPipelineConfigRequest(action=p4rt.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT)
    request.election_id.low = 1
    request.config.p4_device_config = make_package()
    device.set_pipeline(request)
    return device


@st.composite
def damaged(draw: st.DrawFn, make: Any) -> bytes:
    """A valid request with some bytes changed, inserted, removed or cut off."""
    entities = draw(st.lists(st.sampled_from(ENTITIES), min_size=1, max_size=3))
    data = bytearray(make([text_format.Parse(text, p4rt.Entity()) for text in entities]).SerializeToString())
    for _ in range(draw(st.integers(0, 4))):
        position = draw(st.integers(0, max(0, len(data) - 1)))
        match draw(st.sampled_from(("change", "insert", "remove", "cut"))):
            case "change" if data:
                data[position] = draw(st.integers(0, 255))
            case "insert":
                data[position:position] = draw(st.binary(max_size=8))
            case "remove":
                del data[position : position + draw(st.integers(1, 8))]
            case "cut":
                del data[position:]
    return bytes(data)


def make_write(entities: list[Any]) -> Any:
    request = p4rt.WriteRequest()
    request.election_id.low = 1
    for number, entity in enumerate(entities):
        request.updates.add(type=1 + number % 3, entity=entity)
    return request


def make_read(entities: list[Any]) -> Any:
    return p4rt.ReadRequest(entities=entities)


@settings(deadline=None, max_examples=tries(100, 400))
@given(damaged(make_write))
def test_damaged_writes(data: bytes) -> None:
    request = parsed(p4rt.WriteRequest, data)
    if request is None:
        return
    device = loaded_device()
    error = refusal(lambda: device.write(request))
    if isinstance(error, BatchError):
        assert len(error.errors) == len(request.updates)
        assert all(e.code not in (Code.OK, Code.INTERNAL) and e.message for e in error.errors if e is not None)
    elif error is not None:
        assert error.code in (Code.NOT_FOUND, Code.PERMISSION_DENIED, Code.UNIMPLEMENTED)
    everything = [text_format.Parse(text, p4rt.Entity()) for text in ("table_entry {}", "counter_entry {}")]
    list(device.read(p4rt.ReadRequest(entities=everything)))


def parsed(kind: Any, data: bytes) -> Any:
    try:
        return kind.FromString(data)
    except DecodeError:
        return None


def refusal(call: Callable[[], object]) -> RequestError | BatchError | None:
    """Anything else that is raised is a defect."""
    try:
        call()
    except (RequestError, BatchError) as error:
        return error
    return None


@settings(deadline=None, max_examples=tries(100, 400))
@given(damaged(make_read))
def test_damaged_reads(data: bytes) -> None:
    request = parsed(p4rt.ReadRequest, data)
    if request is None:
        return
    device = loaded_device()
    error = refusal(lambda: list(device.read(request)))
    if isinstance(error, BatchError):
        assert len(error.errors) == len(request.entities)
    elif error is not None:
        assert error.code == Code.NOT_FOUND
