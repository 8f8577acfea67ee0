"""The page of a run: figures of operations, and what it shows of a run without any."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from emulator.ports.units import size_text
from hostagent.cli import run_report
from hostagent.cli.pages.run import MANY_OPERATIONS, RunFacts, operations_of, render
from hostagent.launch.aggregators import Aggregator, choose
from tests.clients.browser import DESKTOP_PX, PHONE_PX, laid_out_px

FACTS = RunFacts(
    "train<1>.py", ("netsum", "run", "-n", "2", "--impair", "loss=0.1&seed=7", "train<1>.py"), "the switch", 0
)
SUM, BARRIER = "all_reduce/SUM/float32/1000", "barrier/BARRIER/int32/1"


def counters(time_ns: int = 3_000_000) -> dict[str, int]:
    return {
        "frames_sent": 200,
        "bytes_sent": 900_000,
        "retransmissions_sent": 10,
        f"operation/{SUM}": 3,
        f"operation_ns/{SUM}": time_ns,
        f"operation/{BARRIER}": 1,
        f"operation_ns/{BARRIER}": 500_000,
        "operation/other": 7,
        "in_flight_ns": time_ns,
        "elapsed_ns": 4 * time_ns,
        "latency_ns/65536": 30,
        "latency_ns/131072": 10,
    }


def found(**changes: Any) -> dict[str, Any]:
    port = {"spec": "1=shm:run-1", "frames_in": 7, "bytes_in": 5000, "frames_out": 7, "bytes_out": 5000}
    switch = {"ports": {str(number): {**port, "drops": {"ring_full": 2} if number == 2 else {}} for number in (1, 2)}}
    members = [{"rank": rank, "counters": counters()} for rank in range(2)]
    job = {"job": 1, "group": "0", "size": 2, "lanes": 64, "verdicts": {"accepted": 41}, "members": members}
    return {"jobs": [job], "drops": {"checksum": 3, "length": 0}, "switch": switch, **changes}


def test_operations_have_bytes_of_a_rank_and_times_of_all() -> None:
    longest, shorter, rest = operations_of([counters(), counters(5_000_000)])
    assert (longest.name, longest.calls, longest.ranks) == ("all_reduce SUM float32 4 kB", 6, 2)
    assert longest.bytes == 3 * 4000
    assert longest.of_a_rank_s == pytest.approx(4e-3)
    assert longest.mean_ms == pytest.approx(8 / 6)
    assert shorter.name == "barrier int32 4 B"
    assert (rest.name, rest.bytes, rest.time_ns) == ("others", 0, 0)


def test_a_page_says_what_was_sent_again_and_how_long_communication_took() -> None:
    text = render(found(), FACTS)
    for part in (
        "train&lt;1&gt;.py",
        "ended well",
        "25.0%",
        "5.00%",
        "900 kB",
        "all_reduce SUM float32 4 kB",
        "2 ring_full",
    ):
        assert part in text, part
    assert "--impair &#x27;loss=0.1&amp;seed=7&#x27;" in text
    assert "length" not in text, "nothing was dropped for that"
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)|url\((?!#)|@import""", text), "it loads nothing"


def test_operations_beyond_the_most_are_one_row() -> None:
    many = {f"operation/all_reduce/SUM/int32/{number}": 1 for number in range(1, MANY_OPERATIONS + 6)}
    job = found()["jobs"][0] | {"members": [{"rank": 0, "counters": many}]}
    text = render(found(jobs=[job]), FACTS)
    assert text.count("all_reduce SUM int32") == MANY_OPERATIONS
    assert "5 others" in text


def test_a_run_without_a_group_and_without_statistics_has_a_page_too() -> None:
    text = render({"jobs": [], "drops": {}, "switch": None}, RunFacts("x.py", ("netsum",), "the bridge", 3))
    assert "No rank made a netsum group." in text
    assert "failed with exit code 3" in text


def test_racks_and_trees_have_their_ports_each() -> None:
    switch = found()["switch"]
    text = render(found(switch=None, racks=[switch, switch]), FACTS)
    assert "Ports of rack 0" in text
    assert "Ports of rack 1" in text
    text = render(found(switch=None, switches=[{"name": name, **switch} for name in ("root", "s0")]), FACTS)
    assert "Ports of root" in text
    assert "Ports of s0" in text


def test_a_cable_between_aggregators_has_the_name_of_its_other_end() -> None:
    port = next(iter(found()["switch"]["ports"].values()))
    cables = {"root": "2=udp:10.0.0.1:5,10.0.0.2:6", "s0": "1=udp:10.0.0.2:6,10.0.0.1:5?loss=0.1"}
    switches = [{"name": name, "ports": {"1": {**port, "spec": spec}}} for name, spec in cables.items()]
    text = render(found(switch=None, switches=switches), FACTS)
    assert "s0, udp:10.0.0.1:5,10.0.0.2:6" in text
    assert "root, udp:10.0.0.2:6,10.0.0.1:5?loss=0.1" in text


def test_faults_are_told_with_their_time_and_what_kept_them_from_happening() -> None:
    happened = [
        {"time_s": 1.0, "what": "link h0-s0 down"},
        {"time_s": 1.5, "what": "h1 killed", "problem": "rank 1 has ended already"},
    ]
    text = render(found(faults=happened), FACTS)
    for part in ("<h2>Faults</h2>", "<td>1 s</td><td>link h0-s0 down</td>", "<td>rank 1 has ended already</td>"):
        assert part in text, part
    assert "not possible" not in render(found(faults=happened[:1]), FACTS)
    assert "Faults" not in render(found(), FACTS)


@pytest.mark.parametrize(("name", "is_page"), [("x.html", True), ("x.HTM", True), ("x.json", False), ("report", False)])
def test_the_ending_decides_between_page_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_page: bool
) -> None:
    monkeypatch.setattr(run_report, "gather", lambda aggregator: found())
    run_report.write(Aggregator("", choose("p4"), ""), tmp_path / "new" / name, "x.py", 0)
    text = (tmp_path / "new" / name).read_text()
    assert text.startswith("<!doctype html>") == is_page
    assert is_page or json.loads(text) == found()


@pytest.mark.parametrize("width_px", [PHONE_PX, DESKTOP_PX])
def test_a_page_does_not_scroll_sideways(tmp_path: Path, width_px: int) -> None:
    assert laid_out_px(tmp_path, render(found(), FACTS), width_px) == width_px


def test_sizes_are_in_powers_of_ten() -> None:
    assert [size_text(size) for size in (4, 4000, 8_400_000, 2.5e9)] == ["4 B", "4 kB", "8.4 MB", "2.5 GB"]
