"""The gRPC side: streams that come, clash and break, statuses with their details, and input that is not protobuf."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import any_pb2

from emulator.p4runtime import grpc_status
from emulator.p4runtime.device import Device
from emulator.p4runtime.errors import Code, RequestError
from emulator.p4runtime.server import P4RuntimeServer, ServerError
from emulator.p4runtime.stream.arbitration import MAX_STREAMS
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from tests.clients.p4runtime_scenario import TIMEOUT_S, Controller, details_of, make_package, scenario
from tests.fakes.fake_switch import JOBS, fake_target

ROOT = Path(__file__).resolve().parents[4]
SHELL_PYTHON = ROOT / ".venv-shell" / "bin" / "python"


@pytest.fixture
def server() -> Iterator[P4RuntimeServer]:
    server = P4RuntimeServer(Device(0, fake_target()), "127.0.0.1:0")
    yield server
    server.stop(grace_s=0)


@pytest.fixture
def connect(server: P4RuntimeServer) -> Iterator[Callable[[], Controller]]:
    opened: list[Controller] = []

    def open_one() -> Controller:
        opened.append(Controller(server.address))
        return opened[-1]

    yield open_one
    for controller in opened:
        controller.close()


Connect = Callable[[], Controller]


def status_of(response: Any) -> tuple[int, int]:
    return response.arbitration.status.code, response.arbitration.election_id.low


def ends_with(controller: Controller, code: grpc.StatusCode) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        controller.next()
    assert caught.value.code() == code
    assert caught.value.details()


def test_the_whole_way_of_a_controller() -> None:
    steps = list(scenario())
    assert steps[0] == "Is primary"
    assert steps[-1] == "1"
    assert "UNKNOWN: [(6, 'the entry is there already'), (0, '')]" in steps  # google.rpc.Code: ALREADY_EXISTS, OK


def test_it_goes_the_same_way_under_the_old_protobuf() -> None:
    if not SHELL_PYTHON.exists():
        pytest.skip("no .venv-shell (p4runtime 1.4.1 with protobuf 3.20): run `make setup`")
    done = subprocess.run(
        [SHELL_PYTHON, "-m", "tests.clients.p4runtime_scenario"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == list(scenario())


# --- Streams ----------------------------------------------------------------------------------------------------


def test_a_new_primary_and_the_loss_of_one_are_told(connect: Connect) -> None:
    first, second = connect(), connect()
    assert status_of(first.arbitrate(1)) == (Code.OK, 1)
    assert status_of(second.arbitrate(2)) == (Code.OK, 2)
    assert status_of(first.next()) == (Code.ALREADY_EXISTS, 2)
    second.end()
    assert status_of(first.next()) == (Code.NOT_FOUND, 2)
    with pytest.raises(StopIteration):
        second.next()


def test_a_broken_connection_is_an_end(connect: Connect) -> None:
    first, second = connect(), connect()
    first.arbitrate(1)
    second.arbitrate(2)
    first.next()
    second.channel.close()
    assert status_of(first.next()) == (Code.NOT_FOUND, 2)
    assert status_of(first.arbitrate(3)) == (Code.OK, 3)


def test_a_cancelled_stream_frees_its_election_id(connect: Connect) -> None:
    first, watcher = connect(), connect()
    watcher.arbitrate(None)
    first.arbitrate(7)
    watcher.next()
    first.stream.cancel()
    assert status_of(watcher.next()) == (Code.NOT_FOUND, 7)
    assert status_of(connect().arbitrate(7)) == (Code.OK, 7)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"election_id": 1, "device_id": 9}, grpc.StatusCode.NOT_FOUND),
        ({"election_id": 5}, grpc.StatusCode.INVALID_ARGUMENT),
    ],
)
def test_a_bad_first_update_ends_the_stream(connect: Connect, fields: dict[str, Any], code: grpc.StatusCode) -> None:
    good, bad = connect(), connect()
    good.arbitrate(5)
    bad.ask(**fields)
    ends_with(bad, code)
    assert status_of(good.arbitrate(5)) == (Code.OK, 5)


def test_a_stream_cannot_change_its_role_or_device(connect: Connect) -> None:
    for fields in ({"role": "other"}, {"device_id": 1}):
        controller = connect()
        controller.arbitrate(None)
        controller.ask(3, **fields)
        ends_with(controller, grpc.StatusCode.FAILED_PRECONDITION)


def test_a_bad_update_of_the_primary_leaves_no_primary(connect: Connect) -> None:
    primary, backup = connect(), connect()
    primary.arbitrate(5)
    backup.arbitrate(4)
    primary.ask(4)
    ends_with(primary, grpc.StatusCode.INVALID_ARGUMENT)
    assert status_of(backup.next()) == (Code.NOT_FOUND, 5)


def test_too_many_streams_and_room_again(connect: Connect) -> None:
    controllers = [connect() for _ in range(MAX_STREAMS)]
    for number, controller in enumerate(controllers):
        controller.ask(number)
        controller.next()
    ends_with(connect(), grpc.StatusCode.RESOURCE_EXHAUSTED)
    # Unary calls still find a thread:
    assert controllers[0].stub.Capabilities(p4rt.CapabilitiesRequest(), timeout=TIMEOUT_S).p4runtime_api_version
    controllers[3].end()
    for _ in controllers[3].stream:
        pass
    assert connect().arbitrate(99).arbitration.status.code == Code.OK


@pytest.mark.parametrize(
    ("request_fields", "kind", "code"),
    [
        ({"packet": p4rt.PacketOut(payload=b"x")}, "packet_out", Code.PERMISSION_DENIED),
        ({"digest_ack": p4rt.DigestListAck(digest_id=1)}, "digest_list_ack", Code.PERMISSION_DENIED),
        ({"other": any_pb2.Any(type_url="x.y/z")}, "other", Code.UNIMPLEMENTED),
        ({}, "other", Code.INVALID_ARGUMENT),
    ],
)
def test_other_messages_are_answered_and_the_stream_lives(
    connect: Connect, request_fields: dict[str, Any], kind: str, code: Code
) -> None:
    controller = connect()
    controller.send(p4rt.StreamMessageRequest(**request_fields))
    error = controller.next().error
    assert (error.WhichOneof("details"), error.canonical_code) == (kind, code)
    assert status_of(controller.arbitrate(1)) == (Code.OK, 1)


# --- Statuses ---------------------------------------------------------------------------------------------------


def test_each_update_has_its_error_in_the_trailer(connect: Connect) -> None:
    controller = connect()
    controller.arbitrate(1)
    controller.set_pipeline(make_package())
    table = f"table_entry {{ table_id: {JOBS} is_default_action: true }}"
    with pytest.raises(grpc.RpcError) as caught:
        controller.write_texts(("MODIFY", table), ("INSERT", table), ("MODIFY", "extern_entry {}"))
    assert caught.value.code() == grpc.StatusCode.UNKNOWN
    details = details_of(caught.value)
    assert [d.canonical_code for d in details] == [Code.OK, Code.INVALID_ARGUMENT, Code.UNIMPLEMENTED]
    assert (details[0].message, bool(details[1].message)) == ("", True)


def test_read_errors_come_after_the_answers(connect: Connect) -> None:
    controller = connect()
    controller.arbitrate(1)
    controller.set_pipeline(make_package())
    found = []
    request = p4rt.ReadRequest(entities=[p4rt.Entity(counter_entry=p4rt.CounterEntry()), p4rt.Entity()])
    stream = controller.stub.Read(request, timeout=TIMEOUT_S)
    found.append(next(stream))
    with pytest.raises(grpc.RpcError) as caught:
        next(stream)
    assert len(found[0].entities) == 8
    assert [d.canonical_code for d in details_of(caught.value)] == [Code.OK, Code.INVALID_ARGUMENT]


def test_a_refusal_of_the_whole_request_has_no_details(connect: Connect) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        connect().write_texts(("INSERT", "table_entry {}"))
    assert caught.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert "grpc-status-details-bin" not in dict(caught.value.trailing_metadata())


def test_long_compiler_output_arrives(connect: Connect) -> None:
    controller = connect()
    controller.arbitrate(1)
    with pytest.raises(grpc.RpcError) as caught:
        controller.set_pipeline(make_package("#error " + "é\n" * 20000))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_a_batch_of_many_failures_fits_a_default_client(connect: Connect) -> None:
    controller = connect()
    controller.arbitrate(1)
    controller.set_pipeline(make_package())
    for count in (1, 20, 150):
        with pytest.raises(grpc.RpcError) as caught:
            controller.write_texts(*[("INSERT", f"table_entry {{ table_id: {JOBS} is_default_action: true }}")] * count)
        assert [d.canonical_code for d in details_of(caught.value)] == [Code.INVALID_ARGUMENT] * count


def test_shorten_counts_what_travels() -> None:
    assert grpc_status.shorten("abc", 3) == "abc"
    assert grpc_status.shorten("abcd", 3) == "abc..."
    assert grpc_status.shorten("é" * 10, 12) == "éé..."


def test_a_defect_is_internal_and_the_server_lives(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oops")

    controller = connect()
    with monkeypatch.context() as patch:
        patch.setattr(Device, "get_pipeline", broken)
        with pytest.raises(grpc.RpcError) as caught:
            controller.p4info()
    assert caught.value.code() == grpc.StatusCode.INTERNAL
    assert "ZeroDivisionError: oops" in caught.value.details()
    controller.p4info()


# --- Input that is not protobuf, or too much of it ----------------------------------------------------------------

METHODS = ("Write", "Read", "SetForwardingPipelineConfig", "GetForwardingPipelineConfig", "StreamChannel")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("data", [b"\xff", b"\x0a\xff\xff\xff\xff\x0f", bytes(range(256))])
def test_malformed_messages(connect: Connect, method: str, data: bytes) -> None:
    controller = connect()
    is_stream = method == "StreamChannel"
    factory = controller.channel.stream_stream if is_stream else controller.channel.unary_stream
    call = factory(f"/p4.v1.P4Runtime/{method}", request_serializer=None, response_deserializer=None)
    with pytest.raises(grpc.RpcError) as caught:
        list(call(iter([data]) if is_stream else data, timeout=TIMEOUT_S))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert status_of(controller.arbitrate(1)) == (Code.OK, 1)


def test_oversized_messages(connect: Connect) -> None:
    controller = connect()
    controller.arbitrate(1)
    with pytest.raises(grpc.RpcError) as caught:
        controller.set_pipeline(bytes(65 << 20))
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert status_of(controller.arbitrate(2)) == (Code.OK, 2)


def test_not_grpc_at_all(server: P4RuntimeServer, connect: Connect) -> None:
    host, port = server.address.split(":")
    with socket.create_connection((host, int(port))) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\n\r\n" * 100)
    assert status_of(connect().arbitrate(1)) == (Code.OK, 1)


# --- Listening --------------------------------------------------------------------------------------------------


def test_address_in_use(server: P4RuntimeServer) -> None:
    with pytest.raises(ServerError, match="another program has that port"):
        P4RuntimeServer(Device(0, fake_target()), server.address)


@pytest.mark.parametrize("address", ["", "localhost", ":9559", "localhost:port", "127.0.0.1:70000"])
def test_no_address(address: str) -> None:
    with pytest.raises(ServerError, match="write HOST:PORT"):
        P4RuntimeServer(Device(0, fake_target()), address)


def test_stopping_ends_streams(connect: Connect, server: P4RuntimeServer) -> None:
    controller = connect()
    controller.arbitrate(1)
    stopping = threading.Thread(target=server.stop)
    stopping.start()
    with pytest.raises(grpc.RpcError):
        controller.next()
    stopping.join(TIMEOUT_S)
    assert not stopping.is_alive()


def test_writes_race_with_a_change_of_primary(connect: Connect) -> None:
    """Whatever the interleaving, a write either is the primary's or is denied, and the server answers to the end."""
    controllers = [connect() for _ in range(4)]
    for number, controller in enumerate(controllers):
        controller.arbitrate(number + 1)
    controllers[3].set_pipeline(make_package())
    failures: list[BaseException] = []

    def work(controller: Controller, number: int) -> None:
        for turn in range(20):
            controller.ask(turn * 4 + number + 10)
            try:
                controller.write_texts(("MODIFY", f"table_entry {{ table_id: {JOBS} is_default_action: true }}"))
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.PERMISSION_DENIED:
                    failures.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(controllers, range(4), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert not any(thread.is_alive() for thread in threads)


def test_request_error_text_is_kept() -> None:
    assert str(RequestError(Code.NOT_FOUND, "why")) == "why"
