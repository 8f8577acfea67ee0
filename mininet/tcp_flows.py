"""TCP flows next to the ranks of an experiment: ``sink ADDRESS FLOWS`` on one host, ``source ADDRESS FLOWS CONTROL`` on
another, with Linux's congestion control of that name. Each prints a line when all flows are there.

The sink is then asked by lines ``FROM_S UNTIL_S``, of `time.monotonic`, and answers with each flow's Mbit/s, as JSON.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from bisect import bisect_right
from pathlib import Path

PORT = 5201
PIECE_BYTES = 1 << 16


class Taken:
    """What one flow has brought: bytes so far, by time."""

    def __init__(self) -> None:
        self._times_s, self._bytes = [0.0], [0]

    def take(self, flow: socket.socket) -> None:
        """Receive to the end."""
        piece = bytearray(PIECE_BYTES)
        while count := flow.recv_into(piece):
            self._bytes.append(self._bytes[-1] + count)
            self._times_s.append(time.monotonic())

    def mbit(self, from_s: float, until_s: float) -> float:
        count = len(self._times_s)
        first, last = (self._bytes[bisect_right(self._times_s, at_s, hi=count) - 1] for at_s in (from_s, until_s))
        return 8e-6 * (last - first) / (until_s - from_s)


def sink(address: str, flows: int) -> None:
    with socket.create_server((address, PORT)) as server:
        print(json.dumps({"listens": PORT}), flush=True)
        taken = [Taken() for _ in range(flows)]
        for each in taken:
            threading.Thread(target=each.take, args=(server.accept()[0],), daemon=True).start()
        for line in sys.stdin:
            from_s, until_s = map(float, line.split())
            print(json.dumps([round(each.mbit(from_s, until_s), 3) for each in taken]), flush=True)


def source(address: str, flows: int, control: str) -> None:
    open_flows = []
    for _ in range(flows):
        flow = socket.socket()
        try:
            flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        except OSError:
            available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
            raise SystemExit(f"Linux has no congestion control {control!r} here: {', '.join(available)}") from None
        flow.connect((address, PORT))
        open_flows.append(flow)
    print(json.dumps({"flows": flows}), flush=True)
    for flow in open_flows:
        threading.Thread(target=_send, args=(flow,), daemon=True).start()
    threading.Event().wait()


def _send(flow: socket.socket) -> None:
    while True:
        flow.sendall(bytes(PIECE_BYTES))


if __name__ == "__main__":
    if sys.argv[1] == "sink":
        sink(sys.argv[2], int(sys.argv[3]))
    else:
        source(sys.argv[2], int(sys.argv[3]), sys.argv[4])
