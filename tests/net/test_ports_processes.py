"""Ports between processes: random lengths, no lost wake-up, and kill -9 of either end at any moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from emulator.ports.batch import FrameBatch
from emulator.ports.cable.stale_shm import clean_stale
from emulator.ports.host import FramePool, HostPort
from emulator.ports.opening import open_host_port
from emulator.ports.sockets.tcp import TcpHostPort
from tests.labs.port_child import echo, post_whole, receive_whole
from tests.labs.shared_memory import shm_folder

__all__ = ["shm_folder"]

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def child(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A port_child, ended by its id whatever happens."""
    command = [sys.executable, "-m", "tests.labs.port_child", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def line(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The next JSON line of a child."""
    assert process.stdout is not None
    text = process.stdout.readline()
    assert text, f"the child ended with {process.wait()}"
    return dict(json.loads(text))


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    """End a child's standard input, and read its last line."""
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None
    return line(process)


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def test_two_hosts_send_frames_of_random_lengths_through_a_switch(shm_folder: Path) -> None:
    with child("switch", "1=shm:a", "2=shm:b") as switch:
        assert line(switch) == {"ready": True}
        with child("echo", "shm:a", "3000", "1") as first, child("echo", "shm:b", "3000", "2") as second:
            assert line(first) == {"received": 3000}
            assert line(second) == {"received": 3000}
            assert (first.wait(), second.wait()) == (0, 0)
        assert finish(switch) == {"torn": 0, "ports": {"1": 3000, "2": 3000}}
        assert switch.wait() == 0
    assert list(shm_folder.iterdir()) == []


@pytest.mark.parametrize("kinds", [["shm"], ["shm", "udp"]])
def test_no_wake_up_is_lost_when_every_frame_finds_both_ends_asleep(shm_folder: Path, kinds: list[str]) -> None:
    """With a udp port beside it the switch sleeps in ppoll and is woken through its FIFO."""
    ports = ["1=shm:a"] + (["2=udp:127.0.0.1:0"] if "udp" in kinds else [])
    with child("switch", *ports) as switch:
        line(switch)
        host = open_host_port("shm:a")
        pool, batch = host.frame_pool(4, 64), FrameBatch(8)
        for number in range(5000):
            assert post_whole(host, pool, number, 1 + number % 64)
            host.flush()
            came: list[tuple[int, int]] = []
            while not came:
                assert host.wait(20_000_000_000, spin_ns=0), f"frame {number} woke nobody"
                came = receive_whole(host, batch)
            assert came == [(number % 251, 1 + number % 64)]
        host.close()
        finish(switch)


@pytest.mark.parametrize("kind", ["udp", "tcp"])
def test_sockets_between_processes(kind: str) -> None:
    with child("switch", f"1={kind}:127.0.0.1:0") as switch:
        line(switch)
        # the child's port is found where the kernel lists it
        host = open_host_port(f"{kind}:127.0.0.1:0,127.0.0.1:{port_of(switch.pid, kind)}")
        while isinstance(host, TcpHostPort) and not host.is_up:
            host.wait(20_000_000_000)
            host.flush()
        batch, pool = FrameBatch(64), host.frame_pool(4, 8704)
        for number in range(300):
            assert post_whole(host, pool, number, 1 + number * 29)
            host.flush()
            while not (came := receive_whole(host, batch)):
                assert host.wait(20_000_000_000)
            assert came == [(number % 251, 1 + number * 29)]
        host.close()
        finish(switch)


def port_of(pid: int, kind: str) -> int:
    """The local UDP or TCP port of a process with one such socket."""
    inodes = {os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir() if entry.is_symlink()}
    for row in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]:
        fields = row.split()
        if f"socket:[{fields[9]}]" in inodes:
            return int(fields[1].split(":")[1], 16)
    raise AssertionError(f"the child has no {kind} socket")


def test_hosts_killed_in_mid_flood_are_replaced_and_no_frame_is_torn(shm_folder: Path) -> None:
    with child("switch", "1=shm:a") as switch:
        line(switch)
        for _ in range(4):
            with child("flood", "shm:a") as flood:
                assert line(flood) == {"flooding": True}
                kill(flood)
        host = open_host_port("shm:a")
        assert echo(host, 2000, 5) == {"received": 2000}
        host.close()
        assert finish(switch)["torn"] == 0
        assert switch.wait() == 0
    clean_stale()
    assert list(shm_folder.iterdir()) == []


def test_switches_killed_in_mid_flow_are_replaced_and_the_host_goes_on(shm_folder: Path) -> None:
    with ExitStack() as children:
        switch = children.enter_context(child("switch", "1=shm:a"))
        line(switch)
        host = open_host_port("shm:a")
        pool, batch = host.frame_pool(64, 8258), FrameBatch(1024)
        number = 0
        for _ in range(3):
            target = number + 3000
            while number < target:
                number += post_whole(host, pool, number, 1 + number * 41 % 8258)
                if number % 8 == 0:
                    host.flush()
                    receive_whole(host, batch)
            kill(switch)
            host.flush()
            before = host.peer_changes
            switch = children.enter_context(child("switch", "1=shm:a"))
            line(switch)
            while host.consumed < host.posted:
                assert host.wait(20_000_000_000), "the new switch does not read what was posted to the old one"
                receive_whole(host, batch)
            host.wait(0)
            assert host.peer_changes == before + 1
        skip_to_marker(host, pool)
        assert echo(host, 500, 9) == {"received": 500}
        assert finish(switch)["torn"] == 0
        host.close()
    clean_stale()
    assert list(shm_folder.iterdir()) == []


def skip_to_marker(host: HostPort, pool: FramePool) -> None:
    """Receive all that is still under way: up to a frame of 255s, which no other frame holds."""
    batch = FrameBatch(1024)
    pool.frames[0, :1] = 255
    assert host.post(pool.address, 1)
    host.flush()
    while (255, 1) not in receive_whole(host, batch):
        assert host.wait(20_000_000_000), "the marker does not come back"


def test_leftovers_of_killed_processes_are_removed_and_names_are_free(shm_folder: Path) -> None:
    with child("switch", "1=shm:a") as switch:
        line(switch)
        assert clean_stale() == []
        with child("flood", "shm:a") as flood:
            line(flood)
            kill(flood)
        assert [path.name[:12] for path in clean_stale()] == ["netsum-bell-"]
        kill(switch)
    assert sorted(path.name[:12] for path in clean_stale()) == ["netsum-bell-", "netsum-port-"]
    assert list(shm_folder.iterdir()) == []
