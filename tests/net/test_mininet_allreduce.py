"""The experiments on hosts with slow links: real hosts, real links, right sums (each rank checks its own)."""

from __future__ import annotations

import csv
import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.ports.pcap.capture import read_capture

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(ROOT / "mininet" / "allreduce.py")
PATIENCE_S = 200
NEEDS_MININET = pytest.mark.skipif(shutil.which("mnexec") is None, reason="Mininet is not installed")
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")


def run(*words: str, script: str = SCRIPT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, script, *words], capture_output=True, text=True, timeout=PATIENCE_S)


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open() as lines:
        return list(csv.DictReader(lines))


@NEEDS_ROOT
@pytest.mark.parametrize("network", ["namespaces", pytest.param("mininet", marks=NEEDS_MININET)])
def test_a_star_is_measured(network: str, tmp_path: Path) -> None:
    words = ["--workers", "2", "--rate", "50", "--sizes", "256KiB", "--calls", "2", "--on", network]
    done = run(
        *words,
        "--impair",
        "loss=0.01&delay=1ms&seed=7",
        "--slow",
        "2=40",
        "--out",
        str(tmp_path),
        "--capture",
        str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    with (tmp_path / "calls.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["backend"], row["call"]) for row in rows] == [(b, c) for b in ("netsum", "gloo") for c in "12"]
    for row in rows:
        assert (row["network"], row["impairments"], row["slow"]) == (network, "loss=0.01&delay=1ms&seed=7", "2=40")
        assert (row["loss"], row["delay_ms"], row["seed"]) == ("0.01", "1.0", "7")
        assert float(row["ms"]) >= float(row["links_alone_ms"])
        assert int(row["sent_bytes"]) > 256 << 10, "the tensor went by another way"
    assert read_capture(str(tmp_path / "p4-2hosts-50Mbit-0.01" / "s1.pcapng")).interfaces == ("port 1", "port 2")
    assert (tmp_path / "allreduce.png").read_bytes().startswith(b"\x89PNG")
    assert f"netsum-{os.getpid()}" not in subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout


def test_the_star_in_virtual_time(tmp_path: Path) -> None:
    words = ["--workers", "2", "--rate", "50", "--sizes", "256KiB", "--calls", "2", "--on", "virtual"]
    done = run(*words, "--impair", "loss=0.01&delay=1ms&seed=7", "--slow", "2=40", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "in virtual time, as asked" in done.stdout
    with (tmp_path / "calls.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["network"], row["backend"], row["call"]) for row in rows] == [("virtual", "netsum", c) for c in "12"]
    frames, frame_bytes = 196 + 1, 66 + 1344 + 42  # one of exponents; Ethernet, IPv4 and UDP around each
    for row in rows:
        assert frames * frame_bytes * 8 / 40e3 < float(row["ms"]) < 2 * frames * frame_bytes * 8 / 40e3
        assert int(row["sent_bytes"]) >= frames * frame_bytes


def test_faults_in_virtual_time(tmp_path: Path) -> None:
    """The last one ends the job, while it is captured."""
    script = tmp_path / "faults.yaml"
    faults = "{at: 5ms, impair: h1-s1, loss: 5%, for: 20ms}, {at: 30ms, restart: s1, for: 10ms}, {at: 90ms, kill: h2}"
    script.write_text(f"faults: [{faults}]")
    words = ["--workers", "2", "--sizes", "256KiB", "--calls", "20", "--impair", "jitter=100us&corrupt=0.01"]
    done = run(*words, "--on", "virtual", "--faults", str(script), "--capture", str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.count("fault at ") == 5
    assert "allreduce.py: the job has ended in virtual time: rank 1" in done.stderr
    links = {"h1->s1", "s1->h1", "h2->s1", "s1->h2"}
    assert set(read_capture(str(tmp_path / "p4-2hosts-100Mbit" / "links.pcapng")).interfaces) == links


def test_the_delay_of_processes_is_learnt_from_calls_of_one_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a network whose links are known to take 700 us longer, with ranks that begin apart."""
    monkeypatch.syspath_prepend(str(ROOT / "mininet"))
    networks, virtual = (importlib.import_module(name) for name in ("networks", "virtual"))
    slow, copy = (virtual.VirtualNetwork(networks.tree_topology((2,), [50.0, 50.0])) for _ in range(2))
    slow.set_delay(700_000)
    apart = [{"starts_s": [0.0, 0.001, 0.0]}, {"starts_s": [0.002, 0.0, 0.0]}]
    copy.learn_delay([said | starts for said, starts in zip(slow.calls(1024, 3, apart), apart, strict=True)])
    assert copy.host_delay_ns == pytest.approx(700_000, rel=0.02)


@pytest.mark.parametrize(
    ("on", "missing", "why"),
    [
        ("mininet", "Mininet", "Mininet is not installed: apt install mininet, or use --on namespaces"),
        ("mininet", "root", "Mininet makes network namespaces: run this as root"),
        ("namespaces", "root", "network namespaces and veth pairs need root: run it again with sudo"),
    ],
)
def test_a_network_that_cannot_be_had_is_refused_before_it_is_said_to_be_used(
    on: str, missing: str, why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "mininet"))
    monkeypatch.setattr(importlib.import_module("networks"), "has_mininet", lambda: missing != "Mininet")
    monkeypatch.setattr(os, "geteuid", lambda: 65534 if missing == "root" else 0)
    monkeypatch.setattr(sys, "argv", [SCRIPT, "--on", on])
    with pytest.raises(SystemExit) as ended:
        importlib.import_module("allreduce").parsed()
    assert ended.value.code == f"allreduce.py: {why}"
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(shutil.which("script") is None, reason="script, which gives a terminal, is not installed")
def test_the_work_in_virtual_time_is_seen_on_a_terminal(tmp_path: Path) -> None:
    words = [sys.executable, SCRIPT, "--on", "virtual", "--workers", "2,4", "--sizes", "64KiB", "--calls", "1"]
    command = ["script", "--quiet", "--return", "--command", shlex.join(words), str(tmp_path / "typed")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout
    assert "2 hosts, 65.5 kB" in done.stdout
    assert "4 hosts, 65.5 kB" in done.stdout


@NEEDS_ROOT
def test_a_rank_that_fails_ends_those_that_wait_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "mininet"))
    networks = importlib.import_module("networks")
    script = tmp_path / "rank.py"
    script.write_text(
        "import os, time\nif os.environ['RANK'] == '1':\n    raise SystemExit('no data')\ntime.sleep(1000)\n"
    )
    network = networks.NamespaceNetwork(networks.tree_topology((2,), [50.0, 50.0]))
    try:
        with pytest.raises(networks.NetworkError, match=r"rank 1 on h2 failed: no data"):
            network.ranks([str(script)], "10.0.1.254:1")
    finally:
        network.stop()


@NEEDS_ROOT
@pytest.mark.slow
def test_live_and_virtual_time_side_by_side(tmp_path: Path) -> None:
    words = ["--workers", "2", "--rate", "50", "--sizes", "64KiB", "--calls", "2", "--compare", "virtual"]
    done = run(*words, "--on", "namespaces", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "in virtual time" in done.stdout
    rows = rows_of(tmp_path / "calls.csv")
    assert [(row["backend"], row["call"]) for row in rows] == [("netsum", "1"), ("netsum", "2")]
    for row in rows:
        live_ms, virtual_ms = float(row["ms"]), float(row["virtual_ms"])
        assert virtual_ms > float(row["links_alone_ms"])
        assert float(row["difference_percent"]) == pytest.approx(100 * (virtual_ms / live_ms - 1), abs=0.1)
    assert "difference, %" in (tmp_path / "report.html").read_text()


def test_numbers_of_hosts_are_swept(tmp_path: Path) -> None:
    words = ["--workers", "2,4", "--tree", "2x2", "--rate", "50", "--sizes", "64KiB", "--calls", "1", "--on", "virtual"]
    done = run(*words, "--out", str(tmp_path), "--capture", str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = rows_of(tmp_path / "calls.csv")
    assert [(row["workers"], row["where"]) for row in rows] == [("2", "p4"), ("4", "p4"), ("4", "p4 2x2")]
    captures = [tmp_path / f"{name}-50Mbit" / "links.pcapng" for name in ("p4-2hosts", "p4-4hosts", "p4-2x2-4hosts")]
    links = [set(read_capture(str(file)).interfaces) for file in captures]
    assert [len(names) for names in links] == [4, 8, 12]
    assert {"h1->s1", "s1->h2"} < links[0]
    assert {"h1->s0", "h3->s1", "s0->root"} < links[2], "switches of a tree have the names of trees"
    assert "2 and 4 hosts" in (tmp_path / "report.html").read_text()


def test_losses_and_trees_are_swept_in_virtual_time(tmp_path: Path) -> None:
    words = ["--loss", "0,2%", "--impair", "seed=7", "--tree", "2x2", "--rate", "50", "--sizes", "256KiB"]
    done = run(*words, "--calls", "2", "--on", "virtual", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = rows_of(tmp_path / "calls.csv")
    points = [(where, loss) for where in ("p4", "p4 2x2") for loss in ("0.0", "0.02")]
    assert [(row["where"], row["loss"], row["call"]) for row in rows] == [(*p, c) for p in points for c in "12"]
    took_ms = {point: min(float(r["ms"]) for r in rows if (r["where"], r["loss"]) == point) for point in points}
    for where in ("p4", "p4 2x2"):
        assert took_ms[where, "0.0"] < took_ms[where, "0.02"]
    assert took_ms["p4", "0.0"] < took_ms["p4 2x2", "0.0"]
    assert {(row["where"], row["topology"]) for row in rows} == {("p4", "star-4"), ("p4 2x2", "tree-2x2")}


@pytest.mark.slow
@NEEDS_ROOT
def test_aggregators_and_a_tree_are_measured_side_by_side(tmp_path: Path) -> None:
    words = ["--aggregator", "p4,server", "--tree", "2x1", "--uplink", "80", "--rate", "50", "--sizes", "64KiB"]
    words += ["--against", "nothing"]
    done = run(*words, "--calls", "1", "--loss", "1%", "--on", "namespaces", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = rows_of(tmp_path / "calls.csv")
    assert [row["where"] for row in rows] == ["p4", "server", "p4 2x1", "server 2x1"]
    for row in rows:
        assert (row["workers"], row["loss"]) == ("2", "0.01")
        assert int(row["sent_bytes"]) > 64 << 10, "the tensor went by another way"
    assert (tmp_path / "allreduce.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "report.html").read_text()
    assert "server 2x1" in page


@pytest.mark.slow
@NEEDS_ROOT
def test_jobs_share_the_links_of_a_star_with_tcp(tmp_path: Path) -> None:
    words = ["--jobs", "2", "--workers", "2", "--against", "nothing", "--rate", "50", "--sizes", "256KiB", "--tcp", "1"]
    done = run(*words, "--calls", "2", "--on", "namespaces", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = rows_of(tmp_path / "calls.csv")
    assert [(row["job"], row["call"]) for row in rows] == [(job, call) for job in "12" for call in "12"]
    assert len({row["jain"] for row in rows}) == 1
    assert 1 / 3 <= float(rows[0]["jain"]) <= 1
    assert float(rows[0]["tcp_mbit"]) > 0
    assert (tmp_path / "shares.png").exists()


@pytest.mark.slow
@NEEDS_ROOT
def test_what_a_switch_has_no_slots_for_crosses_the_link_of_the_overflow_server(tmp_path: Path) -> None:
    words = ["--slots", "0,256", "--workers", "2", "--sizes", "256KiB", "--calls", "1"]
    done = run(*words, "--on", "namespaces", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = rows_of(tmp_path / "calls.csv")
    assert [(row["where"], row["slots"]) for row in rows] == [("overflow", "0"), ("overflow", "256")]
    none, ample = (int(row["server_received_bytes"]) for row in rows)
    assert none > 2 * (256 << 10) > (256 << 10) > ample
    assert float(rows[0]["links_alone_ms"]) == pytest.approx(2 * float(rows[1]["links_alone_ms"]), abs=0.002)


@NEEDS_ROOT
def test_training_steps_are_timed(tmp_path: Path) -> None:
    words = ["--workers", "2", "--rate", "100", "--models", "dense", "--calls", "2", "--on", "namespaces"]
    done = run(*words, "--out", str(tmp_path), script=str(ROOT / "mininet" / "training.py"))
    assert done.returncode == 0, done.stderr
    rows = rows_of(tmp_path / "steps.csv")
    assert [(row["where"], row["call"]) for row in rows] == [("p4", "1"), ("p4", "2"), ("gloo", "1"), ("gloo", "2")]
    for row in rows:
        assert float(row["ms"]) > float(row["links_alone_ms"]) > 0
    assert (tmp_path / "training.png").exists()
    assert (tmp_path / "report.html").exists()


RING = """
import subprocess, sys
from networks import NamespaceNetwork
from emulator.network.topology.builders import ring_of_racks
from emulator.network.topology.parts import LinkClass

LISTEN = "import socket; s = socket.create_server(('', 7)); print(flush=True); print(s.accept()[1][0], flush=True)"
link = LinkClass("slow", 50_000_000)
network = NamespaceNetwork(ring_of_racks(4, 1, host_link=link, switch_link=link), "loss=0&seed=1")
try:
    listener = network.popen("h2", [sys.executable, "-c", LISTEN], stdout=subprocess.PIPE)
    listener.stdout.readline()
    connect = "import socket; socket.create_connection(('10.0.3.1', 7), 30)"
    network.run("h0", f'{sys.executable} -c "{connect}"')
    print("from", listener.communicate(timeout=30)[0].strip())
    print(network.run("s1", "tc class show dev s1-eth3"))
finally:
    network.stop()
"""


@NEEDS_ROOT
def test_any_topology_of_hosts_with_one_cable_is_a_network(tmp_path: Path) -> None:
    (tmp_path / "ring.py").write_text(RING)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "mininet"), str(ROOT)])}
    command = [sys.executable, str(tmp_path / "ring.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env=environment)
    assert done.returncode == 0, done.stderr
    assert "from 10.0.1.1" in done.stdout
    assert "rate 50Mbit" in done.stdout


PAIR = """
import subprocess, sys
from netsum_switch import Mininet, NetsumSwitch

LISTEN = "import socket; s = socket.create_server(('', 7)); print(flush=True); print(s.accept()[1][0], flush=True)"
net = Mininet(switch=NetsumSwitch, controller=None)
h1, h2 = net.addHost("h1"), net.addHost("h2")
s1 = net.addSwitch("s1", program=sys.argv[1])
net.addLink(h1, s1, port2=1)
net.addLink(h2, s1, port2=int(sys.argv[2]))
try:
    net.start()
    print("at", s1.p4runtime)
    listener = h2.popen([sys.executable, "-c", LISTEN], stdout=subprocess.PIPE, text=True)
    listener.stdout.readline()
    connect = "import socket; socket.create_connection(('10.0.0.2', 7), 10)"
    reached = h1.popen([sys.executable, "-c", connect]).wait(30) == 0
    if not reached:
        listener.kill()
    print("from", listener.communicate(timeout=30)[0].strip() or "nobody")
finally:
    net.stop()
"""


@NEEDS_ROOT
@NEEDS_MININET
@pytest.mark.parametrize(("port", "reached"), [("257", True), ("2", False)])
def test_a_p4_program_joins_hosts_of_mininet(port: str, reached: bool, tmp_path: Path) -> None:
    """The program joins ports 1 and 257, and only those: nothing but it forwards."""
    (tmp_path / "pair.py").write_text(PAIR)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "mininet"), str(ROOT)])}
    command = [sys.executable, str(tmp_path / "pair.py"), "bridge.p4", port]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env=environment)
    assert done.returncode == 0, done.stderr
    assert f"from {'10.0.0.1' if reached else 'nobody'}" in done.stdout
    assert "at 127.0.0.1:" in done.stdout


IPERF = """
from netsum_switch import CLI, Mininet, NetsumSwitch

net = Mininet(switch=NetsumSwitch, controller=None)
s1 = net.addSwitch("s1", program="bridge.p4")
for name, port in (("h1", 1), ("h2", 257)):
    net.addLink(net.addHost(name), s1, port2=port)
try:
    net.start()
    CLI(net, script="/dev/stdin")
finally:
    net.stop()
"""


@NEEDS_ROOT
@NEEDS_MININET
@pytest.mark.skipif(shutil.which("iperf") is None, reason="iperf is not installed")
def test_iperf_of_the_command_line_ends_with_both_throughputs(tmp_path: Path) -> None:
    (tmp_path / "shell.py").write_text(IPERF)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "mininet"), str(ROOT)])}
    command = [sys.executable, str(tmp_path / "shell.py")]
    lines = "iperf\niperf h2 h1\nh2 ip link set h2-eth0 down\niperf\n"
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=PATIENCE_S, env=environment)
    assert done.returncode == 0, done.stderr
    results = re.findall(r"Results: (.*)", done.stdout)
    assert len(results) == 3, done.stdout
    for result in results[:2]:
        assert re.fullmatch(r"\['[\d.]+ \wbits/sec', '[\d.]+ \wbits/sec'\]", result), result
    assert results[2] == "['no answer', 'no answer']", "without a link it ends too"


@NEEDS_ROOT
@NEEDS_MININET
def test_a_mininet_switch_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "pair.py").write_text(PAIR)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "mininet"), str(ROOT)])}
    command = [sys.executable, str(tmp_path / "pair.py"), "nowhere.p4", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env=environment)
    assert done.returncode != 0
    assert "s1 did not start: " in done.stderr
    assert "nowhere.p4" in done.stderr


@pytest.mark.slow
@NEEDS_ROOT
def test_a_script_of_faults_is_played(tmp_path: Path) -> None:
    lines = ["at: 100ms, impair: h1-s1, loss: 5%, for: 300ms", "at: 500ms, down: h2->s1, for: 200ms"]
    lines += ["at: 800ms, restart: s1", "at: 900ms, slow: h1, to: 50%, for: 200ms"]
    (tmp_path / "faults.yaml").write_text("\n".join(["faults:", *(f"- {{{line}}}" for line in lines)]))
    words = ["--workers", "2", "--rate", "50", "--sizes", "256KiB", "--calls", "30", "--on", "namespaces"]
    done = run(*words, "--faults", str(tmp_path / "faults.yaml"), "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    with (tmp_path / "calls.csv").open() as file:
        assert {(row["backend"], row["faults"]) for row in csv.DictReader(file)} == {("netsum", "faults.yaml")}
    assert done.stderr.count("fault at") == 8, done.stderr
    assert "not possible" not in done.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--impair", "los=1"], "unknown option 'los'"),
        (["--rate", "0"], "--rate"),
        (["--sizes", "8X"], "'8X'"),
        (["--slow", "9=1"], "host 9 is not from 1 to 4"),
        (["--workers", "2,65"], "--workers: '2,65': write numbers of hosts from 2 to 64"),
        (["--workers", "2,4", "--slow", "3=10"], "host 3 is not from 1 to 2"),
        (["--loss", "0,100%"], "--loss: loss=100%: no sum ends where all frames are lost"),
        (["--out", "/dev/null/x"], "--out: "),
        (["--loss", "0,2"], "--loss: loss=2: bad loss '2'; give a probability"),
        (["--loss", "1%", "--impair", "loss=0.1"], "--loss and --impair both say loss"),
        (["--aggregator", "p4,x"], "there is no aggregator 'x'"),
        (["--aggregator", "server", "--on", "virtual"], "virtual time has P4 switches alone"),
        (["--tree", "4"], "'4' is not a tree"),
        (["--tree", "2x2", "--workers", "5"], "--tree 2x2 has 4 hosts, and --workers 5 has no star of as many"),
        (["--tree", "2x2", "--jobs", "2"], "--jobs can't be measured with --tree"),
        (["--mtu", "99999"], "--mtu: 99999: an MTU is 68 to 65,535 bytes"),
        (["--tcp-control", "reno"], "--tcp-control: is of the flows of --tcp N"),
        (["--tree", "2x2", "--tcp", "1"], "--tcp can't be measured with --tree"),
        (["--tree", "2x2", "--slots", "4"], "--slots can't be measured with --tree"),
        (["--jobs", "5"], "--jobs is from 1 to 4"),
        (["--uplink", "10"], "--uplink is of the links of a --tree"),
        (["--tree", "2x2", "--faults", "x.yaml"], "--faults can't be measured with --tree"),
        (["--jobs", "2", "--on", "virtual"], "--jobs can't be measured with --on virtual"),
        (["--tcp", "1", "--tcp-control", "x"], "--tcp-control x: this kernel has "),
    ],
)
def test_what_cannot_be_measured_is_refused_at_once(
    words: list[str], why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "mininet"))
    monkeypatch.setattr(sys, "argv", [SCRIPT, *words])
    with pytest.raises(SystemExit) as ended:
        importlib.import_module("allreduce").parsed()
    assert ended.value.code == 2
    assert why in capsys.readouterr().err
