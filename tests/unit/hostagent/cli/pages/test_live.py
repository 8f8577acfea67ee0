"""The live page: its server, and what a browser makes of a tree under way."""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from hostagent.cli.pages.live import PAGE, LiveServer, WebError
from tests.clients.browser import DESKTOP_PX, PHONE_PX, chromium, laid_out_px

WAIT_S = 20.0


def port(number: int, mbytes: int, rank: int | None = None, peer: str | None = None) -> dict[str, Any]:
    moved = {"frames_in": mbytes, "bytes_in": mbytes * 10**6, "frames_out": mbytes, "bytes_out": mbytes * 10**6}
    ends = {"rank": rank, "peer": peer, "rate_bits_per_s": 0}
    return {"number": number, "spec": f"{number}=x", **moved, "queued_out": 0, "drops": {}, **ends}


def tree(second: int) -> dict[str, Any]:
    """Two leaves with two ranks each; the second leaf carries twice the load."""
    latency = {"p50": 100_000, "p90": 200_000, "p99": 300_000}
    ranks = [
        {"rank": rank, "age_ns": 9_000_000_000 * (rank == 3), "state": "joined", "operations": 7, "lag_operations": 0,
         "lag_chunks": 3, "retransmissions": 5, "in_flight_ns": 1, "elapsed_ns": 2, "latency_ns": latency,
         "latencies": {"latency_ns/98304": second}}
        for rank in range(4)
    ]  # fmt: skip
    leaves = [
        {"name": f"p4runtime://leaf{leaf}",
         "ports": [*(port(n, second * (leaf + 1), rank=n - 1) for n in (2 * leaf + 1, 2 * leaf + 2)),
                   port(510, second, peer="p4runtime://root")]}
        for leaf in (0, 1)
    ]  # fmt: skip
    root = {"name": "p4runtime://root", "ports": [port(446 + n, second, peer=f"p4runtime://leaf{n}") for n in (0, 1)]}
    job = {"job": 5, "group": "<world>", "state": "running", "cause": "", "first_slot": 0, "window": 64, "restarts": 0,
           "share": 1, "priority": 0, "latency_ns": latency, "ranks": ranks}  # fmt: skip
    aggregator = {
        "name": "p4runtime://root",
        "ready": True,
        "problem": "",
        "slots": 512,
        "slots_free": 448,
        "lanes": 64,
    }
    return {"controller": "h:1", "time_ns": second * 10**9, "problem": "", "aggregator": aggregator, "drops": {},
            "switches": [root, *leaves], "jobs": [job]}  # fmt: skip


@contextmanager
def serving(take: Callable[[], dict[str, Any]]) -> Iterator[LiveServer]:
    server = LiveServer(0, take)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join(WAIT_S)


def running() -> Callable[[], dict[str, Any]]:
    seconds = iter(range(1, 10_000))
    return lambda: tree(next(seconds))


def get(address: str, **headers: str) -> str:
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=WAIT_S) as answer:
        return str(answer.read().decode())


def test_views_that_follow_have_rates_and_near_ones_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(running()) as server:
        assert json.loads(get(f"{server.address}view")) == json.loads(get(f"{server.address}view"))
        monkeypatch.setattr("hostagent.cli.pages.live.FRESH_S", 0.0)
        view = json.loads(get(f"{server.address}view"))
        assert view["switches"][2]["ports"][0]["in_bits_per_s"] == 16_000_000
        assert get(server.address) == PAGE


def test_other_paths_and_other_names_of_the_host_are_refused() -> None:
    with serving(running()) as server:
        for path, headers, code in (("x", {}, 404), ("view", {"Host": "evil.example"}, 403)):
            with pytest.raises(urllib.error.HTTPError) as caught:
                get(server.address + path, **headers)
            assert caught.value.code == code


def test_a_port_that_is_taken_is_named() -> None:
    with serving(running()) as server:
        taken = int(server.address.rsplit(":", 1)[1].strip("/"))
        with pytest.raises(WebError, match=rf"port {taken} .*choose another"):
            LiveServer(taken, running())


def test_a_controller_that_has_gone_is_said() -> None:
    def gone() -> dict[str, Any]:
        raise grpc.RpcError

    with serving(gone) as server:
        assert "ended" in json.loads(get(f"{server.address}view"))


def test_a_browser_draws_the_tree_with_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hostagent.cli.pages.live.FRESH_S", 0.0)
    with serving(running()) as server:
        text = chromium(tmp_path, server.address, "--dump-dom", wait_ms=3500).partition("<script>")[0]
    nodes = set(re.findall(r'data-node="([^"]+)"', text))
    assert nodes == {*(f"rank {n}" for n in range(4)), *(f"p4runtime://{name}" for name in ("root", "leaf0", "leaf1"))}
    loads = sorted(int(load) for load in re.findall(r'data-load="(\d+)"', text))
    assert loads == [8_000_000] * 4 + [16_000_000] * 2
    assert len(set(re.findall(r'stroke="(rgb[^"]+)"', text))) == 2, "two loads, two colours"
    assert "&lt;world&gt;" in text
    assert "does not answer" in text
    assert "64 of 512 slots leased" in text


def drawn(folder: Path, view: dict[str, Any]) -> str:
    """What a browser makes of the page that has this view."""
    page = folder / "page.html"
    fetch = f"const fetch = async () => ({{json: async () => ({json.dumps(view)})}});"
    page.write_text(PAGE.replace('"use strict";', fetch, 1))
    return chromium(folder, page.as_uri(), "--dump-dom", wait_ms=1500).partition("<script>")[0]


def test_a_trees_root_is_above_its_leaves_before_a_rank_is_there(tmp_path: Path) -> None:
    view = tree(1)
    for switch in view["switches"]:
        for each in switch["ports"]:
            each["rank"] = None
    text = drawn(tmp_path, view | {"jobs": []})
    root, *leaves = (
        float(re.search(rf'data-node="p4runtime://{name}"><rect[^>]* y="([\d.]+)"', text)[1])  # type: ignore[index]
        for name in ("root", "leaf0", "leaf1")
    )
    assert leaves == [leaves[0]] * 2
    assert root < leaves[0]


@pytest.mark.parametrize(("share", "has_column"), [(1, False), (3, True)])
def test_a_share_that_is_not_the_usual_has_a_column(share: int, has_column: bool, tmp_path: Path) -> None:
    view = tree(1)
    view["jobs"][0]["share"] = share
    text = drawn(tmp_path, view)
    assert ("<th>share</th>" in text, "<td>3</td>" in text.partition("Ranks")[0]) == (has_column, has_column)
    assert "<th>priority</th>" not in text


def test_colours_are_shares_of_the_links_rates_where_all_have_one(tmp_path: Path) -> None:
    view = tree(1)
    for switch in view["switches"]:
        for each in switch["ports"]:
            each |= {"rate_bits_per_s": 100_000_000, "in_bits_per_s": 50_000_000, "out_bits_per_s": 0}
    text = drawn(tmp_path, view)
    assert "100 %</span>" in text
    assert "of each link's rate" in text
    assert set(re.findall(r'stroke="(rgb[^"]+)"', text)) == {"rgb(116,119,58)"}, "half way between the second and third"


@pytest.mark.parametrize("width_px", [PHONE_PX, DESKTOP_PX])
def test_the_page_does_not_scroll_sideways(tmp_path: Path, width_px: int) -> None:
    view = f"const fetch = async () => ({{json: async () => ({json.dumps(tree(1))})}});"
    assert laid_out_px(tmp_path, PAGE.replace('"use strict";', view, 1), width_px) == width_px
