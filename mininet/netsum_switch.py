"""netsum's switch as a Mininet switch, for scripts of one's own: any P4 program for v1model, with P4Runtime.

    from netsum_switch import CLI, Mininet, NetsumSwitch

    net = Mininet(switch=NetsumSwitch, controller=None)
    h1, h2 = net.addHost("h1"), net.addHost("h2")
    s1 = net.addSwitch("s1", program="p4src/bridge.p4")
    net.addLink(h1, s1, port2=1)
    net.addLink(h2, s1, port2=257)
    net.start()
    CLI(net)
    net.stop()

``CLI`` is Mininet's command line: ``pingall``, ``iperf h1 h2``, ``h1 ping 10.0.0.2``. Both come from here, as a virtual
environment does not look where apt puts Mininet.
Run it as root with the environment's Python.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from networks import load_mininet

_mininet = load_mininet()
if _mininet is None:
    raise ImportError("Mininet is not installed: apt install mininet")
CLI = _mininet.CLI
STOP_S = 10
RATE = re.compile(r"[\d.]+ \w*bits/sec")
LOOK_S = 0.05
IPERF_S = 15
"""How long iperf may take beyond the time that it sends."""


class Mininet(_mininet.Mininet):  # type: ignore[misc] # Mininet has no types
    """Mininet with an ``iperf`` that ends. Its own connects to the server twice and waits for a report of each, but
    iperf 2.1 reports no connection without data; and it kills by name."""

    def iperf(
        self,
        hosts: Any = None,
        l4Type: str = "TCP",
        udpBw: str = "10M",
        fmt: str | None = None,
        seconds: float = 5,
        port: int = 5001,
    ) -> list[str]:
        """Throughput from the first host to the second (default: of all hosts the first and the last): what the server
        says and what the client says, as "93.1 Mbits/sec"; "no answer" where none comes in time."""
        client, server = hosts or (self.hosts[0], self.hosts[-1])
        print(f"*** Iperf: testing {l4Type} bandwidth between {client} and {server}")
        words = ["iperf", "-p", str(port), *(["-u"] if l4Type == "UDP" else []), *(["-f", fmt] if fmt else [])]
        load = ["-b", udpBw] if l4Type == "UDP" else []
        with tempfile.TemporaryFile("w+") as said:
            listener = server.popen([*words, "-s"], stdout=said, stderr=subprocess.STDOUT)
            sender = None
            try:
                self._await_listening(listener, l4Type.lower(), port)
                sender = client.popen(
                    [*words, "-c", server.IP(), "-t", str(seconds), *load], stderr=subprocess.STDOUT, text=True
                )
                output, _ = sender.communicate(timeout=seconds + IPERF_S)
            except subprocess.TimeoutExpired:
                output = ""
            finally:
                if sender is not None:
                    sender.kill()  # it may be connecting still, when it heeds nothing else
                    sender.wait()
                listener.terminate()
                listener.wait(STOP_S)
            said.seek(0)
            found = [(RATE.findall(text) or ["no answer"])[-1] for text in (said.read(), output)]
        result = [*([udpBw] if l4Type == "UDP" else []), *found]
        print(f"*** Results: {result}")
        return result

    def _await_listening(self, listener: subprocess.Popen[str], protocol: str, port: int) -> None:
        """Until something is bound to the port in the process's network; not beyond STOP_S."""
        end_s = time.monotonic() + STOP_S
        bound = re.compile(rf" [0-9A-F]+:{port:04X} ")
        while time.monotonic() < end_s and listener.poll() is None:
            with suppress(OSError):  # it has just ended
                if bound.search(Path(f"/proc/{listener.pid}/net/{protocol}").read_text()):
                    return
            time.sleep(LOOK_S)


class NetsumSwitch(_mininet.Switch):  # type: ignore[misc] # Mininet has no types
    """A switch whose ports are the interfaces that Mininet gives it, with Mininet's port numbers.

    ``p4runtime`` is its HOST:PORT once the network is started; it is reached from this machine.
    """

    def __init__(
        self,
        name: str,
        program: str = "",
        p4runtime: str = "127.0.0.1:0",
        options: tuple[str, ...] = (),
        **parameters: Any,
    ) -> None:
        """``program``: a P4 file, a JSON file of p4c or a program that netsum ships; without it P4Runtime loads one.
        ``p4runtime``: where the switch listens; port 0 is any free one. ``options``: others of `netsum switch`, such
        as ``("-D", "LANES=256")``."""
        super().__init__(name, **({"inNamespace": False} | parameters))
        self.program, self.p4runtime, self.options = program, p4runtime, options
        self._process: subprocess.Popen[str] | None = None

    def start(self, controllers: Any) -> None:
        """Start it and wait until it forwards. Raises RuntimeError with what the switch says if it does not."""
        words = [sys.executable, "-m", "hostagent.cli.main", "switch", *([self.program] if self.program else [])]
        words += ["--p4runtime", self.p4runtime, *self.options]
        for port, interface in sorted(self.intfs.items()):
            if interface.name != "lo":
                self.cmd(f"ip link set {interface.name} up")
                self._stop_joining(interface)
                words += ["--port", f"{port}=if:{interface.name}"]
        with tempfile.TemporaryFile("w+") as errors:
            self._process = self.popen(
                [*words, "--quiet", "--die-with-parent"], stdout=subprocess.PIPE, stderr=errors, text=True
            )
            line = self._process.stdout.readline()
            if not line:
                errors.seek(0)
                raise RuntimeError(f"{self.name} did not start: {errors.read().strip()}")
        self.p4runtime = json.loads(line)["p4runtime"]

    def _stop_joining(self, interface: Any) -> None:
        """Hosts send each segment as a frame of its own: TCP's offload would join up to 64 KiB, which no port takes."""
        ends = interface.link.intf1, interface.link.intf2
        other = ends[0] if ends[1] is interface else ends[1]
        other.node.cmd(f"ip link set {other.name} gso_max_segs 1")

    def stop(self, deleteIntfs: bool = True) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(STOP_S)
            self._process.stdout.close()
            self._process = None
        super().stop(deleteIntfs)
