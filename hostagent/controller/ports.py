"""The switch's ports that hosts may attach to, and which process has which."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qs

SWITCH_MAC = 0x026E_73FF_FFFE
SWITCH_IP = 0x0A4E_FFFE
_HOST_MAC = 0x026E_7300_0000
_HOST_IP = 0x0A4E_0000
"""Locally administered MACs and 10.78.0.0/16, the port's number in the low bytes: unique on one switch."""


class PortSpecError(ValueError):
    """A `--port` text that can't be understood; the message quotes it."""


class NoPort(Exception):
    """No port is left that the process can attach to; the message says why."""


@dataclass(frozen=True, slots=True)
class PortOffer:
    """One `--port N=KIND:...` as the switch was given it, seen from the host."""

    number: int
    """1..511; 0 is refused by nobody but reads like "none"."""
    kind: str
    """"shm" or "udp"."""
    spec: str
    """The text after `N=`, for people."""
    host_end: str
    """What the host attaches with."""
    flips_bits: bool
    """An impairment damages frames: checksums are needed."""

    @property
    def zero_checksum_allowed(self) -> bool:
        """Memory doesn't damage frames, so the worker and the switch save themselves the sum."""
        return self.kind == "shm" and not self.flips_bits

    @property
    def host_mac(self) -> int:
        """Ethernet source address of the host behind this port."""
        return _HOST_MAC | self.number

    @property
    def host_ip(self) -> int:
        """IPv4 source address of the host behind this port."""
        return _HOST_IP | self.number


def parse_port(text: str) -> PortOffer:
    """Reads `N=shm:NAME` or `N=udp:SWITCH_END[,HOST_END]`, impairments after `?` allowed. Raises PortSpecError."""
    number_text, equals, spec = text.partition("=")
    kind, colon, rest = spec.partition(":")
    place, _, options = rest.partition("?")
    if not equals or not number_text.isdecimal() or not 0 < int(number_text) < 512:
        raise PortSpecError(f"--port {text!r}: expected NUMBER=KIND:..., with a number from 1 to 511")
    if kind not in ("shm", "udp") or not colon or not place:
        raise PortSpecError(f"--port {text!r}: expected shm:NAME or udp:HOST:PORT[,HOST:PORT] after the =")
    flips = any(value not in ("0", "0.0") for value in parse_qs(options).get("corrupt", []))
    return PortOffer(int(number_text), kind, spec, _host_end(kind, place), flips)


def _host_end(kind: str, place: str) -> str:
    """A cable's other end: the switch's local address is the host's remote one. No remote given: any local port."""
    if kind == "shm":
        return f"shm:{place}"
    switch_end, _, host_end = place.partition(",")
    host_end = host_end or f"{switch_end.rpartition(':')[0]}:0"
    return f"udp:{host_end},{switch_end}"


@dataclass(slots=True)
class PortBook:
    """Gives ports to processes; a process keeps its one until its session ends."""

    offers: dict[int, PortOffer]
    owner: dict[int, int] = field(default_factory=dict)
    """Port number -> process."""

    def of(self, process: int) -> PortOffer | None:
        """The port that a process has."""
        return next((self.offers[number] for number, who in self.owner.items() if who == process), None)

    def assign(self, process: int, kinds: tuple[str, ...]) -> PortOffer:
        """The process' port, a free one of the first kind possible where it has none yet. Raises NoPort."""
        had = self.of(process)
        if had is not None:
            return had
        free = [offer for number, offer in sorted(self.offers.items()) if number not in self.owner]
        for kind in kinds:
            for offer in free:
                if offer.kind == kind:
                    self.owner[offer.number] = process
                    return offer
        raise NoPort(
            f"no switch port left: {len(self.offers)} are configured, {len(self.owner)} in use, "
            f"and none of the free ones is of kind {' or '.join(kinds) or '(none)'}; "
            "start the switch and the controller with one --port for each process"
        )

    def reserve(self, process: int, number: int) -> bool:
        """Gives a process the port it had before the controller's restart; False where that can't be."""
        if number not in self.offers or self.owner.get(number, process) != process:
            return False
        self.owner[number] = process
        return True

    def release(self, process: int) -> None:
        """Takes back what the process had."""
        self.owner = {number: who for number, who in self.owner.items() if who != process}
