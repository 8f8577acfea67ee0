"""A script written for simple_switch_grpc, as Mininet's users have them, runs with nothing changed but its PATH."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.ports.pcap.capture import read_capture
from hostagent.cli.bench.veth import VethPairs, ip
from hostagent.cli.bmv2.path import linked_folder
from hostagent.protocol.frames import ones_complement_sum
from tests.labs.namespaces import PATIENCE_S, inside, veth_pairs

ROOT = Path(__file__).resolve().parents[2]
START_S = 100
"""Compiled loops may have to be compiled first, on a busy machine."""
LOGGED = (
    "Adding interface s1 as port 1",
    "Processing packet received on port 1",
    "Table 'RouterIngress.routes': hit with entry",
    "Egress port is 2",
    "Transmitting packet of size 90 out of port 2",
)
"""What people look for in the log of an echo request."""
GRPC_PORT, THRIFT_PORT = 50051, 9090
HOSTS = {1: ("10.0.1.1", "020000000101"), 2: ("10.0.2.1", "020000000201")}
GATEWAYS = {1: ("10.0.1.254", "0200000001fe"), 2: ("10.0.2.254", "0200000002fe")}


@pytest.fixture
def path_folder(tmp_path: Path) -> Path:
    """What `netsum bmv2-path` prints, after installing."""
    scripts = tmp_path / "bin"
    scripts.mkdir()
    for name, place in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"].items():
        module, _, main = place.partition(":")
        script = scripts / name
        script.write_text(f"#!{sys.executable}\nimport sys\nfrom {module} import {main}\nsys.exit({main}())\n")
        script.chmod(0o755)
    return linked_folder(scripts, tmp_path)


@pytest.fixture
def pipeline(tmp_path: Path, path_folder: Path) -> tuple[Path, Path]:
    """P4Info and JSON of the router, made by the commands of exercises' Makefiles."""
    build = tmp_path / "build"
    build.mkdir()
    config, p4info = build / "router.json", build / "router.p4.p4info.txtpb"
    words = f"p4c-bm2-ss --p4v 16 --p4runtime-files {p4info} -o {config} {ROOT / 'p4src' / 'router.p4'}"
    done = subprocess.run(words, shell=True, env=with_path(path_folder), capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return p4info, config


def with_path(folder: Path) -> dict[str, str]:
    """The environment of a user of that folder."""
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


class P4RuntimeSwitch:
    """What the switch class of such scripts does: words for a shell, the switch in the background, its port watched."""

    sw_path = "simple_switch_grpc"
    target_options = f"-- --grpc-server-addr 0.0.0.0:{GRPC_PORT}"
    listens_on: tuple[int, ...] = (GRPC_PORT, THRIFT_PORT)
    """The second is what other scripts look at."""

    def __init__(self, namespace: str, interfaces: dict[int, str], folder: Path, path_folder: Path) -> None:
        self.namespace = namespace
        self.interfaces = interfaces
        self.folder = folder
        self.environment = with_path(path_folder)
        self.log = folder / "s1.log"

    def start(self, *, json_path: str | None = None) -> None:
        args = [self.sw_path]
        for port, name in self.interfaces.items():
            args.extend(["-i", f"{port}@{name}"])
        args.append(f"--pcap {self.folder}/pcaps")
        args.extend(["--nanolog", "ipc:///tmp/bm-0-log.ipc"])
        args.extend(["--device-id", "0"])
        args.append(json_path or "--no-p4")
        args.append("--log-console")
        args.append(f"--thrift-port {THRIFT_PORT}")
        args.append(self.target_options)
        shell = " ".join(args) + f" > {self.log} 2>&1 & echo $!"
        words = VethPairs.command(self.namespace, ["bash", "-c", shell])
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=True)
        self.pid = int(done.stdout)
        for port in self.listens_on:
            self._wait_until_it_listens(port)

    def _wait_until_it_listens(self, port: int) -> None:
        deadline = time.monotonic() + START_S
        while True:
            assert os.path.exists(f"/proc/{self.pid}"), self.log.read_text()
            with inside(self.namespace), socket.socket() as probe:
                if probe.connect_ex(("localhost", port)) == 0:
                    return
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        os.kill(self.pid, how)
        deadline = time.monotonic() + PATIENCE_S
        while os.path.exists(f"/proc/{self.pid}") and time.monotonic() < deadline:
            time.sleep(0.02)


class ThriftSwitch(P4RuntimeSwitch):
    """The same of the scripts that know no P4Runtime."""

    sw_path = "simple_switch"
    target_options = ""
    listens_on = (THRIFT_PORT,)


@pytest.fixture
def network() -> Iterator[dict[int, str]]:
    """Two hosts, each in a namespace of its own, and a switch between: namespace by host, the switch's under 0."""
    with veth_pairs() as made:
        other = f"{made.hosts}-2"
        ip("netns", "add", other)
        try:
            ip("-n", made.hosts, "link", "set", "h2", "netns", other)
            found = {0: made.switch, 1: made.hosts, 2: other}
            ip("-n", made.switch, "link", "set", "lo", "up")
            for number, (address, mac) in HOSTS.items():
                gateway, gateway_mac = GATEWAYS[number]
                own = ["-n", found[number]]
                ip(*own, "link", "set", f"h{number}", "address", colons(mac), "up")
                ip(*own, "addr", "add", f"{address}/24", "dev", f"h{number}")
                ip(*own, "neigh", "add", gateway, "lladdr", colons(gateway_mac), "dev", f"h{number}")
                ip(*own, "route", "add", "default", "via", gateway)
            yield found
        finally:
            subprocess.run(["ip", "netns", "delete", other], capture_output=True)


def colons(mac: str) -> str:
    return ":".join(mac[i : i + 2] for i in range(0, 12, 2))


class Ping:
    """ICMP echo from one host; the other's kernel answers."""

    def __init__(self, namespace: str) -> None:
        with inside(namespace):
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        self.socket.settimeout(PATIENCE_S)

    def __call__(self, address: str, sequence: int) -> None:
        """Sends, and waits for the answer."""
        body = struct.pack(">HH", os.getpid() & 0xFFFF, sequence) + bytes(range(48))
        checksum = ~ones_complement_sum(b"\x08\0\0\0" + body) & 0xFFFF
        self.socket.sendto(struct.pack(">BBH", 8, 0, checksum) + body, (address, 0))
        while True:
            packet, (source, _) = self.socket.recvfrom(2048)
            if source == address and packet[20] == 0 and packet[24:] == body:
                return


def control(namespace: str, p4info: Path, config: Path) -> None:
    routes = [f"{HOSTS[n][0].rpartition('.')[0]}.0/24/{n}/{HOSTS[n][1]}/{GATEWAYS[n][1]}" for n in HOSTS]
    words = [sys.executable, "-m", "tests.clients.route_controller", f"127.0.0.1:{GRPC_PORT}", str(p4info), str(config)]
    done = subprocess.run(
        VethPairs.command(namespace, [*words, *routes]), cwd=ROOT, capture_output=True, text=True, timeout=START_S
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.root
@pytest.mark.parametrize("with_program", [False, True], ids=["no-p4", "program-given"])
def test_hosts_ping_each_other_through_a_pushed_router(
    network: dict[int, str], pipeline: tuple[Path, Path], path_folder: Path, tmp_path: Path, with_program: bool
) -> None:
    switch = P4RuntimeSwitch(network[0], {1: "s1", 2: "s2"}, tmp_path, path_folder)
    switch.start(json_path=str(pipeline[1]) if with_program else None)
    try:
        control(network[0], *pipeline)
        ping = Ping(network[1])
        for sequence in range(5):
            ping(HOSTS[2][0], sequence)
        back = Ping(network[2])
        back(HOSTS[1][0], 99)
    finally:
        switch.stop()
    assert "Server listening on 0.0.0.0:50051" in switch.log.read_text()
    for line in LOGGED:
        assert line in switch.log.read_text()
    for name in ("s1", "s2"):
        for way in ("in", "out"):
            assert len(read_capture(f"{tmp_path}/pcaps/{name}_{way}.pcap").records) >= 6, (name, way)


@pytest.mark.root
def test_hosts_ping_each_other_through_tables_filled_by_runtime_commands(
    network: dict[int, str], pipeline: tuple[Path, Path], path_folder: Path, tmp_path: Path
) -> None:
    lines = []
    for number, (address, mac) in HOSTS.items():
        prefix = f"{address.rpartition('.')[0]}.0/24"
        lines.append(f"table_add RouterIngress.routes RouterIngress.set_nhop {prefix} => {number} {colons(mac)}\n")
        source = colons(GATEWAYS[number][1])
        lines.append(f"table_add RouterEgress.source_macs RouterEgress.set_source {number} => {source}\n")
    switch = ThriftSwitch(network[0], {1: "s1", 2: "s2"}, tmp_path, path_folder)
    switch.start(json_path=str(pipeline[1]))
    try:
        words = VethPairs.command(network[0], ["simple_switch_CLI", "--thrift-port", str(THRIFT_PORT)])
        done = subprocess.run(
            words, input="".join(lines), env=with_path(path_folder), capture_output=True, text=True, timeout=START_S
        )
        assert done.stdout.count("Entry has been added with handle") == len(lines), done.stdout + done.stderr
        Ping(network[1])(HOSTS[2][0], 1)
    finally:
        switch.stop()


@pytest.mark.root
def test_a_switch_that_was_killed_starts_again_on_its_ports(
    network: dict[int, str], pipeline: tuple[Path, Path], path_folder: Path, tmp_path: Path
) -> None:
    """Some scripts end switches with SIGKILL, and start them again while controllers still hold the connections."""
    switch = P4RuntimeSwitch(network[0], {1: "s1", 2: "s2"}, tmp_path, path_folder)
    switch.start(json_path=str(pipeline[1]))
    control(network[0], *pipeline)
    with inside(network[0]):
        held = socket.create_connection(("127.0.0.1", GRPC_PORT))
    with held:
        switch.stop(signal.SIGKILL)
        switch.start(json_path=str(pipeline[1]))
    try:
        control(network[0], *pipeline)
        Ping(network[1])(HOSTS[2][0], 1)
    finally:
        switch.stop()
