"""The switch's ports that hosts may attach to, and which process has which."""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.ports.errors import PortError
from emulator.ports.spec import PortKind, PortSpec, parse_port

SWITCH_MAC = 0x026E_73FF_FFFE
SWITCH_IP = 0x0A4E_FFFE
_HOST_MAC = 0x026E_7300_0000
_HOST_IP = 0x0A4E_0000
"""Locally administered MACs and 10.78.0.0/16, the port's number in the low bytes: unique on one switch."""


HOST_KINDS = (PortKind.SHM, PortKind.UDP, PortKind.TCP)

ANY_OF_FAMILY = {False: "0.0.0.0", True: "::"}
"""Wildcard address, by whether the other end's address is of IPv6."""


class NoPort(Exception):
    """No port is left that the process can attach to; the message says why."""


@dataclass(frozen=True, slots=True)
class PortOffer:
    """One `--port N=KIND:...` of the switch, seen from the host."""

    number: int
    """1..511; 0 is refused by nobody but reads like "none"."""
    kind: str
    """"shm", "udp" or "tcp"."""
    spec: str
    """The switch's end, without impairments, for people."""
    host_end: str
    """What the host attaches with."""
    flips_bits: bool
    """An impairment damages frames, or may later: checksums are needed."""
    leads_on: bool = False
    """The switch sends frames on to an overflow server as they came: checksums are needed."""

    @property
    def zero_checksum_allowed(self) -> bool:
        """Memory doesn't damage frames, so the worker and the switch save themselves the sum."""
        return self.kind == "shm" and not self.flips_bits and not self.leads_on

    @property
    def host_mac(self) -> int:
        """Ethernet source address of the host behind this port."""
        return _HOST_MAC | self.number

    @property
    def host_ip(self) -> int:
        """IPv4 source address of the host behind this port."""
        return _HOST_IP | self.number


def offer_from(text: str) -> PortOffer:
    """The offer that a switch's `--port` text makes to hosts. Raises emulator.ports.errors.PortError."""
    spec = parse_port(text)
    if not spec.number or spec.kind not in HOST_KINDS:
        why = (
            "port 0 is not for hosts" if not spec.number else f"a port of kind {spec.kind.value} has no end for a rank"
        )
        raise PortError(
            f"--port {text!r}: {why}; use NUMBER=shm:NAME, NUMBER=udp:HOST:PORT "
            "or NUMBER=tcp:HOST:PORT, with a number from 1 up"
        )
    flips = any(way is not None and way.flips_bits for way in (spec.inbound, spec.outbound))
    return PortOffer(spec.number, spec.kind.value, spec.address_text, _host_end(spec), flips)


def _host_end(spec: PortSpec) -> str:
    """A cable's other end: the switch's local address is the host's remote one, its remote one the host's local one.

    Without a remote address the host may be anywhere, so its address is the source address that its kernel
    selects on the route to the switch.
    """
    if spec.kind is PortKind.SHM or spec.local is None:
        return spec.address_text
    host_local = spec.remote or (ANY_OF_FAMILY[":" in spec.local[0]], 0)
    return PortSpec(spec.kind, local=host_local, remote=spec.local).address_text


@dataclass(slots=True)
class PortBook:
    """Gives ports to processes; a process keeps its one until its session ends."""

    offers: dict[int, PortOffer]
    owner: dict[int, int] = field(default_factory=dict)
    """Port number -> process."""

    def of(self, process: int) -> PortOffer | None:
        """The port that a process has."""
        return next((self.offers[number] for number, who in self.owner.items() if who == process), None)

    def assign(self, process: int, kinds: tuple[str, ...], requested: int = 0) -> PortOffer:
        """The process' port: the one it has, the one ``requested`` by number, or a free one of the first kind possible.
        Raises NoPort."""
        had = self.of(process)
        if had is not None:
            return had
        if requested:
            return self._assign_requested(process, kinds, requested)
        free = [offer for number, offer in sorted(self.offers.items()) if number not in self.owner]
        for kind in kinds:
            for offer in free:
                if offer.kind == kind:
                    self.owner[offer.number] = process
                    return offer
        unfit = f", and none of the free ones is of kind {' or '.join(kinds) or '(none)'}" if free else ""
        raise NoPort(
            f"no port left: {len(self.offers)} are configured, {len(self.owner)} in use{unfit}; "
            "start the aggregator and the controller with one --port for each process"
        )

    def _assign_requested(self, process: int, kinds: tuple[str, ...], requested: int) -> PortOffer:
        offer = self.offers.get(requested)
        if offer is None:
            why = f"does not exist; available: {', '.join(map(str, sorted(self.offers)))}"
        elif requested in self.owner:
            why = "is in use by another process"
        elif offer.kind not in kinds:
            why = f"is of kind {offer.kind}; the process can attach to {' or '.join(kinds) or 'none'}"
        else:
            self.owner[requested] = process
            return offer
        raise NoPort(f"requested port {requested} {why}")

    def reserve(self, process: int, number: int) -> bool:
        """Gives a process the port it had before the controller's restart; False where that can't be."""
        if number not in self.offers or self.owner.get(number, process) != process:
            return False
        self.owner[number] = process
        return True

    def release(self, process: int) -> None:
        """Takes back what the process had."""
        self.owner = {number: who for number, who in self.owner.items() if who != process}
