"""``netsum status``: what a controller knows of its aggregator, jobs and ports."""

from __future__ import annotations

import sys
from typing import Any

TIMEOUT_S = 5.0


def run_status(address: str, as_json: bool = False) -> int:
    """Ask the controller at HOST:PORT and print what it says; exit code 1 where it does not answer."""
    import grpc

    try:
        reply = fetch_status(address)
    except grpc.RpcError as error:
        from hostagent.protocol.services.reasons import reason_of

        print(f"netsum status: no controller answers at {address}: {reason_of(error)}", file=sys.stderr)
        return 1
    if as_json:
        from google.protobuf.json_format import MessageToJson

        print(MessageToJson(reply, preserving_proto_field_name=True, always_print_fields_with_no_presence=True))
    else:
        print_status(address, reply)
    return 0


def fetch_status(address: str) -> Any:
    """The controller's StatusReply. Raises grpc.RpcError."""
    import grpc

    from hostagent.protocol.services import session_pb2, session_pb2_grpc

    with grpc.insecure_channel(address) as channel:
        stub: Any = session_pb2_grpc.SessionStub(channel)  # type: ignore[no-untyped-call]
        return stub.Status(session_pb2.StatusRequest(), timeout=TIMEOUT_S)


def print_status(address: str, reply: Any) -> None:
    """For people: the aggregator in a line, then tables of jobs and ports."""
    from rich.console import Console

    console = Console()
    state = "ready" if reply.aggregator_ready else f"not ready: {reply.aggregator_problem or 'starting'}"
    used = reply.slots - reply.slots_free
    console.print(f"controller {address}, aggregator {reply.aggregator} ({state}), ", end="", highlight=False)
    console.print(f"{reply.lanes} lanes a frame, {used} of {reply.slots} slots leased", highlight=False)
    console.print(_jobs(reply.jobs) if reply.jobs else "no jobs", highlight=False)
    console.print(_ports(reply.ports) if reply.ports else "no ports", highlight=False)


def _table(*headings: str) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading)
    return table


def _jobs(jobs: Any) -> Any:
    table = _table("job", "group", "state", "ranks", "window", "first slot", "epoch", "restarts", "cause")
    for job in jobs:
        ranks = " ".join(f"{member.rank}:{member.state}" for member in job.members)
        cells = (job.job, job.group, job.state, ranks, job.window, job.first_slot, job.epoch, job.restarts, job.cause)
        table.add_row(*map(str, cells))
    return table


def _ports(ports: Any) -> Any:
    table = _table("port", "spec", "process")
    for port in ports:
        table.add_row(str(port.number), port.spec, str(port.pid) if port.pid else "free")
    return table
