"""The live view: made of a controller's answers, with rates of the time between two of them, and as a terminal shows
it."""

from __future__ import annotations

import copy
import io
import json
from typing import Any

import pytest

from hostagent.launch.live_view import View, make_view, since
from hostagent.launch.top import render
from hostagent.protocol.services import session_pb2 as pb

SECOND_NS = 1_000_000_000


def port(spec: str, frames: int, *, drops: dict[str, int] | None = None, queued: int = 0) -> dict[str, Any]:
    counted = {"frames_in": frames, "bytes_in": 1000 * frames, "frames_out": frames, "bytes_out": 500 * frames}
    return {"spec": spec, **counted, "drops": drops or {}, "queued_out": queued}


def counters(**values: int) -> list[pb.Counter]:
    return [pb.Counter(name=name.replace("__", "/"), value=value) for name, value in values.items()]


def status() -> pb.StatusReply:
    reply = pb.StatusReply(aggregator="p4runtime://a,b", aggregator_ready=True, slots=512, slots_free=384, lanes=64)
    members = [pb.MemberStatus(rank=rank, pid=100 + rank, port_number=rank + 1, state="joined") for rank in (0, 1)]
    reply.jobs.append(
        pb.JobStatus(job=5, group="world", size=2, state="running", window=64, first_slot=0, members=members)
    )
    reply.ports.extend(pb.PortStatus(number=number, spec=f"shm:run-{number}", pid=99 + number) for number in (1, 2))
    return reply


def report(frames: int = 10, late: int = 0) -> pb.ReportReply:
    leaf = {
        "ports": {
            "1": port("1=shm:run-1?loss=0.1", frames, drops={"ring_full": 4}, queued=3),
            "510": port("510=udp:127.0.0.1:7,127.0.0.1:8?loss=0.1", frames),
        }
    }
    root = {"ports": {"2": port("2=shm:run-2", frames), "446": port("446=udp:127.0.0.1:8,127.0.0.1:7", frames)}}
    reply = pb.ReportReply(drops=counters(checksum=2))
    for name, statistics in (("p4runtime://root", root), ("p4runtime://leaf", leaf), ("p4runtime://bmv2", None)):
        reply.aggregators.append(
            pb.AggregatorReport(name=name, statistics=json.dumps(statistics) if statistics is not None else "")
        )
    job = pb.JobReport(job=5, verdicts=counters(accepted=frames))
    job.members.append(
        pb.MemberReport(
            rank=0,
            age_ns=1,
            counters=counters(
                progress__operations=9,
                progress__top=800,
                retransmissions_sent=7 + late,
                latency_ns__1000=frames,
                in_flight_ns=3,
                elapsed_ns=4,
            ),
        )
    )
    job.members.append(
        pb.MemberReport(
            rank=1,
            age_ns=9 * SECOND_NS,
            counters=counters(
                progress__operations=6, progress__top=780, latency_ns__1000=frames, latency_ns__8000=late
            ),
        )
    )
    reply.jobs.append(job)
    return reply


def view(now_ns: int = 0, **changes: int) -> View:
    return make_view("127.0.0.1:1", status(), report(**changes), now_ns)


def shown(value: View) -> str:
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=200).print(render(value))
    return out.getvalue()


def test_ports_lead_to_ranks_and_to_other_switches() -> None:
    root, leaf, outside = view()["switches"]
    assert [(p["number"], p["rank"], p["peer"]) for p in leaf["ports"]] == [
        (1, 0, None),
        (510, None, "p4runtime://root"),
    ]
    assert [(p["number"], p["rank"], p["peer"]) for p in root["ports"]] == [
        (2, 1, None),
        (446, None, "p4runtime://leaf"),
    ]
    assert outside["ports"] == []
    assert leaf["ports"][0]["drops"] == {"ring_full": 4}
    assert leaf["ports"][0]["queued_out"] == 3


def test_a_rank_is_behind_the_foremost_of_its_job() -> None:
    (job,) = view()["jobs"]
    assert [(rank["lag_operations"], rank["lag_chunks"]) for rank in job["ranks"]] == [(0, 0), (3, 20)]
    assert (job["first_slot"], job["window"], job["verdicts"]) == (0, 64, {"accepted": 10})


def test_rates_and_latencies_are_of_the_time_since_the_last_look() -> None:
    before = view()
    after = since(before, view(2 * SECOND_NS, frames=30, late=5))
    seen = after["switches"][1]["ports"][0]
    assert (seen["in_bits_per_s"], seen["out_bits_per_s"]) == (80_000, 40_000)
    first, second = after["jobs"][0]["ranks"]
    assert (first["retransmissions_since"], second["retransmissions_since"]) == (5, 0)
    assert 1000 <= first["latency_ns"]["p99"] <= 1250
    assert second["latency_ns"]["p99"] > 8000
    assert before == view(), "what was seen before stays"


def test_the_first_look_and_a_restarted_switch_have_no_negative_rates() -> None:
    assert since(None, view()) == view()
    back = since(view(frames=30), view(SECOND_NS, frames=1))
    assert back["switches"][1]["ports"][0]["in_bits_per_s"] == 0


def test_a_terminal_shows_ports_jobs_and_the_rank_that_does_not_answer() -> None:
    text = shown(since(view(), view(SECOND_NS, frames=20, late=5)))
    assert "128 of 512 slots leased" in text
    assert "ring_full" in text
    assert "0 to 63" in text
    assert "7 (+5)" not in text, "12 in all"
    assert "12 (+5)" in text
    assert "9 s old: process does not answer" in text
    assert "75%" in text


def test_share_and_priority_are_shown_where_a_job_has_other_than_the_usual() -> None:
    usual, asked = status(), status()
    usual.jobs[0].share = 1
    asked.jobs.append(pb.JobStatus(job=6, group="second", state="running", share=3, priority=-1))
    headings = [
        next(line for line in shown(make_view("127.0.0.1:1", each, report(), 0)).splitlines() if "restarts" in line)
        for each in (usual, asked)
    ]
    assert "share" not in headings[0]
    assert "priority" not in headings[0]
    assert headings[1].split()[3:6] == ["slots", "share", "priority"]
    rows = shown(make_view("127.0.0.1:1", asked, report(), 0)).splitlines()
    assert next(line for line in rows if "second" in line).split()[3:5] == ["3", "-1"]
    assert next(line for line in rows if "world" in line).split()[6:8] == ["1", "0"]


@pytest.mark.parametrize("ready", [True, False])
def test_without_an_aggregator_the_reason_and_the_ranks_are_shown(ready: bool) -> None:
    away = copy.deepcopy(status())
    away.aggregator_ready, away.aggregator_problem = ready, "nothing answers there"
    text = shown(make_view("127.0.0.1:1", away, pb.ReportReply(problem="is not connected"), 0))
    assert "no counters of the aggregator: is not connected" in text
    assert ("NOT READY: nothing answers there" in text) == (not ready)
    assert "joined" in text
