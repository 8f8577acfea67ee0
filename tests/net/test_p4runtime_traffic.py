"""A switch as `netsum switch` runs it, with packets flowing while controllers change what they do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from emulator.p4runtime.process import RunningSwitch
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from tests.clients.p4runtime_scenario import TIMEOUT_S, Controller
from tests.labs.p4runtime_device import bits, call, exact, packet, running_entities, value_of

FRAMES = 30_000
FLOWS = 64
WINDOW = 128
"""Frames in the switch at a time: fewer than its rings hold, so that none may be lost."""


@pytest.fixture
def running() -> Iterator[RunningSwitch]:
    with running_entities() as running:
        yield running


@pytest.fixture
def controller(running: RunningSwitch) -> Iterator[Controller]:
    controller = Controller(running.server.address)
    controller.arbitrate(1)
    info = controller.p4info()
    controller.names = {  # type: ignore[attr-defined]
        item.preamble.alias: item.preamble.id
        for kind in ("tables", "actions", "digests")
        for item in getattr(info, kind)
    }
    yield controller
    controller.close()


def named(controller: Any, text: str) -> str:
    for alias, number in sorted(controller.names.items(), reverse=True):
        text = text.replace(f"${alias} ", f"{number} ")
    return text


def send_to(port: int, value: int, flow: int = 0, key: int = 1) -> str:
    action = call("send", port, value)
    return f"table_entry {{ table_id: $forward {exact(1, key)} {exact(2, flow, 4)} action {{ {action} }} }}"


def drain(port: Any, wanted: int) -> list[bytes]:
    """At least ``wanted`` frames: waits for them without a clock of its own."""
    frames: list[bytes] = []
    for _ in range(10_000):
        frames += port.received()
        if len(frames) >= wanted:
            return frames
        port.host.wait(1_000_000)
    raise AssertionError(f"{len(frames)} of {wanted} frames came")


def exchange(running: RunningSwitch, *frames: bytes, port: int = 1) -> list[bytes]:
    source, sink = running.ports[0], running.ports[port]
    assert source.send(frames) == len(frames)  # type: ignore[attr-defined]
    return drain(sink, len(frames))


@pytest.mark.parametrize("atomicity", [0, 1, 2])
def test_changes_under_traffic_lose_and_mix_up_nothing(running: RunningSwitch, controller: Any, atomicity: int) -> None:
    """Two entries change together again and again; a packet sees old or new, and with an atomic batch never a mix."""
    request = controller.request(p4rt.WriteRequest, atomicity=atomicity)
    flows = range(FLOWS)
    controller.write_texts(*(("INSERT", named(controller, send_to(1, 1000, flow))) for flow in flows))
    stopping = threading.Event()
    failures: list[BaseException] = []
    written: list[int] = [1000]

    def change() -> None:
        try:
            while not stopping.is_set():
                written.append(written[-1] + 1)
                texts = [named(controller, send_to(1, written[-1], flow)) for flow in flows]
                controller.write_as(request, *(("MODIFY", text) for text in texts))
        except BaseException as error:
            failures.append(error)

    changing = threading.Thread(target=change)
    changing.start()
    latest, seen = 0, set()
    try:
        for start in range(0, FRAMES, WINDOW):
            frames = exchange(running, *(packet(key=1, flow=(start + i) % FLOWS) for i in range(WINDOW)))
            assert len(frames) == WINDOW
            values = [value_of(frame) for frame in frames]
            received = [int.from_bytes(frame[5:9], "big") for frame in frames]
            assert received == [(start + i) % FLOWS for i in range(WINDOW)]
            assert all(1000 <= value <= written[-1] for value in values)
            if atomicity == 2:
                assert values == sorted(values)
                assert values[0] >= latest
                latest = values[-1]
            seen.update(values)
    finally:
        stopping.set()
        changing.join(60)
    assert failures == []
    assert len(seen) > 1
    assert running.statistics()["drops"] == {}


def test_packets_to_and_from_the_controller(running: RunningSwitch, controller: Any) -> None:
    metadata = [p4rt.PacketMetadata(metadata_id=1, value=b"\2")]
    for number in range(20):
        message = p4rt.PacketOut(payload=packet(value=number), metadata=metadata)
        controller.send(p4rt.StreamMessageRequest(packet=message))
    assert [value_of(frame) for frame in drain(running.ports[2], 20)] == list(range(20))
    running.ports[0].send([packet(kind=4, value=number) for number in range(20)])  # type: ignore[attr-defined]
    packets = [controller.next().packet for _ in range(20)]
    assert [value_of(p.payload) for p in packets] == list(range(20))
    assert [m.value for m in packets[0].metadata] == [b"\0", b"\x09"]
    controller.send(p4rt.StreamMessageRequest(packet=p4rt.PacketOut(payload=bytes(1 << 20))))
    error = controller.next().error
    assert (error.canonical_code, error.WhichOneof("details")) == (3, "packet_out")


def test_digests_and_time_outs_arrive(running: RunningSwitch, controller: Any) -> None:
    config = "config { max_timeout_ns: 1000000 max_list_size: 8 ack_timeout_ns: 600000000000 }"
    controller.write_texts(("INSERT", named(controller, f"digest_entry {{ digest_id: $seen_t {config} }}")))
    exchange(running, *(packet(kind=5, key=number % 8) for number in range(64)))
    seen: set[bytes] = set()
    acks = []
    while len(seen) < 8:
        digest = controller.next().digest
        samples = [data.struct.members[0].bitstring for data in digest.data]
        assert not seen & set(samples)
        seen.update(samples)
        acks.append(p4rt.DigestListAck(digest_id=digest.digest_id, list_id=digest.list_id))
    for ack in acks:
        controller.send(p4rt.StreamMessageRequest(digest_ack=ack))
    match = f'match {{ field_id: 1 lpm {{ value: "{bits(0, 9)}" prefix_len: 16 }} }}'
    action = f"action {{ {call('nothing')} }} idle_timeout_ns: 20000000"
    controller.write_texts(("INSERT", named(controller, f"table_entry {{ table_id: $idle {match} {action} }}")))
    for _ in range(3):
        while (answer := controller.next()).WhichOneof("update") == "digest":
            pass  # of samples that the server took after the acknowledgements
        (entry,) = answer.idle_timeout_notification.table_entry
        assert entry.match[0].lpm.value == b"\x09"
    assert controller.stub.Capabilities(p4rt.CapabilitiesRequest(), timeout=TIMEOUT_S).p4runtime_api_version
