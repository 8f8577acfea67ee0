"""Whether a switch loses memory, threads or files to fifty impolite clients: it runs in a separate process, and is
measured each time they have gone and its tables are as they were at first.

``python -m tests.soaks.p4runtime_soak --seconds 300 --seed 7`` prints a line of JSON for each round and one at the
end; status 1 where a client was misled, the state was lost, or memory grew.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import grpc

from emulator.p4runtime.pipeline.package import pack
from tests.clients.p4runtime_scenario import Controller
from tests.labs.p4runtime_device import CPU_PORT, ENTITIES_PROGRAM, packet
from tests.soaks.p4runtime_fuzz import CLIENTS, attack, everything, rebuilt, take_primacy

ROUND_S = 10.0
SETTLE_S = 20.0
"""For the server to take notice of clients that vanished: gRPC looks at them in its own time."""
WARM_ROUNDS = 12
"""Not compared: each of the server's threads gets its stack, its arena and its caches once."""
ALLOWED_MIB = 8.0
"""Between the first and the last third of the rounds: what allocators lay by for 50 clients that ask by chance."""
PACKETS = 200
"""Of each round, through the state that the clients have made."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Of the switch's process, with nobody but the primary connected."""

    rss_mib: float
    threads: int
    files: int
    entities: int
    """Before they were taken out."""


class Soak:
    def __init__(self, process: subprocess.Popen[str], ready: dict[str, Any]) -> None:
        self.process = process
        self.address = ready["p4runtime"]
        host, _, port = ready["ports"]["0"].removeprefix("0=udp:").partition(",")[0].rpartition(":")
        self.port = (host, int(port))
        """Where frames go in."""
        self.controller = Controller(self.address, stream_s=86_400)
        take_primacy(self.controller)
        self.heard: Counter[str] = Counter()
        """Notifications of the switch to its primary, by kind."""
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.first = everything(self.controller)
        self.p4info = self.controller.p4info()
        self.package = pack(ENTITIES_PROGRAM)
        self.at_rest = self._files_and_threads()

    def _listen(self) -> None:
        try:
            for message in self.controller.stream:
                self.heard[message.WhichOneof("update")] += 1
        except grpc.RpcError:
            return  # closed at the end

    def round(self, seed: int, seconds: float) -> tuple[Sample, Counter[str]]:
        """Raises AssertionError."""
        end = time.monotonic() + seconds
        codes = attack(self.address, self.p4info, seed, lambda _: time.monotonic() < end)
        found = everything(self.controller)
        assert rebuilt(self.controller, found), "the state does not read the same twice"
        self._send_packets()
        self.controller.set_pipeline(self.package)
        assert everything(self.controller) == self.first, (
            "a program that was loaded again does not start in its initial state"
        )
        self._settle()
        threads, files = self._files_and_threads()
        return Sample(self._rss_mib(), threads, files, len(found)), codes

    def _send_packets(self) -> None:
        """Each eighth goes to the primary."""
        heard = self.heard["packet"]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as cable:
            for number in range(PACKETS):
                cable.sendto(packet(kind=number % 8, key=number), self.port)
        deadline = time.monotonic() + SETTLE_S
        while self.heard["packet"] == heard:
            assert time.monotonic() < deadline, "no packet came through"
            time.sleep(0.01)

    def _settle(self) -> None:
        deadline = time.monotonic() + SETTLE_S
        while self._files_and_threads()[1] > self.at_rest[1] and time.monotonic() < deadline:
            time.sleep(0.1)

    def _files_and_threads(self) -> tuple[int, int]:
        folder = Path(f"/proc/{self.process.pid}")
        return len(list((folder / "task").iterdir())), len(list((folder / "fd").iterdir()))

    def _rss_mib(self) -> float:
        fields = dict(line.split(":", 1) for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines())
        return int(fields["VmRSS"].split()[0]) / 1024


@contextmanager
def switch_process() -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """And the line in which it says that it is ready."""
    words = [sys.executable, "-m", "hostagent.cli.main", "switch", ENTITIES_PROGRAM, "--cpu-port", str(CPU_PORT)]
    words += ["--grpc-server-addr", "127.0.0.1:0", "--port", "0=udp:127.0.0.1:0", "--quiet", "--die-with-parent"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())
        finally:
            process.terminate()


def soak(seconds: float, seed: int) -> dict[str, Any]:
    """Raises AssertionError where the switch misbehaved."""
    codes: Counter[str] = Counter()
    samples: list[Sample] = []
    end = time.monotonic() + seconds
    with switch_process() as (process, ready):
        soak = Soak(process, ready)
        while len(samples) <= WARM_ROUNDS + 3 or time.monotonic() < end:
            sample, answered = soak.round(seed * 10_000 + len(samples), ROUND_S)
            samples.append(sample)
            codes += answered
            print(json.dumps(asdict(sample) | {"calls": answered.total()}), flush=True)
        soak.controller.close()
    assert process.returncode == 0, f"the switch ended with {process.returncode}"
    return {"seed": seed, "codes": dict(codes), "heard": dict(soak.heard)} | judged(samples, soak.at_rest)


def judged(samples: list[Sample], at_rest: tuple[int, int]) -> dict[str, Any]:
    """Raises AssertionError where the switch has kept something of its clients."""
    warm = samples[WARM_ROUNDS:]
    third = len(warm) // 3
    grown = median(s.rss_mib for s in warm[-third:]) - median(s.rss_mib for s in warm[:third])
    assert grown < ALLOWED_MIB, f"memory grew by {grown:.1f} MiB"
    assert warm[-1].files <= at_rest[1], f"{warm[-1].files - at_rest[1]} files are still open"
    assert max(s.threads for s in warm[-third:]) <= max(s.threads for s in warm[:third]) + 2, "threads were left"
    return {"clients": CLIENTS, "rounds": len(samples), "grown_mib": round(grown, 1), "last": asdict(samples[-1])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(json.dumps(soak(arguments.seconds, arguments.seed)))


if __name__ == "__main__":
    main()
