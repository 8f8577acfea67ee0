"""A star of Mininet hosts around one node that forwards IP and runs our switch and its controller."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

sys.path.append("/usr/lib/python3/dist-packages")  # where apt puts Mininet; a virtual environment does not look there
try:
    from mininet.link import TCLink
    from mininet.log import setLogLevel
    from mininet.net import Mininet
    from mininet.topo import Topo
except ImportError:
    sys.exit("this needs Mininet: apt install mininet, or pip install mininet and its mnexec")

CENTRE = "s1"
LANES = 256
"""1,090 bytes a frame: the largest of our lane counts that an Ethernet MTU of 1,500 carries."""
FIRST_UDP_PORT, CONTROLLER_PORT, STORE_PORT = 5001, 47000, 29500
RANKS_S, STOP_S = 600, 10


def host(number: int) -> str:
    """The address of host 1, 2, ..."""
    return f"10.0.{number}.1"


def gateway(number: int) -> str:
    """The centre's address on that host's link."""
    return f"10.0.{number}.254"


class Star(Topo):
    """``hosts`` links of ``rate_mbit`` in each direction."""

    def build(self, hosts: int, rate_mbit: float) -> None:
        self.addHost(CENTRE, ip=None)
        for number in range(1, hosts + 1):
            name = self.addHost(f"h{number}", ip=f"{host(number)}/24", defaultRoute=f"via {gateway(number)}")
            self.addLink(name, CENTRE, bw=rate_mbit, params2={"ip": f"{gateway(number)}/24"})


class StarNetwork:
    """A started star. Every process in it is ours and ends with it."""

    def __init__(self, hosts: int, rate_mbit: float) -> None:
        setLogLevel("critical")  # HTB's remarks about its quantum are not errors
        self.hosts = hosts
        self._net = Mininet(topo=Star(hosts, rate_mbit), link=TCLink, controller=None, waitConnected=False)
        self._net.start()
        self._net[CENTRE].cmd("sysctl -w net.ipv4.ip_forward=1")

    def stop(self) -> None:
        self._net.stop()

    @contextmanager
    def aggregation(self, impairments: str) -> Iterator[str]:
        """Switch and controller in the centre, until the end of the block; gives the controller's HOST:PORT."""
        tail = f"?{impairments}" if impairments else ""
        ports: list[str] = []
        for number in range(1, self.hosts + 1):
            ports += ["--port", f"{number}=udp:{gateway(number)}:{FIRST_UDP_PORT + number - 1}{tail}"]
        program = ["allreduce.p4", "-D", f"LANES={LANES}"]
        controller = f"{gateway(1)}:{CONTROLLER_PORT}"
        with (
            self._running(CENTRE, "switch", *program, *ports, "--quiet"),
            self._running(CENTRE, "controller", "--listen", controller, *ports),
        ):
            yield controller

    def allreduce(self, backend: str, controller: str, size_bytes: int, calls: int) -> list[dict[str, Any]]:
        """What star_rank.py printed on each host, by rank. Raises RuntimeError with the text of a rank that failed."""
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "star_rank.py")
        arguments = [sys.executable, script, backend, str(size_bytes), str(calls)]
        ranks = []
        for rank in range(self.hosts):
            environment = os.environ | {
                "RANK": str(rank),
                "WORLD_SIZE": str(self.hosts),
                "MASTER_ADDR": host(1),
                "MASTER_PORT": str(STORE_PORT),
                "NETSUM_CONTROLLER": controller,
                "GLOO_SOCKET_IFNAME": f"h{rank + 1}-eth0",
                "OMP_NUM_THREADS": "1",
            }
            ranks.append(self._net[f"h{rank + 1}"].popen(arguments, env=environment, text=True))
        try:
            end_s = time.monotonic() + RANKS_S
            said = [rank.communicate(timeout=max(0.0, end_s - time.monotonic())) for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
        for number, (rank, (_, errors)) in enumerate(zip(ranks, said, strict=True)):
            if rank.returncode:
                raise RuntimeError(f"rank {number} on h{number + 1} failed:\n{errors}")
        return [json.loads(out.splitlines()[-1]) for out, _ in said]

    @contextmanager
    def _running(self, node: str, *command: str) -> Iterator[None]:
        """A netsum command that says on a line when it is ready."""
        process = self._net[node].popen(
            [sys.executable, "-m", "hostagent.cli.main", *command], text=True, stderr=subprocess.STDOUT
        )
        try:
            if not process.stdout.readline():
                raise RuntimeError(f"netsum {command[0]} did not start")
            yield
        finally:
            process.terminate()
            process.wait(STOP_S)
