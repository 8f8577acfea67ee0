"""``netsum bench entries``: how long a controller waits for many table entries, next to a server that ignores them.

Entries are written in batches and read back with a wildcard, over gRPC.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

from emulator.p4runtime.process import RunningSwitch, SwitchOptions, compile_for
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from emulator.rpc.p4runtime_client import INSERT, P4RuntimeClient, StreamClient
from hostagent.cli.bench.runner import BenchError, Report, Row

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<16> key; bit<32> flow; bit<32> value; }
struct headers_t { h_t h; }
struct metadata_t { }
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { p.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action_selector(HashAlgorithm.crc32, 64, 16) selector;
    action nothing() { }
    action send(bit<9> port, bit<32> value) { sm.egress_spec = port; hdr.h.value = value; }
    table forward {
        key = { hdr.h.key: exact; hdr.h.flow: exact; }
        actions = { send; nothing; @defaultonly NoAction; }
        size = 150000;
    }
    table aging {
        key = { hdr.h.key: exact; hdr.h.flow: exact; }
        actions = { send; nothing; @defaultonly NoAction; }
        support_timeout = true;
        size = 150000;
    }
    table grouped {
        key = { hdr.h.flow: exact; hdr.h.key: selector; }
        actions = { send; nothing; }
        implementation = selector;
        size = 150000;
    }
    apply {
        sm.egress_spec = 1;
        forward.apply();
        aging.apply();
        grouped.apply();
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""
BATCH = 1_000
TIMEOUT_S = 60.0
MESSAGE_LIMIT = [("grpc.max_receive_message_length", -1)]

Fill = Callable[[Any, int, int], None]
"""(TableEntry, its number, the action ``send``)"""


def _plain(entry: Any, number: int, action: int) -> None:
    """Two exact keys and an action with two parameters."""
    entry.match.add(field_id=1).exact.value = b"\x07"
    entry.match.add(field_id=2).exact.value = number.to_bytes(4, "big")
    entry.action.action.action_id = action
    entry.action.action.params.add(param_id=1, value=b"\1")
    entry.action.action.params.add(param_id=2, value=number.to_bytes(4, "big"))


def _idle(entry: Any, number: int, action: int) -> None:
    _plain(entry, number, action)
    entry.idle_timeout_ns = 3_600_000_000_000


def _grouped(entry: Any, number: int, _: int) -> None:
    entry.match.add(field_id=1).exact.value = number.to_bytes(4, "big")
    entry.action.action_profile_group_id = 1


TABLES: dict[str, tuple[str, Fill]] = {
    "forward": ("exact", _plain),
    "aging": ("idle time-outs", _idle),
    "grouped": ("action selector", _grouped),
}


def measure(entries: int = 100_000) -> Report:
    """Insert, modify, read and delete ``entries`` of three kinds of table."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="netsum-bench-") as folder:
        path = Path(folder) / "large_tables.p4"
        path.write_text(PROGRAM)
        options = SwitchOptions(program=str(path), ports=("0=memory:a",), grpc_server_addr="127.0.0.1:0")
        compiled = compile_for(options)
        for table, (kind, _) in TABLES.items():
            with RunningSwitch(options, compiled) as running:
                client = StreamClient(running.server.address, options=MESSAGE_LIMIT, timeout_s=TIMEOUT_S)
                client.arbitrate(1)
                info = client.pipeline().p4info
                _make_group(client, info)
                seconds, answers = _play(client, info, table, entries)
                client.close()
            idle = _baseline(info, table, entries, answers)
            rows += [
                Row(
                    f"{entries:,} entries, {kind}: {name}", seconds[name], "s", "a server that ignores them", idle[name]
                )
                for name in seconds
            ]
    return Report("entries", f"table entries over P4Runtime, in batches of {BATCH:,}", rows)


def _play(client: P4RuntimeClient, info: Any, table: str, entries: int) -> tuple[dict[str, float], list[Any]]:
    """Seconds by what was done, and the answers to the read."""
    seconds: dict[str, float] = {}
    answers: list[Any] = []
    for name in ("INSERT", "MODIFY", "read", "DELETE"):
        requests = [] if name == "read" else list(_batches(client, info, table, name, entries))
        start = time.perf_counter()
        for request in requests:
            client.stub.Write(request)
        if name == "read":
            wildcard = p4rt.ReadRequest(entities=[p4rt.Entity(table_entry=p4rt.TableEntry())])
            answers = list(client.stub.Read(wildcard))
            if sum(len(answer.entities) for answer in answers) != entries:
                raise BenchError(f"{table}: not all of the {entries:,} entries were read back")
        seconds[name.lower()] = time.perf_counter() - start
    return seconds, answers


def _baseline(info: Any, table: str, entries: int, answers: list[Any]) -> dict[str, float]:
    """The same calls to a server in this process that does nothing: gRPC and protobuf alone."""
    unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
    as_bytes = lambda message: bytes(message.SerializeToString())  # noqa: E731
    handlers = {
        "Write": unary(lambda request, context: p4rt.WriteResponse(), p4rt.WriteRequest.FromString, as_bytes),
        "Read": stream(lambda request, context: iter(answers), p4rt.ReadRequest.FromString, as_bytes),
    }
    server = grpc.server(ThreadPoolExecutor(2), options=MESSAGE_LIMIT)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("p4.v1.P4Runtime", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    client = P4RuntimeClient(f"127.0.0.1:{port}", options=MESSAGE_LIMIT, timeout_s=TIMEOUT_S)
    seconds, _ = _play(client, info, table, entries)
    client.close()
    server.stop(0)
    return seconds


def _batches(client: P4RuntimeClient, info: Any, name: str, kind: str, entries: int) -> Iterator[Any]:
    """WriteRequests for the table ``name``."""
    _, fill = TABLES[name]
    (table,) = (t.preamble.id for t in info.tables if t.preamble.alias == name)
    (action,) = (a.preamble.id for a in info.actions if a.preamble.alias == "send")
    for start in range(0, entries, BATCH):
        request = client.request(p4rt.WriteRequest)
        for number in range(start, min(start + BATCH, entries)):
            entry = request.updates.add(type=p4rt.Update.Type.Value(kind)).entity.table_entry
            entry.table_id = table
            fill(entry, number, action)
        yield request


def _make_group(client: P4RuntimeClient, info: Any) -> None:
    (profile,) = (p.preamble.id for p in info.action_profiles)
    (action,) = (a.preamble.id for a in info.actions if a.preamble.alias == "nothing")
    member = p4rt.ActionProfileMember(action_profile_id=profile, member_id=1, action=p4rt.Action(action_id=action))
    group = p4rt.ActionProfileGroup(action_profile_id=profile, group_id=1)
    group.members.add(member_id=1, weight=1)
    entities = (p4rt.Entity(action_profile_member=member), p4rt.Entity(action_profile_group=group))
    client.write((INSERT, entity) for entity in entities)
