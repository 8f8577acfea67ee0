"""Networks of hosts and switches whose links have a rate: on Mininet, or on network namespaces alone.

    h1 --\\                    hi: 10.0.i.1, one rank
    h2 ---- s1                s1: 10.0.i.254 on the link of hi; forwards IP between the hosts (gloo), and runs netsum
    hN --/                        switch and netsum controller (netsum)

A tree is the same with several switches, named root, s0, s1, s0.0, ... as elsewhere: the root runs the controller, and
cable k of the network has 10.1.k.1 at its first end and 10.1.k.254 at its second where no host is at an end. Any
topology (`emulator.network.topology`) in which a host has one cable can be had, with IP between its hosts; sums are for
trees.

Both kinds have the same addresses, the same HTB rates and the same optional impairments, so that a measurement differs
by the backend alone. With impairments each cable ends, at the switch that is its second end, at a port of a netsum
switch, which joins it with the interface that has the address (p4src/bridge.p4): gloo's frames suffer as netsum's do,
also where the kernel lacks netem.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import networkx as nx

from emulator.network.topology.parts import Link, LinkClass, Node, NodeKind
from emulator.network.topology.plan import HOST_LINK
from emulator.network.topology.topology import Topology
from hostagent.cli.bench.veth import PREFIX, NoNamespaces, ip, remove_left_behind, require_namespaces
from hostagent.protocol.services.aggregator import LANES
from hostagent.protocol.tree import TreeSwitch, regular_tree, switch_names
from hostagent.protocol.wire import ETHERNET_BYTES, IPV4_BYTES, UDP_BYTES, full_frame_bytes

CENTRE = "s1"
"""The switch of a star."""
ETHERNET_MTU_BYTES = 1_500
FIRST_UDP_PORT, TREE_UDP_PORT, CONTROLLER_PORT, STORE_PORT = 5001, 6000, 47000, 29500
P4RUNTIME_PORT, SERVICE_PORT = 9559, 48865
SECOND_OF_PAIR = 256
"""What p4src/bridge.p4 adds to a port's number for the other port of its pair."""
BURST = "15k"
"""HTB's burst, as Mininet's TCLink sets it."""
FRAME_BYTES = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES + full_frame_bytes(336)
"""A frame as links of Ethernet's MTU carry it, in a UDP datagram: a host's egress queue has a rate in frames, so TCP's
segments are made as long."""
TCP_ADVERTISED_BYTES = FRAME_BYTES - ETHERNET_BYTES - IPV4_BYTES - 20
"""MSS that hosts advertise; with a header of 20 bytes and the options that it includes a frame has FRAME_BYTES."""
LONGEST_INTERFACE = 15
"""Characters of an interface's name, as Linux takes them."""
RANKS_S, STOP_S = 600, 10


@dataclass(frozen=True, slots=True)
class EgressQueues:
    """Of the switches' ends of all cables, as p4src/bridge.p4 has them: the rate is the link's, in frames of
    FRAME_BYTES. See p4src/shared/marks.p4."""

    depth: int = 250
    """Frames; what comes then is dropped."""
    least: int = 20
    certain: int = 1_000

    def commands(self, port: int, rate_mbit: float) -> list[str]:
        """What `simple_switch_CLI` is told."""
        return [
            f"set_queue_depth {self.depth} {port}",
            f"set_queue_rate {round(rate_mbit * 1e6 / (8 * FRAME_BYTES))} {port}",
            f"table_add Mark.marks.queues mark_between {port} => {self.least} {self.certain}",
        ]


@dataclass(frozen=True, slots=True)
class TcpFlows:
    """Flows next to the ranks, from a host without one to the first."""

    count: int
    control: str
    """Congestion control, by its name in Linux."""


def tree_topology(
    fan_out: Sequence[int],
    rates_mbit: Sequence[float] = (),
    uplink_mbit: float | None = None,
    mtu_bytes: int = ETHERNET_MTU_BYTES,
) -> Topology:
    """Hosts h1, h2, ... below the switches of a `regular_tree`; (4,) is a star of four hosts at s1. Rank 0 is on h1.

    ``rates_mbit``: of each host's link; ``uplink_mbit``: of links between switches, without it as the fastest host's.
    ``mtu_bytes``: of all links that have a rate.
    """
    switches = regular_tree(fan_out)
    names = _names_of(switches)
    hosts = [f"h{number}" for number in range(1, prod(fan_out) + 1)]
    nodes = [*(Node(name, NodeKind.HOST) for name in hosts), *(Node(name, NodeKind.SWITCH) for name in names)]
    classes = {
        rate: LinkClass(f"{rate:g}Mbit", round(rate * 1e6), mtu_bytes=mtu_bytes)
        for rate in (*rates_mbit, uplink_mbit)
        if rate
    }
    up_class = classes[uplink_mbit or max(rates_mbit)] if classes else HOST_LINK
    cables = []
    for name, switch in zip(names, switches, strict=True):
        for port in sorted(switch.ports):
            cables.append(Link(f"h{port}", name, classes[rates_mbit[port - 1]] if rates_mbit else HOST_LINK))
        if switch.parent is not None:
            cables.append(Link(name, names[switch.parent], up_class))
    links = tuple(link for cable in cables for link in (cable, cable.reverse))
    name = "x".join(map(str, fan_out))
    return Topology(f"star-{name}" if len(fan_out) == 1 else f"tree-{name}", tuple(nodes), links)


def _names_of(switches: Sequence[TreeSwitch]) -> tuple[str, ...]:
    return switch_names(switches) if len(switches) > 1 else (CENTRE,)


class NetworkError(Exception):
    """The network cannot be had here, or a process in it failed; says what to do."""


class _RankFailed(Exception):
    """The first rank to fail, by its place, and what it printed as errors."""

    def __init__(self, number: int, errors: str) -> None:
        super().__init__(errors)
        self.number, self.errors = number, errors


def lanes_of(topology: Topology) -> int:
    """The most lanes that a frame can have in a UDP datagram on all links: 336 at Ethernet's MTU, 2,048 with jumbo
    frames of 9,000 bytes. Raises NetworkError."""
    mtu_bytes = min(link.mtu_bytes for link in topology.links)
    packets = {lanes: IPV4_BYTES + UDP_BYTES + full_frame_bytes(lanes) for lanes in LANES}
    if mtu_bytes < packets[LANES[0]]:
        least = packets[LANES[0]]
        raise NetworkError(f"an MTU of {mtu_bytes} bytes: frames of {LANES[0]} lanes in UDP datagrams need {least}")
    return max(lanes for lanes, bytes_ in packets.items() if bytes_ <= mtu_bytes)


def host(number: int) -> str:
    """The address of host 1, 2, ..."""
    return f"10.0.{number}.1"


def gateway(number: int) -> str:
    """The address of its switch on that host's link."""
    return f"10.0.{number}.254"


class Network(ABC):
    """A topology that is up until ``stop``. All processes in it are ours and end with it."""

    kind: str

    def __init__(
        self,
        topology: Topology,
        impairments: str = "",
        *,
        changeable: bool = False,
        queues: EgressQueues | None = None,
    ) -> None:
        """``impairments``: as of ports of netsum switch, such as ``loss=0.01&delay=1ms&seed=7``, in both directions of
        every cable. ``changeable``: faults may change them later. ``queues``: of links that begin at a cable's second
        end, where a star has its centre, instead of HTB's. Raises NetworkError."""
        self.topology, self.lanes = topology, lanes_of(topology)
        self.happened: list[dict[str, Any]] = []
        """Faults of the last aggregation that had some."""
        self._impairments, self._queues = impairments, queues
        self._bridges: dict[str, str] = {}
        """HOST:PORT of P4Runtime of the bridges, by node."""
        self._running = ExitStack()
        self.require()
        self._check()
        self._running.callback(self._remove)
        try:
            self._make()
            for cable in self.cables:
                for node in (cable.source, cable.destination):
                    self.run(node, f"ip link set {self.interface(node, cable)} mtu {cable.mtu_bytes}")
            for link in topology.links if queues is None else self.cables:
                self.set_rate(link.name, link.rate_bps / 1e6)
            self._address("&".join(filter(None, (impairments, "changeable=yes" if changeable else ""))))
        except BaseException:
            self.stop()
            raise

    @staticmethod
    @abstractmethod
    def require() -> None:
        """Raises NetworkError where this kind of network cannot be had, as far as that is known beforehand."""

    def _check(self) -> None:
        for name in self.topology.hosts:
            if len(self.topology.ports(name)) != 1:
                raise NetworkError(f"{name} has {len(self.topology.ports(name))} cables; a host here has one")
        for cable in self.cables:
            for node in (cable.source, cable.destination):
                if len(name := self.interface(node, cable)) > LONGEST_INTERFACE:
                    raise NetworkError(f"{name}: an interface's name has at most {LONGEST_INTERFACE} characters")

    @abstractmethod
    def _make(self) -> None:
        """Nodes and links, without addresses."""

    @abstractmethod
    def _remove(self) -> None: ...

    @abstractmethod
    def popen(self, node: str, words: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        """Start a command on a node; options as of subprocess.Popen."""

    def stop(self) -> None:
        """End all processes and remove the network."""
        self._running.close()

    @cached_property
    def cables(self) -> tuple[Link, ...]:
        """One link of each cable: the one that comes first in the topology."""
        seen: set[str] = set()
        found = []
        for link in self.topology.links:
            if link.reverse.name not in seen:
                found.append(link)
            seen.add(link.name)
        return tuple(found)

    def interface(self, node: str, link: Link) -> str:
        """A node's interface on a cable: ``h1-eth0`` of a host, ``s1-eth1``, ... of a switch by its port."""
        is_host = self.topology.node(node).kind is NodeKind.HOST
        return f"{node}-eth{0 if is_host else self.topology.port(node, link)}"

    def address(self, node: str, cable: Link) -> str:
        """IPv4 address of a node on a cable, one of `cables`."""
        hosts = [end for end in (cable.source, cable.destination) if end in self.topology.hosts]
        if hosts:
            number = self.topology.hosts.index(hosts[0]) + 1
            return host(number) if node == hosts[0] else gateway(number)
        return f"10.1.{self.cables.index(cable) + 1}.{1 if node == cable.source else 254}"

    def cable(self, one: str, other: str) -> Link:
        """The first cable between two nodes."""
        return next(cable for cable in self.cables if {cable.source, cable.destination} == {one, other})

    def set_rate(self, link: str, rate_mbit: float) -> None:
        """Of one direction of a cable, such as ``h1->s1``, from now on."""
        found = self.topology.link(link)
        device = f"dev {self.interface(found.source, found)}"
        self.run(
            found.source,
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
        for node in self.topology.names(NodeKind.SWITCH):
            self.run(node, "ip link set lo up; echo 1 > /proc/sys/net/ipv4/ip_forward")
        inner = self._bridged(impairments) if impairments or self._queues else {}
        for cable in self.cables:
            for node in (cable.source, cable.destination):
                interface = inner.get((node, cable), self.interface(node, cable))
                words = f"ip address add {self.address(node, cable)}/24 dev {interface}; ip link set {interface} up"
                self.run(node, words)
        for each in self.topology.nodes:
            self.run(each.name, "; ".join(["ip link set lo up", *self._routes(each)]))

    def _routes(self, node: Node) -> list[str]:
        """Commands that tell a node where the addresses of the others are: by the first of the shortest routes."""
        own = {link.name for port in self.topology.ports(node.name) for link in port}
        if node.kind is NodeKind.HOST:
            (cable,) = (cable for cable in self.cables if cable.name in own)
            peer = cable.destination if cable.source == node.name else cable.source
            segments = f" advmss {TCP_ADVERTISED_BYTES}" if self._queues else ""
            return [f"ip route add default via {self.address(peer, cable)}{segments}"]
        paths = nx.single_source_shortest_path(self.topology.graph, node.name)
        found = []
        for cable in self.cables:
            if cable.name in own:
                continue
            following = min((paths[end] for end in (cable.source, cable.destination)), key=len)[1]
            via = self.address(following, self.cable(node.name, following))
            found.append(f"ip route add {self.address(cable.source, cable)}/32 via {via}")
            found.append(f"ip route add {self.address(cable.destination, cable)}/32 via {via}")
        return found

    def _bridged(self, impairments: str) -> dict[tuple[str, Link], str]:
        """Put a bridge that impairs and queues frames at the second end of each cable; the interfaces behind the
        bridges."""
        behind: dict[tuple[str, Link], str] = {}
        ports: dict[str, list[str]] = {}
        commands: dict[str, list[str]] = {}
        suffix = f"?{impairments}" if impairments else ""
        for cable in self.cables:
            node, link = cable.destination, self.interface(cable.destination, cable)
            number = self.topology.port(node, cable)
            mtu = f"mtu {cable.mtu_bytes}"
            self.run(node, f"ip link add x{number} {mtu} type veth peer name c{number} {mtu}; ip link set x{number} up")
            self.run(node, f"ip link set {link} up")
            # a bridge carries frames as they are on the wire: no segments of 64 KiB for a network card to cut
            for end, interface in ((cable.source, self.interface(cable.source, cable)), (node, f"c{number}")):
                self.run(end, f"ip link set {interface} gso_max_segs 1")
            behind[node, cable] = f"c{number}"
            words = ports.setdefault(node, [])
            words += ["--port", f"{number}=if:{link}{suffix}"]
            words += ["--port", f"{number + SECOND_OF_PAIR}=if:x{number}"]
            if self._queues is not None:
                commands.setdefault(node, []).extend(self._queues.commands(number, cable.reverse.rate_bps / 1e6))
        for node, words in ports.items():
            command = ("switch", "bridge.p4", "--p4runtime", "127.0.0.1:0", *words, "--quiet")
            self._bridges[node] = self._running.enter_context(self._netsum(node, *command))["p4runtime"]
            self._command(node, self._bridges[node], commands.get(node, []))
        return behind

    def _command(self, node: str, switch: str, lines: Sequence[str]) -> None:
        """Give a switch on a node bmv2's runtime commands. Raises NetworkError."""
        if lines:
            client = f"{sys.executable} -m hostagent.cli.bmv2.simple_switch_cli --address {switch}"
            words = " ".join(f"'{line}'" for line in lines)
            said = self.run(node, f"printf '%s\\n' {words} | {client}")
            if "Error" in said or "Invalid" in said:
                raise NetworkError(f"{node}: the switch refuses: {said.strip()}")

    @contextmanager
    def tcp(self, flows: TcpFlows) -> Iterator[Callable[[float, float], list[float]]]:
        """TCP flows from the last host to the first until the end of the block; gives what they carried between two
        times of `time.monotonic`, the second of which has passed: Mbit/s of each. Raises NetworkError."""
        source, sink = self.topology.hosts[-1], self.topology.hosts[0]
        script = str(Path(__file__).with_name("tcp_flows.py"))
        words = [sys.executable, script]
        with (
            self._process(sink, "tcp_flows.py", [*words, "sink", host(1), str(flows.count)]) as receiver,
            self._process(source, "tcp_flows.py", [*words, "source", host(1), str(flows.count), flows.control]),
        ):

            def rates(from_s: float, until_s: float) -> list[float]:
                receiver.stdin.write(f"{from_s} {until_s}\n")
                receiver.stdin.flush()
                found: list[float] = json.loads(receiver.stdout.readline())
                return found

            yield rates

    @contextmanager
    def aggregation(
        self,
        aggregator: str = "p4",
        fan_out: Sequence[int] = (),
        faults: Path | None = None,
        jobs: int = 1,
        capture: Path | None = None,
        slots: int | None = None,
    ) -> Iterator[str]:
        """Aggregators and their controller until the end of the block; gives the controller's HOST:PORT.

        ``aggregator``: what sums in the star's centre or the tree's root, ``p4`` or ``server``; switches below the root
        are P4 switches; ``overflow``: of the tree (1, N) the leaf is the switch, and the root its overflow server.
        ``fan_out``: of the `tree_topology` that this network is; without it, a star. ``faults``: a
        script to play meanwhile, on a star of a P4 switch whose links are changeable. ``jobs``: on a star, how many
        ranks of different jobs a host may have at a time. ``capture``: a folder for what passes the ports of each P4
        switch, in a file of its name. ``slots``: of each P4 switch, those that jobs may have.
        """
        switches = regular_tree(fan_out or (len(self.topology.hosts),))
        nodes = _names_of(switches)
        root = nodes[0]
        root_cable = next(cable for cable in self.cables if cable.destination == root)
        controller = f"{self.address(root, root_cable)}:{CONTROLLER_PORT}"
        ports: dict[str, list[str]] = {node: [] for node in nodes}
        for node, switch in zip(nodes, switches, strict=True):
            for job, number in product(range(jobs), sorted(switch.ports)):
                port = self._port(job, number)
                ports[node] += ["--port", f"{port}=udp:{gateway(number)}:{FIRST_UDP_PORT + port - 1}"]
        workers = [word for words in ports.values() for word in words]
        has_server = aggregator in ("server", "overflow")
        controls = [f"127.0.0.1:{SERVICE_PORT if has_server else P4RUNTIME_PORT}"]
        for node, switch in zip(nodes[1:], switches[1:], strict=True):
            above = nodes[switch.parent or 0]
            cable = self.cable(node, above)
            ends = [f"{self.address(end, cable)}:{TREE_UDP_PORT}" for end in (node, above)]
            ports[node] += ["--port", f"{switch.up_port}=udp:{','.join(ends)}"]
            ports[above] += ["--port", f"{switch.down_port}=udp:{','.join(reversed(ends))}"]
            controls.append(f"p4runtime://{self.address(node, cable)}:{P4RUNTIME_PORT}")
        commands = []
        for node, control in zip(nodes, controls, strict=True):
            where = control.rpartition("/")[2]
            if has_server and node == root:
                words = ["server", "--lanes", str(self.lanes), "--listen", where]
            else:
                words = ["switch", "allreduce.p4", "-D", f"LANES={self.lanes}", "--p4runtime", where]
                if capture is not None:
                    file = capture / f"{node}.pcapng"
                    file.unlink(missing_ok=True)
                    words += ["--capture", str(file), "--capture-append"]  # one that faults restart goes on with it
            commands.append((node, [*words, *ports[node], "--quiet"]))
        scheme = "netsum" if has_server else "p4runtime"
        leader = ["controller", "--listen", controller, *workers]
        leader += ["--aggregator", ",".join([f"{scheme}://{controls[0]}", *controls[1:]])]
        if len(nodes) > 1:
            leader += ["--overflow"] if aggregator == "overflow" else ["--tree", "x".join(map(str, fan_out))]
            leader += ["--program", "allreduce.p4", "-D", f"LANES={self.lanes}"]
        leader += [] if slots is None else ["--slots", str(slots)]
        if faults is not None:
            with self._faulty_centre(commands[0][1], leader, controller, faults):
                yield controller
            return
        with ExitStack() as running:
            for node, command in [*commands, (root, leader)]:
                running.enter_context(self._netsum(node, *command))
            yield controller

    @contextmanager
    def _faulty_centre(
        self, switch: Sequence[str], controller: Sequence[str], address: str, faults: Path
    ) -> Iterator[None]:
        """As `aggregation`, in a process that plays the faults; what happened is in ``happened`` afterwards."""
        order: dict[str, Any] = {
            "switch": switch,
            "controller": controller,
            "address": address,
            "bridge": self._bridges[CENTRE],
        }
        order |= {"faults": str(faults), "hosts": len(self.topology.hosts), "impairments": self._impairments}
        words = [sys.executable, str(Path(__file__).with_name("faulty_centre.py")), json.dumps(order)]
        with self._process(CENTRE, "faulty_centre.py", words) as process:
            yield
            process.terminate()
            self.happened = json.loads(process.stdout.readline() or "[]")

    def received_bytes(self, node: str) -> int:
        """By all interfaces of a node but its loopback, Ethernet headers included."""
        lines = self.run(node, "cat /proc/net/dev").splitlines()[2:]
        named = (line.split(":", 1) for line in lines)
        return sum(int(numbers.split()[0]) for name, numbers in named if name.strip() != "lo")

    def _port(self, job: int, number: int) -> int:
        """Of the switch, for the rank of job 0, 1, ... on host 1, 2, ..."""
        return job * len(self.topology.hosts) + number

    def ranks(self, words: Sequence[str], controller: str, jobs: int = 1, hosts: Sequence[str] = ()) -> list[list[str]]:
        """Run a Python script on every host, or on the first that ``hosts`` names, as a rank of each job; what each
        printed, by job and rank. Raises NetworkError with the text of a rank that failed.

        Of several jobs rank 0 prints a line when it is ready and waits for one on standard input: they go on together.
        """
        hosts = hosts or self.topology.hosts
        ranks: list[Any] = []
        end_s = time.monotonic() + RANKS_S
        try:
            for job, (rank, node) in product(range(jobs), enumerate(hosts)):
                variables = {
                    "RANK": str(rank),
                    "WORLD_SIZE": str(len(hosts)),
                    "MASTER_ADDR": host(1),
                    "MASTER_PORT": str(STORE_PORT + job),
                    "NETSUM_CONTROLLER": controller,
                    "NETSUM_PORTS": ",".join(str(self._port(job, number)) for number in range(1, len(hosts) + 1)),
                    "GLOO_SOCKET_IFNAME": f"{node}-eth0",
                    "OMP_NUM_THREADS": "1",
                }
                pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
                ranks.append(self.popen(node, [sys.executable, *words], env=os.environ | variables, **pipes))
            if jobs > 1:
                _start_together(ranks[:: len(hosts)], end_s)
            said = _said_by(ranks, end_s)
        except _RankFailed as failed:
            job, rank = divmod(failed.number, len(hosts))
            of_job = f" of job {job + 1}" if jobs > 1 else ""
            raise NetworkError(
                f"rank {rank}{of_job} on {hosts[rank]} failed: {failed.errors.splitlines()[-1]}"
            ) from None
        finally:
            for process in ranks:
                process.kill()
                process.wait()
        return [said[job * len(hosts) : (job + 1) * len(hosts)] for job in range(jobs)]

    @contextmanager
    def _netsum(self, node: str, *command: str) -> Iterator[dict[str, Any]]:
        """A netsum command on a node; gives its ready line."""
        words = [sys.executable, "-m", "hostagent.cli.main", *command]
        with self._process(node, f"netsum {command[0]} on {node}", words) as process:
            yield process.ready

    @contextmanager
    def _process(self, node: str, name: str, words: Sequence[str]) -> Iterator[Any]:
        """A process on a node that says on a line of standard output when it is ready; ``ready`` is that line."""
        with tempfile.TemporaryFile("w+") as errors:
            process: Any = self.popen(node, words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
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
                process.stdin.close()


def _said_by(ranks: Sequence[Any], end_s: float) -> list[str]:
    """What each has printed, once all have ended. Raises _RankFailed as soon as one fails, for others may wait for it
    until torch's time-out, and NetworkError at ``end_s``, a time of `time.monotonic`."""
    with ThreadPoolExecutor(len(ranks)) as readers:
        numbers = {readers.submit(rank.communicate): number for number, rank in enumerate(ranks)}
        waiting = set(numbers)
        try:
            while waiting:
                ended, waiting = wait(waiting, max(0.0, end_s - time.monotonic()), FIRST_COMPLETED)
                if not ended:
                    raise NetworkError(f"the ranks have not ended within {RANKS_S} s")
                for one in ended:
                    if status := ranks[numbers[one]].returncode:
                        raise _RankFailed(numbers[one], one.result()[1].strip() or f"exit status {status}")
        finally:
            for rank in ranks:
                rank.kill()
    return [one.result()[0] for one in numbers]


def _start_together(ranks: Sequence[Any], end_s: float) -> None:
    """Wait for a line of each, until a time of `time.monotonic`; then write one to all."""
    for rank in ranks:
        if not select.select([rank.stdout], [], [], max(0.0, end_s - time.monotonic()))[0]:
            raise NetworkError(f"the ranks have not begun within {RANKS_S} s")
        rank.stdout.readline()
    for rank in ranks:
        with suppress(BrokenPipeError):  # it has failed, which its exit status says
            rank.stdin.write("go\n")
            rank.stdin.flush()


class NamespaceNetwork(Network):
    """On network namespaces of this process' own name; needs root and iproute2."""

    kind = "namespaces"

    @staticmethod
    def require() -> None:
        try:
            require_namespaces()
        except NoNamespaces as error:
            raise NetworkError(str(error)) from error

    def _make(self) -> None:
        remove_left_behind()
        for node in self.topology.nodes:
            ip("netns", "add", self._namespace(node.name))
        for cable in self.cables:
            first, second = (
                ["name", self.interface(node, cable), "netns", self._namespace(node)]
                for node in (cable.source, cable.destination)
            )
            ip("link", "add", *first, "type", "veth", "peer", *second)

    def _remove(self) -> None:
        for node in self.topology.nodes:
            subprocess.run(["ip", "netns", "delete", self._namespace(node.name)], capture_output=True)

    @staticmethod
    def _namespace(node: str) -> str:
        return f"{PREFIX}{os.getpid()}-{node}"

    def popen(self, node: str, words: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(["ip", "netns", "exec", self._namespace(node), *words], text=True, **options)


class MininetNetwork(Network):
    """On Mininet: its hosts and links, which its own tools show."""

    kind = "mininet"

    @staticmethod
    def require() -> None:
        if not has_mininet():
            raise NetworkError("Mininet is not installed: apt install mininet, or use --on namespaces")
        if os.geteuid() != 0:
            raise NetworkError("Mininet makes network namespaces: run this as root")

    def _make(self) -> None:
        mininet = load_mininet()
        mininet.setLogLevel("critical")
        self._net = mininet.Mininet(controller=None, waitConnected=False)
        for node in self.topology.nodes:
            self._net.addHost(node.name, ip=None)
        for cable in self.cables:
            ends = cable.source, cable.destination
            names = {f"intfName{i}": self.interface(end, cable) for i, end in enumerate(ends, 1)}
            self._net.addLink(*ends, **names)
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
        from mininet import cli, log, net, node
    except ImportError:
        return None
    finally:
        sys.path.remove("/usr/lib/python3/dist-packages")
    net.setLogLevel, net.Switch, net.CLI = log.setLogLevel, node.Switch, cli.CLI
    return net


def has_mininet() -> bool:
    return load_mininet() is not None and shutil.which("mnexec") is not None


KINDS: Mapping[str, type[Network]] = {kind.kind: kind for kind in (MininetNetwork, NamespaceNetwork)}


def choose(wanted: str | None) -> tuple[type[Network], str]:
    """The kind of network to use, and a line that says which and why. Raises NetworkError where it cannot be had."""
    if wanted is not None:
        kind, why = KINDS[wanted], f"on {wanted}, as asked"
    elif has_mininet():
        kind, why = MininetNetwork, "on Mininet, which is installed"
    else:
        kind, why = NamespaceNetwork, "on network namespaces, as Mininet is not installed"
    kind.require()
    return kind, why
