"""``netsum status``: what a controller knows of its aggregator, jobs and ports."""

from __future__ import annotations

import sys
from typing import Any

TIMEOUT_S = 5.0

JOB_COLUMNS = (
    "job",
    "group",
    "state",
    "ranks",
    "priority",
    "share",
    "window",
    "first slot",
    "epoch",
    "restarts",
    "cause",
)
PORT_COLUMNS = ("port", "spec", "process")


def run_status(address: str, as_json: bool = False) -> int:
    """Print the status of the controller at HOST:PORT; exit code 1 where it does not answer."""
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
    """Print the aggregator in a line, then tables of jobs and ports."""
    from hostagent.launch.terminal import print_table, wide_console

    console = wide_console()
    state = "ready" if reply.aggregator_ready else f"not ready: {reply.aggregator_problem or 'starting'}"
    used = reply.slots - reply.slots_free
    console.print(f"controller {address}, aggregator {reply.aggregator} ({state}), ", end="", highlight=False)
    messages = "messages between ranks" if reply.forwards_messages else "no messages between ranks"
    slots = f"{used} of {reply.slots} slots leased"
    if reply.HasField("switch_slots"):
        at_switch = reply.switch_slots - reply.switch_slots_free
        slots += f" at the overflow server and {at_switch} of {reply.switch_slots} at the switch"
    console.print(f"{reply.lanes} lanes a frame, {messages}, {slots}", highlight=False)
    for name, columns, rows in (("jobs", JOB_COLUMNS, _jobs(reply.jobs)), ("ports", PORT_COLUMNS, _ports(reply.ports))):
        if rows:
            print_table(columns, rows, console=console)
        else:
            console.print(f"no {name}")


def _jobs(jobs: Any) -> list[list[str]]:
    rows = []
    for job in jobs:
        ranks = " ".join(f"{member.rank}:{member.state}" for member in job.members)
        window = f"{job.window}, {job.switch_slots} at the switch" if job.HasField("switch_slots") else job.window
        terms = (ranks, job.priority, job.share, window, job.first_slot)
        cells = (job.job, job.group, job.state, *terms, job.epoch, job.restarts, job.cause)
        rows.append([str(cell) for cell in cells])
    return rows


def _ports(ports: Any) -> list[tuple[str, str, str]]:
    return [(str(port.number), port.spec, str(port.pid) if port.pid else "free") for port in ports]
