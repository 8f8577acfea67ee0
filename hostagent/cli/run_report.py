"""What a run has counted, gathered from the controller and the aggregator while both still answer."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from emulator.rpc.statistics import StatisticsError, read_statistics
from hostagent.controller.drivers.aggregator import read_statistics as read_our_statistics
from hostagent.controller.drivers.driver import AggregatorUnavailable
from hostagent.controller.drivers.groups.overflow import COMPLETED_AT_SERVER
from hostagent.launch.aggregators import Aggregator, choose
from hostagent.protocol.tree import regular_tree, switch_names, tree_text
from hostagent.transport.job import CALLS

TIMEOUT_S = 10.0
MESSAGES = "message/frames_sent"
PAGES = (".html", ".htm")


def gather(aggregator: Aggregator) -> dict[str, Any]:
    """``{"jobs": [...], "drops": {...}, "switch": {...}}``; see ReportReply in session.proto, and `statistics`;
    "problem" where the aggregator did not answer the controller. Of several racks not "switch" but "racks", a list,
    each with its ``ranks``; of a tree "switches", a list in the order of ``protocol.tree.regular_tree`` with their
    ``name``. After faults "faults", a list of what happened: ``time_s`` since the network was first used, ``what``, and
    ``problem`` where it could not be done.

    Raises grpc.RpcError when the controller does not answer.
    """
    import grpc

    from hostagent.protocol.services import session_pb2, session_pb2_grpc

    with grpc.insecure_channel(aggregator.address) as channel:
        stub: Any = session_pb2_grpc.SessionStub(channel)  # type: ignore[no-untyped-call]
        reply = stub.Report(session_pb2.ReportRequest(), timeout=TIMEOUT_S)
    found = {"jobs": [_job(job) for job in reply.jobs], "drops": _counters(reply.drops)}
    found |= {"problem": reply.problem} if reply.problem else {}
    if aggregator.faults:
        found["faults"] = list(aggregator.faults)
    if len(aggregator.controls) > 1 and not aggregator.rack_of:
        nodes = zip(aggregator.controls, aggregator.choices or (aggregator.choice, choose("p4")), strict=True)
        each = (replace(aggregator, control=control, choice=choice) for control, choice in nodes)
        names = (
            switch_names(regular_tree(aggregator.tree))
            if aggregator.tree
            else ("root (overflow server)", "s0 (switch)")
        )
        named = zip(names, map(statistics, each), strict=True)
        return {**found, "switches": [{"name": name, **(counted or {})} for name, counted in named]}
    if len(aggregator.controls) > 1:
        racks = [
            {
                "ranks": [rank for rank, own in enumerate(aggregator.rack_of) if own == rack],
                **(statistics(replace(aggregator, control=control)) or {}),
            }
            for rack, control in enumerate(aggregator.controls)
        ]
        return {**found, "racks": racks}
    return {**found, "switch": statistics(aggregator)}


def statistics(aggregator: Aggregator) -> dict[str, Any] | None:
    """The aggregator's statistics: GetStatistics of a switch of ours, Statistics of aggregator.proto. None
    where it doesn't answer: an aggregator need not be one of ours."""
    try:
        if aggregator.choice.is_p4:
            return read_statistics(aggregator.control, tls=aggregator.tls)
        return dict(read_our_statistics(aggregator.control, TIMEOUT_S))
    except (StatisticsError, AggregatorUnavailable):
        return None


def nothing_summed(aggregator: Aggregator) -> str:
    """Why no operation of the ranks used the network, and what to do; empty where one did, or the controller does not
    answer."""
    import grpc

    try:
        jobs = gather(aggregator)["jobs"]
    except grpc.RpcError:
        return ""
    counters = [counter for job in jobs for member in job["members"] for counter in member["counters"].items()]
    if any(name.startswith(CALLS) or (name == MESSAGES and value) for name, value in counters):
        return ""
    if jobs:
        return "the ranks made a netsum group, and no operation or message of it ended"
    return (
        'no rank made a netsum group. Write init_process_group("netsum"), or add --replace-backend gloo, which gives '
        "netsum to scripts that ask for gloo or for no backend"
    )


def places(aggregator: Aggregator) -> list[str]:
    """A line about a switch with an overflow server: how many chunks were summed where."""
    import grpc

    try:
        verdicts = [job["verdicts"] for job in gather(aggregator)["jobs"]]
    except grpc.RpcError:
        return []
    total = sum(each.get("completed", 0) for each in verdicts)
    at_server = sum(each.get(COMPLETED_AT_SERVER, 0) for each in verdicts)
    return [f"{total - at_server:,} chunks were summed at the switch, {at_server:,} at the overflow server"]


def summary(aggregator: Aggregator, has_captures: bool) -> list[str]:
    """Lines for people at the end of a run; see `Aggregator.statistics`. ``has_captures``: P4 switches wrote them."""
    if aggregator.choice.is_p4:
        switches = aggregator.controls if has_captures else ()
        each = (statistics(replace(aggregator, control=control)) or {} for control in switches)
        return [_of_capture(found["capture"]) for found in each if "capture" in found]
    found = statistics(aggregator) or {}
    return [str(line) for line in found.get("core", {}).get("summary", [])]


def _of_capture(found: dict[str, Any]) -> str:
    """A line about a capture file; see `CaptureWriter.statistics`."""
    text = f"{found['file']} has {found['frames']} frames of {found['interfaces']} ports"
    if found["is_full"]:
        return f"{text}, and is full: {found['left_out']} later ones are not in it; see --capture-size"
    return f"{text}; {found['left_out']} could not be written" if found["left_out"] else text


def _job(job: Any) -> dict[str, Any]:
    members = [{"rank": member.rank, "counters": _counters(member.counters)} for member in job.members]
    return {
        "job": job.job,
        "group": job.group,
        "size": job.size,
        "lanes": job.lanes,
        "verdicts": _counters(job.verdicts),
        "verdict_bytes": _counters(job.verdict_bytes),
        "members": sorted(members, key=lambda member: member["rank"]),
    }


def _counters(counters: Any) -> dict[str, int]:
    return {counter.name: counter.value for counter in counters}


def write(aggregator: Aggregator, path: Path, script: str = "", code: int = 0) -> None:
    """Gather and write: a page where the file's name ends with .html, else JSON. ``script``, ``code``: of the run."""
    found = gather(aggregator)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() not in PAGES:
        path.write_text(json.dumps(found, indent=1) + "\n")
        return
    from hostagent.cli.bench.runner import machine_facts
    from hostagent.cli.pages.run import RunFacts, render

    text = tree_text(aggregator.tree)
    summed_by = f"the tree {text}, its root a {aggregator.choice.title}" if text else f"the {aggregator.choice.title}"
    facts = RunFacts(script, ("netsum", *sys.argv[1:]), summed_by, code, machine_facts())
    path.write_text(render(found, facts))
