"""``netsum top``: a live view of a run in the terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hostagent.launch.live_view import View, since, take

if TYPE_CHECKING:
    from rich.console import Group

STALE_NS = 3_000_000_000
"""Age from which a rank's counters are marked: it has not answered several times."""

PORT_COLUMNS = (">port", "to", ">in Mbit/s", ">out Mbit/s", ">frames in", ">MB in", ">frames out", ">MB out")
JOB_COLUMNS = (">job", "group", "state", "slots", ">p50 us", ">p90 us", ">p99 us", ">restarts", "cause")
TERMS = {"share": 1, "priority": 0}
"""Of jobs, with what is the usual: shown where a job has something else."""
RANK_COLUMNS = (">job", ">rank", "state", ">operations", ">lag", ">chunks lag", ">retransmitted", ">p50 us", ">p99 us")


def run_top(address: str, *, once: bool = False, as_json: bool = False, interval_s: float = 1.0) -> int:
    """Show the view of the controller at HOST:PORT until Ctrl-C or the run's end; ``once``: print it once, with the
    rates of one interval. The exit code: 1 where no controller answers."""
    import grpc

    from hostagent.protocol.services.reasons import reason_of

    is_followed = not (as_json or once) and sys.stdout.isatty()
    try:
        view = take(address)
        if not is_followed:
            time.sleep(interval_s)
            view = since(view, take(address))
    except grpc.RpcError as error:
        print(f"netsum top: no controller answers at {address}: {reason_of(error)}", file=sys.stderr)
        return 1
    if as_json:
        print(json.dumps(view, indent=1))
    elif not is_followed:
        from hostagent.launch.terminal import wide_console

        wide_console().print(render(view))
    else:
        _follow(address, view, interval_s)
    return 0


def _follow(address: str, view: View, interval_s: float) -> None:
    import grpc
    from rich.live import Live

    with Live(render(view), auto_refresh=False, screen=True) as live:
        while True:
            time.sleep(interval_s)
            before = view
            try:
                view = take(address)
            except grpc.RpcError:
                break
            live.update(render(since(before, view)), refresh=True)
    print(f"netsum top: the controller at {address} has ended")


def render(view: View) -> Group:
    """The view for a terminal: a headline, then tables of ports, jobs and ranks."""
    from rich.console import Group
    from rich.text import Text

    from hostagent.launch.terminal import make_table

    ports = [(switch, port) for switch in view["switches"] for port in switch["ports"]]
    several = len(view["switches"]) > 1
    columns = (*(("switch",) if several else ()), *PORT_COLUMNS, ">queued", ">drops")
    rows = [(*((_place(switch["name"]),) if several else ()), *_port(port)) for switch, port in ports]
    ranks = [(job, rank) for job in view["jobs"] for rank in job["ranks"]]
    terms = [term for term, usual in TERMS.items() if any(job[term] != usual for job in view["jobs"])]
    job_columns = (*JOB_COLUMNS[:4], *(f">{term}" for term in terms), *JOB_COLUMNS[4:])
    return Group(
        Text(headline(view)),
        *([Text(f"no counters of the aggregator: {view['problem']}", "bold red")] if view["problem"] else ()),
        *([make_table(columns, rows, "\nports")] if rows else ()),
        make_table(job_columns, (_job(job, terms) for job in view["jobs"]), "\njobs")
        if view["jobs"]
        else Text("\nno jobs"),
        *(
            [make_table((*RANK_COLUMNS, ">in flight", "counters"), (_rank(*each) for each in ranks), "\nranks")]
            if ranks
            else ()
        ),
    )


def headline(view: View) -> str:
    """Controller, aggregator and slots in a line."""
    aggregator = view["aggregator"]
    used = aggregator["slots"] - aggregator["slots_free"]
    state = "ready" if aggregator["ready"] else f"NOT READY: {aggregator['problem'] or 'starting'}"
    return (
        f"controller {view['controller']}, aggregator {aggregator['name']} ({state}), "
        f"{used} of {aggregator['slots']} slots leased, {aggregator['lanes']} lanes a frame"
    )


def _place(name: str) -> str:
    return name.partition("://")[2] or name


def _port(port: dict[str, Any]) -> list[str]:
    to = f"rank {port['rank']}" if port["rank"] is not None else _place(port["peer"] or "") or "free"
    rates = [f"{port[name] / 1e6:.1f}" if name in port else "" for name in ("in_bits_per_s", "out_bits_per_s")]
    drops = sum(port["drops"].values())
    why = f" {max(port['drops'], key=port['drops'].get)}" if drops else ""
    moved = [
        cell for way in ("in", "out") for cell in (f"{port[f'frames_{way}']:,}", f"{port[f'bytes_{way}'] / 1e6:,.1f}")
    ]
    return [str(port["number"]), to, *rates, *moved, str(port["queued_out"]), f"{drops}{why}"]


def _job(job: dict[str, Any], terms: Sequence[str]) -> list[str]:
    slots = f"{job['first_slot']} to {job['first_slot'] + job['window'] - 1}" if job["window"] else ""
    latencies = [_us(job["latency_ns"][name]) for name in ("p50", "p90", "p99")]
    shown = [str(job[term]) for term in terms]
    return [str(job["job"]), job["group"], job["state"], slots, *shown, *latencies, str(job["restarts"]), job["cause"]]


def _rank(job: dict[str, Any], rank: dict[str, Any]) -> list[str]:
    more = f" (+{rank['retransmissions_since']})" if rank.get("retransmissions_since") else ""
    share = f"{rank['in_flight_ns'] / rank['elapsed_ns']:.0%}" if rank["elapsed_ns"] else ""
    return [
        str(job["job"]),
        str(rank["rank"]),
        rank["state"],
        f"{rank['operations']:,}",
        str(rank["lag_operations"]),
        str(rank["lag_chunks"]),
        f"{rank['retransmissions']:,}{more}",
        _us(rank["latency_ns"]["p50"]),
        _us(rank["latency_ns"]["p99"]),
        share,
        _age(rank["age_ns"]),
    ]


def _age(age_ns: int) -> str:
    if age_ns == 0:
        return "none yet"
    return f"{age_ns / 1e9:.0f} s old: process does not answer" if age_ns > STALE_NS else "now"


def _us(latency_ns: int) -> str:
    return f"{latency_ns / 1e3:,.0f}" if latency_ns else ""
