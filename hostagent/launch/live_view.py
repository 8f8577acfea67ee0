"""What a running controller, its aggregators and its ranks count, as one JSON value: of `netsum top`, its page and
programs.

`take` asks the controller, which asks the others; nothing is sent or written by them while nobody asks.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from emulator.ports.spec import Impairments, parse_port
from hostagent.launch.status import TIMEOUT_S
from hostagent.protocol.counters import LATENCY
from hostagent.protocol.worker.latency import percentiles_ns

SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
COUNTED = ("frames_in", "bytes_in", "frames_out", "bytes_out", "queued_out")

View = dict[str, Any]


def take(address: str) -> View:
    """The view now. Raises grpc.RpcError where no controller answers at HOST:PORT.

    ``aggregator`` (name, ready, problem, slots, slots_free, lanes), ``switches`` (name, ``ports``: each with its
    counters, drops by reason, ``rate_bits_per_s`` of its link (0: unlimited), and ``rank`` and ``peer`` where it leads
    to one), ``jobs`` (state, slots, share, priority, latencies of its chunks, verdicts of the aggregator, ``ranks``
    with progress, lag and retransmissions), ``time_ns`` (monotonic). Counters run from the beginning; see `since`.
    ``problem`` says why the aggregator's are missing.
    """
    import grpc

    from hostagent.protocol.services import session_pb2 as pb
    from hostagent.protocol.services import session_pb2_grpc

    with grpc.insecure_channel(address) as channel:
        stub: Any = session_pb2_grpc.SessionStub(channel)  # type: ignore[no-untyped-call]
        status = stub.Status(pb.StatusRequest(), timeout=TIMEOUT_S)
        report = stub.Report(pb.ReportRequest(), timeout=2 * TIMEOUT_S)
    return make_view(address, status, report, time.monotonic_ns())


def make_view(address: str, status: Any, report: Any, now_ns: int) -> View:
    """See `take`. ``status``: a StatusReply; ``report``: a ReportReply."""
    by_job = {job.job: job for job in report.jobs}
    jobs = [_job(job, by_job.get(job.job)) for job in status.jobs]
    return {
        "controller": address,
        "time_ns": now_ns,
        "problem": report.problem,
        "aggregator": {
            "name": status.aggregator,
            "ready": status.aggregator_ready,
            "problem": status.aggregator_problem,
            "slots": status.slots,
            "slots_free": status.slots_free,
            "lanes": status.lanes,
        },
        "drops": _counted(report.drops),
        "switches": _switches(report.aggregators, status, jobs),
        "jobs": jobs,
    }


def _job(job: Any, report: Any) -> View:
    members = {member.rank: member for member in report.members} if report is not None else {}
    ranks = [_rank(member, members.get(member.rank)) for member in job.members]
    for name in ("operations", "chunks"):
        most = max((rank[name] for rank in ranks), default=0)
        for rank in ranks:
            rank[f"lag_{name}"] = most - rank[name]
    histogram = Counter[str]()
    for rank in ranks:
        histogram.update(rank["latencies"])
    return {
        "job": job.job,
        "group": job.group,
        "state": job.state,
        "cause": job.cause,
        "size": job.size,
        "first_slot": job.first_slot,
        "window": job.window,
        "share": job.share or 1,
        "priority": job.priority,
        "restarts": job.restarts,
        "latency_ns": latencies(histogram),
        "verdicts": _counted(report.verdicts) if report is not None else {},
        "ranks": ranks,
    }


def _rank(member: Any, report: Any) -> View:
    counters = _counted(report.counters) if report is not None else {}
    histogram = {name: count for name, count in counters.items() if name.startswith(LATENCY)}
    retransmissions = ("retransmissions_sent", "message/retransmissions_sent")
    return {
        "rank": member.rank,
        "pid": member.pid,
        "host": member.host,
        "port": member.port_number,
        "state": member.state,
        "age_ns": report.age_ns if report is not None else 0,
        "operations": counters.get("progress/operations", 0),
        "chunks": counters.get("progress/top", 0),
        "frames_sent": counters.get("frames_sent", 0) + counters.get("message/frames_sent", 0),
        "bytes_sent": counters.get("bytes_sent", 0) + counters.get("message/bytes_sent", 0),
        "retransmissions": sum(counters.get(name, 0) for name in retransmissions),
        "in_flight_ns": counters.get("in_flight_ns", 0),
        "elapsed_ns": counters.get("elapsed_ns", 0),
        "latency_ns": latencies(histogram),
        "latencies": histogram,
    }


def _counted(counters: Any) -> dict[str, int]:
    return {counter.name: counter.value for counter in counters}


def latencies(histogram: Mapping[str, int]) -> dict[str, int]:
    """``{"p50": ns, "p90": ns, "p99": ns}`` of a histogram of chunks."""
    return dict(zip(SHARES, percentiles_ns(histogram, tuple(SHARES.values())), strict=True))


def _switches(aggregators: Iterable[Any], status: Any, jobs: Iterable[View]) -> list[View]:
    wire_of = {port.number: port.spec for port in status.ports}
    rank_at = {wire_of.get(rank["port"]): rank["rank"] for job in jobs for rank in job["ranks"] if rank["port"]}
    switches: list[View] = []
    for aggregator in aggregators:
        ports = json.loads(aggregator.statistics)["ports"] if aggregator.statistics else {}
        rows = []
        for number, port in sorted(ports.items(), key=lambda item: int(item[0])):
            row = {name: int(port.get(name, 0)) for name in COUNTED}
            drops = {reason: int(count) for reason, count in port.get("drops", {}).items()}
            rows.append(
                {
                    "number": int(number),
                    "spec": port["spec"],
                    **row,
                    "drops": drops,
                    "rank": rank_at.get(_wire(port["spec"])),
                    "rate_bits_per_s": (parse_port(port["spec"]).inbound or Impairments()).rate_bps,
                }
            )
        switches.append({"name": aggregator.name, "ports": rows})
    ends = {cable_ends(port["spec"]): switch["name"] for switch in switches for port in switch["ports"]}
    for switch in switches:
        for port in switch["ports"]:
            here = cable_ends(port["spec"])
            port["peer"] = ends.get((here[1], here[0])) if here[1] else None
    return switches


def _wire(spec: str) -> str:
    """``shm:NAME`` of a port's text, without number and impairments: as the controller offers it."""
    return spec.partition("=")[2].partition("?")[0]


def cable_ends(spec: str) -> tuple[str, str]:
    """(local, remote) of a port with addresses; a name and nothing of any other."""
    local, _, remote = _wire(spec).partition(":")[2].partition(",")
    return local, remote


def since(before: View | None, view: View) -> View:
    """The view with rates and percentiles of the time since ``before``, an earlier one: ports get ``in_bits_per_s`` and
    ``out_bits_per_s``, jobs and ranks the latencies of the chunks since, and ranks ``retransmissions_since``."""
    if before is None:
        return view
    seconds = max(1e-9, (view["time_ns"] - before["time_ns"]) / 1e9)
    ports = {(switch["name"], port["spec"]): port for switch in before["switches"] for port in switch["ports"]}
    for switch in view["switches"]:
        for port in switch["ports"]:
            old = ports.get((switch["name"], port["spec"]))
            for way in ("in", "out"):
                sent = port[f"bytes_{way}"] - old[f"bytes_{way}"] if old is not None else 0
                port[f"{way}_bits_per_s"] = round(8 * max(0, sent) / seconds)  # it may have been restarted
    ranks = {(job["job"], rank["rank"]): rank for job in before["jobs"] for rank in job["ranks"]}
    for job in view["jobs"]:
        total = Counter[str]()
        for rank in job["ranks"]:
            old = ranks.get((job["job"], rank["rank"]), {"latencies": {}, "retransmissions": 0})
            grown = {name: count - old["latencies"].get(name, 0) for name, count in rank["latencies"].items()}
            grown = {name: count for name, count in grown.items() if count > 0}
            rank["latency_ns"] = latencies(grown)
            rank["retransmissions_since"] = max(0, rank["retransmissions"] - old["retransmissions"])
            total.update(grown)
        job["latency_ns"] = latencies(total)
    return view
