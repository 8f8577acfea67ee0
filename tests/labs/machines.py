"""Machines of a network, as far as netsum and torch can see: namespaces of network, host name and mounts, one bridge.

Each has an address, a name that the others resolve, an interface of its own and a /dev/shm of its own. Nothing needs
root where the kernel lets users make namespaces, and nothing is left behind: namespaces end with their processes.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT_HERE = os.geteuid() == 0
OWN = ("--net", "--uts", "--mount")
NAMESPACE_OPTIONS = OWN if ROOT_HERE else ("--user", *OWN)
NETWORK = "10.79.1"
SHM_BYTES = 64 << 20


class NoMachines(Exception):
    """Namespaces cannot be made here; the message says why."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One of them; it lasts as long as its first process."""

    name: str
    address: str
    first: subprocess.Popen[str]
    """Process that holds the namespaces open, until its standard input ends."""

    def command(self, words: Sequence[str]) -> list[str]:
        """A command line that runs ``words`` on the machine, in the same process that it starts in."""
        keep = () if ROOT_HERE else ("--preserve-credentials",)
        return ["nsenter", "--target", str(self.first.pid), *NAMESPACE_OPTIONS, *keep, "--", *words]

    def run(self, *words: str) -> str:
        """Run a command to its end; its output. Raises NoMachines."""
        ended = subprocess.run(self.command(words), capture_output=True, text=True)
        if ended.returncode:
            raise NoMachines(f"{' '.join(words)}: {ended.stderr.strip()}")
        return ended.stdout

    def answers(self, *words: str) -> bool:
        """Whether a command ends without an error."""
        return not subprocess.run(self.command(words), capture_output=True).returncode

    def start(self, words: Sequence[str], variables: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Start a command in a process group of its own, standard error with its output."""
        return subprocess.Popen(
            self.command(words),
            env={**os.environ, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def unplug(self) -> None:
        """Take the machine off the network, as a power failure does: nobody is told."""
        self.run("ip", "link", "set", "eth0", "down")

    def shared_memory(self) -> list[str]:
        """Names of the files in its /dev/shm."""
        return self.run("ls", "/dev/shm").split()


@contextmanager
def machines(names: Sequence[str], folder: Path) -> Iterator[list[Machine]]:
    """The first one has the bridge. Skips the test, with the reason, where namespaces cannot be made."""
    hosts = folder / "hosts"
    addresses = [f"{NETWORK}.{number}" for number in range(1, 1 + len(names))]
    lines = [f"{address} {name}" for address, name in zip(addresses, names, strict=True)]
    hosts.write_text("\n".join(["127.0.0.1 localhost", *lines]) + "\n")
    made: list[Machine] = []
    try:
        try:
            for name, address in zip(names, addresses, strict=True):
                made.append(_make(name, address, hosts, made[0] if made else None))
        except (NoMachines, OSError) as error:
            pytest.skip(f"no network namespaces here: {error}")
        yield made
    finally:
        for machine in made:
            machine.first.communicate()


def _make(name: str, address: str, hosts: Path, centre: Machine | None) -> Machine:
    prepare = f"hostname {name} && mount -t tmpfs -o size={SHM_BYTES} shm /dev/shm && mount --bind {hosts} /etc/hosts"
    script = f"{prepare} && ip link set lo up && echo ready && exec cat"
    options = (*OWN,) if ROOT_HERE or centre is not None else ("--map-root-user", *NAMESPACE_OPTIONS)
    words = ["unshare", *options, "--", "sh", "-c", script]
    if centre is not None and not ROOT_HERE:
        words = ["nsenter", "--target", str(centre.first.pid), "--user", "--preserve-credentials", "--", *words]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    machine = Machine(name, address, subprocess.Popen(words, **pipes))
    assert machine.first.stdout is not None
    if machine.first.stdout.readline() != "ready\n":
        raise NoMachines(f"unshare: {machine.first.communicate()[1].strip()}")
    try:
        _plug_in(machine, centre)
    except NoMachines:
        machine.first.communicate()
        raise
    return machine


def _plug_in(machine: Machine, centre: Machine | None) -> None:
    """An interface eth0 on the bridge; the centre's is the bridge itself."""
    if centre is None:
        machine.run("ip", "link", "add", "eth0", "type", "bridge")
    else:
        cable = f"to-{machine.name}"
        end = ["peer", "name", "eth0", "netns", str(machine.first.pid)]
        centre.run("ip", "link", "add", cable, "type", "veth", *end)
        centre.run("ip", "link", "set", cable, "master", "eth0", "up")
    machine.run("ip", "address", "add", f"{machine.address}/24", "dev", "eth0")
    machine.run("ip", "link", "set", "eth0", "up")
