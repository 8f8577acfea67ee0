"""Stars of hosts whose links have a rate: on Mininet, or on network namespaces alone.

    h1 --\\                    hi: 10.0.i.1, one rank
    h2 ---- s1                s1: 10.0.i.254 on the link of hi; forwards IP between the hosts (gloo), and runs netsum
    hN --/                        switch and netsum controller (netsum)

Both kinds have the same addresses, the same HTB rates and the same optional impairments, so that a measurement differs
by the backend alone. With impairments each link ends in s1 at a port of a netsum switch, which joins it with the
interface of s1 (p4src/bridge.p4): gloo's frames suffer as netsum's do, also where the kernel lacks netem.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from emulator.network.topology.builders import HOST_LINK
from emulator.network.topology.parts import Link, Node, NodeKind
from emulator.network.topology.topology import Topology
from hostagent.cli.bench.veth import PREFIX, NoNamespaces, ip, remove_left_behind, require_namespaces

CENTRE = "s1"
LANES = 256
"""1,090 bytes a frame: the largest number of lanes that an Ethernet MTU of 1,500 bytes carries."""
FIRST_UDP_PORT, CONTROLLER_PORT, STORE_PORT = 5001, 47000, 29500
SECOND_OF_PAIR = 256
"""What p4src/bridge.p4 adds to a port's number for the other port of its pair."""
BURST = "15k"
"""HTB's burst, as Mininet's TCLink sets it."""
RANKS_S, STOP_S = 600, 10


def star_topology(hosts: int) -> Topology:
    """The star as faults see it: hosts h1, h2, ... at s1; rank 0 is on h1."""
    names = [f"h{number}" for number in range(1, hosts + 1)]
    nodes = [*(Node(name, NodeKind.HOST) for name in names), Node(CENTRE, NodeKind.SWITCH)]
    cables = [Link(name, CENTRE, HOST_LINK) for name in names]
    links = tuple(link for cable in cables for link in (cable, cable.reverse))
    return Topology(f"star-{hosts}", tuple(nodes), links)


class NetworkError(Exception):
    """The network cannot be had here, or a process in it failed; says what to do."""


def host(number: int) -> str:
    """The address of host 1, 2, ..."""
    return f"10.0.{number}.1"


def gateway(number: int) -> str:
    """The centre's address on that host's link."""
    return f"10.0.{number}.254"


class Star(ABC):
    """A star that is up until ``stop``. All processes in it are ours and end with it."""

    kind: str

    def __init__(
        self, hosts: int, rates_mbit: Sequence[float], impairments: str = "", *, changeable: bool = False
    ) -> None:
        """``rates_mbit``: of each host's link, in both directions. ``impairments``: as of ports of netsum switch, such
        as ``loss=0.01&delay=1ms&seed=7``, in both directions of every link. ``changeable``: faults may
        change them later."""
        self.hosts = hosts
        self._impairments = impairments
        self._bridge = ""
        self.happened: list[dict[str, Any]] = []
        """Faults of the last aggregation that had some."""
        self._running = ExitStack()
        self._running.callback(self._remove)
        try:
            self._make(hosts)
            for number, rate_mbit in enumerate(rates_mbit, 1):
                self.set_rate(number, rate_mbit)
            self._address("&".join(filter(None, (impairments, "changeable=yes" if changeable else ""))))
        except BaseException:
            self.stop()
            raise

    @abstractmethod
    def _make(self, hosts: int) -> None:
        """Nodes and links, without addresses."""

    @abstractmethod
    def _remove(self) -> None: ...

    @abstractmethod
    def popen(self, node: str, words: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        """Start a command on ``s1`` or ``h1``, ``h2``, ...; options as of subprocess.Popen."""

    def stop(self) -> None:
        """End all processes and remove the network."""
        self._running.close()

    @staticmethod
    def interfaces(number: int) -> tuple[tuple[str, str], tuple[str, str]]:
        """(node, interface) of both ends of a host's link, the host's first."""
        return (f"h{number}", f"h{number}-eth0"), (CENTRE, f"s1-eth{number}")

    def set_rate(self, number: int, rate_mbit: float) -> None:
        """Of a host's link in both directions, from now on."""
        for node, interface in self.interfaces(number):
            device = f"dev {interface}"
            self.run(
                node,
                f"tc qdisc replace {device} root handle 1: htb default 1; "
                f"tc class replace {device} parent 1: classid 1:1 htb rate {rate_mbit}mbit burst {BURST}",
            )

    def run(self, node: str, script: str) -> str:
        """Run a shell script on a node to its end; its output. Raises NetworkError."""
        process = self.popen(node, ["sh", "-e", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output, _ = process.communicate()
        if process.returncode:
            raise NetworkError(f"{node}: {script}: {output.strip()}")
        return output

    def _address(self, impairments: str) -> None:
        self.run(CENTRE, "ip link set lo up; echo 1 > /proc/sys/net/ipv4/ip_forward")
        inner = [self.interfaces(number)[1][1] for number in range(1, self.hosts + 1)]
        if impairments:
            inner = self._impaired(inner, impairments)
        for number, interface in enumerate(inner, 1):
            node, outer = self.interfaces(number)[0]
            self.run(CENTRE, f"ip address add {gateway(number)}/24 dev {interface}; ip link set {interface} up")
            self.run(
                node,
                f"ip link set lo up; ip address add {host(number)}/24 dev {outer}; ip link set {outer} up; "
                f"ip route add default via {gateway(number)}",
            )

    def _impaired(self, links: Sequence[str], impairments: str) -> list[str]:
        """Put a bridge that impairs frames behind each link; the interfaces behind the bridges."""
        behind, ports = [], []
        for number, link in enumerate(links, 1):
            self.run(CENTRE, f"ip link add x{number} type veth peer name c{number}; ip link set x{number} up")
            self.run(CENTRE, f"ip link set {link} up")
            # a bridge carries frames as they are on the wire: no segments of 64 KiB for a network card to cut
            for node, interface in (self.interfaces(number)[0], (CENTRE, f"c{number}")):
                self.run(node, f"ip link set {interface} gso_max_segs 1")
            behind.append(f"c{number}")
            ports += ["--port", f"{number}=if:{link}?{impairments}"]
            ports += ["--port", f"{number + SECOND_OF_PAIR}=if:x{number}"]
        words = ("switch", "bridge.p4", "--p4runtime", "127.0.0.1:0", *ports, "--quiet")
        self._bridge = self._running.enter_context(self._netsum(*words))["p4runtime"]
        return behind

    @contextmanager
    def aggregation(self, faults: Path | None = None, capture: Path | None = None) -> Iterator[str]:
        """Switch and controller in the centre, until the end of the block; gives the controller's HOST:PORT.
        ``faults``: a script to play meanwhile, on a star whose links are changeable. ``capture``: a *.pcapng file of
        what passes the switch's ports."""
        ports: list[str] = []
        for number in range(1, self.hosts + 1):
            ports += ["--port", f"{number}=udp:{gateway(number)}:{FIRST_UDP_PORT + number - 1}"]
        controller = f"{gateway(1)}:{CONTROLLER_PORT}"
        switch = ["switch", "allreduce.p4", "-D", f"LANES={LANES}", *ports, "--quiet"]
        if capture is not None:
            capture.unlink(missing_ok=True)
            switch += ["--capture", str(capture), "--capture-append"]  # a switch that faults restart goes on with it
        leader = ["controller", "--listen", controller, *ports]
        if faults is not None:
            with self._faulty_centre(switch, leader, controller, faults):
                yield controller
            return
        with self._netsum(*switch), self._netsum(*leader):
            yield controller

    @contextmanager
    def _faulty_centre(
        self, switch: Sequence[str], controller: Sequence[str], address: str, faults: Path
    ) -> Iterator[None]:
        """As `aggregation`, in a process that plays the faults; what happened is in ``happened`` afterwards."""
        order = {"switch": switch, "controller": controller, "address": address, "bridge": self._bridge}
        order |= {"faults": str(faults), "hosts": self.hosts, "impairments": self._impairments}
        words = [sys.executable, str(Path(__file__).with_name("faulty_centre.py")), json.dumps(order)]
        with self._process("faulty_centre.py", words) as process:
            yield
            process.terminate()
            self.happened = json.loads(process.stdout.readline() or "[]")

    def ranks(self, words: Sequence[str], controller: str) -> list[str]:
        """Run a Python script on every host as a rank; what each printed, by rank. Raises NetworkError with the text of
        a rank that failed."""
        ranks = []
        try:
            for rank in range(self.hosts):
                variables = {
                    "RANK": str(rank),
                    "WORLD_SIZE": str(self.hosts),
                    "MASTER_ADDR": host(1),
                    "MASTER_PORT": str(STORE_PORT),
                    "NETSUM_CONTROLLER": controller,
                    "GLOO_SOCKET_IFNAME": f"h{rank + 1}-eth0",
                    "OMP_NUM_THREADS": "1",
                }
                pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
                ranks.append(self.popen(f"h{rank + 1}", [sys.executable, *words], env=os.environ | variables, **pipes))
            end_s = time.monotonic() + RANKS_S
            said = [rank.communicate(timeout=max(0.0, end_s - time.monotonic())) for rank in ranks]
        except subprocess.TimeoutExpired as error:
            raise NetworkError(f"the ranks have not ended within {RANKS_S} s") from error
        finally:
            for process in ranks:
                process.kill()
                process.wait()
        for number, (process, (_, errors)) in enumerate(zip(ranks, said, strict=True)):
            if process.returncode:
                raise NetworkError(f"rank {number} on h{number + 1} failed: {errors.strip().splitlines()[-1]}")
        return [out for out, _ in said]

    @contextmanager
    def _netsum(self, *command: str) -> Iterator[dict[str, Any]]:
        """A netsum command in the centre; gives its ready line."""
        words = [sys.executable, "-m", "hostagent.cli.main", *command]
        with self._process(f"netsum {command[0]}", words) as process:
            yield process.ready

    @contextmanager
    def _process(self, name: str, words: Sequence[str]) -> Iterator[Any]:
        """A process in the centre that says on a line of standard output when it is ready; ``ready`` is that line."""
        with tempfile.TemporaryFile("w+") as errors:
            process: Any = self.popen(CENTRE, words, stdout=subprocess.PIPE, stderr=errors)
            try:
                line = process.stdout.readline()
                if not line:
                    errors.seek(0)
                    raise NetworkError(f"{name} did not start: {errors.read().strip()}")
                process.ready = json.loads(line)
                yield process
            finally:
                process.terminate()
                process.wait(STOP_S)
                process.stdout.close()


class NamespaceStar(Star):
    """On network namespaces of this process' own name; needs root and iproute2."""

    kind = "namespaces"

    def _make(self, hosts: int) -> None:
        try:
            require_namespaces()
            remove_left_behind()
        except NoNamespaces as error:
            raise NetworkError(str(error)) from error
        for node in (CENTRE, *(f"h{number}" for number in range(1, hosts + 1))):
            ip("netns", "add", self._namespace(node))
        for number in range(1, hosts + 1):
            (node, outer), (_, inner) = self.interfaces(number)
            ends = ["name", outer, "netns", self._namespace(node)], ["name", inner, "netns", self._namespace(CENTRE)]
            ip("link", "add", *ends[0], "type", "veth", "peer", *ends[1])

    def _remove(self) -> None:
        for node in (CENTRE, *(f"h{number}" for number in range(1, self.hosts + 1))):
            subprocess.run(["ip", "netns", "delete", self._namespace(node)], capture_output=True)

    @staticmethod
    def _namespace(node: str) -> str:
        return f"{PREFIX}{os.getpid()}-{node}"

    def popen(self, node: str, words: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(["ip", "netns", "exec", self._namespace(node), *words], text=True, **options)


class MininetStar(Star):
    """On Mininet: its hosts and links, which its own tools show."""

    kind = "mininet"

    def _make(self, hosts: int) -> None:
        mininet = load_mininet()
        if mininet is None or shutil.which("mnexec") is None:
            raise NetworkError("Mininet is not installed: apt install mininet, or use --on namespaces")
        if os.geteuid() != 0:
            raise NetworkError("Mininet makes network namespaces: run this as root")
        mininet.setLogLevel("critical")
        self._net = mininet.Mininet(controller=None, waitConnected=False)
        self._net.addHost(CENTRE, ip=None)
        for number in range(1, hosts + 1):
            (node, outer), (_, inner) = self.interfaces(number)
            self._net.addHost(node, ip=None)
            self._net.addLink(node, CENTRE, intfName1=outer, intfName2=inner)
        self._net.start()

    def _remove(self) -> None:
        if hasattr(self, "_net"):
            self._net.stop()

    def popen(self, node: str, words: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        process: subprocess.Popen[str] = self._net[node].popen(list(words), text=True, **options)
        return process


def load_mininet() -> Any:
    """Mininet's names, or None. A virtual environment does not look where apt puts them."""
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        from mininet import log, net
    except ImportError:
        return None
    finally:
        sys.path.remove("/usr/lib/python3/dist-packages")
    net.setLogLevel = log.setLogLevel
    return net


KINDS: Mapping[str, type[Star]] = {kind.kind: kind for kind in (MininetStar, NamespaceStar)}


def choose(wanted: str | None) -> tuple[type[Star], str]:
    """The kind of network to use, and a line that says which and why."""
    if wanted is not None:
        return KINDS[wanted], f"on {wanted}, as asked"
    if load_mininet() is not None and shutil.which("mnexec") is not None:
        return MininetStar, "on Mininet, which is installed"
    return NamespaceStar, "on network namespaces, as Mininet is not installed"
