"""netsum topology simulate."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from emulator.network.topology.builders import fat_tree, star, tree
from emulator.network.topology.files import write_topology
from emulator.ports.pcap.capture import read_capture
from hostagent.protocol.dissector import Netsum
from hostagent.protocol.wire import HEADER_AT, full_frame_bytes
from hostagent.protocol.wireshark import lua_source
from tests.clients.command import netsum

pytestmark = pytest.mark.timeout(400)  # the first one compiles the loop


@pytest.fixture(name="network")
def network_fixture(tmp_path: Path) -> Path:
    write_topology(tree((2, 2)), tmp_path / "net.yaml")
    return tmp_path / "net.yaml"


def test_json_has_every_call_and_link(network: Path) -> None:
    result = netsum("topology", "simulate", network, "--size", "64kB", "--lanes", 64, "--calls", 2, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["hosts"], found["switches"], found["root"], found["size_bytes"]) == (4, 3, "root", 64_000)
    chunks = sum(call["chunks"] for call in found["calls"])
    assert len(found["links"]) == 12
    assert {each["bytes"] for each in found["links"].values()} == {chunks * full_frame_bytes(64)}


def test_the_table_says_what_happened(network: Path) -> None:
    result = netsum("topology", "simulate", network, "--size", "64kB", "--lanes", 64, "--loss", "0.01")
    assert result.exit_code == 0, result.output
    assert "4 hosts, summed by a tree of 3 switches below root" in result.stdout
    assert "h0->s0" in result.stdout


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--window", 100), "--window: 100 is no power of two"),
        (("--lanes", 100), "--lanes: 100: choose one of 64, 256"),
        (("--loss", 1), "--loss: 1 is not below 1"),
        (("--hosts", 5), "--hosts: 5: tree-2x2 has 4 hosts"),
        (("--size", "3"), "--size: '3': a tensor has at least 4 bytes"),
        (("--root", "h1"), "h1 is a host"),
        (("--lanes", 2048), "use fewer lanes, or links with a larger MTU"),
        (("--links", "h0-s0"), "--links: it says what --capture has: add --capture FILE"),
        (("--capture", "x.pcapng", "--links", "h0-s1"), "there is no link 'h0-s1' in tree-2x2 (did you mean"),
        (("--capture", "x.pcap"), "--capture: 'x.pcap': name the file *.pcapng"),
        (("--report", "/nowhere/x.html"), "--report: /nowhere/x.html: its folder is not there"),
        (("--capture", "/nowhere/x.pcapng"), "cannot write /nowhere/x.pcapng"),
        (("--faults", "/nowhere/faults.yaml"), "/nowhere/faults.yaml"),
    ],
)
def test_mistakes(network: Path, options: tuple[object, ...], text: str) -> None:
    result = netsum("topology", "simulate", network, *options)
    assert result.exit_code == 2
    assert text in " ".join(result.output.split())
    assert "Traceback" not in result.output


IRREGULAR = """
name: irregular
classes: {slow: {rate_bps: 100Mbit, latency_ns: 1us}}
nodes: [{name: a, kind: host}, {name: b, kind: host}, {name: c, kind: host}, {name: top, kind: switch},
  {name: left, kind: switch}]
links:
- {source: a, destination: left, class: slow, duplex: true}
- {source: b, destination: left, class: slow, duplex: true}
- {source: left, destination: top, class: slow, duplex: true}
- {source: c, destination: top, class: slow, duplex: true}
"""


def test_faults_of_a_script_on_an_irregular_tree_with_a_capture_and_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, script, captured = tmp_path / "net.yaml", tmp_path / "faults.yaml", tmp_path / "run.pcapng"
    net.write_text(IRREGULAR)
    script.write_text("faults: [{at: 1ms, impair: left-top, loss: 5%, for: 2ms}, {at: 9s, kill: b}]")
    words = ("--faults", script, "--seed", 7, "--capture", captured, "--links", "a->left,c-top", "--json")
    page = tmp_path / "page.html"
    monkeypatch.setattr("sys.argv", ["/somewhere/bin/netsum", "topology", "simulate"])
    result = netsum("topology", "simulate", net, "--size", "64kB", "--lanes", 64, *words, "--report", page)
    assert result.exit_code == 0, result.output
    assert "fault at 3ms: link left-top: loss 5%: over" in result.stderr
    assert "the calls ended before the faults from 9s on" in result.stderr
    found = json.loads(result.stdout)
    assert [fault["time_s"] for fault in found["faults"]] == [0.001, 0.003]
    assert found["links"]["left->top"]["lost"] > 0
    text = page.read_text()
    for part in ("<td>left-&gt;top</td>", "<td>seed</td><td>7</td>", "<td>size of a tensor</td><td>64 kB</td>"):
        assert part in text, part
    assert "<pre>netsum topology simulate</pre>" in text

    frames = read_capture(str(captured))
    assert frames.interfaces == ("a->left", "c->top", "top->c")
    for number, name in enumerate(frames.interfaces):
        mine = frames.records[frames.records["interface"] == number]
        assert len(mine) == found["links"][name]["frames"]
    times = frames.records["time_ns"]
    assert (times[1:] >= times[:-1]).all()
    assert 0 <= times[0] <= times[-1] < sum(call["elapsed_ns"] for call in found["calls"])
    first = frames.records[0]
    at = int(first["address"]) - frames.data.ctypes.data
    assert Netsum(frames.data[at + HEADER_AT : at + int(first["length_bytes"])].tobytes()).lanes == 64
    if tshark := shutil.which("tshark"):
        (tmp_path / "netsum.lua").write_text(lua_source())
        command = [
            tshark,
            "-X",
            f"lua_script:{tmp_path}/netsum.lua",
            "-r",
            str(captured),
            "-Y",
            "netsum && !_ws.expert",
        ]
        done = subprocess.run([*command, "-T", "fields", "-e", "frame.interface_name"], capture_output=True, text=True)
        assert len(done.stdout.split()) == len(times)
        assert set(done.stdout.split()) == set(frames.interfaces)


def test_a_job_that_a_fault_ends_says_why(network: Path, tmp_path: Path) -> None:
    (tmp_path / "faults.yaml").write_text("faults: [{at: 10us, kill: rank 3}]")
    result = netsum("topology", "simulate", network, "--lanes", 64, "--faults", tmp_path / "faults.yaml")
    assert result.exit_code == 1
    assert "fault at 10us: h3 killed" in result.stderr
    assert "the job has ended at 2.000 s: rank 3 of group 'simulated' (process 3 on h3) has died" in result.stderr


def test_a_wrong_script_is_said_as_by_a_live_run(network: Path, tmp_path: Path) -> None:
    (tmp_path / "faults.yaml").write_text("faults: [{at: 1s, down: h2-s0}]")
    result = netsum("topology", "simulate", network, "--faults", tmp_path / "faults.yaml")
    assert result.exit_code == 2
    text = "faults.yaml:1: faults[0].down: there is no link 'h2-s0' in tree-2x2 (did you mean"
    assert text in " ".join(result.output.split())


def test_hosts_are_the_first_ones(tmp_path: Path) -> None:
    write_topology(star(5), tmp_path / "net.yaml")
    result = netsum(
        "topology", "simulate", tmp_path / "net.yaml", "--hosts", 2, "--size", "4kB", "--lanes", 64, "--json"
    )
    assert set(json.loads(result.stdout)["links"]) == {"h0->s0", "s0->h0", "h1->s0", "s0->h1"}


def test_more_hosts_than_a_job_has_ranks(tmp_path: Path) -> None:
    write_topology(fat_tree(16), tmp_path / "net.yaml")
    result = netsum("topology", "simulate", tmp_path / "net.yaml")
    assert result.exit_code == 2
    assert "--hosts: 1024 hosts: a job has at most 1023 ranks" in " ".join(result.output.split())
