"""A process at one end of a port, for tests: ``python -m tests.labs.port_child ROLE ...``; prints JSON lines.

switch SPEC...            serves the ports with a Forwarder until its standard input closes
echo SPEC COUNT SEED      a host: posts COUNT whole frames of random lengths, checks what comes back
flood SPEC                a host: posts whole frames as fast as it can, for ever; for being killed
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

from emulator.ports.batch import FrameBatch
from emulator.ports.cable.rings import Geometry
from emulator.ports.host import FramePool, HostPort
from emulator.ports.loop.runner import SwitchRunner
from emulator.ports.opening import make_switch_bell, open_host_port, open_switch_ports
from emulator.ports.spec import parse_ports
from tests.programs.forwarder import Forwarder

PATIENCE_NS = 20_000_000_000
"""How long anything may take on a busy machine before a wake-up counts as lost."""

POOL_FRAMES = Geometry().cells
"""What may be on the way at once: more could fill the ring to a host, and would be dropped."""


def say(**values: Any) -> None:
    print(json.dumps(values), flush=True)


def run_switch(texts: list[str]) -> None:
    forwarder = Forwarder()
    specs = parse_ports(texts)
    bell = make_switch_bell(specs)
    ports = open_switch_ports(specs, forwarder.table, bell)
    runner = SwitchRunner(forwarder, ports, bell).start()
    say(ready=True)
    sys.stdin.read()
    runner.stop()
    say(torn=forwarder.torn, ports={port.number: port.statistics().frames_in for port in ports})
    for port in ports:
        port.close()
    bell.close()


def post_whole(port: HostPort, pool: FramePool, number: int, length: int) -> bool:
    """Fill frame ``number`` of the pool with one value and post it, if its last posting has been consumed."""
    if port.posted - port.consumed >= pool.count:
        return False
    row = port.posted % pool.count
    pool.frames[row, :length] = number % 251
    return port.post(pool.address + row * pool.stride_bytes, length)


def receive_whole(port: HostPort, batch: FrameBatch) -> list[tuple[int, int]]:
    """(value, length) of each frame that came; raises if the bytes of one are not all alike."""
    batch.clear()
    port.receive_into(batch)
    frames = [frame for _, frame in batch.frames()]
    port.release()
    for frame in frames:
        if frame.count(frame[:1]) != len(frame):
            raise SystemExit("a torn frame came back")
    return [(frame[0], len(frame)) for frame in frames]


def echo(port: HostPort, count: int, seed: int) -> dict[str, int]:
    """Post ``count`` frames and receive them all; on a lossless port they come back in order."""
    lengths = [random.Random(seed + index).randint(1, 8258) for index in range(count)]
    pool = port.frame_pool(POOL_FRAMES, 8258)
    batch = FrameBatch(1024)
    posted = received = 0
    while received < count:
        while posted < count and posted - received < POOL_FRAMES and post_whole(port, pool, posted, lengths[posted]):
            posted += 1
        port.flush()
        if port.wait(PATIENCE_NS) == 0 and not port.receive_into(FrameBatch(1)):
            raise SystemExit(f"no wake-up after frame {received} of {posted} posted")
        for value, length in receive_whole(port, batch):
            if (value, length) != (received % 251, lengths[received]):
                raise SystemExit(f"frame {received}: {(value, length)}, expected length {lengths[received]}")
            received += 1
    port.release_pool(pool)
    return {"received": received}


def flood(port: HostPort) -> None:
    pool = port.frame_pool(POOL_FRAMES, 8258)
    batch = FrameBatch(1024)
    number = 0
    while True:
        if post_whole(port, pool, number, 1 + number * 37 % 8258):
            number += 1
        if number % 16 == 0:
            port.flush()
            receive_whole(port, batch)
        if number == 512:
            say(flooding=True)


def main() -> None:
    role, *rest = sys.argv[1:]
    if role == "switch":
        run_switch(rest)
        return
    port = open_host_port(rest[0])
    if role == "flood":
        flood(port)
    say(**echo(port, int(rest[1]), int(rest[2])))
    port.close()


if __name__ == "__main__":
    main()
