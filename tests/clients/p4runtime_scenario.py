"""P4Runtime in text format for tests, and a scenario that must come out the same under every protobuf.

Run as a program (``python -m tests.clients.p4runtime_scenario``) it plays the scenario and prints the outcome as JSON.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import grpc
from google.protobuf import text_format
from google.rpc import status_pb2

from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from emulator.rpc.p4runtime_client import StreamClient, errors_of

TIMEOUT_S = 20
"""For answers that come at once: only a hang runs into it."""


class Controller(StreamClient):
    """The product's client with entities in protobuf's text format."""

    def __init__(self, address: str, device_id: int = 0, stream_s: float = 120, credentials: Any = None) -> None:
        timeouts = {"timeout_s": TIMEOUT_S, "pipeline_timeout_s": TIMEOUT_S}
        super().__init__(address, device_id, stream_s=stream_s, credentials=credentials, **timeouts)

    def p4info(self) -> Any:
        return (self.pipeline() or p4rt.ForwardingPipelineConfig()).p4info

    def write_texts(self, *updates: tuple[str, str]) -> None:
        self.write_as(self.request(p4rt.WriteRequest), *updates)

    def write_as(self, request: Any, *updates: tuple[str, str]) -> None:
        """Replaces the updates of a request made before."""
        del request.updates[:]
        for update_type, text in updates:
            entity = text_format.Parse(text, p4rt.Entity())
            request.updates.add(type=p4rt.Update.Type.Value(update_type), entity=entity)
        self.stub.Write(request, timeout=TIMEOUT_S)

    def read_texts(self, *texts: str) -> list[Any]:
        return self.read([text_format.Parse(text, p4rt.Entity()) for text in texts])


def details_of(error: grpc.RpcError) -> list[Any]:
    """The p4.v1.Error of each member of a batch, from the trailer that carries them."""
    (packed,) = (value for key, value in error.trailing_metadata() if key == "grpc-status-details-bin")
    status = status_pb2.Status.FromString(packed)
    assert (status.code, status.message) == (error.code().value[0], error.details())
    details = errors_of(error)
    assert len(details) == len(status.details)
    return details


def make_package(text: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("netsum.json", json.dumps({"version": 1, "main": "p.p4", "defines": {}}))
        archive.writestr("p.p4", text)
    return buffer.getvalue()


def scenario() -> Iterator[str]:
    """All calls of a controller, one line per step."""
    from emulator.p4runtime.device import Device
    from emulator.p4runtime.server import P4RuntimeServer
    from tests.fakes.fake_switch import DROPS, FORWARD, JOBS, SUMS, fake_target

    server = P4RuntimeServer(Device(0, fake_target()), "127.0.0.1:0")
    controller = Controller(server.address)
    try:
        yield str(controller.arbitrate(1).arbitration.status.message)
        controller.set_pipeline(make_package())
        yield ",".join(table.preamble.alias for table in controller.p4info().tables)
        entry = f'table_entry {{ table_id: {JOBS} match {{ field_id: 1 exact {{ value: "\\001" }} }}'
        entry += ' match { field_id: 2 exact { value: "\\002" } } action { action {'
        entry += f' action_id: {FORWARD} params {{ param_id: 1 value: "\\001" }} params {{ param_id: 2 value: "x" }}'
        entry += " } } }"
        group = "packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 3 "
        group += "replicas { egress_port: 4 instance: 5 } } }"
        register = f'register_entry {{ register_id: {SUMS} index {{ index: 1 }} data {{ bitstring: "\\007" }} }}'
        controller.write_texts(("INSERT", entry), ("INSERT", group), ("MODIFY", register))
        for entity in controller.read_texts(
            "table_entry {}", group, register, f"counter_entry {{ counter_id: {DROPS} index {{ index: 7 }} }}"
        ):
            yield " ".join(text_format.MessageToString(entity, as_one_line=True).split())
        try:
            controller.write_texts(("INSERT", entry), ("DELETE", group))
        except grpc.RpcError as error:
            yield f"{error.code().name}: {[(e.canonical_code, e.message) for e in details_of(error)]}"
        controller.set_pipeline(make_package(), "RECONCILE_AND_COMMIT")
        yield str(len(controller.read_texts("table_entry {}")))
    finally:
        controller.close()
        server.stop()


if __name__ == "__main__":
    print(json.dumps(list(scenario())))
