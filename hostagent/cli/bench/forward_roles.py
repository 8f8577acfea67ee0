"""The processes of the forwarding benchmark, each started in a namespace by ``forward``.

    python -m hostagent.cli.bench.forward_roles ROLE '{"core": 0, ...}'

A role does what the lines of its standard input say, ``open``, ``work`` and ``close`` in turn for each round, answers
each with a line of JSON, and ends with its input. A round opens the interfaces and closes them again, so that roles
which take turns at the same interface do not see each other's frames.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from emulator.native.pages import address_of
from emulator.ports.batch import FrameBatch, TxPortTable
from emulator.ports.cable.bell import Bell
from emulator.ports.interface.interface import InterfacePort
from emulator.ports.opening import make_switch_bell, open_switch_ports
from emulator.ports.port import SwitchPort
from emulator.ports.sockets.mmsg import IOV, MESSAGE
from emulator.ports.spec import parse_port, parse_ports
from hostagent.cli.bench.forward_loops import count_frames, exchange, limit_loop, send_frames
from hostagent.cli.bench.traffic import CHUNK_AT, contributions, load_switch, routed_frames

QUIET_NS = 400_000_000
"""A receiver's round ends when nothing more has come for so long."""
HOST_PORTS = ("1=if:h1", "2=if:h2")
SWITCH_PORTS = ("1=if:s1", "2=if:s2")


class Sender:
    """Sends routed frames as fast as they go, by sendmmsg."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._frames = frames = routed_frames(options["frame_bytes"])
        self._iov, self._messages = np.zeros(len(frames), IOV), np.zeros(len(frames), MESSAGE)
        self._iov["base"] = address_of(frames) + np.arange(len(frames)) * frames.shape[1]
        self._iov["length"] = frames.shape[1]
        self._messages["iov"] = address_of(self._iov) + np.arange(len(frames)) * IOV.itemsize
        self._messages["iov_count"] = 1

    def open(self) -> dict[str, Any]:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.bind(("h1", 0))
        return {}

    def work(self) -> dict[str, Any]:
        work_ns = int(self._options["seconds"] * 1e9)
        messages = address_of(self._messages)
        return {"sent": send_frames(self._socket.fileno(), messages, len(self._messages), work_ns)}

    def close(self) -> dict[str, Any]:
        self._socket.close()
        return {}


class Receiver:
    """Counts what comes in at the second interface."""

    def __init__(self, _options: dict[str, Any]) -> None:
        self._batch, self._results = FrameBatch(64), np.zeros(3, np.int64)

    def open(self) -> dict[str, Any]:
        self._port = InterfacePort(parse_port(HOST_PORTS[1]), TxPortTable())
        return {}

    def work(self) -> dict[str, Any]:
        count_frames(self._port.address, self._batch.record_address, QUIET_NS, address_of(self._results))
        return seen(self._results, 1) | {"drops": drops_of([self._port])}

    def close(self) -> dict[str, Any]:
        self._port.close()
        return {}


class Host:
    """Both children of a job: contributes, and counts the results."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._frames = contributions(options["lanes"])
        self._batch, self._results = FrameBatch(128), np.zeros(3, np.int64)

    def open(self) -> dict[str, Any]:
        table = TxPortTable()
        self._ports = [InterfacePort(parse_port(text), table) for text in HOST_PORTS]
        return {}

    def work(self) -> dict[str, Any]:
        left, right = self._ports
        frames = self._frames
        stalled = exchange(
            left.address, right.address, self._batch.record_address, address_of(frames), frames.strides[1],
            frames.shape[2], CHUNK_AT, self._options["window"], int(self._options["seconds"] * 1e9),
            address_of(self._results),
        )  # fmt: skip
        drops = drops_of(self._ports)
        return seen(self._results, 2) | {"stalled": bool(stalled), "drops": drops}

    def close(self) -> dict[str, Any]:
        for port in self._ports:
            port.close()
        return {}


def drops_of(ports: Sequence[SwitchPort]) -> dict[str, dict[str, int]]:
    """Drops by port, those without any left out."""
    return {str(port.number): drops for port in ports if (drops := port.statistics().drops)}


def seen(results: Any, frames_each: int) -> dict[str, Any]:
    """Frames and seconds of a receiver's counts."""
    return {"frames": int(results[0]) * frames_each, "seconds": int(results[2] - results[1]) / 1e9}


class Forwarder:
    """What both forwarders share: they work in a thread until they are closed, and report its CPU time."""

    def start(self, work: Callable[[], object]) -> dict[str, Any]:
        self._cpu_s = 0.0

        def timed() -> None:
            before = resource.getrusage(resource.RUSAGE_THREAD)
            work()
            after = resource.getrusage(resource.RUSAGE_THREAD)
            self._cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        self._thread = threading.Thread(target=timed)
        self._thread.start()
        return {}

    def result(self, frames: int, drops: dict[str, Any]) -> dict[str, Any]:
        return {"frames": frames, "cpu_s": self._cpu_s, "drops": drops}


class Limit(Forwarder):
    """Only receives and sends, on the same kind of sockets as the switch."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._batch = FrameBatch(64)

    def open(self) -> dict[str, Any]:
        table = TxPortTable()
        self._bell, self._stop, self._passed = Bell(shared=False, poll=True), np.zeros(1, np.int64), 0
        self._ports = [InterfacePort(parse_port(text), table) for text in SWITCH_PORTS]
        for port in self._ports:
            self._bell.watch(port.descriptor)
        return {}

    def work(self) -> dict[str, Any]:
        left, right = (port.address for port in self._ports)
        outs = (right, left) if self._options["traffic"] == "router" else (left, right)

        def forward() -> None:
            self._passed = limit_loop(
                left, right, *outs, self._batch.record_address, self._bell.sleeper_address, address_of(self._stop)
            )

        return self.start(forward)

    def close(self) -> dict[str, Any]:
        self._stop[0] = 1
        self._bell.ring()
        self._thread.join()
        drops = drops_of(self._ports)
        for port in self._ports:
            port.close()
        self._bell.close()
        return self.result(self._passed, drops)


class SwitchRole(Forwarder):
    """The live loop of ``netsum switch`` over both interfaces."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    def open(self) -> dict[str, Any]:
        from emulator.ports.loop.runner import SwitchRunner

        specs = parse_ports(list(SWITCH_PORTS))
        self._switch = load_switch(self._options["traffic"], self._options["lanes"])
        self._bell = make_switch_bell(specs)
        self._ports = open_switch_ports(specs, self._switch.ports, self._bell)
        self._runner = SwitchRunner(self._switch, self._ports, self._bell, lock=self._switch.lock)
        return {}

    def work(self) -> dict[str, Any]:
        return self.start(self._runner.run)

    def close(self) -> dict[str, Any]:
        self._runner.stop()
        self._thread.join()
        drops: dict[str, Any] = dict(drops_of(self._ports))
        drops |= {"program": dict(self._switch.drops)} if self._switch.drops else {}
        for port in self._ports:
            port.close()
        self._bell.close()
        return self.result(self._runner.statistics().frames, drops)


ROLES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "send": Sender,
    "receive": Receiver,
    "host": Host,
    "limit": Limit,
    "switch": SwitchRole,
}


def main() -> None:
    """Play a role."""
    options = json.loads(sys.argv[2])
    os.sched_setaffinity(0, {options["core"]})
    role = ROLES[sys.argv[1]](options)
    for line in sys.stdin:
        print(json.dumps(getattr(role, line.strip())()), flush=True)


if __name__ == "__main__":
    main()
