"""A controller as others write them: pushes P4Info and bmv2's JSON, then routes. Knows P4Runtime's messages only.

Run as ``python -m tests.clients.route_controller ADDRESS P4INFO JSON PREFIX/LENGTH/PORT/MAC/SOURCE_MAC ...`` where the
program is p4src/router.p4.
"""

from __future__ import annotations

import queue
import socket
import sys
from typing import Any

import grpc
from google.protobuf import text_format

from emulator.rpc.p4protos import p4info_pb2, p4runtime_pb2_grpc  # the published messages, under any protobuf
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt

TIMEOUT_S = 60


def entry(info: Any, table: str, match: Any, action: str, *values: bytes) -> Any:
    found = p4rt.Entity()
    (described,) = (t for t in info.tables if t.preamble.name == table)
    found.table_entry.table_id = described.preamble.id
    found.table_entry.match.append(match)
    (chosen,) = (a for a in info.actions if a.preamble.name == action)
    call = found.table_entry.action.action
    call.action_id = chosen.preamble.id
    for parameter, value in zip(chosen.params, values, strict=True):
        call.params.add(param_id=parameter.id, value=value)
    return found


def entities(info: Any, route: str) -> list[Any]:
    prefix, length, port, mac, source = route.split("/")
    match = p4rt.FieldMatch(field_id=1)
    match.lpm.value, match.lpm.prefix_len = socket.inet_aton(prefix), int(length)
    number = int(port).to_bytes(1, "big")
    exact = p4rt.FieldMatch(field_id=1)
    exact.exact.value = number
    return [
        entry(info, "RouterIngress.routes", match, "RouterIngress.set_nhop", number, bytes.fromhex(mac)),
        entry(info, "RouterEgress.source_macs", exact, "RouterEgress.set_source", bytes.fromhex(source)),
    ]


def main(address: str, p4info: str, config: str, *routes: str) -> None:
    info = text_format.Parse(open(p4info).read(), p4info_pb2.P4Info())  # noqa: SIM115
    channel = grpc.insecure_channel(address)
    stub = p4runtime_pb2_grpc.P4RuntimeStub(channel)
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stream = stub.StreamChannel(iter(requests.get, None), timeout=TIMEOUT_S)
    hello = p4rt.StreamMessageRequest()
    hello.arbitration.election_id.low = 1
    requests.put(hello)
    assert next(stream).arbitration.status.code == 0
    push = p4rt.SetForwardingPipelineConfigRequest(action="VERIFY_AND_COMMIT")
    push.election_id.low = 1
    push.config.p4info.CopyFrom(info)
    push.config.p4_device_config = open(config, "rb").read()  # noqa: SIM115
    stub.SetForwardingPipelineConfig(push, timeout=TIMEOUT_S)
    write = p4rt.WriteRequest()
    write.election_id.low = 1
    for route in routes:
        for each in entities(info, route):
            write.updates.add(type=p4rt.Update.INSERT).entity.CopyFrom(each)
    stub.Write(write, timeout=TIMEOUT_S)
    requests.put(None)
    channel.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
